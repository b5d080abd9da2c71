"""What `repr` shows of a value: its facts on one line, never its content."""

from __future__ import annotations

WIDTH = 100
LONGEST = 40
"""Characters of one fact, such as a name that somebody else chose."""
SHORT = 10
"""Characters of a hash."""


def brief(value: object, *facts: object) -> str:
    """The name of the class and the facts that there are: `CommitInfo(3f2a91bc04, user, 120
    tokens)`."""
    name = type(value).__name__
    texts = ", ".join(_cut(_legible(str(fact)), LONGEST) for fact in facts if fact)
    return f"{name}({_cut(texts, WIDTH - len(name) - 2)})"


def number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def some(count: int, noun: str) -> str | None:
    """The number, unless it is zero."""
    return number(count, noun) if count else None


def size(value: object) -> str:
    """How much there is of a content."""
    match value:
        case str():
            return number(len(value), "character")
        case list() | tuple():
            return number(len(value), "item")
        case dict():
            return number(len(value), "key")
    return type(value).__name__


def _legible(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text[: 2 * LONGEST])


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1] + "…"
