"""The commits of a batch that wait, with their contents, until they are written as one page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tract.errors import BusyError
from tract.model import Draft, Link
from tract.storage.codec import CHUNKED, FORGOTTEN, IN_OBJECTS, TEXT_CHUNKED, stored_gist
from tract.storage.contents import ADD_GIST, BLOB_COLUMNS, WITHOUT_PAYLOAD
from tract.storage.driver import PAGE
from tract.storage.queue import QueueDriver
from tract.storage.rows import BlobRow, CommitRow, verify_blob
from tract.storage.word_index import WordIndex

PAGE_BYTES = 4_000_000
"""Contents that wait have at most so many bytes, and one more content."""
IN_PARTS = {CHUNKED, TEXT_CHUNKED, *IN_OBJECTS}
"""Contents that are more than one row."""


FIRST_LOOKUPS = 16
"""Contents that are looked up one by one, before it is tried to read the hashes of all."""
HASHES_PER_LOOKUP, MAX_HASHES = 64, 100_000
"""Hashes that are read in the time of a lookup, and at most: they stay in memory."""


class NewContent(NamedTuple):
    """A content that is not stored yet."""

    blob: BlobRow
    gist: bytes | None
    payload: bytes


class Placed(NamedTuple):
    """The content of a commit."""

    key: int | None
    """None if it waits."""
    blob: BlobRow
    """Its row as it is stored, or will be."""
    new: NewContent | None


class Waiting(NamedTuple):
    """A commit that has its key, and is not sent yet."""

    commit_id: int
    row: CommitRow
    """Without the key of its content, if that waits too."""
    active: int | None
    links: tuple[Link, ...]
    content: NewContent | None


class Stored:
    """Which contents a database may have already. In a transaction that looks up many of them, and
    where there are not many more, all of their hashes are read: then what is new is known."""

    def __init__(self, driver: QueueDriver) -> None:
        self._driver = driver
        self._hashes: set[bytes] = set()
        self._lookups, self._due = 0, FIRST_LOOKUPS

    def may_have(self, digest: bytes) -> bool:
        """False only if no content had this hash when they were read, or was written since by the
        same transaction."""
        if not self._hashes:
            self._lookups += 1
            if self._lookups == self._due:
                self._due *= 4
                most = min(self._lookups * HASHES_PER_LOOKUP, MAX_HASHES)
                self._hashes = {digest for (digest,) in self._driver.look(_ALL_HASHES, (most,))}
        return not self._hashes or digest in self._hashes

    def add(self, digest: bytes) -> None:
        """Have a content that was written."""
        if self._hashes:
            self._hashes.add(digest)


class Page:
    """Commits that follow each other, all but the first of which need no answer of the database:
    nothing equal can follow a commit that the same transaction has just written."""

    def __init__(self, driver: QueueDriver, words: WordIndex) -> None:
        self._driver, self._words = driver, words
        self.clear()

    def clear(self) -> None:
        """Begin a transaction."""
        self._keys: list[int] = []  # the next one last
        self._count = 1
        self._contents: dict[bytes, NewContent] = {}
        self._gists: dict[int, bytes] = {}  # of contents that are stored, perhaps without them
        self._bytes = 0
        self.stored = Stored(self._driver)

    def place(self, blob: BlobRow, draft: Draft) -> Placed | None:
        """Where a content is, or that it waits; None if it cannot wait: it has parts, or it was
        forgotten."""
        if blob.codec in IN_PARTS:
            return None
        gist = stored_gist(draft.gist, blob.hash) if draft.gist else None
        first = self._contents.get(blob.hash)
        if first:
            if gist and not first.gist:  # until now, it was to be shown in full
                first = self._contents[blob.hash] = first._replace(gist=gist)
            return Placed(None, first.blob, first)
        for blob_id, known in self._find(blob.hash) if self.stored.may_have(blob.hash) else ():
            if known.codec == FORGOTTEN:
                return None
            if gist:
                self._gists[blob_id] = gist
            return Placed(blob_id, known, None)
        return Placed(None, blob, NewContent(blob, gist, draft.payload or b""))

    def _find(self, digest: bytes) -> Iterator[tuple[int, BlobRow]]:
        for blob_id, *columns in self._driver.look(f"{WITHOUT_PAYLOAD} WHERE hash = ?", (digest,)):
            known = BlobRow._make(columns)
            verify_blob(known)
            yield blob_id, known

    def add(
        self,
        row: CommitRow,
        active: int | None,
        links: tuple[Link, ...],
        content: NewContent | None,
    ) -> int:
        """Have a commit written with the page. Returns its key, which is larger than that of its
        parent."""
        if content and content.blob.hash not in self._contents:
            self._contents[content.blob.hash] = content
            self._bytes += len(content.payload)
        commit_id = self._next_key(row.parent_id or 0)
        self._driver.keep(Waiting(commit_id, row, active, links, content), self._write)
        if self._bytes > PAGE_BYTES:
            self._driver.send()
        return commit_id

    def _next_key(self, after: int) -> int:
        """As many keys at once as were used before: at most half of them are left over."""
        if not self._keys or self._keys[-1] <= after:
            self._keys = self._driver.new_keys("commits", min(self._count, PAGE))[::-1]
        self._count += 1
        return self._keys.pop()

    def _write(self, items: list[Waiting]) -> None:
        gists, self._gists = self._gists, {}
        self._contents, self._bytes = {}, 0
        contents = {item.content.blob.hash: item.content for item in items if item.content}
        keys = self._put(contents) if contents else {}
        rows = _values(items, keys, self._active_of(items[0].row.parent_id))
        self._driver.insert_rows(_WITH_KEY, list(rows))
        links = [row for item in items for row in link_rows(item.commit_id, item.links)]
        self._driver.insert_rows("commit_links", links)
        if gists:
            self._driver.run_many(ADD_GIST, [(gist, key) for key, gist in gists.items()])

    def _active_of(self, parent_id: int | None) -> int | None:
        """The toolset that is in use at a commit that was sent."""
        sql = "SELECT active_toolset_id FROM commits WHERE id = ?"
        return next((active for (active,) in self._driver.look(sql, (parent_id,))), None)

    def _put(self, contents: dict[bytes, NewContent]) -> dict[bytes, int]:
        """Write contents, and return their keys by hash."""
        rows = [(*content.blob, content.gist) for content in contents.values()]
        keys = dict[bytes, int](self._driver.run_columns(_INSERT_BLOBS, rows))
        new = [(key, digest, contents[digest].payload) for digest, key in keys.items()]
        if new:
            self._words.add_all(new)
        for digest in contents.keys() - keys.keys():
            keys[digest] = self._key_of(contents[digest].blob)
        for digest in contents:
            self.stored.add(digest)
        return keys

    def _key_of(self, blob: BlobRow) -> int:
        """The key of a content that another writer has stored meanwhile."""
        for blob_id, known in self._find(blob.hash):
            counts = known.token_count, known.text_size
            if known.codec != FORGOTTEN and counts == (blob.token_count, blob.text_size):
                return blob_id
        raise BusyError(
            "another process has stored the same content meanwhile, and counted it differently; "
            "nothing was written: repeat it"
        )


def link_rows(commit_id: int, links: Sequence[Link]) -> list[Sequence[object]]:
    """The rows of the links of a commit."""
    return [
        (commit_id, position, link.kind, link.target_id, link.value)
        for position, link in enumerate(links)
    ]


def _values(
    items: Sequence[Waiting], keys: dict[bytes, int], active: int | None
) -> Iterator[Sequence[object]]:
    """Rows of commits that follow each other, the first one a commit with this active toolset."""
    for item in items:
        active = active if item.active is None else item.active
        row = item.row
        if item.content:
            row = row._replace(blob_id=keys[item.content.blob.hash])
        yield item.commit_id, *row, active


_ALL_HASHES = "SELECT hash FROM blobs WHERE (SELECT max(id) FROM blobs) <= ?"

_COLUMNS = ", ".join(CommitRow._fields)
_MARKS = ", ".join("?" * len(CommitRow._fields))
_ACTIVE = "coalesce(?, (SELECT active_toolset_id FROM commits WHERE id = ?))"

INSERT_COMMIT = f"""
INSERT INTO commits ({_COLUMNS}, active_toolset_id) VALUES ({_MARKS}, {_ACTIVE})
ON CONFLICT (dialog_id, hash) DO NOTHING"""

_WITH_KEY = f"commits (id, {_COLUMNS}, active_toolset_id)"

_BLOB_TYPES = {"gist": "BYTEA", "hash": "BYTEA", "payload": "BYTEA"} | dict.fromkeys(
    ("token_source", "preview"), "TEXT"
)
_ARRAYS = ", ".join(
    f"CAST(? AS {_BLOB_TYPES.get(column, 'BIGINT')}[])" for column in (*BlobRow._fields, "gist")
)
_INSERT_BLOBS = f"""
INSERT INTO blobs ({BLOB_COLUMNS}, gist) SELECT * FROM unnest({_ARRAYS})
ON CONFLICT (hash) DO NOTHING RETURNING hash, id"""
