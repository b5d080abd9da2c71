"""Complaints of checkers: how many of each rule and in each file, the rare ones first."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from typing import NamedTuple

from tract.content.preview.lines import Finding, Scan, Spans, in_turn, line_at, share, tail, text_at
from tract.content.text import counted, name_list, rows

_FORMS = (
    # path:3:5: E501 …, path(3,5): error TS2304: …, path:3: error: … [rule]
    re.compile(
        r"\n(?P<file>[^\s:(]{1,200}+)(?::\d+(?::\d+)?|\(\d+,\d+\))(?::| -) "
        r"(?:(?:error|warning):? )?(?P<rule>[A-Z]{1,6}\d{2,5}|invalid-syntax)\b"
    ),
    re.compile(
        r"\n(?P<file>[^\s:(]{1,200}+):\d+(?::\d+)?: (?:error|warning): [^\n]*\[(?P<rule>[\w-]+)\]"
    ),
    re.compile(
        r"\n(?P<rule>[A-Z]{1,4}\d{3,4}|[a-z]+(?:-[a-z]+)+)(?: "
        r"|: )[^\n]*\n +--> (?P<file>[^\s:]+):\d+"
    ),
)
_WORDS = (":", "("), (": error: ", ": warning: "), (" --> ",)
"""Each match has one of these, and to find none of them is faster than to match nothing."""
_TOTAL = re.compile(r"\n(?:Found |✖ )?([1-9]\d* (?:errors?|problems?)[^\n]{0,80})(?=\n|\Z)")
_MOST = 5000


class _Complaint(NamedTuple):
    start: int
    rule: str
    file: str


def find_lint(scan: Scan) -> Finding | None:
    for form, words in zip(_FORMS, _WORDS, strict=True):
        if not any(word in scan.sample for word in words):
            continue
        matches = list(islice(form.finditer(scan.sample), 2))
        if len(matches) < 2 or (form is not _FORMS[2] and share(form, scan) < 0.3):
            continue
        complaints = [
            _Complaint(m.start(), m["rule"], m["file"])
            for m in islice(form.finditer(scan.hay), _MOST)
        ]
        return _lint(scan, complaints)
    return None


def _lint(scan: Scan, complaints: list[_Complaint]) -> Finding:
    rules = Counter(complaint.rule for complaint in complaints)
    files = Counter(complaint.file for complaint in complaints)
    total = _TOTAL.search(scan.hay, max(0, len(scan.hay) - 600))
    count = total[1].strip() if total else counted(len(complaints), "complaint", _MOST)
    by_rule = [f"{rule} {number}" for rule, number in rules.most_common(60)]
    by_file = [f"{file} {number}" for file, number in files.most_common(40)]
    rare = _rare_first(scan, complaints, rules)
    first = text_at(scan.text, rare[0])
    summary = (
        f"failed, {count} in {counted(len(files), 'file')}, such as: {first}; {name_list(by_rule)}"
    )
    items = in_turn(
        *(
            _with_place(scan, rare[:2]),
            rows("by rule", by_rule, 8)[:2],
            rows("by file", by_file, 5)[:2],
        ),
        *(_with_place(scan, rare[2:8]), tail(scan.text, 1), rows("by rule", by_rule, 8)),
        *(rows("by file", by_file, 5), _with_place(scan, rare[8:30])),
    )
    return Finding("failure", summary, items, True)


def _rare_first(scan: Scan, complaints: list[_Complaint], rules: Counter[str]) -> Spans:
    """One of each rule. What is broken once tells more than what is broken everywhere."""
    first: dict[str, int] = {}
    for complaint in complaints:
        first.setdefault(complaint.rule, complaint.start)
    ordered = sorted(
        first.items(),
        key=lambda pair: (not pair[0].startswith(("invalid", "E9", "F8", "TS")), rules[pair[0]]),
    )
    return [line_at(scan.text, start) for _, start in ordered]


def _with_place(scan: Scan, spans: Spans) -> Spans:
    """Some checkers print the position in the line below."""
    text = scan.text
    pairs = [(span, line_at(text, min(span[1] + 1, len(text)))) for span in spans]
    return [
        s
        for span, below in pairs
        for s in ((span, below) if "-->" in text_at(text, below) else (span,))
    ]
