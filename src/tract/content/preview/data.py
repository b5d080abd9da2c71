"""Data that is not text: its type, its size and, of a picture, its dimensions."""

from __future__ import annotations

import re

from tract.content.preview.body import DATA_URL, data_url, decoded_size, is_base64
from tract.content.preview.lines import Finding
from tract.content.preview.pictures import decoded_head, facts_of
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
        return _opaque(data_url(text) + facts_of(head))
    if len(text) >= 200 and is_base64(text):
        head = decoded_head(text[:60_000])
        return _opaque(f"{_type(head) or 'base64'}, {size(decoded_size(text))}{facts_of(head)}")
    probe = text[:_PROBED]
    controls = len(_CONTROL.findall(probe))
    head = probe.encode("latin-1", "replace")
    escaped = probe[:2] in ("b'", 'b"') and probe.count("\\x") * 20 > len(probe)
    kind = _type(head) if controls else None
    pages = _pages(text) if text.startswith("%PDF-") else ""
    if escaped or controls * 10 > len(probe) or kind or pages:
        kind = kind or _type(head) or "binary"
        return _opaque(f"{kind}, {counted(len(text), 'character')}{facts_of(head)}{pages}")
    return None


def _opaque(summary: str) -> Finding:
    return Finding("binary", summary, [mark(summary)])


def _type(head: bytes) -> str | None:
    kind = next((kind for start, kind in _MAGIC.items() if head.startswith(start)), None)
    return f"image/{head[8:12].decode().lower()}" if head[8:12] == b"WEBP" else kind


def _pages(text: str) -> str:
    counts = [int(a or b) for a, b in _PAGES.findall(text, 0, 2_000_000)]
    return f", {counted(max(counts), 'page')}" if counts else ""
