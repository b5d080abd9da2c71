"""Source files: an outline of their definitions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from tract.content.preview.lines import (
    Finding,
    Item,
    Scan,
    head,
    in_turn,
    lines_at,
    tail,
)
from tract.content.text import counted, mark, name_list, rows, size

_LISTED = 1000  # definitions are counted so far
DEFINITION = re.compile(
    r"\n([ \t]{0,16}+)(?=(?:[a-z$_]+|CREATE|[A-Z][\w$]*\.)[ *(<!.\w])"
    r"(?:(?:export|default|pub(?:\([a-z]{1,8}\))?|async|static|public|private|protected|abstract"
    r"|final|unsafe|override|virtual|inline|extern|const|sealed|partial|data|declare|open|internal"
    r"|suspend|readonly) ){0,5}"
    r"(?:(?:def|class|func|function\*?|fn|struct|interface|impl(?:<[^>\n]{0,80}>)?|trait|enum|type"
    r"|module|mod|namespace|protocol|extension|record|object|fun|sub|defmodule|defp|macro_rules!"
    r"|union|procedure|(?:CREATE|create) (?:(?:OR REPLACE|UNIQUE|TEMP|TEMPORARY|or replace"
    r"|unique) )?"
    r"(?:TABLE|VIEW|FUNCTION|INDEX|TRIGGER|TYPE|table|view|function|index|trigger|type))"
    r" {1,4}(?:IF NOT EXISTS )?(?:\([^)\n]{1,80}\) )?([A-Za-z_$][\w$.]{0,80})"
    r"|(?:const|let|var) ([\w$]{1,80})(?:: [^=\n]{1,120})? = (?:async )?"
    r"(?:function\b|\([^)\n]{0,200}\)[^=\n]{0,80}=>|\w+ =>)"
    r"|(?<=declare )(?:const|let|var) ([\w$]{1,80})"
    r"|([A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*){1,4}) = (?:async )?(?:function\b"
    r"|\([^)\n]{0,200}\) =>)"
    r"|(?<=[a-z] )(?:[\w<>\[\],?]{1,60} )?([A-Za-z_]\w{0,80})\()"
)
_C_FUNCTION = re.compile(
    r"\n()[A-Za-z_][\w*&<>:, ]{0,100}[ *&]([A-Za-z_][\w:~]{0,80})"
    r"\([^;\n]{0,300}(?:\)[ \w]{0,20}\{?|,)[ \t\r]*(?=\n)"
)
_SHELL_FUNCTION = re.compile(r"\n()(?:function )?([A-Za-z_][\w-]{0,60})\(\) *\{")
_TARGET = re.compile(r"\n()([A-Za-z_.%][\w./%-]{0,60}):(?![=:])[^\n]*")
_CONSTANT = re.compile(r"\n()([A-Z_][A-Z0-9_]{2,60})(?:: [^=\n]{1,80})? = ")
_PACKAGE = re.compile(r"\n(?:package|module|namespace) [\w.\\\\/]{1,100};?[ \t\r]*(?=\n|\Z)")
_CODE_ENDS = ("{\n", "}\n", ";\n", ",\n", "=>\n")
_LIKELY_ENDS = (")\n", ":\n")  # if something else shows that it is code
IMPORT = re.compile(
    r"\n(?:import |from \S{1,100} import |package \w|#include |using \w|use \w+::|#!/|require "
    r"|const \w{1,60} = require|<\?php)"
)
CODE = {
    *(
        "py",
        "pyi",
        "js",
        "jsx",
        "mjs",
        "cjs",
        "ts",
        "tsx",
        "go",
        "rs",
        "java",
        "kt",
        "c",
        "h",
        "cc",
    ),
    *(
        "cpp",
        "hpp",
        "cs",
        "rb",
        "php",
        "swift",
        "scala",
        "sh",
        "bash",
        "lua",
        "pl",
        "r",
        "jl",
        "ex",
    ),
    *("exs", "sql", "vue", "svelte", "dart", "hs", "ml", "clj", "zig", "mk", "proto", "ps1", "css"),
}
_BY_EXTENSION = {"sh": _SHELL_FUNCTION, "bash": _SHELL_FUNCTION, "mk": _TARGET}


class _Definition(NamedTuple):
    start: int
    depth: int
    name: str


def find_source(scan: Scan) -> Finding | None:
    is_code = scan.evidence.extension in CODE
    known = len(DEFINITION.findall(scan.sample)) + len(IMPORT.findall(scan.sample))
    if len(scan.text) > 250 * scan.lines:
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
    outer = [d for d in definitions if d.depth == 0] or definitions
    names = [d.name for d in outer]
    if scan.evidence.extension == "sql" or "\nCREATE TABLE " in scan.sample:
        tables = len(re.findall(r"\nCREATE (?:TEMP(?:ORARY)? )?TABLE ", scan.hay))
        summary += f", {counted(tables, 'table')}"
    if definitions:
        about = f", {counted(len(definitions), 'definition', _LISTED)}: {name_list(names)}"
    else:
        about = (
            f": {next((s for line in scan.text[:2000].split(chr(10)) if (s := line.strip())), '')}"
        )
    return Finding("file", f"file, {summary}{about}", _lines(scan, definitions, outer))


def _lines(scan: Scan, definitions: list[_Definition], outer: list[_Definition]) -> Iterator[Item]:
    text = scan.text
    yield from head(text, 1)
    package = _PACKAGE.search(scan.hay, 0, 8000)
    if package:
        yield from lines_at(scan, [package.start()])
    index = _index(scan, definitions, outer)
    yield from index[:3]
    largest = sorted(_by_size(scan, outer)[:4])
    yield from lines_at(scan, (d.start for d in largest))
    yield from index[3:]
    yield from lines_at(scan, (d.start for d in outer[:60]))
    yield from lines_at(scan, (d.start for d in definitions[:80]))
    yield from in_turn(head(text, 4), tail(text, 1))
    starts = (m.start() for m in islice(_CONSTANT.finditer(scan.hay), 20))
    yield from lines_at(scan, starts)
    yield from head(text, 60)


def _index(scan: Scan, definitions: list[_Definition], outer: list[_Definition]) -> list[str]:
    """Lines and names, a few to a row. The largest definitions come first: they are what a file is
    about."""
    if len(definitions) < 6:
        return []
    ordered = _by_size(scan, outer)
    inner = _by_size(scan, [d for d in definitions if d not in outer])
    numbers = scan.numbers(d.start for d in definitions)
    parts = [
        group[at : at + 6] for group in (ordered, inner) for at in range(0, min(len(group), 90), 6)
    ]
    return [
        mark(
            "definitions by line: "
            + ", ".join(f"{numbers[d.start]} {d.name}" for d in sorted(part))
        )
        for part in parts
    ]


def _by_size(scan: Scan, definitions: list[_Definition]) -> list[_Definition]:
    ends = [d.start for d in definitions[1:]] + [len(scan.hay)]
    sizes = {d: end - d.start for d, end in zip(definitions, ends, strict=False)}
    return sorted(definitions, key=lambda d: -sizes[d])


def _definitions(scan: Scan) -> list[_Definition]:
    own = _BY_EXTENSION.get(scan.evidence.extension)
    for pattern in (own,) if own else (DEFINITION, _C_FUNCTION, _SHELL_FUNCTION):
        matches = list(islice(pattern.finditer(scan.hay), _LISTED))
        if matches:
            return [_Definition(m.start(), len(m[1]), m[m.lastindex or 0]) for m in matches]
    return []


# --- minified --------------------------------------------------------------------------------

_MINIFIED = tuple(
    map(
        re.compile,
        (
            r"function\*? ([\w$]{3,60})\(",
            r"class ([A-Z_$][\w$]{1,60})(?: extends [\w$.]+)?\{",
            r"\.([A-Za-z_$][\w$]{3,60})=(?:function\b|async |\{|[\w$]+[,;}]|\()",
            r"key:\"([\w$]{3,60})\",value:function",
            r"(?:var|let|const) ([A-Z][\w$]{2,60})=",
            r"export\{([^{}\n]{1,400})\}",
            r"export (?:default |const |function |class )([\w$]{2,60})",
        ),
    )
)
"""Each begins with letters that are fast to find."""
_VERSION = re.compile(r"(?:VERSION|version)\W{1,4}\d+\.\d+\.\d+")


def _find_minified(scan: Scan, is_code: bool) -> Finding | None:
    """Code in a few very long lines: the names of its definitions."""
    text = scan.text
    matches = sorted(
        (match.start(), match[1])
        for pattern in _MINIFIED
        for match in islice(pattern.finditer(text, 0, 300_000), 200)
    )
    dense = sum(text[:4000].count(sign) for sign in ";{}(,=") * 12 > min(len(text), 4000)
    if len(matches) < (1 if is_code else 3) or not dense:
        return None
    names = list(dict.fromkeys(name for _, name in matches))
    summary = (
        f"minified code, {size(len(text))}, {counted(scan.lines, 'line')}, "
        f"{counted(len(names), 'definition', 600)}: {name_list(names)}"
    )
    parts = rows("defines", names[:120], 8)
    banner = [s for s in head(text, 14) if s[1] - s[0] < 200] if text.lstrip()[:2] == "/*" else []
    versions = (m.span() for m in islice(_VERSION.finditer(text, 0, 300_000), 2))
    items = in_turn(parts[:2], banner[:4], versions, parts[2:5], banner, parts[5:], head(text, 2))
    return Finding("file", summary, in_turn(items, tail(text, 1)))
