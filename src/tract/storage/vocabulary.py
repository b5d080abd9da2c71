"""The vocabulary: all words of the index, to find those that have a part. It is a copy that can be
made again at any time, in a few blocks, each of which has the words of a range of contents."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from tract.content.terms import Need
from tract.errors import CorruptError
from tract.storage.codec import DAMAGE, deflate, inflate
from tract.storage.driver import Driver
from tract.storage.rows import text_sum
from tract.storage.transactions import snapshot, transaction
from tract.storage.word_index import NOT_NOW, WordIndex, is_hex, word_lists

TAIL = 100
"""So many new contents are read by each search, before their words are added."""
MOST_READ = 5_000
"""More of them are not read one by one: the index lists all words."""


class Block(NamedTuple):
    """The words of the contents after one key, up to another."""

    after: int
    until: int
    text: bytes
    """Each word on a line of its own, between line ends; after an empty line, those that are
    hexadecimal."""
    end: int
    """Where the empty line is."""


class Vocabulary:
    """The words of a database."""

    def __init__(self, driver: Driver, index: WordIndex) -> None:
        self._driver, self._index, self._run = driver, index, driver.run
        self._blocks: dict[int, Block] = {}  # as read before

    def drop(self) -> None:
        """Have it made again: something was erased, or has come back."""
        self._run("DELETE FROM vocabulary")

    def load(self) -> int:
        """Read the blocks that are new. Returns up to which content there are words: none if a
        block is damaged, so that all are made again."""
        try:
            return self._load()
        except (CorruptError, *DAMAGE):
            self._blocks = {}
            return 0

    def problems(self) -> Iterator[str]:
        self._blocks = {}
        self._load()
        return iter(())

    def _load(self) -> int:
        known = self._blocks
        rows = self._run("SELECT id, after, until FROM vocabulary ORDER BY id")
        self._blocks = {}
        covered = 0
        for block_id, after, until in rows:
            if after != covered:
                raise CorruptError("a part of the vocabulary is missing")
            self._blocks[block_id] = known.get(block_id) or self._read(block_id)
            covered = until
        return covered

    def _read(self, block_id: int) -> Block:
        sql = "SELECT after, until, size, words, checksum FROM vocabulary WHERE id = ?"
        [(after, until, size, words, checksum)] = self._run(sql, (block_id,))
        if _checksum(after, until, size, words) != checksum:
            raise CorruptError("a part of the vocabulary was altered")
        text = inflate(words, size)
        end = text.find(b"\n\n")
        if end < 0:
            raise CorruptError("a part of the vocabulary has one list of words, not two")
        return Block(after, until, text, end + 1)

    def find(self, need: Need, most: int) -> list[str] | None:
        """The words that have this one as a part; None if there are more than so many."""
        pattern = need.word.encode()
        if not need.opens:
            pattern = b"\n" + pattern
        if not need.goes_on:
            pattern += b"\n"
        words = set[bytes]()
        is_any = is_hex(need.word.encode())
        for block in self._blocks.values():
            end = len(block.text) if is_any else block.end
            for word in _lines_with(block.text, pattern, end):
                words.add(word)
                if len(words) > most:
                    return None
        return [word.decode() for word in words]

    def extend(self, newest: int) -> int:
        """Add the words of new contents up to this one, if they are many. Returns up to which
        content there are words: without them, a search reads more."""
        covered = self.load()
        if newest - covered <= TAIL or self._driver.depth:
            return covered
        try:
            self._extend(covered)
        except NOT_NOW:
            return covered
        return self.load()

    def _extend(self, covered: int) -> None:
        # An identity column of PostgreSQL is not in the order of commits: while no one writes,
        # there is no content before the newest one that is still to come.
        with transaction(self._driver, alone=True, wait=False):
            state, seen = self._index.backlog(), self._state()
            [(newest,)] = self._run("SELECT coalesce(max(id), 0) FROM blobs")
        if not state.is_on or state.size:  # another process has begun to index all contents
            return
        block = self._collect(covered, newest)
        with transaction(self._driver, alone=True, wait=False):
            if seen == self._state():
                self._run("DELETE FROM vocabulary WHERE after >= ?", (block.after,))
                row = block.after, block.until, len(block.text), deflate(block.text)
                self._run(_INSERT, (*row, _checksum(*row)))

    def _state(self) -> tuple[object, ...]:
        """It changes when another process adds words, erases some, or makes the index anew."""
        blocks = self._run("SELECT after, until FROM vocabulary ORDER BY id")
        erasures = self._run("SELECT erasures FROM tract_schema")
        return self._index.backlog().done, blocks, erasures

    def _collect(self, covered: int, newest: int) -> Block:
        """The block that is to be stored."""
        with snapshot(self._driver):
            after, lists = self._new_words(covered, newest)
        size = sum(map(len, lists))
        for block in reversed([block for block in self._blocks.values() if block.until <= after]):
            if len(block.text) > 2 * size:
                break
            after, size = block.after, size + len(block.text)  # neighbours of like size become one
            lists = [_merged(*both) for both in zip(lists, _lists(block.text), strict=True)]
        return Block(after, newest, b"\n%b\n\n%b\n" % tuple(lists), len(lists[0]) + 2)

    def _new_words(self, covered: int, newest: int) -> tuple[int, list[bytes]]:
        """The words of new contents, or of all; and after which content they are."""
        table = self._index.table
        if not table.lists_all:
            return covered, table.lists(covered, newest)
        if newest - covered <= MOST_READ:
            with suppress(CorruptError, *DAMAGE):  # the index may have the words of a damaged one
                return covered, word_lists(self._read_words(covered, newest))
        return 0, table.lists(0, newest)

    def _read_words(self, covered: int, newest: int) -> Iterator[str]:
        sql = "SELECT id FROM blobs WHERE id > ? AND id <= ? ORDER BY id"
        for (blob_id,) in self._run(sql, (covered, newest)):
            yield from self._index.read_words(blob_id)


def _lists(text: bytes) -> list[bytes]:
    return text[1:-1].split(b"\n\n")


def _merged(first: bytes, second: bytes) -> bytes:
    words = {*first.split(b"\n"), *second.split(b"\n")}
    return b"\n".join(sorted(words - {b""}))


def _lines_with(text: bytes, pattern: bytes, stop: int) -> Iterator[bytes]:
    """The lines before a position that have a pattern, which may begin or end with a line end."""
    at = text.find(pattern, 0, stop)
    while at >= 0:
        start = text.rfind(b"\n", 0, at + 1) + 1
        end = text.find(b"\n", at + 1)
        yield text[start:end]
        at = text.find(pattern, end, stop)


def _checksum(after: int, until: int, size: int, words: bytes) -> int:
    return zlib.crc32(words, text_sum(after, until, size))


_INSERT = "INSERT INTO vocabulary (after, until, size, words, checksum) VALUES (?, ?, ?, ?, ?)"
