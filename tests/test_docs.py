"""The documentation is run: its Python, its command lines, its links and its lists.

In a Python block every printed line is shown behind `# →`. In a console block `…` stands for
whatever changes from one run to the next.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tract import Tract, errors
from tract.storage.sqlite import binding
from tract.tui.help import HELP
from tract.view.ansi import plain

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
PAGES += sorted(DOCS.glob("*.md"))
SERVER = "postgresql://localhost/agents"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"# → ?(.*)$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")


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


@pytest.mark.parametrize("page", [page for page in PAGES if runs(page)], ids=name_of)
def test_a_page_does_what_it_says(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """The blocks of a page run in order, in one folder and one namespace."""
    for variable in [name for name in os.environ if name.startswith("TRACT_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    monkeypatch.chdir(tmp_path)
    needs_server = SERVER in page.read_text("utf-8")
    server = request.getfixturevalue("pg_url") if needs_server else SERVER
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.language == "python":
            check_python(page, block, names, server)
        elif block.language == "console":
            check_console(block)


def check_python(page: Path, block: Block, names: dict[str, Any], server: str) -> None:
    source = "\n" * block.line + block.text.replace(SERVER, server)  # tracebacks name the line
    output = io.StringIO()
    with redirect_stdout(output):
        exec(compile(source, page, "exec"), names)
    printed = [line.rstrip() for line in output.getvalue().splitlines()]
    assert printed == [line.rstrip() for line in SHOWN.findall(block.text)]


def check_console(block: Block) -> None:
    for step in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, shown = step.partition("\n")
        assert command.startswith("tract "), command
        done = subprocess.run(
            command, shell=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        assert re.fullmatch(pattern(shown), done.stdout.rstrip()), f"{command}\n{done.stdout}"


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
        check_python(ROOT / "page.md", Block("python", block, 0), {}, SERVER)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(FENCE.sub("", page.read_text("utf-8"))):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link} leads nowhere"
        assert not anchor or anchor in anchors(target), f"{link}: no such heading"


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_index_names_every_page() -> None:
    linked = set(LINK.findall((DOCS / "index.md").read_text("utf-8")))
    assert {page.name for page in DOCS.glob("*.md")} - {"index.md"} <= linked


def test_the_tree_of_errors_is_the_real_one() -> None:
    shown = [block.text.strip() for block in blocks(DOCS / "errors.md")]
    assert errors.__doc__ is not None
    tree = [line[4:] for line in errors.__doc__.splitlines() if line.startswith("    ")]
    assert "\n".join(tree) in shown


def test_the_keys_are_the_real_ones() -> None:
    keys = "".join(plain(line) + "\n" for line in HELP)
    assert keys in [block.text for block in blocks(DOCS / "viewing.md")]


def test_the_tables_are_the_real_ones(tmp_path: Path) -> None:
    page = (DOCS / "storage.md").read_text("utf-8")
    sections = re.findall(r"^### `(\w+)`\n(.*?)(?=^#)", page, re.MULTILINE | re.DOTALL)
    told = {table: re.findall(r"^\| `(\w+)`", rows, re.MULTILINE) for table, rows in sections}
    Tract.open(tmp_path / "t.db").close()
    assert told == columns_of(tmp_path / "t.db")


def columns_of(database: Path) -> dict[str, list[str]]:
    connection = binding.connect(database)
    try:
        sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        tables = connection.execute(sql)
        return {
            table: [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            for (table,) in tables.fetchall()
        }
    finally:
        connection.close()
