"""A file to import from, read with bounded memory."""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from tract.errors import InputError
from tract.importers.items import Item, Problem
from tract.importers.partial_json import (
    check_weight,
    elements,
    parse,
    parse_around,
    parse_beginning,
    parse_or_none,
    split_objects,
)
from tract.model import Json

SAMPLE = 65_536
PEEK = 4 * 1024 * 1024
FIRST_LINES = 5
MAX_LINE = 64 * 1024 * 1024
MAX_DOCUMENT = 64 * 1024 * 1024
MAX_UNPACKED = 1024 * 1024 * 1024
MAX_BROKEN = 10_000
"""Lines that are not JSON before the file is refused."""
STEP = 1024 * 1024
BOM = b"\xef\xbb\xbf"
END = "end of file"
GZIP = b"\x1f\x8b\x08"

UNFORESEEN = (AttributeError, LookupError, TypeError, ValueError)
"""What an importer may raise for a value that its author did not think of. It costs only that
value."""

OnRead = Callable[[int, int], None]
"""Called with the number of bytes read, and of all bytes."""


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Around all that reads a file: one that cannot be opened, or not be read to its end, is an
    InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path.name}: {error.strerror or error}") from error


class Source:
    """A file and its beginning. A gzip file is read unpacked. `on_read` is called with the progress
    of reading it."""

    def __init__(self, path: Path, on_read: OnRead | None = None) -> None:
        self.path = path
        self._on_read = on_read
        with readable(path):
            check_file(path)
            with self.open() as file:
                self.head = file.read(SAMPLE).removeprefix(BOM)

    def open(self, on_read: OnRead | None = None) -> BinaryIO:
        raw = _ReportingFile(self.path, on_read) if on_read else io.FileIO(self.path)
        file = io.BufferedReader(raw, SAMPLE)
        return (
            io.BufferedReader(_GzipReader(file), SAMPLE) if file.peek().startswith(GZIP) else file
        )

    @cached_property
    def peek(self) -> Json:
        """The first value of the file, or the part of it that the beginning contains; None if there
        is none. For detecting the format."""
        if not self.head.lstrip().startswith((b"{", b"[")):
            return None
        if self._line_value is not None:
            return self._line_value
        beginning = self._beginning()
        value = parse_or_none(beginning)
        return parse_beginning(beginning) if value is None else value

    @cached_property
    def _line_value(self) -> Json:
        """The value of the first line that has one. A broken line may precede it, unless that opens
        a document of many lines."""
        for line in self._beginning().split(b"\n", FIRST_LINES)[:FIRST_LINES]:
            try:
                value = parse(line)
            except InputError:
                if len(line.strip()) < 3 and line.strip():
                    return None
                continue
            if isinstance(value, dict | list) and value:
                return value
        return None

    def head_records(self) -> Iterator[dict[str, Json]]:
        """The dicts among the first lines, for detecting the format."""
        return iter(self._head_records)

    @cached_property
    def _head_records(self) -> list[dict[str, Json]]:
        values = map(parse_or_none, self.head.split(b"\n"))
        return [value for value in values if isinstance(value, dict)]

    def records(
        self, is_wanted: Callable[[bytes], object] = bytes.strip
    ) -> Iterator[tuple[int, Json] | Problem]:
        """The JSON values of a file of lines, each with the number of its line. A line that is not
        JSON is a problem; if it has several values in a row, they are yielded too. Blank lines are
        skipped, or those that are not wanted."""
        broken = 0
        self._forget()
        with self.open(self._on_read) as file:
            for number, line in enumerate(_lines(file), 1):
                try:
                    if line is None:
                        raise InputError(f"more than {MAX_LINE} bytes")
                    if is_wanted(line):
                        yield number, parse(line)
                except InputError as error:
                    broken += 1
                    if broken > MAX_BROKEN:
                        raise InputError(f"{self.path.name}: too many lines are broken") from None
                    yield from ((number, value) for value in split_objects(line or b""))
                    yield Problem(f"line {number}", str(error))
            raw = getattr(file, "raw", None)
            if isinstance(raw, _GzipReader) and raw.problem:
                yield Problem(END, raw.problem)

    def document(self, lists: Collection[str]) -> tuple[Json, list[Problem]]:
        """The value of the file. Of a file that is damaged or was cut off: what is complete, and
        the problems. Lists with one of these names, and a list that is the document, keep their
        complete elements; any other value is kept only if it is complete itself."""
        data = self.data()
        check_weight(data)
        try:
            return parse(data), []
        except InputError:
            value, faults, is_cut = parse_around(data, lists)
            if not value:
                raise
            problems = [Problem("document", f"damaged: {fault}") for fault in faults]
            if is_cut:
                problems[-1] = Problem(END, f"cut: {faults[-1]}")
            return value, problems

    def elements(self) -> Iterator[tuple[int, Json] | Problem]:
        """The elements of a file that is one list, each with its number. One that cannot be read
        costs only itself; what is cut off is a problem."""
        self._forget()
        with self.open(self._on_read) as file:
            start = file.read(STEP).removeprefix(BOM).lstrip()
            if not start.startswith(b"["):
                raise InputError(f"{self.path.name}: not a list")
            chunks = chain([start], iter(lambda: file.read(STEP), b""))
            for number, element in enumerate(elements(lambda: next(chunks, b""), MAX_LINE), 1):
                try:
                    if element is None:
                        yield Problem(END, "cut: the list has no end")
                    else:
                        yield number, parse(element)
                except InputError as error:
                    yield Problem(f"element {number}", str(error))

    def parts(self) -> Iterator[tuple[str, Json] | Problem]:
        """The records of a file that has one per line, or that is one list of them, each with its
        position."""
        is_list = self.head.lstrip().startswith(b"[") and not self._has_record_lines()
        word, records = ("element", self.elements()) if is_list else ("line", self.records())
        for record in records:
            yield record if isinstance(record, Problem) else (f"{word} {record[0]}", record[1])

    def _has_record_lines(self) -> bool:
        """Whether one of the first lines is an object, and the file no list."""
        return any(isinstance(parse_or_none(line), dict) for line in self.head.split(b"\n")[1:3])

    def values(self, lists: Collection[str] = ()) -> Iterator[tuple[str, Json] | Problem]:
        """The values of the file with their positions: one per line, or the document."""
        if self.is_of_lines():
            for record in self.records():
                yield record if isinstance(record, Problem) else (f"line {record[0]}", record[1])
            return
        document, problems = self.document(lists=lists)
        yield from problems
        yield "document", document

    def is_of_lines(self) -> bool:
        """Whether the file has one value per line."""
        if self._line_value is not None:
            return True
        beginning = self._beginning()
        if len(beginning) < PEEK or b"\n" in beginning:
            return False
        with self.open() as file:
            next(_lines(file), None)
            return bool(file.read(1))  # a second line

    def data(self) -> bytes:
        """The full content; InputError if it is too large."""
        self._forget()
        parts: list[bytes] = []
        left = MAX_DOCUMENT
        with self.open(self._on_read) as file:
            while part := file.read(STEP):
                left -= len(part)
                if left < 0:
                    raise InputError(f"{self.path.name}: too large for one document")
                parts.append(part)
        return b"".join(parts)

    def _forget(self) -> None:
        """Frees the beginning of the file before the full content is read."""
        for name in ("peek", "_line_value", "_head_records"):
            self.__dict__.pop(name, None)

    def _beginning(self) -> bytes:
        with self.open() as file:
            return file.read(PEEK).removeprefix(BOM)


def check_file(path: Path) -> None:
    """Refuse what has no end, or waits for another process: a device, a pipe, a socket."""
    try:
        mode = path.stat().st_mode
    except ValueError as error:  # a NUL, or a character that the file system cannot encode
        raise InputError(f"not a path: {str(path)!r:.80}") from error
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise InputError(f"{path.name or path}: not a file, but {kind}")


_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def is_cut(problems: Iterable[Problem]) -> bool:
    """Whether one of the problems of a document is that it was cut off."""
    return any(problem.place == END for problem in problems)


def attempt(place: str, make: Callable[..., Iterable[Item]], *arguments: Any) -> Iterator[Item]:
    """The items of one part of the source; a Problem if it cannot be read."""
    try:
        yield from make(*arguments)
    except InputError as error:
        yield Problem(place, str(error))
    except RecursionError:
        yield Problem(place, "nested too deep to be read")
    except UNFORESEEN as error:
        yield Problem(place, f"not understood: {type(error).__name__}: {error}")


def read_lines(source: Source, take: Callable[[dict[str, Json]], Iterable[Item]]) -> Iterator[Item]:
    """The items of a file of lines, each of which is an object."""
    return read_records(source, lambda _place, line: take(line))


def read_records(
    source: Source,
    take: Callable[[str, dict[str, Json]], Iterable[Item]],
    is_wanted: Callable[[bytes], object] = bytes.strip,
) -> Iterator[Item]:
    """The same for a function that needs the position of each line, or not each line."""
    for record in source.records(is_wanted):
        if isinstance(record, Problem):
            yield record
            continue
        place, line = f"line {record[0]}", record[1]
        if isinstance(line, dict):
            yield from attempt(place, take, place, line)
        else:
            yield Problem(place, f"a line is an object, not {type(line).__name__}")


def read_parts(
    source: Source, take: Callable[[str, dict[str, Json]], Iterable[Item]]
) -> Iterator[Item]:
    """The items of each record of a file: of its lines, or of the elements of its list."""
    for part in source.parts():
        if isinstance(part, Problem):
            yield part
        elif isinstance(part[1], dict):
            yield from attempt(part[0], take, *part)
        else:
            yield Problem(part[0], f"a record is an object, not {type(part[1]).__name__}")


def read_values(
    source: Source, take: Callable[[str, Json], Iterable[Item]], lists: Collection[str] = ()
) -> Iterator[Item]:
    """The items of each value of a file: of its lines, or of its one document."""
    for value in source.values(lists):
        if isinstance(value, Problem):
            yield value
        else:
            yield from attempt(value[0], take, *value)


def _lines(file: BinaryIO) -> Iterator[bytes | None]:
    """The lines; None for a line that is too long."""
    while line := file.readline(MAX_LINE + 1):
        if len(line) <= MAX_LINE:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(STEP)
        yield None


class _ReportingFile(io.FileIO):
    """A file that reports how far it was read."""

    def __init__(self, path: Path, on_read: OnRead) -> None:
        super().__init__(path)
        self._on_read = on_read
        self._size = os.fstat(self.fileno()).st_size
        self._done = self._next = 0

    def readinto(self, buffer: Any) -> int:
        count = super().readinto(buffer) or 0
        self._done += count
        if self._done >= self._next or not count:
            self._next = self._done + STEP
            self._on_read(self._done, self._size)
        return count


class _GzipReader(io.RawIOBase):
    """The content of a gzip file, as far as it can be read and up to a limit."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._gzip = gzip.GzipFile(fileobj=file)
        self._left = MAX_UNPACKED
        self.problem = ""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = b"" if self.problem else self._piece(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _piece(self, most: int) -> bytes:
        try:
            data = self._gzip.read1(min(most, self._left + 1))
        except EOFError:
            self.problem = "cut: its compressed data has no end"
            return b""
        except (OSError, zlib.error) as error:
            self.problem = f"damaged: {error}"
            return b""
        self._left -= len(data)
        if self._left < 0:
            self.problem = f"more than {MAX_UNPACKED} bytes"
            return b""
        return data

    def close(self) -> None:
        self._file.close()
        super().close()
