"""The items of each part of a source, or the problem with that part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tract.errors import InputError
from tract.importers.items import Item, Problem
from tract.importers.source import Source
from tract.model import Json


def attempt(place: str, make: Callable[..., Iterable[Item]], *arguments: Any) -> Iterator[Item]:
    """The items of one part of the source; a Problem if it cannot be read."""
    try:
        yield from make(*arguments)
    except InputError as error:
        yield Problem(place, str(error))
    except RecursionError:
        yield Problem(place, "nested too deep to be read")


def read_lines(source: Source, take: Callable[[dict[str, Json]], Iterable[Item]]) -> Iterator[Item]:
    """The items of a file of lines, each of which is an object."""
    for record in source.records():
        if isinstance(record, Problem):
            yield record
        elif isinstance(record[1], dict):
            yield from attempt(f"line {record[0]}", take, record[1])
        else:
            kind = type(record[1]).__name__
            yield Problem(f"line {record[0]}", f"a line is an object, not {kind}")


def read_values(source: Source, take: Callable[[str, Json], Iterable[Item]]) -> Iterator[Item]:
    """The items of each value of a file: of its lines, or of its one document."""
    for value in source.values():
        if isinstance(value, Problem):
            yield value
        else:
            yield from attempt(value[0], take, *value)
