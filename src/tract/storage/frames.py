"""Many frames of zstd, decompressed at once.

To set up a decompressor takes longer than to decompress a short text. So the blocks of many frames
become the blocks of a single one (RFC 8878). The first block of a frame may refer to the offsets
that every frame starts with, 1, 4 and 8; any other block, to those that were used last. So two
small blocks come before each first one: they use just these offsets. What a block refers to is then
as it was, and the same bytes come out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LONGEST = 1 << 17
"""Bytes of a content that is decompressed with others."""

GROUP = 1 << 18
"""Bytes that are decompressed at once. For larger ones, memory is returned to the system each time,
which takes as long as to fill it. For smaller ones, two threads wait for each other more often."""

_MAGIC = b"\x28\xb5\x2f\xfd"
_START = _MAGIC + bytes([0, 7 << 3])
"""The header of a frame with a window of 1 << 17 bytes, and nothing else."""
_FIRST = 16
_ZEROS = bytes([_FIRST << 3, 0, 0]) + bytes(_FIRST)
"""A block of zeros as they are: what the first offsets refer to."""
_RESET = bytes.fromhex("3c0000 00 01 54 000300 0b 3c0000 00 02 54 000200 1c")
"""Two blocks without literals: they copy 3 bytes from offset 8, then from 4, then from 1."""
_COPIED = 9
_END = bytes([1, 0, 0])
"""The last block, which is empty."""


def inflate_frames(frames: Sequence[bytes], sizes: Sequence[int]) -> list[memoryview] | None:
    """The contents of frames with these sizes, as parts of larger buffers; None if that is not what
    they are. A content of the right size may still be a wrong one, if a frame is damaged."""
    contents: list[memoryview] = []
    try:
        for start, end in groups(sizes):
            contents += _inflate(frames[start:end], sizes[start:end])
    except (zstd.ZstdError, ValueError, LookupError, TypeError):
        return None
    return contents


def groups(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Where the frames begin and end that become one."""
    start = total = 0
    for end, size in enumerate(sizes, 1):
        total += size
        if total > GROUP or end == len(sizes):
            yield start, end
            start, total = end, 0


def _inflate(frames: Sequence[bytes], sizes: Sequence[int]) -> Iterator[memoryview]:
    parts = [_START, _ZEROS]
    for frame in frames:
        parts.append(_RESET)
        parts += _blocks(frame)
    parts.append(_END)
    total = _FIRST + sum(sizes) + _COPIED * len(sizes)
    data = zstd.ZstdDecompressor().decompress(b"".join(parts), max_length=total + 1)
    if len(data) != total:
        raise ValueError(f"the frames have {len(data)} bytes, not {total}")
    view, at = memoryview(data), _FIRST
    for size in sizes:
        at += _COPIED
        yield view[at : at + size]
        at += size


def _blocks(frame: bytes) -> Iterator[bytes]:
    """The blocks of a frame; none of them is the last one."""
    at, _ = _header(frame)
    is_last = False
    while not is_last:
        start, at = at, at + 3
        is_last, kind = bool(frame[start] & 1), frame[start] >> 1 & 3
        size = frame[start] >> 3 | frame[start + 1] << 5 | frame[start + 2] << 13
        at += 1 if kind == 1 else size  # one byte that is repeated
        yield bytes([frame[start] & 0xFE])
        yield frame[start + 1 : at]


def content_size(frame: bytes) -> int | None:
    """The size that the content of a frame has by its header; None if it does not say it."""
    try:
        end, width = _header(frame)
    except (ValueError, LookupError):
        return None
    size = int.from_bytes(frame[end - width : end], "little") + (256 if width == 2 else 0)
    return size if width else None


def _header(frame: bytes) -> tuple[int, int]:
    """How many bytes the magic number, the descriptor, the window and the size of the content take,
    and how many of them that size."""
    descriptor = frame[4]
    if descriptor & 0b11 or frame[:4] != _MAGIC:  # or it has a dictionary
        raise ValueError("not a frame that can stand among others")
    is_single = descriptor >> 5 & 1
    width = (is_single, 2, 4, 8)[descriptor >> 6]
    return 6 - is_single + width, width
