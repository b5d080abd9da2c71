"""Messages of the Vercel AI SDK: of its user interface (versions 4 to 7), and of models.

A message of the interface has all steps of a turn: each step becomes an answer and the results of
its calls, as the SDK sends them. Left out, because no model reads it: sources, and data of the app.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tract.core.entries import Entry
from tract.errors import InputError
from tract.model import Block, Json, Message, Raw, Text, ToolCall
from tract.providers.common import dict_or_empty, dicts
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

NAME = "ai-sdk"
DENIED = "Tool call execution denied."
"""What the SDK sends where a person gave no reason."""
OPEN = ("input-available", "approval-requested", "approval-responded", "call")
STREAMING = ("input-streaming", "partial-call")
APART = ("tool-approval-request", "tool-approval-response")
"""Whether a person allowed a call: between the app and the person."""
Piece = Block | Message


class AISDK:
    """Reads a list of its messages."""

    def load(self, message: dict[str, Json], place: str) -> Iterator[Item]:
        role, parts = message.get("role"), Parts(place)
        if role == "data":  # version 4: for the app
            return
        if role not in ("system", "user", "assistant", "tool"):
            raise InputError(f"unknown role {role!r:.80}" if "role" in message else "no role")
        is_ui = isinstance(message.get("parts"), list) or "toolInvocations" in message
        if "parts" not in message and "content" not in message and not is_ui:
            raise InputError("neither parts nor content")
        pieces = parts.read(_ui_parts(message) if is_ui else _model_parts(message), _PARTS[is_ui])
        about: dict[str, Json] = {
            "time": time_of(message.get("createdAt")),
            "metadata": _metadata(message),
        }
        for messages in _steps(str(role), pieces):
            yield Entry(messages=messages, **about)
        yield from parts.faults


def _metadata(message: dict[str, Json]) -> dict[str, Json] | None:
    kept = ("id", "metadata", "annotations", "providerOptions", "experimental_providerMetadata")
    return {key: message[key] for key in kept if message.get(key)} or None


def _steps(role: str, pieces: Iterator[Piece | None]) -> Iterator[tuple[Message, ...]]:
    """The messages of each step; None begins another one."""
    blocks: list[Block] = []
    results: list[Message] = []
    for piece in (*pieces, None):
        if isinstance(piece, Message):
            results.append(piece)
        elif piece is not None:
            blocks.append(piece)
        elif blocks or results:
            answer = [plain(role, blocks)] if blocks else []
            yield *answer, *results
            blocks, results = [], []


# Messages of the interface


def _ui_parts(message: dict[str, Json]) -> list[Json]:
    """The parts; of an older message without them, what they would be. Version 4 begins another
    step where a text follows a call."""
    parts = message.get("parts")
    if not isinstance(parts, list):
        invocations = dicts(message.get("toolInvocations"))
        calls = [{"type": "tool-invocation", "toolInvocation": call} for call in invocations]
        text = message.get("content")
        parts = [*calls, *([{"type": "text", "text": text}] if text else [])]
    attached = [{"type": "file", **file} for file in dicts(message.get("experimental_attachments"))]
    return [*_with_step_starts(parts), *attached]


def _with_step_starts(parts: list[Json]) -> Iterator[Json]:
    step: Json = 0
    for number, part in enumerate(parts):
        before = _invocation(parts[number - 1]) if number else None
        call = _invocation(part)
        is_next = call is not None and before is not None and call.get("step", step) != step
        if is_next or (before is not None and call is None and part != {"type": "step-start"}):
            yield {"type": "step-start"}
        step = call.get("step", step) if call is not None else step
        yield part


def _invocation(part: Json) -> dict[str, Json] | None:
    """The call of version 4 in a part."""
    is_call = isinstance(part, dict) and part.get("type") == "tool-invocation"
    return dict_or_empty(part.get("toolInvocation")) if is_call else None


def _ui_part(value: Json) -> Iterator[Piece | None]:
    part = require_dict(value)
    kind = part.get("type")
    match kind:
        case "step-start":
            yield None
        case "text":
            yield from _text(part)
        case "reasoning":
            yield from _reasoning(part)
        case "file":
            yield _file(part)
        case "tool-invocation":
            yield from _old_call(dict_or_empty(part.get("toolInvocation")))
        case "dynamic-tool":
            yield from _call(part, require_text(part, "toolName"))
        case "custom" | "reasoning-file":
            yield Raw(NAME, part)
        case "source":
            pass
        case str() if kind.startswith("tool-"):
            yield from _call(part, kind.removeprefix("tool-"))
        case str() if kind.startswith(("data-", "source-")):
            pass
        case _:
            raise UnknownPartError(kind)


def _call(part: dict[str, Json], name: str) -> Iterator[Piece]:
    call_id, state = require_text(part, "toolCallId"), part.get("state")
    if state in STREAMING:
        raise InputError(f"the call {call_id!r:.80} of {name!r:.80} is not complete")
    arguments = part.get("input")
    if arguments is None and state == "output-error":
        arguments = part.get("rawInput")
    yield ToolCall(call_id, name, {} if arguments is None else arguments)
    approval = dict_or_empty(part.get("approval"))
    match state:
        case "output-available":
            if part.get("preliminary") is not True:
                output = part.get("output")
                yield Message("tool", "" if output is None else output, call_id, name)
        case "output-error":
            yield Message("tool", part.get("errorText") or "", call_id, name, True)
        case "output-denied":
            yield Message("tool", optional_text(approval, "reason") or DENIED, call_id, name, True)
        case _ if state not in OPEN:
            raise InputError(f"unknown state {state!r:.80} of the call {call_id!r:.80}")


def _old_call(call: dict[str, Json]) -> Iterator[Piece]:
    name, call_id = require_text(call, "toolName"), require_text(call, "toolCallId")
    state = call.get("state")
    if state in STREAMING:
        raise InputError(f"the call {call_id!r:.80} of {name!r:.80} is not complete")
    arguments = call.get("args")
    yield ToolCall(call_id, name, {} if arguments is None else arguments)
    if state == "result" or "result" in call:
        result = call.get("result")
        yield Message("tool", "" if result is None else result, call_id, name)


# Messages of models


def _model_parts(message: dict[str, Json]) -> list[Json]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        raise InputError(f"content is a text or a list, not {type(content).__name__}")
    return content


def _model_part(value: Json) -> Iterator[Piece]:
    part = require_dict(value)
    kind = part.get("type")
    match kind:
        case "text":
            yield from _text(part)
        case "reasoning" | "redacted-reasoning":
            yield from _reasoning(part)
        case "image" | "file":
            yield _file(part)
        case "tool-call":
            name, call_id = require_text(part, "toolName"), require_text(part, "toolCallId")
            arguments = part.get("input", part.get("args"))
            yield ToolCall(call_id, name, {} if arguments is None else arguments)
        case "tool-result":
            yield _result(part)
        case "custom" | "reasoning-file":
            yield Raw(NAME, part)
        case _ if kind not in APART:
            raise UnknownPartError(kind)


def _result(part: dict[str, Json]) -> Message:
    call_id, name = require_text(part, "toolCallId"), optional_text(part, "toolName")
    output = dict_or_empty(part.get("output"))
    kind, value = output.get("type"), output.get("value")
    is_error = kind in ("error-text", "error-json", "execution-denied")
    if "output" not in part:  # version 4
        value, is_error = part.get("result"), part.get("isError") is True
        if isinstance(part.get("experimental_content"), list):
            value = [_result_block(block) for block in part["experimental_content"]]
    elif kind == "content" and isinstance(value, list):
        value = [_result_block(block) for block in value]
    elif kind == "execution-denied":
        value = output.get("reason") or DENIED
    elif kind not in ("text", "json", "error-text", "error-json", "content"):
        raise InputError(f"unknown output {kind!r:.80} of the call {call_id!r:.80}")
    return Message("tool", "" if value is None else value, call_id, name, is_error)


def _result_block(block: Json) -> Json:
    """A block of a result: a file in any of its spellings as providers know it, others as they
    are."""
    if not isinstance(block, dict) or block.get("type") == "text":
        return block
    return media(_media_type(block), block.get("data"), block.get("url")) or block


# What both have


def _text(part: dict[str, Json]) -> Iterator[Block]:
    text = require_text(part, "text")
    if text:
        yield Text(text)


def _reasoning(part: dict[str, Json]) -> Iterator[Block]:
    """A thought. Version 4 has it in `reasoning`, with its details once more."""
    options = part.get("providerMetadata") or part.get("providerOptions")
    about = dict_or_empty(dict_or_empty(options).get("anthropic"))
    details = dicts(part.get("details"))
    redacted = [about.get("redactedData"), *(detail.get("data") for detail in details)]
    if part.get("type") == "redacted-reasoning":
        redacted.append(part.get("data"))
    signatures = [about.get("signature"), part.get("signature")]
    signatures += [detail.get("signature") for detail in details]
    text = part.get("text", part.get("reasoning"))
    if text is None and not any(redacted):
        raise InputError("a thought without text")
    if text:
        signature = next(filter(None, signatures), None)
        yield thought(NAME, str(text), signature, is_anthropic=True)
    for data in filter(None, redacted):
        yield Raw("anthropic", {"type": "redacted_thinking", "data": data})


def _file(part: dict[str, Json]) -> Block:
    data = part.get("data", part.get("url", part.get("image")))
    if not isinstance(data, str | dict):
        raise InputError(f"a file is a text, not {type(data).__name__}")
    is_url = isinstance(data, str) and data.startswith(("data:", "http:", "https:"))
    block = media(_media_type(part), None if is_url else data, data if is_url else None)
    return media_or_raw(NAME, part, block)


def _media_type(part: dict[str, Json]) -> Json:
    types = (part.get(key) for key in ("mediaType", "mimeType", "contentType"))
    return next(filter(None, types), "image" if part.get("type") == "image" else None)


_PARTS: dict[bool, Callable[[Json], Iterator[Piece | None]]] = {
    True: _ui_part,
    False: _model_part,
}
