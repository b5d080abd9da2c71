"""Times, durations and costs beside the answers, read a page at a time."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.tui import in_loop, numbered, recorded, seat
from tract import Tract
from tract.economy.prices import PriceList, prices_of
from tract.tui.moments import PAGE, Moments, money

PRICES = PriceList(prices_of({"m": {"input": 1, "output": 10}}))


def timed(second: int) -> dict[str, Any]:
    return {"time": f"2026-03-12T16:41:{second:02}+00:00"}


@in_loop
async def test_an_answer_has_its_time_duration_and_cost() -> None:
    with Tract.open(":memory:", dialog="work") as tract:
        tract.user("How long?", metadata=timed(0))
        usage = {"input_tokens": 20_000, "output_tokens": 1000}
        model = {"model": "m-1"}
        tract.assistant("Ten.", metadata=timed(8), generation_config=model, usage=usage)
        async with seat(tract, prices=PRICES) as here:
            (head,) = [line for line in here.body if line.startswith("assistant")]
            assert head.endswith(" 16:41:08 · 8.0 s · $0.03")
            assert here.body[0].endswith(" 16:41:00")
            assert here.status.endswith(" · 2026-03-12 16:41 UTC · took 8.0 s")


def test_only_a_page_of_messages_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with recorded(request=numbered(200)) as tract:
        places, count = tract.read().places, 0
        infos = tract.store.infos

        def counting(heads: Any) -> Any:
            nonlocal count
            count += len(heads)
            return infos(heads)

        monkeypatch.setattr(tract.store, "infos", counting)
        moments = Moments(tract, PRICES)
        moments.turn_to(places)
        for place in places[-5:]:
            assert moments.moment(place).time is not None
        assert 0 < count <= PAGE


def test_an_imported_message_without_a_time_has_none() -> None:
    with Tract.open(":memory:", dialog="work") as tract:
        tract.user("hi")
        tract.store.dialogs.set_settings("work", "facts", {"source": "chat.json"})
        moments = Moments(tract, PRICES)
        moments.turn_to(tract.read().places)
        (place,) = tract.read().places
        assert moments.moment(place).time is None
        assert moments.cost(place) == ""


@pytest.mark.parametrize(
    ("dollars", "text"),
    [("0", "$0.00"), ("0.0042", "$0.0042"), ("0.17", "$0.17"), ("1234.5", "$1,234.50")],
)
def test_small_sums_have_more_digits(dollars: str, text: str) -> None:
    assert money(Decimal(dollars)) == text
