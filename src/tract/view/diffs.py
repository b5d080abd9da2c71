"""Diffs: two texts as removed, added and common lines, with marks for what changed in a line.

Pure, and in bounded time: what is too long to compare is shown in full, old before new.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice
from typing import NamedTuple

CONTEXT, ADDED, REMOVED, HUNK = "context", "added", "removed", "hunk"

MOST_LINES = 4000
"""Lines that are compared with each other; comparing takes the square of their number."""
MOST_MATCHES = 200_000
"""Pairs of equal lines among them."""
MOST_PAIRS = 400
"""Pairs of lines whose words are compared, per file."""
MOST_MARKED = 1_000_000
"""Characters of changed lines. In more, nothing is marked: to find a pair takes long, too."""
MOST_WORDS = 200
LONGEST_LINE = 2000
NEIGHBOURS = 3
SIMILAR = 0.5


class EditLine(NamedTuple):
    """A line of a diff, as it was written: not escaped."""

    kind: str
    """`context`, `added`, `removed`, or `hunk`: a line about the next ones."""
    text: str
    marks: tuple[tuple[int, int], ...] = ()
    """The ranges of characters that differ from the line it replaces or is replaced by."""


def hunk(text: str) -> list[EditLine]:
    return [EditLine(HUNK, f"@@ {text} @@")] if text else []


def all_lines(kind: str, text: str) -> list[EditLine]:
    return [EditLine(kind, line) for line in _split(text)]


def _split(text: str) -> list[str]:
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []


def compare(old: str, new: str) -> list[EditLine]:
    """Two texts. Only what both have at their ends is left out: the last line break."""
    if all(text.count("\r\n") == text.count("\n") for text in (old, new)):
        old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if old.endswith("\n") and new.endswith("\n"):
        old, new = old[:-1], new[:-1]
    return diff(*(text.split("\n") if text else [] for text in (old, new)))


def diff(old: list[str], new: list[str]) -> list[EditLine]:
    """The lines of two texts, all of them: the equal ones once."""
    start = common(old, new)
    end = common(old[start:][::-1], new[start:][::-1])
    middle = old[start : len(old) - end], new[start : len(new) - end]
    return [
        *(EditLine(CONTEXT, line) for line in old[:start]),
        *_changes(*middle),
        *(EditLine(CONTEXT, line) for line in old[len(old) - end :]),
    ]


def common(old: Sequence[object], new: Sequence[object]) -> int:
    """How many items are the same from the first on."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((n for n, (one, other) in pairs if one != other), min(len(old), len(new)))


def _changes(old: list[str], new: list[str]) -> Iterator[EditLine]:
    if not old or not new:
        yield from _replaced(old, new)
    elif _are_long(old, new):
        yield from hunk("too long to compare: first all old lines, then all new ones")
        yield from _replaced(old, new)
    else:
        for kind, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if kind == "equal":
                yield from (EditLine(CONTEXT, line) for line in old[i:j])
            else:
                yield from _replaced(old[i:j], new[k:m])


def _are_long(old: list[str], new: list[str]) -> bool:
    """Whether comparing would take long: they are many, or many are equal."""
    if len(old) + len(new) > MOST_LINES:
        return True
    repeated = Counter(new)
    return sum(repeated[line] for line in old) > MOST_MATCHES


def _replaced(old: list[str], new: list[str]) -> Iterator[EditLine]:
    yield from (EditLine(REMOVED, line) for line in old)
    yield from (EditLine(ADDED, line) for line in new)


# Marks inside lines


def mark(lines: list[EditLine]) -> tuple[EditLine, ...]:
    """The same lines; where a removed one became an added one, with what differs in them."""
    marked = list(lines)
    if sum(len(line.text) for line in lines if line.kind in (ADDED, REMOVED)) > MOST_MARKED:
        return tuple(marked)
    for old, new in islice(_likely_pairs(lines), MOST_PAIRS):
        marks = _marks(lines[old].text, lines[new].text)
        if marks:
            marked[old] = lines[old]._replace(marks=marks[0])
            marked[new] = lines[new]._replace(marks=marks[1])
    return tuple(marked)


def _likely_pairs(lines: list[EditLine]) -> Iterator[tuple[int, int]]:
    """The numbers of lines that were probably replaced by each other."""
    start = 0
    while start < len(lines):
        middle = _end_of(lines, start, REMOVED)
        end = _end_of(lines, middle, ADDED)
        if middle > start and end > middle:
            yield from _pairs(lines, range(start, middle), range(middle, end))
        start = max(end, start + 1)


def _end_of(lines: list[EditLine], start: int, kind: str) -> int:
    numbers = range(start, len(lines))
    return next((number for number in numbers if lines[number].kind != kind), len(lines))


def _pairs(lines: list[EditLine], old: range, new: range) -> Iterator[tuple[int, int]]:
    if len(old) == len(new):
        yield from zip(old, new, strict=True)
        return
    following = new.start
    for number in old:
        near = range(following, min(following + NEIGHBOURS, new.stop))
        best = max(near, key=lambda n: _likeness(lines[number].text, lines[n].text), default=None)
        if best is not None and _likeness(lines[number].text, lines[best].text) >= SIMILAR:
            yield number, best
            following = best + 1


def _likeness(old: str, new: str) -> float:
    return SequenceMatcher(None, old[:LONGEST_LINE], new[:LONGEST_LINE]).quick_ratio()


_WORD = re.compile(r"\w+|\s+|[^\w\s]")
Ranges = tuple[tuple[int, int], ...]


def _marks(old: str, new: str) -> tuple[Ranges, Ranges] | None:
    """What differs in two lines; None where they have too little in common."""
    if max(len(old), len(new)) > LONGEST_LINE:
        return _outer_marks(old, new)
    words = _WORD.findall(old), _WORD.findall(new)
    if max(map(len, words)) > MOST_WORDS:
        return _outer_marks(old, new)
    matcher = SequenceMatcher(None, *words, autojunk=False)
    blocks = matcher.get_matching_blocks()
    same = sum(len("".join(words[0][i : i + size])) for i, _, size in blocks)
    if 2 * same < SIMILAR * (len(old) + len(new)):
        return None
    changes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    return (
        _ranges(words[0], ((i, j) for _, i, j, _, _ in changes)),
        _ranges(words[1], ((i, j) for _, _, _, i, j in changes)),
    )


def _ranges(words: list[str], changes: Iterable[tuple[int, int]]) -> Ranges:
    """Ranges of words as ranges of characters."""
    ends = [0]
    for word in words:
        ends.append(ends[-1] + len(word))
    return tuple((ends[i], ends[j]) for i, j in changes if i < j)


def _outer_marks(old: str, new: str) -> tuple[Ranges, Ranges] | None:
    """Everything but the same beginning and end."""
    start = common(old, new)
    end = common(old[start:][::-1], new[start:][::-1])
    if 2 * (start + end) < SIMILAR * (len(old) + len(new)):
        return None
    return _middle(start, len(old) - end), _middle(start, len(new) - end)


def _middle(start: int, end: int) -> Ranges:
    return ((start, end),) if start < end else ()
