"""A text that is searched for in JSON values, whatever escapes stand in them. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import count

from tract.core.wording import ERASED
from tract.errors import InputError
from tract.model import Json

LEVELS = 8
"""How often JSON may be inside a string of JSON."""

_FORMATS = """
    arguments call call_id content data function id input input_schema name origin output parameters
    provider raw role source text tool_call_id tool_calls tool_use_id type
    $defs $ref $schema additionalProperties allOf anyOf definitions description enum format items
    oneOf properties required strict title
    auto_threshold cost default_instructions ended folder inline_tokens instructions keep made_by
    model parent preview_tokens started summary target_tokens tools was_lazy"""
WORDS = frozenset(_FORMATS.split())
"""Keys of the formats of tract and of the providers. As keys, they are not searched: they are no
secrets, and without them nothing can be sent."""

_TYPES = ("array", "boolean", "function", "integer", "null", "number", "object", "string")
_ESCAPES = re.compile(r'(?:\\u[0-9a-fA-F]{4}|\\["\\/bfnrt])+')
_UNESCAPED = re.compile(r"[A-Za-z0-9 ]+")


class Needle:
    """A text, found also where JSON escapes it, once or several times."""

    def __init__(self, text: str) -> None:
        value: object = text
        if not (isinstance(value, str) and value):
            raise InputError(f"a text to forget must be a string that is not empty: {value!r:.20}")
        if text in ERASED:
            raise InputError(f"a text to forget cannot be part of {ERASED!r}, which replaces it")
        self._text = text
        # Encoders leave these characters as they are, unless they write all as \u00….
        self._part = max(_UNESCAPED.findall(text), key=len, default="")

    def may_be_in(self, text: str) -> bool:
        """False if it certainly does not stand in a text, nor in the JSON that the text is."""
        return self._part in text or "\\u00" in text

    def count(self, text: str) -> int:
        """How often it stands in a text."""
        if not self.may_be_in(text):
            return 0
        return max(spelling.count(self._text) for spelling in spellings(text))

    def count_json(self, value: Json) -> int:
        """How often it stands in the texts, numbers and keys of a value."""
        return sum(map(self.count, texts(value)))

    def redact(self, text: str) -> str:
        """The text without it."""
        if not self.count(text):
            return text
        rest = text.replace(self._text, ERASED)
        return ERASED if self.count(rest) else rest

    def redact_json(self, value: Json) -> Json:
        """The value without it in any text or key. Numbers stay."""
        match value:
            case str():
                return self.redact(value)
            case dict():
                return self._redact_dict(value)
            case list():
                return [self.redact_json(item) for item in value]
        return value

    def _redact_dict(self, value: dict[str, Json]) -> dict[str, Json]:
        left: dict[str, Json] = {}
        for key, item in value.items():
            new = key if key in WORDS else self.redact(key)
            names = (new if n == 1 else f"{new}-{n}" for n in count(1))
            if new != key:  # two keys may have become equal
                new = next(name for name in names if name not in left and name not in value)
            left[new] = self.redact_json(item)
        return left

    def count_in_tool(self, schema: Json) -> int:
        """How often it stands in a tool definition, apart from the types."""
        return self.count_json(_without_types(schema))

    def redact_tool(self, schema: Json, name: str) -> Json:
        """A tool definition without it, which can still be sent. If it stands in anything that
        others refer to, such as a parameter, only the name of the tool and a free input stay."""
        left = self._redact_prose(schema, name)
        if self.count_in_tool(left):
            return {"name": self.redact(name), "input_schema": {"type": "object"}}
        return left

    def _redact_prose(self, value: Json, name: str) -> Json:
        """What people read, and the name of the tool."""
        match value:
            case dict():
                return {
                    key: self.redact(item)
                    if isinstance(item, str) and (key in _PROSE or (key == "name" and item == name))
                    else self._redact_prose(item, name)
                    for key, item in value.items()
                }
            case list():
                return [self._redact_prose(item, name) for item in value]
        return value


_PROSE = ("description", "title")


def _without_types(value: Json) -> Json:
    match value:
        case dict():
            return {k: _without_types(v) for k, v in value.items() if not _is_type(k, v)}
        case list():
            return [_without_types(item) for item in value]
    return value


def _is_type(key: str, value: Json) -> bool:
    types = value if isinstance(value, list) else [value]
    return key == "type" and all(isinstance(name, str) and name in _TYPES for name in types)


def texts(value: Json) -> Iterator[str]:
    """The texts, numbers and keys in a JSON value."""
    match value:
        case str():
            yield value
        case dict():
            for key, item in value.items():
                if key not in WORDS:
                    yield key
                yield from texts(item)
        case list():
            for item in value:
                yield from texts(item)
        case int() | float() if not isinstance(value, bool):
            yield json.dumps(value)


def spellings(text: str) -> Iterator[str]:
    """The text as it stands, then with its JSON escapes resolved, once more each time."""
    yield text
    for _ in range(LEVELS):
        resolved = _ESCAPES.sub(_resolve, text) if "\\" in text else text
        if resolved == text:
            return
        text = resolved
        yield text


def _resolve(escapes: re.Match[str]) -> str:
    return str(json.loads(f'"{escapes[0]}"'))
