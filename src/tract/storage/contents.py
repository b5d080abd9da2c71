"""Contents: written once, read in full or in parts, and forgotten. Every read is verified."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import count, pairwise
from typing import NamedTuple

from tract.errors import CorruptError, ForgottenError, ObjectStoreError
from tract.hashing import Json, from_json
from tract.model import Gist
from tract.storage import codec
from tract.storage.driver import PAGE, Driver, Row, marks
from tract.storage.objects import Objects
from tract.storage.rows import BlobRow, chunk_checksum, measured, pulled, tombstone, verify_blob

BLOB_COLUMNS = ", ".join(BlobRow._fields)
PORTION = 1 << 20
"""Bytes of contents that are read together."""


def put_chunks(driver: Driver, blob_id: int, blob: BlobRow, payload: bytes) -> None:
    """Write the parts of a large content, if it has them."""
    rows = (
        (blob_id, position, *piece, line, chunk_checksum(blob.hash, position, line, piece))
        for position, (piece, line) in enumerate(_pieces(blob.codec, payload))
    )
    if blob.codec == codec.TEXT_OBJECT:
        driver.insert_rows("chunks", list(rows))
    else:  # one by one: the payloads are large
        for row in rows:
            driver.insert_rows("chunks", [row])


def _pieces(kind: int, payload: bytes) -> Iterable[tuple[codec.Piece, int | None]]:
    match kind:
        case codec.CHUNKED:
            return ((piece, None) for piece in codec.chunks(payload))
        case codec.TEXT_CHUNKED:
            return codec.text_chunks(from_json(payload))
        case codec.TEXT_OBJECT:
            return codec.text_extents(from_json(payload))
    return ()


def pull_objects(driver: Driver, objects: Objects | None) -> None:
    """Store the contents that are objects in the database instead. Runs inside a transaction."""
    contents = Contents(driver, objects)
    for (blob_id,) in driver.run(f"SELECT id FROM blobs WHERE codec IN {codec.IN_OBJECTS}"):
        data = contents.read(blob_id)
        row = pulled(_blob(driver, blob_id), data)
        driver.run("DELETE FROM chunks WHERE blob_id = ?", (blob_id,))
        values = row.codec, row.payload, row.checksum, blob_id
        driver.run("UPDATE blobs SET codec = ?, payload = ?, checksum = ? WHERE id = ?", values)
        put_chunks(driver, blob_id, row, data)


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
    """Store gists as they are read: bound to their contents, and not compressed. A damaged one
    stays so."""
    last = 0
    while rows := driver.run(_GISTS, (last, PAGE)):
        for blob_id, digest, gist in rows:
            with suppress(CorruptError):
                values = codec.bound_gist(gist, digest), blob_id
                driver.run("UPDATE blobs SET gist = ? WHERE id = ?", values)
        last = rows[-1][0]


def seal_frames(driver: Driver) -> None:
    """Seal compressed texts where texts were sealed. A damaged one stays so."""
    last = 0
    while rows := driver.run(_TEXTS, (codec.TEXT, last, PAGE)):
        for blob_id, digest, payload, json_size in rows:
            with suppress(CorruptError, *codec.DAMAGE):
                seal = sha256(digest + codec.inflate(payload, json_size)).digest()
                if seal == payload[-codec.SEAL :]:
                    values = codec.sealed(payload[: -codec.SEAL], digest), blob_id
                    driver.run("UPDATE blobs SET payload = ? WHERE id = ?", values)
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


class _Source(NamedTuple):
    """Where one content is read from."""

    driver: Driver
    objects: Objects | None
    blob_id: int
    hash: bytes

    def chunks(self) -> Iterator[bytes]:
        """The bytes of all chunks, of which one at a time is in memory."""
        for position in count():
            parts = self.parts(position, position)
            if not parts:
                return
            yield parts[0][0]

    def parts(self, first: int, last: int) -> list[tuple[bytes, int]]:
        """The bytes of chunks, and how many lines end before each; fewer if one is missing."""
        pieces, lines = list[codec.Piece](), list[int]()
        for position, *row in self.driver.run(_CHUNKS, (self.blob_id, first, last)):
            if position == first + len(pieces):
                pieces.append(self._piece(position, *row))
                lines.append(row[3])
        if pieces and pieces[0].codec == codec.OBJECT:
            pieces = self._fetch(pieces)
        return [
            (codec.unpack(*piece, codec.CHUNK_SIZE), line)
            for piece, line in zip(pieces, lines, strict=True)
        ]

    def _piece(
        self, position: int, digest: bytes, kind: int, payload: bytes, line: int, checksum: int
    ) -> codec.Piece:
        piece = codec.Piece(digest, kind, payload)
        if chunk_checksum(self.hash, position, line, piece) != checksum:
            name = self.hash.hex()
            raise CorruptError(f"chunk {position} of content {name} is not the right one")
        return piece

    def _fetch(self, pieces: Sequence[codec.Piece]) -> list[codec.Piece]:
        """Neighbouring chunks that are parts of an object, with their bytes."""
        extents = [codec.extent(piece.payload) for piece in pieces]
        if any(left[1] != right[0] for left, right in pairwise(extents)):
            raise CorruptError(f"the chunks of content {self.hash.hex()} are not neighbours")
        begin, end = extents[0][0], extents[-1][1]
        try:
            data = self._opened().read_range(self.hash, begin, end)
        except CorruptError:
            _readable_blob(self.driver, self.blob_id)  # another process may have forgotten it
            raise
        return [
            piece._replace(codec=codec.PLAIN, payload=data[start - begin : stop - begin])
            for piece, (start, stop) in zip(pieces, extents, strict=True)
        ]

    def object(self, is_text: bool) -> bytes:
        """The bytes of an object. The chunks of a text must be its parts."""
        try:
            data = self._opened().read(self.hash)
        except CorruptError:
            _readable_blob(self.driver, self.blob_id)
            raise
        end = 0
        for position, *row in self.driver.run(_CHUNKS, (self.blob_id, 0, _LAST)):
            piece = self._piece(position, *row)
            start, stop = codec.extent(piece.payload)
            codec.unpack(piece.hash, codec.PLAIN, data[start:stop], stop - start)
            end = stop if start == end else -1
        if is_text and end != len(data):
            raise CorruptError(f"content {self.hash.hex()} has lost its chunks")
        return data

    def _opened(self) -> Objects:
        if self.objects is None:
            raise ObjectStoreError(
                f"content {self.hash.hex()} is in an object store: open the database with "
                "objects=URL (the command: --objects or TRACT_OBJECTS)"
            )
        return self.objects


class StoredText:
    """A large text that is read in parts."""

    def __init__(self, source: _Source, blob: BlobRow) -> None:
        self._source, self._hash = source, blob.hash
        self.byte_size = blob.text_size
        self._known: tuple[int, str, int] | None = None  # the chunk that was read last
        sql = "SELECT max(position) FROM chunks WHERE blob_id = ?"
        self._last = self._position(sql, source.blob_id)
        text, line = self._chunk(self._last)
        self.size = self._last * codec.TEXT_STRIDE + len(text)
        self.line_count = line + text.count("\n") + (not text.endswith("\n"))

    def read(self, start: int, end: int) -> str:
        """The characters from `start` to `end`."""
        end = min(end, self.size)
        if start >= end:
            return ""
        first = start // codec.TEXT_STRIDE
        last = (end - 1) // codec.TEXT_STRIDE
        text = self._chunk(first)[0]
        if first < last:
            rest = self._chunks(first + 1, last)
            self._known = (last, *rest[-1])  # the next read may begin with it
            text += "".join(text for text, _ in rest)
        return text[start - first * codec.TEXT_STRIDE : end - first * codec.TEXT_STRIDE]

    def line_start(self, number: int) -> int:
        """Where a line starts, counted from 1; the end for a line after the last."""
        if number <= 1:
            return 0
        sql = "SELECT max(position) FROM chunks WHERE blob_id = ? AND first_line < ?"
        position = self._position(sql, self._source.blob_id, number - 1)
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
        [(position,)] = self._source.driver.run(sql, values)
        if not isinstance(position, int):
            raise CorruptError(f"content {self._hash.hex()} has lost its chunks")
        return position

    def _chunk(self, position: int) -> tuple[str, int]:
        """The characters of a chunk, and how many lines end before it."""
        if self._known is None or self._known[0] != position:
            self._known = (position, *self._chunks(position, position)[0])
        return self._known[1:]

    def _chunks(self, first: int, last: int) -> list[tuple[str, int]]:
        parts = self._source.parts(first, last)
        if len(parts) <= last - first:
            missing = first + len(parts)
            raise CorruptError(f"a chunk is missing: {missing} of content {self._hash.hex()}")
        return [
            (self._text(position, data), line) for position, (data, line) in enumerate(parts, first)
        ]

    def _text(self, position: int, data: bytes) -> str:
        opening, closing = b"" if position == 0 else b'"', b"" if position == self._last else b'"'
        try:
            return str(from_json(opening + data + closing))
        except ValueError as error:  # the chunk after it is missing
            raise CorruptError(f"content {self._hash.hex()} ends too early") from error


class ShortContent:
    """A content in memory, to be sent as its JSON, or, if it is a text, as its characters."""

    def __init__(self, data: bytes, digest: bytes, text_size: int) -> None:
        self.hash, self.json_size = digest, len(data)
        self.is_text = data[:1] == b'"'
        self.size = text_size if self.is_text else len(data)
        """The bytes of `raw_pieces`."""
        self._data = data

    def pieces(self) -> Iterator[bytes]:
        """The bytes of its JSON."""
        yield self._data

    def raw_pieces(self) -> Iterator[bytes]:
        """The bytes of the text itself in UTF-8; of any other content, of its JSON."""
        text = from_json(self._data).encode("utf-8", "surrogatepass") if self.is_text else None
        yield self._data if text is None else text


class LongContent:
    """The same for a content that is stored in chunks, and sent chunk by chunk."""

    def __init__(self, source: _Source, blob: BlobRow) -> None:
        self.hash, self.json_size = blob.hash, blob.json_size
        self.is_text = blob.codec in (codec.TEXT_CHUNKED, codec.TEXT_OBJECT)
        self.size = blob.text_size if self.is_text else blob.json_size
        self._source, self._blob = source, blob

    def pieces(self) -> Iterator[bytes]:
        return self._source.chunks()

    def raw_pieces(self) -> Iterator[bytes]:
        if not self.is_text:
            yield from self.pieces()
            return
        text = StoredText(self._source, self._blob)
        for start in range(0, text.size, codec.TEXT_STRIDE):
            yield text.read(start, start + codec.TEXT_STRIDE).encode("utf-8", "surrogatepass")


def _unpacked(source: _Source, blob: BlobRow) -> bytes:
    """The full content; a large one chunk by chunk, or as one object."""
    if blob.codec in (codec.CHUNKED, codec.TEXT_CHUNKED):
        data = b"".join(source.chunks())
    elif blob.codec in codec.IN_OBJECTS:
        data = source.object(blob.codec == codec.TEXT_OBJECT)
    else:
        return codec.unpack(blob.hash, blob.codec, blob.payload, blob.json_size)
    return codec.unpack(blob.hash, codec.PLAIN, data, blob.json_size)


class Contents:
    """The contents of a database. Whatever is read is verified."""

    def __init__(self, driver: Driver, objects: Objects | None = None) -> None:
        self._driver, self._objects = driver, objects
        self.has_objects = objects is not None

    def read(self, blob_id: int) -> bytes:
        """The full content as JSON."""
        return _unpacked(*self._find(blob_id))

    def value(self, blob_id: int) -> Json:
        """The full content itself."""
        source, blob = self._find(blob_id)
        if blob.codec == codec.TEXT:
            return codec.unpack_text(blob.hash, blob.payload, blob.json_size)
        return from_json(_unpacked(source, blob))

    def values(self, sizes: Mapping[int, int]) -> Iterator[tuple[int, Json]]:
        """The full contents with these keys, each with its size, without forgotten ones."""
        for keys in _portions(sizes):
            rows = self._driver.run(f"{_PAYLOADS} {marks(keys)}", keys)
            opened = _opened(rows)
            yield from opened.items()
            for blob_id in set(keys) - opened.keys():
                with suppress(ForgottenError):
                    yield blob_id, self.value(blob_id)  # or says what is wrong

    def open(self, blob_id: int) -> ShortContent | LongContent:
        """A content to be sent in pieces."""
        source, blob = self._find(blob_id)
        if blob.codec in (codec.CHUNKED, codec.TEXT_CHUNKED, codec.TEXT_OBJECT):
            return LongContent(source, blob)
        return ShortContent(_unpacked(source, blob), blob.hash, blob.text_size)

    def text(self, blob_id: int) -> StoredText | None:
        """A text that is large enough to be read in parts; None for any other content."""
        source, blob = self._find(blob_id)
        is_long = blob.codec in (codec.TEXT_CHUNKED, codec.TEXT_OBJECT)
        return StoredText(source, blob) if is_long else None

    def _find(self, blob_id: int) -> tuple[_Source, BlobRow]:
        blob = _readable_blob(self._driver, blob_id)
        return _Source(self._driver, self._objects, blob_id, blob.hash), blob

    def add_gists(self, gists: Mapping[int, Gist]) -> None:
        """Add the gists of contents that were written without them, by the keys of the contents."""
        hashes = self._driver.run_in("SELECT id, hash FROM blobs WHERE id IN", list(gists))
        new = ((blob_id, codec.stored_gist(gists[blob_id], digest)) for blob_id, digest in hashes)
        self._driver.run_many(ADD_GIST, [(gist, blob_id) for blob_id, gist in new])

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


def _portions(sizes: Mapping[int, int]) -> Iterator[list[int]]:
    """Keys of contents that are read together."""
    keys: list[int] = []
    total = 0
    for blob_id, size in sizes.items():
        if keys and (total + size > PORTION or len(keys) == PAGE):
            yield keys
            keys, total = [], 0
        keys.append(blob_id)
        total += size
    if keys:
        yield keys


def _opened(rows: Sequence[Row]) -> dict[int, Json]:
    """What is in rows of _PAYLOADS, verified, without what is not in one piece or is damaged. A
    damaged row may have anything in any column."""
    opened: dict[int, Json] = {}
    for blob_id, digest, kind, payload, size in rows:
        with suppress(CorruptError, *codec.DAMAGE):
            if kind == codec.TEXT:
                opened[blob_id] = codec.unpack_text(digest, payload, size)
            elif kind in (codec.PLAIN, codec.ZSTD):
                opened[blob_id] = from_json(codec.unpack(digest, kind, payload, size))
    return opened


_PAYLOADS = "SELECT id, hash, codec, payload, json_size FROM blobs WHERE id IN"

WITHOUT_PAYLOAD = f"SELECT id, {BLOB_COLUMNS.replace('payload', 'NULL')} FROM blobs"

_GISTS = """
SELECT id, hash, gist FROM blobs WHERE gist IS NOT NULL AND id > ? ORDER BY id LIMIT ?"""

_TEXTS = """
SELECT id, hash, payload, json_size FROM blobs WHERE codec = ? AND id > ? ORDER BY id LIMIT ?"""

_CHUNKS = """
SELECT position, hash, codec, payload, first_line, checksum FROM chunks
WHERE blob_id = ? AND position BETWEEN ? AND ? ORDER BY position"""

_LAST = 2**31 - 1
"""No chunk has a larger position."""

_UNSEALED = """
SELECT c.blob_id, c.position, c.first_line, b.hash, c.hash, c.codec
FROM chunks c JOIN blobs b ON b.id = c.blob_id"""

INSERT_BLOB = f"""
INSERT INTO blobs ({BLOB_COLUMNS}, gist) VALUES ({", ".join("?" * len(BlobRow._fields))}, ?)
ON CONFLICT (hash) DO NOTHING"""

ADD_GIST = f"""
UPDATE blobs SET gist = ? WHERE id = ? AND gist IS NULL AND codec <> {codec.FORGOTTEN}"""

REWRITE_BLOB = f"UPDATE blobs SET {' = ?, '.join(BlobRow._fields[1:])} = ?, gist = ? WHERE id = ?"
