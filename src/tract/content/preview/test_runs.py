"""Test runs: which tests failed, why, where, and how many there were."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from tract.content.preview.lines import (
    Finding,
    Item,
    LineSpan,
    Scan,
    Spans,
    both_ends,
    distinct,
    in_turn,
    line_starts,
    lines_after,
    lines_at,
    tail,
    text_at,
)
from tract.content.text import counted, name_list

_COLOR = r"(?:\x1b\[[\d;]{0,12}m){0,3}+"
_END = r"[ \t\r]*+(?=\n|\Z)"
_NEAR = 4000

_TOTALS = re.compile(
    rf"\n{_COLOR}[ \t]{{0,8}}+{_COLOR}(?:"
    r"=+ [^\n]{0,120}?(?:passed|failed|errors?|skipped|deselected|no tests ran)[^\n]{0,80}?"
    r" in \d[^\n]*"
    r"|\d+ (?:passed|failed|skipped|errors?)\b[^\n]{0,100} in \d[\d.]*s[^\n]*"
    r"|Tests: {1,12}(?:\x1b|\d)[^\n]*(?:total|passed|failed)[^\n]*"
    r"|Test(?:s| Files) {1,4}(?:\x1b\[[\d;]{1,9}m){0,4}\d+ (?:passed|failed)[^\n]*"
    r"|test result: [^\n]+|Ran \d+ tests? (?:in|across) [^\n]+"
    r"|(?:\[\w+\] )?Tests run: \d[^\n]*|\d+ tests completed, [^\n]*"
    r"|\d+ (?:passing|failing)\b[^\n]*|[#ℹ] (?:tests|pass|fail) \d+"
    r"|\d+ examples?, \d+ failures?[^\n]*|\d+ runs?, \d+ assertions?, \d+ failures[^\n]*"
    r"|Tests: \d+, Assertions: \d+[^\n]*|OK \(\d+ tests?[^\n]*\)"
    r"|Total tests: \d+[^\n]*|\[  (?:PASSED|FAILED)  \] \d+ tests?[^\n]*"
    r"|\d+% tests passed, \d+ tests failed[^\n]*|DONE \d+ tests[^\n]*"
    r"|(?:ok|FAIL)[ \t]+\S+[ \t]+(?:[\d.]+s|\(cached\)|\[build failed\])[^\n]*|PASS|FAIL"
    rf"|FAILED \([^\n]+\)|OK(?: \(\w+=\d[^\n]*\))?){_END}"
)
_TESTING = re.compile(
    r"\n(?:=+ test session starts =+|=== RUN |running \d+ tests?|TAP version \d"
    r"|(?:PASS|FAIL) \S+\.(?:test|spec)\.\w|\[=+\] Running \d+ tests|Test project /)"
)
_FAILED_TOTAL = re.compile(
    r"(?<![\d.])(?!0\b)\d+ (?:failed|errors?|failing|failures?|tests failed)\b"
    r"|(?:failures|errors|Failures|Errors|failed|Failed)[=:] ?[1-9]|FAILED|\nFAIL\b|[#ℹ] fail [1-9]"
)

# The name of a failing test, in the words of each runner.
_NAME = re.compile(
    rf"\n{_COLOR}(?:(?:FAILED|ERROR) \S+(?:::|\.py)|[ \t]{{0,12}}--- FAIL: |(?:FAIL|ERROR): \S"
    r"|test [^\n]{1,200} \.\.\. FAILED|\(fail\) |[ \t]{0,12}not ok \d"
    r"|[ \t]{1,8}● [^\n]{1,200}|[ \t]*FAIL  [^\n]{1,200} > |FAIL\t\S+\t"
    r"|[ \t]*[✕✖✗×] (?!failing)[^\n]{3,200}"
    r"|[ \t]{1,8}\d+\) \S|rspec \./|\[ERROR\] (?:  )?\w[\w.$]*(?:\.|:\d)[^\n]*"
    r"|\w[\w. ()]* > [^\n]{1,160} FAILED|\[  FAILED  \] \w|\d+/\d+ Test +#\d+: [^\n]*\*\*\*Failed"
    r"|FAIL \S+\.(?:test|spec)\.\w)"
)
_REASON = re.compile(
    rf"\n{_COLOR}(?:E {{2,8}}\S|[ \t]*(?:\w+\.)*(?:Assertion\w*|\w*(?:Error"
    rf"|Exception))(?: \[\w+\])?: [^\n]"
    r"|[ \t]*(?:Expected|Received|expected|actual|Actual|got|want|left|right)[^\n:]{0,30}: {0,8}\S"
    r"|[ \t]*(?:Failure/Error:|error: )|[ \t]+\w[\w./-]*_test\.go:\d+: |[ \t]+\w[\w./-]*\.go:\d+: "
    r"|assertion [^\n]* failed|thread '[^\n]{1,200}panicked at|panic: |[ \t]*Received function"
    r"|[ \t]*expect\([^\n]+\)\."
    r"|[\w./-]{1,200}:\d+: Failure|[ \t]*(?:\[ERROR\] )?\S*(?:Error|Exception|Failure"
    r"|FailedError): )"
)
_PLACE = re.compile(
    rf"\n{_COLOR}(?:[\w./\\-]+\.py:\d+: \w|[ \t]+at [^\n]*?[\w./-]+\.\w+:\d+(?::\d+)?\)?{_END}"
    rf"|[ \t]*❯ [\w./-]+:\d+:\d+|[ \t]*# \./\S+:\d+|[ \t]*location: [^\n]+"
    rf"|  File \"[^\"\n]+\", line \d+, in test"
    r"|[ \t]*> \d+ \|)"
)
_REASON_WORDS = (
    *("E  ", "rror", "xception", "ssertion", "xpect", "eceived", "ctual", "got", "want", "left"),
    *("right", ".go:", "panic", "Failure"),
)
_PLACE_WORDS = (".py:", " at ", "\tat ", "❯ ", "# ./", "location: ", '  File "', "> ")
"""Each match has one of these: to look at their lines alone takes a tenth of the time."""
_NOISE = re.compile(r"node:internal|node_modules|site-packages|java\.base|junit\.|/rustc/")


def find_test(scan: Scan) -> Finding | None:
    ends = list(_TOTALS.finditer(scan.hay, max(0, len(scan.hay) - _NEAR)))
    if not ends and not _TESTING.search(scan.sample):
        return None
    if all(match[0].strip() in ("OK", "PASS", "FAIL") for match in ends) and not _is_go(scan):
        return None
    totals = [match[0].strip("= \n\r\t") for match in ends]
    failed = any(_FAILED_TOTAL.search("\n" + total) for total in totals)
    names = lines_at(scan, (match.start() for match in islice(_NAME.finditer(scan.hay), 200)))
    failures = _named(scan.text, names) if failed or not ends else []
    about = _verdict(scan, totals, failures)
    lines = _lines(scan, lines_at(scan, (match.start() for match in ends[-4:])), failures)
    return Finding("test", f"tests: {about}", lines, failed or (not ends and bool(failures)))


def _is_go(scan: Scan) -> bool:
    return "\n--- " in scan.hay or "\n=== RUN" in scan.hay or "\nok  \t" in scan.hay


def _named(text: str, names: Spans) -> Spans:
    """One line for each failing test. A summary that gives reasons says it best."""
    reasoned = [span for span in names if " - " in text_at(text, span)]
    best = [s for s in reasoned if text.startswith(("FAILED ", "ERROR "), s[0])]
    if best:
        return _varied(text, best)
    first: dict[str, LineSpan] = {}
    for span in names:
        first.setdefault(re.sub(r"\W+|\d+", "", text_at(text, span, 200)), span)
    return list(first.values())


def _varied(text: str, names: Spans) -> Spans:
    """Of a test with many parameters, one failure comes first and the others after all tests."""
    first: dict[str, LineSpan] = {}
    for span in names:
        first.setdefault(text_at(text, span).partition("[")[0].partition(" - ")[0], span)
    return list(dict.fromkeys((*first.values(), *names)))


def _verdict(scan: Scan, totals: list[str], failures: Spans) -> str:
    summary = _totals_of(scan, totals)
    names = [_name_in(text_at(scan.text, span, 200)) for span in failures[:4]]
    return f"{summary}: {name_list(filter(None, names))}" if names else summary


_DECORATION = re.compile(
    r"\x1b\[[\d;]*m|^\s*(?:FAILED|ERROR:?|FAIL:?|--- FAIL:|not ok \d+ -?|\(fail\)|●|[✕✖✗×]"
    r"|\d+\)|test(?=\s)"
    r"|rspec(?=\s)|\[ERROR\]|\[  FAILED  \])\s*| \.\.\. FAILED$| \(\d[\d.]*\s?m?s\)| - .*$|\s+#.*$"
)


def _name_in(line: str) -> str:
    return _DECORATION.sub("", _DECORATION.sub("", line)).strip()


_ZEROS = re.compile(r"; 0 [a-z]+(?: out)?|; finished in [\d.]+s")


def _totals_of(scan: Scan, ends: list[str]) -> str:
    failed = scan.hay.count("\n--- FAIL: ")
    passed = scan.hay.count("\n--- PASS: ")
    good, bad = scan.hay.count("\nok  \t"), scan.hay.count("\nFAIL\t")
    if failed or passed or good or bad:  # Go has no line with totals
        tests = f"{failed} failed, {passed} passed; " if failed or passed else ""
        return f"{tests}{counted(good, 'package')} ok, {bad} failed"
    counts = [_ZEROS.sub("", end) for end in ends if re.search(r"\d", end)] or ends
    return "; ".join(dict.fromkeys(counts[-3:])) or "no totals"


def _lines(scan: Scan, totals: Spans, failures: Spans) -> Iterator[Item]:
    text = scan.text
    reasons = distinct(text, _in_failures(scan, _reasons(scan))) if failures else []
    places = _in_failures(scan, _matches(_PLACE, _PLACE_WORDS, scan)) if failures else []
    places = [span for span in places if not _NOISE.search(text_at(text, span))]
    yield from failures[:2]
    if failures and " - " not in text_at(text, failures[0]):
        yield from reasons[:2]
    yield from reasons[:1]
    yield from places[:1]
    yield from totals[-1:]
    yield from reasons[:2]
    yield from failures[2:4]
    for number in range(2, 5):
        yield from reasons[number : number + 1]
        yield from places[number - 1 : number]
    for span in failures[:2]:
        yield from lines_after(text, span, 1)
    yield from totals
    yield from failures[4:16]
    for span in reasons[:6]:
        yield from lines_after(text, span, 1)
    yield from in_turn(reasons[5:12], places[4:8], failures[16:40])
    yield from tail(text, 3)
    yield from both_ends(text)


def _in_failures(scan: Scan, spans: Spans) -> Spans:
    """What failed before what could not be set up, which pytest prints first."""
    start = scan.hay.find("= FAILURES =")
    return sorted(spans, key=lambda span: (span[0] < start, span[0]))


def _reasons(scan: Scan) -> Spans:
    """The lines that say why. Rust prints the reason below the position."""
    spans: Spans = []
    for span in _matches(_REASON, _REASON_WORDS, scan):
        spans.append(span)
        if text_at(scan.text, span).endswith(":"):
            spans += lines_after(scan.text, span, 1)
    return list(dict.fromkeys(spans))


def _matches(pattern: re.Pattern[str], words: Sequence[str], scan: Scan) -> Spans:
    starts = (start for start in line_starts(scan.hay, words) if pattern.match(scan.hay, start))
    return lines_at(scan, islice(starts, 100))
