"""The documentation is run: its Python, its command lines, its links and its lists.

In a Python block every printed line is shown behind `# →`. In a console block `…` stands for
whatever changes from one run to the next. `tract serve` in a console block starts a real server for
the rest of the page: its address stands for ADDRESS, and curl finds it in $URL and $AUTH.
"""

from __future__ import annotations

import io
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

import tract
from tract import Tract, errors
from tract.cli import cli
from tract.cli.serve import serve_command
from tract.remote import transport
from tract.remote.operations import MOST, PAGE
from tract.storage.sqlite import binding
from tract.tui.help import HELP
from tract.view.ansi import plain
from tract.web import access, events, lanes
from tract.web.intake import Limits
from tract.web.server import LANES

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
DEV = runpy.run_path(str(ROOT / "dev.py"))
PAGES: list[Path] = DEV["pages"]()
REFERENCE = [page.relative_to(DOCS) for page in sorted((DOCS / "reference").glob("*.md"))]
SERVER = "postgresql://localhost/agents"
ADDRESS = "127.0.0.1:8000"
TIMED_OUT = 28  # how curl ends a stream after -m seconds
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL = re.compile(r"[|&;<>$`*?~#\\\n]")
SHOWN = re.compile(r"# → ?(.*)$", re.MULTILINE)


class Block(NamedTuple):
    language: str
    text: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    source = page.read_text("utf-8")
    for found in FENCE.finditer(source):
        language, text = found.groups()
        yield Block(language, text, source.count("\n", 0, found.start(2)))


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def runs(page: Path) -> bool:
    return any(block.language in ("python", "console") for block in blocks(page))


@pytest.mark.parametrize("tokens", ["exact", pytest.param("estimated", marks=pytest.mark.long)])
@pytest.mark.parametrize("page", [page for page in PAGES if runs(page)], ids=name_of)
def test_a_page_does_what_it_says(
    page: Path,
    tokens: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """The blocks of a page run in order, in one folder and one namespace. Without the `tokens`
    extra only the numbers may differ, and only on a page that names the extra."""
    for variable in [name for name in os.environ if name.startswith("TRACT_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    source = page.read_text("utf-8")
    any_number = False
    if tokens == "estimated":
        hide_the_tokens_extra(tmp_path, monkeypatch)
        any_number = "`tokens` extra" in source
    server = request.getfixturevalue("pg_url") if SERVER in source else SERVER
    names: dict[str, Any] = {"__name__": "__main__"}
    real = {SERVER: server}
    with ExitStack() as stack:
        for block in blocks(page):
            if block.language == "python":
                check_python(page, block, names, real, any_number=any_number)
            elif block.language == "console" and re.match(r"\$ tract .*\bserve\b", block.text):
                url, token = stack.enter_context(started(block, real))
                real[ADDRESS] = url.removeprefix("http://")
                monkeypatch.setenv("URL", url)
                monkeypatch.setenv("AUTH", f"Authorization: Bearer {token}")
                monkeypatch.setenv("TRACT_TOKEN", token)
            elif block.language == "console":
                check_console(block, real, any_number=any_number)


@contextmanager
def started(block: Block, real: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The server of a block, on a free port: its URL and its token."""
    command, _, shown = block.text.removeprefix("$ ").partition("\n")
    words = [*shlex.split(translated(command, real)), "--port", "0"]
    with subprocess.Popen(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as p:
        try:
            assert p.stdout is not None
            link = p.stdout.readline().strip()
            url, _, token = link.partition("/#token=")
            printed = link.replace(url, f"http://{ADDRESS}")
            assert re.fullmatch(pattern(shown), printed), f"{command}\n{link}"
            yield url, token
        finally:
            p.terminate()


def translated(text: str, real: dict[str, str]) -> str:
    """The text of a page with the addresses that are real in this test."""
    for name, address in real.items():
        text = text.replace(name, address)
    return text


def hide_the_tokens_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the core install, here and in the commands that a page runs."""
    monkeypatch.setitem(sys.modules, "splintr", None)
    (folder / "sitecustomize.py").write_text("import sys\nsys.modules['splintr'] = None\n")
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)


def check_python(
    page: Path,
    block: Block,
    names: dict[str, Any],
    real: dict[str, str],
    *,
    any_number: bool = False,
) -> None:
    source = "\n" * block.line + translated(block.text, real)  # tracebacks name the line
    output = io.StringIO()
    with redirect_stdout(output):
        exec(compile(source, page, "exec"), names)
    printed = [line.rstrip() for line in output.getvalue().splitlines()]
    shown = [line.rstrip() for line in SHOWN.findall(block.text)]
    if any_number:
        printed, shown = [masked(line) for line in printed], [masked(line) for line in shown]
    assert printed == shown


def check_console(block: Block, real: dict[str, str], *, any_number: bool = False) -> None:
    for step in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, shown = step.partition("\n")
        assert command.startswith(("tract ", "curl ")), command
        code, output = run_command(translated(command, real))
        expected = TIMED_OUT if command.startswith("curl -m ") else 0
        assert code == expected, f"{command}\n{output}"
        printed = output.replace("\r", "").rstrip()
        if any_number:
            printed, shown = masked(printed), masked(shown)
        assert re.fullmatch(pattern(shown), printed), f"{command}\n{output}"


def run_command(command: str) -> tuple[int, str]:
    """Its exit code and all that it prints. What needs no shell and is `tract` runs here, because
    most of the time would go into starting processes."""
    if command.startswith("tract ") and not SHELL.search(command):
        result = CliRunner().invoke(cli, shlex.split(command)[1:], prog_name="tract")
        return result.exit_code, result.output
    done = subprocess.run(
        command, shell=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return done.returncode, done.stdout


def masked(text: str) -> str:
    """The text with every number as 0, in columns of any width."""
    return re.sub(r"\d+", "0", re.sub(" +", " ", text))


def pattern(shown: str) -> str:
    return r"[^\n]*".join(map(re.escape, shown.rstrip().split("…")))


@pytest.mark.parametrize(
    ("shown", "printed", "fits"),
    [
        ("a … c", "a b c", True),
        ("a … c", "a b d", False),
        ("a …\nc", "a b\nx\nc", False),
        ("a", "a b", False),
    ],
)
def test_the_console_check(shown: str, printed: str, fits: bool) -> None:
    assert bool(re.fullmatch(pattern(shown), printed)) is fits


@pytest.mark.parametrize("block", ["print(1)", "print(1)  # → 2", "1  # → 1"])
def test_the_python_check_finds(block: str) -> None:
    with pytest.raises(AssertionError):
        check_python(ROOT / "page.md", Block("python", block, 0), {}, {})


def test_the_example_of_a_server_runs() -> None:
    example = [sys.executable, str(ROOT / "examples" / "server.py")]
    done = subprocess.run(example, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[read_log job=build (log, 900 lines" in done.stdout
    assert "09:08:20 INFO step 500 ok" in done.stdout.splitlines()


def test_every_link_leads_somewhere() -> None:
    assert list(DEV["broken_links"](PAGES)) == []


@pytest.mark.parametrize("link", ["nowhere.md", "page.md#nothing", "#nothing"])
def test_the_link_check_finds(link: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# A title\n[good](#a-title) [bad]({link})\n```text\n[code](x.md)\n```\n")
    assert list(DEV["broken_links"]([page])) == [(page, link)]


AVOIDED = re.compile(
    r"word for word|found out by|is none of|in the place of|kept whole|shown whole|made old"
    r"|whatever its case|'s words\b|in the words of|\btold by\b|summed up"
)


def test_pages_are_in_plain_english() -> None:
    """Some of what docs/style.md says to avoid; the command line has its own texts."""
    pages = [page for page in PAGES if page.name not in ("style.md", "cli.md")]
    prose = {
        page.name: re.sub("`[^`]*`", "", FENCE.sub("", page.read_text("utf-8"))) for page in pages
    }
    assert {
        name: AVOIDED.findall(text) for name, text in prose.items() if AVOIDED.search(text)
    } == {}


# The site


def test_the_site_has_every_page() -> None:
    config = tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))
    listed = re.findall(r"'([\w/-]+\.md)'", str(config["project"]["nav"]))
    assert sorted(listed) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


def test_the_home_page_links_to_every_page() -> None:
    linked = set(re.findall(r"\]\(([\w/-]+\.md)\)", (DOCS / "index.md").read_text("utf-8")))
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    assert pages - {"index.md"} - {str(page) for page in REFERENCE} <= linked


def test_the_site_builds_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    """The strict build fails on a broken link, and on a name that is not in the source."""
    for name in ("docs", "src"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    build = [sys.executable, "-m", "zensical", "build", "--strict"]
    done = subprocess.run(build, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    built = list((tmp_path / "site").rglob("*.html"))
    assert len(built) == len(list(DOCS.rglob("*.md"))) + 1  # and one for "not found"
    for page in built:
        assert not re.search(r'<(?:script|link|img)[^>]*="(?:https?:)?//', page.read_text("utf-8"))


# The reference

DIRECTIVE = re.compile(r"^::: tract\.([\w.]+)$", re.MULTILINE)


def test_every_public_name_is_in_the_reference() -> None:
    text = "\n".join((DOCS / page).read_text("utf-8") for page in REFERENCE)
    names = {name.partition(".")[0] for name in DIRECTIVE.findall(text)}
    assert "errors" in names
    assert names | set(vars(errors)) >= set(tract.__all__)


def test_every_method_has_an_example() -> None:
    text = (DOCS / "reference" / "tract.md").read_text("utf-8")
    example = r"^::: tract\.Tract\.(\w+)\n\n```python\n(.*?)^```$"
    examples = dict(re.findall(example, text, re.MULTILINE | re.DOTALL))
    methods = {name for name in dir(Tract) if not name.startswith("_")}
    assert examples.keys() == methods
    unused = [name for name, code in examples.items() if name not in code]
    assert unused == []


def test_the_tree_of_errors_is_the_real_one() -> None:
    shown = [block.text.strip() for block in blocks(DOCS / "errors.md")]
    assert errors.__doc__ is not None
    tree = [line[4:] for line in errors.__doc__.splitlines() if line.startswith("    ")]
    assert "\n".join(tree) in shown


def test_the_keys_are_the_real_ones() -> None:
    keys = "".join(plain(line) + "\n" for line in HELP)
    assert keys in [block.text for block in blocks(DOCS / "viewing.md")]


def test_the_limits_of_the_server_are_the_real_ones() -> None:
    limits, default = Limits(), {p.name: p.default for p in serve_command.params}
    longest_pause = transport.PAUSE * 2 ** (transport.TRIES - 2)
    facts = {
        "server.md": [
            f"| {default['max_body']} MB |",
            f"| {limits.requests_per_second:,.0f} a second,",
            f"| {limits.seconds:.0f} seconds | |",
            f"| {lanes.MAX_WAITING:,}, then 503 |",
            f"| {lanes.MAX_BATCHES}; idle for {lanes.IDLE_SECONDS:.0f} seconds, "
            f"{lanes.BATCH_SECONDS:.0f} seconds in all |",
            f"| {MOST:,} |",
            f"`limit` is {PAGE}, at most {MOST}.",
            f"within {access.FRESH_SECONDS:.0f} seconds",
            f"every {events.HEARTBEAT:.0f} seconds",
            f"A reader that is {events.WAITING:,} events late",
        ],
        "operations.md": [
            f"the {lanes.KEPT_DIALOGS} dialogs that it used last",
            f"at most {LANES['postgres']} for its lanes",
            f"{lanes.MAX_BATCHES} for batches",
            "after a day" if limits.receipt_seconds == 24 * 3600 else "",
        ],
        "remote.md": [
            f"no request comes for {lanes.IDLE_SECONDS:.0f} seconds, "
            f"or after {lanes.BATCH_SECONDS:.0f} seconds",
            "up to five times" if transport.TRIES == 5 else "",
            f"grow from {transport.PAUSE} to {longest_pause} seconds",
        ],
    }
    missing = [
        fact
        for page, texts in facts.items()
        for fact in texts
        if not fact or fact not in (DOCS / page).read_text("utf-8").replace("\n", " ")
    ]
    assert missing == []


def test_the_tables_are_the_real_ones(tmp_path: Path) -> None:
    page = (DOCS / "storage.md").read_text("utf-8")
    sections = re.findall(r"^### `(\w+)`\n(.*?)(?=^#)", page, re.MULTILINE | re.DOTALL)
    told = {table: re.findall(r"^\| `(\w+)`", rows, re.MULTILINE) for table, rows in sections}
    Tract.open(tmp_path / "t.db").close()
    assert told == columns_of(tmp_path / "t.db")


def columns_of(database: Path) -> dict[str, list[str]]:
    connection = binding.connect(database)
    try:
        sql = """SELECT name FROM sqlite_master WHERE type = 'table'
            AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'content!_words!_%' ESCAPE '!'"""
        tables = connection.execute(sql)
        return {
            table: [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            for (table,) in tables.fetchall()
        }
    finally:
        connection.close()
