"""What Git says about a repository: commits, the state of files, who wrote which line."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice

from tract.content.preview.lines import (
    Finding,
    Scan,
    Spans,
    both_ends,
    head,
    in_turn,
    lines_after,
    lines_at,
    share,
    tail,
    text_at,
)
from tract.content.text import counted, name_list

_COMMIT = re.compile(r"\n(?:[*|\\/ ]+)?commit ([0-9a-f]{7,40})\b")
_AUTHOR = re.compile(r"\nAuthor: +([^\n<]{1,80})")
_SUBJECT = re.compile(r"\n    (?=\S)")
_ONE_LINE = re.compile(r"\n(?:[*|\\/ ]{0,12})?[0-9a-f]{7,40} (?:\([^)\n]{1,200}\) )?\S")
_BLAME = re.compile(r"\n\^?[0-9a-f]{7,40} (?:\S+ +)?\(([^\n]{1,60}?) +\d{4}-\d\d-\d\d ")
_SHORT = re.compile(r"\n(?:[ MADRCTU?!]{2} [\w./\"@-]|## \S)")
_STATE = re.compile(
    r"\n(?:On branch |HEAD detached |Changes (?:not staged|to be committed)|Untracked files"
    r"|nothing to commit|Your branch |You have unmerged|Unmerged paths)[^\n]*"
)
_CHANGED = re.compile(r"\n\t(?:([a-z ]{3,20}): +)?\S")


def find_history(scan: Scan) -> Finding | None:
    if _COMMIT.match(scan.sample) and _AUTHOR.search(scan.sample, 0, 400):
        return _log(scan)
    if _BLAME.match(scan.sample) and share(_BLAME, scan) >= 0.9 and scan.lines > 1:
        return _blame(scan)
    if share(_ONE_LINE, scan) >= 0.9 and scan.lines > 2:
        return _one_lines(scan)
    if re.match(r"\n(?:On branch |HEAD detached |Not currently on)", scan.sample):
        return _status(scan)
    return _short_status(scan) if share(_SHORT, scan) >= 0.9 else None


def _log(scan: Scan) -> Finding:
    commits = lines_at(scan, (match.start() for match in _COMMIT.finditer(scan.hay)))
    subjects = [
        span
        for commit in commits[:60]
        for span in lines_after(scan.text, commit, 6)
        if scan.text.startswith("    ", span[0])
    ]
    first: dict[int, tuple[int, int]] = {}
    for span in subjects:  # only the first line of each message
        first.setdefault(sum(commit[0] < span[0] for commit in commits[:60]), span)
    subjects = list(first.values())
    authors = Counter(name.strip() for name in _AUTHOR.findall(scan.hay))
    about = text_at(scan.text, subjects[0], 100).strip() if subjects else ""
    summary = f"log, {counted(len(commits), 'commit')} by {name_list(authors)}; the newest: {about}"
    lines = in_turn(
        *(
            subjects[:1],
            head(scan.text, 3),
            _stat(scan),
            subjects[1:4],
            commits[-1:],
            subjects[-1:],
        ),
        *(subjects[4:40], tail(scan.text, 1), commits[:20], both_ends(scan.text)),
    )
    return Finding("history", summary, lines)


_STAT = re.compile(r"\n [^\n|]{1,200}\| +(?:\d+ [+-]*|Bin )")


def _stat(scan: Scan) -> Spans:
    """The files of the newest commit."""
    second = scan.hay.find("\ncommit ", 1)
    end = second if second > 0 else len(scan.hay)
    return lines_at(scan, (m.start() for m in islice(_STAT.finditer(scan.hay, 0, end), 6)))


def _one_lines(scan: Scan) -> Finding:
    count = len(_ONE_LINE.findall(scan.hay))
    summary = f"log, {counted(count, 'commit')}; the newest: {scan.text[:200].split(chr(10))[0]}"
    lines = in_turn(head(scan.text, 6), tail(scan.text, 2), both_ends(scan.text))
    return Finding("history", summary, lines)


def _blame(scan: Scan) -> Finding:
    first: dict[str, int] = {}
    for match in islice(_BLAME.finditer(scan.hay), 5000):
        first.setdefault(match[1].strip(" ("), match.start())
    authors = Counter(name.strip(" (") for name in _BLAME.findall(scan.hay))
    names = ", ".join(f"{name} ({count})" for name, count in authors.most_common(6))
    summary = f"blame, {counted(scan.lines, 'line')} by {names}"
    rarest = sorted(first, key=lambda name: authors[name])[:4]
    lines = lines_at(scan, (first[name] for name in rarest))
    items = in_turn(lines, head(scan.text, 4), tail(scan.text, 2), both_ends(scan.text))
    return Finding("history", summary, items)


def _status(scan: Scan) -> Finding:
    states = lines_at(scan, (match.start() for match in _STATE.finditer(scan.hay)))
    changes = lines_at(scan, (match.start() for match in islice(_CHANGED.finditer(scan.hay), 80)))
    kinds = Counter((m[1] or "untracked").strip() for m in _CHANGED.finditer(scan.hay))
    branch = text_at(scan.text, states[0]) if states else ""
    counts = ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "nothing changed"
    lines = in_turn(head(scan.text, 1), changes[:12], states, changes[12:], both_ends(scan.text))
    return Finding("history", f"status: {branch}; {counts}", lines)


def _short_status(scan: Scan) -> Finding:
    kinds = Counter(line[1:3] for line in _SHORT.findall(scan.hay))
    words = {"??": "untracked", " M": "modified", "M ": "staged", " D": "deleted", "A ": "added"}
    counts = (f"{count} {words.get(kind, kind)}" for kind, count in kinds.items() if kind != "##")
    names = name_list(line[3:] for line in scan.text[:2000].split("\n") if line[:2] != "##")
    summary = f"status, {counted(scan.lines, 'line')}: {', '.join(counts)}: {names}"
    return Finding("listing", summary, in_turn(head(scan.text, 20), both_ends(scan.text)))
