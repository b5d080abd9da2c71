"""Cline, Roo Code and the old Kilo Code: the history of a task as it was sent to the API, a session
of Cline's SDK, or the messages of the screen where nothing else is left.

The messages are Anthropic's. Calls that a model wrote as XML in its text stay text, as it was sent.
The messages of the screen know no calls as the model made them: only prompts and answers are read
from them, and none at all if the history that was sent is in the same folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from tract.errors import InputError
from tract.importers.call_ids import CallIds
from tract.importers.coerce import (
    as_dict,
    as_list,
    as_number,
    as_text,
    as_time,
    dicts,
    drop_empty,
    ensure_storable,
    extra,
    json_or_none,
    require_dict,
    text_of,
)
from tract.importers.items import Entry, Facts, Item, Unknown
from tract.importers.media import media_block, url_block
from tract.importers.source import Source, attempt, is_cut
from tract.importers.wire_messages import load_wire
from tract.model import Block, Json, Message, Origin, Raw, Text
from tract.providers.common import ANY

NAME = "cline"

HISTORY = ("api_conversation_history.json", "claude_messages.json")
SCREEN = "ui_messages.json"
_SDK = {"version", "sessionId", "agent", "messages"}
_COMPACTION = {"version", "source_message_count", "messages"}
"""What the model sees instead of the first messages of a session."""
_FOLDER = re.compile(r"Current (?:Workspace|Working) Directory \(([^)\n]+)\)")
_WRAPPER = re.compile(r"</?user_(?:input|command)\b[^<>]*>")
_USUAL = {"type", "text", "id", "input", "tool_use_id", "content", "is_error"}
_FIRST = 50  # messages that are looked at


def detect(source: Source) -> bool:
    value = source.peek
    if isinstance(value, list):
        return _is_history(value) or _is_screen(value)
    document = as_dict(value)
    is_own = document.keys() >= _SDK or document.keys() >= _COMPACTION
    return is_own and isinstance(document["messages"], list)


def _is_history(messages: list[Json]) -> bool:
    """Messages of Anthropic with the time of each in milliseconds, and no role but two."""
    first = dicts(messages[:_FIRST])
    roles = [message.get("role") for message in first if message.get("type") != "reasoning"]
    return all(role in ("user", "assistant", None) for role in roles) and any(
        as_number(message.get("ts")) and _is_blocks(message.get("content")) for message in first
    )


def _is_blocks(content: Json) -> bool:
    return any(isinstance(block.get("type"), str) for block in dicts(content))


def _is_screen(messages: list[Json]) -> bool:
    return any(
        as_number(message.get("ts"))
        and message.get("type") in ("ask", "say")
        and isinstance(message.get(message["type"]), str)
        for message in dicts(messages[:_FIRST])
    )


def session(source: Source) -> str | None:
    """The id of the session or the task, which is the name of its folder."""
    own = as_text(as_dict(source.peek).get("sessionId"))
    return own or (source.path.parent.name if source.path.name in (*HISTORY, SCREEN) else None)


def read(source: Source) -> Iterator[Item]:
    is_list = source.head.lstrip()[:1] == b"["
    document, problems = source.document(lists=("messages",))
    messages = document if is_list else as_dict(document).get("messages")
    if not isinstance(messages, list):
        raise InputError("a session needs a list of messages")
    if not is_list and is_cut(problems) and "system_prompt" not in as_dict(document):
        raise InputError(f"{source.path.name}: {problems[-1].what}, before the system text")
    if is_list and _is_screen(messages):
        yield from _screen(source, messages)
    else:
        yield from _about(source)
        task = _Task(is_wrapped=not is_list)
        yield from attempt("system_prompt", task.system, as_dict(document).get("system_prompt"))
        for number, message in enumerate(messages, 1):
            yield from attempt(f"message {number}", task.take, f"message {number}", message)
    yield from problems


def _about(source: Source) -> Iterator[Item]:
    """What the file beside a history says about it."""
    name, path = source.path.name, source.path
    other = (
        "history_item.json" if name in HISTORY else f"{name.removesuffix('.messages.json')}.json"
    )
    try:
        about = as_dict(Source(path.with_name(other)).peek) if other != name else {}
    except InputError:
        return
    facts = Facts(
        title=as_text(as_dict(about.get("metadata")).get("title")) or as_text(about.get("task")),
        folder=as_text(about.get("cwd")) or as_text(about.get("workspace")),
        started=as_time(about.get("started_at")),
        ended=as_time(about.get("ended_at")),
        cost=as_number(about.get("totalCost")),
        parent=as_text(about.get("parentTaskId")),
    )
    if facts != Facts():
        yield facts


class _Task:
    """The messages that were sent."""

    def __init__(self, *, is_wrapped: bool) -> None:
        self._is_wrapped = is_wrapped
        self._ids = CallIds()
        self._in_view: list[tuple[Json, tuple[Message, ...]]] = []
        """The messages that the model still sees, each with the mark that hides it later."""
        self._folder: str | None = None

    def system(self, text: Json) -> Iterator[Item]:
        if as_text(text):
            yield Entry(messages=(Message("system", str(text)),))

    def take(self, place: str, message: Json) -> Iterator[Item]:
        record = require_dict(message, "a message is an object")
        if record.get("type") == "reasoning":
            messages: list[Message] = [Message("assistant", (_thought(record),))]
        else:
            role = record.get("role")
            if role not in ("user", "assistant"):
                raise InputError(f"unknown role {str(role)[:80]!r}")
            content = record.get("content")
            if isinstance(content, list):
                content = [_wire_block(block) for block in content]
            if role == "user" and self._is_wrapped:
                content = _unwrapped(content)
            messages, problems = load_wire("anthropic", role, content, place)
            yield from problems
            if thought := as_text(record.get("reasoning_content")):
                first = messages.pop(0) if messages else Message(role, ())
                block = Raw(NAME, {"type": "reasoning", "text": thought})
                messages.insert(0, replace(first, content=(block, *first.blocks)))
        if messages:
            yield from self._facts(messages)
            yield self._entry(record, [self._ids.assign(_own(message)) for message in messages])

    def _facts(self, messages: list[Message]) -> Iterator[Item]:
        """The folder, which the environment of a prompt names."""
        folder = _FOLDER.search(messages[-1].text) if messages[-1].role == "user" else None
        if folder and folder[1] != self._folder:
            self._folder = folder[1]
            yield Facts(folder=folder[1])

    def _entry(self, record: dict[str, Json], messages: list[Message]) -> Entry:
        entry = Entry(
            messages=tuple(messages),
            usage=_usage(as_dict(record.get("metrics"))),
            model=_model(as_dict(record.get("modelInfo"))),
            time=as_time(as_number(record.get("ts"))),
            metadata=drop_empty(provider=_provider(record)),
        )
        return self._in_its_view(record, entry)

    def _in_its_view(self, record: dict[str, Json], entry: Entry) -> Entry:
        """A summary replaces what comes before it. The marker of a truncation replaces only the
        messages that name it: the others are told once more."""
        hidden = as_text(record.get("truncationId")) if record.get("isTruncationMarker") else None
        if record.get("isSummary") is True:
            self._in_view, entry = [], replace(entry, compacts=True)
        elif hidden:
            self._in_view = [kept for kept in self._in_view if kept[0] != hidden]
            kept = [message for _, messages in self._in_view for message in messages]
            entry = replace(entry, messages=(*kept, *entry.messages), compacts=True)
        self._in_view.append((as_text(record.get("truncationParent")), entry.messages))
        return entry


def _wire_block(block: Json) -> Json:
    """A block of Cline's SDK as Anthropic has it. A file is sent as a text."""
    fields = as_dict(block)
    match fields.get("type"):
        case "file" if isinstance(fields.get("content"), str):
            path, content = text_of(fields.get("path")), fields["content"]
            words = f'<file_content path="{path}">\n{content}\n</file_content>'
            return {"type": "text", "text": words}
        case "image" if "data" in fields:
            return media_block(fields.get("mediaType"), fields["data"]) or block
        case "tool_result" if isinstance(fields.get("content"), list):
            # Items without types stay as they are: the result of a tool may be any value.
            return {**fields, "content": [_wire_block(item) for item in fields["content"]]}
    return block


def _unwrapped(content: Json) -> Json:
    """Prompts without the tags that Cline's SDK stores around them and does not send."""
    if isinstance(content, str):
        return _WRAPPER.sub("", content).strip() if _WRAPPER.search(content) else content
    if isinstance(content, dict) and content.get("type") == "text":
        return {**content, "text": _unwrapped(content.get("text"))}
    return [_unwrapped(block) for block in content] if isinstance(content, list) else content


def _own(message: Message) -> Message:
    """The message without keys that are only Cline's, which are kept, and with the thoughts that no
    provider accepts as its own."""
    if message.role == "tool":
        around = _kept(message.origin)
        name = as_text(around.pop("name", None))
        return replace(message, name=name, origin={NAME: around} if around else None)
    if not isinstance(message.content, tuple):
        return message
    return replace(message, content=tuple(map(_own_block, message.content)))


def _own_block(block: Block) -> Block:
    if not isinstance(block, Raw):
        around = _kept(block.origin)
        around.pop("name", None)
        return replace(block, origin={NAME: around} if around else None)
    data = as_dict(block.data)
    is_unsigned = data.get("type") == "thinking" and not as_text(data.get("signature"))
    return Raw(NAME, data) if is_unsigned or block.provider == ANY else block


def _kept(origin: Origin | None) -> dict[str, Json]:
    around = (origin or {}).get("anthropic.block", {})
    return {key: value for key, value in around.items() if key not in _USUAL}


def _thought(item: dict[str, Json]) -> Block:
    """A thought that stands alone, as the Responses API has it."""
    ensure_storable(item)
    wire = {key: item[key] for key in ("type", "id", "summary", "encrypted_content") if key in item}
    return Raw("responses" if {"id", "encrypted_content"} <= wire.keys() else NAME, wire)


def _usage(metrics: dict[str, Json]) -> dict[str, Json] | None:
    """The tokens of an answer; those of the cache are a part of the prompt."""
    tokens = as_dict(metrics.get("tokens"))
    return extra(
        drop_empty(
            prompt_tokens=tokens.get("prompt", metrics.get("inputTokens")),
            completion_tokens=tokens.get("completion", metrics.get("outputTokens")),
            cached_input_tokens=tokens.get("cached", metrics.get("cacheReadTokens")),
            input_tokens_cache_write=metrics.get("cacheWriteTokens"),
            cost=metrics.get("cost"),
        )
    )


def _model(info: dict[str, Json]) -> str | None:
    return as_text(info.get("modelId")) or as_text(info.get("id"))


def _provider(record: dict[str, Json]) -> str | None:
    info = as_dict(record.get("modelInfo"))
    return as_text(info.get("providerId")) or as_text(info.get("provider"))


# The screen

ANSWERS = ("text", "completion_result", "plan_completion_result", "reasoning")
QUESTIONS = {
    "followup": "question",
    "plan_mode_respond": "response",
    "act_mode_respond": "response",
}
"""Questions of the model, and the key of each under which its text stands."""
SILENT = (
    *("api_req_started", "api_req_finished", "api_req_retried", "api_req_retry_delayed"),
    *("api_req_deleted", "deleted_api_reqs", "api_req_failed", "api_req_rate_limit_wait"),
    *("checkpoint_created", "checkpoint_saved", "resume_task", "resume_completed_task"),
    *("error", "info", "shell_integration_warning", "too_many_tools_warning", "hook_status"),
    *("shell_integration_warning_with_suggestion", "command_permission_denied"),
    *("mistake_limit_reached", "auto_approval_max_req_reached", "task_progress"),
)
"""What the program says for itself."""


def _screen(source: Source, messages: list[Json]) -> Iterator[Item]:
    if any(source.path.with_name(name).exists() for name in HISTORY):
        return
    first = True
    for number, message in enumerate(messages, 1):
        for item in attempt(f"message {number}", _shown, f"message {number}", message, first):
            first = first and not isinstance(item, Entry)
            yield item


def _shown(place: str, message: Json, first: bool) -> Iterator[Item]:
    record = require_dict(message, "a message is an object")
    kind = as_text(record.get(text_of(record.get("type"))))
    if record.get("type") not in ("ask", "say") or kind is None:
        raise InputError("a message asks or says something")
    if record.get("partial") is True:
        raise InputError(f"{kind} is not complete")
    blocks = [Text(words) for words in [_words(record, kind)] if words]
    images = [url_block(image) for image in as_list(record.get("images"))]
    pictures = [Raw("anthropic", image) for image in images if image]
    time = as_time(as_number(record.get("ts")))
    is_prompt = kind in ("task", "user_feedback") or (kind == "text" and first)
    if is_prompt:
        if blocks or pictures:
            yield Entry(messages=(Message("user", (*blocks, *pictures)),), time=time)
    elif kind == "reasoning" and blocks:
        thought = Raw(NAME, {"type": "thinking", "thinking": blocks[0].text})
        yield Entry(messages=(Message("assistant", (thought,)),), time=time)
    elif kind in (*ANSWERS, *QUESTIONS):
        if blocks:
            yield Entry(messages=(Message("assistant", tuple(blocks)),), time=time)
    elif kind not in SILENT:
        yield Unknown(place, f"{record['type']} {kind}", ensure_storable(record))


def _words(record: dict[str, Json], kind: str) -> str:
    if "text" in record and not isinstance(record["text"], str):
        raise InputError(f"the text of {kind} is not a text")
    text = text_of(record.get("text"))
    inner = as_dict(json_or_none(text)) if kind in QUESTIONS else {}
    return text_of(inner.get(QUESTIONS.get(kind, ""))) or text
