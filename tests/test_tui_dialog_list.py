"""The lines of the list: columns that fit any width, and an order for each of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from tract.economy.accounting import Bill
from tract.economy.listing import ListedDialog
from tract.model import DialogFacts, DialogInfo
from tract.tui.dialog_list import (
    COLUMNS,
    Order,
    column_at,
    column_widths,
    details,
    dialog_line,
    head_line,
    ordered,
)
from tract.view.ansi import plain
from tract.view.sanitize import width

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def dialog(name: str, hours: int = 0, commits: int = 1, **facts: str) -> ListedDialog:
    time = NOW - timedelta(hours=hours)
    known = DialogFacts(**facts)  # type: ignore[arg-type]
    return ListedDialog(DialogInfo(name, "main", 1, commits, 9, 99, 0, time, time, known))


@given(st.integers(1, 250), st.sampled_from(COLUMNS), st.booleans())
def test_a_line_is_as_wide_as_its_room(room: int, column: object, descends: bool) -> None:
    widths = column_widths(room)
    listed = dialog("漢字" * 40, model="m" * 50, folder="/" + "f" * 50)
    if len(widths) > 1:
        assert width(plain(dialog_line(listed, widths))) == room
        assert width(plain(head_line(widths, Order(COLUMNS[3].name, descends)))) == room
    assert "title" in widths


def test_a_narrow_screen_keeps_title_cost_and_age_and_a_wide_one_has_all() -> None:
    assert list(column_widths(50)) == ["title", "tokens", "cost", "age"]
    assert list(column_widths(150)) == [column.name for column in COLUMNS]
    assert column_at({"title": 10, "age": 4}, 10) == "title"
    assert column_at({"title": 10, "age": 4}, 11) == "age"
    assert column_at({"title": 10, "age": 4}, 16) is None


def test_what_is_missing_comes_last_in_either_direction() -> None:
    rows = [dialog("a", 1), dialog("b", 2, model="x"), dialog("c", 3, model="y")]
    for descends, names in ((False, "bca"), (True, "cba")):
        listed = ordered(rows, Order("model", descends))
        assert "".join(row.info.dialog for row in listed) == names
    assert [row.info.dialog for row in ordered(rows, Order())] == ["a", "b", "c"]


def test_the_same_column_turns_the_order_around() -> None:
    assert Order("age").other("commits") == Order("commits", True)
    assert Order("commits", True).other("commits") == Order("commits", False)
    assert Order("age").next() == Order("title", False)


def test_the_details_have_what_the_columns_cut() -> None:
    listed = dialog(
        "0dad7789-1234-7581", model="claude-opus-4-5-20251101", folder="/srv/shop", title="Do"
    )
    assert "opus-4-5 " in plain(dialog_line(listed, column_widths(100)))
    first, second = details(listed)
    assert first == "Do"
    assert second.startswith("0dad7789-1234-7581 · branch main · 99B · 2026-03-01 12:00–12:00 UTC")
    assert second.endswith(" · claude-opus-4-5-20251101 · /srv/shop")


def test_a_cost_of_the_session_is_sorted_too() -> None:
    rows = [dialog("a")._replace(cost=Bill(dollars=Decimal(n))) for n in (0, 2, 1)]
    costs = [row.cost.dollars for row in ordered(rows, Order("cost", True)) if row.cost]
    assert costs == [2, 1, 0]
