"""Amp: a thread as one JSON document. Its blocks are those of Anthropic, but for results: what a
tool returned is stored as it came, because how it was sent to the model is not in the file.

Left out, because it is not complete: an answer that is still streaming, and a result that a tool
still works on.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from tract.errors import InputError
from tract.importers.call_ids import CallIds
from tract.importers.coerce import (
    as_dict,
    as_list,
    as_name,
    as_number,
    as_text,
    as_time,
    dicts,
    drop_empty,
    ensure_storable,
    require_dict,
)
from tract.importers.items import Entry, Facts, Item, Problem, Unknown
from tract.importers.media import media_block
from tract.importers.source import Source, attempt
from tract.model import Block, Json, Message, Raw, Text, ToolCall

NAME = "amp"

FAILED = ("error", "cancelled", "rejected-by-user")
USAGE = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheCreationInputTokens": "cache_creation_input_tokens",
    "cacheReadInputTokens": "cache_read_input_tokens",
}


def detect(source: Source) -> bool:
    thread = as_dict(source.peek)
    is_thread = "v" in thread and str(thread.get("id")).startswith("T-")
    return is_thread and isinstance(thread.get("messages"), list)


def session(source: Source) -> str | None:
    return as_text(as_dict(source.peek).get("id"))


def read(source: Source) -> Iterator[Item]:
    document, problems = source.document(lists=("messages",))
    thread = require_dict(document, "a thread is an object")
    trees = dicts(as_dict(as_dict(thread.get("env")).get("initial")).get("trees"))
    yield Facts(
        title=as_text(thread.get("title")),
        folder=_folder(trees[0].get("uri")) if trees else None,
        started=as_time(thread.get("created")),
    )
    ids = CallIds()
    for number, message in enumerate(as_list(thread.get("messages")), 1):
        place = f"message {number}"
        yield from attempt(place, _message, place, message, ids)
    yield from problems


def _folder(uri: Json) -> str | None:
    parts = urlsplit(uri) if isinstance(uri, str) else None
    return unquote(parts.path) or None if parts and parts.scheme == "file" else None


def _message(place: str, value: Json, ids: CallIds) -> Iterator[Item]:
    message = require_dict(ensure_storable(value), "a message is an object")
    role, content = as_text(message.get("role")), message.get("content")
    if role is None:
        raise InputError("a message needs a role")
    if role not in ("user", "assistant"):
        yield Unknown(place, role, message)
        return
    if as_dict(message.get("state")).get("type") == "streaming":
        raise InputError("the answer is not complete")
    if not isinstance(content, list):
        raise InputError(f"content is a list, not {type(content).__name__}")
    usage = as_dict(message.get("usage"))
    time = usage.get("timestamp") or as_dict(message.get("meta")).get("sentAt")
    results: list[Message] = []
    blocks: list[Block] = []
    for number, block in enumerate(content, 1):
        try:
            piece = _piece(require_dict(block, "a block is an object"))
        except InputError as error:
            yield Problem(f"{place}, block {number}", str(error))
            continue
        if isinstance(piece, Message):
            results.append(piece)
        elif piece is not None:
            blocks.append(piece)
    messages = [*results, Message(role, tuple(blocks))] if blocks else results
    if messages:
        yield Entry(
            messages=tuple(map(ids.assign, messages)),
            usage=_usage(usage),
            model=as_text(usage.get("model")),
            time=as_time(time),
        )


def _piece(block: dict[str, Json]) -> Block | Message | None:
    """A block, or a result; None for a result that is not there yet."""
    match block.get("type"):
        case "text":
            if not isinstance(block.get("text"), str):
                raise InputError("a text block needs a text")
            return Text(block["text"])
        case "tool_use":
            name = as_text(block.get("name"))
            if name is None or block.get("complete") is False:
                raise InputError("a call needs a name, and to be complete")
            return ToolCall(as_name(block.get("id")) or "", name, block.get("input"))
        case "tool_result":
            return _result(block)
        case "thinking" if as_text(block.get("signature")) and block.get("provider") in OWN:
            fields = {key: block[key] for key in ("type", "thinking", "signature") if key in block}
            return Raw("anthropic", fields)
        case "image":
            source = as_dict(block.get("source"))
            kind = source.get("mediaType", source.get("media_type"))
            image = media_block(kind, source.get("data"))
            return Raw("anthropic", image) if image else Raw(NAME, block)
        case str():
            return Raw(NAME, block)
    raise InputError("a block needs a type")


OWN = (None, "anthropic")


def _result(block: dict[str, Json]) -> Message | None:
    call_id = as_name(block.get("toolUseID")) or as_name(block.get("tool_use_id")) or ""
    if "run" not in block and "content" in block:  # Anthropic's own
        is_error = block.get("is_error") is True
        return Message("tool", block["content"], call_id, is_error=is_error)
    run = require_dict(block.get("run"), "the run of a result is an object")
    result, status = run.get("result"), as_text(run.get("status"))
    if result is None and status in FAILED:
        result = as_dict(run.get("error")).get("message") or run.get("reason") or ""
    elif result is None and status == "done":
        result = ""
    if result is None:
        return None
    return Message("tool", result, call_id, is_error=status in FAILED)


def _usage(usage: dict[str, Json]) -> dict[str, Json] | None:
    counts = {name: int(as_number(usage.get(key)) or 0) for key, name in USAGE.items()}
    if str(usage.get("model")).startswith("gpt-"):  # what was not cached is counted as written
        counts["input_tokens"] += counts.pop("cache_creation_input_tokens")
    return drop_empty(**counts) if any(counts.values()) else None
