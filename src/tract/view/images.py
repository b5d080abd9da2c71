"""Images inside content blocks, checked so that a page can show them. Pure."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error
from typing import NamedTuple

from tract.model import Json

LARGEST = 8_000_000
"""Characters of base64; a larger image is only named."""
SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
_DATA_URL = re.compile(r"data:[\w.+/-]*;base64,")
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")


class Image(NamedTuple):
    """A picture that every browser can show. Nothing in it is executed: SVG is not one."""

    media_type: str
    """By its first bytes, whatever the block says."""
    data: str
    """In base64."""

    @property
    def size(self) -> int:
        return len(self.data) * 3 // 4

    @property
    def content(self) -> bytes:
        """Its bytes. Some programs leave the padding out."""
        bare = self.data.rstrip("=")
        return b64decode(bare + "=" * (-len(bare) % 4))


def image_of(block: Json) -> Image | None:
    """The image in a content block of any provider; None where there is none that can be shown."""
    data = _data(block, 4)
    if data is None or len(data) > LARGEST or not _BASE64.fullmatch(data):
        return None
    if len(data.rstrip("=")) % 4 == 1:  # no bytes are written like that
        return None
    try:
        start = b64decode(data[:64] + "=" * (-len(data[:64]) % 4))
    except (Error, ValueError):
        return None
    media_type = next((kind for sign, kind in SIGNATURES.items() if start.startswith(sign)), None)
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        media_type = "image/webp"
    return Image(media_type, data) if media_type else None


def _data(value: Json, depth: int) -> str | None:
    """The first text in a block that can be an image."""
    if isinstance(value, str):
        prefix = _DATA_URL.match(value)
        return value[prefix.end() :] if prefix else value if len(value) > 64 else None
    if not isinstance(value, dict) or not depth:
        return None
    inner = (_data(part, depth - 1) for part in value.values())
    return next((text for text in inner if text and _BASE64.fullmatch(text)), None)
