"""`tract dialogs`: what is known about each dialog, and the search in it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli import ROOT, check_golden, invoke, ok, ok_json, screen_of
from tract import Tract
from tract.model import DialogFacts

GOLDEN = ROOT / "tests" / "golden" / "cli"
TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ")
UNKNOWN: dict[str, Any] = dict.fromkeys(DialogFacts.__struct_fields__)
FACTS: dict[str, dict[str, Any]] = {
    "5f0d6a3e-0000-4000-8000-000000000001": {
        "title": "Find the bug in the parser, and explain why the tests did not see it",
        "folder": "/home/me/parser",
        "model": "claude-opus-4-8",
        "started": "2026-11-01T12:00:00Z",
        "ended": "2026-11-01T13:30:00Z",
        "cost": 1234.5,
        "source": "/home/me/.claude/projects/-home-me-parser/5f0d6a3e.jsonl",
    },
    "5f0d6a3e-0000-4000-8000-000000000001/a1f8104": {
        "title": "Look for größe",
        "model": "claude-haiku-4-5-20251001",
        "started": "2026-11-01T12:10:00Z",
        "ended": "2026-11-01T12:11:00Z",
        "parent": "5f0d6a3e-0000-4000-8000-000000000001",
        "call_id": "toolu_1",
    },
    "talk": {"model": "gpt-5.5", "cost": 0.004},
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
    check_golden(GOLDEN / "dialogs.txt", TIME.sub("2026-01-02 03:04:05Z", ok("dialogs")))


@pytest.mark.parametrize("columns", [60, 80, 120, 180])
def test_a_terminal_of_any_width_can_be_read(here: Path, columns: int) -> None:
    screen = re.sub(r"\x1b\[\d*m|\r", "", screen_of("dialogs", columns=columns))
    assert max(map(len, screen.splitlines())) <= columns
    text = TIME.sub("2026-01-02 03:04:05Z", screen)
    check_golden(GOLDEN / f"dialogs_{columns}.txt", text)


def test_the_json_has_all_that_is_known(here: Path) -> None:
    default, first, *_ = ok_json("dialogs")
    assert default["facts"] == UNKNOWN
    assert first["facts"] == {**UNKNOWN, **FACTS[first["dialog"]]}


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
