"""Hits of a search: how many in each file, and the first of each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice

from tract.content.preview.lines import (
    Finding,
    LineSpan,
    Scan,
    are_rising,
    edges,
    head,
    lines_at,
    share,
    tail,
)
from tract.content.preview.listings import in_folder
from tract.content.text import counted, mark, name_list

_HIT = re.compile(
    r"\n((?:[A-Za-z]:\\)?(?!\d+:)[^\s:(]{1,250}+)(?::\d{1,7}(?=[: ])|\(\d{1,7},\d{1,7}\):)"
)
_CONTEXT = re.compile(r"\n(?:[^\s:]{1,250}-\d{1,7}-|--(?=\n))")
_BARE_HIT = re.compile(r"\n(?=[^\s:]{0,300}/)([^\s:]{1,300}+):(?!//)")
_COUNT = re.compile(r"\n(?=[^\s:]{0,300}[/.])([^\s:]{1,300}+):(\d+)(?=\n|\Z)")
_NUMBERED_HIT = re.compile(r"\n(\d{1,7})(?::(?!\d\d\b)|-(?!\d\d-\d))")
_NUMBER = re.compile(r"\n\d{1,7}:")


def find_grep(scan: Scan) -> Finding | None:
    if share(_COUNT, scan) >= 0.9 and scan.lines > 1:
        return _counts(scan)
    hits = share(_HIT, scan)
    if hits and hits + share(_CONTEXT, scan) >= 0.6:
        return _grep(scan, _HIT)
    if share(_BARE_HIT, scan) >= 0.9:
        return _grep(scan, _BARE_HIT)
    if share(_NUMBERED_HIT, scan) < 0.6 or not are_rising(_NUMBERED_HIT.findall(scan.sample)):
        return None
    count = len(_NUMBER.findall(scan.hay))
    return Finding("grep", f"{counted(count, 'hit')}: {scan.text[:200]}", edges(scan))


def _counts(scan: Scan) -> Finding:
    """Only how many hits each file has."""
    counts = sorted(_COUNT.findall(scan.hay), key=lambda pair: -int(pair[1]))
    matching = [(name, count) for name, count in counts if count != "0"]
    total = sum(int(count) for _, count in matching)
    names = name_list(f"{name} ({count})" for name, count in matching)
    summary = f"{counted(total, 'hit')} in {len(matching)} of {counted(len(counts), 'file')}: {names}"
    full = ((m.start() for m in _COUNT.finditer(scan.hay) if m[2] != "0"))
    return Finding("grep", summary, chain(lines_at(scan, islice(full, 60)), head(scan.text, 60)))


def _grep(scan: Scan, pattern: re.Pattern[str]) -> Finding:
    files = Counter(pattern.findall(scan.hay))
    first: dict[str, int] = {}
    for match in islice(pattern.finditer(scan.hay), 3000):
        first.setdefault(match[1], match.start())
    folder, names = in_folder(files)
    hits = [f"{name} ({count})" for name, count in zip(names, files.values(), strict=True)]
    summary = f"{counted(files.total(), 'hit')} in {counted(len(files), 'file')}{folder}: "
    return Finding("grep", summary + name_list(hits), _items(scan, first, hits, folder))


def _items(
    scan: Scan, first: dict[str, int], hits: list[str], folder: str
) -> Iterator[LineSpan | str]:
    starts = lines_at(scan, islice(first.values(), 60))
    yield from starts[:4]
    if len(hits) > 3:  # the summary names the first ones
        yield from islice(_per_file(hits, folder), 2)
    yield from starts[4:12]
    yield from _per_file(hits, folder)
    yield from starts[12:]
    yield from chain(tail(scan.text, 1), head(scan.text, 60))


def _per_file(hits: list[str], folder: str) -> Iterator[str]:
    """The number of hits of each file, a few files to a line."""
    for start in range(0, min(len(hits), 40), 5):
        yield mark(f"hits{folder}: " + ", ".join(hits[start : start + 5]))
