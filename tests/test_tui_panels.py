"""What stands around a conversation: the tools at the cursor, and where the context goes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui import MORE_TOOLS, Seat, commit_of, in_loop, recorded, seat
from tract import Tract
from tract.tui.panels import HEIGHTS, bar, chart, largest, usage
from tract.view.context_usage import Share, growth, shares
from tract.view.numbers import short
from tract.view.sanitize import width


def panel(here: Seat) -> list[str]:
    """The lines of the open panel."""
    edge = here.pane.size.width + 1
    return [line[edge:].strip() for line in here.lines[1 : 1 + here.pane.size.height]]


# Tools


@in_loop
async def test_the_tools_at_the_cursor_and_what_became_of_them() -> None:
    with recorded() as tract:
        tract.set_tools(MORE_TOOLS)
        tract.user("And now with other tools.")
        tract.set_tools([])
        tract.user("And now without.")
        async with seat(tract, size=(120, 40)) as here:
            await here.press("g", "d")
            assert panel(here)[0] == "Tools at this point"
            assert [line.split()[0] for line in panel(here) if "tokens" in line] == ["Read", "Bash"]
            assert "file_path?: string" in panel(here)
            assert not any("set" in line for line in panel(here))

            await here.press("G", "k")
            while "other tools" not in here.here:
                await here.press("k")
            lines = panel(here)
            assert lines[1] == "set 2: 1 added, 1 removed, 1 changed"
            assert "- Bash" in lines
            assert any(line.startswith("+ Grep") for line in lines)
            changed = next(n for n, line in enumerate(lines) if line.startswith("~ Read"))
            assert "limit" in lines[changed + 1]
            assert "limit?: integer" in lines

            await here.press("G")
            assert "set 3: 2 removed" in panel(here)
            assert "- Grep" in panel(here)
            await here.press("g")
            assert "file_path?: string" in panel(here)
            assert "- Grep" not in panel(here)
            await here.press("d")
            assert "Tools at this point" not in here.text


@in_loop
async def test_the_conversation_tells_where_tools_changed() -> None:
    with recorded() as tract:
        tract.set_tools(MORE_TOOLS)
        tract.user("Go on.")
        async with seat(tract) as here:
            assert "  [tools] 2 offered: +Grep -Bash ~Read" in here.body


@in_loop
async def test_a_dialog_without_tools_says_so() -> None:
    with Tract.open(":memory:", dialog="work") as tract:
        tract.user("hi")
        async with seat(tract) as here:
            await here.press("d")
            assert "No tools were recorded." in panel(here)


@in_loop
async def test_tools_that_come_while_one_looks(tmp_path: object) -> None:
    with recorded(f"{tmp_path}/t.db") as tract, Tract.open(f"{tmp_path}/t.db") as other:
        async with seat(tract, size=(120, 40)) as here:
            await here.press("d")
            writer = other.sibling("work")
            writer.set_tools(MORE_TOOLS)
            writer.user("with other tools")
            await here.until(lambda: "with other tools" in here.text)
            await here.until(lambda: any(line.startswith("+ Grep") for line in panel(here)))


# Tokens


@in_loop
async def test_the_bar_tells_where_the_context_goes_and_changes_with_it() -> None:
    with recorded() as tract:
        async with seat(tract) as here:
            total = tract.compile().token_count
            assert here.lines[-4].startswith(f" context {total} tokens ")
            assert f"Read {tract.read().places[3].shown.token_count}" in here.lines[-4]
            assert here.lines[-3].startswith(" context per answer, peak ")
            before = here.lines[-4:-2]
            tract.reshape({commit_of(tract, 6): "collapsed"})
            await here.until(lambda: here.lines[-4:-2] != before)
            assert here.lines[-4].startswith(f" context {tract.compile().token_count} tokens ")


def test_shares_are_what_is_sent_and_growth_is_what_there_was() -> None:
    with recorded() as tract:
        reading = tract.read()
        found = {share.name: share.tokens for share in shares(reading)}
        assert sum(found.values()) == tract.compile().token_count
        assert list(found)[:3] == ["system", "tools", "text"]
        counts = growth(reading)
        assert len(counts) == 4
        assert counts == sorted(counts)
        assert counts[0] == reading.weight(reading.places[0]) + reading.weight(reading.places[1])


amounts = st.lists(st.integers(1, 10**7), min_size=0, max_size=12)


@given(amounts, st.integers(10, 200))
def test_the_bar_is_as_long_as_its_room(tokens: list[int], room: int) -> None:
    found = largest([Share(f"tool{n}", count, n % 2 == 0) for n, count in enumerate(tokens)])
    assert sum(share.tokens for share in found) == sum(tokens)
    assert len(bar([share.tokens for share in found], room).plain) == (room if tokens else 0)
    told, start = usage(found, room).plain, f"context {short(sum(tokens))} tokens"
    assert told.startswith(start)
    assert width(told) <= max(room, len(f"{start} …"))


def test_a_part_has_the_shade_that_the_legend_names() -> None:
    found = largest(
        [Share(name, tokens) for name, tokens in zip("abcdef", range(1, 7), strict=True)]
    )
    parts = "f 6  e 5  d 4  c 3  other 3"
    assert usage(found, 50).plain == f"context 21 tokens  {parts}"
    parts = "█ f 6  ▓ e 5  ▒ d 4  ░ c 3  · other 3"
    assert usage(found, 80).plain == f"context 21 tokens ██████▓▓▓▓▓▓▒▒▒▒░░░····  {parts}"


@given(st.lists(st.integers(0, 10**7), max_size=300), st.integers(10, 200))
def test_growth_has_a_bar_for_each_answer_or_as_many_as_fit(counts: list[int], room: int) -> None:
    told = chart(counts, room).plain
    is_whole = len(told) <= room
    if not counts:
        assert told == "no answers yet"
        return
    signs = [char for char in told if char in HEIGHTS]
    label = len(told) - len(signs)
    assert len(signs) == min(len(counts), max(room - label, 1))
    assert told.startswith(f"context per answer, peak {short(max(counts))} tokens ")
    assert is_whole or len(signs) == 1
    if max(counts):
        assert HEIGHTS[-1] in signs
    if len(counts) == len(signs) and max(counts):
        assert signs[counts.index(max(counts))] == HEIGHTS[-1]


@pytest.mark.parametrize("name", ["[red]x[/red]", "漢字" * 40, "\x1b[31m"])
def test_names_of_tools_in_the_legend_are_one_line_and_harmless(name: str) -> None:
    told = usage([Share(name, 5, True)], 60).plain
    assert "\x1b" not in told
    assert width(told) <= 60
