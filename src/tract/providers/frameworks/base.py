"""What the formats of frameworks share: what a format is, and blocks that providers accept."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Protocol, TypeVar

from tract.core.entries import Entry, Problem, Unknown
from tract.errors import InputError
from tract.model import Block, Json, Message, Raw, Text, readable
from tract.providers.damage import sift_message
from tract.providers.requests import load_message

Item = Entry | Problem | Unknown
Faults = list[Problem | Unknown]
Piece = TypeVar("Piece")


class ListFormat(Protocol):
    """A format of one list of messages. An object reads one list, message by message."""

    def load(self, message: dict[str, Json], place: str) -> Iterable[Item]:
        """One message. InputError if nothing of it can be placed; what cannot be placed of its
        parts is a Problem or Unknown."""


class Parts:
    """The parts of a message, read one by one: a broken one costs only itself."""

    def __init__(self, place: str, name: str = "part") -> None:
        self.place, self._name = place, name
        self.faults: Faults = []

    def read(self, parts: Json, load: Callable[[Json], Iterable[Piece]]) -> Iterator[Piece]:
        if not isinstance(parts, list):
            raise InputError(f"a content is a list, not {type(parts).__name__}")
        for number, part in enumerate(parts, 1):
            try:
                yield from load(part)
            except UnknownPartError as error:
                self.faults.append(Unknown(self._at(number), error.kind, part))
            except InputError as error:
                self.faults.append(Problem(self._at(number), str(error)))

    def _at(self, number: int) -> str:
        return f"{self.place}, {self._name} {number}"


class UnknownPartError(InputError):
    """A part of a type that the format does not have."""

    def __init__(self, kind: Json) -> None:
        super().__init__(f"unknown type {readable(kind)[:80]!r}")
        self.kind = readable(kind)[:80]


def load_native(message: dict[str, Json], place: str) -> tuple[list[Message], Faults]:
    """A message in a provider's format, without the blocks that cannot be read."""
    sound, damage = sift_message(message)
    if sound is None:
        raise InputError(damage[0].what)
    return load_message(sound), [Problem(f"{place}{where}", what) for where, what in damage]


def require_dict(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise InputError(f"a part is a dict, not {type(value).__name__}")
    return value


def require_text(fields: dict[str, Json], key: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str):
        raise InputError(f"{key} is a text, not {type(value).__name__}")
    return value


def optional_text(fields: dict[str, Json], key: str) -> str | None:
    """A name or an id; None where it is missing or empty."""
    return None if fields.get(key) in (None, "") else require_text(fields, key)


def plain(role: str, blocks: Iterable[Block]) -> Message:
    """A message of these blocks; a single text is just that."""
    content = tuple(blocks)
    if len(content) == 1 and isinstance(content[0], Text):
        return Message(role, content[0].text)
    return Message(role, content)


def time_of(value: Json) -> datetime | None:
    """The time of an ISO text, in UTC."""
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return None if time is None else (time if time.tzinfo else time.replace(tzinfo=UTC))


def media(media_type: Json, data: Json = None, url: Json = None) -> dict[str, Json] | None:
    """An image or a PDF as a block that providers know; None for anything else."""
    if isinstance(url, str) and url.startswith("data:"):
        head, _, data = url.removeprefix("data:").partition(",")
        media_type = head.partition(";")[0] or media_type
        url = None
    kind = media_type if isinstance(media_type, str) else ""
    block = "image" if kind.startswith("image") else "document" if kind.endswith("pdf") else None
    if block is None:
        return None
    if isinstance(data, str):
        source = {"type": "base64", "media_type": kind, "data": _standard(data)}
        return {"type": block, "source": source}
    return {"type": block, "source": {"type": "url", "url": url}} if isinstance(url, str) else None


def media_or_raw(owner: str, part: dict[str, Json], block: dict[str, Json] | None) -> Raw:
    return Raw("anthropic", block) if block else Raw(owner, part)


def _standard(data: str) -> str:
    """Base64 in the standard alphabet; some frameworks use the one for addresses."""
    if "-" not in data and "_" not in data:
        return data
    try:
        return base64.b64encode(base64.urlsafe_b64decode(data)).decode()
    except (ValueError, binascii.Error):
        return data


def thought(owner: str, text: str, signature: Json, *, is_anthropic: bool) -> Raw:
    """A thought: as its provider accepts it again where that is known."""
    if is_anthropic and isinstance(signature, str) and signature:
        fields = {"type": "thinking", "thinking": text, "signature": signature}
        return Raw("anthropic", fields)
    fields = {"type": "thinking", "thinking": text}
    return Raw(owner, {**fields, "signature": signature} if signature else fields)
