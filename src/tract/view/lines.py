"""Lines: blocks as text for the terminal, the text interface and the page. Pure.

All text is escaped here. Nothing is ever reflowed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from tract.content.blocks import bytes_of
from tract.content.preview import gist
from tract.model import ROLES, Form, Json, readable
from tract.providers import parsed
from tract.view.blocks import (
    FactsBlock,
    OtherBlock,
    RuleBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolsBlock,
    ToolUseBlock,
    ViewBlock,
)
from tract.view.diffs import ADDED, CONTEXT, HUNK, REMOVED, EditLine
from tract.view.edits import file_edits
from tract.view.moments import clock, duration
from tract.view.palette import PALETTE, tag_of
from tract.view.patches import FileEdit
from tract.view.sanitize import cut, one_line, visible
from tract.view.tags import Piece, pieces
from tract.view.tool_changes import change_text

FULL, SUMMARY, HIDDEN = "full", "summary", "hidden"
TOOLS = (FULL, SUMMARY, HIDDEN)
SHORT = 10
HEAD, BODY = "  ", "    "
"""Text is indented deeper than the head of a call or result, so that it cannot pass for one."""
TAB = 4  # columns, where tabs have to be counted
ROLE_STYLES = {role: f"role-{role}" for role in ROLES}
LONGEST_HINT = 120
LONGEST_ERROR = 4_000  # characters at the beginning and at the end that are looked at
LARGEST_DATA = 2000
BAR = "│ "
SHORTEST = 0.05  # seconds that are worth a word
SIGNS = {CONTEXT: "  ", ADDED: "+ ", REMOVED: "- ", HUNK: ""}
DIFF_STYLES = {CONTEXT: "", ADDED: "added", REMOVED: "removed", HUNK: "dim"}


class Styled(NamedTuple):
    """A piece of a line, escaped, and its styles: words such as `bold`, `dim` or `p3`."""

    text: str
    style: str = ""


Line = tuple[Styled, ...]


class Look(NamedTuple):
    """What to show of blocks."""

    tools: str = FULL
    has_text: bool = True
    has_thinking: bool = True
    has_tags: bool = False
    """Whether short tags replace the colours of pairs."""
    most: int | None = None
    """At most this many lines of a long text."""
    has_bars: bool = False
    """Whether a bar sets thoughts apart, for those who do not see that they are dim."""


EVERYTHING = Look()


def format_lines(blocks: Iterable[ViewBlock], look: Look = EVERYTHING) -> Iterator[Line]:
    """The lines of blocks, each message under its head. Results follow their calls."""
    return chain.from_iterable(_with_heads(blocks, look))


def _with_heads(blocks: Iterable[ViewBlock], look: Look) -> Iterator[list[Line]]:
    message, speaker = None, ""
    for block in blocks:
        lines = lines_of(block, look)
        if not lines:
            continue
        own = (block.message, block.role)
        is_new = own != message or not block.role
        has_own_head = is_new and has_head(block, speaker, look)
        if has_own_head and block.role:
            lines.insert(0, head_of(block))
        if message is not None and (has_own_head or (is_new and not message[1])):
            lines.insert(0, ())
        # A result does not end the message of its call: the next call is one of the same message.
        if block.role != "tool" or not message or not message[1]:
            message = own
        speaker = speaker if block.role == "tool" else block.role
        yield lines


def has_head(block: ViewBlock, speaker: str, look: Look) -> bool:
    """Whether a message that begins with this block has a head. A result has none, nor have folded
    calls in a row."""
    is_call = isinstance(block, ToolUseBlock) and look.tools == SUMMARY
    return block.role != "tool" and not (is_call and speaker == block.role and not block.note)


def head_of(block: ViewBlock) -> Line:
    """The role, the commit, and what was done to the message."""
    parts = [Styled(one_line(block.role), f"bold {ROLE_STYLES.get(block.role, '')}")]
    if block.commit:
        parts.append(Styled(f" {one_line(block.commit[:SHORT])}", "dim"))
    if block.note:
        parts.append(Styled(f" {one_line(block.note)}", "note"))
    if block.time:
        parts.append(Styled(f" {clock(block.time)}{_took(block)}", "dim"))
    return tuple(parts)


def _took(block: ViewBlock) -> str:
    seconds = block.seconds or 0
    return f" · {duration(seconds)}" if seconds >= SHORTEST else ""


def lines_of(block: ViewBlock, look: Look = EVERYTHING) -> list[Line]:
    """The lines of one block; none where it is hidden."""
    match block:
        case TextBlock():
            empty: list[Line] = [(Styled(f"{BODY}(empty)", "dim"),)]
            return (_text(block, look) or empty) if look.has_text else []
        case ThinkingBlock():
            return _thinking(block, look) if look.has_thinking else []
        case ToolUseBlock():
            return _use(block, look) if look.tools != HIDDEN else []
        case ToolResultBlock():
            return [] if look.tools == HIDDEN and can_be_hidden(block) else _result(block, look)
        case OtherBlock():
            return _other(block, look) if look.has_text else []
        case ToolsBlock():
            return [_tools(block)]
        case FactsBlock():
            return _facts(block)
        case RuleBlock(text=text):
            return [(Styled(f"── {one_line(text)} ──", "rule"),)]
    return []


# Calls and results


def can_be_hidden(block: ViewBlock) -> bool:
    """Whether it disappears where tools are hidden. Errors stay."""
    is_result = isinstance(block, ToolResultBlock) and not block.is_error
    return is_result or isinstance(block, ToolUseBlock)


def _use(block: ToolUseBlock, look: Look) -> list[Line]:
    style = pair_style(block.pair)
    words = ("[tool_use]", one_line(block.tool_name), one_line(block.detail))
    head = _head(" ".join(filter(None, words)), style, block.pair, look)
    return [head, *_body_of_call(block, look)] if look.tools == FULL else [head]


def _body_of_call(block: ToolUseBlock, look: Look) -> list[Line]:
    """The arguments; those that change a file as a diff."""
    edits = file_edits(block.tool_name, block.arguments)
    if edits is None:
        return _arguments(block.arguments, look)
    diffs = chain.from_iterable(_diff(file, look) for file in edits.files)
    return [*_arguments(edits.rest, look), *diffs]


def _diff(file: FileEdit, look: Look) -> Iterator[Line]:
    yield (Styled(f"{BODY}{edit_words(file)}", "dim"),)
    lines = file.lines[: look.most]
    yield from (diff_line(line, BODY) for line in lines)
    if len(lines) < len(file.unmarked):
        yield (Styled(f"{BODY}… {len(file.unmarked) - len(lines)} more lines", "dim"),)


def edit_words(file: FileEdit) -> str:
    """The head of a diff: `edit src/main.py (+3 -1)`."""
    added, removed = file.counts
    return one_line(f"{file.action} {file.path} (+{added} -{removed})")


def diff_line(line: EditLine, indent: str = "") -> Line:
    """A line of a diff with its sign; what changed inside of it is marked."""
    style, end = DIFF_STYLES[line.kind], 0
    spans = [Styled(indent + SIGNS[line.kind], style)]
    for start, stop in line.marks:
        spans += [Styled(visible(line.text[end:start]), style)]
        spans += [Styled(visible(line.text[start:stop]), f"{style} mark")]
        end = stop
    return tuple(span for span in (*spans, Styled(visible(line.text[end:]), style)) if span.text)


def _result(block: ToolResultBlock, look: Look) -> list[Line]:
    if look.tools == FULL:
        return [_result_head(block, look), *_body(block.text, BODY, "", look)]
    return [_result_head(block, look, folded=True)]


def _result_head(block: ToolResultBlock, look: Look, *, folded: bool = False) -> Line:
    """The line of a result; a folded error also has its first line."""
    words, style = result_words(block, folded=folded), pair_style(block.pair)
    hint = verdict(block.text) if folded and block.is_error else ""
    if folded and not block.is_error:
        style += " dim"
    words = f"{words}: {hint}" if hint else words
    head = _head(words, style, block.pair, look, is_error=block.is_error)
    is_noted = block.note and block.role == "tool"  # other messages have it in their head
    return (*head, Styled(f" {one_line(block.note)}", "note")) if is_noted else head


def result_words(block: ToolResultBlock, *, folded: bool = False) -> str:
    """The head of a result: `[tool_result] Read ...path/file.ts (1523 bytes)`; shorter where tools
    are folded."""
    name = one_line(block.tool_name)
    about = one_line(block.detail) if name else ""
    size = f"({measure(block)})"
    if block.is_error:
        words = ("[tool_result:error]", name, about, size)
    elif folded and name:
        words = (f"[{name}]", "", about, size)
    else:
        words = ("[tool_result]", name, about, size)
    return " ".join(filter(None, words))


def measure(block: ToolResultBlock) -> str:
    """The bytes of a result; where it is not shown in full also its form and the tokens."""
    size = f"{block.size} bytes"
    if block.form == Form.FULL:
        return size
    if not block.tokens:
        return f"{size}, {block.form}"
    return f"{size}, {block.form}, {block.tokens} → {block.sent_tokens} tokens"


def pair_style(pair: int | None) -> str:
    """The colour of a pair: its position in the history decides."""
    return "" if pair is None else f"p{pair % len(PALETTE)}"


def _head(words: str, style: str, pair: int | None, look: Look, *, is_error: bool = False) -> Line:
    tag = f" {tag_of(pair)}" if look.has_tags and pair is not None else ""
    if not is_error:
        return (Styled(HEAD + words + tag, style),)
    label, bracket, rest = words.partition("]")
    return (Styled(HEAD + label + bracket, "error bold"), Styled(rest + tag, style))


_FILLER = re.compile(r"^(?:[a-z]+, )?\d+ lines: |^failed: ")


def verdict(text: str) -> str:
    """What an error says, in a line: its point, which is often not its beginning."""
    if "\n" not in text.strip():
        return first_line(text)
    summary = gist(text[:LONGEST_ERROR] + text[LONGEST_ERROR:][-LONGEST_ERROR:]).summary
    return cut(one_line(_FILLER.sub("", summary)), LONGEST_HINT) or first_line(text)


def first_line(text: str) -> str:
    """The first line of a text that is not empty, as a hint at the rest."""
    lines = (one_line(line[: LONGEST_HINT * 4]) for line in text[:4000].splitlines())
    return cut(next(filter(None, lines), ""), LONGEST_HINT)


def _arguments(arguments: Json, look: Look) -> list[Line]:
    is_json = isinstance(arguments, str) and arguments.lstrip()[:1] in ("{", "[")
    values = parsed(arguments) if is_json else arguments
    if values is None or values in ("", {}, []):
        return []
    if not isinstance(values, dict):
        return _body(pretty(values), BODY, "", look)
    return [line for key, value in values.items() for line in _argument(key, value, look)]


def _argument(key: str, value: Json, look: Look) -> list[Line]:
    text = readable(value)
    name = Styled(f"{BODY}{one_line(key)}:", "dim")
    if "\n" not in text:
        return [(name, Styled(" " + visible(text)))]
    return [(name,), *_body(text, BODY + HEAD, "", look)]


# Everything else


def _tools(block: ToolsBlock) -> Line:
    text = change_text(block.change) if block.change else ", ".join(block.names)
    return (Styled(f"{HEAD}[tools] {len(block.names)} offered: {one_line(text)}", "dim"),)


def _text(block: TextBlock, look: Look) -> list[Line]:
    """The text of a message. What a program wrote in the name of the user says so."""
    if block.role != "user":
        return _body(block.text, BODY, "", look)
    return [line for piece in pieces(block.text) for line in _piece(piece, look)]


def _piece(piece: Piece, look: Look) -> list[Line]:
    if not piece.label:
        return _body(piece.text, BODY, "", look)
    label = Styled(f"{BODY}[{piece.label}]", "dim")
    if "\n" not in piece.text:
        return [(label, Styled(" " + visible(piece.text)))]
    return [(label,), *_body(piece.text, BODY + HEAD, "dim", look)]


def _facts(block: FactsBlock) -> list[Line]:
    title, *others = block.lines
    rule: Line = (Styled(f"── {one_line(title)} ──", "rule bold"),)
    return [rule, *((Styled(f"   {one_line(line)}", "dim"),) for line in others)]


def _thinking(block: ThinkingBlock, look: Look) -> list[Line]:
    if not block.text.strip():
        return [(Styled(f"{HEAD}[thinking] (kept by the provider)", "dim"),)]
    head: Line = (Styled(f"{HEAD}[thinking]", "dim"),)
    return [head, *_body(block.text, BODY + BAR if look.has_bars else BODY, "dim", look)]


def _other(block: OtherBlock, look: Look) -> list[Line]:
    text = pretty(block.data)
    head: Line = (Styled(f"{HEAD}[{one_line(block.kind)}] ({bytes_of(text)} bytes)", "dim"),)
    return [head, *(_body(text, BODY, "dim", look) if len(text) <= LARGEST_DATA else [])]


def pretty(value: Json) -> str:
    """A text as it is; anything else as JSON of many lines."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _body(text: str, indent: str, style: str, look: Look) -> list[Line]:
    """The lines of a text; for a long one the first, and the number of the rest."""
    if not text:
        return []
    lines = visible(text.replace("\r\n", "\n").removesuffix("\n")).split("\n")
    left = len(lines) - look.most if look.most is not None else 0
    if left <= 1:  # a line that counts one more line would be as long
        return [(Styled(indent + line, style),) for line in lines]
    rest = (Styled(f"{indent}… {left} more lines", "dim"),)
    return [*((Styled(indent + line, style),) for line in lines[: look.most]), rest]
