"""Logs: the first and the last error, how many of each level, from when to when."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from tract.content.preview.lines import (
    SEARCHED,
    Finding,
    Item,
    Scan,
    Spans,
    both_ends,
    distinct,
    errors_in,
    head,
    in_turn,
    lines_after,
    lines_before,
    share,
    tail,
    text_at,
    warnings_in,
)
from tract.content.text import counted

_COLOR = r"(?:\x1b\[[\d;]{0,12}m){0,3}+"
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
_TIME = re.compile(
    r"\d{4}[-/.]\d\d[-/.]\d\d[T ]\d\d:\d\d(?::\d\d)?|\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d\d:\d\d:\d\d"
)
_WORDS = (
    *("TRACE", "DEBUG", "INFO", "NOTICE", "WARN(?:ING)?", "ERROR", "FATAL", "CRITICAL", "SEVERE"),
    *("debug", "info", "notice", "warn(?:ing)?", "error", "fatal"),
)
_APART = r"(?:(?<![\w/.=-].)|(?<=(?<![\w/.=-])level=.)|(?<=(?<![\w/.=-])lvl=.))"
"""Follows the first letter of a word: letters are found faster than what may be before them."""
_LEVEL = re.compile(rf"({'|'.join(word[0] + _APART + word[1:] for word in _WORDS)})(?![\w/.-])")
_LEVEL_OF_LINE = re.compile(rf"{_LEVEL.pattern}[^\n]*")
_STATUS = re.compile(r'" (\d)\d\d ')
_COUNTED = 200_000  # lines


def find_log(scan: Scan) -> Finding | None:
    # In a log of several programs, each line begins with the name of its own.
    has_names = "\t" in scan.sample or " | " in scan.sample
    if scan.lines < 2 or not (
        share(_LOGGED, scan) >= 0.4 or (has_names and share(_LOGGED_BY, scan) >= 0.4)
    ):
        return None
    text = scan.text
    errors, warnings = errors_in(text), warnings_in(text)
    summary = f"log, {counted(scan.lines, 'line')}{_levels(scan)}{_times(text)}"
    severe = [span for span in errors if _is_severe(text_at(text, span, 120))] or errors
    if severe:
        summary += f"; first error: {text_at(text, severe[0], 200)}"
    lines = _lines(text, distinct(text, severe), distinct(text, warnings), severe[-1:], errors)
    return Finding("log", summary, lines)


def _is_severe(line: str) -> bool:
    level = _LEVEL.search(line)
    return level is not None and level[1][0] in "EFCSef"


def _levels(scan: Scan) -> str:
    """How many lines of each level there are, in their own words."""
    lines = scan.text[:SEARCHED].split("\n", _COUNTED)[:_COUNTED]
    levels = Counter(_LEVEL_OF_LINE.findall("\n".join([line[:80] for line in lines])))
    if len(levels) < 1 or sum(levels.values()) * 3 < len(lines):
        statuses = Counter(m[1] for line in lines if (m := _STATUS.search(line, 0, 600)))
        levels = Counter({f"{status}xx": count for status, count in statuses.items()})
    more = "+" if scan.lines > len(lines) or len(scan.text) > SEARCHED else ""
    ordered = sorted(levels.items(), key=lambda pair: (pair[0][0] not in "EFCSef", pair[1]))
    return "".join(f", {count}{more} {level}" for level, count in ordered[:5])


def _times(text: str) -> str:
    first = _TIME.search(text, 0, 300)
    last = _TIME.search(text, max(0, text.rfind("\n", 0, len(text) - 1)))
    return f", {first[0]} to {last[0]}" if first and last else ""


def _lines(text: str, errors: Spans, warnings: Spans, last: Spans, others: Spans) -> Iterator[Item]:
    yield from errors[:1]
    yield from last
    yield from tail(text, 1)
    yield from errors[1:3]
    yield from head(text, 1)
    yield from warnings[:1]
    for span in errors[:1]:
        yield from (*lines_after(text, span, 2), *lines_before(text, span[0], 1))
    yield from errors[3:6]
    yield from in_turn(head(text, 2), tail(text, 2), warnings[1:3])
    for span in errors[1:3]:
        yield from (*lines_before(text, span[0], 1), *lines_after(text, span, 1))
    yield from in_turn(errors[6:20], distinct(text, others)[:6], warnings[3:6])
    yield from both_ends(text)
