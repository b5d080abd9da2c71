"""Code in blocks: the language of a text, and its lines highlighted. Not a character changes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tract.providers import parsed
from tract.view.blocks import TextBlock, ToolResultBlock, ToolUseBlock, ViewBlock
from tract.view.highlight import LONGEST, highlight
from tract.view.lines import BODY, HEAD, Line, Styled

LANGUAGES = {
    "py": "python",
    "pyi": "python",
    "js": "javascript",
    "jsx": "jsx",
    "ts": "typescript",
    "tsx": "tsx",
    "go": "go",
    "rs": "rust",
    "java": "java",
    "kt": "kotlin",
    "rb": "ruby",
    "c": "c",
    "h": "c",
    "cc": "cpp",
    "cpp": "cpp",
    "hpp": "cpp",
    "cs": "csharp",
    "php": "php",
    "swift": "swift",
    "sh": "bash",
    "bash": "bash",
    "sql": "sql",
    "css": "css",
    "lua": "lua",
    "html": "html",
    "xml": "xml",
    "json": "json",
    "toml": "toml",
    "yaml": "yaml",
    "yml": "yaml",
}
"""By how the name of a file ends."""
COMMANDS = ("command", "cmd", "script")
_READERS = re.compile(r"read|view|cat\b|open|get_file", re.IGNORECASE)
_NUMBERED = re.compile(r"\s*\d+(?:→|\t|: ?|\| ?)")
"""How tools number the lines of a file."""
_DIFF = re.compile(r"diff --git |--- \S+\n\+\+\+ |@@ -\d", re.MULTILINE)
_FENCE = re.compile(r"\s*(`{3,}|~{3,})\s*([\w+#-]*)")


def highlight_block(block: ViewBlock, lines: Sequence[Line]) -> list[Line]:
    """The lines of a block, with the code among them highlighted."""
    match block:
        case TextBlock():
            return list(_fenced(lines))
        case ToolResultBlock():
            return [*lines[:1], *_coloured(lines[1:], result_language(block))]
        case ToolUseBlock():
            return list(_commands(lines))
    return list(lines)


def result_language(block: ToolResultBlock) -> str:
    """The language of a result, by its text or by the file that was read; empty if unknown."""
    start = block.text[:4000].lstrip()
    if _is_json(block.text):
        return "json"
    if _DIFF.match(start):
        return "diff"
    ending = block.detail.rpartition(".")[2].lower()
    return LANGUAGES.get(ending, "") if _READERS.search(block.tool_name) else ""


def _is_json(text: str) -> bool:
    """Whether a text is JSON. A line in brackets is none; what is long is judged by its ends."""
    has_ends = text.lstrip()[:1] in ("{", "[") and text.rstrip()[-1:] in ("}", "]")
    return has_ends and (len(text) > LONGEST or isinstance(parsed(text), dict | list))


def _coloured(lines: Sequence[Line], language: str, indent: str = BODY) -> list[Line]:
    """Lines of one plain piece each; others, such as the number of the rest, stay."""
    plain = [len(line) == 1 and not line[0].style for line in lines]
    if not language or not any(plain):
        return list(lines)
    heads, codes = [], []
    for line, is_plain in zip(lines, plain, strict=True):
        text = line[0].text.removeprefix(indent) if is_plain else ""
        number = _NUMBERED.match(text)
        heads.append(number[0] if number else "")
        codes.append(text[len(heads[-1]) :])
    if language in ("json", "diff") or not any(heads):
        codes = [head + code for head, code in zip(heads, codes, strict=True)]
        heads = [""] * len(heads)
    # A lexer may look for the end of the last line.
    painted = list(_split(highlight("\n".join([*codes, ""]), language)))[:-1]
    return [
        _joined(indent, head, code) if is_plain else line
        for line, is_plain, head, code in zip(lines, plain, heads, painted, strict=True)
    ]


def _joined(indent: str, head: str, code: Line) -> Line:
    return (Styled(indent), *((Styled(head, "dim"),) if head else ()), *code)


def _split(spans: Sequence[Styled]) -> Iterator[Line]:
    """Pieces of a text as lines."""
    line: list[Styled] = []
    for span in spans:
        first, *others = span.text.split("\n")
        line.append(Styled(first, span.style))
        for text in others:
            yield tuple(piece for piece in line if piece.text)
            line = [Styled(text, span.style)]
    yield tuple(piece for piece in line if piece.text)


def _fenced(lines: Sequence[Line]) -> Iterator[Line]:
    """Text with the code between fences highlighted."""
    fence, language, code = "", "", list[Line]()
    for line in lines:
        match = _FENCE.match("".join(span.text for span in line))
        if fence and match and match[1].startswith(fence) and not match[2]:
            yield from _coloured(code, language)
            fence, code = "", []
            yield line
        elif fence:
            code.append(line)
        else:
            fence, language = (match[1], match[2].lower()) if match else ("", "")
            yield line
    yield from _coloured(code, language)


def _commands(lines: Sequence[Line]) -> Iterator[Line]:
    """The arguments of a call with its commands highlighted."""
    names = {f"{BODY}{name}:" for name in COMMANDS}
    inside, code = False, list[Line]()
    for line in lines:
        if inside and len(line) == 1 and not line[0].style:
            code.append(line)
            continue
        yield from _coloured(code, "bash", BODY + HEAD)
        code = []
        inside = bool(line) and line[0].text in names
        if inside and len(line) == 2:
            yield (line[0], *highlight(line[1].text, "bash"))
        else:
            yield line
    yield from _coloured(code, "bash", BODY + HEAD)
