"""The list of dialogs: what it tells of each, and that it keeps up with the database."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.cli import invoke
from tests.tui import Seat, in_loop, recorded, seat
from tract import Tract
from tract.economy.prices import PriceList, prices_of
from tract.tui import dialogs
from tract.tui.dialog_list import dialog_line
from tract.tui.dialogs import DialogTable

WIDE = (120, 20)


def row_of(here: Seat, name: str) -> list[str]:
    return next(line.split() for line in here.lines[2:-3] if line.split()[:1] == [name])


def names(here: Seat) -> list[str]:
    return [line.split()[0].rstrip(":") for line in here.lines[2:-3] if line.split()]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialogs, "LOOK_EVERY", 0.05)


@in_loop
async def test_a_dialog_with_size_tokens_cost_and_errors() -> None:
    with recorded() as tract:
        (info,) = tract.dialogs()
        async with seat(tract, None, WIDE, title="some.db") as here:
            await here.until(lambda: "…" not in here.text)
            assert here.lines[0].split() == ["tract", "·", "some.db", "1", "dialog"]
            words = ["Why", "does", "it", "fail?", "some-model", "11", str(info.tokens)]
            assert row_of(here, "work:")[1:] == [*words, "1.1M", "tok", "1", "now"]
            assert here.lines[-3] == " work: Why does it fail?"
            assert here.lines[-2].startswith(" work · branch main · ")
        prices = {"some": {"input": 3, "output": 15}, "other": {"input": 100, "output": 100}}
        async with seat(tract, None, WIDE, prices=PriceList(prices_of(prices))) as here:
            await here.until(lambda: "…" not in here.text)
            assert row_of(here, "work:")[-3:-1] == ["$4.50", "1"]


@in_loop
async def test_what_costs_nothing_and_has_no_errors_has_empty_cells() -> None:
    with Tract.open(":memory:", dialog="small") as tract:
        tract.user("hi")
        async with seat(tract, None, WIDE) as here:
            await here.until(lambda: "…" not in here.text)
            assert row_of(here, "small:") == ["small:", "hi", "1", "1", "now"]


@in_loop
async def test_prices_that_do_not_fit_leave_the_cost_open() -> None:
    with recorded() as tract:
        tract.commit(
            {"role": "assistant", "content": "more"},
            usage={"input_tokens": 5, "output_tokens": 5},
            generation_config={"model": "unknown"},
        )
        prices = {"some-model": {"input": 1, "output": 1}}
        async with seat(tract, None, WIDE, prices=PriceList(prices_of(prices))) as here:
            await here.until(lambda: "$1.10+" in here.text)


def test_a_file_of_prices_is_checked_before_anything_is_shown(tmp_path: Path) -> None:
    path, database = tmp_path / "prices.toml", tmp_path / "t.db"
    recorded(database).close()
    for text in ("[m]\ninput = 'x'\noutput = 1", "no TOML", "[m]\ninput=1\noutput=1\nodd=2"):
        path.write_text(text)
        done = invoke("--db", str(database), "tui", "--prices", str(path))
        assert done.exit_code != 0
        assert "prices" in done.output


@pytest.mark.usefixtures("quick")
@in_loop
async def test_the_list_keeps_up_with_what_others_do(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with recorded(path) as tract, Tract.open(path, dialog="second") as other:
        async with seat(tract, None, WIDE) as here:
            assert names(here) == ["work"]
            other.user("hi")
            await here.until(lambda: "second" in here.text)
            await here.press("g")
            other.user("again")
            await here.until(lambda: row_of(here, "second:")[2] == "2")
            other.branch("side")
            await here.until(lambda: "branch main and 1 more" in here.text)
            other.delete_dialog("work")
            await here.until(lambda: "work" not in here.text)
            assert names(here) == ["second"]
            await here.press("enter")
            assert "again" in here.text


@in_loop
async def test_the_newest_comes_first() -> None:
    with recorded() as tract:
        for name in ("one", "two"):
            tract.sibling(name).user("hi")
        async with seat(tract, None, WIDE) as here:
            assert names(here) == ["two", "one", "work"]


@in_loop
async def test_the_cursor_stays_on_its_dialog_while_one_is_read() -> None:
    with recorded() as tract:
        for name in ("one", "two"):
            tract.sibling(name).user(f"this is {name}")
        async with seat(tract, None, WIDE) as here:
            await here.press("down", "enter")
            assert "this is one" in here.text
            await here.press("q")
            assert here.app.screen.query_one(DialogTable).cursor == 1
            await here.press("enter")
            assert "this is one" in here.text


@in_loop
async def test_when_all_is_told_nothing_goes_on_working() -> None:
    with recorded() as tract:
        async with seat(tract, None, WIDE) as here:
            await here.until(lambda: "…" not in here.text)
            calls: list[str] = []
            screen: Any = here.app.screen
            screen._waiting = _Watched(calls)
            await asyncio.sleep(0.3)
            assert len(calls) <= 2


class _Watched(dict[str, None]):
    """An empty queue that tells when somebody looks into it."""

    def __init__(self, calls: list[str]) -> None:
        super().__init__()
        self._calls = calls

    def __contains__(self, name: object) -> bool:
        self._calls.append("looked")
        return False


@in_loop
async def test_a_database_without_dialogs() -> None:
    with Tract.open(":memory:") as tract:
        async with seat(tract, None) as here:
            await here.press("enter", "down", "up", "?", "escape")
            assert names(here) == []
            await here.press("q")
            assert here.app._exit


@in_loop
async def test_a_name_that_looks_like_markup_is_a_name() -> None:
    with recorded(dialog="[red]x[/red]") as tract:
        async with seat(tract, None, WIDE) as here:
            assert "[red]x[/red]" in here.text
            await here.press("enter")
            assert here.title.startswith("[red]x[/red]: Why does it fail?")


@in_loop
async def test_the_usual_screen_has_the_columns_that_matter() -> None:
    with recorded() as tract:
        prices = PriceList(prices_of({"": {"input": 3, "output": 15}}))
        async with seat(tract, None, prices=prices) as here:
            await here.until(lambda: "$" in here.text)
            columns = ["title", "project", "model", "commits", "tokens", "cost", "age▲"]
            assert here.lines[1].split() == columns


@in_loop
async def test_a_title_of_a_program_or_of_an_importer_is_harmless(quick: None) -> None:
    with Tract.open(":memory:", dialog="one") as tract:
        tract.user("hi")
        async with seat(tract, None, (160, 20)) as here:
            tract.sibling("two").user("hi")
            facts = {"title": "Find \x1b[31mthe bug " + "x" * 100, "folder": "/srv/shop\x07"}
            tract.session.store.dialogs.set_settings("two", "facts", facts)
            await here.until(lambda: r"two: Find \x1b[31mthe bug xxx" in here.text)
            assert r"shop\x07" in row_of(here, "two:")


async def filled(here: Seat) -> None:
    await here.until(lambda: not here.app.screen._waiting)  # type: ignore[attr-defined]


@in_loop
async def test_any_column_sorts_by_key_and_by_click() -> None:
    with Tract.open(":memory:", dialog="b") as tract:
        for name, count in (("b", 2), ("c", 3), ("a", 1)):
            for number in range(count):
                tract.sibling(name).user(f"prompt {number}")
        async with seat(tract, None, WIDE) as here:
            await filled(here)
            assert names(here) == ["a", "c", "b"]
            await here.press("s")
            assert "title▲" in here.lines[1]
            assert names(here) == ["a", "b", "c"]
            await here.press("S")
            assert names(here) == ["c", "b", "a"]
            await here.click(here.lines[1].index("commits"), 1)
            assert names(here) == ["c", "b", "a"]
            await here.click(here.lines[1].index("commit"), 1)
            assert "commit▲" in here.lines[1]
            assert names(here) == ["a", "b", "c"]


@in_loop
async def test_the_list_is_filtered_while_one_types() -> None:
    with Tract.open(":memory:", dialog="one") as tract:
        tract.user("Fix the export")
        tract.sibling("two").user("Translate letters")
        async with seat(tract, None) as here:
            await filled(here)
            await here.press("/")
            await here.write("trans")
            assert names(here) == ["title", "two"]
            assert "1 of 2 dialogs" in here.lines[0]
            await here.press("escape")
            assert names(here) == ["two", "one"]
            await here.press("/")
            await here.write("EXPORT fix")
            await here.press("enter")
            assert here.title.startswith("one: Fix the export")


@in_loop
async def test_the_mouse_chooses_and_opens() -> None:
    with Tract.open(":memory:", dialog="one") as tract:
        tract.user("first prompt")
        tract.sibling("two").user("second prompt")
        async with seat(tract, None) as here:
            await filled(here)
            await here.click(5, 3)
            assert here.lines[-3].strip() == "one: first prompt"
            await here.click(5, 3)
            assert here.title.startswith("one: first prompt")


@in_loop
async def test_two_thousand_dialogs_cost_what_is_on_the_screen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Tract.open(":memory:", dialog="d0", durability="relaxed") as tract:
        with tract.batch():
            for number in range(2000):
                tract.sibling(f"d{number}").user(f"prompt {number}")
        drawn = 0

        def counting(*arguments: Any) -> Any:
            nonlocal drawn
            drawn += 1
            return dialog_line(*arguments)

        monkeypatch.setattr(dialogs, "dialog_line", counting)
        async with seat(tract, None) as here:
            await here.press("G", "g", "s")
            assert here.lines[0].endswith("2000 dialogs")
            assert drawn < 1000


@in_loop
async def test_below_a_dialog_the_list_reads_nothing() -> None:
    with recorded() as tract:
        async with seat(tract, "work") as here:
            (screen,) = [s for s in here.app.screen_stack if isinstance(s, dialogs.Dialogs)]
            assert screen._known == {}
            await here.press("q")
            assert names(here) == ["work"]
