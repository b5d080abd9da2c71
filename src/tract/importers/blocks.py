"""The blocks of a message, one by one: a broken one costs only itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tract.errors import InputError
from tract.importers.coerce import as_list, load, require_dict
from tract.importers.items import Problem
from tract.model import Json
from tract.providers.damage import gaps, sift_message

Loaded = TypeVar("Loaded")


def load_sound(
    place: str, load_one: Callable[[Json], Loaded], message: Json
) -> tuple[Loaded, list[Problem]]:
    """What a loader returns for a message without the blocks that cannot be read, and a problem for
    each of them. InputError if nothing is left."""
    fields = require_dict(message, "a message is a dict")
    if not gaps(fields):
        try:
            return load(load_one, fields), []
        except InputError:
            pass
    sound, damage = sift_message(fields)
    if sound is None:
        raise InputError(damage[0].what)
    return load(load_one, sound), [Problem(f"{place}{where}", what) for where, what in damage]


def read_blocks(
    place: str, read_one: Callable[[Json], Loaded], blocks: Json
) -> tuple[list[Loaded], list[Problem]]:
    """The blocks that can be read, and a problem for each other one."""
    good: list[Loaded] = []
    problems: list[Problem] = []
    for number, block in enumerate(as_list(blocks), 1):
        try:
            good.append(load(read_one, block))
        except InputError as error:
            problems.append(Problem(f"{place}, block {number}", str(error)))
    return good, problems
