"""Titles: a dialog is listed with its first prompt, unless it has another title."""

from __future__ import annotations

from pathlib import Path

from tests.faults.harness import execute
from tests.statements import statements
from tract import Tract


def titles(db: str) -> dict[str, str | None]:
    with Tract.open(db) as t:
        return {info.dialog: info.facts.title for info in t.dialogs()}


def test_the_first_prompt_is_the_title(db: str) -> None:
    with Tract.open(db) as t:
        t.system("You are a reviewer.")
        t.user("<system-reminder>be brief</system-reminder>\nReview the parser.\nIt is slow.")
        t.user("And the tests.")
    assert titles(db) == {"default": "Review the parser."}


def test_a_stored_title_comes_first(db: str) -> None:
    with Tract.open(db) as t:
        t.user("question")
        t.store.dialogs.set_settings("default", "facts", {"title": "A question"})
    assert titles(db) == {"default": "A question"}


def test_words_of_the_prompt_find_the_dialog(db: str) -> None:
    with Tract.open(db) as t:
        t.user("Review the parser.")
        assert [info.dialog for info in t.dialogs("PARSER review")] == ["default"]
        assert t.dialogs("lexer") == []


def test_without_a_prompt_there_is_none(db: str) -> None:
    with Tract.open(db) as t:
        t.assistant("Hello.")
    assert titles(db) == {"default": None}


def test_an_erased_prompt_is_no_title(db: str) -> None:
    with Tract.open(db) as t:
        secret = t.user("My key is hunter2.")
        t.user("Is it safe?")
        t.forget(secret)
    assert titles(db) == {"default": "Is it safe?"}


def test_a_damaged_prompt_does_not_hide_the_list(db: str) -> None:
    with Tract.open(db) as t:
        t.user("Review the parser.")
    execute(db, "UPDATE blobs SET payload = payload || payload")
    assert titles(db) == {"default": None}


def test_a_prompt_is_read_once(db: str) -> None:
    with Tract.open(db) as t, Tract.open(db) as other:
        t.user("Review the parser.")
        assert [info.facts.title for info in t.dialogs()] == ["Review the parser."]
        other.session.store.driver.run("UPDATE blobs SET payload = payload || payload")
        assert [info.facts.title for info in t.dialogs()] == ["Review the parser."]
        assert [info.facts.title for info in other.dialogs()] == [None]


def test_a_title_that_was_read_goes_when_another_process_erases_it(db: str) -> None:
    with Tract.open(db) as t, Tract.open(db) as other:
        secret = t.user("My key is hunter2.")
        assert [info.facts.title for info in t.dialogs()] == ["My key is hunter2."]
        other.forget(secret)
        assert [info.facts.title for info in t.dialogs()] == [None]


def test_a_prompt_is_looked_up_and_read_by_two_statements(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db") as t:
        for number in range(20):
            t.sibling(f"{number}").user(f"Review file {number}.")
    with Tract.open(tmp_path / "t.db") as t:
        seen = statements(t)
        assert len(t.dialogs()) == 20
        assert len(seen) <= 2 * 20 + 3, seen[-8:]
