"""Listings of files: how many entries there are in each folder."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from tract.content.preview.lines import (
    Finding,
    LineSpan,
    Scan,
    both_ends,
    edges,
    head,
    line_at,
    share,
    tail,
    whole_lines,
)
from tract.content.text import counted, mark, name_list

_END = r"[ \t\r]*+(?=\n|\Z)"
_LONG = re.compile(r"\n(?:[-dlbcps][rwxsStT-]{9}[@+.]? {1,6}\d+ |total \d)")
_TREE = re.compile(r"\n[│| \u00a0]{0,80}(?:├|└|\||`)(?:──|--) ")
_BRANCH = re.compile(r"\n([│| \u00a0]{0,80})(?:├|└|\||`)(?:──|--)[ \u00a0]([^\n]{1,200})")
_FOLDER = re.compile(r"(?:\A|\n\n|\n(?=\S[^\n]{0,200}:\ntotal ))([^\n:*?\"<>|]{1,300}):\n")
_PATH = re.compile(
    rf"\n(?:[A-Za-z]:\\|[ \t]{{0,40}}+(?:- )?+)?+[^\s:*\"'<>|;,(){{}}=\[\]]{{1,250}}+{_END}"
)
_WITH_DOTS = re.compile(r"\n[^\n./\\]*+[./\\]")
_PROGRAMS = {"ls", "find", "tree", "fd", "dir", "exa", "eza", "glob", "fdfind"}
_MOST = 200_000  # paths that are counted


def find_listing(scan: Scan) -> Finding | None:
    folders = _FOLDER.findall(scan.sample)
    is_ls = scan.evidence.program == "ls"
    if len(folders) > 1 and (is_ls or share(_PATH, scan) >= 0.7 or share(_LONG, scan) >= 0.5):
        return _recursive(scan)
    if share(_LONG, scan) >= 0.6:
        return _long(scan)
    if share(_TREE, scan) >= 0.6:
        return _tree(scan)
    return _paths(scan) if _lists_paths(scan) else None


def in_folder(paths: Iterable[str]) -> tuple[str, list[str]]:
    """The common folder of all paths as a text, and the paths relative to it."""
    paths = list(paths)
    first, last = min(paths, default=""), max(paths, default="")
    same = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), 0)
    folder = first[:same].rpartition("/")[0]
    if len(folder) < 12:
        return "", paths
    return f" in {folder}", [path[len(folder) + 1 :] for path in paths]


def _recursive(scan: Scan) -> Finding:
    """`ls -R`: a block for each folder."""
    text = scan.text
    matches = list(islice(_FOLDER.finditer(text), 2000))
    ends = [match.start() for match in matches[1:]] + [len(text)]
    counts = []
    for match, end in zip(matches, ends, strict=True):
        lines = text[match.end() : end].rstrip("\n").split("\n")
        counts.append(sum(1 for s in lines if s and not s.startswith("total ")))
    names = [match[1] for match in matches]
    summary = f"listing, {counted(len(names), 'folder')}, {counted(sum(counts), 'entry')}: "
    starts = [_line_number(text, match) for match in matches[:80]]
    rows = [
        mark(f"{name}: {counted(count, 'entry')}, line {line}")
        for name, count, line in zip(names, counts, starts, strict=False)
    ]
    spans = [line_at(text, match.start(1)) for match in matches[:80]]
    about = name_list(f"{n} ({c})" for n, c in zip(names, counts, strict=True))
    lines = chain(rows[:12], head(text, 12), rows[12:40], spans[:40], both_ends(text))
    return Finding("listing", summary + about, lines)


def _line_number(text: str, match: re.Match[str]) -> int:
    return text.count("\n", 0, match.start(1)) + 1


def _long(scan: Scan) -> Finding:
    folders = scan.hay.count("\nd")
    files = len(_LONG.findall(scan.hay)) - scan.hay.count("\ntotal ") - folders
    own = scan.hay.count(" .\n") + scan.hay.count(" ..\n")
    sample = whole_lines(scan.text[:4000]) if len(scan.text) > 4000 else scan.text
    last_words = (line.rpartition(" ")[2] for line in sample.split("\n") if line[:1] in "-dl")
    names = name_list(name for name in last_words if name not in ("", ".", ".."))
    count = counted(files + folders - own, "entry")
    summary = f"listing, {count}, {counted(folders - own, 'folder')}: {names}"
    return Finding("listing", summary, _sampled(scan))


def _sampled(scan: Scan) -> Iterator[LineSpan]:
    yield from head(scan.text, 8)
    yield from tail(scan.text, 2)
    yield from both_ends(scan.text)


def _tree(scan: Scan) -> Finding:
    text = scan.text
    branches = list(_branches(scan))
    has_total = re.search(r"director(?:y|ies)", text[-80:])
    last = text[tail(text, 1)[0][0] :] if has_total else counted(len(branches), "entry")
    tops = [branch for branch in branches if branch.depth == 0]
    second = [branch for branch in branches if branch.depth == 1]
    outer = second if len(tops) == 1 and second else tops
    summary = f"tree, {last.strip()}: {name_list(branch.name for branch in outer)}"
    folders = [b for b in branches if b.children and b.depth < 4]
    folders.sort(key=lambda branch: branch.depth)
    rows = [mark(f"{b.path}/: {counted(b.children, 'entry')}, line {b.line}") for b in folders[:60]]
    spans = [line_at(text, branch.start) for branch in outer]
    lines = chain(rows[:10], tail(text, 1), spans[:12], rows[10:30], spans[12:], edges(scan))
    return Finding("listing", summary, lines)


class _Branch:
    """An entry of a tree."""

    def __init__(self, path: str, depth: int, start: int, line: int) -> None:
        self.path, self.depth, self.start, self.line = path, depth, start, line
        self.name = path.rpartition("/")[2]
        self.children = 0


def _branches(scan: Scan) -> Iterator[_Branch]:
    above: list[_Branch] = []
    place, line = 0, 1
    for match in islice(_BRANCH.finditer(scan.hay), 20_000):
        line += scan.hay.count("\n", place + 1, match.start() + 1)
        place = match.start()
        depth = len(match[1]) // 4
        del above[depth:]
        parent = above[-1] if above else None
        path = f"{parent.path}/{match[2]}" if parent else match[2]
        branch = _Branch(path[:200], depth, match.start(), line)
        if parent:
            parent.children += 1
        above.append(branch)
        yield branch


def _lists_paths(scan: Scan) -> bool:
    share_of_paths = share(_PATH, scan)
    if scan.evidence.program in _PROGRAMS and share_of_paths >= 0.7:
        return True
    if scan.lines == 1 and "/" not in scan.text:
        return False
    return share_of_paths >= 0.95 and share(_WITH_DOTS, scan) >= (0.4 if scan.lines > 1 else 1)


def _paths(scan: Scan) -> Finding:
    paths = [s for line in scan.text.split("\n", _MOST)[:_MOST] if (s := line.strip(" \t\r-"))]
    more = "+" if scan.lines > _MOST else ""
    folder, names = in_folder(paths)
    counts = Counter(name.rpartition("/")[0] or "." for name in names)
    summary = f"listing, {len(paths)}{more} {'entry' if len(paths) == 1 else 'entries'}{folder}"
    if len(counts) < 2 or len(paths) < 12:
        lines = chain(head(scan.text, 12), tail(scan.text, 2), both_ends(scan.text))
        return Finding("listing", f"{summary}: {name_list(names)}", lines)
    endings = Counter(name.rpartition(".")[2] for name in names if "." in name.rpartition("/")[2][1:])
    about = ", ".join(f"{count} .{ending}" for ending, count in endings.most_common(4))
    groups = _groups(names, counts)
    rows = [mark(f"{name}/: {counted(count, 'entry')}") for name, count in groups]
    tops = ", ".join(f"{name} ({count})" for name, count in groups)
    lines = chain(rows[:12], head(scan.text, 4), tail(scan.text, 2), rows[12:30], both_ends(scan.text))
    return Finding("listing", f"{summary}; {about}; {tops}", lines)


def _groups(names: list[str], counts: Counter[str]) -> list[tuple[str, int]]:
    """Folders with what is directly in them, or with all that is below them if they are many."""
    if len(counts) <= 24:
        return list(counts.items())
    for depth in (3, 2, 1):
        deeper = Counter("/".join(name.split("/")[:-1][:depth]) or "." for name in names)
        if len(deeper) <= 24:
            return list(deeper.items())
    return Counter(dict(counts)).most_common(24)
