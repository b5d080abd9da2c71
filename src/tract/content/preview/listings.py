"""Listings of files: how many entries there are in each folder."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

from tract.content.preview.lines import (
    Finding,
    Scan,
    both_ends,
    edges,
    head,
    in_turn,
    line_at,
    share,
    tail,
)
from tract.content.text import counted, name_list, rows

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
    folders = _FOLDER.findall(scan.sample) if ":\n" in scan.sample else []
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
    about = [f"{name} ({count})" for name, count in zip(names, counts, strict=True)]
    numbers = scan.numbers(match.start(1) for match in matches[:80])
    order = _shallow_first(names[:80])
    parts = rows(
        "folders by line", (f"{numbers[matches[n].start(1)]} {about[n]}" for n in order), 4
    )
    items = in_turn(parts[:5], head(text, 12), parts[5:], both_ends(text))
    return Finding("listing", summary + name_list(about[n] for n in order), items)


def _shallow_first(names: list[str]) -> list[int]:
    """Folders near the top, and of those below the ones that are named differently."""
    return sorted(range(len(names)), key=lambda n: (names[n].count("/"), n))


def _long(scan: Scan) -> Finding:
    entries = [m for m in islice(_ENTRY.finditer(scan.hay), 20_000) if m[3] not in (".", "..")]
    folders = [m[3] for m in entries if m[1] == "d"]
    files = [m for m in entries if m[1] == "-"]
    count = f"{counted(len(entries), 'entry', 20_000)}, {counted(len(folders), 'folder')}"
    largest = sorted(files, key=lambda m: -_bytes(m[2]))[:3]
    about = f", the largest: {largest[0][3]} ({largest[0][2]})" if largest else ""
    summary = f"listing, {count}{about}: {name_list(m[3] for m in entries)}"
    items = in_turn(
        *([line_at(scan.text, m.start()) for m in largest[:1]], rows("folders", folders[:60], 8)),
        *(head(scan.text, 6), [line_at(scan.text, m.start()) for m in largest]),
        *(tail(scan.text, 2), both_ends(scan.text)),
    )
    return Finding("listing", summary, items)


_ENTRY = re.compile(
    r"\n([-dlbcps])[rwxsStT-]{9}[@+.]? +\d+ +\S+ +(?:\S+ +)??([\d.,]+[KMGT]?)"
    r" +(?:[A-Z][a-z]{2} +\d+|\d{4}-\d\d-\d\d) +[\d:.]+(?: [+-]\d{4})? ([^\n]{1,300})"
)
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def _bytes(text: str) -> float:
    digits = text.rstrip("KMGT").replace(",", "")
    unit = _UNITS.get(text[-1], 1)
    return float(digits) * unit if digits.count(".") < 2 and digits.strip(".") else 0


def _tree(scan: Scan) -> Finding:
    text = scan.text
    branches = list(_branches(scan))
    has_total = re.search(r"director(?:y|ies)", text[-80:])
    last = text[tail(text, 1)[0][0] :] if has_total else counted(len(branches), "entry")
    tops = [branch for branch in branches if not branch.depth]
    second = [branch for branch in branches if branch.depth == 1]
    outer = second if len(tops) == 1 and second else tops
    summary = f"tree, {last.strip()}: {name_list(branch.name for branch in outer)}"
    folders = sorted((b for b in branches if b.children), key=lambda branch: branch.depth)
    about = (f"{b.line} {b.path} ({b.children})" for b in folders[:80])
    parts = rows("folders by line", about, 4)
    spans = [line_at(text, branch.start) for branch in outer]
    lines = in_turn(parts[:4], tail(text, 1), spans[:12], parts[4:], spans[12:], edges(scan))
    return Finding("listing", summary, lines)


class _Branch:
    """An entry of a tree."""

    def __init__(self, path: str, depth: int, start: int, line: int) -> None:
        self.path, self.depth, self.start, self.line = path, depth, start, line
        self.name = path.rpartition("/")[2]
        self.children = 0


def _branches(scan: Scan) -> Iterator[_Branch]:
    above: list[_Branch] = []
    place, line = 0, scan.first
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
    summary = f"listing, {len(paths)}{more} path{'s' * (len(paths) != 1)}{folder}"
    depths = Counter(name.count("/") for name in names)
    if len(names) < 12 or len(depths) == 1 == len({name.rpartition("/")[0] for name in names}):
        lines = in_turn(head(scan.text, 12), tail(scan.text, 2), both_ends(scan.text))
        return Finding("listing", f"{summary}: {name_list(names)}", lines)
    endings = Counter(
        name.rpartition(".")[2] for name in names if "." in name.rpartition("/")[2][1:]
    )
    kinds = ", ".join(f"{count} .{ending}" for ending, count in endings.most_common(3))
    totals = _totals(names)
    about = [f"{name} ({count})" for name, count in totals]
    parts = rows("paths below", about, 5)
    items = in_turn(
        parts[:4], head(scan.text, 4), tail(scan.text, 2), parts[4:], both_ends(scan.text)
    )
    return Finding("listing", f"{summary}; {kinds}; {name_list(about)}", items)


def _totals(names: list[str]) -> list[tuple[str, int]]:
    """How many paths there are below each folder, the outer folders first."""
    below: Counter[str] = Counter()
    for name in names:
        parts = name.removeprefix("./").split("/")[:-1][:4]
        below.update("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
    ordered = sorted(below.items(), key=lambda pair: (pair[0].count("/"), -pair[1]))
    return ordered[:80]


# --- sizes -----------------------------------------------------------------------------------

_SIZED = re.compile(r"\n[ \t]*(\d[\d.,]*[KMGT]?)[ \t]+(\S[^\n]{0,300})")


def find_sizes(scan: Scan) -> Finding | None:
    """Numbers before paths, as `wc` and `du` print them."""
    if scan.evidence.program not in ("wc", "du", "xargs") or share(_SIZED, scan) < 0.9:
        return None
    matches = list(islice(_SIZED.finditer(scan.hay), 50_000))
    total = [m for m in matches if m[2] in ("total", ".")][-1:]
    ordered = sorted((m for m in matches if m not in total), key=lambda m: -_bytes(m[1]))
    top = [line_at(scan.text, m.start()) for m in (*total, *ordered[:8])]
    about = f", {total[0][1]} in all" if total else ""
    largest = name_list(f"{m[2]} ({m[1]})" for m in ordered[:4])
    summary = f"sizes, {counted(len(matches) - len(total), 'path')}{about}, the largest: {largest}"
    return Finding("listing", summary, in_turn(top, head(scan.text, 4), both_ends(scan.text)))
