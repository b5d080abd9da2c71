"""Moments: times as they were recorded, and in words."""

from datetime import UTC, datetime, timedelta

import pytest

from tract.view.moments import (
    LONGEST,
    Moment,
    clock,
    day_and_clock,
    duration,
    moment_of,
    seconds_between,
)

NOON = datetime(2026, 2, 3, 12, 0, 5, tzinfo=UTC)


def test_the_clock_of_the_agent_outweighs_that_of_the_commit():
    assert moment_of(
        {"time": "2026-02-03T13:00:05+01:00"}, None, None, datetime.now(UTC)
    ) == Moment(NOON)
    assert moment_of({"time": "2026-02-03T12:00:05"}, None, None).time == NOON
    assert moment_of({"time": "soon"}, None, None, NOON).time == NOON
    assert moment_of(None, None, None) == Moment()


def test_a_program_is_no_model():
    assert moment_of(None, {"model": "m-1"}, None).model == "m-1"
    assert moment_of(None, {"model": "<synthetic>"}, None).model is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        *((0.31, "0.3 s"), (12.4, "12 s"), (60, "1 min"), (250, "4 min 10 s")),
        *((3600, "1 h"), (11_100, "3 h 5 min"), (49 * 3600, "2 d 1 h"), (48 * 3600, "2 d")),
    ],
)
def test_durations_in_words(seconds, words):
    assert duration(seconds) == words


def test_times_are_in_utc():
    assert clock(NOON) == "12:00:05"
    assert day_and_clock(NOON) == "2026-02-03 12:00 UTC"


@pytest.mark.parametrize(
    ("seconds", "took"),
    [(0, 0), (2.5, 2.5), (-1, None), (LONGEST - 1, LONGEST - 1), (LONGEST, None)],
)
def test_only_a_plausible_time_was_taken(seconds, took):
    assert seconds_between(NOON, NOON + timedelta(seconds=seconds)) == took
    assert seconds_between(None, NOON) is None
    assert seconds_between(NOON, None) is None
