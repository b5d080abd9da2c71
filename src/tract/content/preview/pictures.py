"""Pictures: width and height, as their first bytes give them."""

from __future__ import annotations

import base64
import binascii
import re
import struct


def decoded_head(text: str) -> bytes:
    """The first bytes of a base64 text."""
    plain = re.sub(r"\s", "", text).replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain[: len(plain) // 4 * 4])
    except (binascii.Error, ValueError):
        return b""


def facts_of(head: bytes) -> str:
    dimensions = dimensions_of(head)
    return f", {dimensions[0]} × {dimensions[1]} pixels" if dimensions else ""


def dimensions_of(head: bytes) -> tuple[int, int] | None:
    """Width and height, as the first bytes of a picture give them."""
    try:
        if head.startswith(b"\x89PNG") and head[12:16] == b"IHDR":
            return struct.unpack(">II", head[16:24])
        if head.startswith(b"GIF8"):
            return struct.unpack("<HH", head[6:10])
        if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
            return _of_webp(head)
        return _of_jpeg(head) if head.startswith(b"\xff\xd8") else None
    except (struct.error, IndexError):
        return None


def _of_webp(head: bytes) -> tuple[int, int] | None:
    if head[12:16] == b"VP8X":
        width = int.from_bytes(head[24:27], "little") + 1
        return width, int.from_bytes(head[27:30], "little") + 1
    if head[12:16] == b"VP8 ":
        width, height = struct.unpack("<HH", head[26:30])
        return width & 0x3FFF, height & 0x3FFF
    bits = int.from_bytes(head[21:25], "little")
    return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1


def _of_jpeg(head: bytes) -> tuple[int, int] | None:
    """The frame header follows other segments."""
    place = 2
    while place + 9 < len(head) and head[place] == 0xFF:
        marker = head[place + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", head[place + 5 : place + 9])
            return width, height
        place += 2 + int.from_bytes(head[place + 2 : place + 4], "big")
    return None
