from __future__ import annotations

import pytest

from tract.importers.media import media_block, url_block


@pytest.mark.parametrize(
    ("kind", "block"), [("image/png", "image"), ("application/pdf", "document")]
)
def test_an_image_or_a_document_can_be_sent(kind: str, block: str) -> None:
    source = {"type": "base64", "media_type": kind, "data": "aGk="}
    assert media_block(kind, "aGk=") == {"type": block, "source": source}
    assert url_block(f"data:{kind};base64,aGk=") == {"type": block, "source": source}


@pytest.mark.parametrize(
    "url", [None, 5, "", "https://x/a.png", "data:image/png,raw", "data:audio/wav;base64,aGk="]
)
def test_anything_else_is_no_block(url: object) -> None:
    assert url_block(url) is None


def test_a_block_needs_its_data() -> None:
    assert media_block("image/png", None) is None
    assert media_block(None, "aGk=") is None
