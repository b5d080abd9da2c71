"""What importers do with each part of a source: its items, or the problem that it has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tract.errors import InputError
from tract.importers.items import Item, Problem
from tract.importers.source import Source
from tract.model import Json


def tried(place: str, make: Callable[..., Iterable[Item]], *given: Any) -> Iterator[Item]:
    """The items that a part of the source gives, and the problem that it has."""
    try:
        yield from make(*given)
    except InputError as error:
        yield Problem(place, str(error))
    except RecursionError:
        yield Problem(place, "nested too deep to be read")


def of_lines(source: Source, take: Callable[[dict[str, Json]], Iterable[Item]]) -> Iterator[Item]:
    """What a file of lines gives, each of which is an object."""
    for record in source.records():
        if isinstance(record, Problem):
            yield record
        elif isinstance(record[1], dict):
            yield from tried(f"line {record[0]}", take, record[1])
        else:
            yield Problem(
                f"line {record[0]}", f"a line is an object, not {type(record[1]).__name__}"
            )


def of_values(source: Source, take: Callable[[str, Json], Iterable[Item]]) -> Iterator[Item]:
    """What the values of a file give: its lines, or the one document that it is."""
    for value in source.values():
        if isinstance(value, Problem):
            yield value
        else:
            yield from tried(value[0], take, *value)
