"""Hostile text: whatever it holds, nothing of it steers a terminal or hides in a line."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples.payloads import MARKUP, PAYLOADS
from tract.view.ansi import paint, plain
from tract.view.blocks import format_request
from tract.view.lines import TOOLS, Line, Look, format_lines
from tract.view.sanitize import cut, one_line, visible, width


def is_harmless(char: str) -> bool:
    """Written apart from what is tested: by what a character is, not by what is printable."""
    kind = unicodedata.category(char)
    return char in "\t\u200c\u200d" or kind[0] in "LMNPS" or kind == "Zs"


def check(lines: Iterator[Line]) -> str:
    """That all of it is harmless; and what it says."""
    said = []
    for line in lines:
        text = plain(line)
        assert len(text.splitlines()) <= 1, ascii(text)
        assert all(map(is_harmless, text)), ascii(text)
        text.encode()
        said.append(text)
        assert paint(line).count("\x1b") == 2 * sum(bool(s.text and s.style) for s in line)
    return "\n".join(said)


def requests(evil: str) -> list[Any]:
    """The payload in every field of every provider's words."""
    arguments = {evil: evil, "path": evil, "deep": {evil: [evil]}}
    tools = [{"name": evil, "input_schema": {}}, {evil: evil}]
    use = {"type": "tool_use", "id": evil, "name": evil, "input": arguments}
    result = {"type": "tool_result", "tool_use_id": evil, "content": evil, "is_error": True}
    blocks = [{"type": "text", "text": evil}, {"type": "thinking", "thinking": evil}, use]
    odd = [{"type": evil, evil: evil}, {evil: evil}, evil, {"type": f"{evil}tool_use"}]
    call = {"id": evil, "type": "function", "function": {"name": evil, "arguments": evil}}
    items = [
        {"type": "function_call", "call_id": evil, "name": evil, "arguments": evil},
        {"type": "custom_tool_call", "call_id": evil, "name": evil, "input": evil},
        {"type": "function_call_output", "call_id": evil, "output": evil},
    ]
    parts = [{"functionCall": {"id": evil, "name": evil, "args": arguments}}, {"text": evil}]
    answer = {"functionResponse": {"id": evil, "name": evil, "response": {evil: evil}}}
    return [
        {
            "system": evil,
            "tools": tools,
            "messages": [
                {"role": "assistant", "content": blocks},
                {"role": "user", "content": [result]},
                {"role": evil, "content": odd},
            ],
        },
        {
            "messages": [
                {"role": "assistant", "content": evil, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": evil, "name": evil, "content": [evil]},
            ]
        },
        {"instructions": evil, "input": items},
        {
            "contents": [
                {"role": "model", "parts": parts},
                {"role": "user", "parts": [answer]},
            ]
        },
    ]


def test_there_are_many_payloads() -> None:
    assert len(set(PAYLOADS)) >= 1000


@pytest.mark.parametrize("number", range(4), ids=["anthropic", "openai", "responses", "gemini"])
def test_no_payload_in_any_field_gets_through(number: int) -> None:
    for evil in PAYLOADS:
        blocks = format_request(requests(evil)[number])
        for tools in TOOLS:
            check(format_lines(blocks, Look(tools=tools, has_tags=tools == "summary")))


@given(st.text(st.characters(exclude_categories=())), st.integers(0, 3))
def test_no_text_at_all_gets_through(evil: str, number: int) -> None:
    check(format_lines(format_request(requests(evil)[number])))


@pytest.mark.long
def test_no_character_at_all_gets_through() -> None:
    everything = "".join(map(chr, range(sys.maxunicode, -1, -1)))  # so that surrogates are no pairs
    assert {char for char in visible(everything) if not is_harmless(char)} <= {"\n"}


@pytest.mark.parametrize("text", ["", "plain", "a\tb", "naïve 工具 😀", "a\u00a0b\u3000c", *MARKUP])
def test_what_is_harmless_stays_as_it_is(text: str) -> None:
    assert visible(text) == text
    request = {"messages": [{"role": "user", "content": text}]}
    assert not text or f"    {text}" in map(plain, format_lines(format_request(request)))


def test_scripts_and_emoji_keep_their_joiners() -> None:
    for text in ("می\u200cخواهم", "👩\u200d👩\u200d👧", "क\u094d\u200dष", "❤\ufe0f"):
        assert visible(text) == text


@pytest.mark.parametrize(
    ("evil", "seen"),
    [
        ("\x1b[31m", "\\x1b[31m"),
        ("\x00\x7f\x9b", "\\x00\\x7f\\x9b"),
        ("\r", "\\x0d"),
        ("\u202e", "\\u202e"),
        ("\u2028", "\\u2028"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("\ufeff", "\\ufeff"),
    ],
)
def test_what_is_not_is_spelled_out(evil: str, seen: str) -> None:
    assert visible(f"a{evil}b\n") == f"a{seen}b\n"


@given(st.text(st.characters(exclude_categories=())))
def test_lines_stay_lines(text: str) -> None:
    assert visible(text).split("\n") == [visible(line) for line in text.split("\n")]
    assert visible(visible(text)) == visible(text)


@given(st.text(st.characters(exclude_categories=())))
def test_one_line_is_one_line(text: str) -> None:
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert "\t" not in line
    assert line == line.strip()


def test_one_line_keeps_the_words() -> None:
    assert one_line("  a \n\n b\tc\x0bd\u2028e ") == "a b c d e"


def test_width_is_in_columns() -> None:
    assert [width(text) for text in ("", "abc", "工具", "e\u0301", "😀", "a\u200d")] == [
        *(0, 3, 4, 1, 2, 1),
    ]


@given(st.text(max_size=60), st.integers(1, 40))
def test_cut_is_never_wider(text: str, room: int) -> None:
    kept = cut(text, room)
    assert width(kept) <= room
    assert kept == text or (kept.endswith("…") and text.startswith(kept[:-1]))
    assert kept == text or width(text) > room


def test_a_very_long_text_is_cut_at_once() -> None:
    assert cut("x" * 10**7, 5) == "xxxx…"
    assert cut("x", 0) == ""


@pytest.mark.parametrize("code", [0xE0100, 0xE01EF, 0xFE00, 0xFE0E, 0x34F, 0x3164, 0x115F, 0x180B])
def test_what_nobody_sees_is_spelled_out(code: int) -> None:
    spelled = f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    assert visible(f"a{chr(code)}b") == f"a{spelled}b"
    assert visible("❤\ufe0f é 👩\u200d👧 ⠋") == "❤\ufe0f é 👩\u200d👧 ⠋"
