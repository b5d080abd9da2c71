"""Lines as Textual draws them. The text is harmless already, and is never taken for markup."""

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

STYLES = {
    "bold": Style(bold=True),
    "dim": Style(dim=True),
    "hit": Style(reverse=True),
    "note": Style(color="yellow"),
    "rule": Style(color="yellow", dim=True),
    "error": Style(color="red"),
    "added": Style(color="green"),
    "role-system": Style(color="magenta"),
    "role-user": Style(color="green"),
    "role-assistant": Style(color="cyan"),
    "role-tool": Style(color="yellow"),
    **{f"p{place}": Style(color=colour.web) for place, colour in enumerate(PALETTE)},
}


GREY = 0x87


@cache
def style_of(words: str) -> Style:
    found = Style.combine([Style(), *(STYLES[word] for word in words.split())])
    # A dim colour of a pair would be hard to read. One with grey in it is not, on any ground.
    return _greyed(found) if found.dim and found.color and found.color.triplet else found


def _greyed(style: Style) -> Style:
    red, green, blue = style.color.triplet if style.color and style.color.triplet else (0, 0, 0)
    mixed = [(part + GREY) // 2 for part in (red, green, blue)]
    return style + Style(dim=False, color="#{:02x}{:02x}{:02x}".format(*mixed))


def segments(line: Iterable[Styled], base: Style, hit: re.Pattern[str] | None) -> Iterator[Segment]:
    """A line, with what is searched for made to stand out."""
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


def text(lines: Iterable[Line]) -> Text:
    """Several lines for a widget that draws them itself."""
    found = Text(no_wrap=True, end="")
    for number, line in enumerate(lines):
        found.append("\n" if number else "")
        for span in line:
            found.append(span.text.expandtabs(TAB), style_of(span.style))
    return found
