"""Lines as Textual draws them. Their text is already escaped, and never parsed as markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from tract.view.lines import TAB, Line, Styled
from tract.view.palette import PALETTE

YELLOW = "#af8700"  # readable on dark and light backgrounds
STYLES = {
    "bold": Style(bold=True),
    "dim": Style(dim=True),
    "hit": Style(reverse=True),
    "note": Style(color=YELLOW),
    "rule": Style(color=YELLOW),
    "error": Style(color="red"),
    "added": Style(color="green"),
    "removed": Style(color="red"),
    "mark": Style(reverse=True),
    "code-comment": Style(dim=True, italic=True),
    "code-keyword": Style(bold=True),
    "code-name": Style(bold=True),
    "code-string": Style(italic=True),
    "code-number": Style(),
    "role-system": Style(),
    "role-user": Style(underline=True),
    "role-assistant": Style(),
    "role-tool": Style(),
    **{f"p{number}": Style(color=colour.web) for number, colour in enumerate(PALETTE)},
}


GREY = 0x87


@cache
def style_of(words: str) -> Style:
    style = Style.combine([Style(), *(STYLES[word] for word in words.split())])
    colour = style.color.triplet if style.color else None
    if not style.dim or not colour:
        return style
    # A dim pair colour is hard to read; mixed with grey it is readable on any background.
    mixed = [(part + GREY) // 2 for part in colour]
    return style + Style(dim=False, color="#{:02x}{:02x}{:02x}".format(*mixed))


def segments(line: Iterable[Styled], base: Style, hit: re.Pattern[str] | None) -> Iterator[Segment]:
    """A line with its matches highlighted."""
    for span in line:
        style, text = base + style_of(span.style), span.text.expandtabs(TAB)
        if hit is None:
            yield Segment(text, style)
            continue
        end = 0
        for match in hit.finditer(text):
            yield Segment(text[end : match.start()], style)
            yield Segment(match[0], style + STYLES["hit"])
            end = match.end()
        yield Segment(text[end:], style)


def strip(line: Line, base: Style, hit: re.Pattern[str] | None = None) -> Strip:
    return Strip(segment for segment in segments(line, base, hit) if segment.text)


def to_text(lines: Iterable[Line]) -> Text:
    """Several lines for a widget that draws them itself."""
    text = Text(no_wrap=True, end="")
    for number, line in enumerate(lines):
        text.append("\n" if number else "")
        for span in line:
            text.append(span.text.expandtabs(TAB), style_of(span.style))
    return text
