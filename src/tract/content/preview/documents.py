"""Files, tables, pages, plain text, and data that is not text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain, islice

from tract.content.preview.body import DATA_URL, data_url, decoded_size, is_base64
from tract.content.preview.lines import (
    SEARCHED,
    Finding,
    Scan,
    are_rising,
    edges,
    edges_and_errors,
    head,
    line_at,
    lines_at,
    share,
    tail,
)
from tract.content.text import counted, fit, mark, name_list, size

_LISTED = 1000  # definitions and headings are counted so far
_END = r"[ \t\r]*+(?=\n|\Z)"


def find_text(scan: Scan) -> Finding:
    first = next((line for line in scan.text[:2000].split("\n") if line.strip()), "")
    summary = first if scan.lines == 1 else f"{counted(scan.lines, 'line')}: {first}"
    return Finding("text", summary, edges_and_errors(scan))


# --- data ------------------------------------------------------------------------------------

_CONTROL = re.compile("[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f-\x9f\ufffd]")
_PROBED = 2000
_MAGIC = {
    "\x89PNG": "image/png",
    "iVBORw0KGg": "image/png",
    "\xff\xd8\xff": "image/jpeg",
    "/9j/": "image/jpeg",
    "GIF8": "image/gif",
    "R0lGOD": "image/gif",
    "UklGR": "RIFF",
    "%PDF-": "application/pdf",
    "JVBERi0": "application/pdf",
    "PK\x03\x04": "application/zip",
    "UEsDB": "application/zip",
    "\x1f\x8b": "application/gzip",
    "H4sI": "application/gzip",
    "\x7fELF": "ELF",
}


def find_binary(text: str) -> Finding | None:
    """Type and size of what is not text, never the data."""
    if DATA_URL.match(text):
        return _opaque(data_url(text))
    if len(text) >= 200 and is_base64(text):
        return _opaque(f"{_magic(text) or 'base64'}, {size(decoded_size(text))}")
    probe = text[:_PROBED]
    controls = len(_CONTROL.findall(probe))
    escaped = probe[:2] in ("b'", 'b"') and probe.count("\\x") * 20 > len(probe)
    if escaped or controls * 10 > len(probe) or (controls and _magic(text)):
        return _opaque(f"{_magic(text) or 'binary'}, {counted(len(text), 'character')}")
    return None


def _opaque(summary: str) -> Finding:
    return Finding("binary", summary, preview=lambda room: fit([mark(summary)], room))


def _magic(text: str) -> str | None:
    return next((kind for start, kind in _MAGIC.items() if text.startswith(start)), None)


# --- files -----------------------------------------------------------------------------------

_NUMBER = r"[ \t]{0,10}\d{1,7}(?:→|\t|:|\| ?|│| \| |\. )"
_NUMBERED = re.compile(r"\n[ \t]{0,10}(\d{1,7})(?:→|\t|:|\|| \||│)")
_DOTTED = re.compile(r"\n[ \t]{0,10}(\d{1,7})\. ")
_DEFINITION = re.compile(
    rf"\n(?:{_NUMBER})?+([ \t]{{0,16}}+)(?=[a-zC]+[ *(<!])"
    r"(?:(?:export|default|pub(?:\([a-z]{1,8}\))?|async|static|public|private|protected|abstract"
    r"|final|unsafe|override|virtual|inline|extern|const|sealed|partial|data|declare|open|internal"
    r"|suspend|readonly) ){0,5}"
    r"(?:(?:def|class|func|function\*?|fn|struct|interface|impl(?:<[^>\n]{0,80}>)?|trait|enum|type"
    r"|module|mod|namespace|protocol|extension|record|object|fun|sub|defmodule|defp|macro_rules!"
    r"|union|procedure|CREATE (?:OR REPLACE )?(?:TABLE|VIEW|FUNCTION|INDEX))"
    r" {1,4}(?:\([^)\n]{1,80}\) )?([A-Za-z_$][\w$.]{0,80})"
    r"|(?:const|let|var) ([\w$]{1,80})(?:: [^=\n]{1,120})? = (?:async )?"
    r"(?:function\b|\([^)\n]{0,200}\)[^=\n]{0,80}=>|\w+ =>)"
    r"|(?<=[a-z] )(?:[\w<>\[\],?]{1,60} )?([A-Za-z_]\w{0,80})\()"
)
_C_FUNCTION = re.compile(
    r"\n()[A-Za-z_][\w*&<>:, ]{0,100}[ *&]([A-Za-z_][\w:~]{0,80})"
    r"\([^;\n]{0,300}(?:\)[ \w]{0,20}\{?|,)[ \t\r]*(?=\n)"
)
_CODE_ENDS = ("{\n", "}\n", ";\n", ",\n", "=>\n")
_LIKELY_ENDS = (")\n", ":\n")  # if something else shows that it is code
_IMPORT = re.compile(
    r"\n(?:import |from \S{1,100} import |package \w|#include |using \w|use \w+::|#!/|require "
    r"|const \w{1,60} = require|<\?php)"
)
_HEADING = re.compile(rf"\n(?:{_NUMBER})?+(#{{1,6}}) ([^\n]{{1,200}})")


def find_numbered(scan: Scan) -> Finding | None:
    """A file whose lines came with their numbers."""
    pattern, least = (_NUMBERED, 0.6) if share(_NUMBERED, scan) >= 0.6 else (_DOTTED, 0.95)
    numbers = pattern.findall(scan.sample[:4000])
    if len(numbers) < 2 or share(pattern, scan) < least or not are_rising(numbers, by_one=True):
        return None
    first = scan.text[slice(*line_at(scan.text, 0))]
    if ("\t" in first or "|" in first) and not pattern.match(scan.hay):
        return None  # a table with numbered rows
    last = pattern.findall(scan.hay, max(0, len(scan.hay) - 4000)) or numbers
    return _file(scan, f"lines {numbers[0]}–{last[-1]}")


def find_source(scan: Scan) -> Finding | None:
    known = len(_DEFINITION.findall(scan.sample)) + len(_IMPORT.findall(scan.sample))
    ends = (*_CODE_ENDS, *_LIKELY_ENDS) if known else _CODE_ENDS
    looks = _ending_share(scan, ends) + min(known, 3) * 0.1 + known / scan.sample_size
    return _file(scan, counted(scan.lines, "line")) if scan.lines > 2 and looks >= 0.45 else None


def _ending_share(scan: Scan, ends: Iterable[str]) -> float:
    sample = scan.sample.replace("\r", "") + "\n"
    return sum(map(sample.count, ends)) / scan.sample_size


def _file(scan: Scan, summary: str) -> Finding:
    noun, outline = _outline(scan)
    lines = lines_at(scan, (place for place, _, _ in outline))
    outer = [span for span, (_, depth, _) in zip(lines, outline, strict=True) if depth == 0]
    names = [name for _, depth, name in outline if depth == 0] or [name for _, _, name in outline]
    if outline:
        about = f", {counted(len(outline), noun, _LISTED)}: {name_list(names)}"
    else:  # the first line that is not blank, without its number
        texts = (_NUMBERED.sub("", "\n" + line).strip() for line in scan.text[:2000].split("\n"))
        about = f": {next(filter(None, texts), '')}"
    first, last = head(scan.text, 60), tail(scan.text, 1)
    spans = chain(first[:4], outer[:40], lines[:80], last, first)
    return Finding("file", f"file, {summary}{about}", spans)


def _outline(scan: Scan) -> tuple[str, list[tuple[int, int, str]]]:
    """Position, depth and name of each definition, or if there are none of each heading."""
    for pattern in (_DEFINITION, _C_FUNCTION):
        matches = list(islice(pattern.finditer(scan.hay), _LISTED))
        if matches:
            return "definition", [(m.start(), len(m[1]), m[m.lastindex or 0]) for m in matches]
    headings = list(islice(_HEADING.finditer(scan.hay), _LISTED))
    return "heading", [(match.start(), len(match[1]) - 1, match[2]) for match in headings]


# --- tables ----------------------------------------------------------------------------------

_MARKDOWN_TABLE = re.compile(rf"\n\|[^\n]*\|[ \t\r]*\n\|[ \t:|-]+\|{_END}")
_ROW = re.compile(r"\n\|")
_RULE = re.compile(rf"\n[ \t]*[|+]?-[-+| :]*-[|+]?{_END}")
_CELL = r"[A-Z0-9_%()/-]{1,40}(?: [A-Z0-9_%()/-]{1,40}){0,4}"
_COLUMNS = re.compile(rf"\n(?:{_CELL} {{2,60}}){{2,20}}{_CELL}[ \t\r]*\n")
_QUOTED = re.compile(r'"[^"\n]*"')
_DELIMITERS = {"\t": "TSV", ",": "CSV", ";": "CSV", "|": "table"}


def find_table(scan: Scan) -> Finding | None:
    if _MARKDOWN_TABLE.match(scan.sample) and share(_ROW, scan) > 0.6:
        return _table(scan, "Markdown table", "|", scan.lines - 2)
    if _COLUMNS.match(scan.sample):
        return _table(scan, "table", "  ", scan.lines - 1)
    rows = [_QUOTED.sub("x", row.lstrip()) for row in scan.sample.split("\n")[:40] if row.strip()]
    for delimiter, name in _DELIMITERS.items():
        if _is_regular(rows, delimiter):
            rules = len(_RULE.findall(scan.sample[:2000])) if delimiter == "|" else 0
            return _table(scan, name, delimiter, scan.lines - 1 - rules)
    return None


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


def _table(scan: Scan, name: str, delimiter: str, rows: int) -> Finding:
    header = scan.text[: min(line_at(scan.text, 0)[1], 2000)].strip().strip(delimiter)
    cells = _QUOTED.sub(lambda match: match[0].replace(delimiter, " "), header).split(delimiter)
    columns = [cell.strip(' "\r') for cell in cells if cell.strip() or delimiter != "  "]
    shape = f"{counted(rows, 'row')} × {counted(len(columns), 'column')}"
    return Finding("table", f"{name}, {shape}: {name_list(columns)}", edges(scan))


# --- pages -----------------------------------------------------------------------------------

_MARKED_UP = re.compile(
    r"\s{0,200}<(?:!doctype html|\?xml |!--|(?:html|head|body|div|svg|rss|table|main)[\s>])",
    re.IGNORECASE,
)
_TITLE = re.compile(r"<(?:title|TITLE)(?: [^<>]{0,200})?>([^<]{0,300})</(?:title|TITLE)>")
_HTML_HEADING = re.compile(
    r"<[hH][1-6](?:\s[^<>]{0,400})?>[^<]{0,300}(?:<(?!/?[hH][1-6])[^<]{0,300}){0,8}</[hH][1-6]>"
)
_TAG = re.compile(r"<[^<>]{0,400}>")


def find_html(scan: Scan) -> Finding | None:
    text = scan.text
    if not _MARKED_UP.match(text):
        return None
    title = _TITLE.search(text, 0, SEARCHED)
    matches = list(islice(_HTML_HEADING.finditer(text, 0, SEARCHED), _LISTED))
    headings = (" ".join(_TAG.sub(" ", match[0]).split()) for match in matches[:12])
    summary = "XML" if text.lstrip()[:5] == "<?xml" and "<html" not in text[:1000] else "HTML"
    summary += f", title: {title[1].strip()}" if title else f", {counted(scan.lines, 'line')}"
    if matches:
        summary += f"; {counted(len(matches), 'heading', _LISTED)}: {name_list(headings)}"
    spans = [match.span() for match in (title, *matches[:80]) if match and "\n" not in match[0]]
    return Finding("html", summary, chain(spans[:20], head(text, 6), spans[20:], head(text, 60)))


_TOP_HEADING = re.compile(r"\n(#{1,6}) ([^\n]{1,200})")
_PROSE = re.compile(r"\*\*\S|\]\(|`\S|\n```|\n> |\n[-*] [A-Z`*\[]")


def find_markdown(scan: Scan) -> Finding | None:
    matches = list(islice(_TOP_HEADING.finditer(scan.hay), _LISTED))
    if not matches or scan.lines < 3 or _is_code(scan):
        return None
    deep = sum(len(match[1]) > 1 for match in matches)
    if deep < 2 and not _PROSE.search(scan.sample):
        return None
    names = [match[2].strip() for match in sorted(matches, key=lambda match: len(match[1]))]
    count = counted(len(matches), "heading", _LISTED)
    summary = f"Markdown, {counted(scan.lines, 'line')}, {count}: {name_list(names)}"
    spans = lines_at(scan, (match.start() for match in matches[:80]))
    return Finding("markdown", summary, chain(head(scan.text, 3), spans, edges(scan)))


def _is_code(scan: Scan) -> bool:
    """Code with comments that look like headings. Code between fences does not count."""
    known = _DEFINITION.search(scan.sample) or _IMPORT.search(scan.sample)
    fenced = "\n```" in scan.sample
    return scan.text[:2] == "#!" or (
        bool(known) and not fenced and _ending_share(scan, _CODE_ENDS) > 0.2
    )
