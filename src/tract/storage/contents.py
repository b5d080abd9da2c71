"""Contents: written once, read in full or in parts, and forgotten. Every read is verified."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count

from tract.errors import CorruptError, ForgottenError
from tract.hashing import from_json
from tract.model import Gist
from tract.storage import codec
from tract.storage.driver import Driver
from tract.storage.rows import BlobRow, measured, tombstone, verify_blob

BLOB_COLUMNS = ", ".join(BlobRow._fields)


def put_chunks(driver: Driver, blob_id: int, blob: BlobRow, payload: bytes) -> None:
    """Write the parts of a large content."""
    pieces: Iterable[tuple[codec.Piece, int | None]]
    if blob.codec == codec.TEXT_CHUNKED:
        pieces = codec.text_chunks(from_json(payload))
    else:
        pieces = ((piece, None) for piece in codec.chunks(payload))
    for position, (piece, line) in enumerate(pieces):
        driver.run(
            "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?)", (blob_id, position, *piece, line)
        )


def erase_content(driver: Driver, blob_id: int) -> None:
    """Replace a content by a tombstone."""
    driver.run("DELETE FROM chunks WHERE blob_id = ?", (blob_id,))
    driver.run(REWRITE_BLOB, (*tombstone(_blob(driver, blob_id))[1:], None, blob_id))


def is_left(driver: Driver, digest: bytes, left: bytes) -> bool:
    """Whether something was erased of what has this hash, and the rest has the other one."""
    sql = "SELECT 1 FROM erased WHERE hash = ? AND left_hash = ?"
    return bool(driver.run(sql, (digest, left)))


def keep_left(driver: Driver, digest: bytes, left: bytes) -> None:
    """Have the rest of what has this hash verified by a hash of its own."""
    if left != digest:
        driver.run("INSERT INTO erased VALUES (?, ?) ON CONFLICT DO NOTHING", (digest, left))


def measure_contents(driver: Driver) -> None:
    """Add the sizes of their texts to contents that have none. What is damaged stays as it is."""
    sql = "SELECT blob_id FROM commits WHERE role {} 'tool'"
    others, results = ({row[0] for row in driver.run(sql.format(sign))} for sign in ("<>", "="))
    contents = Contents(driver)
    for (blob_id,) in driver.run("SELECT id FROM blobs ORDER BY id"):
        role = "user" if blob_id in others and blob_id not in results else "tool"
        try:
            row = measured(_blob(driver, blob_id), role, contents.read(blob_id))
        except (CorruptError, ForgottenError, *codec.DAMAGE):
            continue
        values = row.text_size, row.checksum, blob_id
        driver.run("UPDATE blobs SET text_size = ?, checksum = ? WHERE id = ?", values)


def _blob(driver: Driver, blob_id: int) -> BlobRow:
    for row in driver.run(f"SELECT {BLOB_COLUMNS} FROM blobs WHERE id = ?", (blob_id,)):
        blob = BlobRow._make(row)
        verify_blob(blob)
        return blob
    raise CorruptError(f"a content is missing: key {blob_id}")


def _readable_blob(driver: Driver, blob_id: int) -> BlobRow:
    blob = _blob(driver, blob_id)
    if blob.codec == codec.FORGOTTEN:
        raise ForgottenError(f"content {blob.hash.hex()} was forgotten")
    return blob


def _chunks(driver: Driver, blob_id: int) -> Iterator[bytes]:
    for position in count():
        rows = driver.run(_CHUNK, (blob_id, position))
        if not rows:
            return
        digest, kind, payload, _ = rows[0]
        yield codec.unpack(digest, kind, payload, codec.CHUNK_SIZE)


class StoredText:
    """A large text that is read in parts."""

    def __init__(self, driver: Driver, blob_id: int, byte_size: int) -> None:
        self._driver, self._blob_id, self.byte_size = driver, blob_id, byte_size
        self._known: tuple[int, str, int] | None = None  # the chunk that was read last
        sql = "SELECT max(position) FROM chunks WHERE blob_id = ?"
        self._last = int(driver.run(sql, (blob_id,))[0][0])
        text, line = self._chunk(self._last)
        self.size = self._last * codec.TEXT_STRIDE + len(text)
        self.line_count = line + text.count("\n") + (not text.endswith("\n"))

    def read(self, start: int, end: int) -> str:
        """The characters from `start` to `end`."""
        end = min(end, self.size)
        if start >= end:
            return ""
        first = start // codec.TEXT_STRIDE
        texts = [self._chunk(p)[0] for p in range(first, (end - 1) // codec.TEXT_STRIDE + 1)]
        return "".join(texts)[start - first * codec.TEXT_STRIDE : end - first * codec.TEXT_STRIDE]

    def line_start(self, number: int) -> int:
        """Where a line starts, counted from 1; the end for a line after the last."""
        if number <= 1:
            return 0
        sql = "SELECT max(position) FROM chunks WHERE blob_id = ? AND first_line < ?"
        position = int(self._driver.run(sql, (self._blob_id, number - 1))[0][0])
        text, line = self._chunk(position)
        place = 0
        for _ in range(number - 1 - line):
            place = text.find("\n", place) + 1
            if not place:
                return self.size
        return position * codec.TEXT_STRIDE + place

    def line_at(self, position: int) -> int:
        """The number of the line to which the character at a position belongs."""
        text, line = self._chunk(min(position // codec.TEXT_STRIDE, self._last))
        return line + text.count("\n", 0, position % codec.TEXT_STRIDE) + 1

    def _chunk(self, position: int) -> tuple[str, int]:
        """The characters of a chunk, and how many lines end before it."""
        if self._known is None or self._known[0] != position:
            self._known = (position, *self._read_chunk(position))
        return self._known[1:]

    def _read_chunk(self, position: int) -> tuple[str, int]:
        rows = self._driver.run(_CHUNK, (self._blob_id, position))
        if not rows or not isinstance(rows[0][3], int):
            raise CorruptError(f"a chunk is missing: {position} of content {self._blob_id}")
        digest, kind, payload, line = rows[0]
        data = codec.unpack(digest, kind, payload, codec.CHUNK_SIZE)
        opening, closing = b"" if position == 0 else b'"', b"" if position == self._last else b'"'
        text = from_json(opening + data + closing)
        return str(text), line


class Contents:
    """The contents of a database. Whatever is read is verified."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def read(self, blob_id: int) -> bytes:
        """The full content; a large one chunk by chunk."""
        blob = _readable_blob(self._driver, blob_id)
        if blob.codec in (codec.CHUNKED, codec.TEXT_CHUNKED):
            data = b"".join(_chunks(self._driver, blob_id))
            return codec.unpack(blob.hash, codec.PLAIN, data, blob.byte_size)
        return codec.unpack(blob.hash, blob.codec, blob.payload, blob.byte_size)

    def text(self, blob_id: int) -> StoredText | None:
        """A text that is large enough to be read in parts; None for any other content."""
        blob = _readable_blob(self._driver, blob_id)
        is_text = blob.codec == codec.TEXT_CHUNKED
        return StoredText(self._driver, blob_id, blob.text_size) if is_text else None

    def add_gist(self, blob_id: int, gist: Gist) -> None:
        """Add the gist of a content that was written without one."""
        sql = "UPDATE blobs SET gist = ? WHERE id = ? AND gist IS NULL AND codec <> ?"
        self._driver.run(sql, (codec.stored_gist(gist), blob_id, codec.FORGOTTEN))

    def gists(self, blob_ids: Sequence[int]) -> dict[int, Gist]:
        """What is shown in the place of contents, as far as it was written with them."""
        sql = "SELECT id, gist FROM blobs WHERE gist IS NOT NULL AND id IN"
        return {
            blob_id: codec.gist_of(gist) for blob_id, gist in self._driver.run_in(sql, blob_ids)
        }

    def forgotten(self, blob_ids: Sequence[int]) -> set[int]:
        """Which of these contents were forgotten."""
        sql = f"SELECT id FROM blobs WHERE codec = {codec.FORGOTTEN} AND id IN"
        return {blob_id for (blob_id,) in self._driver.run_in(sql, blob_ids)}


_CHUNK = "SELECT hash, codec, payload, first_line FROM chunks WHERE blob_id = ? AND position = ?"

REWRITE_BLOB = f"UPDATE blobs SET {' = ?, '.join(BlobRow._fields[1:])} = ?, gist = ? WHERE id = ?"
