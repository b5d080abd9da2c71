"""Values of unknown shape, as the type that is needed."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from tract.core import call_ids
from tract.errors import InputError
from tract.hashing import check_json
from tract.model import Json
from tract.providers import common

Loaded = TypeVar("Loaded")

MILLISECONDS = 100_000_000_000
"""A larger number is a time in milliseconds, not in seconds."""


as_name = call_ids.as_name
as_dict = common.dict_or_empty
dicts = common.dicts


def require_dict(value: Json, rule: str) -> dict[str, Json]:
    """The dict; InputError with the rule ("a message is a dict") for anything else."""
    if not isinstance(value, dict):
        raise InputError(f"{rule}, not {type(value).__name__}")
    return value


def as_list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def as_text(value: Json) -> str | None:
    """The text; None for an empty one and for anything else."""
    return value if isinstance(value, str) and value else None


def text_of(value: Json) -> str:
    """The text; an empty one for anything else."""
    return value if isinstance(value, str) else ""


def as_time(value: Json) -> datetime | None:
    """The time of an ISO text, or of seconds or milliseconds since 1970; None for anything else.
    A time without a zone is in UTC."""
    try:
        if isinstance(value, str):
            time = datetime.fromisoformat(value)
            return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if value > MILLISECONDS else value, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None


def as_number(value: Json) -> float | None:
    """A finite number, such as a cost; None for anything else."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) < 1e15 else None


def path_of(value: Json) -> str | None:
    """The path of a folder that may be a `file:` address."""
    text = as_text(value)
    if text and text.startswith("file:"):
        return unquote(urlsplit(text).path) or None
    return text


def json_or_none(text: str | bytes) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def drop_empty(**fields: Json) -> dict[str, Json] | None:
    """The fields that have a value; None if none has."""
    return {key: value for key, value in fields.items() if value not in (None, "", [], {})} or None


def ensure_storable(value: Any) -> Any:
    """The value itself; InputError if it cannot be stored."""
    check_json(value)
    return value


def extra(value: Json) -> dict[str, Json] | None:
    """A dict to be kept with a message; None if it is empty or cannot be stored."""
    try:
        return dict(ensure_storable(as_dict(value))) or None
    except InputError:
        return None


def definitions(value: Json) -> list[dict[str, Json]] | None:
    """The tool definitions of a list. Whoever reads them reports those that are none."""
    return as_list(value) or None


def load(load_one: Callable[[Json], Loaded], value: Json) -> Loaded:
    """What a loader returns for a value that can be stored. A value nested so deep that the loader
    cannot even format its error is an InputError too."""
    check_json(value)
    try:
        return load_one(value)
    except RecursionError:
        raise InputError("nested too deep to be read") from None
