"""What --since means."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tract.cli.since import parse_since
from tract.errors import InputError

NOW = datetime(2026, 11, 17, 22, 30, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("7d", "2026-11-10T22:30:15Z"),
        ("12h", "2026-11-17T10:30:15Z"),
        ("30m", "2026-11-17T22:00:15Z"),
        (" 2W ", "2026-11-03T22:30:15Z"),
        ("today", "2026-11-17T00:00:00Z"),
        ("Yesterday", "2026-11-16T00:00:00Z"),
        ("2026-11-01", "2026-11-01T00:00:00Z"),
        ("2026-11-01T08:00", "2026-11-01T08:00:00Z"),
        ("2026-11-01 08:00+02:00", "2026-11-01T06:00:00Z"),
        ("20261101", "2026-11-01T00:00:00Z"),
    ],
)
def test_when_it_is(text: str, moment: str) -> None:
    assert parse_since(text, NOW) == datetime.fromisoformat(moment)


@pytest.mark.parametrize("text", ["", "d", "-7d", "7", "7y", "soon", "2026-13-01", "999999w"])
def test_what_is_no_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InputError, match=r"expected 7d, 12h, 2w, today, or a date"):
        parse_since(text, NOW)


@given(st.text(max_size=30))
def test_any_text_is_a_time_or_refused(text: str) -> None:
    with suppress(InputError):
        assert parse_since(text, NOW).tzinfo is not None
