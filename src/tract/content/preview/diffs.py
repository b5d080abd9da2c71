"""Diffs: what each file has gained and lost, and where in the text it begins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from tract.content.preview.lines import (
    Finding,
    Item,
    LineSpan,
    Scan,
    edges,
    head,
    line_at,
    lines_after,
    share,
    tail,
)
from tract.content.text import counted, mark, name_list

_END = r"[ \t\r]*+(?=\n|\Z)"
_DIFFED = re.compile(r"\n(?:diff --git |--- [^\n]{1,400}\n\+\+\+ [^\n]{1,400}\n@@ -\d)")
_GIT = re.compile(r"\ndiff --git [^\n]*")
_PLAIN = re.compile(r"\n--- [^\n]{1,400}\n\+\+\+ [^\n]{1,400}(?=\n@@ -)")
_NAMES = re.compile(
    r"\n--- (?:a/)?([^\t\n]{1,400}+)[^\n]*+\n\+\+\+ (?:b/)?([^\t\n]{1,400}+)"
    r"|\ndiff --git a/[^\n]{1,400}? b/([^\n]{1,400}+)"
)
_HUNK = re.compile(r"\n@@ -\d[^\n]*+(?:\n [^\n]*+){0,4}(?=\n[+-])")
_STAT = re.compile(rf"\n [^\n|]{{1,200}}\| +(?:\d+ [+-]*|Bin [^\n]{{0,100}}){_END}")
_COMMIT = re.compile(r"commit [0-9a-f]{7,40}\b")


class _File(NamedTuple):
    name: str
    fate: str
    added: int
    removed: int
    line: int


def find_diff(scan: Scan) -> Finding | None:
    if " | " in scan.sample and share(_STAT, scan) >= 0.6:
        return Finding("diff", scan.text[tail(scan.text, 1)[0][0] :], edges(scan))
    first = _DIFFED.search(scan.sample)
    if first is None or "```" in scan.sample[: first.start()]:
        return None
    files = list(_files(scan))
    added, removed = sum(f.added for f in files), sum(f.removed for f in files)
    names = name_list(f.name for f in files)
    summary = f"diff, {counted(len(files), 'file')}, +{added} −{removed}: {names}"
    return Finding("diff", summary, _items(scan, files))


def _files(scan: Scan) -> Iterator[_File]:
    hay = scan.hay
    pattern = _GIT if _GIT.search(scan.hay) else _PLAIN
    starts = [match.start() for match in pattern.finditer(hay)]
    line = scan.number(starts[0]) if starts else 1
    for start, end in zip(starts, [*starts[1:], len(hay)], strict=True):
        match = _NAMES.search(hay, start, min(end, start + 3000))
        old, new, renamed = match.groups() if match else (None, None, "?")
        renamed = _name_in_head(hay, start) if old is None else renamed
        body = hay.find("\n@@", start, end)
        added = removed = 0
        if body >= 0:
            added, removed = hay.count("\n+", body, end), hay.count("\n-", body, end)
        name = renamed or (old if new == "/dev/null" else new) or "?"
        yield _File(name, _fate(hay, start, end), added, removed, line)
        line += hay.count("\n", start + 1, end + 1)


_FATE = re.compile(r"\n(new|deleted) file mode|\n(rename) from|\n(Binary) files|\n(copy) from")
_FATES = {"new": "new file, ", "deleted": "deleted, ", "rename": "renamed, ", "Binary": "binary, "}


def _fate(hay: str, start: int, end: int) -> str:
    match = _FATE.search(hay, start, min(end, start + 1000))
    return _FATES.get(match[match.lastindex or 0], "copied, ") if match else ""


def _name_in_head(hay: str, start: int) -> str:
    """The name of a file that was only renamed or is binary."""
    first = hay[start + 1 : line_at(hay, start + 1)[1]]
    return first.rpartition(" b/")[2] or first


def _items(scan: Scan, files: list[_File]) -> Iterator[Item]:
    text = scan.text
    if _COMMIT.match(text):
        yield from _commit_lines(text)
    stats = [
        mark(f"{f.name}: {f.fate}+{f.added} −{f.removed}, from line {f.line}") for f in files[:60]
    ]
    yield from stats[:6]
    hunks = list(islice(_HUNK.finditer(scan.hay), 60))
    for hunk in hunks[:2]:
        yield from _changes(text, hunk)
    yield from stats[6:20]
    for hunk in hunks[2:8]:
        yield from _changes(text, hunk)
    yield from stats[20:]
    for hunk in hunks[8:]:
        yield from _changes(text, hunk)
    yield from head(text, 60)


def _changes(text: str, hunk: re.Match[str]) -> Iterator[LineSpan]:
    yield line_at(text, hunk.start())
    yield from (
        s for s in lines_after(text, (0, hunk.end() - 1), 4) if text[s[0] : s[0] + 1] in "+-"
    )


def _commit_lines(text: str) -> Iterator[LineSpan]:
    """Subject, commit, author and date of what is shown."""
    spans = head(text, 8)
    subject = [span for span in spans if text.startswith("    ", span[0])]
    yield from subject[:1]
    yield from spans[:4]
