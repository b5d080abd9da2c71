"""Continue: a session as one JSON document. The command-line program `cn` writes the same.

The result of a call stands in the state of the call, and in newer files nowhere else. Files and
other context of a prompt were sent before it, each as a text of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from tract.errors import InputError
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
    path_of,
    require_dict,
    text_of,
)
from tract.importers.items import Entry, Facts, Item, Problem, Unknown
from tract.importers.media import url_block
from tract.importers.source import Source, attempt
from tract.model import Block, Json, Message, Raw, Text, ToolCall

NAME = "continue"

TERMINAL = "run_terminal_command"
NO_OUTPUT, CANCELED = "No tool output", "The user cancelled this tool call."
FAILED = "There was an error calling the tool."
"""What the model is sent for a call without an output."""
FINISHED, RUNNING = ("done", "errored", "canceled"), ("generated", "calling")


def detect(source: Source) -> bool:
    session = as_dict(source.peek)
    return "sessionId" in session and any(
        {"message", "contextItems"} <= item.keys() for item in dicts(session.get("history"))
    )


def session(source: Source) -> str | None:
    return as_text(as_dict(source.peek).get("sessionId"))


def read(source: Source) -> Iterator[Item]:
    document, problems = source.document(lists=("history",))
    session = as_dict(document)
    if not isinstance(session.get("history"), list):
        raise InputError("a session needs a history")
    yield Facts(
        title=as_text(session.get("title")),
        folder=path_of(session.get("workspaceDirectory")),
        model=as_text(session.get("chatModelTitle")),
        started=_started(source, session),
        cost=as_number(as_dict(session.get("usage")).get("totalCost")),
    )
    items, history = session["history"], _History()
    for number, item in enumerate(items, 1):
        place, is_last = f"item {number}", number == len(items)
        yield from attempt(place, history.take, place, item, is_last)
    yield from problems


def _started(source: Source, session: dict[str, Json]) -> Json:
    """The time of the session in the index of all sessions."""
    try:
        index = Source(source.path.with_name("sessions.json")).peek
    except InputError:
        return None
    own = (one for one in dicts(index) if one.get("sessionId") == session.get("sessionId"))
    created: Json = next(own, {}).get("dateCreated")
    is_number = isinstance(created, str) and created.isdecimal()
    return as_time(int(created) if is_number else created)


class _History:
    def __init__(self) -> None:
        self._answered: set[str] = set()
        self._is_last = self._is_waiting = False
        """Whether the item is the last, and whether one of its calls is still running. The results
        after that call wait too: they are told in the order of the calls."""

    def take(self, place: str, item: Json, is_last: bool) -> Iterator[Item]:
        fields = require_dict(item, "an item is an object")
        message = require_dict(fields.get("message"), "a message is an object")
        summary = as_text(fields.get("conversationSummary"))
        if summary is None or message.get("content") != summary:
            self._is_last, self._is_waiting = is_last, False
            yield from self._items(place, ensure_storable(fields), message)
        if summary is not None:  # of all items up to this one
            yield Entry(messages=(Message("user", summary),), compacts=True)

    def _items(self, place: str, item: dict[str, Json], message: dict[str, Json]) -> Iterator[Item]:
        role, content = message.get("role"), message.get("content")
        match role:
            case "system":
                yield Entry(messages=(Message("system", _text(content)),))
            case "user":
                blocks: list[Block] = []
                yield from _context(place, item, blocks)
                yield from _parts(place, content, blocks)
                if blocks:
                    yield Entry(messages=(Message("user", _plain(blocks)),))
            case "thinking":
                yield Entry(messages=(Message("assistant", (_thought(message),)),))
            case "assistant":
                yield from self._answer(place, item, message)
            case "tool":
                yield from self._result(message)
            case str():
                yield Unknown(place, role, message)
            case _:
                raise InputError("a message needs a role")

    def _answer(
        self, place: str, item: dict[str, Json], message: dict[str, Json]
    ) -> Iterator[Item]:
        thought = as_text(as_dict(item.get("reasoning")).get("text"))
        blocks: list[Block] = [Raw(NAME, {"type": "reasoning", "text": thought})] if thought else []
        results: list[Message] = []
        content = message.get("content")
        if content is not None or not message.get("toolCalls"):
            yield from _parts(place, content, blocks)
        states = {text_of(state.get("toolCallId")): state for state in _states(item)}
        calls = as_list(message.get("toolCalls"))
        ids = [as_dict(call).get("id") for call in calls]
        calls += [state.get("toolCall") for own, state in states.items() if own not in ids]
        for number, call in enumerate(calls, 1):
            where = f"{place}, call {number}"
            yield from attempt(where, self._call, where, call, states, blocks, results)
        if blocks:
            log = next(reversed(dicts(item.get("promptLogs"))), {})
            usage = _usage(as_dict(message.get("usage")))
            model = as_text(log.get("modelTitle"))
            yield Entry(messages=(Message("assistant", tuple(blocks)),), usage=usage, model=model)
        yield from (Entry(messages=(result,)) for result in results)

    def _call(
        self,
        place: str,
        call: Json,
        states: dict[str, dict[str, Json]],
        blocks: list[Block],
        results: list[Message],
    ) -> Iterator[Problem]:
        """Add a call, and its result if there is one."""
        fields = require_dict(call, "a call is an object")
        function = as_dict(fields.get("function"))
        call_id, name = as_text(fields.get("id")), as_text(function.get("name"))
        if call_id is None or name is None:
            raise InputError("a call needs a name and an id")
        state = states.get(call_id, {})
        status = state.get("status")
        if status == "generating":
            raise InputError(f"the arguments of the call {call_id!r} of {name} are not complete")
        blocks.append(ToolCall(call_id, name, function.get("arguments", "{}")))
        self._is_waiting = self._is_waiting or (self._is_last and status in RUNNING)
        if status in FINISHED and self._is_waiting:
            yield Problem(place, "its result waits for that of a call before it")
        elif status in FINISHED:
            self._answered.add(call_id)
            is_error = status == "errored"
            results.append(Message("tool", _output(name, state), call_id, name, is_error))
            for number, item in enumerate(as_list(state.get("output")), 1):
                if not isinstance(as_dict(item).get("content"), str):
                    yield Problem(f"{place}, output {number}", "an output needs a text")

    def _result(self, message: dict[str, Json]) -> Iterator[Item]:
        call_id = as_text(message.get("toolCallId"))
        if call_id is None:
            raise InputError("a result needs the id of its call")
        if call_id not in self._answered:  # the state of the call has it too
            self._answered.add(call_id)
            result = Message("tool", _text(message.get("content")), tool_call_id=call_id)
            yield Entry(messages=(result,))


def _states(item: dict[str, Json]) -> list[dict[str, Json]]:
    """The states of the calls; older files have one."""
    return dicts(item.get("toolCallStates")) or dicts([item.get("toolCallState")])


def _output(name: str, state: dict[str, Json]) -> str:
    """What the model is sent of a result."""
    if state.get("status") == "canceled":
        return CANCELED
    if not isinstance(state.get("output"), list):
        return FAILED if state.get("status") == "errored" else NO_OUTPUT
    items = [item for item in dicts(state["output"]) if isinstance(item.get("content"), str)]
    return "\n\n".join(_piece(name, item) for item in items)


def _piece(name: str, item: dict[str, Json]) -> str:
    status = item.get("status") if name == TERMINAL else None
    return f"{item['content']}\n[Status: {status}]" if status else str(item["content"])


def _context(place: str, item: dict[str, Json], blocks: list[Block]) -> Iterator[Problem]:
    for number, one in enumerate(as_list(item.get("contextItems")), 1):
        text = as_dict(one).get("content")
        if not isinstance(text, str):
            yield Problem(f"{place}, context {number}", "a context needs a text")
        elif text.strip():
            blocks.append(Text(f"{text}\n"))


def _parts(place: str, content: Json, blocks: list[Block]) -> Iterator[Item]:
    if isinstance(content, str):
        blocks += [Text(content)] if content else []
        return
    if not isinstance(content, list):
        raise InputError(f"a content is a text or a list, not {type(content).__name__}")
    for number, part in enumerate(content, 1):
        yield from attempt(f"{place}, block {number}", _part, part, blocks)


def _part(part: Json, blocks: list[Block]) -> Iterator[Item]:
    fields = require_dict(part, "a part is an object")
    if fields.get("type") == "text":
        blocks.append(Text(_text(fields.get("text"))))
    elif fields.get("type") == "imageUrl" and isinstance(fields.get("imageUrl"), dict):
        url = fields["imageUrl"].get("url")
        block = url_block(url)
        wire = {"type": "image_url", "image_url": {"url": _text(url)}}
        blocks.append(Raw("anthropic", block) if block else Raw("openai", wire))
    elif isinstance(fields.get("type"), str):
        blocks.append(Raw(NAME, fields))
    else:
        raise InputError("a part needs a type")
    yield from ()


def _plain(blocks: list[Block]) -> str | tuple[Block, ...]:
    first = blocks[0]
    return first.text if len(blocks) == 1 and isinstance(first, Text) else tuple(blocks)


def _thought(message: dict[str, Json]) -> Block:
    redacted, signature = (
        as_text(message.get("redactedThinking")),
        as_text(message.get("signature")),
    )
    if redacted:
        return Raw("anthropic", {"type": "redacted_thinking", "data": redacted})
    content = message.get("content")
    text = (
        content
        if isinstance(content, str)
        else "".join(text_of(part.get("text")) for part in dicts(content))
    )
    if signature:
        return Raw("anthropic", {"type": "thinking", "thinking": text, "signature": signature})
    return Raw(NAME, {"type": "thinking", "thinking": text})


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise InputError("a text is missing")
    return value


def _usage(usage: dict[str, Json]) -> dict[str, Json] | None:
    """The tokens of an answer; those of the cache are a part of the prompt."""
    details = as_dict(usage.get("promptTokensDetails"))
    return extra(
        drop_empty(
            prompt_tokens=usage.get("promptTokens"),
            completion_tokens=usage.get("completionTokens"),
            cached_input_tokens=details.get("cachedTokens"),
            input_tokens_cache_write=details.get("cacheWriteTokens"),
        )
    )
