"""Tables: how many rows, which columns, the first and the last row."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator

from tract.content.preview.lines import (
    SEARCHED,
    Finding,
    Item,
    LineSpan,
    Scan,
    Spans,
    both_ends,
    head,
    in_turn,
    line_at,
    lines_after,
    share,
    tail,
    text_at,
)
from tract.content.text import counted, name_list

_END = r"[ \t\r]*+(?=\n|\Z)"
_MARKDOWN = re.compile(rf"\n\|[^\n]*\|[ \t\r]*\n\|[ \t:|-]+\|{_END}")
_ROW = re.compile(r"\n\|")
_BOX = re.compile(rf"\n[┌╭+][─━\-┬+=]{{3,}}[┐╮+]{_END}")
_BOX_RULE = re.compile(rf"\n[├└┌╰╭+╞┝][─━\-┼┴┬+=╪]{{3,}}[┤┘┐╯╮+╡┥]?{_END}")
_BOX_ROW = re.compile(r"\n[│|]")
_RULE = re.compile(rf"\n[ \t]*[|+]?-[-+| :]*-[|+]?{_END}")
_RULED = re.compile(rf"\n(?=[^\n]*\w)[^\n]*+\n([ \t]?[-=+][-=+| ]++){_END}")
_DASHES = re.compile(r"--+|==+")
_TOTAL = re.compile(r"\n\(?(\d+) rows?\)?(?: in set[^\n]*)?[ \t\r]*(?=\n|\Z)")
_CELL = r"[A-Z0-9_%()/+.-]{1,40}(?: [A-Z0-9_%()/-]{1,40}){0,4}"
_COLUMNS = re.compile(rf"\n {{0,8}}(?:{_CELL} {{2,60}}){{2,20}}{_CELL}[ \t\r]*\n")
_PRINTED = re.compile(r"\n {0,12}[A-Z%][A-Z%]{1,12}(?: +[A-Z%][\w%/+()-]*){2,20}[ \t\r]*\n")
_QUOTED = re.compile(r'"[^"\n]*"')
_DELIMITERS = {"\t": "TSV", ",": "CSV", ";": "CSV", "|": "table"}
_KNOWN = {"ps", "df", "docker", "kubectl", "free", "lsblk", "netstat", "ss", "lsof", "helm", "pip"}


def find_table(scan: Scan) -> Finding | None:
    if _MARKDOWN.match(scan.sample) and share(_ROW, scan) > 0.6:
        return _table(scan, "Markdown table", "|", scan.lines - 2, 0)
    return _boxed(scan) or _ruled(scan) or _aligned(scan) or _delimited(scan)


def _boxed(scan: Scan) -> Finding | None:
    first = _BOX.search(scan.sample, 0, 600)
    if first is None or share(_BOX_ROW, scan) + share(_BOX_RULE, scan) < 0.7:
        return None
    if first.end() >= len(scan.text):  # the end of a table, without its names
        return None
    rules = len(_BOX_RULE.findall(scan.hay))
    rows = len(_BOX_ROW.findall(scan.hay)) - 1
    total = _TOTAL.search(scan.hay, max(0, len(scan.hay) - 200))
    rows = int(total[1]) if total else rows
    start = line_at(scan.text, first.end())[0] if rules else 0
    return _table(scan, "table", "│" if "│" in scan.sample else "|", rows, start)


def _ruled(scan: Scan) -> Finding | None:
    """A line of names above a line of dashes: psql, sqlite, pip list."""
    start = scan.sample[:800]
    first = _RULED.search(start) if "--" in start or "==" in start else None
    if first is None or scan.hay.count("\n", 0, first.start()) > 5:
        return None
    if len(_DASHES.findall(first[1])) < 2:  # a heading has one line below it
        return None
    total = _TOTAL.search(scan.hay, max(0, len(scan.hay) - 300))
    rest = scan.text[first.end() - 1 :].rstrip()
    rows = int(total[1]) if total else rest.count("\n")
    delimiter = "|" if "|" in first[0] else "  "
    return _table(scan, "table", delimiter, rows, first.start())


def _aligned(scan: Scan) -> Finding | None:
    if _COLUMNS.match(scan.sample):
        return _table(scan, "table", "  ", _lines_below(scan.text, 0), 0)
    match = _PRINTED.search(scan.sample, 0, 900)
    if match is None or not (_PRINTED.match(scan.sample) or scan.evidence.program == "top"):
        return None
    return _table(scan, "table", " ", _lines_below(scan.text, match.start()), match.start())


def _lines_below(text: str, start: int) -> int:
    return text[start:].rstrip().count("\n")


def _delimited(scan: Scan) -> Finding | None:
    start = _QUOTED.sub("x", scan.sample) if '"' in scan.sample else scan.sample
    rows = [row.lstrip() for row in start.split("\n")[:40] if row.strip()]
    for delimiter, name in _DELIMITERS.items():
        if _is_regular(rows, delimiter):
            rules = len(_RULE.findall(scan.sample[:2000])) if delimiter == "|" else 0
            return _table(scan, name, delimiter, _records(scan, delimiter) - 1 - rules, 0)
    return None


def _records(scan: Scan, delimiter: str) -> int:
    """A quoted cell may have line breaks."""
    if delimiter == "|" or '"' not in scan.text or len(scan.text) > SEARCHED:
        return scan.lines
    try:
        return sum(1 for _ in csv.reader(scan.text.split("\n"), delimiter=delimiter))
    except csv.Error:
        return scan.lines


def _is_regular(rows: list[str], delimiter: str) -> bool:
    """Nearly every row has as many delimiters as the first one; prose and code do not."""
    width = rows[0].count(delimiter) if rows else 0
    if not width or len(rows) < (3 if width > 1 else 5):
        return False
    same = sum(row.count(delimiter) == width for row in rows)
    spaced = sum(", " in row or "; " in row for row in rows)
    ended = sum(row.rstrip().endswith((",", ";", "{", ")", "]")) for row in rows)
    is_prose = delimiter in ",;" and max(spaced, ended) * 2 > len(rows)
    return same >= 0.9 * len(rows) and not is_prose


def _table(scan: Scan, name: str, delimiter: str, rows: int, start: int) -> Finding:
    text = scan.text
    header = text[start : min(line_at(text, start)[1], start + 2000)].strip().strip(delimiter)
    cells = _QUOTED.sub(lambda match: match[0].replace(delimiter, " "), header).split(delimiter)
    if any(map(_is_number, cells)) and name in ("TSV", "CSV"):
        first = text_at(text, line_at(text, start), 200)
        shape = f"{counted(rows + 1, 'row')} × {counted(len(cells), 'column')}, no header"
        return Finding("table", f"{name}, {shape}: {first}", _lines(scan, start))
    columns = [cell.strip(' "\r│|') for cell in cells if cell.strip() or len(delimiter.strip())]
    shape = f"{counted(rows, 'row')} × {counted(len(columns), 'column')}"
    return Finding("table", f"{name}, {shape}: {name_list(columns)}", _lines(scan, start))


def _has_words(text: str, span: LineSpan) -> bool:
    """Whether it is a row and not a line or the number of rows."""
    line = text_at(text, span, 200)
    return any(map(str.isalnum, line)) and not re.match(r"\(?\d+ rows?", line)


def _odd_rows(text: str, rows: Spans) -> Spans:
    """Rows that have a value which is rare in a column of few values: the pod that crashes."""
    cells = [_SEPARATED.split(text_at(text, row, 300).strip(" |│")) for row in rows]
    width = Counter(map(len, cells)).most_common(1)[0][0] if len(cells) > 7 else 0
    pairs = [(row, values) for row, values in zip(rows, cells, strict=True) if len(values) == width]
    odd: Spans = []
    for column in range(1, min(width, 12)):
        counts = Counter(values[column] for _, values in pairs)
        rare = {value for value, count in counts.items() if count == 1 or count * 20 <= len(pairs)}
        if 1 < len(counts) <= 8 and len(rare) < len(counts):
            odd += [row for row, values in pairs if values[column] in rare]
    return list(dict.fromkeys(odd))[:3]


_SEPARATED = re.compile(r" (?: +|[|│,;] *)|\t|\| *|│ *|, *|; *")


def _is_number(cell: str) -> bool:
    return bool(re.fullmatch(r"\s*-?[\d.,]+[KMGT%]?\s*", cell))


def _lines(scan: Scan, start: int) -> Iterator[Item]:
    header = line_at(scan.text, start)
    rows = [s for s in lines_after(scan.text, header, 400) if _has_words(scan.text, s)]
    last = [s for s in tail(scan.text, 3) if _has_words(scan.text, s)]
    is_wide = header[1] - header[0] > 160  # then the summary must do for the names
    if not is_wide:
        yield header
    yield from in_turn(rows[:1], last[:1], _odd_rows(scan.text, rows), rows[:3], [header])
    yield from in_turn(head(scan.text, 5), tail(scan.text, 2), head(scan.text, 12))
    yield from both_ends(scan.text)
