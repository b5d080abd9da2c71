"""VS Code's chat: a session as one JSON document, or as a log of changes to that document.

A request is a prompt with its answer. What the model was sent and returned stands in the metadata
of the result, as rounds of calls; where there are none, the answer is read from the screen, which
shows texts but neither calls nor results as the model had them. A request is read when it is
finished. One that a log removes again stays as a branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from msgspec.structs import replace

from tract.core.titles import title_of
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
from tract.model import ROOT, Block, Json, Message, Raw, Text, ToolCall

NAME = "vscode-chat"

OWN_ID = "__vscode"
"""What the program appends to the id of a call."""
FINISHED = (1, 2, 3)  # complete, cancelled, failed
IMAGE, TEXT = 0, 1  # kinds of parts of a prompt
SILENT = (
    *("textEditGroup", "notebookEditGroup", "workspaceEdit", "codeblockUri", "undoStop"),
    *("prepareToolInvocation", "progressTaskSerialized", "progressMessage", "progressTask"),
    *("mcpServersStarting", "confirmation", "elicitationSerialized", "command", "warning"),
    *("extensions", "hook", "pullRequest", "treeData", "multiDiffData", "disabledClaudeHooks"),
    *("clearToPreviousToolInvocation", "questionCarousel"),
)
"""What the screen shows beside an answer."""


def detect(source: Source) -> bool:
    first = as_dict(source.peek)
    if any(map(_is_change, [first, *source.head_records()])):
        return True
    has_name = "sessionId" in first or "responderUsername" in first
    return has_name and any(
        {"requestId", "message"} <= request.keys() for request in dicts(first.get("requests"))
    )


def _is_change(line: dict[str, Json]) -> bool:
    if line.get("kind") == 0:
        return isinstance(as_dict(line.get("v")).get("requests"), list)
    return line.get("kind") in (1, 2) and as_list(line.get("k"))[:1] == ["requests"]


def session(source: Source) -> str | None:
    first = as_dict(source.peek)
    return as_text(as_dict(first.get("v", first)).get("sessionId"))


def read(source: Source) -> Iterator[Item]:
    chat = _Chat(source.path)
    if source.is_of_lines() and "requests" not in as_dict(source.peek):
        for record in source.records():
            if isinstance(record, Problem):
                yield record
            else:
                place = f"line {record[0]}"
                yield from attempt(place, chat.change, place, record[1])
        yield from chat.finish()
        return
    document, problems = source.document(lists=("requests",))
    yield from chat.change("document", {"kind": 0, "v": document})
    yield from chat.finish()
    yield from problems


class _Chat:
    def __init__(self, path: Path) -> None:
        self._folder = _folder(path)
        self._state: dict[str, Json] = {}
        self._ends: dict[str, str | None] = {}
        """For each request that was read its last entry, or the one before it if it has none."""
        self._facts: Facts | None = None
        self._context: Json = None

    def change(self, place: str, line: Json) -> Iterator[Item]:
        """Apply a change, and read the requests that it finishes."""
        change = require_dict(line, "a line is an object")
        kind, path = change.get("kind"), list(_path(change.get("k")))
        if kind == 0:
            self._state = require_dict(change.get("v"), "a session is an object")
        elif kind in (1, 2, 3):
            _change(self._state, path, change)
        else:
            raise InputError(f"unknown kind of change {str(kind)[:80]!r}")
        if len(path) < len(as_list(change.get("k"))):
            yield Problem(place, "a step of a path is a name or a number")
        if kind == 0 or path[:1] != ["inputState"]:
            yield from self._about()
            yield from self._requests(is_end=False)

    def finish(self) -> Iterator[Item]:
        yield from self._requests(is_end=True)

    def _about(self) -> Iterator[Item]:
        prompts = (
            text_of(as_dict(request.get("message")).get("text"))
            for request in dicts(self._state.get("requests"))
        )
        facts = Facts(
            title=as_text(self._state.get("customTitle")) or title_of(next(prompts, "")),
            folder=self._folder,
            started=as_time(as_number(self._state.get("creationDate"))),
            ended=as_time(as_number(self._state.get("lastMessageDate"))),
        )
        if facts != self._facts:
            self._facts = facts
            yield facts

    def _requests(self, *, is_end: bool) -> Iterator[Item]:
        requests = as_list(self._state.get("requests"))
        before = ROOT if self._ends else None
        for number, request in enumerate(requests, 1):
            place, is_last = f"request {number}", number == len(requests)
            key = as_text(as_dict(request).get("requestId")) or place
            if key not in self._ends and _is_complete(as_dict(request), is_last, is_end):
                self._ends[key] = before
                for item in attempt(place, self._request, place, key, before, request):
                    if isinstance(item, Entry):
                        self._ends[key] = item.key
                    yield item
            elif key not in self._ends and is_end:
                yield Problem(place, "the request is not finished")
            before = self._ends.get(key, before)

    def _request(self, place: str, key: str, before: str | None, request: Json) -> Iterator[Item]:
        """The entries of a request, each with a key of its own."""
        fields = require_dict(request, "a request is an object")
        number = 0
        for item in self._items(place, ensure_storable(fields)):
            if isinstance(item, Entry):
                number += 1
                own = f"{key} {number}"
                item = replace(item, key=own, parent=before)
                before = own
            yield item

    def _items(self, place: str, request: dict[str, Json]) -> Iterator[Item]:
        result = as_dict(request.get("result"))
        about = as_dict(result.get("metadata"))
        time = as_time(as_number(request.get("timestamp")))
        summary = as_dict(about.get("summary"))
        rounds = as_list(about.get("toolCallRounds"))
        ids = [one.get("id") for one in dicts(rounds)]
        if as_text(summary.get("text")) and summary.get("toolCallRoundId") not in ids:
            yield _summary(summary)
        context = about.get("renderedGlobalContext")
        if context and context != self._context:
            self._context = context
            yield Entry(messages=(Message("user", _prompt(context)),), time=time)
        prompt = about.get("renderedUserMessage") or as_dict(request.get("message")).get("text")
        if not prompt and "message" not in request:
            raise InputError("a request needs a message")
        if prompt:
            yield Entry(messages=(Message("user", _prompt(prompt)),), time=time)
        if rounds:
            yield from _rounds(place, request, rounds, about)
        else:
            yield from _shown(place, request)


_Step = str | int


def _path(steps: Json) -> Iterator[_Step]:
    return (step for step in as_list(steps) if type(step) in (str, int))


def _change(state: Json, path: list[_Step], change: dict[str, Json]) -> None:
    """Set or delete a value, or cut a list and add values to it. What a lost line would have made
    is made here."""
    if not path:
        raise InputError("a change needs a path")
    for step, following in pairwise(path):
        _make(state, step, {} if isinstance(following, str) else [])
        state = state[step]
    last, value = path[-1], change.get("v") if change["kind"] != 3 else None
    _make(state, last, None)
    if change["kind"] == 2:
        start = change.get("i")
        kept = as_list(state[last])[: start if type(start) is int and start >= 0 else None]
        value = kept + as_list(value)
    state[last] = value


def _make(inner: Json, step: _Step, value: Json) -> None:
    """Put a value where there is none; InputError where none can be."""
    if isinstance(inner, dict) and isinstance(step, str):
        if inner.get(step) is None:
            inner[step] = value
    elif isinstance(inner, list) and isinstance(step, int) and 0 <= step <= len(inner):
        if step == len(inner):
            inner.append(value)
    else:
        raise InputError(f"no such position: {step!r:.200}")


def _is_complete(request: dict[str, Json], is_last: bool, is_end: bool) -> bool:
    """Whether nothing of a request can change. The parts of the screen are written after the state,
    so a request without rounds may lack some until the next one."""
    if not is_last:
        return True
    result, state = request.get("result"), as_dict(request.get("modelState")).get("value")
    is_finished = isinstance(result, dict) or request.get("isCanceled") is True
    rounds = as_list(as_dict(as_dict(result).get("metadata")).get("toolCallRounds"))
    is_finished = is_finished if state is None else state in FINISHED
    return is_finished and (is_end or bool(rounds))


def _prompt(content: Json) -> str | tuple[Block, ...]:
    """A prompt as it was sent. Its cache breakpoints are left out."""
    if isinstance(content, str):
        return content
    blocks: list[Block] = []
    for part in dicts(content):
        if part.get("type") == TEXT and isinstance(part.get("text"), str):
            blocks.append(Text(part["text"]))
        elif part.get("type") == IMAGE:
            image = url_block(as_dict(part.get("imageUrl")).get("url"))
            blocks.append(Raw("anthropic", image) if image else Raw(NAME, part))
    return tuple(blocks)


def _rounds(
    place: str, request: dict[str, Json], rounds: list[Json], about: dict[str, Json]
) -> Iterator[Item]:
    """Each answer with its results. The tokens are those of the last one."""
    results, summary = dict(as_dict(about.get("toolCallResults"))), as_dict(about.get("summary"))
    model = as_text(about.get("resolvedModel")) or as_text(request.get("modelId"))
    for number, one in enumerate(rounds, 1):
        usage = _usage(request, about) if number == len(rounds) else None
        where = f"{place}, round {number}"
        yield from attempt(where, _round, where, one, results, {"model": model, "usage": usage})
        is_summed_up = as_dict(one).get("id") == summary.get("toolCallRoundId")
        if is_summed_up and as_text(summary.get("text")):
            yield _summary(summary)
    for own, result in results.items():  # whose calls cannot be read
        message = Message("tool", _content(result), tool_call_id=own.partition(OWN_ID)[0] or own)
        yield Entry(messages=(message,))


def _round(
    place: str, record: Json, results: dict[str, Json], about: dict[str, Json]
) -> Iterator[Item]:
    one = require_dict(record, "a round is an object")
    thought, text = as_dict(one.get("thinking")), text_of(one.get("response"))
    blocks: list[Block] = [Raw(NAME, {**thought, "type": "thinking"})] if thought else []
    blocks += [Text(text)] if text else []
    returned: list[Message] = []
    for number, call in enumerate(as_list(one.get("toolCalls")), 1):
        fields = as_dict(call)
        name, own = as_text(fields.get("name")), as_text(fields.get("id"))
        if name is None or own is None:
            yield Problem(f"{place}, call {number}", "a call needs a name and an id")
            continue
        call_id = own.partition(OWN_ID)[0] or own
        blocks.append(ToolCall(call_id, name, fields.get("arguments", "{}")))
        if own in results:
            content = _content(results.pop(own))
            returned.append(Message("tool", content, tool_call_id=call_id, name=name))
    if blocks:
        yield Entry(messages=(Message("assistant", tuple(blocks)),), **about)
    yield from (Entry(messages=(message,)) for message in returned)


def _content(result: Json) -> Json:
    """What the model was sent of a result: one text where it is nothing else."""
    parts = as_dict(result).get("content", result)
    values = [_value(part) for part in (parts if isinstance(parts, list) else [parts])]
    if all(isinstance(value, str) for value in values):
        return "".join(values)
    return [{"type": "text", "text": v} if isinstance(v, str) else v for v in values]


def _value(part: Json) -> Json:
    value = as_dict(part).get("value", part)
    node = as_dict(value).get("node")
    return _flat(node, "") if isinstance(node, dict) else value


def _flat(node: dict[str, Json], before: str) -> str:
    """The text of a tree of elements, added to that before it."""
    if isinstance(node.get("text"), str):
        is_new_line = node.get("lineBreakBefore") and before and not before.endswith("\n")
        return f"{before}\n{node['text']}" if is_new_line else before + node["text"]
    for child in dicts(node.get("children")):
        before = _flat(child, before)
    return before


def _summary(summary: dict[str, Json]) -> Entry:
    return Entry(messages=(Message("user", summary["text"]),), compacts=True)


def _usage(request: dict[str, Json], about: dict[str, Json]) -> dict[str, Json] | None:
    usage = as_dict(as_dict(request.get("result")).get("usage"))
    return extra(
        drop_empty(
            prompt_tokens=usage.get("promptTokens", about.get("promptTokens")),
            completion_tokens=usage.get("completionTokens", about.get("outputTokens")),
        )
    )


def _shown(place: str, request: dict[str, Json]) -> Iterator[Item]:
    """The answer as the screen shows it."""
    blocks: list[Block] = []
    for number, part in enumerate(as_list(request.get("response")), 1):
        yield from attempt(
            f"{place}, part {number}", _part, f"{place}, part {number}", part, blocks
        )
    if blocks:
        about = as_dict(as_dict(request.get("result")).get("metadata"))
        model = as_text(about.get("resolvedModel")) or as_text(request.get("modelId"))
        usage = _usage(request, about)
        yield Entry(messages=(Message("assistant", tuple(blocks)),), model=model, usage=usage)


def _part(place: str, part: Json, blocks: list[Block]) -> Iterator[Item]:
    fields = {"value": part} if isinstance(part, str) else require_dict(part, "a part is an object")
    kind = fields.get("kind", "")
    if kind in ("", "markdownContent", "markdownVuln"):
        _add_text(as_dict(fields.get("content", fields)).get("value"), blocks)
    elif kind == "inlineReference":
        inner = as_dict(fields.get("inlineReference"))
        name = as_text(fields.get("name")) or as_text(inner.get("name"))
        _add_text(name or text_of(as_dict(inner.get("uri", inner)).get("path")), blocks)
    elif kind == "thinking":
        if fields.get("value"):
            blocks.append(Raw(NAME, {"type": "thinking", "text": fields["value"]}))
    elif kind not in SILENT:
        if not isinstance(kind, str):
            raise InputError("the kind of a part is a text")
        yield Unknown(place, kind, fields)


def _add_text(text: Json, blocks: list[Block]) -> None:
    """The screen shows one text in pieces."""
    if not isinstance(text, str):
        raise InputError("a text needs its value")
    if blocks and isinstance(blocks[-1], Text):
        text = blocks.pop().text + text  # type: ignore[union-attr]
    if text:
        blocks.append(Text(text))


def _folder(path: Path) -> str | None:
    """The folder of the window, from the file that describes it."""
    if path.parent.name != "chatSessions":
        return None
    try:
        window = as_dict(Source(path.parent.parent / "workspace.json").peek)
    except InputError:
        return None
    return path_of(window.get("folder"))
