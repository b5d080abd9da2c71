"""The blocks of a message, one by one: a broken one costs only itself."""

from __future__ import annotations

from tract.errors import InputError
from tract.importers.coerce import load
from tract.importers.items import Problem
from tract.model import Json
from tract.providers import load_message


def without_broken_blocks(
    place: str, message: dict[str, Json]
) -> tuple[dict[str, Json], list[Problem]]:
    """The message without the blocks that cannot be read, and a problem for each of them.
    InputError if it has no content at all."""
    content = message.get("content")
    if isinstance(content, str):
        return message, []
    if not isinstance(content, list):
        raise InputError(f"content is a text or a list, not {type(content).__name__}")
    good: list[Json] = []
    problems: list[Problem] = []
    for number, block in enumerate(content, 1):
        try:
            load(load_message, {"role": "user", "content": [block]})
            good.append(block)
        except InputError as error:
            problems.append(Problem(f"{place}, block {number}", str(error)))
    return ({**message, "content": good} if problems else message), problems
