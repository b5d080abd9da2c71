"""Output: text, tables and JSON. Nothing else in the CLI writes to a stream."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

import click

from tract.view.sanitize import counted, cut, json_text, one_line, visible, width

SHORT = 10
SAMPLE = 200

DIM, RED, YELLOW, CYAN = "2", "31", "33", "36"


# Writing


class Painted(NamedTuple):
    """A text with an ANSI style, used where there is colour."""

    text: str
    style: str


def put(*parts: str | Painted) -> None:
    """Write one piece of text to stdout, with control characters escaped."""
    sys.stdout.write("".join(map(_escape, parts)) + "\n")


def say(text: str) -> None:
    """Write a message for the person to stderr, after the data that came before it."""
    sys.stdout.flush()
    click.echo(visible(text), err=True)


class Progress:
    """A line that shows the progress of long work on a terminal. It disappears at the end."""

    def __init__(self, doing: str, noun: str = "token") -> None:
        self._noun = noun
        is_terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._doing = one_line(doing) if is_terminal else ""
        self._width = 0

    def __enter__(self) -> Progress:
        self._write(f"{self._doing} …" if self._doing else "")
        return self

    def __exit__(self, *_: object) -> None:
        self._write("")
        if self._doing:
            click.echo("\r", nl=False, err=True)

    def __call__(self, read: int, total: int) -> None:
        self._write(f"{self._doing}: {read} of {counted(total, self._noun)} read")

    def _write(self, text: str) -> None:
        if self._doing:
            click.echo("\r" + text.ljust(self._width), nl=False, err=True)
            self._width = len(text)


def write(text: str) -> None:
    """Write a text whose control characters are already escaped."""
    sys.stdout.write(text)


def dump(value: Any, indent: int | None = None) -> None:
    """One JSON document."""
    sys.stdout.write(json_text(value, indent) + "\n")


def dump_or_put(value: Any, text: str, as_json: bool) -> None:
    """The value as JSON, or a line about it for people."""
    if as_json:
        dump(value)
    else:
        put(text)


def dump_list(values: Iterable[Any]) -> None:
    """One JSON list, one element per line, written as the elements arrive."""
    separator = "[\n"
    for value in values:
        sys.stdout.write(separator + json_text(value))
        separator = ",\n"
    sys.stdout.write("[]\n" if separator == "[\n" else "\n]\n")


def _escape(part: str | Painted) -> str:
    if isinstance(part, str):
        return visible(part)
    text = visible(part.text)
    return f"\x1b[{part.style}m{text}\x1b[0m" if text and part.style and has_colour() else text


def has_colour() -> bool:
    return sys.stdout.isatty() and not refuses_colour()


def refuses_colour() -> bool:
    """Whether the person wants no colour, on a terminal or not."""
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"


def ask(question: str, refusal: str, *, yes: bool) -> None:
    """Continue only if the person agrees: by `--yes`, or now on the terminal."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(f"{refusal}; confirm with --yes")
    if not click.confirm(visible(question), err=True):
        say("nothing was done")
        raise click.exceptions.Exit(1)


# Tables


class Column(NamedTuple):
    style: str = ""
    right: bool = False
    rank: int = 0
    """On a terminal that is too narrow, columns of higher ranks are left out first; rank 0 never
    is."""
    is_cut: bool = False
    """Cut to what the terminal has room for; in a table without such a column, the last one is."""


NUMBER = Column(right=True)
ROOM = 20
"""The column that is cut keeps that many characters, if columns can be left out."""


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
    """Aligned columns, as wide as the first rows need. One of them is cut to fit the terminal."""
    lines: Iterator[list[str]] = ([one_line(cell) for cell in row] for row in rows)
    sample = list(islice(lines, SAMPLE))
    widths = [max(map(width, cells)) for cells in zip(*sample, strict=True)]
    room = _terminal_width()
    _fit(columns, widths, room)
    for line in chain(sample, lines):
        _put_row(columns, widths, line, room)


def _fit(columns: Sequence[Column], widths: list[int], room: int | None) -> None:
    """Set the widths of columns that are left out to 0, and that of the one that is cut."""
    if room is None or not widths:
        return
    marked = [number for number, column in enumerate(columns) if column.is_cut]
    cut_one = marked[0] if marked else len(widths) - 1
    others = [number for number in range(len(widths)) if number != cut_one]
    for number in sorted(others, key=lambda number: columns[number].rank, reverse=True):
        taken = sum(widths[n] + 2 for n in others if widths[n])
        if taken + min(ROOM, widths[cut_one]) <= room or not columns[number].rank:
            break
        widths[number] = 0
    if marked:
        taken = sum(widths[n] + 2 for n in others if widths[n])
        widths[cut_one] = max(min(widths[cut_one], room - taken), 8)


def _put_row(
    columns: Sequence[Column], widths: Sequence[int], cells: Sequence[str], room: int | None
) -> None:
    parts: list[Painted] = []
    for column, size, cell in zip(columns[:-1], widths[:-1], cells[:-1], strict=True):
        if size:
            cell = cut(cell, size) if column.is_cut and room else cell
            pad = " " * max(0, size - width(cell))
            before, after = (pad, "  ") if column.right else ("", f"{pad}  ")
            parts += [Painted(before, ""), Painted(cell, column.style), Painted(after, "")]
    last = cells[-1] if widths[-1] else ""
    if room:
        last = cut(last, max(room - sum(width(part.text) for part in parts), 8))
    parts.append(Painted(last, columns[-1].style))
    while parts and not parts[-1].text.strip():  # no trailing space
        parts.pop()
    put(*parts)


def _terminal_width() -> int | None:
    if not sys.stdout.isatty():
        return None
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except OSError:
        return None
