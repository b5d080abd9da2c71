"""A text that is read in pieces, by position and by line. Pure.

A line ends with a newline (U+000A) or with the text, and with nothing else: carriage returns, form
feeds and the rest stay in it. Lines are counted from 1, positions from 0.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from itertools import accumulate
from typing import Protocol

from tract.content.blocks import bytes_of
from tract.content.grep import END


class TextReader(Protocol):
    """A text that is read in pieces."""

    @property
    def size(self) -> int:
        """The number of characters."""

    @property
    def byte_size(self) -> int:
        """The number of bytes in UTF-8."""

    @property
    def line_count(self) -> int: ...

    def read(self, start: int, stop: int) -> str:
        """The characters from `start` up to, not including, `stop`, or the end if that is first."""

    def line_start(self, number: int) -> int:
        """Where a line starts; the size of the text for a line behind the last."""

    def line_at(self, position: int) -> int:
        """The number of the line to which the character at a position belongs."""


class StringReader:
    """A text in memory. Newlines are counted once, block by block, when a line is asked for."""

    _BLOCK = 4_096

    def __init__(self, text: str) -> None:
        self.text = text
        self.size = len(text)

    @cached_property
    def byte_size(self) -> int:
        return bytes_of(self.text)

    @cached_property
    def _newlines(self) -> list[int]:
        """How many there are before each block, and in all."""
        starts = range(0, self.size, self._BLOCK)
        counts = (self.text.count(END, start, start + self._BLOCK) for start in starts)
        return list(accumulate(counts, initial=0))

    @property
    def line_count(self) -> int:
        unfinished = bool(self.text) and not self.text.endswith(END)
        return self._newlines[-1] + unfinished

    def read(self, start: int, stop: int) -> str:
        return self.text[start:stop]

    def line_start(self, number: int) -> int:
        newlines = number - 1
        if newlines > self._newlines[-1]:
            return self.size
        block = max(bisect_left(self._newlines, newlines) - 1, 0)
        position = block * self._BLOCK
        for _ in range(newlines - self._newlines[block]):
            position = self.text.index(END, position) + 1
        return position

    def line_at(self, position: int) -> int:
        block = position // self._BLOCK
        before = self.text.count(END, block * self._BLOCK, position)
        return self._newlines[block] + before + 1
