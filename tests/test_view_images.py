"""Images: only what every browser can show, checked by its first bytes."""

from base64 import b64encode

import pytest

from tract.view.images import image_of

PNG = b64encode(b"\x89PNG\r\n\x1a\n" + bytes(60)).decode()
JPEG = b64encode(b"\xff\xd8\xff\xe0" + bytes(60)).decode()
WEBP = b64encode(b"RIFF\x00\x00\x00\x00WEBP" + bytes(60)).decode()
SVG = b64encode(b"<svg onload='alert(1)'>" + bytes(60)).decode()


@pytest.mark.parametrize(
    ("block", "media_type"),
    [
        ({"type": "image", "source": {"media_type": "text/html", "data": PNG}}, "image/png"),
        (
            {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{JPEG}"}},
            "image/jpeg",
        ),
        ({"inlineData": {"mimeType": "image/webp", "data": WEBP}}, "image/webp"),
        ({"source": {"media_type": "image/svg+xml", "data": SVG}}, None),
        ({"image_url": {"url": "https://example.org/" + "a" * 80}}, None),
        ({"source": {"data": PNG + '" onerror="alert(1)'}}, None),
        ({"source": {"data": "A" * 101}}, None),
        ({"source": {"data": PNG.rstrip("=")[:89]}}, None),
        ("text", None),
        (None, None),
    ],
)
def test_an_image_is_what_its_bytes_say(block, media_type):
    image = image_of(block)
    assert (image.media_type if image else None) == media_type


@pytest.mark.parametrize("length", [60, 61, 62])
@pytest.mark.parametrize("padding", ["", "=", "=="])
def test_the_bytes_of_an_image_do_not_depend_on_its_padding(length, padding):
    content = b"\x89PNG\r\n\x1a\n" + bytes(range(length))
    data = b64encode(content).decode().rstrip("=") + padding
    image = image_of({"source": {"data": data}})
    assert image is not None
    assert image.content == content
