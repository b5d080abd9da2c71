"""Lone surrogates on their way in and out."""

from __future__ import annotations

import json

from hypothesis import example, given
from hypothesis import strategies as st

from tests.cli import HOSTILE
from tract.mcp.escapes import receivable, sendable

TEXTS = st.text(st.characters() | st.sampled_from('\\u\ud83d\ude00\ud800d"\n'))


@given(TEXTS)
@example(HOSTILE)
@example("\x00\x1b]0;t\x07\u2028")
@example("\\ud800\ud800\\\ud800")
def test_both_ways_say_the_same(text: str) -> None:
    whole = json.loads(json.dumps(text))  # two halves are one character
    sent = sendable(whole)
    sent.encode()
    assert json.loads(receivable(json.dumps(text))) == sent


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_what_has_none_stays_as_it_is(text: str) -> None:
    assert sendable(text) == text
    for line in (json.dumps(text), json.dumps(text, ensure_ascii=False)):
        assert receivable(line) == line


def test_a_lone_one_becomes_its_escape() -> None:
    assert receivable(r'{"id": "\uD800x\ud83d\ude00\\ud800"}') == (
        r'{"id": "\\ud800x\ud83d\ude00\\ud800"}'
    )
