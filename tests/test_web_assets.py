"""The files of the page, over HTTP."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from tests.asking import Answer, ask
from tests.serving import serving
from tract.view.palette import PALETTE
from tract.web.assets import START, accepts_gzip, assets
from tract.web.server import Server

NAMES = sorted(assets())
SCRIPTS = [name for name in NAMES if name.endswith(".js")]
ELSEWHERE = re.compile(r"""(?:https?:|ws:|wss:)?//[\w.]+\.\w|@import|\bimportScripts\b""")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(str(tmp_path_factory.mktemp("assets") / "t.db")) as running:
        yield running


def path_of(name: str) -> str:
    return f"/static/{name}"


class Shell(HTMLParser):
    """The elements of the page, with their attributes and texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts = ""
        self._is_script = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._is_script = tag == "script"

    def handle_data(self, data: str) -> None:
        self.scripts += data if self._is_script else ""

    def handle_endtag(self, tag: str) -> None:
        self._is_script = False


# The shell


def test_the_page_is_served_without_a_token(server: Server) -> None:
    answer = ask(server, "GET", "/")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.body == assets()[START].plain
    assert ask(server, "GET", "/?dialog=d&x=1").body == answer.body


def test_the_policy_allows_only_own_files_and_no_text_as_markup(server: Server) -> None:
    for path in ("/", *map(path_of, NAMES)):
        policy = ask(server, "GET", path).headers["content-security-policy"]
        rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
        assert rules["default-src"] == "'none'"
        assert {rules["script-src"], rules["style-src"], rules["connect-src"]} == {"'self'"}
        assert rules["require-trusted-types-for"] == "'script'"
        assert rules["trusted-types"] == "'none'"
        assert rules["frame-ancestors"] == rules["base-uri"] == rules["form-action"] == "'none'"
        assert "unsafe" not in policy
        assert "http" not in policy


def test_the_page_has_no_inline_script_or_style(server: Server) -> None:
    shell = Shell(ask(server, "GET", "/").text)
    assert shell.scripts.strip() == ""
    assert "style" not in {tag for tag, _ in shell.elements}
    attributes = {name for _, names in shell.elements for name in names}
    assert not [name for name in attributes if name == "style" or name.startswith("on")]


def test_all_that_the_page_names_is_there(server: Server) -> None:
    shell = Shell(ask(server, "GET", "/").text)
    named = {names.get(key) for _, names in shell.elements for key in ("src", "href")} - {None}
    assert {"/static/main.js", "/static/style.css", "/static/base.css"} <= named
    for path in named:
        assert path is not None
        assert ask(server, "GET", path).status == 200


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_imports_only_files_that_are_there(name: str) -> None:
    text = assets()[name].plain.decode()
    imports = re.findall(r"""(?:from|import|import\()\s*["']([^"']+)["']""", text)
    assert {path.removeprefix("./") for path in imports} <= set(SCRIPTS)
    assert all(path.startswith("./") for path in imports)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_comes_from_elsewhere(name: str) -> None:
    text = assets()[name].plain.decode().replace("http://www.w3.org/2000/svg", "")
    assert ELSEWHERE.findall(text) == []


# The files


@pytest.mark.parametrize("name", NAMES)
def test_a_file_has_its_type_and_its_tag(server: Server, name: str) -> None:
    answer = ask(server, "GET", path_of(name))
    media = {"js": "text/javascript", "css": "text/css", "svg": "image/svg", "html": "text/html"}
    assert answer.status == 200
    assert answer.headers["content-type"].startswith(media[name.rpartition(".")[2]])
    assert answer.headers["etag"].strip('"') in sha256(answer.body).hexdigest()
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_colours_of_pairs_are_a_file(server: Server) -> None:
    rules = ask(server, "GET", path_of("pairs.css")).text
    assert [colour.web in rules for colour in PALETTE] == [True] * len(PALETTE)


def asked_again(server: Server, tag: str) -> Answer:
    return ask(server, "GET", path_of("main.js"), None, [("If-None-Match", tag)])


def test_a_file_that_the_browser_has_is_not_sent_again(server: Server) -> None:
    tag = ask(server, "GET", path_of("main.js")).headers["etag"]
    for same in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        answer = asked_again(server, same)
        assert (answer.status, answer.body) == (304, b""), same
        assert answer.headers["etag"] == tag
        assert "content-security-policy" in answer.headers
    for other in ('"other"', tag.strip('"')[:-1], ""):
        assert asked_again(server, other).status == 200, other


@pytest.mark.parametrize("path", ["/", *map(path_of, NAMES)])
def test_who_accepts_it_gets_it_compressed(server: Server, path: str) -> None:
    plain = ask(server, "GET", path)
    packed = ask(server, "GET", path, None, [("Accept-Encoding", "br;q=1.0, gzip;q=0.8")])
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert plain.headers["vary"] == packed.headers["vary"] == "accept-encoding"
    assert gzip.decompress(packed.body) == plain.body


@pytest.mark.parametrize(
    ("codings", "is_accepted"),
    [
        ("gzip", True),
        ("deflate,gzip", True),
        ("GZIP", True),
        ("gzip; q=0.5", True),
        ("", False),
        ("*", False),
        ("identity", False),
        ("gzip;q=0", False),
        ("gzip; q=0.000", False),
        ("xgzip", False),
    ],
)
def test_a_client_says_what_it_accepts(codings: str, is_accepted: bool) -> None:
    assert accepts_gzip({"accept-encoding": codings}) is is_accepted


def test_without_a_body_the_headers_are_the_same(server: Server) -> None:
    whole, head = (ask(server, verb, path_of("main.js")) for verb in ("GET", "HEAD"))
    assert (head.status, head.body) == (200, b"")
    assert head.headers == whole.headers


@pytest.mark.parametrize(
    "path",
    [
        *("/static", "/static/", "/static/nothing.js", "/static/MAIN.JS", "/main.js"),
        *("/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py"),
        *("/static//main.js", "/static/./main.js", "/static/main.js/", "/static/main.js%00"),
        *("//static/main.js", "/static/static/main.js", "/%73tatic/x/main.js", "/static\\main.js"),
        *("/static/%ff", "/static/%ED%A0%80", "/../static/main.js", "/static/__init__.py"),
    ],
)
def test_any_other_name_is_not_found(server: Server, path: str) -> None:
    for verb in ("GET", "HEAD"):
        answer = ask(server, verb, path)
        assert answer.status == 404
        assert verb == "HEAD" or answer.json["type"] == "urn:tract:NotFoundError"


@pytest.mark.parametrize("verb", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_a_file_can_only_be_read(server: Server, verb: str) -> None:
    answer = ask(server, verb, path_of("main.js"))
    assert (answer.status, answer.headers["allow"]) == (405, "GET")


def test_another_site_gets_no_file(server: Server) -> None:
    for header in (("Origin", "http://evil.example"), ("Sec-Fetch-Site", "cross-site")):
        assert ask(server, "GET", path_of("main.js"), None, [header]).status == 403
    assert ask(server, "GET", "/", None, [("Host", "evil.example")]).status == 421
