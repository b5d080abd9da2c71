"""The index of words: which contents may have a word. Writers extend it, a group at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from tract.content.terms import UNREADABLE, text_of, words_of
from tract.errors import (
    BusyError,
    CorruptError,
    ForgottenError,
    ObjectStoreError,
    ReadOnlyError,
)
from tract.hashing import escape, from_json
from tract.storage.codec import DAMAGE, FORGOTTEN, IN_OBJECTS
from tract.storage.contents import Contents
from tract.storage.driver import Driver, Row, pages
from tract.storage.queue import QueueDriver
from tract.storage.rows import text_sum, unescape
from tract.storage.sqlite import Sqlite, binding
from tract.storage.transactions import transaction

SAMPLE, WORDS = 500, 50
"""Contents of which words are verified, and words of each; of more, some are chosen evenly."""
SLICE = 200
"""Contents that one transaction indexes, while other writers wait."""
GROUP, GROUP_BYTES = 100, 1_000_000
"""New contents, and bytes of them, that SQLite indexes together: each by itself takes as long as
all else that a commit writes."""

SMALL_FILE = 8_000_000
"""Bytes of a file of which no words are indexed before it is searched: few are, and that search
takes about a second longer."""

REMEDY = "tract search --index on makes it anew"

Progress = Callable[[int, int], object]
"""Called with how many contents are indexed, and how many there are."""


class Backlog(NamedTuple):
    """Whether words are indexed, and which contents are still to be."""

    is_on: int
    done: int
    """All contents up to here are indexed."""
    until: int
    """Those up to here are not; all later ones, if there are any, are."""

    @property
    def size(self) -> int:
        return self.until - self.done


Alternatives = Sequence[str]
"""Words of which a content must have one."""


class _Table(Protocol):
    """Where a database has the words of its contents."""

    lists_all: bool
    """Whether it can only list the words of all contents, not those of new ones."""
    waits: bool
    """Whether new contents are indexed in groups. Not where they are committed in another order
    than that of their keys: a group would pass one that is not there yet."""

    def is_usable(self) -> bool: ...
    def add(self, blob_id: int, words: set[str]) -> None: ...
    def remove(self, blob_ids: Sequence[int]) -> None: ...
    def clear(self) -> None: ...
    def compact(self) -> None: ...
    def find(self, wanted: Sequence[Alternatives], most: int) -> list[int]: ...
    def keys(self) -> set[int]: ...
    def has(self, blob_id: int, words: Sequence[str]) -> bool: ...
    def lists(self, after: int, until: int) -> list[bytes]:
        """The words of the contents after one key, up to another, and perhaps of others. See
        `word_lists`."""


NOT_NOW = (BusyError, ReadOnlyError, ObjectStoreError)
"""Why the index is not completed by a search: others write, or it cannot be written or read."""
_HEX = b"0123456789abcdef"


def word_lists(words: Iterable[str]) -> list[bytes]:
    """Two lists in order, one word on a line: those that are not hexadecimal, and those that are.
    These are most of the words, and few searches are for a part of one."""
    encoded = sorted({word.encode() for word in words})
    hexes = [word for word in encoded if is_hex(word)]
    return [b"\n".join(word for word in encoded if not is_hex(word)), b"\n".join(hexes)]


def is_hex(word: bytes) -> bool:
    return not word.strip(_HEX)


class FullText:
    """FTS5 of SQLite, without the texts and without the positions of words. Its tokenizer splits at
    spaces only: what a word is, is decided in `content.terms`."""

    lists_all = waits = True

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

    def lists(self, after: int, until: int) -> list[bytes]:
        """The words of all contents: it cannot list others. Made by SQLite, in less time."""
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

    lists_all = waits = False

    def __init__(self, driver: QueueDriver) -> None:
        self._run = driver.run
        self._driver = driver

    def is_usable(self) -> bool:
        return "content_words" in self._driver.tables()

    def add(self, blob_id: int, words: set[str]) -> None:
        self._run(_ADD_ARRAY.format("VALUES (?, string_to_array(?, ' '))"), _joined(blob_id, words))

    def add_all(self, contents: Sequence[tuple[int, set[str]]]) -> None:
        rows = [_joined(blob_id, words) for blob_id, words in contents]
        self._driver.run_columns(_ADD_ARRAY.format(_JOINED), rows)

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

    def lists(self, after: int, until: int) -> list[bytes]:
        sql = """SELECT DISTINCT unnest(words) FROM content_words
            WHERE blob_id > ? AND blob_id <= ?"""
        return word_lists(unescape(word) for (word,) in self._run(sql, (after, until)))

    def keys(self) -> set[int]:
        return {blob_id for (blob_id,) in self._run("SELECT blob_id FROM content_words")}

    def has(self, blob_id: int, words: Sequence[str]) -> bool:
        sql = "SELECT 1 FROM content_words WHERE blob_id = ? AND words @> CAST(? AS TEXT[])"
        return bool(self._run(sql, (blob_id, list(map(escape, words)))))


def _joined(blob_id: int, words: set[str]) -> tuple[int, str]:
    """Words as one text, because psycopg takes long for an array. No word has a space."""
    return blob_id, escape(" ".join(sorted(words)))


class WordIndex:
    """The words of the contents of a database, as far as they are indexed."""

    def __init__(self, driver: Driver, contents: Contents) -> None:
        self._driver, self._contents, self._run = driver, contents, driver.run
        self.table: _Table = _table_of(driver)
        self._is_usable: bool | None = None
        self._is_ready = False  # to add words; as it was when it was looked up last
        self._fresh: dict[bytes, bytes] = {}  # new contents, by hash: others need not be read again
        self._fresh_bytes = 0
        self._due = 0  # the key of the content with which a group is complete

    @property
    def is_usable(self) -> bool:
        """False with an SQLite that is older than 3.43 or has no FTS5."""
        if self._is_usable is None:
            self._is_usable = self.table.is_usable()
        return self._is_usable

    @property
    def is_closed(self) -> bool:
        """Whether there are words that this SQLite cannot read."""
        return not self.is_usable and "content_words" in self._driver.tables()

    @property
    def lack(self) -> str:
        """Why it is not usable."""
        if isinstance(self._driver, Sqlite) and not has_full_text(self._driver):
            return "the word index needs SQLite 3.43 or newer with FTS5"
        return f"the word index has no table: {REMEDY}"

    def backlog(self) -> Backlog:
        """CorruptError if the index is damaged."""
        rows = self._run(_STATE)
        if len(rows) != 1 or text_sum(*rows[0][:-2]) != rows[0][-2]:
            raise CorruptError(f"the word index is damaged, or has lost its state: {REMEDY}")
        [(is_on, done, until, _, newest)] = rows
        self._is_ready = self._is_ready and bool(is_on)
        return Backlog(is_on, done, max(done, newest) if self.table.waits and is_on else until)

    def add(self, blob_id: int, digest: bytes, data: bytes) -> None:
        """Index a new content in the transaction that writes it, or leave it to a later one. If
        another process has switched the index off meanwhile, this does no harm: it is dropped when
        it comes back on."""
        if self.table.waits:
            self._fresh[digest] = data
            self._fresh_bytes += len(data)
            if blob_id < self._due and self._fresh_bytes <= GROUP_BYTES:
                return
        try:
            (self._index_group if self.table.waits else self._add)(blob_id, data)
        except CorruptError:
            self._give_up()

    def add_all(self, contents: Sequence[tuple[int, bytes, bytes]]) -> None:
        """Index new contents, each with its key and its hash."""
        for number, content in enumerate(contents):
            if self._is_ready and isinstance(self.table, Arrays):
                rest = contents[number:]
                self.table.add_all(
                    [(key, words_of(text_of(from_json(data)))) for key, _, data in rest]
                )
                return
            self.add(*content)

    def restore(self, blob_id: int, data: bytes) -> None:
        """Index a content that was forgotten and is written again. What is in the backlog is
        written with that."""
        try:
            if not self.table.waits or blob_id <= self.backlog().done:
                self._add(blob_id, data)
        except CorruptError:
            self._give_up()

    def _index_group(self, blob_id: int, _: bytes) -> None:
        """Index new contents, if there are enough of them; of a long backlog, a part."""
        state = self.backlog()
        is_due = blob_id - state.done >= GROUP or self._fresh_bytes > GROUP_BYTES
        if is_due:
            if not self._waits_for_search(state) and self._is_open(state):
                state = self._index(state, has_lock=True)
            self._drop_fresh()
        self._due = GROUP + (state.done if blob_id - state.done < GROUP else blob_id)

    def _waits_for_search(self, state: Backlog) -> bool:
        """Whether the first search indexes all contents. It would have to download objects."""
        if state.done or self._contents.has_objects:
            return False
        [(size,)] = self._run(_FILE_SIZE)
        return int(size) < SMALL_FILE

    def _add(self, blob_id: int, data: bytes) -> None:
        if not self._is_ready:
            state = self.backlog()
            if state.is_on and not self.is_usable:  # the next process that can, does
                done = state.done if state.size else blob_id - 1
                _set(self._driver, state._replace(done=done, until=max(blob_id, state.until)))
            if not self._is_open(state):
                return
        self.table.add(blob_id, words_of(text_of(from_json(data))))

    def _is_open(self, state: Backlog) -> bool:
        """Whether words can be added."""
        if state.is_on and self.is_usable and not self._is_ready:
            self.table.find([[UNREADABLE]], 1)  # damage is noticed here, not by a later statement
            self._is_ready = True
        return self._is_ready

    def _give_up(self) -> None:
        """Have no one use the index until it is made anew: it must not refuse what is written."""
        self._run("DELETE FROM word_index")
        self._is_ready = False
        self._drop_fresh()

    def _drop_fresh(self) -> None:
        self._fresh.clear()
        self._fresh_bytes = 0

    def remove(self, blob_ids: Sequence[int]) -> None:
        """Forget the words of contents that are deleted. An SQLite that cannot leaves them to the
        next `erase`."""
        if self.is_usable:
            try:
                self.table.remove(blob_ids)
            except CorruptError:
                self.table.clear()
                self._give_up()

    def erase(self, blob_ids: Iterable[int]) -> int:
        """Forget the words of contents that are erased, and of all that are not there. Returns how
        many of the others there were."""
        self._drop_fresh()  # they may be among these
        if not self.is_usable:
            return 0
        erased = set(blob_ids)
        gone = self.table.keys() - set(self._stored()) - erased
        self.remove(sorted(gone | erased))
        return len(gone)

    def _stored(self) -> list[int]:
        sql = f"SELECT id FROM blobs WHERE codec <> {FORGOTTEN} ORDER BY id"
        return [blob_id for (blob_id,) in self._run(sql)]

    def compact(self) -> None:
        """Have no byte of removed words in the index."""
        if self.is_usable:
            with transaction(self._driver):
                try:
                    self.table.compact()
                except CorruptError:
                    self.table.clear()
                    self._give_up()

    def switch(self, is_on: bool) -> None:
        """Begin to index all contents, or stop it and drop the index."""
        with transaction(self._driver, alone=True):
            if is_on and "content_words" not in self._driver.tables():
                self._create_table()
            self._is_usable, self._is_ready = None, False
            self._drop_fresh()
            if self.is_usable:
                self.table.clear()
            self._run("DELETE FROM vocabulary")
            postpone(self._driver, int(is_on))

    def _create_table(self) -> None:
        if not isinstance(self._driver, Sqlite) or has_full_text(self._driver):
            for statement in self._driver.translate("{content_words}").split(";\n"):
                self._run(statement)

    def catch_up(
        self, seconds: float, progress: Progress | None = None, *, wait: bool = False
    ) -> Backlog:
        """Index contents that are not, for about so long; none in a file that cannot be written to
        or, unless it is to wait, while others write. It can be killed at any time, and continues
        where it was."""
        end = time.monotonic() + seconds
        state = self.backlog()
        while state.is_on and state.size and self.is_usable and not self._driver.depth:
            try:
                state = self._index_slice(wait)
            except NOT_NOW:
                break
            if progress:
                progress(state.done, state.until)
            if time.monotonic() > end:
                break
        return state

    def _index_slice(self, wait: bool) -> Backlog:
        with transaction(self._driver, wait=wait):
            state = self.backlog()  # another process may have been faster
            if not (state.is_on and state.size):
                return state
            return self._index(state)

    def _index(self, state: Backlog, *, has_lock: bool = False) -> Backlog:
        """Index the first contents of the backlog, and return the rest of it."""
        rows = self._run(_NEXT, (state.done, state.until, SLICE))
        is_whole = len(rows) < SLICE
        if has_lock:
            near = self._near(rows)
            is_whole, rows = is_whole and len(near) == len(rows), near
        fresh = {blob_id: self._fresh.get(digest) for blob_id, _, digest, _ in rows}
        # An older tract may have indexed them.
        self.table.remove([blob_id for blob_id, data in fresh.items() if data is None])
        for blob_id, codec, *_ in rows:
            if codec != FORGOTTEN:
                data = fresh[blob_id]
                words = self._words(blob_id) if data is None else words_of(text_of(from_json(data)))
                self.table.add(blob_id, words)
        last = rows[-1][0] if rows else state.done
        state = state._replace(done=state.until if is_whole else last)
        _set(self._driver, state)
        return state

    def _near(self, rows: list[Row]) -> list[Row]:
        """What a writer for whom others wait indexes: it stops before a content that it would have
        to download: a search does that. Of others it reads about twice as much as it writes."""
        length = 0
        for number, (_, codec, digest, size) in enumerate(rows):
            if digest not in self._fresh:
                if codec in IN_OBJECTS or length > 2 * GROUP_BYTES:
                    return rows[:number]
                length += size
        return rows

    def _words(self, blob_id: int) -> set[str]:
        """A content that is damaged may have any word: whoever searches reads it."""
        try:
            return self.read_words(blob_id)
        except (CorruptError, *DAMAGE):
            return {UNREADABLE}

    def read_words(self, blob_id: int) -> set[str]:
        """The words of a content as it is stored."""
        try:
            return words_of(text_of(self._contents.value(blob_id)))
        except ForgottenError:
            return set()

    def problems(self) -> Iterator[str]:
        """What the index misses: contents, and words of some of them."""
        state = self.backlog()
        if not state.is_on or self.is_closed:
            return
        stored = self._stored()
        indexed = self.table.keys() if self.is_usable else set[int]()
        lost = [key for key in stored if key not in indexed and not state.done < key <= state.until]
        some = [key for key in stored if key in indexed][:: len(stored) // SAMPLE + 1]
        lost += [key for key in some if not self._is_indexed(key)]
        odd = indexed.difference(stored)
        if lost or odd:
            yield (
                f"the word index misses words of {len(lost)} contents, and has {len(odd)} that are "
                f"not there: {REMEDY}"
            )

    def _is_indexed(self, blob_id: int) -> bool:
        words = sorted(self._words(blob_id))
        some = words[:: len(words) // WORDS + 1]
        return (
            words in ([], [UNREADABLE])
            or self.table.has(blob_id, some)
            or self.table.has(blob_id, [UNREADABLE])  # it is read by every search
        )


def _table_of(driver: Driver) -> _Table:
    return Arrays(driver) if isinstance(driver, QueueDriver) else FullText(driver)


def postpone(driver: Driver, is_on: int = 1) -> None:
    """Have the contents that a database has indexed later. No one else writes meanwhile."""
    [(newest,)] = driver.run("SELECT coalesce(max(id), 0) FROM blobs")
    state = Backlog(is_on, 0, newest if is_on else 0)
    driver.run("DELETE FROM word_index")
    driver.run("INSERT INTO word_index VALUES (?, ?, ?, ?)", (*state, text_sum(*state)))


def begin_groups(driver: Driver) -> None:
    """Have only contents that are written from now on wait for their group, if all are indexed."""
    if isinstance(driver, Sqlite):
        for is_on, done, until, *_ in driver.run(_STATE):
            if is_on and done == until:
                [(newest,)] = driver.run("SELECT coalesce(max(id), 0) FROM blobs")
                _set(driver, Backlog(is_on, newest, newest))


def copy_state(source: Driver, target: Driver) -> None:
    """Have a copy index its contents itself, unless the original has none."""
    is_off = source.run("SELECT is_on FROM word_index") == [(0,)]
    postpone(target, int(not is_off))


def _set(driver: Driver, state: Backlog) -> None:
    sql = "UPDATE word_index SET is_on = ?, done = ?, until = ?, checksum = ?"
    driver.run(sql, (*state, text_sum(*state)))


_ADD_ARRAY = """
INSERT INTO content_words {} ON CONFLICT (blob_id) DO UPDATE SET words = EXCLUDED.words"""

_JOINED = """
SELECT id, string_to_array(words, ' ')
FROM unnest(CAST(? AS BIGINT[]), CAST(? AS TEXT[])) new (id, words)"""

_ALL_WORDS = """
CREATE VIRTUAL TABLE IF NOT EXISTS temp.all_words USING fts5vocab (main, content_words, row)"""

_FILE_SIZE = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"

_STATE = """
SELECT is_on, done, until, checksum, (SELECT coalesce(max(id), 0) FROM blobs) FROM word_index"""

_NEXT = "SELECT id, codec, hash, json_size FROM blobs WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"
