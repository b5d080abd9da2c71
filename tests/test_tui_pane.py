"""The pane: moving, folding and searching, on any screen and in histories of any length."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.tui import REQUEST, Seat, in_loop, numbered, recorded, result, screen_text, seat, use
from tract import Tract
from tract.model import Message
from tract.tui.layout import Cell, Sheet

ALL_KEYS = (
    *("j", "k", "down", "up", "ctrl+e", "ctrl+y", "space", "pageup", "pagedown", "g", "G", "home"),
    *("end", "h", "l", "left", "right", "enter", "o", "enter", "tab", "x", "X", "n", "N", "t", "m"),
    *("i", "!", "w", "s", "S", "d", "t", "m", "i", "!", "space", "pageup", "G", "S", "s", "d", "f"),
)


def messages_on(seat: Seat) -> list[int]:
    """The numbers of the messages that are seen."""
    words = [line.split() for line in seat.body]
    return [int(word[1]) for word in words if word[:1] == ["message"]]


# Moving


@in_loop
async def test_it_opens_at_the_end_and_goes_to_both_ends() -> None:
    with recorded(request=numbered(100)) as tract:
        async with seat(tract) as here:
            assert messages_on(here)[-1] == 99
            assert here.here == "message 99"
            await here.press("g")
            assert messages_on(here)[0] == 0
            assert here.here == "message 0"
            await here.press("G")
            assert messages_on(here)[-1] == 99
            assert here.body[-1].strip() == "message 99"


@in_loop
async def test_the_cursor_goes_from_block_to_block_and_stays_in_sight() -> None:
    with recorded(request=numbered(100)) as tract:
        async with seat(tract, size=(80, 15)) as here:
            await here.press("g")
            for number in range(1, 60):
                await here.press("j" if number % 2 else "down")
                assert here.here == f"message {number}"
            for number in range(58, -1, -1):
                await here.press("k" if number % 2 else "up")
                assert here.here == f"message {number}"
            await here.press("k")
            assert here.here == "message 0"


@in_loop
async def test_pages_miss_nothing_and_the_cursor_comes_along() -> None:
    with recorded(request=numbered(60)) as tract:
        async with seat(tract) as here:
            await here.press("g")
            seen = set(messages_on(here))
            for _ in range(12):
                await here.press("space")
                seen |= set(messages_on(here))
                assert int(here.here.split()[-1]) in messages_on(here)
            assert seen == set(range(60))
            assert here.body[-1].strip() == "message 59"
            await here.press("pageup", "ctrl+y", "ctrl+y")
            assert messages_on(here)[-1] < 59
            assert int(here.here.split()[-1]) in messages_on(here)


@in_loop
async def test_a_block_longer_than_the_screen_is_read_to_its_end() -> None:
    text = "\n".join(f"number {n}." for n in range(70))
    spoken = [{"role": "user", "content": text}, {"role": "assistant", "content": "after it"}]
    with recorded(request={"messages": spoken}) as tract:
        async with seat(tract) as here:
            await here.press("g")
            seen: set[str] = set()
            for _ in range(12):
                seen |= {line.strip() for line in here.body}
                if here.here == "after it":
                    break
                await here.press("j")
            assert here.here == "after it"
            assert {f"number {n}." for n in range(70)} <= seen


@in_loop
async def test_long_lines_of_code_are_read_sideways() -> None:
    line = "    " * 3 + "-".join(f"{number:03}" for number in range(100))
    with recorded(request={"messages": [{"role": "user", "content": line}]}) as tract:
        async with seat(tract) as here:
            assert "000-001" in "".join(here.body)
            assert "050" not in "".join(here.body)
            for _ in range(25):
                await here.press("l")
            assert "050" in "".join(here.body)
            assert "000-001" not in "".join(here.body)
            for _ in range(30):
                await here.press("h")
            assert "000-001" in "".join(here.body)


@in_loop
async def test_the_mouse_scrolls_points_and_opens() -> None:
    with recorded() as tract:
        async with seat(tract) as here:
            row = next(n for n, line in enumerate(here.lines) if "[Read]" in line)
            await here.click(10, row)
            assert here.here.startswith("[tool_result] Read")
            assert any("line 7" in line for line in here.body)
            row = next(n for n, line in enumerate(here.lines) if line.startswith("▌"))
            await here.click(10, row)
            assert here.here.startswith("[Read]")
            row = next(n for n, line in enumerate(here.lines) if "I look at both" in line)
            await here.click(10, row)
            assert here.here == "I look at both."
            await here.click(10, row, times=2)
            assert here.here == "I look at both. …"
            await here.click(79, 1)
            assert here.here.startswith("[tools]")


# Seeing


@in_loop
async def test_tools_are_folded_hidden_and_whole_and_errors_always_there() -> None:
    with recorded() as tract:
        async with seat(tract, size=(80, 60)) as here:
            assert "  [Read] /srv/app/main.py (861 bytes)" in here.body
            await here.press("t")
            assert not any("[Read]" in line or "[tool_use]" in line for line in here.body)
            assert any("[tool_result:error] Bash" in line for line in here.body)
            await here.press("t")
            assert "  [tool_result] Read /srv/app/main.py (861 bytes)" in here.body
            assert "    command: ls" in here.body
            await here.press("t")
            assert "  [Read] /srv/app/main.py (861 bytes)" in here.body


@in_loop
async def test_each_filter_key_comes_and_goes() -> None:
    with recorded() as tract:
        async with seat(tract, size=(80, 60)) as here:
            before = here.body
            for key, gone, stays, word in (
                ("m", "Why does it fail?", "[Read]", "no text"),
                ("i", "[thinking]", "Why does it fail?", "no thinking"),
                ("!", "Why does it fail?", "[tool_result:error]", "only errors"),
            ):
                await here.press(key)
                assert not any(gone in line for line in here.body)
                assert stays in here.text
                assert word in here.title
                await here.press(key)
                assert here.body == before


@in_loop
async def test_a_filter_leaves_the_block_under_the_cursor_where_it_is() -> None:
    with recorded() as tract:
        async with seat(tract, size=(80, 16)) as here:
            await here.press("g", "j", "j", "j", "j", "j", "j", "ctrl+e", "ctrl+e", "ctrl+e")
            assert here.here == "[tool_use] Bash make"
            row = next(n for n, line in enumerate(here.lines) if line.startswith("▌"))
            for key in ("i", "i", "S", "w"):
                await here.press(key)
                assert here.lines[row].startswith("▌  [tool_use] Bash make"), key


@in_loop
async def test_one_block_is_opened_while_the_others_stay_folded() -> None:
    with recorded() as tract:
        async with seat(tract, size=(80, 80)) as here:
            before = here.body
            await here.press("x", "X", "g", "x", "enter")
            opened = here.body
            assert [line for line in opened if line not in before] == [
                *("  [tool_result:error] Bash make (14 bytes)", "    no rule", "    at all")
            ]
            await here.press("enter")
            assert here.body == before


@in_loop
async def test_tab_goes_from_call_to_result_and_back() -> None:
    with recorded() as tract:
        async with seat(tract) as here:
            await here.press("g", "x")
            assert here.here.startswith("[tool_result:error] Bash make")
            await here.press("tab")
            assert here.here == "[tool_use] Bash make"
            await here.press("tab")
            assert here.here.startswith("[tool_result:error] Bash make")
            await here.press("g", "tab")
            assert here.told == ["this has no call or result"]


@in_loop
async def test_call_and_result_have_one_colour_that_no_other_pair_has() -> None:
    with recorded() as tract:
        async with seat(tract, size=(80, 60)) as here:
            await here.press("t", "t")
            strips = [here.pane.render_line(y) for y in range(here.pane.size.height)]
            found: dict[str, list[Any]] = {}
            for strip in strips:
                for segment in strip:
                    for words in ("Read /srv", "Bash make", "Bash ls"):
                        if words in segment.text and segment.style:
                            found.setdefault(words, []).append(segment.style.color)
            assert [len(colours) for colours in found.values()] == [2, 2, 2]
            assert all(len(set(colours)) == 1 for colours in found.values()), found
            assert len({colours[0] for colours in found.values()}) == 3


@in_loop
async def test_tags_take_the_place_of_colours() -> None:
    with recorded() as tract:
        async with seat(tract, has_tags=True) as here:
            tagged = [line.split()[-1] for line in here.body if "main.py" in line]
            assert len(set(tagged)) == 1
            assert tagged[0] == "a1"


@in_loop
async def test_a_search_goes_on_with_n_and_back_with_shift() -> None:
    with recorded() as tract:
        async with seat(tract) as here:
            await here.press("g", "/")
            await here.write("RULE")
            await here.press("enter")
            assert "no rule" in here.here
            await here.press("n")
            assert here.here == "The Makefile has no such rule."
            await here.press("n")
            assert here.here == "Then add the rule."
            await here.press("N")
            assert here.here == "The Makefile has no such rule."
            await here.press("n", "n")
            assert here.here.startswith("[tool_result:error] Bash make")
            await here.press("N")
            assert here.here == "Then add the rule."
            assert not here.told
            marked = [
                segment.text
                for strip in here.app.screen._compositor.render_strips()
                for segment in strip
                if segment.style and segment.style.reverse
            ]
            assert marked.count("rule") == 3


@in_loop
async def test_errors_follow_each_other() -> None:
    spoken: list[Any] = []
    for number in range(30):
        spoken.append({"role": "assistant", "content": [use(f"c{number}", "Run", command="x")]})
        answer = result(f"c{number}", f"answer {number}", is_error=number % 10 == 5)
        spoken.append({"role": "user", "content": [answer]})
    with recorded(request={"messages": spoken}) as tract:
        async with seat(tract) as here:
            await here.press("g")
            for number in (5, 15, 25):
                await here.press("x")
                assert here.here.endswith(f"answer {number}")
            for key, number in (("x", 5), ("X", 25), ("X", 15)):
                await here.press(key)
                assert here.here.endswith(f"answer {number}")


# Screens of any size


@pytest.mark.parametrize("size", [(20, 5), (80, 1), (1, 1), (10, 3), (300, 100)])
@in_loop
async def test_any_key_on_a_screen_of_any_size(size: tuple[int, int]) -> None:
    with recorded() as tract:
        async with seat(tract, size=size) as here:
            await here.press(*ALL_KEYS)
            assert len(here.lines) == size[1]


@in_loop
async def test_on_a_small_screen_the_last_message_is_seen() -> None:
    with recorded() as tract:
        async with seat(tract, size=(20, 5)) as here:
            assert "I have added i" in here.text
            await here.press("g", "j")
            assert "You fix bugs." in here.text


@in_loop
async def test_after_a_resize_the_cursor_is_still_seen() -> None:
    with recorded() as tract:
        async with seat(tract, size=(80, 24)) as here:
            for size in ((80, 12), (30, 12), (30, 40), (25, 7), (120, 30)):
                await here.resize(*size)
                assert here.here == "I have added it."
                assert len(here.lines) == size[1]


@in_loop
async def test_prose_is_wrapped_anew_for_each_width_and_not_where_that_is_not_wanted() -> None:
    words = " ".join(f"word{number}" for number in range(40))
    with recorded(request={"messages": [{"role": "user", "content": words}]}) as tract:
        async with seat(tract, size=(80, 24)) as here:
            assert " ".join(" ".join(here.body).split()).endswith(words)
            await here.resize(40, 30)
            assert " ".join(" ".join(here.body).split()).endswith(words)
            await here.press("w")
            assert len([line for line in here.body if "word" in line]) == 1


# Nothing to see


@in_loop
async def test_any_key_in_an_empty_dialog() -> None:
    with Tract.open(":memory:", dialog="work") as tract:
        tract.branch("other")
        async with seat(tract) as here:
            await here.press(*ALL_KEYS)
            await here.press("v", "p", "-", "c", "r", "R", "u", "e", "b", "B", "escape")
            assert "0 messages" in here.title
            assert "nothing to show" in here.status
            assert "this is not a message" in here.told
            await here.click(79, 5)
            await here.click(10, 5)


@in_loop
async def test_any_key_where_a_filter_leaves_nothing() -> None:
    with recorded(request=numbered(3)) as tract:
        async with seat(tract) as here:
            await here.press("!")
            assert not any(here.body)
            await here.press("j", "k", "space", "pageup", "g", "G", "enter", "tab", "x", "s", "v")
            await here.press("!")
            assert messages_on(here) == [0, 1, 2]


# Histories of any length


@in_loop
async def test_of_ten_thousand_messages_only_a_few_are_make_cell(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made: set[int] = set()
    make = Sheet._make_cell

    def counted(sheet: Sheet, row: int) -> Cell:
        made.add(row)
        return make(sheet, row)

    monkeypatch.setattr(Sheet, "_make_cell", counted)
    with Tract.open(tmp_path / "t.db", dialog="work", durability="relaxed") as tract:
        with tract.batch():
            for number in range(10_000):
                role = ("user", "assistant")[number % 2]
                tract.commit(Message(role, f"message {number}"))
        async with seat(tract) as here:
            assert messages_on(here)[-1] == 9999
            assert len(made) < 60
            await here.press("g", "space", "space", "G", "pageup", "t", "t", "g", "i", "S", "w")
            assert messages_on(here)[0] == 0
            await here.press("G")
            assert messages_on(here)[-1] == 9999
            await here.click(79, 10)
            assert 4000 < messages_on(here)[0] < 6000
            assert len(made) < 300


# A dialog that grows


@in_loop
async def test_the_end_is_followed_where_it_is_seen_and_else_the_place_is_kept(
    tmp_path: Path,
) -> None:
    path = tmp_path / "t.db"
    with recorded(path, numbered(50)) as tract, Tract.open(path, dialog="work") as writer:
        async with seat(tract) as here:
            writer.user("message 50")
            await here.until(lambda: "51 messages" in here.title)
            assert here.here == "message 50"
            assert here.body[-1].strip() == "message 50"

            await here.press("g", "j", "j", "j")
            before = here.body
            writer.assistant("message 51")
            await here.until(lambda: "52 messages" in here.title)
            assert here.body == before
            assert here.here == "message 3"

            await here.press("f")
            assert "not following" in here.title
            writer.user("message 52")
            await asyncio.sleep(0.7)
            await here.settle()
            assert "52 messages" in here.title
            await here.press("f", "G")
            await here.until(lambda: "53 messages" in here.title)
            assert here.here == "message 52"


@in_loop
async def test_what_was_opened_stays_open_when_something_comes(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with recorded(path) as tract, Tract.open(path, dialog="work") as writer:
        async with seat(tract, size=(80, 60)) as here:
            await here.press("g", "x", "enter")
            assert "    at all" in here.body
            writer.user("and now?")
            await here.until(lambda: "and now?" in here.text)
            assert "    at all" in here.body
            assert here.here.startswith("[tool_result:error]")


@in_loop
async def test_an_empty_dialog_begins(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with Tract.open(path, dialog="work") as tract, Tract.open(path, dialog="work") as writer:
        async with seat(tract) as here:
            writer.user("first words")
            await here.until(lambda: "first words" in here.text)
            assert here.here == "first words"


@in_loop
async def test_two_of_them_look_at_one_request_the_same() -> None:
    with recorded() as one, recorded() as other:
        async with seat(one) as here, seat(other) as there:
            assert screen_text(here.app) == screen_text(there.app)
    assert len(REQUEST["messages"]) == 7
