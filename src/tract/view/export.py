"""A dialog as a document: a provider's request, chat messages, or a transcript. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tract.context import CompiledContext
from tract.errors import InputError
from tract.model import Json, Message, Raw, Text, ToolCall
from tract.providers import PROVIDERS, parsed
from tract.view.lines import pretty
from tract.view.sanitize import json_text, one_line, visible

JSONL, MARKDOWN = "jsonl", "markdown"
FORMATS = (*PROVIDERS, JSONL, MARKDOWN)
MAX_TEXT = 1000  # characters of a text for machines, such as an image


def document(context: CompiledContext, name: str, kind: str) -> str:
    """A dialog in one of the formats."""
    if kind not in FORMATS:
        raise InputError(f"unknown format {kind!r:.80}; expected one of {', '.join(FORMATS)}")
    if kind == MARKDOWN:
        return markdown(name, context.messages)
    if kind == JSONL:
        return "".join(json_text(message) + "\n" for message in context.to_openai())
    return json_text(context.to_params(kind), indent=2) + "\n"


def markdown(name: str, messages: list[Message]) -> str:
    """A transcript for people. Messages are quoted, arguments and results are fenced, so that no
    content can pass for a part of the transcript itself. Control characters are escaped."""
    parts = [f"# {inline_code(name)}"]
    for message in messages:
        parts += _paragraphs(message)
    return "\n\n".join(parts) + "\n"


def _paragraphs(message: Message) -> Iterator[str]:
    if message.role == "tool":
        failed = ", failed" if message.is_error else ""
        name, call = inline_code(message.name or "a tool"), inline_code(message.tool_call_id)
        yield f"## result of {name} {call}{failed}"
        yield _fence(message.content)
        return
    author = f" {inline_code(message.name)}" if message.name else ""
    yield f"## {message.role}{author}"
    for block in message.blocks:
        match block:
            case Text(text):
                if text.strip():
                    yield _quote(text)
            case ToolCall(id, tool, arguments):
                yield f"calls {inline_code(tool)} {inline_code(id)}"
                yield _fence(parsed(arguments) if isinstance(arguments, str) else arguments)
            case Raw(_, data):
                yield _fence(_shorten(data))


def _quote(text: str) -> str:
    return "\n".join(f"> {line}" if line else ">" for line in visible(text).split("\n"))


def _fence(value: Json) -> str:
    """A code block whose fence is longer than any run of backticks inside."""
    text = visible(pretty(value))
    fence = "`" * max(3, _longest_run(text) + 1)
    end = "" if text.endswith("\n") else "\n"
    return f"{fence}{'text' if isinstance(value, str) else 'json'}\n{text}{end}{fence}"


def inline_code(text: str | None) -> str:
    """A name on one line, unchanged."""
    name = one_line(text or "") or " "
    ticks = "`" * (_longest_run(name) + 1)
    pad = " " if name[0] == "`" or name[-1] == "`" else ""
    return f"{ticks}{pad}{name}{pad}{ticks}"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def _shorten(value: Json) -> Json:
    """A block whose long texts for machines are cut: images, signatures."""
    if isinstance(value, str) and len(value) > MAX_TEXT:
        return f"{value[:MAX_TEXT]}… ({len(value)} characters)"
    if isinstance(value, dict):
        return {key: _shorten(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_shorten(inner) for inner in value]
    return value
