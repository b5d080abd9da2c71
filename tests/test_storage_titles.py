"""Titles: a dialog is listed with its first prompt, unless it has another title."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

from tests.faults.harness import execute
from tests.statements import statements
from tract import Tract
from tract.storage.titles import FIRST


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


def test_prompts_are_looked_up_and_read_together(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db") as t:
        for number in range(20):
            t.sibling(f"{number}").user(f"Review file {number}.")
    with Tract.open(tmp_path / "t.db") as t:
        seen = statements(t)
        assert len(t.dialogs()) == 20
        assert len(seen) <= 5, seen


def test_long_prompts_are_titles_too(db: str) -> None:
    prompts = [f"Review file {number}.\n" + "and look closely\n" * 1_000 for number in range(3)]
    with Tract.open(db) as t:
        for prompt in prompts:
            t.sibling(prompt[:13]).user(prompt)
    assert titles(db) == {prompt[:13]: prompt[:14] for prompt in prompts}


def test_long_prompts_are_not_in_memory_together(tmp_path: Path) -> None:
    size, number = 900_000, 16
    with Tract.open(tmp_path / "t.db", tokens="chars/4") as t:
        for dialog in range(number):
            t.sibling(f"{dialog}").user(f"Question {dialog}.\n" + "x" * size)
        tracemalloc.start()
        try:
            assert len(t.dialogs()) == number
            assert tracemalloc.get_traced_memory()[1] < number * size / 2
        finally:
            tracemalloc.stop()


def test_each_dialog_has_the_first_of_its_prompts_that_can_be_one(db: str) -> None:
    with Tract.open(db) as t:
        for number in range(4):
            other = t.sibling(f"{number}")
            for _ in range(number):
                other.user("<system-reminder>be brief</system-reminder>")
                other.assistant("Yes?")
            other.user(f"Question {number}.")
    assert titles(db) == {f"{number}": f"Question {number}." for number in range(4)}


def test_a_damaged_prompt_hides_no_title_but_its_own(db: str) -> None:
    with Tract.open(db) as t:
        for number in range(3):
            t.sibling(f"{number}").user(f"Question {number}.")
    execute(db, "UPDATE commits SET role = 'user', name = 'x' WHERE id = 2")
    assert titles(db) == {"0": "Question 0.", "1": None, "2": "Question 2."}


def test_a_prompt_after_many_commits_is_no_title(db: str) -> None:
    with Tract.open(db) as t:
        for _ in range(FIRST):
            t.assistant("Hello.")
        t.user("Question.")
    assert titles(db) == {"default": None}
