"""Markup: text and lines as HTML. All text of a page passes through `span`. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from tract.content.text import size
from tract.model import Json
from tract.view.fences import mark_code
from tract.view.images import image_of
from tract.view.lines import Line, Styled
from tract.view.sanitize import visible


def markup(lines: Sequence[Line], indent: str = "") -> str:
    """Lines without their indent. Neighbours with the same style are joined."""
    pieces = groupby(_pieces(lines, indent), key=lambda styled: styled.style)
    return "".join(span(Styled("".join(s.text for s in same), style)) for style, same in pieces)


def _pieces(lines: Sequence[Line], indent: str) -> Iterator[Styled]:
    for number, line in enumerate(lines):
        first, *others = line or (Styled(""),)
        newline = "\n" if number else ""
        yield Styled(newline + first.text.removeprefix(indent), first.style)
        yield from others


def span(styled: Styled) -> str:
    """The only way for text into the page, so it escapes everything. Styles are our own names."""
    text = escape(visible(styled.text), quote=True)
    return f'<span class="{styled.style}">{text}</span>' if styled.style else text


def byte_size(text: str) -> str:
    return size(len(text.encode("utf-8", "surrogatepass")))


def plain(text: str) -> str:
    return span(Styled(text.replace("\r\n", "\n").removesuffix("\n")))


def with_code(text: str) -> str:
    """A text as it is. Fenced code is never wrapped."""
    lines = visible(text.replace("\r\n", "\n").removesuffix("\n")).split("\n")
    parts = groupby(zip(mark_code(lines), lines, strict=True), key=lambda entry: entry[0])
    return "".join(
        f"<pre>\n{markup}</pre>" if is_code else f'<div class="prose">{markup}</div>'
        for is_code, part in parts
        for markup in [span(Styled("\n".join(line for _, line in part)))]
    )


def image(data: Json) -> str:
    picture = image_of(data)
    if picture is None:
        return ""
    about = span(Styled(f"{picture.media_type}, {size(picture.size)}"))
    source = f"data:{picture.media_type};base64,{picture.data}"
    return f'<img src="{source}" alt="{about}" title="{about}" loading="lazy">'
