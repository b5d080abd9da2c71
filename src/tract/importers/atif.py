"""Trajectories in the Agent Trajectory Interchange Format."""

from __future__ import annotations

from collections.abc import Iterator

from tract.errors import InputError
from tract.importers.blocks import read_blocks
from tract.importers.call_ids import CallIds
from tract.importers.coerce import (
    as_dict,
    as_list,
    as_name,
    as_time,
    definitions,
    ensure_storable,
    extra,
    text_of,
)
from tract.importers.items import Entry, Item, Problem
from tract.importers.source import Source, attempt
from tract.model import Block, Json, Message, Raw, Text, ToolCall, readable

NAME = "atif"

ROLES = {"system": "system", "user": "user", "agent": "assistant"}
FIELDS = frozenset(
    {"source", "message", "reasoning_content", "tool_calls", "observation", "metrics", "timestamp"}
    | {"model_name"}
)
"""The keys of a step that have a field of their own in an entry."""


def detect(source: Source) -> bool:
    trajectory = as_dict(source.peek)
    return text_of(trajectory.get("schema_version")).upper().startswith("ATIF")


def read(source: Source) -> Iterator[Item]:
    document, problems = source.document(lists=("steps", "subagent_trajectories"))
    if not isinstance(document, dict) or not isinstance(document.get("steps"), list):
        raise InputError(f"{source.path.name}: a trajectory without steps")
    yield from _Trajectory(document, None).items()
    yield from _of_subagents(document)
    yield from problems


def _of_subagents(document: dict[str, Json]) -> Iterator[Item]:
    """The trajectories inside of this one, each a dialog of its own."""
    waiting = [(document, "")]
    while waiting:
        parent, path = waiting.pop(0)
        for number, child in enumerate(as_list(parent.get("subagent_trajectories")), 1):
            if not isinstance(child, dict):
                yield Problem(f"subagent {path}{number}", "not a trajectory")
                continue
            name = as_name(child.get("trajectory_id")) or as_name(child.get("session_id"))
            yield from _Trajectory(child, name or f"subagent {path}{number}").items()
            waiting.append((child, f"{path}{number}."))


class _Trajectory:
    def __init__(self, trajectory: dict[str, Json], dialog: str | None) -> None:
        agent = as_dict(trajectory.get("agent"))
        self._steps = as_list(trajectory.get("steps"))
        self._model = as_name(agent.get("model_name"))
        self._tools = definitions(agent.get("tool_definitions"))
        self._dialog = dialog
        self._ids = CallIds()

    def items(self) -> Iterator[Item]:
        for number, step in enumerate(self._steps, 1):
            place = f"step {number}" if self._dialog is None else f"{self._dialog}: step {number}"
            yield from attempt(place, self._entries, place, step)

    def _entries(self, place: str, step: Json) -> Iterator[Item]:
        if not isinstance(step, dict) or step.get("source") not in tuple(ROLES):
            raise InputError(f"not a step: {readable(step)[:200]}")
        role = ROLES[step["source"]]
        calls, problems = read_blocks(place, self._call, step.get("tool_calls"))
        yield from problems
        message = _message(role, step, calls)
        results = list(self._results(step, calls))
        time = as_time(step.get("timestamp"))
        model = as_name(step.get("model_name")) or self._model
        if message is not None:
            yield Entry(
                messages=(message,),
                dialog=self._dialog,
                tools=self._tools,
                usage=extra(step.get("metrics")),
                model=model if role == "assistant" else None,
                time=time,
                metadata=extra({key: step[key] for key in step if key not in FIELDS}),
            )
            self._tools = None  # the definitions hold for the full trajectory
        if results:
            yield Entry(messages=tuple(results), dialog=self._dialog, time=time)

    def _call(self, call: Json) -> ToolCall:
        name = text_of(as_dict(call).get("function_name"))
        if not name:
            raise InputError(f"not a tool call: {readable(call)[:200]}")
        call_id = self._ids.call(call.get("tool_call_id"), name)
        return ToolCall(call_id, name, ensure_storable(call.get("arguments", {})))

    def _results(self, step: dict[str, Json], calls: list[ToolCall]) -> Iterator[Message]:
        """The results of a step. One that names no call answers the next call of the step; without
        any call it is a message of the user."""
        names = {call.id: call.name for call in calls}
        results = [as_dict(r) for r in as_list(as_dict(step.get("observation")).get("results"))]
        answered = {as_name(result.get("source_call_id")) for result in results}
        waiting = [call.id for call in calls if call.id not in answered]
        for result in results:
            call_id = as_name(result.get("source_call_id"))
            if call_id is None and waiting:
                call_id = waiting.pop(0)
            content = _content(result)
            if call_id is not None:
                yield Message("tool", content, tool_call_id=call_id, name=names.get(call_id))
            elif content:
                yield Message("user", _text_or_blocks(content))


def _content(result: dict[str, Json]) -> Json:
    """What a tool returned; the name of the subagent's trajectory if that is all."""
    content = ensure_storable(result.get("content"))
    reference = ensure_storable(result.get("subagent_trajectory_ref"))
    return reference if content is None and reference else "" if content is None else content


def _message(role: str, step: dict[str, Json], calls: list[ToolCall]) -> Message | None:
    content = _text_or_blocks(ensure_storable(step.get("message")))
    thought = text_of(step.get("reasoning_content"))
    if not thought and not calls:
        return Message(role, content) if content else None
    blocks: list[Block] = [Raw("atif", {"type": "reasoning", "text": thought})] if thought else []
    if isinstance(content, str):
        blocks += [Text(content)] if content else []
    else:
        blocks += content
    return Message(role, (*blocks, *calls))


def _text_or_blocks(content: Json) -> str | tuple[Block, ...]:
    if content is None:
        return ""
    if not isinstance(content, list):
        return readable(content)
    return tuple(_block(part) for part in content)


def _block(part: Json) -> Block:
    if as_dict(part).get("type") == "text" and isinstance(part.get("text"), str):
        return Text(part["text"])
    return Raw("atif", part if isinstance(part, dict) else {"type": "content", "value": part})
