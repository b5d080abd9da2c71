"""A text that is searched for in stored JSON, whatever escapes stand in it. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from tract.errors import InputError
from tract.model import Json

ERASED = "[forgotten]"
"""What stands for a text that was erased from inside another one."""
LEVELS = 8
"""How often JSON may be inside a string of JSON."""

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

    def count(self, text: str) -> int:
        """How often it stands in a text."""
        if self._part not in text and "\\u00" not in text:
            return 0
        return max(spelling.count(self._text) for spelling in spellings(text))

    def redact(self, text: str) -> str:
        """The text without it."""
        if not self.count(text):
            return text
        rest = text.replace(self._text, ERASED)
        return ERASED if self.count(rest) else rest

    def redact_json(self, value: Json) -> Json:
        """The value without it in any text or key."""
        match value:
            case str():
                return self.redact(value)
            case dict():
                return {self.redact(key): self.redact_json(value[key]) for key in value}
            case list():
                return [self.redact_json(item) for item in value]
        return value


def spellings(text: str) -> Iterator[str]:
    """The text as it stands, then with its JSON escapes resolved, once more each time."""
    for _ in range(LEVELS):
        yield text
        resolved = _ESCAPES.sub(_resolve, text) if "\\" in text else text
        if resolved == text:
            return
        text = resolved


def _resolve(escapes: re.Match[str]) -> str:
    return str(json.loads(f'"{escapes[0]}"'))
