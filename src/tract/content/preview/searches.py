"""Hits of a search: how many in each file, and the first of each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from tract.content.preview.lines import (
    Finding,
    Item,
    Scan,
    Spans,
    are_rising,
    edges,
    head,
    in_turn,
    line_at,
    lines_at,
    share,
    tail,
)
from tract.content.preview.listings import in_folder
from tract.content.text import counted, name_list, rows

_HIT = re.compile(
    r"\n((?:[A-Za-z]:\\)?(?!\d+:)[^\s:(]{1,250}+)(?::\d{1,7}(?=[: ])|\(\d{1,7},\d{1,7}\):)"
)
_CONTEXT = re.compile(r"\n(?:[^\s:]{1,250}-\d{1,7}-|--(?=\n))")
_BARE_HIT = re.compile(r"\n(?=[^\s:]{0,300}/)([^\s:]{1,300}+):(?!//)")
_COUNT = re.compile(r"\n(?=[^\s:]{0,300}[/.])([^\s:]{1,300}+):(\d+)(?=\n|\Z)")
_NUMBERED_HIT = re.compile(r"\n(\d{1,7})(?::(?!\d\d\b)|-(?!\d\d-\d))")
_NUMBER = re.compile(r"\n\d{1,7}:")


def find_grep(scan: Scan) -> Finding | None:
    if ":" not in scan.sample and not _NUMBERED_HIT.search(scan.sample):
        return None
    if share(_COUNT, scan) >= 0.9 and scan.lines > 1:
        return _counts(scan)
    hits = share(_HIT, scan)
    if hits and hits + share(_CONTEXT, scan) >= 0.6:
        return _grep(scan, _HIT)
    if share(_BARE_HIT, scan) >= 0.9:
        return _grep(scan, _BARE_HIT)
    numbered = share(_NUMBERED_HIT, scan)
    headed = _find_headed(scan) if numbered > 0.3 else None
    if headed:
        return headed
    if numbered < 0.6 or not are_rising(_NUMBERED_HIT.findall(scan.sample)):
        return None
    count = len(_NUMBER.findall(scan.hay))
    return Finding("grep", f"{counted(count, 'hit')}: {scan.text[:200]}", edges(scan))


def _counts(scan: Scan) -> Finding:
    """Only how many hits each file has."""
    counts = sorted(_COUNT.findall(scan.hay), key=lambda pair: -int(pair[1]))
    matching = [(name, count) for name, count in counts if count != "0"]
    total = sum(int(count) for _, count in matching)
    names = name_list(f"{name} ({count})" for name, count in matching)
    summary = (
        f"{counted(total, 'hit')} in {len(matching)} of {counted(len(counts), 'file')}: {names}"
    )
    full = (m.start() for m in _COUNT.finditer(scan.hay) if m[2] != "0")
    return Finding("grep", summary, in_turn(lines_at(scan, islice(full, 60)), head(scan.text, 60)))


def _grep(scan: Scan, pattern: re.Pattern[str]) -> Finding:
    files = Counter(pattern.findall(scan.hay))
    first: dict[str, int] = {}
    for match in islice(pattern.finditer(scan.hay), 3000):
        first.setdefault(match[1], match.start())
    return _hits(scan, files, lines_at(scan, islice(first.values(), 60)))


def _hits(scan: Scan, files: Counter[str], first: Spans) -> Finding:
    ordered = sorted(files.items(), key=lambda pair: -pair[1])
    folder, names = in_folder(name for name, _ in ordered)
    hits = [f"{name} ({count})" for name, (_, count) in zip(names, ordered, strict=True)]
    summary = f"{counted(files.total(), 'hit')} in {counted(len(files), 'file')}{folder}: "
    return Finding("grep", summary + name_list(hits), _items(scan, first, hits, folder))


def _items(scan: Scan, starts: Spans, hits: list[str], folder: str) -> Iterator[Item]:
    yield from starts[:3]
    parts = rows(f"hits{folder}", _by_folder(hits), 7)
    if len(hits) > 3:  # the summary names the first ones
        yield from parts[:6]
    yield from starts[3:12]
    yield from parts[6:12]
    yield from starts[12:]
    yield from in_turn(tail(scan.text, 1), head(scan.text, 60))


def _by_folder(hits: list[str]) -> Iterator[str]:
    """The names of files, each folder only once in a row of them."""
    last = ""
    for hit in sorted(hits[:80]):
        folder, slash, name = hit.rpartition("/")
        yield name if slash and folder == last else hit
        last = folder


# --- hits below the name of their file -------------------------------------------------------

_HEADED = re.compile(r"(?:\A|\n\n|\n--\n)((?=[^\n]*[/.])[^\s:][^\n:]{0,250})\n(?=\d{1,7}[:-])")


def _find_headed(scan: Scan) -> Finding | None:
    matches = list(islice(_HEADED.finditer(scan.text), 2000))
    if not matches or share(_NUMBERED_HIT, scan) + len(matches) / scan.lines < 0.6:
        return None
    ends = [match.start() for match in matches[1:]] + [len(scan.text)]
    files = Counter[str]()
    for match, end in zip(matches, ends, strict=True):
        files[match[1]] += len(_NUMBER.findall(scan.text, match.end() - 1, end))
    first = [
        s
        for m in matches[:40]
        for s in (line_at(scan.text, m.start(1)), line_at(scan.text, m.end()))
    ]
    return _hits(scan, files, first)
