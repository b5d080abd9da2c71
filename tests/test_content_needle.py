"""Texts that are found whatever JSON has made of them."""

from __future__ import annotations

import json

import pytest

from tract import InputError
from tract.content.needle import LEVELS, Needle, spellings
from tract.core.wording import ERASED

SECRET = 'pä"\\n\n/s☃\U0001f600'


@pytest.mark.parametrize("depth", [0, 1, 2, 3, 4, LEVELS])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_text_is_seen_at_every_depth(depth: int, ascii_only: bool) -> None:
    text = f"before {SECRET} after {SECRET}"
    for _ in range(depth):
        text = json.dumps({"key": [text]}, ensure_ascii=ascii_only)
    assert Needle(SECRET).count(text) == 2
    assert Needle(SECRET + "!").count(text) == 0


@pytest.mark.parametrize(
    "text",
    [r"\u0073ecret", r"s\u0065\u0063ret", r"sec\u0072\u0065t", r"a \\u0073ecret", "a secret"],
)
def test_letters_may_be_escaped_too(text: str) -> None:
    assert Needle("secret").count(text) == 1
    assert Needle("secret").count(Needle("secret").redact(text)) == 0


def test_what_is_no_escape_stays() -> None:
    text = r"C:\data \x \u12"
    assert list(spellings(text + r"\\")) == [text + r"\\", text + "\\"]
    assert list(spellings("plain")) == ["plain"]
    assert Needle(r"\d+").count(r"a \d+") == 1


def test_only_the_text_is_replaced_if_it_stands_there_as_it_is() -> None:
    needle = Needle("b")
    assert needle.redact("abc") == f"a{ERASED}c"
    assert needle.redact("xyz") == "xyz"
    assert needle.redact(r"abc \u0062") == ERASED
    value = {"b": ["abc", 7, None, {"x": True}]}
    assert needle.redact_json(value) == {ERASED: [f"a{ERASED}c", 7, None, {"x": True}]}


@pytest.mark.parametrize("text", ["", "forgotten", "[", ERASED])
def test_a_text_that_would_come_back_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        Needle(text)


def test_numbers_and_own_keys_are_searched_and_words_of_formats_are_not() -> None:
    value = {"text": "arguments", "name": {"key of mine": [411122, 1.5, True, None]}}
    counts = {text: Needle(text).count_json(value) for text in ("1112", "mine", "1.5", "arguments")}
    assert counts == {"1112": 1, "mine": 1, "1.5": 1, "arguments": 1}
    for word in ("text", "name", "null", "true", "True", ":", '"'):
        assert Needle(word).count_json(value) == 0


def test_keys_that_become_equal_are_numbered() -> None:
    left = Needle("s").redact_json({"s": 1, r"\u0073": 2, ERASED: 3})
    assert left == {f"{ERASED}-2": 1, f"{ERASED}-3": 2, ERASED: 3}
