"""Messages of pydantic-ai: requests and responses, each a list of parts.

Left out, because no model reads it: records of which instructions, tools, capabilities and settings
are in force from where on. The instructions themselves stand at every request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from tract.core.entries import Entry
from tract.errors import InputError
from tract.model import Block, Json, Message, Raw, Text, ToolCall, readable
from tract.providers.common import dict_or_empty
from tract.providers.frameworks.base import (
    Item,
    Parts,
    UnknownPartError,
    media,
    media_or_raw,
    optional_text,
    plain,
    require_dict,
    require_text,
    thought,
    time_of,
)

NAME = "pydantic-ai"
IN_FORCE = frozenset(
    {"instruction", "instruction-baseline", "instruction-delta", "instruction-digest"}
    | {"tool-availability-delta", "capability-load-delta", "model-settings-delta"}
)
ERRORS = ("failed", "retried")
"""The outcomes that reach a model as an error."""
KEPT = ("run_id", "conversation_id", "state", "provider_name", "provider_response_id")
KEPT_TOO = ("finish_reason", "provider_details", "metadata")


class PydanticAI:
    """Reads a list of its messages."""

    def __init__(self) -> None:
        self._instructions = ""

    def load(self, message: dict[str, Json], place: str) -> Iterator[Item]:
        kind, parts = message.get("kind"), Parts(place)
        about: dict[str, Json] = {
            "time": time_of(message.get("timestamp")),
            "metadata": {k: message[k] for k in (*KEPT, *KEPT_TOO) if message.get(k)} or None,
        }
        if kind == "request":
            yield from self._system(message.get("instructions"))
            for one in parts.read(message.get("parts"), partial(_request_part, parts)):
                yield Entry(messages=(one,), **about)
        elif kind == "response":
            blocks, results = _split(parts.read(message.get("parts"), _response_part))
            if blocks:
                usage = dict_or_empty(message.get("usage")) or None
                model = optional_text(message, "model_name")
                answer = plain("assistant", blocks)
                yield Entry(messages=(answer,), usage=usage, model=model, **about)
            if results:
                yield Entry(messages=tuple(results), **about)
        else:
            raise InputError(f"unknown kind {readable(kind)[:80]!r}")
        yield from parts.faults

    def _system(self, instructions: Json) -> Iterator[Entry]:
        """The instructions where they are new: they are repeated at every request."""
        if isinstance(instructions, str) and instructions not in ("", self._instructions):
            self._instructions = instructions
            yield Entry(messages=(Message("system", instructions),))


def _request_part(parts: Parts, value: Json) -> Iterator[Message]:
    part = require_dict(value)
    kind = part.get("part_kind")
    match kind:
        case "system-prompt":
            yield Message("system", require_text(part, "content"))
        case "user-prompt":
            yield from _prompt(part.get("content"), parts)
        case "tool-return":
            yield _result(part, part.get("outcome") in ERRORS)
        case "retry-prompt" if part.get("tool_name"):
            yield _result(part, True)
        case "retry-prompt" | "retry-feedback":
            yield Message("user", readable(part.get("content")))
        case "speech":
            yield Message("user", part.get("transcript") or "")
        case "compaction":
            yield Message("user", require_text(part, "content"))
        case _ if kind not in tuple(IN_FORCE):
            raise UnknownPartError(kind)


def _response_part(value: Json) -> Iterator[Block | Message]:
    part = require_dict(value)
    kind = part.get("part_kind")
    match kind:
        case "text":
            yield Text(require_text(part, "content"))
        case "thinking":
            is_anthropic = part.get("provider_name") in (None, "anthropic")
            yield thought(
                NAME,
                require_text(part, "content"),
                part.get("signature"),
                is_anthropic=is_anthropic,
            )
        case "tool-call" | "builtin-tool-call":
            name, call_id = require_text(part, "tool_name"), require_text(part, "tool_call_id")
            arguments = part.get("args")
            yield ToolCall(call_id, name, {} if arguments is None else arguments)
        case "builtin-tool-return":
            yield _result(part, part.get("outcome") in ERRORS)
        case "speech":
            yield Text(part.get("transcript") or "")
        case "file":
            yield _content(require_dict(part.get("content")))
        case "compaction":
            yield Raw(NAME, {"type": "compaction", **part})
        case _:
            raise UnknownPartError(kind)


def _split(pieces: Iterable[Block | Message]) -> tuple[list[Block], list[Message]]:
    """The answer, and the results of tools that the provider ran itself."""
    blocks: list[Block] = []
    results: list[Message] = []
    for piece in pieces:
        if isinstance(piece, Message):
            results.append(piece)
        else:
            blocks.append(piece)
    return blocks, results


def _prompt(content: Json, parts: Parts) -> Iterator[Message]:
    inner = Parts(parts.place, "content")
    content = [content] if isinstance(content, str) else content
    blocks = list(inner.read(content, _prompt_part))
    parts.faults += inner.faults
    if blocks:
        yield plain("user", blocks)


def _prompt_part(part: Json) -> Iterator[Block]:
    if not isinstance(part, dict) or part.get("kind") != "cache-point":
        yield _content(part)


def _content(part: Json) -> Block:
    """A text, or something to look at or to listen to."""
    if isinstance(part, str):
        return Text(part)
    fields = require_dict(part)
    kind = fields.get("kind")
    if kind in ("text-content", "structured-content"):
        return Text(require_text(fields, "content"))
    if kind not in ("image-url", "audio-url", "video-url", "document-url", "binary"):
        if kind != "uploaded-file":
            raise UnknownPartError(kind)
        return Raw(NAME, {"type": "file", **fields})
    media_type = fields.get("media_type") or ("image" if kind == "image-url" else None)
    block = media(media_type, fields.get("data"), fields.get("url"))
    return media_or_raw(NAME, {"type": str(kind), **fields}, block)


def _result(part: dict[str, Json], is_error: bool) -> Message:
    content: Json = part.get("content")
    if isinstance(content, list) and any(map(_is_media, content)):
        content = [_result_block(item) for item in content]
    elif _is_media(content):
        content = [_result_block(content)]
    call_id, name = require_text(part, "tool_call_id"), optional_text(part, "tool_name")
    return Message("tool", "" if content is None else content, call_id, name, is_error)


def _is_media(item: Json) -> bool:
    return isinstance(item, dict) and item.get("kind") in ("binary", "image-url", "document-url")


def _result_block(item: Json) -> Json:
    block = _content(item) if _is_media(item) else Text(readable(item))
    return {"type": "text", "text": block.text} if isinstance(block, Text) else block.data  # type: ignore[union-attr]
