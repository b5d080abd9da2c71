"""Output of commands: diffs, test runs, logs, crashes, hits of a search, listings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from tract.content.preview.lines import (
    ERROR,
    WARNING,
    Finding,
    LineSpan,
    Scan,
    Spans,
    are_rising,
    both_ends,
    count_with,
    distinct,
    edges,
    edges_and_errors,
    head,
    line_at,
    lines_after,
    lines_at,
    lines_before,
    lines_of,
    lines_with,
    share,
    tail,
    whole_lines,
)
from tract.content.text import counted, name_list

_COLOR = r"(?:\x1b\[[\d;]{0,12}m){0,3}+"
_END = r"[ \t\r]*+(?=\n|\Z)"


# --- diffs -----------------------------------------------------------------------------------

_DIFFED = re.compile(r"\n(?:diff --git |--- [^\n]{1,400}\n\+\+\+ [^\n]{1,400}\n@@ -\d)")
_CHANGED = re.compile(r"\n--- (?:a/)?([^\t\n]{1,400}+)[^\n]*+\n\+\+\+ (?:b/)?([^\t\n]{1,400}+)")
_RENAMED = re.compile(r"\ndiff --git a/[^\n]{1,400}? b/([^\n]{1,400}+)")
_HUNK = re.compile(r"\n@@ -\d[^\n]*+(?:\n [^\n]*+){0,4}(?=\n[+-])")
_FILE_HEAD = re.compile(r"\n(?:diff --git |\+\+\+ )")
_STAT = re.compile(rf"\n [^\n|]{{1,200}}\| +(?:\d+ [+-]*|Bin [^\n]{{0,100}}){_END}")


def find_diff(scan: Scan) -> Finding | None:
    if share(_STAT, scan) >= 0.6:
        return Finding("diff", scan.text[tail(scan.text, 1)[0][0] :], edges(scan))
    first = _DIFFED.search(scan.sample)
    if first is None or "```" in scan.sample[: first.start()]:
        return None
    hay = scan.hay
    files = [old if new == "/dev/null" else new for old, new in _CHANGED.findall(hay)]
    files = files or _RENAMED.findall(hay)
    added = hay.count("\n+") - hay.count("\n+++ ")
    removed = hay.count("\n-") - hay.count("\n--- ")
    summary = f"diff, {counted(len(files), 'file')}, +{added} −{removed}: {name_list(files)}"
    return Finding("diff", summary, _diff_lines(scan))


def _diff_lines(scan: Scan) -> Iterator[LineSpan]:
    text = scan.text
    heads = lines_of(_FILE_HEAD, scan, 80)
    named = [span for span in heads if text.startswith("+++", span[0])] or heads
    yield from head(text, 2)
    yield from named[:12]
    for hunk in islice(_HUNK.finditer(scan.hay), 60):
        yield line_at(text, hunk.start())
        yield from lines_after(text, (0, hunk.end() - 1), 3)
    yield from named[12:]
    yield from head(text, 60)


# --- test runs -------------------------------------------------------------------------------

_TOTALS = re.compile(
    rf"\n{_COLOR}[ \t]{{0,8}}+{_COLOR}(?:"
    r"=+ [^\n]{0,120}?(?:passed|failed|errors?|skipped|deselected|no tests ran)[^\n]{0,80}?"
    r" in \d[^\n]*"
    r"|\d+ (?:passed|failed|skipped|errors?)\b[^\n]{0,100} in \d[\d.]*s[^\n]*"
    r"|Tests: {1,12}(?:\x1b|\d)[^\n]*total[^\n]*"
    r"|Test(?:s| Files) {1,4}(?:\x1b\[[\d;]{1,9}m){0,4}\d+ (?:passed|failed)[^\n]*"
    r"|test result: [^\n]+|Ran \d+ tests? (?:in|across) [^\n]+|Tests run: \d[^\n]*"
    r"|\d+ (?:passing|failing)\b[^\n]*|# (?:pass|fail) \d+|\d+ examples?, \d+ failures?[^\n]*"
    r"|(?:ok|FAIL)[ \t]+\S+[ \t]+(?:[\d.]+s|\(cached\)|\[build failed\])[^\n]*|PASS|FAIL"
    rf"|FAILED \([^\n]+\)){_END}"
)
_FAILURE = re.compile(
    rf"\n{_COLOR}(?:FAILED[ :]|ERROR:? \S|[ \t]{{0,8}}--- FAIL: |FAIL\b|E {{2,6}}\S|\(fail\) "
    r"|[ \t]{1,8}(?:●|[✕✗×]|\d+\) )|not ok |test [^\n]{1,200} \.\.\. FAILED"
    r"|thread '[^\n]{1,200}panicked at|_{3,} [^\n]{1,160} _{3,})"
)
_TESTING = re.compile(
    r"\n(?:=+ test session starts =+|=== RUN |running \d+ tests?"
    r"|(?:PASS|FAIL) \S+\.(?:test|spec)\.\w)"
)


def find_test(scan: Scan) -> Finding | None:
    ends = list(_TOTALS.finditer(scan.hay, max(0, len(scan.hay) - 4000)))
    if not ends and not _TESTING.search(scan.sample):
        return None
    totals = lines_at(scan, (match.start() for match in ends[-4:]))
    summary = _totals_of(scan, [match[0] for match in ends[-3:]])
    lines = chain(totals, _test_lines(scan, lines_of(_FAILURE, scan)))
    return Finding("test", f"tests: {summary}", lines)


def _totals_of(scan: Scan, ends: list[str]) -> str:
    failed = scan.hay.count("\n--- FAIL: ")
    passed = scan.hay.count("\n--- PASS: ")
    good, bad = scan.hay.count("\nok  \t"), scan.hay.count("\nFAIL\t")
    if failed or passed or good or bad:  # Go has no line with totals
        tests = f"{failed} failed, {passed} passed; " if failed or passed else ""
        return f"{tests}{counted(good, 'package')} ok, {bad} failed"
    return "; ".join(dict.fromkeys(end.strip("= \n\r\t") for end in ends)) or "no totals"


def _test_lines(scan: Scan, failures: Spans) -> Iterator[LineSpan]:
    yield from tail(scan.text, 3)
    yield from failures[:12]
    for span in failures[:6]:
        yield from lines_after(scan.text, span, 1)
    yield from failures[12:40]
    yield from both_ends(scan.text)


# --- logs ------------------------------------------------------------------------------------

_ENTRY = (
    rf"{_COLOR}[ \t\ufeff]{{0,4}}+[\[(]?+{_COLOR}(?:"
    r"\d{4}[-/.]\d\d[-/.]\d\d[T ]\d\d:\d\d|\d\d[/-](?:\d\d|[A-Z][a-z]{2})[/-]\d{2,4}[: ]\d\d:\d\d"
    r"|\d\d:\d\d:\d\d[.,\s\]Z]|[A-Z][a-z]{2} [ \d]\d (?:\d{4} )?\d\d:\d\d:\d\d"
    r"|[IWEF]\d{4} \d\d:|(?:\d{1,3}\.){3}\d{1,3} \S{1,40} \S{1,40} \[|(?:time|ts|level|lvl)="
    r"|\d{10}(?:\.\d{1,9})? |npm (?:warn|error|WARN|ERR!) "
    r"|(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE)"
    r"(?:\x1b\[[\d;]{0,12}m)?(?:[\]:]| [ \[(:|-]| \S+ )"
    r"|(?:trace|debug|info|notice|warn|warning|error|fatal)(?:\]|: | {2,}))"
)
_LOGGED = re.compile(rf"\n{_ENTRY}")
_LOGGED_BY = re.compile(rf"\n(?:(?:[^\n\t]{{1,80}}\t){{1,2}}|[\w.-]{{1,40}} {{1,20}}\| ){_ENTRY}")


def find_log(scan: Scan) -> Finding | None:
    # In a log of several programs, each line begins with the name of its own.
    has_names = "\t" in scan.sample or " | " in scan.sample
    if scan.lines < 2 or not (
        share(_LOGGED, scan) >= 0.4 or (has_names and share(_LOGGED_BY, scan) >= 0.4)
    ):
        return None
    text = scan.text
    errors, warnings = lines_with(ERROR, text), lines_with(WARNING, text)
    failed = counted(count_with(ERROR, text, errors), "error")
    warned = counted(count_with(WARNING, text, warnings), "warning")
    summary = f"log, {counted(scan.lines, 'line')}, {failed}, {warned}"
    if errors:
        start, end = errors[0]
        summary += f"; first error: {text[start : min(end, start + 200)]}"
    lines = _log_lines(text, distinct(text, errors), distinct(text, warnings))
    return Finding("log", summary, lines)


def _log_lines(text: str, errors: Spans, warnings: Spans) -> Iterator[LineSpan]:
    yield from head(text, 2)
    yield from tail(text, 2)
    yield from errors[:6]
    yield from warnings[:2]
    for span in errors[:3]:
        yield from (*lines_before(text, span[0], 1), *lines_after(text, span, 1))
    yield from chain(errors[6:20], warnings[2:6])
    yield from both_ends(text)


# --- crashes ---------------------------------------------------------------------------------

_CRASH = re.compile(
    r"\n(?:Traceback \(most recent call last\):"
    r"|(?:panic|fatal error): [^\n]+\n(?=(?:[^\n]*\n){0,3}goroutine )"
    r"|thread '[^\n]{1,200}panicked at"
    r"|[^\n]{0,500}\n(?=[ \t]+at \S[^\n]{0,500}\n[ \t]+at \S))"
)
_FRAME = re.compile(r"\n[ \t]+at [\w.$<\[/][^\n]{0,400}[:)\]>\d]")
_RAISED = re.compile(r"\n[A-Za-z_][\w.]{0,120}(?:: |(?=\n|\Z))")
_NEAR = 6000


def find_crash(scan: Scan) -> Finding | None:
    """A trace at the end or at the beginning of the output."""
    length = len(scan.hay)
    for start, end in ((max(0, length - _NEAR), length), (0, _NEAR)):
        matches = list(islice(_CRASH.finditer(scan.hay, start, end), 50))
        if matches:
            return _crash(scan, matches)
    return None


def _crash(scan: Scan, matches: list[re.Match[str]]) -> Finding | None:
    first, last = matches[0], matches[-1]
    if last[0].startswith("\nTraceback"):
        return _python_crash(scan, last)
    frames = _FRAME.findall(scan.hay, first.start(), first.start() + _NEAR)
    if len(frames) < 2 and not first[0].startswith(("\npanic", "\nfatal", "\nthread")):
        return None
    span = line_at(scan.text, first.start())
    lines = chain([span], lines_after(scan.text, span, 12), edges_and_errors(scan))
    return Finding("traceback", scan.text[slice(*span)], lines)


def _python_crash(scan: Scan, last: re.Match[str]) -> Finding:
    raised = _RAISED.search(scan.hay, last.end())
    span = line_at(scan.text, raised.start() if raised else last.start())
    frames = lines_before(scan.text, span[0], 7)
    opening = line_at(scan.text, last.start())
    lines = chain([span], frames[:4], [opening], frames[4:], edges_and_errors(scan))
    return Finding("traceback", scan.text[slice(*span)], lines)


# --- hits of a search ------------------------------------------------------------------------

_HIT = re.compile(
    r"\n((?:[A-Za-z]:\\)?(?!\d+:)[^\s:(]{1,250}+)(?::\d{1,7}(?=[: ])|\(\d{1,7},\d{1,7}\):)"
)
_CONTEXT = re.compile(r"\n(?:[^\s:]{1,250}-\d{1,7}-|--(?=\n))")
_BARE_HIT = re.compile(r"\n(?=[^\s:]{0,300}/)([^\s:]{1,300}+):(?!//)")
_NUMBERED_HIT = re.compile(r"\n(\d{1,7})(?::(?!\d\d\b)|-(?!\d\d-\d))")
_NUMBER = re.compile(r"\n\d{1,7}:")


def find_grep(scan: Scan) -> Finding | None:
    hits = share(_HIT, scan)
    if hits and hits + share(_CONTEXT, scan) >= 0.6:
        return _grep(scan, _HIT)
    if share(_BARE_HIT, scan) >= 0.9:
        return _grep(scan, _BARE_HIT)
    if share(_NUMBERED_HIT, scan) < 0.6 or not are_rising(_NUMBERED_HIT.findall(scan.sample)):
        return None
    count = len(_NUMBER.findall(scan.hay))
    return Finding("grep", f"{counted(count, 'hit')}: {scan.text[:200]}", edges(scan))


def _grep(scan: Scan, pattern: re.Pattern[str]) -> Finding:
    files = Counter(pattern.findall(scan.hay))
    first: dict[str, int] = {}
    for match in islice(pattern.finditer(scan.hay), 2000):
        first.setdefault(match[1], match.start())
    folder, names = _in_folder(files)
    hits = (f"{name} ({count})" for name, count in zip(names, files.values(), strict=True))
    summary = f"{counted(files.total(), 'hit')} in {counted(len(files), 'file')}{folder}: "
    lines = chain(lines_at(scan, islice(first.values(), 12)), head(scan.text, 60))
    return Finding("grep", summary + name_list(hits), lines)


def _in_folder(paths: Iterable[str]) -> tuple[str, list[str]]:
    """The common folder of all paths as a text, and the paths relative to it."""
    paths = list(paths)
    first, last = min(paths, default=""), max(paths, default="")
    same = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), 0)
    folder = first[:same].rpartition("/")[0]
    if len(folder) < 12:
        return "", paths
    return f" in {folder}", [path[len(folder) + 1 :] for path in paths]


# --- listings --------------------------------------------------------------------------------

_LS = re.compile(r"\n(?:[-dlbcps][rwxsStT-]{9}[@+.]? {1,6}\d+ |total \d)")
_TREE = re.compile(r"\n[│| \u00a0]{0,80}(?:├|└|\||`)(?:──|--) ")
_SHORT_STATUS = re.compile(r"\n(?:[ MADRCTU?!]{2} [\w./\"@-]|## \S)")
_PATH = re.compile(
    rf"\n(?:[A-Za-z]:\\|[ \t]{{0,40}}+(?:- )?+)?+[^\s:*\"'<>|;,(){{}}=\[\]]{{1,250}}+{_END}"
)
_WITH_DOTS = re.compile(r"\n[^\n./\\]*+[./\\]")


def find_listing(scan: Scan) -> Finding | None:
    long = share(_LS, scan) >= 0.6
    if not long and not _lists_paths(scan):
        return None
    lines = whole_lines(scan.text[:3000]) if len(scan.text) > 3000 else scan.text
    entries = (line for line in lines.split("\n") if not line.startswith(("total ", "## ")))
    last_words = (line.strip().rpartition(" ")[2] for line in entries)
    folder, names = _in_folder(name for name in last_words if name not in ("", ".", ".."))
    folders = f", {counted(scan.hay.count(chr(10) + 'd'), 'folder')}" if long else ""
    summary = f"listing, {counted(scan.lines, 'entry')}{folders}{folder}: {name_list(names)}"
    return Finding("listing", summary, edges(scan))


def _lists_paths(scan: Scan) -> bool:
    if share(_TREE, scan) >= 0.6 or share(_SHORT_STATUS, scan) >= 0.6:
        return True
    if scan.lines == 1 and "/" not in scan.text:
        return False
    return share(_PATH, scan) >= 0.95 and share(_WITH_DOTS, scan) >= (0.4 if scan.lines > 1 else 1)
