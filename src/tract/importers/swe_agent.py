"""Trajectories of SWE-agent (`.traj`) and of mini-swe-agent."""

from __future__ import annotations

from collections.abc import Iterator

from tract.errors import InputError
from tract.importers.blocks import load_sound
from tract.importers.call_ids import CallIds
from tract.importers.coerce import as_dict, as_list, as_name, extra, load, require_dict, text_of
from tract.importers.items import Entry, Item
from tract.importers.source import Source, attempt, is_cut
from tract.model import Json
from tract.providers import load_message, parsed

NAME = "swe-agent"

SENT = ("role", "content", "tool_calls", "thinking_blocks", "reasoning_content", "name")
"""What the provider receives; the rest is the agent's bookkeeping."""
DERIVED = ("thought", "action", "tool_call_ids", "tool_call_id")
"""Copies of parts of the content or of the calls."""


def detect(source: Source) -> bool:
    run = as_dict(source.peek)
    steps = run.get("trajectory")
    if isinstance(steps, list):
        first = as_dict(steps[0]) if steps else {}
        return "action" in first or (not steps and "history" in run and "info" in run)
    is_named = text_of(run.get("trajectory_format")).startswith("mini-swe-agent")
    return is_named or "mini_version" in as_dict(run.get("info"))


def read(source: Source) -> Iterator[Item]:
    document, problems = source.document(lists=("history", "messages", "trajectory"))
    run = as_dict(document)
    history = run.get("history") or run.get("messages")
    if not isinstance(history, list):
        if is_cut(problems):
            raise InputError(f"{source.path.name}: {problems[-1].what}, before the messages")
        history = list(_from_steps(as_list(run.get("trajectory"))))
    if not history:
        raise InputError(f"{source.path.name}: a trajectory without messages")
    messages = _Run(run, history)
    yield from messages.items()
    if not is_cut(problems):
        yield from attempt("trajectory", messages.last)
    yield from problems


def _from_steps(steps: list[Json]) -> Iterator[dict[str, Json]]:
    """The messages of a run that recorded only its steps."""
    for step in map(as_dict, steps):
        if answer := text_of(step.get("response")) or text_of(step.get("thought")):
            yield {"role": "assistant", "content": answer}
        if observation := text_of(step.get("observation")):
            yield {"role": "user", "content": observation}


class _Run:
    def __init__(self, run: dict[str, Json], history: list[Json]) -> None:
        self._run, self._history = run, history
        self._ids = CallIds()
        self._main = as_dict(history[0]).get("agent")
        self._model = _model(run)
        self._full = _observations(run, history)

    def items(self) -> Iterator[Item]:
        for number, message in enumerate(self._history):
            yield from attempt(f"message {number + 1}", self._entry, number, message)

    def _entry(self, number: int, record: Json) -> Iterator[Item]:
        record = require_dict(record, "a message is a dict")
        message = self._message(record)
        notes = {key: value for key, value in record.items() if key not in (*SENT, *DERIVED)}
        full = self._full.get(number, "")
        if full and full not in text_of(message.get("content")):
            notes["observation"] = full  # the model saw a part of the result
        agent = record.get("agent")
        messages, problems = load_sound(f"message {number + 1}", load_message, message)
        yield from problems
        yield Entry(
            messages=tuple(map(self._ids.assign, messages)),
            dialog=None if agent == self._main else as_name(agent),
            model=self._model if record.get("role") == "assistant" else None,
            metadata=extra(notes),
        )

    def _message(self, record: dict[str, Json]) -> dict[str, Json]:
        """The message as the agent sends it to its provider."""
        message = {key: record[key] for key in SENT if record.get(key) is not None}
        message.setdefault("content", record.get("thought") or "")
        if "tool_calls" in message:
            message["tool_calls"] = [self._call(call) for call in as_list(message["tool_calls"])]
        if record.get("role") == "tool":
            call_ids = as_list(record.get("tool_call_ids")) or [record.get("tool_call_id")]
            message["tool_call_id"] = self._ids.result(call_ids[0])
        return message

    def _call(self, call: Json) -> Json:
        if not isinstance(call, dict) or text_of(call.get("id")):
            return call
        name = text_of(as_dict(call.get("function")).get("name"))
        return {**call, "id": self._ids.call(call.get("id"), name)}

    def last(self) -> Iterator[Item]:
        """The result of the last action, if the run ended before the model saw it. The rest of the
        run's `info` is sums, and views of files that the calls changed."""
        last = as_dict(self._history[-1])
        steps = as_list(self._run.get("trajectory"))
        observation = text_of(as_dict(steps[-1]).get("observation")) if steps else ""
        if last.get("role") != "assistant" or not observation or "history" not in self._run:
            return
        calls = as_list(last.get("tool_calls"))
        message: dict[str, Json] = {"role": "user", "content": observation}
        if calls:
            call_id = self._ids.result(as_dict(calls[0]).get("id"))
            message = {"role": "tool", "tool_call_id": call_id, "content": observation}
        yield Entry(messages=tuple(load(load_message, message)))


def _model(run: dict[str, Json]) -> str | None:
    config = run.get("replay_config")
    config = parsed(config) if isinstance(config, str) else config
    agent = as_dict(as_dict(config).get("agent"))
    mini = as_dict(as_dict(as_dict(run.get("info")).get("config")).get("model"))
    return as_name(as_dict(agent.get("model")).get("name")) or as_name(mini.get("model_name"))


def _observations(run: dict[str, Json], history: list[Json]) -> dict[int, str]:
    """The result of each action, by the position of the message that shows it to the model."""
    steps = as_list(run.get("trajectory"))
    answers = [
        number
        for number, message in enumerate(map(as_dict, history))
        if message.get("role") == "assistant" and not message.get("is_demo")
    ]
    if len(answers) != len(steps):
        return {}
    return {
        number + 1: text_of(as_dict(step).get("observation"))
        for number, step in zip(answers, steps, strict=True)
    }
