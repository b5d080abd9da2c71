"""Wrapping of long lines of prose. Code is never wrapped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import accumulate

from tract.view.fences import mark_code
from tract.view.lines import BAR, BODY, TAB, Line, Styled
from tract.view.sanitize import width as columns

_CODE = len(BODY) + 4  # so many spaces before a line: what texts have, and four more
_UNWRAPPED = re.compile(rf"\s{{{_CODE},}}(?!\s|[-*+•]\s|\d+[.)]\s)|\s*[|+\t]|\s*[-=*_]{{3,}}\s*$")
"""How lines begin that must not be wrapped: code, tables, rules. List items may be indented as
deep as code."""


def wrap(lines: Iterable[Line], room: int) -> Iterator[Line]:
    """Each line in as many pieces as it needs. Fenced code stays unchanged."""
    lines = list(lines)
    texts = ["".join(span.text for span in line) for line in lines]
    for line, text, is_code in zip(lines, texts, mark_code(texts), strict=True):
        if len(line) != 1 or is_code or len(text) <= room // 2 or _UNWRAPPED.match(text):
            yield line
        else:
            pieces = _pieces(text.expandtabs(TAB), room)
            yield from ((Styled(piece, line[0].style),) for piece in pieces)


def _pieces(text: str, room: int) -> Iterator[str]:
    """Broken at spaces, each piece aligned with the first word of the line. Text without spaces,
    as in some languages, is broken at the edge."""
    bare = text.lstrip(" ").removeprefix(BAR)
    indent = text[: len(text) - len(bare)]
    piece, used = "", 0
    for word in re.findall(r" *[^ ]+| +$", text):
        size = columns(word)
        if piece.strip() and used + size > room:
            yield piece
            word = indent + word.lstrip(" ")
            piece, used = "", 0
            size = columns(word)
        while used + size > room and len(indent) < room // 2:
            head = _fit(word, room - used)
            yield piece + head
            word, piece, used = indent + word[len(head) :], "", 0
            size = columns(word)
        piece, used = piece + word, used + size
    yield piece


def _fit(word: str, room: int) -> str:
    """As much of a word as fits, at least one character."""
    ends = accumulate(map(columns, word))
    fitting = sum(1 for end in ends if end <= room)
    return word[: max(fitting, len(word) - len(word.lstrip(" ")) + 1)]
