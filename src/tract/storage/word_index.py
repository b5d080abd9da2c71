"""The index of words: which contents may have a word. It is written with each content."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from tract.content.terms import LONG, text_of, words_of
from tract.errors import CorruptError, ForgottenError, ObjectStoreError, StorageError
from tract.hashing import escape, from_json
from tract.storage.codec import DAMAGE, FORGOTTEN
from tract.storage.contents import Contents
from tract.storage.driver import Driver, pages
from tract.storage.rows import text_sum, unescape
from tract.storage.sqlite import Sqlite, binding
from tract.storage.transactions import transaction

SAMPLE, WORDS = 500, 50
"""Contents of which words are verified, and words of each; of more, some are chosen evenly."""
SLICE = 200
"""Contents that one transaction indexes, while other writers wait."""

Progress = Callable[[int, int], object]
"""Called with how many contents are indexed, and how many there are."""


class Backlog(NamedTuple):
    """Whether words are indexed, and which contents are still to be."""

    is_on: int
    done: int
    """All contents up to here are indexed."""
    until: int
    """Those up to here are not; all later ones are."""

    @property
    def size(self) -> int:
        return self.until - self.done


Alternatives = Sequence[str]
"""Words of which a content must have one."""


class _Table(Protocol):
    """Where a database has the words of its contents."""

    lists_all: bool
    """Whether it can only list the words of all contents, not those of new ones."""

    def is_usable(self) -> bool: ...
    def add(self, blob_id: int, words: set[str]) -> None: ...
    def remove(self, blob_ids: Sequence[int]) -> None: ...
    def clear(self) -> None: ...
    def compact(self) -> None: ...
    def find(self, wanted: Sequence[Alternatives], most: int) -> list[int]: ...
    def keys(self) -> set[int]: ...
    def has(self, blob_id: int, words: Sequence[str]) -> bool: ...


class FullText:
    """FTS5 of SQLite, without the texts and without the positions of words. Its tokenizer splits at
    spaces only: what a word is, is decided in `content.terms`."""

    lists_all = True

    def __init__(self, driver: Driver) -> None:
        self._run = driver.run
        self._driver = driver

    def is_usable(self) -> bool:
        return has_full_text(self._driver) and "content_words" in self._driver.tables()

    def add(self, blob_id: int, words: set[str]) -> None:
        sql = "INSERT INTO content_words (rowid, words) VALUES (?, ?)"
        self._run(sql, (blob_id, " ".join(words)))

    def remove(self, blob_ids: Sequence[int]) -> None:
        for blob_id in blob_ids:
            self._run("DELETE FROM content_words WHERE rowid = ?", (blob_id,))

    def clear(self) -> None:
        self._run("INSERT INTO content_words (content_words) VALUES ('delete-all')")

    def compact(self) -> None:
        """Words of contents that were removed stay in the table until it is written anew."""
        self._run("INSERT INTO content_words (content_words) VALUES ('optimize')")

    def find(self, wanted: Sequence[Alternatives], most: int) -> list[int]:
        expression = " AND ".join(f"({_any_of(words)})" for words in wanted)
        sql = "SELECT rowid FROM content_words WHERE content_words MATCH ? LIMIT ?"
        return [blob_id for (blob_id,) in self._run(sql, (expression, most))]

    def lists(self) -> list[bytes]:
        """The words of all contents, each list in order, one word on a line: those that are not
        hexadecimal, and those that are."""
        self._run(_ALL_WORDS)
        is_hex = "term NOT GLOB '*[^0-9a-f]*'"
        [lists] = self._run(
            f"""SELECT group_concat(CASE WHEN NOT {is_hex} THEN term END, char(10)),
                group_concat(CASE WHEN {is_hex} THEN term END, char(10))
            FROM temp.all_words"""
        )
        return [(words or "").encode() for words in lists]

    def keys(self) -> set[int]:
        return {blob_id for (blob_id,) in self._run("SELECT id FROM content_words_docsize")}

    def has(self, blob_id: int, words: Sequence[str]) -> bool:
        expression = " AND ".join(f'"{word}"' for word in words)
        sql = "SELECT 1 FROM content_words WHERE content_words MATCH ? AND rowid = ?"
        return bool(self._run(sql, (expression, blob_id)))


def _any_of(words: Alternatives) -> str:
    return " OR ".join(f'"{word}"' for word in words)


def has_full_text(driver: Driver) -> bool:
    """Whether this SQLite has FTS5, and can remove the words of a content (since 3.43)."""
    is_new = binding.sqlite_version_info >= (3, 43)
    return is_new and bool(driver.run("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'"))


class Arrays:
    """A column of arrays in PostgreSQL, with an inverted index. Not `tsvector`: that has at most
    1 MB. A word is stored as all texts are, in ASCII."""

    lists_all = False

    def __init__(self, driver: Driver) -> None:
        self._run = driver.run
        self._driver = driver

    def is_usable(self) -> bool:
        return "content_words" in self._driver.tables()

    def add(self, blob_id: int, words: set[str]) -> None:
        sql = """INSERT INTO content_words VALUES (?, ?)
            ON CONFLICT (blob_id) DO UPDATE SET words = EXCLUDED.words"""
        self._run(sql, (blob_id, sorted(map(escape, words))))

    def remove(self, blob_ids: Sequence[int]) -> None:
        for page in pages(blob_ids):
            self._run("DELETE FROM content_words WHERE blob_id = ANY(?)", (list(page),))

    def clear(self) -> None:
        self._run("DELETE FROM content_words")

    def compact(self) -> None:
        """The table is rewritten as the others are."""

    def find(self, wanted: Sequence[Alternatives], most: int) -> list[int]:
        where = " AND ".join(["words && CAST(? AS TEXT[])"] * len(wanted))
        values = [list(map(escape, words)) for words in wanted]
        sql = f"SELECT blob_id FROM content_words WHERE {where} LIMIT ?"
        return [blob_id for (blob_id,) in self._run(sql, [*values, most])]

    def words(self, after: int) -> Iterator[str]:
        sql = "SELECT DISTINCT unnest(words) FROM content_words WHERE blob_id > ?"
        return (unescape(word) for (word,) in self._run(sql, (after,)))

    def keys(self) -> set[int]:
        return {blob_id for (blob_id,) in self._run("SELECT blob_id FROM content_words")}

    def has(self, blob_id: int, words: Sequence[str]) -> bool:
        sql = "SELECT 1 FROM content_words WHERE blob_id = ? AND words @> CAST(? AS TEXT[])"
        return bool(self._run(sql, (blob_id, list(map(escape, words)))))


class WordIndex:
    """The words of the contents of a database, as far as they are indexed."""

    def __init__(self, driver: Driver, contents: Contents) -> None:
        self._driver, self._contents, self._run = driver, contents, driver.run
        self.table: _Table = FullText(driver) if isinstance(driver, Sqlite) else Arrays(driver)
        self._is_usable: bool | None = None
        self._is_on = False  # as it was when it was looked up last

    @property
    def is_usable(self) -> bool:
        """False with an SQLite that is older than 3.43 or has no FTS5."""
        if self._is_usable is None:
            self._is_usable = self.table.is_usable()
        return self._is_usable

    def backlog(self) -> Backlog:
        for *columns, checksum in self._run(_STATE):
            if text_sum(*columns) != checksum:
                raise CorruptError("the state of the word index was altered")
            state = Backlog(*columns)
            self._is_on = bool(state.is_on)
            return state
        raise CorruptError("the word index has lost its state")

    def add(self, blob_id: int, data: bytes) -> None:
        """Index a content that is written, in the transaction that writes it. If another process
        has switched the index off meanwhile, this does no harm: it is dropped when it comes back
        on. What is in the backlog is written again with it."""
        if self._is_on and self.is_usable:
            self.table.add(blob_id, words_of(text_of(from_json(data))))
            return
        state = self.backlog()
        if self._is_on and self.is_usable:
            self.add(blob_id, data)
        elif self._is_on:  # the next process that can, does
            done = state.done if state.size else blob_id - 1
            _set(self._driver, state._replace(done=done, until=max(blob_id, state.until)))

    def remove(self, blob_ids: Sequence[int]) -> None:
        """Forget the words of contents that are deleted or erased."""
        if self.is_usable:
            self.table.remove(blob_ids)

    def erase(self, blob_ids: Sequence[int]) -> None:
        """The same, and of the vocabulary too: it does not say whose a word is."""
        if blob_ids and not self.is_usable and "content_words" in self._driver.tables():
            raise StorageError(
                "the word index has words of what is to be forgotten, and this SQLite cannot "
                "remove them: use one with FTS5, 3.43 or newer; nothing was erased"
            )
        self.remove(blob_ids)
        self._run("DELETE FROM vocabulary")

    def compact(self) -> None:
        """Have no byte of removed words in the index."""
        if self.is_usable:
            with transaction(self._driver):
                self.table.compact()

    def switch(self, is_on: bool) -> None:
        """Begin to index all contents, or stop it and drop the index."""
        with transaction(self._driver, alone=True):
            if is_on and isinstance(self._driver, Sqlite) and has_full_text(self._driver):
                if not self.table.is_usable():
                    self._run(self._driver.translate("{content_words}"))
                self._is_usable = True
            if self.is_usable:
                self.table.clear()
            self._run("DELETE FROM vocabulary")
            postpone(self._driver, int(is_on))

    def catch_up(self, seconds: float, progress: Progress | None = None) -> Backlog:
        """Index contents that are not, for about so long; in a file that cannot be written to, or
        is in use, none. It can be killed at any time, and continues where it was."""
        end = time.monotonic() + seconds
        state = self.backlog()
        while state.is_on and state.size and self.is_usable and not self._driver.depth:
            try:
                state = self._index_slice()
            except CorruptError:
                raise
            except StorageError:  # it cannot be written to, or not now
                break
            if progress:
                progress(state.done, state.until)
            if time.monotonic() > end:
                break
        return state

    def _index_slice(self) -> Backlog:
        with transaction(self._driver):
            state = self.backlog()  # another process may have been faster
            if not (state.is_on and state.size):
                return state
            rows = self._run(_NEXT, (state.done, state.until, SLICE))
            self.table.remove([blob_id for blob_id, _ in rows])
            for blob_id, codec in rows:
                if codec != FORGOTTEN:
                    self.table.add(blob_id, self._words(blob_id))
            state = state._replace(done=rows[-1][0] if len(rows) == SLICE else state.until)
            _set(self._driver, state)
            return state

    def _words(self, blob_id: int) -> set[str]:
        """A content that cannot be read may have any word: whoever searches reads it."""
        try:
            return self.read_words(blob_id)
        except (CorruptError, ObjectStoreError, *DAMAGE):
            return {LONG}

    def read_words(self, blob_id: int) -> set[str]:
        """The words of a content as it is stored."""
        try:
            return words_of(text_of(from_json(self._contents.read(blob_id))))
        except ForgottenError:
            return set()

    def problems(self) -> Iterator[str]:
        """What the index misses: contents, and words of some of them."""
        state = self.backlog()
        if not (state.is_on and self.is_usable):
            return
        sql = f"SELECT id FROM blobs WHERE codec <> {FORGOTTEN} ORDER BY id"
        stored = [blob_id for (blob_id,) in self._run(sql)]
        indexed = self.table.keys()
        lost = [key for key in stored if key not in indexed and not state.done < key <= state.until]
        some = [key for key in stored if key in indexed][:: len(stored) // SAMPLE + 1]
        lost += [key for key in some if not self._is_indexed(key)]
        odd = indexed.difference(stored)
        if lost or odd:
            yield (
                f"the word index misses words of {len(lost)} contents, and has {len(odd)} that are "
                "not there: tract search --index on makes it anew"
            )

    def _is_indexed(self, blob_id: int) -> bool:
        words = sorted(self._words(blob_id))
        return words in ([], [LONG]) or self.table.has(blob_id, words[:: len(words) // WORDS + 1])


def postpone(driver: Driver, is_on: int = 1) -> None:
    """Have the contents that a database has indexed later."""
    [(newest,)] = driver.run("SELECT coalesce(max(id), 0) FROM blobs")
    _set(driver, Backlog(is_on, 0, newest if is_on else 0))


def copy_state(source: Driver, target: Driver) -> None:
    """Have a copy index its contents itself, unless the original has none."""
    for (is_on,) in source.run("SELECT is_on FROM word_index"):
        postpone(target, is_on)


def _set(driver: Driver, state: Backlog) -> None:
    sql = "UPDATE word_index SET is_on = ?, done = ?, until = ?, checksum = ?"
    driver.run(sql, (*state, text_sum(*state)))


_ALL_WORDS = """
CREATE VIRTUAL TABLE IF NOT EXISTS temp.all_words USING fts5vocab (main, content_words, row)"""

_STATE = "SELECT is_on, done, until, checksum FROM word_index"

_NEXT = "SELECT id, codec FROM blobs WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"
