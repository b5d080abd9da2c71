"""A file to import from, read with bounded memory."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from tract.errors import InputError
from tract.importers.items import Problem
from tract.importers.partial_json import begun, check_weight, glued, parsed, parsed_or_none
from tract.model import Json

SAMPLE = 65_536
PEEK = 4 * 1024 * 1024
FIRST_LINES = 5
MAX_LINE = 64 * 1024 * 1024
MAX_DOCUMENT = 64 * 1024 * 1024
MAX_UNPACKED = 1024 * 1024 * 1024
MAX_BROKEN = 10_000
"""Lines that are no JSON, before the file is refused."""
STEP = 1024 * 1024
BOM = b"\xef\xbb\xbf"
GZIP = b"\x1f\x8b\x08"

OnRead = Callable[[int, int], None]
"""Told how many bytes of how many were read."""


class Source:
    """A file, and what it begins with. One that is compressed (gzip) is read as what is in it."""

    def __init__(self, path: Path, on_read: OnRead | None = None) -> None:
        self.path = path
        self._on_read = on_read
        try:
            with self.open() as file:
                self.head = file.read(SAMPLE).removeprefix(BOM)
        except OSError as error:
            raise InputError(f"{path.name}: {error.strerror or error}") from None

    def open(self, on_read: OnRead | None = None) -> BinaryIO:
        file = io.BufferedReader(_Told(self.path, on_read), SAMPLE)
        return io.BufferedReader(_Unpacked(file), SAMPLE) if file.peek().startswith(GZIP) else file

    @cached_property
    def peek(self) -> Json:
        """The first value of the file, or as much of it as its beginning tells; None where that is
        nothing. For finding out what the file is."""
        if not self.head.lstrip().startswith((b"{", b"[")):
            return None
        begins = self._beginning()
        found = _line_value(begins)
        if found is None:
            found = parsed_or_none(begins)
        return begun(begins) if found is None else found

    def head_records(self) -> Iterator[dict[str, Json]]:
        """The dicts among the first lines: enough to tell what the file is."""
        for line in self.head.split(b"\n"):
            if isinstance(value := parsed_or_none(line), dict):
                yield value

    def records(self) -> Iterator[tuple[int, Json] | Problem]:
        """The JSON values of a file of lines, each with the number of its line. A line that is no
        JSON is a problem, and so is one with several values, which are given; blank ones are
        nothing."""
        broken = 0
        self._forget()
        with self.open(self._on_read) as file:
            for number, line in enumerate(_lines(file), 1):
                try:
                    if line is None:
                        raise InputError(f"more than {MAX_LINE} bytes")
                    if line.strip():
                        yield number, parsed(line)
                except InputError as error:
                    broken += 1
                    if broken > MAX_BROKEN:
                        raise InputError(f"{self.path.name}: too many lines are broken") from None
                    yield from ((number, value) for value in glued(line or b""))
                    yield Problem(f"line {number}", str(error))
            if problem := _problem(file):
                yield Problem("end of file", problem)

    def document(self, depth: int | None = None) -> tuple[Json, list[Problem]]:
        """The one value that the file is. Of one that was cut there is what stands before the cut,
        and the problem; what is deeper than `depth` is there only if it is whole."""
        data = self.data()
        check_weight(data)
        try:
            return parsed(data), []
        except InputError as error:
            found = begun(data, depth)
            if not found:
                raise
            return found, [Problem("end of file", f"cut: {error}")]

    def values(self) -> Iterator[tuple[str, Json] | Problem]:
        """The values of the file with their places: one per line, or the one document that it
        is."""
        if self.is_of_lines():
            for record in self.records():
                yield record if isinstance(record, Problem) else (f"line {record[0]}", record[1])
            return
        document, problems = self.document()
        yield from problems
        yield "document", document

    def is_of_lines(self) -> bool:
        """Whether the file has one value per line."""
        begins = self._beginning()
        if _line_value(begins) is not None:
            return True
        return len(begins) == PEEK and b"\n" not in begins and self._has_second_line()

    def data(self) -> bytes:
        """All of a file that is not too large for that."""
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
        """What was seen of the file, before all of it takes its memory."""
        self.__dict__.pop("peek", None)

    def _beginning(self) -> bytes:
        with self.open() as file:
            return file.read(PEEK).removeprefix(BOM)

    def _has_second_line(self) -> bool:
        with self.open() as file:
            next(_lines(file), None)
            return bool(file.read(1))


def _line_value(begins: bytes) -> Json:
    """The value of the first whole line. A broken one may stand before it, unless it opens a
    document that goes on over many lines."""
    for line in begins.split(b"\n", FIRST_LINES)[:FIRST_LINES]:
        found = parsed_or_none(line)
        if isinstance(found, dict | list) and found:
            return found
        if len(line.strip()) < 3 and line.strip():
            return None
    return None


def _lines(file: BinaryIO) -> Iterator[bytes | None]:
    """The lines; None in the place of one that is too long."""
    while line := file.readline(MAX_LINE + 1):
        if len(line) <= MAX_LINE:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(STEP)
        yield None


class _Told(io.FileIO):
    """A file that tells how far it was read."""

    def __init__(self, path: Path, on_read: OnRead | None) -> None:
        super().__init__(path)
        self._on_read = on_read
        self._size = os.fstat(self.fileno()).st_size if on_read else 0
        self._done = self._next = 0

    def readinto(self, buffer: Any) -> int:
        count = super().readinto(buffer) or 0
        self._done += count
        if self._on_read and (self._done >= self._next or not count):
            self._next = self._done + STEP
            self._on_read(self._done, self._size)
        return count


class _Unpacked(io.RawIOBase):
    """What is in a compressed file: as far as it can be read, and no more than there may be."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._unpacker = zlib.decompressobj(wbits=31)
        self._left = MAX_UNPACKED
        self.problem = ""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = b"" if self.problem else self._piece(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _piece(self, most: int) -> bytes:
        while True:
            if self._unpacker.eof:  # there may be another part behind it
                packed = self._unpacker.unused_data or self._file.read(SAMPLE)
                if not packed:
                    return b""
                self._unpacker = zlib.decompressobj(wbits=31)
            else:
                packed = self._unpacker.unconsumed_tail or self._file.read(SAMPLE)
            try:
                data = self._unpacker.decompress(packed, min(most, self._left + 1))
            except zlib.error as error:
                return self._ended(f"damaged: {error}")
            self._left -= len(data)
            if self._left < 0:
                return self._ended(f"more than {MAX_UNPACKED} bytes")
            if data:
                return data
            if not packed:
                return self._ended("cut: its compressed data has no end")

    def _ended(self, problem: str) -> bytes:
        self.problem = problem
        return b""

    def close(self) -> None:
        self._file.close()
        super().close()


def _problem(file: BinaryIO) -> str:
    raw = getattr(file, "raw", None)
    return raw.problem if isinstance(raw, _Unpacked) else ""
