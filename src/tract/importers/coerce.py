"""Values that may have any shape, as the type that is needed."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

from tract.errors import InputError
from tract.hashing import to_json
from tract.model import Json

Loaded = TypeVar("Loaded")

MILLISECONDS = 100_000_000_000
"""A time that is larger than this counts them, and not seconds."""


def as_dict(value: Json) -> dict[str, Json]:
    """The dict; an empty one where it is something else."""
    return value if isinstance(value, dict) else {}


def as_list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def dicts(value: Json) -> list[dict[str, Json]]:
    """Those items of a list that are dicts."""
    return [item for item in as_list(value) if isinstance(item, dict)]


def as_text(value: Json) -> str | None:
    """The text; None where there is none or an empty one."""
    return value if isinstance(value, str) and value else None


def text_of(value: Json) -> str:
    """The text; an empty one where there is none."""
    return value if isinstance(value, str) else ""


def as_name(value: Json) -> str | None:
    """An id or a name; numbers are taken as their text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return as_text(value)


def as_time(value: Json) -> datetime | None:
    """A moment, said as ISO text, or as seconds or milliseconds since 1970; None where it says
    none. Where no zone is said, it is UTC."""
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value)
            return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if value > MILLISECONDS else value, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None


def json_or_none(text: str | bytes) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def without_nothing(**said: Json) -> dict[str, Json] | None:
    """What is said, without what is not; None where nothing is."""
    left = {key: value for key, value in said.items() if value not in (None, "", [], {})}
    return left or None


def sound(value: Any) -> Any:
    """The value itself; a typed error where it cannot be stored."""
    try:
        to_json(value)
    except RecursionError:
        raise InputError("nested too deep to be read") from None
    return value


def extra(value: Json) -> dict[str, Json] | None:
    """A dict to be kept beside a message; None where it is empty or cannot be stored."""
    try:
        return dict(sound(as_dict(value))) or None
    except InputError:
        return None


def definitions(value: Json) -> list[dict[str, Json]] | None:
    """The tool definitions of a list."""
    return [tool for tool in as_list(value) if extra(tool)] or None


def load(load_one: Callable[[Json], Loaded], given: Json) -> Loaded:
    """What a format's loader makes of a value that can be stored. What is nested so deep that not
    even its error can be told is an error of the input, too."""
    try:
        return load_one(sound(given))
    except RecursionError:
        raise InputError("nested too deep to be read") from None
