"""The prices of the package `genai-prices`, and what is kept of them."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from genai_prices import Usage as TheirUsage
from genai_prices import calc_price
from hypothesis import given
from hypothesis import strategies as st

from tract.economy.catalog import GenaiPrices, is_installed
from tract.economy.prices import PriceList
from tract.providers.usage import Usage

TODAY = date(2026, 11, 17)
CATALOG = GenaiPrices(TODAY)
MODELS = [
    *("claude-opus-4-5-20251101", "claude-opus-4-6", "claude-sonnet-4-5", "claude-haiku-4-5"),
    *("gpt-5.1-codex", "gpt-5.4", "gpt-4o", "o3", "gemini-2.5-pro", "gemini-3-pro-preview"),
]
times = st.datetimes(datetime(2024, 1, 1), datetime(2026, 11, 1), timezones=st.just(UTC))  # noqa: DTZ001


@given(st.sampled_from(MODELS), times, *[st.integers(0, 300_000)] * 5)
def test_a_cost_is_what_the_package_itself_comes_to(
    model: str, time: datetime, read: int, cached: int, written: int, hour: int, answered: int
) -> None:
    hour = hour if model.startswith("claude") else 0
    usage = Usage(read, cached, written + hour, answered, written_hour=hour)
    theirs = TheirUsage(
        input_tokens=usage.sent,
        cache_read_tokens=cached,
        cache_write_tokens=usage.written,
        cache_write_1h_tokens=hour,
        output_tokens=answered,
    )
    wanted = calc_price(theirs, model, genai_request_timestamp=time).total_price
    assert PriceList(catalog=CATALOG).cost(model, usage, time) == wanted


def test_a_model_that_is_not_in_the_data_is_unknown() -> None:
    for model in ("claude-opus-99", "gpt-99", "my-own-model", "<synthetic>", "", "a/b", "/", "x/"):
        assert CATALOG.price(model, None, "") is None


def test_a_vendor_before_the_name_is_where_it_is_looked_up() -> None:
    assert CATALOG.price("anthropic/claude-sonnet-4.5", None, "") == CATALOG.price(
        "claude-sonnet-4-5", None, ""
    )


def test_a_tier_has_its_own_price_or_none() -> None:
    standard = CATALOG.price("claude-opus-4-5", None, "")
    batch = CATALOG.price("claude-opus-4-5", None, "batch")
    assert standard
    assert batch
    assert (standard.written_hour, batch.written_hour) == (Decimal(10), Decimal(5))
    assert CATALOG.price("claude-opus-4-5", None, "fast") is None


def test_the_source_says_how_old_the_prices_are() -> None:
    match = re.fullmatch(r"genai-prices \d+\.\d+\.\d+ of (20\d\d-\d\d-\d\d)", CATALOG.source)
    assert match
    assert match[1] <= TODAY.isoformat()


def test_it_never_updates_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    def refuse(*_: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert is_installed()
    assert GenaiPrices(TODAY).price("gpt-4o", None, "")
