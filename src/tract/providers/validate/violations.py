"""What a validator finds, and how it looks at JSON of which nothing is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from tract.model import Json
from tract.reprs import brief


class Violation(msgspec.Struct, frozen=True):
    """A place where a request breaks a rule of its provider."""

    rule: str
    """The rule's name, such as `tool-use-without-result`."""
    path: str
    """Where it stands, such as `messages[3].content[1].tool_use_id`."""
    message: str
    """What is wrong there."""
    provider_text: str | None = None
    """How the provider's own error begins, where it is known."""

    def __repr__(self) -> str:
        return brief(self, self.rule, self.path)


class Findings:
    """The violations of one request, each with the provider's words for its rule."""

    def __init__(self, provider_texts: Mapping[str, str]) -> None:
        self.violations: list[Violation] = []
        self._provider_texts = provider_texts

    def add(self, rule: str, path: str, message: str) -> None:
        self.violations.append(Violation(rule, path, message, self._provider_texts.get(rule)))


def as_map(value: Json) -> dict[str, Json]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Json) -> list[Json]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: Json) -> str | None:
    """The value if it is a text: ids, names and types of any other kind cannot be compared."""
    return value if isinstance(value, str) else None


def kind_of(value: Json) -> str | None:
    """The `type` of a block, a part or an item."""
    return as_text(as_map(value).get("type"))


def is_full(value: Json) -> bool:
    """Whether this is a text that says something at all."""
    return isinstance(value, str) and value != ""


def is_blank(value: Json) -> bool:
    """Whether this is no text, or one of white space alone."""
    return not isinstance(value, str) or not value.strip()


def shown(value: Json) -> str:
    """A value in a message: a text shortened, anything else by its type (it may be of any size
    and depth)."""
    return repr(value[:80]) if isinstance(value, str) else type(value).__name__


def maps_in(values: Json, path: str, findings: Findings, rule: str) -> Iterator[tuple[str, Json]]:
    """The objects of a list with their paths; anything else in it breaks the rule."""
    for index, value in enumerate(as_list(values)):
        if isinstance(value, dict):
            yield f"{path}[{index}]", value
        else:
            findings.add(rule, f"{path}[{index}]", f"not an object but {shown(value)}")


def part_list(
    params: Json, key: str, findings: Findings, *, is_request: bool, may_be_text: bool = False
) -> list[Json]:
    """The list that a request is about: its own, or all of the input."""
    items = params.get(key) if isinstance(params, dict) else params
    if may_be_text and is_full(items):
        return []
    if not isinstance(items, list):
        findings.add(f"{key}-not-a-list", key, f"not a list but {shown(items)}")
        return []
    if is_request and not items:
        findings.add(f"{key}-empty", key, "there is nothing in it")
    return items
