"""Random histories against a plain model: lists and dicts, folded from the beginning each time."""

from __future__ import annotations

import json
import tempfile
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.toolkit import claude_tool
from tract import EditError, Message, Priority, Text, ToolCall, Tract
from tract.core.wording import SKIPPED
from tract.providers.validate import validate


class Change(NamedTuple):
    """One commit of the model."""

    hash: str
    kind: str
    """append, edit, priority, tools or void"""
    target: str | None = None
    value: Any = None
    tools: list[Any] | None = None
    """Those that were recorded with it."""


class Model:
    """Chains as lists of changes, by their newest commit. A branch is a name for a commit."""

    def __init__(self) -> None:
        self.chains: dict[str | None, list[Change]] = {None: []}
        self.branches: dict[str, str | None] = {"main": None}
        self.branch: str | None = "main"
        self.head: str | None = None

    def add(self, change: Change) -> None:
        assert self.branch is not None
        self.chains[change.hash] = [*self.chains[self.head], change]
        self.head = self.branches[self.branch] = change.hash

    @property
    def chain(self) -> list[Change]:
        return self.chains[self.head]

    def live(self, head: str | None) -> list[Change]:
        """The changes that were not undone."""
        void: set[str] = set()
        for change in reversed(self.chains[head]):
            if change.kind == "void" and change.hash not in void:
                void.update(change.value)
        return [change for change in self.chains[head] if change.hash not in void]

    def root(self, commit: str) -> str:
        """The append at whose place this commit stands."""
        change = self.chains[commit][-1]
        return commit if change.kind == "append" else self.root(str(change.target))

    def calls(self, head: str | None) -> dict[str, str]:
        """For each result that answers a call, the commit of the call."""
        waiting: list[tuple[str, str]] = []
        call_of: dict[str, str] = {}
        for change in self.chains[head]:
            if change.kind != "append":
                continue
            message: Message = change.value
            matching = [n for n, (call, _) in enumerate(waiting) if call == message.tool_call_id]
            if matching:
                call_of[change.hash] = waiting.pop(matching[-1])[1]
            waiting += [(call.id, change.hash) for call in message.tool_calls]
        return call_of

    def priorities(self, head: str | None) -> dict[str, str]:
        marks = [change for change in self.live(head) if change.kind == "priority"]
        return {self.root(str(mark.target)): mark.value for mark in marks}

    def tools(self, head: str | None) -> list[Any] | None:
        """The newest set that a message or a mark recorded and nobody has undone."""
        ever = [change for change in self.chains[head] if change.kind in ("append", "tools")]
        live = [change.tools for change in self.live(head) if change in ever]
        none: list[Any] | None = [] if any(change.tools is not None for change in ever) else None
        return next((tools for tools in reversed(live) if tools is not None), none)

    def shown(self, head: str | None) -> list[tuple[Message, str]]:
        """What the model would see: each message and the commit that it comes from."""
        places: dict[str, tuple[Message, str]] = {}
        for change in self.live(head):
            if change.kind in ("append", "edit"):
                places[self.root(change.hash)] = (change.value, change.hash)
        call_of, priority = self.calls(head), self.priorities(head)
        out = []
        for place, (message, commit) in places.items():
            call = call_of.get(place, place)
            turn = [call, *(result for result, owner in call_of.items() if owner == call)]
            is_stray = message.role == "tool" and call == place
            hidden = priority.get(call) == "skip" and not is_stray
            if hidden and not any(priority.get(member) == "pinned" for member in turn):
                continue
            if message.role == "tool" and priority.get(place) == "skip":
                message = Message("tool", SKIPPED, message.tool_call_id, message.name)
            out.append((message, commit))
        return out


ids = st.sampled_from(["a", "a", "b"])
_numbers = count()
picks = st.integers(0, 20)
short = st.sampled_from(["", "x", "é\x00\ud800"])
GREP, RUN = claude_tool("grep"), claude_tool("run", x="string")
toolsets = st.sampled_from([[], [GREP], [GREP, RUN], [RUN, GREP]])
perhaps_tools = st.none() | toolsets
ANY = "append edit priority tools void"


class HistoryMachine(RuleBasedStateMachine):
    """Writes to a database and to the model, and compares what they show."""

    url: str | None = None

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = self.url or str(Path(self.folder.name) / "t.db")
        self.dialog = f"dialog {next(_numbers)}"
        self.t = Tract.open(self.path, dialog=self.dialog)
        self.model = Model()
        self.names = 0

    def teardown(self) -> None:
        self.t.close()
        self.folder.cleanup()

    def pick(self, number: int, kinds: str) -> Change | None:
        fitting = [change for change in self.model.chain if change.kind in kinds.split()]
        return fitting[number % len(fitting)] if fitting else None

    def on_a_branch(self) -> bool:
        return self.model.branch is not None

    def append(self, message: Message, commit: str, tools: list[Any] | None = None) -> None:
        self.model.add(Change(commit, "append", value=message, tools=tools))

    @precondition(on_a_branch)
    @rule(role=st.sampled_from(["system", "user", "assistant"]), text=short, tools=perhaps_tools)
    def say(self, role: str, text: str, tools: list[Any] | None) -> None:
        message = Message(role, text)
        self.append(message, self.t.commit(message, tools=tools).commit_hash, tools)

    @precondition(on_a_branch)
    @rule(tools=toolsets)
    def set_tools(self, tools: list[Any]) -> None:
        known = self.model.tools(self.model.head) == tools
        info = self.t.set_tools(tools or None)
        assert (info is None) == known
        if info:
            self.model.add(Change(info.commit_hash, "tools", tools=tools))

    @precondition(on_a_branch)
    @rule(text=short, called=st.lists(ids, min_size=1, max_size=2))
    def call(self, text: str, called: list[str]) -> None:
        calls = [ToolCall(call_id, "run", {"n": 1}) for call_id in called]
        info = self.t.assistant(text, tool_calls=calls)
        blocks = (*([Text(text)] if text else []), *calls)
        self.append(Message("assistant", blocks), info.commit_hash)

    @precondition(on_a_branch)
    @rule(call_id=ids, content=short | st.integers(0, 9))
    def result(self, call_id: str, content: Any) -> None:
        info = self.t.tool_result(call_id, "run", content)
        self.append(Message("tool", content, call_id, "run"), info.commit_hash)

    @precondition(on_a_branch)
    @rule(number=picks, text=short, tools=perhaps_tools)
    def edit(self, number: int, text: str, tools: list[Any] | None) -> None:
        change = self.pick(number, "append edit")
        if change is None:
            return
        old: Message = change.value
        calls = self.now_at(self.model.root(change.hash)).tool_calls
        if old.role == "tool":
            call_id = str(old.tool_call_id)
            info = self.t.tool_result(call_id, "run", text, edit=change.hash, tools=tools)
        else:
            info = self.t.commit(Message(old.role, text), edit=change.hash, tools=tools)
        content: Any = (Text(text), *calls) if calls else text
        message = Message(old.role, content, old.tool_call_id, old.name)
        self.model.add(Change(info.commit_hash, "edit", change.hash, message, tools))

    def now_at(self, place: str) -> Message:
        """What stands there now, skipped or not."""
        said = [c for c in self.model.live(self.model.head) if c.kind in ("append", "edit")]
        found: Message = [c.value for c in said if self.model.root(c.hash) == place][-1]
        return found

    def has_pinned_result(self, commit: str) -> bool:
        call = self.model.root(commit)
        pinned = self.model.priorities(self.model.head)
        results = self.model.calls(self.model.head).items()
        return any(owner == call and pinned.get(result) == "pinned" for result, owner in results)

    @precondition(on_a_branch)
    @rule(number=picks, priority=st.sampled_from(list(Priority)))
    def annotate(self, number: int, priority: Priority) -> None:
        change = self.pick(number, "append edit")
        if change is None:
            return
        if priority == Priority.SKIP and self.has_pinned_result(change.hash):
            with pytest.raises(EditError, match="pinned"):
                self.t.annotate(change.hash, priority)
            return
        info = self.t.annotate(change.hash, priority)
        self.model.add(Change(info.commit_hash, "priority", change.hash, priority.value))

    @precondition(on_a_branch)
    @rule(number=picks)
    def restore(self, number: int) -> None:
        change = self.pick(number, ANY)
        if change is None:
            return
        live = self.model.live(self.model.head)
        undone = [change.hash] if change in live else []
        if change.kind == "append":
            changes = [each for each in live if each.kind in ("edit", "priority")]
            undone = [each.hash for each in changes if self.model.root(each.hash) == change.hash]
        try:
            info = self.t.restore(change.hash)
        except EditError:
            assert not undone
            assert self.t.head == self.model.head
            return
        assert undone
        self.model.add(Change(info.commit_hash, "void", change.target or change.hash, undone))

    @rule()
    def branch(self) -> None:
        self.names += 1
        name = f"branch {self.names}"
        self.t.branch(name)
        self.model.branches[name] = self.model.head
        if self.model.branch is None:
            self.model.branch = name

    @rule(number=picks)
    def checkout_branch(self, number: int) -> None:
        name = list(self.model.branches)[number % len(self.model.branches)]
        self.t.checkout(name)
        self.model.branch, self.model.head = name, self.model.branches[name]

    @rule(number=picks)
    def checkout_commit(self, number: int) -> None:
        change = self.pick(number, ANY)
        if change is not None:
            self.t.checkout(change.hash)
            self.model.branch, self.model.head = None, change.hash

    @rule()
    def reopen(self) -> None:
        if self.model.chains.keys() != {None}:
            self.t.close()
            self.t = Tract.open(self.path, dialog=self.dialog)

    @rule(number=picks)
    def travel(self, number: int) -> None:
        change = self.pick(number, ANY)
        if change is not None:
            self.compare(self.t.compile(at=change.hash), change.hash)
            offered = change.tools if change.tools is not None else self.model.tools(change.hash)
            assert self.t.get_commit_tools(change.hash) == (offered or [])

    @invariant()
    def names_agree(self) -> None:
        assert self.t.head == self.model.head
        assert self.t.branches() == dict(sorted(self.model.branches.items()))
        assert self.t.current_branch == self.model.branch

    @invariant()
    def histories_agree(self) -> None:
        log = [info.commit_hash for info in self.t.log()]
        assert log == [change.hash for change in self.model.chain][::-1]

    @invariant()
    def views_agree(self) -> None:
        context = self.t.compile()
        self.compare(context, self.model.head)
        assert self.t.get_tools() == self.model.tools(self.model.head)
        with Tract.open(self.path, dialog=self.dialog) as fresh:
            assert json.dumps(fresh.compile().to_openai()) == json.dumps(context.to_openai())
            assert fresh.get_tools() == self.t.get_tools()
            inline = self.t.compile(tools="inline").to_anthropic_params()
            assert inline == fresh.compile(tools="inline").to_anthropic_params()
            assert validate(inline, "anthropic") == []

    def compare(self, context: Any, head: str | None) -> None:
        expected = self.model.shown(head)
        assert context.messages == [message for message, _ in expected]
        assert context.commit_hashes == [commit for _, commit in expected]
        assert context.tools == (self.model.tools(head) or [])
        assert validate(context.to_anthropic_params(), "anthropic") == []
        assert validate(context.to_openai(), "openai") == []


EXAMPLES = pytest.mark.parametrize(
    ("examples", "steps"), [(20, 25), pytest.param(200, 40, marks=pytest.mark.long)]
)


@EXAMPLES
def test_on_sqlite(examples: int, steps: int) -> None:
    run_state_machine_as_test(
        HistoryMachine, settings=settings(max_examples=examples, stateful_step_count=steps)
    )


@EXAMPLES
def test_on_postgres(pg_url: str, examples: int, steps: int) -> None:
    machine = type("PostgresMachine", (HistoryMachine,), {"url": pg_url})
    run_state_machine_as_test(
        machine, settings=settings(max_examples=examples // 5, stateful_step_count=steps // 2)
    )
