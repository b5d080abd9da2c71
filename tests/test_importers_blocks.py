"""Broken blocks cost only themselves."""

from __future__ import annotations

import pytest

from tract.errors import InputError
from tract.importers.blocks import load_sound, read_blocks
from tract.importers.items import Problem
from tract.model import Json
from tract.providers import load_message

TEXT = {"type": "text", "text": "Hi"}


@pytest.mark.parametrize("broken", [None, {}, 7, {"type": "text"}, {"type": "text", "text": None}])
def test_a_broken_block_is_left_out_and_reported(broken: Json) -> None:
    message = {"role": "user", "content": [TEXT, broken, TEXT]}
    (loaded,), problems = load_sound("line 3", load_message, message)
    assert loaded.text == "Hi\nHi" or loaded.text == "HiHi"
    assert [problem.place for problem in problems] == ["line 3, block 2"]


def test_a_sound_message_has_no_problems() -> None:
    (loaded,), problems = load_sound("line 3", load_message, {"role": "user", "content": "Hi"})
    assert (loaded.text, problems) == ("Hi", [])


@pytest.mark.parametrize("message", [None, {}, {"role": "user"}, {"role": "user", "content": 7}])
def test_a_message_of_which_nothing_is_left_is_refused(message: Json) -> None:
    with pytest.raises(InputError):
        load_sound("line 3", load_message, message)


def test_each_block_is_read_by_itself() -> None:
    def read(value: Json) -> int:
        if not isinstance(value, int):
            raise InputError(f"not a number: {value!r}")
        return value

    assert read_blocks("line 1", read, [1, "a", 2]) == (
        [1, 2],
        [Problem("line 1, block 2", "not a number: 'a'")],
    )
    assert read_blocks("line 1", read, None) == ([], [])
