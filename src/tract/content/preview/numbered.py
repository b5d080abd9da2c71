"""Files whose lines came with their numbers: the file without them, and the way back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from tract.content.preview.lines import Finding, Item, Scan, are_rising, line_at
from tract.content.text import counted, mark

_NUMBERED = re.compile(r"\n[ \t]{0,10}(\d{1,7})(?:→|\t|:|\|| \||│) ?")
_TIGHT = re.compile(r"\n[ \t]{0,10}(\d{1,7})(?:→|\t|:|\|| \||│)")
_DOTTED = re.compile(r"\n[ \t]{0,10}(\d{1,7})\. ")


class NumberedFile(NamedTuple):
    text: str
    """The lines without their numbers."""
    start: int
    """Where the first of them begins in what was returned."""
    first: int
    last: int


def numbered_file(scan: Scan) -> NumberedFile | None:
    pattern, least = _TIGHT, 0.6 * scan.sample_size
    numbers = pattern.findall(scan.sample)
    if len(numbers) < least:
        pattern, least = _DOTTED, 0.95 * scan.sample_size
        numbers = pattern.findall(scan.sample)
    if len(numbers) < max(2, least) or not are_rising(numbers, by_one=True):
        return None
    first = scan.text[slice(*line_at(scan.text, 0))]
    if ("\t" in first or "|" in first) and not pattern.match(scan.hay):
        return None  # a table with numbered rows
    begin = pattern.search(scan.hay)
    ends = list(pattern.finditer(scan.hay, max(0, len(scan.hay) - 4000)))
    if begin is None or not ends:
        return None
    end = ends[-1]
    stop = line_at(scan.hay, end.end())[1]
    spaced = pattern is _TIGHT and "| " in scan.sample[:100] and "→" not in scan.sample[:100]
    lines = (_NUMBERED if spaced else pattern).sub("\n", scan.hay[begin.start() : stop])
    return NumberedFile(lines[1:].rstrip("\n"), begin.start(), int(begin[1]), int(end[1]))


def in_place(scan: Scan, file: NumberedFile, finding: Finding) -> Finding:
    """A finding in the file as one in what was returned."""
    kind = "file" if finding.kind == "text" else finding.kind
    lines = f"lines {file.first}–{file.last}" if file.first > 1 else counted(file.last, "line")
    # The text is without the empty lines at its end, which have numbers too.
    own = counted(file.text.count("\n") + 1, "line")
    facts, colon, about = finding.summary.partition(": ")
    if facts == own:
        facts = f"file, {lines}"
    elif f", {own}" in facts:
        facts = facts.replace(own, lines, 1)
    else:
        facts = f"file, {lines}: {facts}"
    return Finding(kind, facts + colon + about, _items(scan, file, finding))


def _items(scan: Scan, file: NumberedFile, finding: Finding) -> Iterator[Item]:
    if finding.by_path:
        yield mark("JSON with line numbers, values by their paths:")
    ends = list(accumulate(map(len, scan.text.split("\n"))))
    shift = scan.text.count("\n", 0, file.start)
    for item in finding.items:
        if isinstance(item, str):
            if not item.startswith("[… values by their paths"):
                yield item
            continue
        line = file.text.count("\n", 0, item[0]) + shift
        end = ends[line] + line
        front = item[0] > 0 and file.text[item[0] - 1] != "\n"
        if front:  # a part of a line
            yield end - (line_at(file.text, item[0])[1] - item[0]), end
        else:
            yield (ends[line - 1] + line if line else 0), end
