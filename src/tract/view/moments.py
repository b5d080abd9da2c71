"""Moments: when a message came, and from which model. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from tract.model import Json

LONGEST = 86_400  # seconds; a longer pause is one of the person


class Moment(NamedTuple):
    """What is known about the moment of a message."""

    time: datetime | None = None
    model: str | None = None
    usage: Mapping[str, Json] | None = None
    """What the provider reported about the answer."""


def moment_of(
    metadata: Mapping[str, Json] | None,
    config: Mapping[str, Json] | None,
    usage: Mapping[str, Json] | None,
    committed: datetime | None = None,
) -> Moment:
    """By what was recorded. The clock of the agent outweighs that of the commit."""
    time = _time((metadata or {}).get("time")) or committed
    model = (config or {}).get("model")
    is_model = isinstance(model, str) and not model.startswith("<")  # `<synthetic>`: no model
    return Moment(time, model if is_model else None, usage)


def _time(text: Json) -> datetime | None:
    try:
        time = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    if time is None:
        return None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def seconds_between(start: datetime | None, end: datetime | None) -> float | None:
    """How long something took; None where that is not known, or not plausible."""
    seconds = (end - start).total_seconds() if start and end else -1
    return seconds if 0 <= seconds < LONGEST else None


def clock(time: datetime) -> str:
    """The time of the day: 14:02:11."""
    return f"{time.astimezone(UTC):%H:%M:%S}"


def day_and_clock(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def duration(seconds: float) -> str:
    """0.3 s, 12 s, 4 min 10 s, 3 h 5 min, 2 d 3 h."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"
