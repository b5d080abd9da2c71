"""Ids and names of any kind, through the clients and over plain sockets; ETags, ranges, HEAD."""

from __future__ import annotations

import hashlib
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.asking import answer_of, ask, connected, head, send
from tests.serving import serving, url_of
from tract import InputError, ResultNotFoundError, ToolResultsClient, connect
from tract.remote.transport import quoted
from tract.web.server import Server

IDS = [
    "a/b",
    "/",
    "..",
    ".",
    "../../etc/passwd",
    "a%2Fb",
    "%",
    "%%30",
    "%00",
    "a+b",
    "a b",
    " ",
    "a?b=c&d#e",
    "c#2",
    "#2",
    "ü",
    "日本語",
    "👩‍👩‍👧",
    "\x00",
    "a\x00b",
    "line\nbreak\r",
    "\u202e",
    "\ud800",
    "x\udfff",
    "\x7f",
    "x" * 1500,
    "é" * 750,
    "part",
    "true",
]
NAMES = ["a/b", "..", ".", "a%2Fb", "%", "a+b", "a b", "c#2", "ü日本", "👩", "x" * 200, "a?b&c"]
"""What dialogs and branches can be named."""
BAD_NAMES = ["", " ", "-x", "HEAD", "\x00", "a\nb", "\ud800", "x" * 201, "\u202e"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(str(tmp_path_factory.mktemp("ids") / "t.db")) as running:
        yield running


def client(server: Server, dialog: str) -> ToolResultsClient:
    return ToolResultsClient(server.url, dialog, token=server.token)


@pytest.mark.parametrize("name", IDS, ids=lambda name: ascii(name)[:20])
def test_a_call_can_have_any_id(server: Server, name: str) -> None:
    with connect(url_of(server), dialog="ids") as t, client(server, "ids") as results:
        t.assistant("", tool_calls=[{"id": name, "name": "ls", "arguments": {}}])
        t.tool_result(name, "ls", f"<{name}>")
        assert name in t.get_tool_result(name)
        assert results.get_result(name) == f"<{name}>"
        assert b"".join(results.read(name)).decode("utf-8", "surrogatepass") == f"<{name}>"
        facts = results.get_metadata(name)
        assert facts is not None
        assert results.get_result(facts.tool_call_id) == f"<{name}>"  # the id as a model sees it
    answer = ask(server, "GET", f"/api/dialogs/ids/tool-results/{quoted(name)}", server.token)
    assert answer.json["result"] == f"<{name}>"
    assert answer.json["tool_call_id"] == facts.tool_call_id


@pytest.mark.parametrize("name", IDS, ids=lambda name: ascii(name)[:20])
def test_a_result_can_be_stored_under_any_id(server: Server, name: str) -> None:
    path = f"/api/dialogs/stored/tool-results/{quoted(name)}"
    assert send(server, "PUT", path, {"tool_name": "ls", "result": {"is": name}}).status == 200
    with client(server, "stored") as results:
        assert results.get_result(name) == {"is": name}
        results.store_result(name, "ls", {}, "newer")
        assert results.get_result(name) == "newer"
        assert results.get_result(f"{name} unknown") is None
    assert ask(server, "GET", f"{path}?occurrence=1&view=raw", server.token).json == {"is": name}


def test_an_empty_id_is_an_id(server: Server) -> None:
    path = "/api/dialogs/empty/tool-results/"
    assert send(server, "PUT", path, {"tool_name": "ls", "result": "x"}).status == 200
    assert ask(server, "GET", path, server.token).json["result"] == "x"
    with client(server, "empty") as results:
        assert results.get_result("") == "x"
    assert ask(server, "GET", "/api/dialogs/ids/tool-results/", server.token).status == 404


def test_dots_and_slashes_are_not_resolved(server: Server) -> None:
    """Only an encoded slash belongs to an id; dots mean nothing."""
    send(server, "PUT", "/api/dialogs/dots/tool-results/x", {"tool_name": "ls", "result": 1})
    for path in ("/api/dialogs/other/../dots/tool-results/x", "/api/./dialogs/dots/tool-results/x"):
        assert ask(server, "GET", path, server.token).status == 404
    assert ask(server, "GET", "//api/dialogs/dots/tool-results/x", server.token).status == 404
    for path in ("/docs/../openapi.json", "/docs/%2e%2e/app.py", "/docs/..%2f__init__.py"):
        assert ask(server, "GET", path, server.token).status == 404
    encoded = quote("tool-results").replace("-", "%2D")
    assert ask(server, "GET", f"/api/dialogs/dots/{encoded}/x", server.token).status == 200


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name)[:20])
def test_a_dialog_and_a_branch_can_have_any_name(server: Server, name: str) -> None:
    with connect(url_of(server), dialog=name) as t:
        t.user("one")
        t.branch(name)
        t.checkout(name)
        t.user("two")
        assert name in t.branches()
        assert [info.preview for info in t.log()] == ["two", "one"]
        t.checkout("main")
        assert [info.preview for info in t.log()] == ["one"]
        t.delete_branch(name)
        assert name not in t.branches()
    answer = ask(server, "GET", f"/api/dialogs/{quoted(name)}", server.token)
    assert answer.json["dialog"] == name
    assert ask(server, "GET", f"/?dialog={quoted(name)}", server.token).status == 200


@pytest.mark.parametrize("name", BAD_NAMES, ids=lambda name: ascii(name)[:20])
def test_a_name_that_cannot_be_is_refused(server: Server, name: str) -> None:
    with pytest.raises(InputError):
        connect(url_of(server), dialog=name)
    with connect(url_of(server), dialog="branches") as t:
        t.user("Hi")
        with pytest.raises(InputError):
            t.branch(name)
        assert list(t.branches()) == ["main"]
    path = f"/api/dialogs/{quoted(name)}"
    assert ask(server, "GET", path, server.token).status == 404
    assert ask(server, "GET", f"{path}/log", server.token).status == 404
    assert send(server, "POST", f"{path}/messages/user", {"text": "Hi"}).status in (404, 422)


@pytest.mark.parametrize(
    "name", ["a/b", "..", "%", "a b", "ü", "👩‍👩‍👧", "\x00", "\ud800", "x" * 1500], ids=ascii
)
def test_a_tool_can_have_any_name(server: Server, name: str) -> None:
    """Also one that no provider accepts: what was recorded is returned."""
    with connect(url_of(server), dialog="tools") as t, client(server, "tools") as results:
        call = "call_" + "_".join(str(ord(character)) for character in name[:3])
        t.assistant("", tool_calls=[{"id": call, "name": name, "arguments": {}}])
        t.tool_result(call, name, "done")
        assert len(t.find_tool_calls(name)) == 1
        assert [info.tool_call_id for info in results.list_results(tool=name)] == [call]
    answer = ask(server, "GET", f"/api/dialogs/tools/tools/{quoted(name)}", server.token)
    assert answer.status in (200, 404)


def test_a_reused_id_is_the_newest(server: Server) -> None:
    base = "/api/dialogs/reused/tool-results/c"
    for number in (1, 2, 3):
        send(server, "PUT", base, {"tool_name": "ls", "result": f"number {number}"})
    results = [ask(server, "GET", f"{base}?{q}", server.token) for q in ("", "view=full")]
    assert {answer.json["result"] for answer in results} == {"number 3"}
    for number in (1, 2, 3):
        answer = ask(server, "GET", f"{base}?occurrence={number}", server.token)
        assert answer.json["result"] == f"number {number}"
    for bad in ("0", "4", "-1", "9" * 30):
        answer = ask(server, "GET", f"{base}?occurrence={bad}", server.token)
        assert answer.status in (404, 422)


# Tags and ranges


SIZE = 5_000_000
LINE = "0123456789abcdef" * 4 + "é\n"


@pytest.fixture(scope="module")
def large(server: Server) -> str:
    """The path of a large result."""
    path = "/api/dialogs/large/tool-results/big"
    text = LINE * (SIZE // len(LINE))
    assert send(server, "PUT", path, {"tool_name": "cat", "result": text}).status == 200
    return path


@pytest.fixture(scope="module")
def small(server: Server) -> str:
    path = "/api/dialogs/large/tool-results/small"
    assert send(server, "PUT", path, {"tool_name": "cat", "result": LINE * 3}).status == 200
    return path


def hash_of(server: Server, path: str) -> str:
    name: str = ask(server, "GET", path, server.token).json["content_hash"]
    return name


@pytest.mark.parametrize("which", ["large", "small"])
def test_the_tag_is_the_content_hash(
    server: Server, which: str, request: pytest.FixtureRequest
) -> None:
    path = request.getfixturevalue(which)
    answer = ask(server, "GET", path, server.token)
    result = answer.json["result"]
    digest = hashlib.sha256(json.dumps(result, separators=(",", ":")).encode("ascii")).hexdigest()
    assert answer.headers["etag"] == f'"{digest}"' == f'"{hash_of(server, path)}"'
    for value in (f'"{digest}"', f'W/"{digest}"', f'"x", "{digest}"', "*"):
        same = ask(server, "GET", path, server.token, [("If-None-Match", value)])
        assert (same.status, same.body, same.headers["etag"]) == (304, b"", f'"{digest}"')
    for value in ('"x"', digest, ""):
        other = ask(server, "GET", path, server.token, [("If-None-Match", value)])
        assert (other.status, other.body) == (200, answer.body)
    fixed = ask(server, "GET", f"{path}?content={digest}", server.token)
    assert "immutable" in fixed.headers["cache-control"]
    assert "immutable" not in answer.headers["cache-control"]
    assert ask(server, "GET", f"{path}?content={'0' * 64}", server.token).status == 404


@pytest.mark.parametrize("which", ["large", "small"])
@pytest.mark.parametrize("view", ["full", "raw"])
def test_a_range_is_a_part_of_the_same_bytes(
    server: Server, which: str, view: str, request: pytest.FixtureRequest
) -> None:
    path = f"{request.getfixturevalue(which)}?view={view}"
    whole = ask(server, "GET", path, server.token)
    size = len(whole.body)
    middle = size // 2
    for value, start, stop in (
        ("bytes=0-0", 0, 1),
        ("bytes=0-99", 0, 100),
        (f"bytes={middle}-{middle + 70}", middle, middle + 71),
        (f"bytes={size - 5}-", size - 5, size),
        ("bytes=-7", size - 7, size),
        (f"bytes=10-{size * 2}", 10, size),
        (f"bytes=-{size * 2}", 0, size),
    ):
        part = ask(server, "GET", path, server.token, [("Range", value)])
        assert (part.status, part.body) == (206, whole.body[start:stop]), value
        assert part.headers["content-range"] == f"bytes {start}-{stop - 1}/{size}"
    for value in (f"bytes={size}-", "bytes=-0", f"bytes={'9' * 18}-"):
        none = ask(server, "GET", path, server.token, [("Range", value)])
        assert (none.status, none.headers["content-range"]) == (416, f"bytes */{size}")
    for value in ("bytes=0-1,5-6", "lines=0-1", "bytes=x-y", "bytes=-", f"bytes={'9' * 40}-"):
        all_of_it = ask(server, "GET", path, server.token, [("Range", value)])
        assert (all_of_it.status, all_of_it.body) == (200, whole.body), value


def test_a_range_of_another_content_is_all_of_it(server: Server, large: str) -> None:
    tag = hash_of(server, large)
    for condition, status in ((f'"{tag}"', 206), (f'W/"{tag}"', 200), ('"other"', 200)):
        headers = [("Range", "bytes=0-9"), ("If-Range", condition)]
        assert ask(server, "GET", large, server.token, headers).status == status


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/docs",
        "/openapi.json",
        "/api",
        "/api/dialogs",
        "/api/dialogs/large/tool-results/big",
        "/api/dialogs/large/tool-results/small?view=raw",
        "/api/dialogs/large/tool-results/unknown",
        "/api/dialogs/large/log",
    ],
)
def test_head_has_the_headers_of_get(server: Server, large: str, small: str, path: str) -> None:
    full, short = (ask(server, verb, path, server.token) for verb in ("GET", "HEAD"))
    assert (short.status, short.body) == (full.status, b"")
    assert short.headers == full.headers


@pytest.mark.parametrize("path", ["/api/events", "/api/dialogs/large/events"])
def test_head_of_a_stream_ends(server: Server, large: str, path: str) -> None:
    with connected(server) as line:
        line.sendall(head(server, "HEAD", path, server.token))
        answer = answer_of(line, "HEAD")
        assert answer.status == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert line.recv(1) == b""


def test_a_large_result_needs_little_memory(server: Server, large: str) -> None:
    """The server is in this process: what it and the client hold at once is measured."""
    with client(server, "large") as results:
        tracemalloc.start()
        try:
            size = sum(map(len, results.read("big")))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert size > SIZE
    assert peak < SIZE / 2


def test_an_unknown_result_is_not_found(server: Server, large: str, tmp_path: Path) -> None:
    with connect(url_of(server), dialog="large") as t, pytest.raises(ResultNotFoundError):
        t.get_tool_result("unknown")
    for part in ("", "?view=raw", "?view=metadata", "?lines=1-2", "/part", "/summary"):
        verb = "POST" if part == "/summary" else "GET"
        path = f"/api/dialogs/large/tool-results/unknown{part}"
        answer = (
            send(server, verb, path, {})
            if verb == "POST"
            else ask(server, verb, path, server.token)
        )
        assert (answer.status, answer.json["type"]) == (404, "urn:tract:ResultNotFoundError")
