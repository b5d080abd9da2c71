"""When messages came and what answers cost, read a page at a time or all at once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.serving import serving
from tract import Tract
from tract.economy.moments import PAGE, Moments, money
from tract.economy.prices import PriceList, prices_of
from tract.remote.tract import connect
from tract.view.moments import Moment

PRICES = PriceList(prices_of({"m": {"input": 1, "output": 10}}))


def moments_of(tract: Tract) -> Moments:
    moments = Moments(tract, PRICES)
    moments.turn_to(tract.read().places)
    return moments


@pytest.fixture
def long_dialog() -> Iterator[Tract]:
    with Tract.open(":memory:") as tract:
        with tract.batch():
            for number in range(200):
                tract.user(f"message {number}")
        yield tract


@pytest.fixture
def reads(long_dialog: Tract, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many messages were read each time."""
    sizes, notes = [], long_dialog.store.notes

    def counting(heads: Any) -> Any:
        sizes.append(len(heads))
        return notes(heads)

    monkeypatch.setattr(long_dialog.store, "notes", counting)
    return sizes


def test_only_a_page_of_messages_is_read(long_dialog: Tract, reads: list[int]) -> None:
    moments = moments_of(long_dialog)
    for place in long_dialog.read().places[-5:]:
        assert moments.moment(place).time is not None
    assert 0 < sum(reads) <= PAGE


def test_all_messages_are_read_at_once(long_dialog: Tract, reads: list[int]) -> None:
    moments = moments_of(long_dialog)
    moments.moment(long_dialog.read().places[0])
    moments.load()
    assert reads == [PAGE, 200 - PAGE]
    assert all(moments.moment(place).time for place in long_dialog.read().places)
    assert len(reads) == 2


def test_an_answer_has_its_time_and_cost() -> None:
    with Tract.open(":memory:") as tract:
        usage = {"input_tokens": 20_000, "output_tokens": 1000}
        config, clock = {"model": "m-1"}, {"time": "2026-03-12T16:41:08+00:00"}
        tract.assistant("Ten.", metadata=clock, generation_config=config, usage=usage)
        moments, (place,) = moments_of(tract), tract.read().places
        time = datetime(2026, 3, 12, 16, 41, 8, tzinfo=UTC)
        assert moments.moment(place) == Moment(time, "m-1", usage)
        assert moments.cost(place) == "$0.03"


def test_an_imported_message_without_a_time_has_none(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with Tract.open(path, dialog="work") as tract:
        tract.user("hi")
        tract.store.dialogs.set_settings("work", "facts", {"source": "chat.json"})
        assert nothing_is_known(tract)
    with (
        serving(str(path)) as server,
        connect(server.url, token=server.token, dialog="work") as remote,
    ):
        assert nothing_is_known(remote)


def nothing_is_known(tract: Tract) -> bool:
    moments, (place,) = moments_of(tract), tract.read().places
    return moments.moment(place) == Moment() and moments.cost(place) == ""


def test_a_dialog_that_is_gone_has_no_moments() -> None:
    with Tract.open(":memory:") as tract:
        tract.user("hi")
        moments, (place,) = moments_of(tract), tract.read().places
        tract.delete_dialog()
        moments.load()
        assert moments.moment(place) == Moment()


@pytest.mark.parametrize(
    ("dollars", "text"),
    [("0", "$0.00"), ("0.0042", "$0.0042"), ("0.17", "$0.17"), ("1234.5", "$1,234.50")],
)
def test_small_sums_have_more_digits(dollars: str, text: str) -> None:
    assert money(Decimal(dollars)) == text
