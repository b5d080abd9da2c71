"""Matches: the equal items of two sequences, in n log n time, whatever they are. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

from tract.view.diffs import common

Positions = Iterable[tuple[int, int]]
Rule = Callable[[Sequence[Hashable]], dict[Hashable, int]]


def gaps(
    positions: Positions, old: int, new: int
) -> Iterator[tuple[range, range, tuple[int, int] | None]]:
    """What is between matches, each with the match after it; at the end there is none."""
    start, first = 0, 0
    for i, j in positions:
        yield range(start, i), range(first, j), (i, j)
        start, first = i + 1, j + 1
    yield range(start, old), range(first, new), None


def _once(items: Sequence[Hashable]) -> dict[Hashable, int]:
    """The positions of the items that are there once."""
    counts = Counter(items)
    return {item: number for number, item in enumerate(items) if counts[item] == 1}


def _counted(items: Sequence[Hashable]) -> dict[Hashable, int]:
    """The positions of all items, equal ones by their numbers."""
    counts: Counter[Hashable] = Counter()
    positions: dict[Hashable, int] = {}
    for number, item in enumerate(items):
        counts[item] += 1
        positions[item, counts[item]] = number
    return positions


RULES = (_once, _counted, _once, _counted)
"""What becomes of the items between matches. More rules would find more, in more time."""


def matches(
    old: Sequence[Hashable], new: Sequence[Hashable], rules: Sequence[Rule] = RULES
) -> Iterator[tuple[int, int]]:
    """The positions of equal items, in order: those at both ends, then those that both have once,
    and between these the first of each with the first, the second with the second."""
    start = common(old, new)
    end = common(old[start:][::-1], new[start:][::-1])
    yield from ((n, n) for n in range(start))
    old_end, new_end = len(old) - end, len(new) - end
    if rules and start < old_end and start < new_end:
        inner = old[start:old_end], new[start:new_end]
        anchors = _rising(*map(rules[0], inner))
        for left, right, match in gaps(anchors, len(inner[0]), len(inner[1])):
            gap = inner[0][left.start : left.stop], inner[1][right.start : right.stop]
            for i, j in matches(*gap, rules[1:]):
                yield start + left[i], start + right[j]
            if match:
                yield start + match[0], start + match[1]
    yield from ((old_end + n, new_end + n) for n in range(end))


def _rising(old: dict[Hashable, int], new: dict[Hashable, int]) -> list[tuple[int, int]]:
    """As many common items as possible that are in one order in both, by their positions."""
    pairs = [(number, new[item]) for item, number in old.items() if item in new]
    ends: list[int] = []  # the smallest position in which a rising row of each length can end
    lengths = []
    for _, position in pairs:
        length = bisect_left(ends, position)
        ends[length : length + 1] = [position]
        lengths.append(length)
    kept: list[tuple[int, int]] = []
    for pair, length in zip(reversed(pairs), reversed(lengths), strict=True):
        if length == len(ends) - 1 - len(kept):
            kept.append(pair)
    return kept[::-1]
