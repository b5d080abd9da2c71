"""Code between fences."""

from __future__ import annotations

import pytest

from tract.view.fences import mark_code


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a\n```\nb\n```\nc", ".###."),
        ("a\n```python\nb\n  ```  \nc", ".###."),
        ("````\n```\nb\n```\n````\nc", "#####."),
        ("```\n``` not a close\nb\n```\nc", "####."),
        ("~~~\n```\nb\n~~~\nc", "####."),
        ("```\nb\n~~~\nc", "####"),
        ("``\nb", ".."),
        ("", "."),
    ],
)
def test_which_lines_are_code(text: str, code: str) -> None:
    found = "".join("#" if is_code else "." for is_code in mark_code(text.split("\n")))
    assert found == code
