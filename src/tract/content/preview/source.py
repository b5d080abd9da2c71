"""Source files: an outline of their definitions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple

from tract.content.preview.lines import (
    Finding,
    LineSpan,
    Scan,
    are_rising,
    head,
    line_at,
    lines_at,
    share,
    tail,
)
from tract.content.text import counted, mark, name_list

_LISTED = 1000  # definitions are counted so far
NUMBER = r"[ \t]{0,10}\d{1,7}(?:→|\t|:|\| ?|│| \| |\. )"
_NUMBERED = re.compile(r"\n[ \t]{0,10}(\d{1,7})(?:→|\t|:|\|| \||│)")
_DOTTED = re.compile(r"\n[ \t]{0,10}(\d{1,7})\. ")
DEFINITION = re.compile(
    rf"\n(?:{NUMBER})?+([ \t]{{0,16}}+)(?=[a-zC]+[ *(<!])"
    r"(?:(?:export|default|pub(?:\([a-z]{1,8}\))?|async|static|public|private|protected|abstract"
    r"|final|unsafe|override|virtual|inline|extern|const|sealed|partial|data|declare|open|internal"
    r"|suspend|readonly) ){0,5}"
    r"(?:(?:def|class|func|function\*?|fn|struct|interface|impl(?:<[^>\n]{0,80}>)?|trait|enum|type"
    r"|module|mod|namespace|protocol|extension|record|object|fun|sub|defmodule|defp|macro_rules!"
    r"|union|procedure|CREATE (?:OR REPLACE )?(?:TABLE|VIEW|FUNCTION|INDEX))"
    r" {1,4}(?:IF NOT EXISTS )?(?:\([^)\n]{1,80}\) )?([A-Za-z_$][\w$.]{0,80})"
    r"|(?:const|let|var) ([\w$]{1,80})(?:: [^=\n]{1,120})? = (?:async )?"
    r"(?:function\b|\([^)\n]{0,200}\)[^=\n]{0,80}=>|\w+ =>)"
    r"|(?<=[a-z] )(?:[\w<>\[\],?]{1,60} )?([A-Za-z_]\w{0,80})\()"
)
_C_FUNCTION = re.compile(
    r"\n()[A-Za-z_][\w*&<>:, ]{0,100}[ *&]([A-Za-z_][\w:~]{0,80})"
    r"\([^;\n]{0,300}(?:\)[ \w]{0,20}\{?|,)[ \t\r]*(?=\n)"
)
_SHELL_FUNCTION = re.compile(r"\n()(?:function )?([A-Za-z_][\w-]{0,60})\(\) *\{")
_TARGET = re.compile(r"\n()([A-Za-z_.%][\w./%-]{0,60}):(?![=:])[^\n]*")
_CONSTANT = re.compile(r"\n()([A-Z_][A-Z0-9_]{2,60})(?:: [^=\n]{1,80})? = ")
_CODE_ENDS = ("{\n", "}\n", ";\n", ",\n", "=>\n")
_LIKELY_ENDS = (")\n", ":\n")  # if something else shows that it is code
IMPORT = re.compile(
    r"\n(?:import |from \S{1,100} import |package \w|#include |using \w|use \w+::|#!/|require "
    r"|const \w{1,60} = require|<\?php)"
)
CODE = {
    *("py", "pyi", "js", "jsx", "mjs", "cjs", "ts", "tsx", "go", "rs", "java", "kt", "c", "h", "cc"),
    *("cpp", "hpp", "cs", "rb", "php", "swift", "scala", "sh", "bash", "lua", "pl", "r", "jl", "ex"),
    *("exs", "sql", "vue", "svelte", "dart", "hs", "ml", "clj", "zig", "mk", "proto", "ps1", "css"),
}
_BY_EXTENSION = {"sh": _SHELL_FUNCTION, "bash": _SHELL_FUNCTION, "mk": _TARGET}


class _Definition(NamedTuple):
    start: int
    depth: int
    name: str


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
    is_code = scan.evidence.extension in CODE
    known = len(DEFINITION.findall(scan.sample)) + len(IMPORT.findall(scan.sample))
    if scan.lines < 60 and len(scan.text) > 300 * scan.lines:
        minified = _find_minified(scan, is_code)
        if minified:
            return minified
    ends = (*_CODE_ENDS, *_LIKELY_ENDS) if known else _CODE_ENDS
    looks = ending_share(scan, ends) + min(known, 3) * 0.1 + known / scan.sample_size
    if (scan.lines > 2 and looks >= 0.45) or (is_code and scan.lines > 1):
        return _file(scan, counted(scan.lines, "line"))
    return None


def ending_share(scan: Scan, ends: Iterable[str] = _CODE_ENDS) -> float:
    sample = scan.sample.replace("\r", "") + "\n"
    return sum(map(sample.count, ends)) / scan.sample_size


def _file(scan: Scan, summary: str) -> Finding:
    definitions = _definitions(scan)
    outer = [d for d in definitions if d.depth == 0]
    names = [d.name for d in outer or definitions]
    if definitions:
        about = f", {counted(len(definitions), 'definition', _LISTED)}: {name_list(names)}"
    else:  # the first line that is not blank, without its number
        texts = (_NUMBERED.sub("", "\n" + line).strip() for line in scan.text[:2000].split("\n"))
        about = f": {next(filter(None, texts), '')}"
    return Finding("file", f"file, {summary}{about}", _lines(scan, definitions, outer))


def _lines(
    scan: Scan, definitions: list[_Definition], outer: list[_Definition]
) -> Iterator[LineSpan]:
    text = scan.text
    yield from head(text, 1)
    classes = [d for d in outer if d.name[:1].isupper()]
    many = len(outer) > 12
    yield from lines_at(scan, (d.start for d in (classes if many else outer)[:40]))
    yield from lines_at(scan, (d.start for d in outer[:60]))
    yield from lines_at(scan, (d.start for d in definitions[:80]))
    yield from chain(head(text, 4), tail(text, 1))
    starts = (m.start() for m in islice(_CONSTANT.finditer(scan.hay), 20))
    yield from lines_at(scan, starts)
    yield from head(text, 60)


def _definitions(scan: Scan) -> list[_Definition]:
    own = _BY_EXTENSION.get(scan.evidence.extension)
    for pattern in (own,) if own else (DEFINITION, _C_FUNCTION, _SHELL_FUNCTION):
        matches = list(islice(pattern.finditer(scan.hay), _LISTED))
        if matches:
            return [_Definition(m.start(), len(m[1]), m[m.lastindex or 0]) for m in matches]
    return []


# --- minified --------------------------------------------------------------------------------

_MINIFIED = re.compile(
    r"(?<![\w$.])(?:(?:async )?function\*? ([\w$]{3,60})\(|class ([A-Z_$][\w$]{1,60})(?: extends [\w$.]+)?\{"
    r"|(?:exports|module\.exports|window|self|globalThis|root|\w+\.prototype|[\w$]+\.fn)"
    r"\.([\w$]{3,60})=(?!=)|key:\"([\w$]{3,60})\",value:function|(?:var|let|const) ([A-Z][\w$]{2,60})=" 
    r"|export\{([^{}\n]{1,400})\}|export (?:default |const |function |class )([\w$]{2,60}))"
)
_RULE = re.compile(r"(?:^|[}*/])([.#]?[a-zA-Z][\w. #:>,-]{1,60})\{")


def _find_minified(scan: Scan, is_code: bool) -> Finding | None:
    """Code in a few very long lines: the names of its definitions."""
    text = scan.text
    matches = list(islice(_MINIFIED.finditer(text, 0, 2_000_000), 600))
    dense = sum(text[:4000].count(sign) for sign in ";{}(,=") * 12 > min(len(text), 4000)
    if len(matches) < (1 if is_code else 3) or not dense:
        return None
    names = list(dict.fromkeys(next(filter(None, match.groups())) for match in matches))
    summary = (
        f"minified code, {counted(len(text), 'character')}, {counted(scan.lines, 'line')}, "
        f"{counted(len(names), 'definition', 600)}: {name_list(names)}"
    )
    rows = [mark("defines " + ", ".join(names[at : at + 8])) for at in range(0, min(len(names), 120), 8)]
    banner = head(text, 6) if text.lstrip().startswith("/*") else []
    return Finding("file", summary, chain(banner[:3], rows, banner, head(text, 2), tail(text, 1)))
