"""Content bytes as stored: compressed when that pays, split when large, with a checksum."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from hashlib import sha256
from threading import local
from typing import NamedTuple

import msgspec
import zstandard
from msgspec.structs import astuple

from tract.errors import CorruptError
from tract.hashing import Json, content_hash, from_json, to_json
from tract.model import Gist

PLAIN, ZSTD, CHUNKED, FORGOTTEN, TEXT_CHUNKED, OBJECT, TEXT_OBJECT, TEXT = range(8)
IN_OBJECTS = (OBJECT, TEXT_OBJECT)
"""The bytes of such a content are an object. A text has chunks, which are parts of the object."""

COMPRESS_ABOVE = 512
CHUNK_SIZE = 1 << 20
TEXT_STRIDE = 1 << 16
"""Characters of a chunk of text. A character has at most twelve bytes of JSON."""
LEVEL = 3
SEAL = 32
"""Bytes of the seal behind the frame of a text, which a decompressor does not reach."""
MAX_GIST = 1 << 16
DAMAGE = (TypeError, AttributeError, ValueError, LookupError)
"""What comes of a column that is not what it should be."""


class Piece(NamedTuple):
    """Stored bytes, with their hash and codec."""

    hash: bytes
    codec: int
    payload: bytes


class _Own(local):
    """One of each per thread: to make one costs as much as to use it for a short text. A process
    may fork while another thread compresses, so they do not share it."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(level=LEVEL)
        self.decompressor = zstandard.ZstdDecompressor()


_own = _Own()


def pack(data: bytes, digest: bytes | None = None) -> Piece:
    """Compressed if it is long and becomes shorter. A digest that is known need not be computed."""
    digest = digest or content_hash(data)
    if len(data) > COMPRESS_ABOVE:
        compressed = deflate(data)
        if len(compressed) < len(data):
            return Piece(digest, ZSTD, compressed)
    return Piece(digest, PLAIN, data)


def pack_text(text: str, digest: bytes) -> Piece | None:
    """A text in UTF-8, compressed, and its seal; None if that is not possible, or not shorter. To
    read it, no JSON has to be parsed, which takes as long as to decompress it."""
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:  # it has half of a surrogate pair
        return None
    payload = sealed(deflate(data), digest)
    return Piece(digest, TEXT, payload) if len(payload) < len(data) else None


def sealed(frame: bytes, digest: bytes) -> bytes:
    """A compressed text with its seal, which binds it to the hash of its JSON."""
    return frame + sha256(digest + frame).digest()


def is_sealed(payload: bytes, digest: bytes) -> bool:
    """Whether a compressed text is what was sealed. A frame is a third or less of its text, and
    determines it: so it is verified in a third of the time, before it is decompressed."""
    seal = sha256(digest)
    seal.update(memoryview(payload)[:-SEAL])
    return seal.digest() == payload[-SEAL:]


def unpack_text(digest: bytes, payload: bytes | None, json_size: int) -> str:
    """The text, verified. It is never longer than its JSON."""
    if not (isinstance(payload, bytes) and is_sealed(payload, digest)):
        raise CorruptError(f"content {digest.hex()} does not match its hash")
    return inflate(payload, json_size).decode("utf-8")


def unpack(digest: bytes, codec: int, payload: bytes | None, json_size: int) -> bytes:
    """The bytes, verified; a flipped bit is reported, never returned."""
    if codec == TEXT:
        data: object = to_json(unpack_text(digest, payload, json_size)).encode("ascii")
    else:
        data = payload if codec == PLAIN else inflate(payload, json_size)
    if not isinstance(data, bytes) or content_hash(data) != digest:
        raise CorruptError(f"content {digest.hex()} does not match its hash")
    return data


def chunks(data: bytes) -> Iterator[Piece]:
    for start in range(0, len(data), CHUNK_SIZE):
        yield pack(data[start : start + CHUNK_SIZE])


def text_chunks(text: str) -> Iterator[tuple[Piece, int]]:
    """The chunks of a large text, and how many lines end before each."""
    return ((pack(part), lines) for part, lines in _text_parts(text))


def text_extents(text: str) -> Iterator[tuple[Piece, int]]:
    """The same chunks as parts of an object: a payload is where the part begins and ends."""
    start = 0
    for part, lines in _text_parts(text):
        yield Piece(content_hash(part), OBJECT, _EXTENT.pack(start, start + len(part))), lines
        start += len(part)


_EXTENT = struct.Struct(">QQ")
_LONGEST = 12 * TEXT_STRIDE + 2
_FARTHEST = 1 << 48


def extent(payload: bytes) -> tuple[int, int]:
    """Where a chunk begins in its object, and where it ends."""
    try:
        start, end = _EXTENT.unpack(payload)
    except (struct.error, TypeError) as error:
        raise CorruptError(f"a chunk has no position in its object: {error}") from None
    if not start < end <= min(start + _LONGEST, _FARTHEST):  # whatever a damaged row says
        raise CorruptError(f"a chunk has a wrong position in its object: {start} to {end}")
    return start, end


def _text_parts(text: str) -> Iterator[tuple[bytes, int]]:
    """A large text in parts of equal numbers of characters, which together are its JSON, and how
    many lines end before each."""
    lines = 0
    for start in range(0, len(text), TEXT_STRIDE):
        part = text[start : start + TEXT_STRIDE]
        encoded = to_json(part)
        end = None if start + TEXT_STRIDE >= len(text) else -1
        yield encoded[1 if start else 0 : end].encode("ascii"), lines
        lines += part.count("\n")


def deflate(data: bytes) -> bytes:
    return _own.compressor.compress(data)


def inflate(payload: bytes | None, most: int) -> bytes:
    """The content of a frame, which may have something behind it. Memory is taken for as many bytes
    as the frame says, so one that says too much is refused: it may be a bomb."""
    frame = payload or b""
    try:
        size = zstandard.frame_content_size(frame)
        if not 0 <= size <= most:
            raise CorruptError(f"a content has {size} bytes, not {most}")
        return _own.decompressor.decompress(frame)
    except (zstandard.ZstdError, TypeError) as error:
        raise CorruptError(f"a content cannot be decompressed: {error}") from None


# What is read by itself has a sum of its own


def seal(value: Json) -> str:
    text = to_json(value)
    return f"{zlib.crc32(text.encode('ascii')):08x}{text}"


def unseal(stored: str) -> Json:
    try:
        data = stored[8:].encode("ascii")
        if int(stored[:8], 16) != zlib.crc32(data):
            raise CorruptError(f"stored JSON was altered: {stored[8:]!r:.80}")
        return from_json(data)
    except DAMAGE as error:
        raise CorruptError(f"stored JSON is damaged: {error}") from error


def stored_gist(gist: Gist, content: bytes) -> bytes:
    """In the format of msgpack, with a sum behind it that begins with the hash of the content. It
    is not compressed and has no escapes, because thousands of gists are read at once."""
    try:
        data = _encode_gist(gist)
    except UnicodeEncodeError:  # it has half of a surrogate pair
        return _deflate(to_json(list(astuple(gist))).encode("ascii"), content)
    return data + _gist_sum(data, content)


def gist_of(stored: bytes, content: bytes) -> Gist:
    """The gist of the content with this hash."""
    try:
        if stored[0] == _IN_ZLIB:
            if not stored[1] & _WITH_DICTIONARY:
                raise CorruptError("a stored preview is damaged: it names no content")
            return _gist_in_zlib(stored, content)
        data = memoryview(stored)[:-_GIST_SUM]
        if _gist_sum(data, content) != stored[-_GIST_SUM:]:
            raise CorruptError("a stored preview is damaged: its sum is wrong")
        return _decode_gist(data)
    except (zlib.error, msgspec.MsgspecError, *DAMAGE) as error:
        raise CorruptError(f"a stored preview is damaged: {error}") from error


def _gist_sum(data: bytes | memoryview, content: bytes) -> bytes:
    """Of a gist and the content that it is of."""
    return zlib.crc32(data, zlib.crc32(content)).to_bytes(_GIST_SUM, "big")


_GIST_SUM = 4
_encode_gist = msgspec.msgpack.Encoder().encode
_decode_gist = msgspec.msgpack.Decoder(Gist).decode


# Gists with half of a surrogate pair, and those that earlier versions stored, are JSON in the
# format of zlib, which has a sum of its own.


def _gist_in_zlib(stored: bytes, content: bytes) -> Gist:
    return msgspec.convert(from_json(_inflate(stored, content)), Gist)  # the first ones are shorter


def bound_gist(stored: bytes, content: bytes) -> bytes:
    """A gist that was stored without the hash of its content, or compressed, as it is stored."""
    try:
        return stored_gist(_gist_in_zlib(stored, content), content)
    except (zlib.error, msgspec.MsgspecError, *DAMAGE) as error:
        raise CorruptError(f"a stored preview is damaged: {error}") from error


_IN_ZLIB = 0x78
"""The first byte of a stream of zlib; in msgpack, a list of so few fields begins with another."""
_WITH_DICTIONARY = 0x20
"""The bit in the second byte of a stream that can be read only with its dictionary."""


def _deflate(data: bytes, content: bytes) -> bytes:
    """The hash of the content is the dictionary: with any other one, zlib refuses the stream. It
    is not compressed: a flipped bit could change several bytes so that the sum stays the same."""
    writer = zlib.compressobj(0, zdict=content)
    return writer.compress(data) + writer.flush()


def _inflate(stored: bytes, content: bytes) -> bytes:
    reader = zlib.decompressobj(zdict=content)
    data = reader.decompress(stored, MAX_GIST)
    if not reader.eof:
        raise CorruptError("a stored preview is cut off, or too large")
    return data
