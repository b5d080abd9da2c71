"""Lines on a terminal, with colours and without."""

from __future__ import annotations

import re

import pytest

from tract.view.ansi import STYLES, paint, plain
from tract.view.blocks import format_request
from tract.view.lines import TOOLS, Look, Styled, format_lines
from tract.view.palette import PALETTE

CALLS = 2 * len(PALETTE)
SEQUENCE = re.compile(r"\x1b\[([0-9;]*)m")


def blocks_of(calls: int) -> list[object]:
    uses = [{"type": "tool_use", "id": f"c{n}", "name": "Read", "input": {}} for n in range(calls)]
    results = [
        {"type": "tool_result", "tool_use_id": f"c{n}", "content": "x", "is_error": n % 3 == 0}
        for n in range(calls)
    ]
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    return [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [thought, *uses]},
        {"role": "user", "content": results},
        {"role": "someone", "content": "x"},
    ]


def test_a_span_is_painted_and_the_paint_ends_with_it() -> None:
    assert paint((Styled("a", "error bold"), Styled("b"), Styled("c", "p0"))) == (
        f"\x1b[31;1ma\x1b[0mb\x1b[38;5;{PALETTE[0].terminal}mc\x1b[0m"
    )


def test_nothing_is_painted_for_nothing() -> None:
    assert paint(()) == paint((Styled("", "bold"),)) == plain(()) == ""


def test_each_colour_of_the_palette_can_be_painted() -> None:
    for place, colour in enumerate(PALETTE):
        assert paint((Styled("x", f"p{place}"),)) == f"\x1b[38;5;{colour.terminal}mx\x1b[0m"


@pytest.mark.parametrize("tools", TOOLS)
def test_paint_is_all_that_differs(tools: str) -> None:
    request = {"system": "s", "messages": blocks_of(CALLS)}
    for line in format_lines(format_request(request), Look(tools=tools)):
        assert SEQUENCE.sub("", paint(line)) == plain(line)
        assert all(word in STYLES for span in line for word in span.style.split())


def test_a_call_and_its_result_are_painted_alike() -> None:
    lines = [paint(line) for line in format_lines(format_request({"messages": blocks_of(CALLS)}))]
    heads = [line for line in lines if "[tool_" in line and "error" not in line]
    for number in range(CALLS):
        if number % 3:
            colour = f"\x1b[38;5;{PALETTE[number % len(PALETTE)].terminal}m"
            assert sum(line.startswith(colour) for line in heads) >= 2


def test_errors_are_red_and_keep_the_colour_of_their_pair() -> None:
    lines = [paint(line) for line in format_lines(format_request({"messages": blocks_of(1)}))]
    (error,) = (line for line in lines if "error" in line)
    assert error.startswith("\x1b[31;1m  [tool_result:error]\x1b[0m")
    assert f"\x1b[38;5;{PALETTE[0].terminal}m Read (1 bytes)" in error
