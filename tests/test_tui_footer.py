"""The last line: as many keys as fit, and none of them cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.tui import in_loop, recorded, seat
from tract.tui.footer import Hint, fitting, hint_text

words = st.text("abcdefgh ↑⇄", min_size=1, max_size=12)
hints = st.lists(st.builds(Hint, words, words, st.just("screen.help")), max_size=12)


@given(hints, hints, st.integers(10, 120))
def test_a_hint_is_not_cut(many: list[Hint], last: list[Hint], room: int) -> None:
    shown = list(fitting(many, last, room))
    assert shown[len(shown) - len(last) :] == last
    assert shown[: len(shown) - len(last)] == many[: len(shown) - len(last)]
    if len(shown) > len(last):
        assert len(hint_text(shown).plain) <= room


@in_loop
async def test_the_keys_are_those_of_the_block_under_the_cursor() -> None:
    with recorded() as tract:
        async with seat(tract) as here:
            assert "enter close" in here.keys
            assert "tab" not in here.keys
            await here.press("g", "j", "j", "j", "j", "j")
            assert here.here.startswith("[tool_use] Read")
            assert "enter open  tab result" in here.keys
            assert "undo" not in here.keys
            await here.press("p")
            await here.resize(160, 24)
            assert "u undo" in here.keys
            await here.resize(40, 24)
            assert here.keys.endswith("? keys  q back")


@in_loop
async def test_a_key_can_be_clicked() -> None:
    with recorded() as tract:
        async with seat(tract) as here:
            await here.click(here.lines[-1].index("? keys"), 23)
            assert "next and previous block" in here.text


@in_loop
async def test_a_command_is_run_by_its_name() -> None:
    with recorded() as tract:
        async with seat(tract) as here:
            await here.press("ctrl+p")
            await here.write("only errors")
            await here.until(lambda: "key: !" in here.text)
            await here.press("enter")
            await here.until(lambda: "only errors" in here.title)
