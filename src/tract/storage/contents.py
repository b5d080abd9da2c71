"""Contents: written once, read in full or in parts, and forgotten. Every read is verified."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import count

from tract.errors import CorruptError, ForgottenError
from tract.hashing import from_json
from tract.model import Gist
from tract.storage import codec
from tract.storage.driver import PAGE, Driver
from tract.storage.rows import BlobRow, chunk_checksum, measured, tombstone, verify_blob

BLOB_COLUMNS = ", ".join(BlobRow._fields)


def put_chunks(driver: Driver, blob_id: int, blob: BlobRow, payload: bytes) -> None:
    """Write the parts of a large content."""
    pieces: Iterable[tuple[codec.Piece, int | None]]
    if blob.codec == codec.TEXT_CHUNKED:
        pieces = codec.text_chunks(from_json(payload))
    else:
        pieces = ((piece, None) for piece in codec.chunks(payload))
    for position, (piece, line) in enumerate(pieces):
        checksum = chunk_checksum(blob.hash, position, line, piece)
        driver.insert_rows("chunks", [(blob_id, position, *piece, line, checksum)])


def seal_chunks(driver: Driver) -> None:
    """Add the checksums of chunks that were written without them."""
    sql = "UPDATE chunks SET checksum = ? WHERE blob_id = ? AND position = ?"
    for blob_id, position, line, content, digest, kind in driver.run(_UNSEALED):
        piece = codec.Piece(digest, kind, b"")
        driver.run(sql, (chunk_checksum(content, position, line, piece), blob_id, position))


def erase_content(driver: Driver, blob_id: int) -> None:
    """Replace a content by a tombstone. A row that is damaged loses its texts and stays damaged."""
    driver.run("DELETE FROM chunks WHERE blob_id = ?", (blob_id,))
    try:
        row = tombstone(_blob(driver, blob_id))
    except (CorruptError, *codec.DAMAGE):
        sql = "UPDATE blobs SET payload = NULL, preview = NULL, gist = NULL WHERE id = ?"
        driver.run(sql, (blob_id,))
    else:
        driver.run(REWRITE_BLOB, (*row[1:], None, blob_id))


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


def bind_gists(driver: Driver) -> None:
    """Bind gists to their contents that were written without that. A damaged one stays so."""
    last = 0
    while rows := driver.run(_GISTS, (last, PAGE)):
        for blob_id, digest, gist in rows:
            with suppress(CorruptError):
                values = codec.bound_gist(gist, digest), blob_id
                driver.run("UPDATE blobs SET gist = ? WHERE id = ?", values)
        last = rows[-1][0]


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


def _chunks(driver: Driver, blob_id: int, content: bytes) -> Iterator[bytes]:
    for position in count():
        chunk = _chunk(driver, blob_id, content, position)
        if chunk is None:
            return
        yield chunk[0]


def _chunk(
    driver: Driver, blob_id: int, content: bytes, position: int
) -> tuple[bytes, int | None] | None:
    """The bytes of a chunk of this content, and how many lines end before it."""
    for digest, kind, payload, line, checksum in driver.run(_CHUNK, (blob_id, position)):
        piece = codec.Piece(digest, kind, payload)
        if chunk_checksum(content, position, line, piece) != checksum:
            raise CorruptError(f"chunk {position} of content {content.hex()} is not the right one")
        return codec.unpack(*piece, codec.CHUNK_SIZE), line
    return None


class StoredText:
    """A large text that is read in parts."""

    def __init__(self, driver: Driver, blob_id: int, blob: BlobRow) -> None:
        self._driver, self._blob_id, self._hash = driver, blob_id, blob.hash
        self.byte_size = blob.text_size
        self._known: tuple[int, str, int] | None = None  # the chunk that was read last
        sql = "SELECT max(position) FROM chunks WHERE blob_id = ?"
        self._last = self._position(sql, blob_id)
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
        position = self._position(sql, self._blob_id, number - 1)
        text, line = self._chunk(position)
        place = 0
        for _ in range(number - 1 - line):
            place = text.find("\n", place) + 1
            if not place:
                if position != self._last:
                    raise CorruptError(f"content {self._hash.hex()}: line {number} is not found")
                return self.size
        return position * codec.TEXT_STRIDE + place

    def line_at(self, position: int) -> int:
        """The number of the line to which the character at a position belongs."""
        text, line = self._chunk(min(position // codec.TEXT_STRIDE, self._last))
        return line + text.count("\n", 0, position % codec.TEXT_STRIDE) + 1

    def _position(self, sql: str, *values: int) -> int:
        [(position,)] = self._driver.run(sql, values)
        if not isinstance(position, int):
            raise CorruptError(f"content {self._hash.hex()} has lost its chunks")
        return position

    def _chunk(self, position: int) -> tuple[str, int]:
        """The characters of a chunk, and how many lines end before it."""
        if self._known is None or self._known[0] != position:
            self._known = (position, *self._read_chunk(position))
        return self._known[1:]

    def _read_chunk(self, position: int) -> tuple[str, int]:
        data, line = _chunk(self._driver, self._blob_id, self._hash, position) or (b"", None)
        if line is None:
            raise CorruptError(f"a chunk is missing: {position} of content {self._hash.hex()}")
        opening, closing = b"" if position == 0 else b'"', b"" if position == self._last else b'"'
        try:
            return str(from_json(opening + data + closing)), line
        except ValueError as error:  # the chunk after it is missing
            raise CorruptError(f"content {self._hash.hex()} ends too early") from error


class StoredContent:
    """A content that is sent in pieces: as its JSON, or, if it is a text, as its characters."""

    def __init__(self, driver: Driver, blob_id: int, blob: BlobRow) -> None:
        self.hash = blob.hash
        self.json_size = blob.json_size
        self._driver, self._blob_id, self._blob = driver, blob_id, blob
        self._is_chunked = blob.codec in (codec.CHUNKED, codec.TEXT_CHUNKED)
        self._data = b"" if self._is_chunked else _unpacked(blob)
        self.is_text = blob.codec == codec.TEXT_CHUNKED or self._data[:1] == b'"'

    def pieces(self) -> Iterator[bytes]:
        """The bytes of its JSON."""
        if self._is_chunked:
            return _chunks(self._driver, self._blob_id, self.hash)
        return iter((self._data,))

    @property
    def size(self) -> int:
        """The bytes of `raw_pieces`."""
        return self._blob.text_size if self.is_text else self.json_size

    def raw_pieces(self) -> Iterator[bytes]:
        """The bytes of the text itself in UTF-8; of any other content, of its JSON."""
        if not self.is_text:
            yield from self.pieces()
        elif not self._is_chunked:
            yield from_json(self._data).encode("utf-8", "surrogatepass")
        else:
            text = StoredText(self._driver, self._blob_id, self._blob)
            for start in range(0, text.size, codec.TEXT_STRIDE):
                part = text.read(start, start + codec.TEXT_STRIDE)
                yield part.encode("utf-8", "surrogatepass")


def _unpacked(blob: BlobRow) -> bytes:
    return codec.unpack(blob.hash, blob.codec, blob.payload, blob.json_size)


class Contents:
    """The contents of a database. Whatever is read is verified."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def read(self, blob_id: int) -> bytes:
        """The full content; a large one chunk by chunk."""
        blob = _readable_blob(self._driver, blob_id)
        if blob.codec in (codec.CHUNKED, codec.TEXT_CHUNKED):
            data = b"".join(_chunks(self._driver, blob_id, blob.hash))
            return codec.unpack(blob.hash, codec.PLAIN, data, blob.json_size)
        return _unpacked(blob)

    def open(self, blob_id: int) -> StoredContent:
        """A content to be sent in pieces."""
        return StoredContent(self._driver, blob_id, _readable_blob(self._driver, blob_id))

    def text(self, blob_id: int) -> StoredText | None:
        """A text that is large enough to be read in parts; None for any other content."""
        blob = _readable_blob(self._driver, blob_id)
        is_text = blob.codec == codec.TEXT_CHUNKED
        return StoredText(self._driver, blob_id, blob) if is_text else None

    def add_gist(self, blob_id: int, gist: Gist) -> None:
        """Add the gist of a content that was written without one."""
        sql = "UPDATE blobs SET gist = ? WHERE id = ? AND gist IS NULL AND codec <> ?"
        for (digest,) in self._driver.run("SELECT hash FROM blobs WHERE id = ?", (blob_id,)):
            stored = codec.stored_gist(gist, digest)
            self._driver.run(sql, (stored, blob_id, codec.FORGOTTEN))

    def gists(self, blob_ids: Sequence[int]) -> dict[int, Gist]:
        """What is shown in the place of contents, as far as it was written with them."""
        sql = "SELECT id, gist, hash FROM blobs WHERE gist IS NOT NULL AND id IN"
        return {
            blob_id: codec.gist_of(gist, digest)
            for blob_id, gist, digest in self._driver.run_in(sql, blob_ids)
        }

    def forgotten(self, blob_ids: Sequence[int]) -> set[int]:
        """Which of these contents were forgotten."""
        forgotten = set()
        for blob_id, *columns in self._driver.run_in(f"{WITHOUT_PAYLOAD} WHERE id IN", blob_ids):
            blob = BlobRow._make(columns)
            verify_blob(blob)
            if blob.codec == codec.FORGOTTEN:
                forgotten.add(blob_id)
        return forgotten


WITHOUT_PAYLOAD = f"SELECT id, {BLOB_COLUMNS.replace('payload', 'NULL')} FROM blobs"

_GISTS = """
SELECT id, hash, gist FROM blobs WHERE gist IS NOT NULL AND id > ? ORDER BY id LIMIT ?"""

_CHUNK = """
SELECT hash, codec, payload, first_line, checksum FROM chunks WHERE blob_id = ? AND position = ?"""

_UNSEALED = """
SELECT c.blob_id, c.position, c.first_line, b.hash, c.hash, c.codec
FROM chunks c JOIN blobs b ON b.id = c.blob_id"""

REWRITE_BLOB = f"UPDATE blobs SET {' = ?, '.join(BlobRow._fields[1:])} = ?, gist = ? WHERE id = ?"
