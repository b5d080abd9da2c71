"""aider's chat histories, as messages."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.importing import entries, file_of, items_of, messages, problems
from tests.samples.aider import FIRST, SECOND
from tract.importers import aider
from tract.importers.items import Facts
from tract.model import Message

ANSWER = "# A heading\n\n> a quote of the model\n#### Another heading\n\nTwo files."


def read(folder: Path, text: str) -> list[Any]:
    return items_of(aider, file_of(folder, text))


def test_a_run_is_a_dialog(tmp_path: Path) -> None:
    items = read(tmp_path, FIRST + SECOND)
    assert problems(items) == []
    assert [(entry.dialog, *entry.messages) for entry in entries(items)] == [
        (None, Message("user", "What is here?\n\nLook é\r twice.")),
        (None, Message("assistant", ANSWER)),
        (None, Message("user", "And why?")),
        (None, Message("assistant", "Because.")),
        ("2026-01-03 03:04:05", Message("user", "Again?")),
        ("2026-01-03 03:04:05", Message("assistant", "Yes.")),
        ("2026-01-03 03:04:05", Message("user", "And now?")),
    ]


def test_what_aider_says_about_an_answer(tmp_path: Path) -> None:
    first, second = [e for e in entries(read(tmp_path, FIRST)) if e.model]
    assert (first.model, first.usage) == ("gpt-x", {"input_tokens": 654, "output_tokens": 3})
    assert (second.usage, second.metadata) == (None, {"tokens": "1.2k sent, 30 received"})


def test_facts_of_a_run(tmp_path: Path) -> None:
    started = datetime.fromisoformat("2026-01-02 03:04:05").astimezone(UTC)
    assert [item for item in read(tmp_path, FIRST) if isinstance(item, Facts)] == [
        Facts(started=started, model="gpt-x"),
        Facts(cost=0.01),
        Facts(cost=0.03),
    ]


def test_a_command_that_asks_is_a_prompt(tmp_path: Path) -> None:
    asked = entries(read(tmp_path, FIRST))[2]
    assert asked.metadata == {"command": "/ask"}


@pytest.mark.parametrize("lost", ["Two files.", "Because.", "And now?"])
def test_a_message_that_may_be_cut_is_left_out(tmp_path: Path, lost: str) -> None:
    text = FIRST + SECOND
    at = text.index(lost) + len(lost)
    before = messages(read(tmp_path, text[:at]))
    whole = messages(read(tmp_path, text))
    assert before == whole[: len(before)]
    assert not any(lost in message.text for message in before)
    assert problems(read(tmp_path, text[:at]))


def test_a_longer_file_begins_with_the_shorter_one(tmp_path: Path) -> None:
    text = FIRST + SECOND
    whole = messages(read(tmp_path, text))
    for at in range(len(text)):
        part = messages(read(tmp_path, text[:at]))
        assert part == whole[: len(part)], at


@pytest.mark.parametrize("other", ["# A title\n", "", "> # aider chat started at noon\n", "[]"])
def test_other_formats_are_left_alone(tmp_path: Path, other: str) -> None:
    assert not aider.detect(file_of(tmp_path, other))
