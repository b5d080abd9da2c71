"""Images and documents in other programs' formats, as blocks that can be sent."""

from __future__ import annotations

from tract.importers.coerce import as_text
from tract.model import Json


def media_block(kind: Json, data: Json) -> dict[str, Json] | None:
    """The block of an image or a PDF in base64; None for anything else."""
    if not isinstance(kind, str) or not as_text(data):
        return None
    block = (
        "image" if kind.startswith("image/") else "document" if kind == "application/pdf" else ""
    )
    source = {"type": "base64", "media_type": kind, "data": data}
    return {"type": block, "source": source} if block else None


def url_block(url: Json) -> dict[str, Json] | None:
    """The same for a data URL."""
    head, comma, data = url.partition(",") if isinstance(url, str) else ("", "", "")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return None
    return media_block(head[len("data:") :].partition(";")[0], data)
