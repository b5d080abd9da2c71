"""Comparisons: two requests or two histories, unit by unit, and two units line by line. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import msgspec

from tract.context import CompiledContext
from tract.providers.toolsets import diff as diff_tools
from tract.view.diffs import (
    ADDED,
    CONTEXT,
    HUNK,
    LONGEST_LINE,
    REMOVED,
    EditLine,
    compare,
    mark,
)
from tract.view.matching import gaps, matches
from tract.view.sanitize import counted
from tract.view.tool_changes import diff_text
from tract.view.units import TextUnit

SAME, CHANGED = "same", "changed"
AROUND = 3
MOST_SHOWN = 2000
"""Lines of a difference."""
MOST_IN_A_ROW = 500
"""Lines that were added, or removed, without another one between them."""
BEFORE_MARK = 100
"""Characters of a long line that are shown before its first mark."""


class UnitPair(msgspec.Struct, frozen=True):
    """What became of a unit, with its number in the old and in the new list."""

    kind: str
    """`same`, `changed`, `added` or `removed`."""
    old: int | None
    new: int | None


class ContextTotals(msgspec.Struct, frozen=True):
    """The size of what a model is sent."""

    messages: int
    tokens: int
    tool_tokens: int


def totals(context: CompiledContext) -> ContextTotals:
    return ContextTotals(len(context.messages), context.token_count, context.tool_tokens)


def tool_words(old: CompiledContext, new: CompiledContext) -> str:
    """How many tools were added, removed, changed and moved; empty where none were."""
    return diff_text(diff_tools(old.toolset, new.toolset))


# Alignment


def align(old: Sequence[TextUnit], new: Sequence[TextUnit]) -> list[UnitPair]:
    """Each unit of both once, in order: equal ones first, then those of one kind between them."""
    same = matches([unit[1:] for unit in old], [unit[1:] for unit in new])
    pairs: list[UnitPair] = []
    for left, right, match in gaps(same, len(old), len(new)):
        pairs += _changes(old, new, left, right)
        pairs += [UnitPair(SAME, *match)] if match else []
    return pairs


def _changes(
    old: Sequence[TextUnit], new: Sequence[TextUnit], left: range, right: range
) -> Iterator[UnitPair]:
    positions = matches([old[n].kind for n in left], [new[n].kind for n in right])
    for removed, added, match in gaps(positions, len(left), len(right)):
        yield from (UnitPair(REMOVED, left[n], None) for n in removed)
        yield from (UnitPair(ADDED, None, right[n]) for n in added)
        if match:
            before, after = left[match[0]], right[match[1]]
            is_same = old[before].text == new[after].text
            yield UnitPair(SAME if is_same else CHANGED, before, after)


# Lines


def difference(old: str, new: str, around: int = AROUND) -> list[EditLine]:
    """The lines of two texts with the changes marked, and `around` unchanged ones on each side of a
    change. Lines are not escaped, and long ones are cut."""
    lines = list(_folded(compare(old, new), max(around, 0)))
    more = len(lines) - MOST_SHOWN
    if more > 0:
        lines[MOST_SHOWN:] = [EditLine(HUNK, f"… {counted(more, 'more line')} …")]
    return [_cut(line) for line in mark(lines)]


def _folded(lines: list[EditLine], around: int) -> Iterator[EditLine]:
    end = 0
    for kind, group in groupby(lines, key=lambda line: line.kind):
        run = list(group)
        end += len(run)
        first, last = MOST_IN_A_ROW, len(run)
        if kind == CONTEXT:
            first = around if end > len(run) else 0
            last = len(run) - (around if end < len(lines) else 0)
        if last - first > 1:  # a line about one more line would be as long
            word = "unchanged" if kind == CONTEXT else f"more {kind}"
            run[first:last] = [EditLine(HUNK, f"… {last - first} {word} lines …")]
        yield from run


def _cut(line: EditLine) -> EditLine:
    """A line; a very long one from shortly before its first mark on."""
    if len(line.text) <= LONGEST_LINE:
        return line
    first = line.marks[0][0] if line.marks else 0
    start = max(0, min(first - BEFORE_MARK, len(line.text) - LONGEST_LINE))
    end = start + LONGEST_LINE
    ellipses = "…" if start else "", "…" if end < len(line.text) else ""
    moved = start - len(ellipses[0])
    marks = tuple((i - moved, min(j, end) - moved) for i, j in line.marks if i < end)
    return EditLine(line.kind, line.text[start:end].join(ellipses), marks)
