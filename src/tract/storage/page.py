"""The commits of a batch that wait, with their contents, until they are written as one page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tract.errors import BusyError
from tract.model import Draft, Link
from tract.storage.codec import CHUNKED, FORGOTTEN, IN_OBJECTS, TEXT_CHUNKED, stored_gist
from tract.storage.contents import ADD_GIST, INSERT_BLOB, WITHOUT_PAYLOAD
from tract.storage.driver import PAGE
from tract.storage.queue import QueueDriver
from tract.storage.rows import BlobRow, CommitRow, verify_blob
from tract.storage.word_index import WordIndex

PAGE_BYTES = 4_000_000
"""Contents that wait have at most so many bytes, and one more content."""
IN_PARTS = {CHUNKED, TEXT_CHUNKED, *IN_OBJECTS}
"""Contents that are more than one row."""


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
        for blob_id, known in self._find(blob.hash):
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
        keys = self._put(list(contents.values()))
        self._driver.run_many(INSERT_WITH_KEY, [_values(item, keys) for item in items])
        links = [row for item in items for row in link_rows(item.commit_id, item.links)]
        self._driver.insert_rows("commit_links", links)
        if gists:
            self._driver.run_many(ADD_GIST, [(gist, key) for key, gist in gists.items()])

    def _put(self, contents: Sequence[NewContent]) -> dict[bytes, int]:
        """Write contents, and return their keys by hash."""
        rows = [(*content.blob, content.gist) for content in contents]
        inserted = self._driver.insert_many(INSERT_BLOB, rows) if rows else []
        keys, new = dict[bytes, int](), list[tuple[int, bytes, bytes]]()
        for content, key in zip(contents, inserted, strict=True):
            digest = content.blob.hash
            keys[digest] = self._key_of(content.blob) if key is None else key
            if key is not None:
                new.append((key, digest, content.payload))
        if new:
            self._words.add_all(new)
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


def _values(item: Waiting, keys: dict[bytes, int]) -> Sequence[object]:
    row = item.row
    if item.content:
        row = row._replace(blob_id=keys[item.content.blob.hash])
    return item.commit_id, *row, item.active, row.parent_id


_COLUMNS = ", ".join(CommitRow._fields)
_MARKS = ", ".join("?" * len(CommitRow._fields))
_ACTIVE = "coalesce(?, (SELECT active_toolset_id FROM commits WHERE id = ?))"

INSERT_COMMIT = f"""
INSERT INTO commits ({_COLUMNS}, active_toolset_id) VALUES ({_MARKS}, {_ACTIVE})
ON CONFLICT (dialog_id, hash) DO NOTHING"""

INSERT_WITH_KEY = f"""
INSERT INTO commits (id, {_COLUMNS}, active_toolset_id) VALUES (?, {_MARKS}, {_ACTIVE})"""
