"""`tract dialogs`: what is known about each dialog, and the search in it."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli import ROOT, check_golden, invoke, ok, ok_json, screen_of
from tract import Tract
from tract.model import DialogFacts

GOLDEN = ROOT / "tests" / "golden" / "cli"
NOW = datetime.now(UTC)
UNKNOWN: dict[str, Any] = dict.fromkeys(DialogFacts.__struct_fields__)


def before(**time: int) -> str:
    return f"{NOW - timedelta(**time):%Y-%m-%dT%H:%M:%SZ}"


FACTS: dict[str, dict[str, Any]] = {
    "5f0d6a3e-0000-4000-8000-000000000001": {
        "title": "Find the bug in the parser, and explain why the tests did not see it",
        "folder": "/home/me/parser",
        "model": "claude-opus-4-8",
        "started": before(days=16, hours=15),
        "ended": before(days=16, hours=12),
        "cost": 1234.5,
        "source": "/home/me/.claude/projects/-home-me-parser/5f0d6a3e.jsonl",
    },
    "5f0d6a3e-0000-4000-8000-000000000001/a1f8104": {
        "title": "Look for größe",
        "model": "claude-haiku-4-5-20251001",
        "started": before(days=16, hours=14),
        "ended": before(days=16, hours=13),
        "parent": "5f0d6a3e-0000-4000-8000-000000000001",
        "call_id": "toolu_1",
    },
    "talk": {"model": "gpt-5.5", "cost": 0.004, "ended": before(hours=7, minutes=30)},
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database with three imported dialogs, and one that was not imported."""
    monkeypatch.chdir(tmp_path)
    ok("init")
    with Tract.open(".tract/tract.db") as t:
        t.user("hello")
        for name, facts in FACTS.items():
            t.sibling(name).user("hello")
            t.session.store.dialogs.set_settings(name, "facts", facts)
    return tmp_path


def names(*options: str) -> list[str]:
    return [info["dialog"] for info in ok_json("dialogs", *options)]


def test_the_list_looks_as_recorded(here: Path) -> None:
    check_golden(GOLDEN / "dialogs.txt", ok("dialogs"))


@pytest.mark.parametrize("columns", [60, 80, 120, 180])
def test_a_terminal_of_any_width_can_be_read(here: Path, columns: int) -> None:
    screen = re.sub(r"\x1b\[\d*m|\r", "", screen_of("dialogs", columns=columns))
    assert max(map(len, screen.splitlines())) <= columns
    check_golden(GOLDEN / f"dialogs_{columns}.txt", screen)


def test_the_json_has_all_that_is_known(here: Path) -> None:
    default, *others = ok_json("dialogs")
    assert (default["number"], default["facts"]) == (1, {**UNKNOWN, "title": "hello"})
    for info in others:
        assert info["facts"] == {**UNKNOWN, "title": "hello", **FACTS[info["dialog"]]}


def test_the_list_begins_with_the_newest_and_has_the_numbers_of_the_whole_list(here: Path) -> None:
    first, second, talk = FACTS
    assert names() == ["default", talk, first, second]
    assert ok("dialogs", "--search", "größe").splitlines()[1].split()[0] == "4"
    limited = invoke("dialogs", "-n", "2")
    assert (len(limited.stdout.splitlines()), limited.stderr) == (3, "the first 2 of 4 dialogs\n")


def test_what_the_list_shows_names_the_dialog(here: Path) -> None:
    for row in ok("dialogs").splitlines()[1:]:
        number, short = row.split()[0], row.split()[-1]
        assert ok("log", short) == ok("log", number)


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("PARSER", 1),  # title and folder
        ("bug the claude", 1),  # in several fields, in any order
        ("claude", 2),
        ("GRÖSSE", 1),  # case-insensitive in any language
        ("gpt", 1),
        ("talk", 1),
        ("5f0d6a3e", 2),
        ("parser gpt", 0),
        ("nowhere", 0),
        (" ", 4),
    ],
)
def test_every_word_is_searched_in_all_that_names_a_dialog(
    here: Path, words: str, number: int
) -> None:
    assert len(names("--search", words)) == number


def test_a_search_without_a_match_reports_it(here: Path) -> None:
    result = invoke("dialogs", "--search", "nowhere")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "no dialog has the words 'nowhere'\n"


def test_an_import_stores_the_facts_of_its_file(here: Path) -> None:
    line = {
        "parentUuid": None,
        "isSidechain": False,
        "sessionId": "s",
        "uuid": "u",
        "type": "user",
        "timestamp": "2026-11-01T12:00:00Z",
        "message": {"role": "user", "content": "<system-reminder>x</system-reminder>Why?"},
    }
    Path("s.jsonl").write_text(json.dumps(line) + "\n")
    ok("import", "s.jsonl")
    facts = ok_json("dialogs", "--search", "why?")[0]["facts"]
    assert (facts["title"], facts["started"]) == ("Why?", "2026-11-01T12:00:00Z")
    assert facts["source"] == str(here / "s.jsonl")
