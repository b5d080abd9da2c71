"""Data that is not text: its type, its size and, of a picture, its dimensions."""

from __future__ import annotations

import base64
import binascii
import re
import struct

from tract.content.preview.body import DATA_URL, data_url, decoded_size, is_base64
from tract.content.preview.lines import Finding
from tract.content.text import counted, mark, size

_CONTROL = re.compile("[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f-\x9f\ufffd]")
_PROBED = 2000
_MAGIC = {
    b"\x89PNG": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "RIFF",
    b"%PDF-": "application/pdf",
    b"PK\x03\x04": "application/zip",
    b"\x1f\x8b": "application/gzip",
    b"\x7fELF": "ELF",
    b"BZh": "application/x-bzip2",
    b"\xfd7zXZ": "application/x-xz",
    b"\x28\xb5\x2f\xfd": "application/zstd",
    b"SQLite format 3": "SQLite database",
    b"OggS": "audio/ogg",
    b"ID3": "audio/mpeg",
    b"\xca\xfe\xba\xbe": "Java class",
    b"\x00asm": "WebAssembly",
    b"MZ": "Windows program",
}
_PAGES = re.compile(
    r"/Type ?/Pages?\b[^>]{0,200}?/Count (\d{1,6})|/Count (\d{1,6})[^>]{0,200}?/Type ?/Pages\b"
)


def find_binary(text: str) -> Finding | None:
    """Type and size of what is not text, never the data."""
    if DATA_URL.match(text):
        start = text.index(",") + 1
        head = decoded_head(text[start : start + 4000]) if ";base64" in text[:start] else b""
        return _opaque(data_url(text) + _facts(head))
    if len(text) >= 200 and is_base64(text):
        head = decoded_head(text[:60_000])
        return _opaque(f"{_type(head) or 'base64'}, {size(decoded_size(text))}{_facts(head)}")
    probe = text[:_PROBED]
    controls = len(_CONTROL.findall(probe))
    head = probe.encode("latin-1", "replace")
    escaped = probe[:2] in ("b'", 'b"') and probe.count("\\x") * 20 > len(probe)
    kind = _type(head) if controls else None
    pages = _pages(text) if text.startswith("%PDF-") else ""
    if escaped or controls * 10 > len(probe) or kind or pages:
        kind = kind or _type(head) or "binary"
        return _opaque(f"{kind}, {counted(len(text), 'character')}{_facts(head)}{pages}")
    return None


def _opaque(summary: str) -> Finding:
    return Finding("binary", summary, [mark(summary)])


def _type(head: bytes) -> str | None:
    kind = next((kind for start, kind in _MAGIC.items() if head.startswith(start)), None)
    return f"image/{head[8:12].decode().lower()}" if head[8:12] == b"WEBP" else kind


def decoded_head(text: str) -> bytes:
    """The first bytes of a base64 text."""
    plain = re.sub(r"\s", "", text).replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain[: len(plain) // 4 * 4])
    except (binascii.Error, ValueError):
        return b""


def _facts(head: bytes) -> str:
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


def _pages(text: str) -> str:
    counts = [int(a or b) for a, b in _PAGES.findall(text, 0, 2_000_000)]
    return f", {counted(max(counts), 'page')}" if counts else ""
