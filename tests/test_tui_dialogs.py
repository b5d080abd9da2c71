"""The list of dialogs: what it tells of each, and that it keeps up with the database."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import DataTable

from tests.cli import invoke
from tests.tui import Seat, in_loop, recorded, seat
from tract import Tract
from tract.economy.prices import PriceList, prices_of
from tract.tui import dialogs

WIDE = (120, 20)


def row_of(here: Seat, name: str) -> list[str]:
    return next(line.split() for line in here.lines if line.split()[:1] == [name])


def names(here: Seat) -> list[str]:
    return [line.split()[0] for line in here.lines[2:-1] if line.split()]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialogs, "LOOK_EVERY", 0.05)


@in_loop
async def test_a_dialog_with_size_tokens_cost_and_errors() -> None:
    with recorded() as tract:
        (info,) = tract.dialogs()
        async with seat(tract, None, WIDE, title="some.db") as here:
            await here.until(lambda: "…" not in here.text)
            assert here.lines[0].strip() == "tract · some.db"
            words = row_of(here, "work")
            assert words[1:5] == ["main", "11", str(info.tokens), f"{info.bytes}B"]
            assert words[5:9] == ["1.0M", "→", "100k", "1"]
        prices = {"some": {"input": 3, "output": 15}, "other": {"input": 100, "output": 100}}
        async with seat(tract, None, WIDE, prices=PriceList(prices_of(prices))) as here:
            await here.until(lambda: "…" not in here.text)
            assert row_of(here, "work")[5:7] == ["$4.50", "1"]


@in_loop
async def test_what_costs_nothing_and_has_no_errors_has_empty_cells() -> None:
    with Tract.open(":memory:", dialog="small") as tract:
        tract.user("hi")
        async with seat(tract, None, WIDE) as here:
            await here.until(lambda: "…" not in here.text)
            words = row_of(here, "small")
            assert words[1:5] == ["main", "1", "1", "2B"]
            assert len(words) == 7  # then only the time


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
            other.user("again")
            await here.until(lambda: row_of(here, "second")[2] == "2")
            other.branch("side")
            await here.until(lambda: "main +1" in here.text)
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
            assert here.app.screen.query_one(DataTable).cursor_row == 1
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


class _Watched(list[str]):
    """An empty list that tells when somebody looks whether it is one."""

    def __init__(self, calls: list[str]) -> None:
        super().__init__()
        self._calls = calls

    def __bool__(self) -> bool:
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
            assert here.title.startswith("[red]x[/red] · main")


@in_loop
async def test_the_usual_screen_has_room_for_every_column() -> None:
    with recorded() as tract:
        async with seat(
            tract, None, prices=PriceList(prices_of({"": {"input": 3, "output": 15}}))
        ) as here:
            await here.until(lambda: "$" in here.text)
            assert all(column in here.lines[1] for column in dialogs.COLUMNS)
            assert row_of(here, "work")[-1].count(":") == 1


@in_loop
async def test_imported_dialogs_have_titles(quick: None) -> None:
    with Tract.open(":memory:", dialog="one") as tract:
        tract.user("hi")
        async with seat(tract, None, (160, 20)) as here:
            await here.until(lambda: names(here) == ["one"])
            assert "title" not in here.lines[1]
            tract.sibling("two").user("hi")
            facts = {"title": "Find \x1b[31mthe bug " + "x" * 100}
            tract.session.store.dialogs.set_settings("two", "facts", facts)
            await here.until(lambda: "title" in here.lines[1])
            line = next(line for line in here.lines if line.startswith(" two"))
            assert r"Find \x1b[31mthe bug xxx" in line
            assert len(names(here)) == 2
