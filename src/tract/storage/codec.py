"""Content bytes as they are stored: compressed when that makes them shorter, split when large."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import NamedTuple

from tract.errors import CorruptError
from tract.hashing import content_hash, to_json

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PLAIN, ZSTD, CHUNKED, FORGOTTEN, TEXT_CHUNKED = 0, 1, 2, 3, 4

COMPRESS_ABOVE = 512
CHUNK_SIZE = 1 << 20
TEXT_STRIDE = 1 << 16
"""Characters of a chunk of text. A character has at most twelve bytes of JSON."""
LEVEL = 3


class Piece(NamedTuple):
    """Stored bytes, with their hash and codec."""

    hash: bytes
    codec: int
    payload: bytes


def pack(data: bytes) -> Piece:
    """Compressed if it is long and becomes shorter."""
    if len(data) > COMPRESS_ABOVE:
        compressed = zstd.compress(data, LEVEL)
        if len(compressed) < len(data):
            return Piece(content_hash(data), ZSTD, compressed)
    return Piece(content_hash(data), PLAIN, data)


def unpack(digest: bytes, codec: int, payload: bytes | None, byte_size: int) -> bytes:
    """The bytes, verified; a flipped bit is reported, never returned."""
    data = payload if codec == PLAIN else inflate(payload, byte_size)
    if not isinstance(data, bytes) or content_hash(data) != digest:
        raise CorruptError(f"content {digest.hex()} does not match its hash")
    return data


def chunks(data: bytes) -> Iterator[Piece]:
    for start in range(0, len(data), CHUNK_SIZE):
        yield pack(data[start : start + CHUNK_SIZE])


def text_chunks(text: str) -> Iterator[tuple[Piece, int]]:
    """A large text in chunks of equal numbers of characters, which together are its JSON, and how
    many lines end before each chunk."""
    lines = 0
    for start in range(0, len(text), TEXT_STRIDE):
        part = text[start : start + TEXT_STRIDE]
        encoded = to_json(part)
        end = None if start + TEXT_STRIDE >= len(text) else -1
        yield pack(encoded[1 if start else 0 : end].encode("ascii")), lines
        lines += part.count("\n")


def inflate(payload: bytes | None, byte_size: int) -> bytes:
    # One byte beyond the recorded size is allowed, so that a bomb stops there and fails the hash.
    try:
        return zstd.ZstdDecompressor().decompress(payload or b"", max_length=byte_size + 1)
    except (zstd.ZstdError, EOFError, TypeError) as error:
        raise CorruptError(f"a content cannot be decompressed: {error}") from None
