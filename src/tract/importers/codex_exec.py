"""Codex: what `codex exec --json` prints, one event per line. A rollout has more: the prompts, the
names and ids of calls, and what each tool sent to the model are not printed.

A call is named after the type of its item, and has the id of its item. It is made when its item
starts, so that a call without an end stays open. Usage is that of a turn, and belongs to its last
answer. Left out: the starts of turns, and states of an item between its start and its end.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tract.errors import InputError
from tract.importers.coerce import (
    as_dict,
    as_text,
    drop_empty,
    ensure_storable,
    extra,
    require_dict,
    text_of,
)
from tract.importers.items import Entry, Item, Unknown
from tract.importers.source import Source, read_parts
from tract.model import Block, Json, Message, Raw, Text, ToolCall

NAME = "codex-exec"

NOISE = frozenset({"turn.started", "item.updated", "item.plan.delta"})
CALLS = ("command_execution", "file_change", "mcp_tool_call", "collab_tool_call")
BLOCKS = ("agent_message", "plan", "reasoning", "web_search")
FAILED = ("failed", "declined")


def detect(source: Source) -> bool:
    return any(map(_is_event, source.head_records()))


def _is_event(event: dict[str, Json]) -> bool:
    if event.get("type") in ("item.started", "item.completed"):
        return as_dict(event.get("item")).get("type") in CALLS + BLOCKS
    return event.get("type") == "thread.started" and isinstance(event.get("thread_id"), str)


def session(source: Source) -> str | None:
    return as_text(next(source.head_records(), {}).get("thread_id"))


def read(source: Source) -> Iterator[Item]:
    run = _Run()
    yield from read_parts(source, run.take)
    yield from run.close()


class _Run:
    """An answer is held until another one begins, or its turn ends and its usage is known."""

    def __init__(self) -> None:
        self._blocks: list[Block] = []
        self._results: list[Entry] = []
        self._open: set[str] = set()
        """The calls of the answer that have no result yet."""
        self._done: set[str] = set()
        self._main: str | None = None
        self._dialog: str | None = None

    def take(self, place: str, event: dict[str, Json]) -> Iterator[Item]:
        kind = as_text(event.get("type"))
        match kind:
            case "thread.started":
                yield from self._start(as_text(event.get("thread_id")))
            case "item.started" | "item.completed":
                item = require_dict(event.get("item"), "an item is an object")
                yield from self._item(place, ensure_storable(item), kind == "item.completed")
            case "turn.completed":
                yield from self.close(extra(event.get("usage")))
            case None:
                raise InputError("an event needs a type")
            case _ if kind not in NOISE:
                yield Unknown(place, kind, event, self._dialog)

    def close(self, usage: dict[str, Json] | None = None) -> Iterator[Item]:
        """The answer that was held, and its results."""
        blocks, self._blocks = self._blocks, []
        results, self._results = self._results, []
        self._open.clear()
        if blocks:
            messages = (Message("assistant", tuple(blocks)),)
            yield Entry(messages=messages, dialog=self._dialog, usage=usage)
        yield from results

    def _start(self, thread: str | None) -> Iterator[Item]:
        """A thread that is resumed counts its items from 0 again."""
        yield from self.close()
        self._done.clear()
        self._main = self._main or thread
        self._dialog = thread if thread != self._main else None

    def _item(self, place: str, item: dict[str, Json], is_done: bool) -> Iterator[Item]:
        kind, item_id = as_text(item.get("type")), as_text(item.get("id"))
        if kind is None or item_id is None:
            raise InputError("an item needs a type and an id")
        if item_id in self._done:
            return
        if is_done:
            self._done.add(item_id)
        if kind in CALLS:
            yield from self._call(item_id, item, is_done)
        elif is_done and kind in BLOCKS:
            yield from self._add(_block(kind, item))
        elif is_done:
            yield Unknown(place, kind, item, self._dialog)

    def _call(self, call_id: str, item: dict[str, Json], is_done: bool) -> Iterator[Item]:
        name, arguments = _function(item)
        if call_id not in self._open:
            yield from self._add(ToolCall(call_id, name, arguments))
            self._open.add(call_id)
        if is_done:
            self._open.remove(call_id)
            self._results.append(replace(_result(call_id, name, item), dialog=self._dialog))

    def _add(self, block: Block) -> Iterator[Item]:
        """Once all calls have their results, the next block is another answer."""
        if self._results and not self._open:
            yield from self.close()
        self._blocks.append(block)


def _block(kind: str, item: dict[str, Json]) -> Block:
    if kind == "web_search":  # by the provider, whose results are not printed
        return Raw(NAME, item)
    text = as_text(item.get("text"))
    if text is None:
        raise InputError(f"{kind} needs a text")
    return Raw(NAME, {"type": "thinking", "thinking": text}) if kind == "reasoning" else Text(text)


def _function(item: dict[str, Json]) -> tuple[str, Json]:
    """The name and the arguments of a call, as far as they are printed."""
    match item["type"]:
        case "mcp_tool_call":
            server, tool = as_text(item.get("server")), as_text(item.get("tool"))
            if server is None or tool is None:
                raise InputError("mcp_tool_call needs a server and a tool")
            return f"mcp__{server}__{tool}", item.get("arguments")
        case "collab_tool_call":
            tool = as_text(item.get("tool"))
            if tool is None:
                raise InputError("collab_tool_call needs a tool")
            threads = item.get("receiver_thread_ids") if tool != "spawn_agent" else None
            return tool, drop_empty(prompt=item.get("prompt"), receiver_thread_ids=threads) or {}
        case "file_change":
            return "file_change", {"changes": item.get("changes")}
    return "command_execution", {"command": item.get("command")}


def _result(call_id: str, name: str, item: dict[str, Json]) -> Entry:
    message = Message("tool", _output(item), call_id, name, item.get("status") in FAILED)
    return Entry(messages=(message,), metadata=drop_empty(exit_code=item.get("exit_code")))


def _output(item: dict[str, Json]) -> Json:
    """What is printed of a result. That of a change of files is only its status."""
    match item["type"]:
        case "command_execution":
            return text_of(item.get("aggregated_output"))
        case "mcp_tool_call":
            error, result = as_dict(item.get("error")), as_dict(item.get("result"))
            content = result.get("content")
            return as_text(error.get("message")) or (content if content is not None else "")
    return {
        key: item[key] for key in ("receiver_thread_ids", "agents_states", "status") if key in item
    }
