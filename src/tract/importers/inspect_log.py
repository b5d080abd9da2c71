"""Logs of Inspect: JSON documents, and `.eval` archives with one document per sample."""

from __future__ import annotations

from collections.abc import Iterator

from tract.errors import InputError
from tract.importers import archives
from tract.importers.call_ids import CallIds
from tract.importers.coerce import (
    as_dict,
    as_list,
    as_name,
    as_time,
    definitions,
    dicts,
    ensure_storable,
    extra,
    require_dict,
    text_of,
)
from tract.importers.items import Entry, Item, Problem
from tract.importers.partial_json import parse
from tract.importers.source import Source, attempt
from tract.model import ROLES, Block, Json, Message, Raw, Text, ToolCall, readable

NAME = "inspect"

ATTACHMENT = "attachment://"
SAMPLES = "samples/"
FIELDS = frozenset({"role", "content", "tool_calls", "tool_call_id", "function"})
"""The keys of a message that have a field of their own in an entry."""
TOOL = ("name", "description", "parameters")


def detect(source: Source) -> bool:
    if source.head.startswith(archives.START):
        return _is_archive(source)
    log = as_dict(source.peek)
    task = as_dict(log.get("eval"))
    return (
        "task" in task and bool(task.keys() & {"eval_id", "run_id", "model"}) and "version" in log
    )


def _is_archive(source: Source) -> bool:
    names = archives.names(source.path) or [archives.first_name(source.head)]
    return any(
        name in ("header.json", "_journal/start.json")
        or (name.startswith(SAMPLES) and "_epoch_" in name)
        for name in names
    )


def read(source: Source) -> Iterator[Item]:
    if source.head.startswith(archives.START):
        yield from _from_archive(source)
        return
    document, problems = source.document(lists=("samples",))
    samples = as_dict(document).get("samples")
    if not isinstance(samples, list):
        raise InputError(f"{source.path.name}: a log without samples")
    for number, sample in enumerate(samples, 1):
        yield from attempt(f"sample {number}", _of_sample, f"sample {number}", sample)
    yield from problems


def _from_archive(source: Source) -> Iterator[Item]:
    for piece in archives.pieces(source.path, SAMPLES):
        if isinstance(piece, Problem):
            yield piece
            continue
        name, data = piece
        yield from attempt(name, lambda name, data: _of_sample(name, parse(data)), name, data)


def _of_sample(place: str, sample: Json) -> Iterator[Item]:
    sample = require_dict(sample, "a sample is a dict")
    return _Sample(place, sample).items()


class _Sample:
    """One run of the agent. Its messages are the main dialog; answers that only events contain are
    branches of it, or dialogs of their own if they begin with other messages."""

    def __init__(self, place: str, sample: dict[str, Json]) -> None:
        self._place, self._sample = place, sample
        sample_id, epoch = as_name(sample.get("id")), as_name(sample.get("epoch"))
        self._name = f"{sample_id or place} epoch {epoch or 1}"
        self._attachments = as_dict(sample.get("attachments"))
        pool = as_dict(sample.get("events_data")).get("messages", sample.get("message_pool"))
        self._pool = as_list(pool)
        events = dicts(sample.get("events"))
        self._calls = [event for event in events if event.get("event") == "model"]
        self._answers = {as_name(_answer(call).get("id")): call for call in self._calls}
        self._completed = {
            as_name(event.get("id")): as_time(event.get("completed"))
            for event in events
            if event.get("event") == "tool"
        }
        self._dialogs: dict[str, str] = {}
        """The first dialog of each message that was yielded, by the id of the message."""
        self._keys: set[str] = set()
        """Of the entries that were yielded."""
        self._ids: dict[str, CallIds] = {}
        self._tools: dict[str, list[dict[str, Json]]] = {}

    def items(self) -> Iterator[Item]:
        yield from self._chain(self._name, self._main())
        for number, call in enumerate(self._calls, 1):
            answer = _answer(call)
            if answer and as_name(answer.get("id")) not in self._dialogs:
                yield from self._aside(number, [*self._input(call), answer])

    def _main(self) -> list[Json]:
        messages = as_list(self._sample.get("messages"))
        if messages:
            return messages
        prompt = self._sample.get("input")  # all that a sample has that never started
        return [{"role": "user", "content": prompt}] if isinstance(prompt, str) else as_list(prompt)

    def _aside(self, number: int, chain: list[Json]) -> Iterator[Item]:
        root = as_name(as_dict(chain[0]).get("id"))
        is_known = all(as_name(as_dict(message).get("id")) for message in chain)
        if not is_known:
            if not as_list(self._sample.get("messages")):  # without ids no two are known to differ
                yield from self._chain(f"{self._name} call {number}", chain)
            return
        yield from self._chain(self._dialogs.get(root or "", f"{self._name} call {number}"), chain)

    def _chain(self, dialog: str, chain: list[Json]) -> Iterator[Item]:
        """The messages of a history that were not yielded yet, each after the previous one."""
        parent: str | None = None
        for number, message in enumerate(chain, 1):
            key = as_name(as_dict(message).get("id"))
            own = f"{dialog} {key}" if key else None
            if own is None or own not in self._keys:
                place = f"{self._place}: message {number}"
                items = list(attempt(place, self._entry, dialog, parent, message))
                yield from items
                if isinstance(items[0], Problem):
                    continue  # the next one follows the last that could be read
            if key and own:
                self._keys.add(own)
                self._dialogs.setdefault(key, dialog)
            parent = own

    def _entry(self, dialog: str, parent: str | None, message: Json) -> Iterator[Item]:
        if not isinstance(message, dict) or message.get("role") not in ROLES:
            raise InputError(f"not a message: {readable(ensure_storable(message))[:200]}")
        message = self._resolve(ensure_storable(message))
        key = as_name(message.get("id"))
        call = self._answers.get(key, {}) if key and message["role"] == "assistant" else {}
        output = as_dict(call.get("output"))
        model = as_name(output.get("model")) or as_name(message.get("model"))
        completed = self._completed.get(as_name(message.get("tool_call_id")))
        ids = self._ids.setdefault(dialog, CallIds())
        yield Entry(
            messages=(ids.assign(_message(message, model or "")),),
            dialog=dialog,
            key=f"{dialog} {key}" if key else None,
            parent=parent,
            tools=self._new_tools(dialog, call),
            usage=extra(output.get("usage")),
            model=model,
            generation_config=extra(call.get("config")),
            time=as_time(call.get("completed") or call.get("timestamp")) or completed,
            metadata=extra({name: value for name, value in message.items() if name not in FIELDS}),
        )

    def _new_tools(self, dialog: str, call: dict[str, Json]) -> list[dict[str, Json]] | None:
        """The definitions that a model had, unless they are those of the previous call."""
        tools = [
            {"type": "function", "function": self._resolve({k: tool[k] for k in TOOL if k in tool})}
            for tool in as_list(call.get("tools"))
            if extra(tool)
        ]
        if not tools or self._tools.get(dialog) == tools:
            return None
        self._tools[dialog] = tools
        return definitions(tools)

    def _input(self, call: dict[str, Json]) -> list[Json]:
        """The messages that a model was sent: in full, or by their positions in a pool."""
        messages = as_list(call.get("input"))
        for span in as_list(call.get("input_refs")):
            if isinstance(span, list) and len(span) == 2 and all(type(at) is int for at in span):
                messages = messages + self._pool[max(span[0], 0) : max(span[1], 0)]
        return messages

    def _resolve(self, value: Json) -> Json:
        """The value with the long texts that it refers to."""
        if isinstance(value, str) and value.startswith(ATTACHMENT):
            text = self._attachments.get(value.removeprefix(ATTACHMENT))
            return text if isinstance(text, str) else value
        if isinstance(value, dict):
            return {key: self._resolve(item) for key, item in value.items()}
        return [self._resolve(item) for item in value] if isinstance(value, list) else value


def _message(message: dict[str, Json], model: str) -> Message:
    role, content = message["role"], message.get("content")
    if role == "tool":
        return _result(message)
    calls = [_call(call) for call in as_list(message.get("tool_calls"))]
    if isinstance(content, list):
        return Message(role, (*(_block(part, model) for part in content), *calls))
    text = "" if content is None else readable(content)
    return Message(role, (*([Text(text)] if text else []), *calls) if calls else text)


def _answer(call: dict[str, Json]) -> dict[str, Json]:
    choices = as_list(as_dict(call.get("output")).get("choices"))
    return as_dict(as_dict(choices[0]).get("message")) if choices else {}


def _call(call: Json) -> ToolCall:
    name = text_of(as_dict(call).get("function"))
    if not name:
        raise InputError(f"not a tool call: {readable(call)[:200]}")
    return ToolCall(as_name(call.get("id")) or "", name, call.get("arguments", {}))


def _result(message: dict[str, Json]) -> Message:
    """A result. Of a call that failed without any output the model sees the error."""
    name, content = text_of(message.get("function")), message.get("content")
    error = as_dict(message.get("error"))
    if isinstance(content, list):
        content = [_result_block(part) for part in content]
    return Message(
        "tool",
        content or text_of(error.get("message")),
        tool_call_id=as_name(message.get("tool_call_id")) or "",
        name=name or None,
        is_error=bool(error),
    )


def _result_block(part: Json) -> Json:
    if as_dict(part).get("type") == "text":
        return {"type": "text", "text": text_of(part.get("text"))}
    return _image(part) or part


def _image(part: Json) -> dict[str, Json] | None:
    url = text_of(as_dict(part).get("image"))
    if as_dict(part).get("type") != "image" or not url:
        return None
    detail = {"detail": part["detail"]} if part.get("detail") else {}
    return {"type": "image_url", "image_url": {"url": url, **detail}}


def _block(part: Json, model: str) -> Block:
    kind = as_dict(part).get("type")
    if kind == "text" and isinstance(part.get("text"), str):
        return Text(part["text"])
    if kind == "reasoning" and "claude" in model and text_of(part.get("signature")):
        return Raw("anthropic", _thought(part))
    if image := _image(part):
        return Raw("openai", image)
    return Raw("inspect", part if isinstance(part, dict) else {"type": "content", "value": part})


def _thought(part: dict[str, Json]) -> dict[str, Json]:
    """A thought as its provider wrote it, the only form that the provider accepts."""
    text = text_of(part.get("reasoning"))
    if part.get("redacted"):
        return {"type": "redacted_thinking", "data": text}
    return {"type": "thinking", "thinking": text, "signature": part["signature"]}
