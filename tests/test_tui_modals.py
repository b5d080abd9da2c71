"""The boxes over a screen: they keep every character, and show none that could steer a terminal."""

from __future__ import annotations

from typing import Any

import pytest
from textual import events
from textual.widgets import Input

from tests.tui import Seat, in_loop, recorded, seat, steering
from tract import Tract
from tract.tui.help import HELP
from tract.tui.modals import Ask, Edit, Editor, Page, Pick
from tract.view.lines import Styled

ODD = "a\x0cb\x1b[31mc\r\nd\re\u2028f\x85g\tz\x00\u202ei\u200b\x9b1m\x1e\U000f0000\x7f[/b][red]\n\n"


async def opened(here: Seat, box: Any) -> list[Any]:
    """A box on the screen, and what it is answered with, once it is."""
    answers: list[Any] = []
    here.app.push_screen(box, answers.append)
    await here.settle()
    return answers


# The editor


@pytest.mark.parametrize(
    "text", [ODD, "", "\n", "\r", "one", "one\n", "\x1b", "\u2028" * 3, "a\r\n"]
)
@in_loop
async def test_an_untouched_text_is_saved_to_the_last_character(text: str) -> None:
    with recorded() as tract:
        async with seat(tract) as here:
            saved: list[str] = []
            await opened(here, Edit("Edit", text, saved.append))
            assert not steering(here.text)
            assert here.app.screen.query_one(Editor).whole == text
            await here.press("ctrl+s")
            assert saved == []
            assert not isinstance(here.app.screen, Edit)


@in_loop
async def test_a_message_with_escapes_is_edited_without_losing_any() -> None:
    with Tract.open(":memory:", dialog="work") as tract:
        tract.user(ODD)
        async with seat(tract) as here:
            await here.press("e", "ctrl+s")
            assert len(list(tract.log())) == 1
            await here.press("e", "x", "right", "y", "ctrl+s")
            assert not steering(here.text)
        assert tract.stored().messages[0].text == "xay" + ODD[1:]


@in_loop
async def test_what_steers_a_terminal_is_seen_as_a_picture_in_its_column() -> None:
    with recorded() as tract:
        async with seat(tract) as here:
            await opened(here, Edit("Edit", "ab\x1bcd\u202eef", print))
            assert "ab␛cd·ef" in here.text
            area = here.app.screen.query_one(Editor)
            await here.press("end")
            assert area.cursor_location == (0, 8)


@in_loop
async def test_escape_leaves_a_box_without_an_answer() -> None:
    with recorded() as tract:
        async with seat(tract) as here:
            before = here.lines
            for box in (
                Edit("Edit", "x", print),
                Ask("Who?"),
                Pick("Which?", ["a"]),
                Page("Read", HELP),
            ):
                answers = await opened(here, box)
                assert here.lines != before
                await here.press("escape")
                assert answers == [None]
                assert here.lines == before


# Questions and choices


@in_loop
async def test_a_question_is_answered_on_one_line() -> None:
    with recorded() as tract:
        async with seat(tract) as here:
            answers = await opened(here, Ask("What [b]now[/b]?\x1b]0;x\x07", "old"))
            assert "What [b]now[/b]?\\x1b]0;x\\x07" in here.text
            await here.press("end")
            await here.write(" and new")
            await here.press("enter")
            assert answers == ["old and new"]


@in_loop
async def test_what_is_pasted_into_a_question_steers_nothing() -> None:
    with recorded() as tract:
        async with seat(tract) as here:
            await here.press("/")
            here.app.screen.query_one(Input).post_message(
                events.Paste("a\x1b]52;c;eA==\x07\u202eb")
            )
            await here.settle()
            assert not steering(here.text)
            await here.press("enter")
            assert not steering(here.text)
            assert here.told
            assert not steering(here.told[-1])
            await here.press("/")
            assert not steering(here.text)


@in_loop
async def test_one_of_several_is_picked_by_its_place() -> None:
    choices = ["same", "same", "[red]odd[/red]", "\x1b[31mx", "漢字"]
    with recorded() as tract:
        async with seat(tract) as here:
            for number, choice in enumerate(choices):
                answers = await opened(here, Pick("Which?", choices))
                assert "[red]odd[/red]" in here.text
                assert not steering(here.text)
                await here.press(*["down"] * number, "enter")
                assert answers == [choice]


# Pages


@in_loop
async def test_a_page_that_is_longer_than_the_screen_is_read_to_its_end() -> None:
    with recorded() as tract:
        async with seat(tract) as here:
            await opened(here, Page("Keys", [*HELP, (Styled("the [b]very[/b] end"),)]))
            assert "the [b]very[/b] end" not in here.text
            await here.press("end")
            await here.until(lambda: "end" in here.text)
            assert "the [b]very[/b] end" in here.text


@in_loop
async def test_no_line_of_the_help_is_broken_on_a_usual_screen() -> None:
    with recorded() as tract:
        async with seat(tract, size=(80, 50)) as here:
            await here.press("?")
            for line in HELP:
                assert "".join(span.text for span in line) in here.text
