"""A transcript: the conversations in a file, each as a tree of messages. Pure.

Importers produce entries and full histories; `Transcript` puts them in order. Nothing is hashed or
stored: messages are numbered, and a branch can be read like a snapshot of a database.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import count
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from tract.content.preview.verdict import has_failed
from tract.core import drafts
from tract.core.alignment import Alignment, align, with_known_ids
from tract.core.chain import Chain, Place
from tract.core.drafts import Details
from tract.core.entries import NOTHING, Entry, FullHistory, Problem, annotate, position
from tract.core.forms import Sent, Shown
from tract.core.pairing import Pairing
from tract.errors import InputError
from tract.model import (
    DECIDING,
    ROOT,
    CommitOperation,
    Draft,
    Json,
    Link,
    Message,
    Step,
    Toolset,
    spoken,
)
from tract.tokens import TokenCounter

MAIN = "main"
LONGEST_NAME = 80

Count = Callable[[str], int]


class ProviderRules(Protocol):
    """What only providers know about messages."""

    def toolset(self, tools: list[dict[str, Json]]) -> Toolset:
        """The definitions as a toolset; an error if they are invalid."""

    def without_thoughts(self, message: Message) -> Message: ...

    def original_id(self, places: Sequence[Place], call_id: str) -> str:
        """The id of a call for which a provider was sent another one."""

    def as_sent(self, message: Message) -> Iterator[list[Message]]:
        """The message as it comes back from each provider."""


class Node(NamedTuple):
    """A message in the tree, or a change of the tools."""

    parent: int
    """The number of the node before it; 0 at the root."""
    message: Message | None
    details: Details
    step: Step
    """Its id is the number of the node, from 1 on."""

    def draft(self, tokens: TokenCounter) -> Draft:
        """The same as a commit that can be written. Invalid messages raise."""
        if self.message is None:
            return Draft(CommitOperation.MARK, toolset=self.details.toolset)
        draft = drafts.append(self.message, self.details, tokens)
        operation = CommitOperation(self.step.operation)
        return replace(draft, operation=operation, links=self.step.links)


class Transcript:
    """All conversations of one file."""

    def __init__(self, name: str, rules: ProviderRules, count: Count | None = None) -> None:
        """`name` is what the file calls its session. Without `count` no tokens are counted."""
        self._name = dialog_name(name)
        self._rules, self._count = rules, count
        self.threads: dict[str, Thread] = {}
        self.problems: list[Problem] = []
        self._by_dialog: dict[tuple[type, str | None], Thread] = {}

    def add(self, item: Entry | FullHistory | Problem) -> None:
        """Put what an importer read where it belongs. What is invalid becomes a problem."""
        try:
            match item:
                case Entry():
                    self._append(item)
                case FullHistory():
                    self._record(item)
                case Problem():
                    self.problems.append(item)
        except InputError as error:
            self.problems.append(Problem(position(item), str(error)))

    def repairs(self) -> list[str]:
        """What has to be changed so that a provider accepts the messages."""
        return [note for thread in self.threads.values() for note in thread.repairs()]

    def _append(self, entry: Entry) -> None:
        toolset = None if entry.tools is None else self._rules.toolset(entry.tools)
        new = annotate(entry, toolset)
        thread = self._by_dialog.get((Entry, entry.dialog))
        if thread is None:
            thread = next(t for t in self._candidates(entry.dialog) if t.begins_with(new))
            self._keep(Entry, entry.dialog, thread)
        thread.append(entry, new)

    def _record(self, history: FullHistory) -> None:
        thread = self._by_dialog.get((FullHistory, history.dialog))
        if thread is None:
            candidates = self._candidates(history.dialog)
            thread = next(t for t in candidates if not t.nodes or t.knows(history.messages))
            self._keep(FullHistory, history.dialog, thread)
        thread.record(history)

    def _candidates(self, dialog: str | None) -> Iterator[Thread]:
        """The thread with the name of a dialog; then those with a number behind the name."""
        base = self._name if dialog is None else f"{self._name}/{dialog_name(dialog)}"
        names = (base if number == 1 else f"{base}-{number}" for number in count(1))
        return (self.threads.get(name) or Thread(name, self._rules, self._count) for name in names)

    def _keep(self, kind: type, dialog: str | None, thread: Thread) -> None:
        self._by_dialog[kind, dialog] = self.threads[thread.name] = thread


class Thread:
    """One conversation: a tree of messages whose ends are branches."""

    def __init__(self, name: str, rules: ProviderRules, count: Count | None = None) -> None:
        self.name = name
        self.nodes: list[Node] = []
        self.branches: dict[str, int] = {MAIN: 0}
        """Each branch with the number of its last node; 0 where it is empty."""
        self.branch = MAIN
        """The branch to which the last message belongs."""
        self._rules, self._count = rules, count
        self._same: dict[tuple[object, ...], list[Node]] = {}
        self._by_key = {ROOT: 0}
        self._last = 0
        self._ends = {0: MAIN}
        self._pairing = Pairing()
        self._tool_names: dict[str, str] = {}  # by the ids of calls
        self._chain, self._folded = Chain(), 0
        self._is_recorded = False

    def read(self, branch: str) -> Branch:
        return Branch(self._path(self.branches[branch]), self._rules, self._count)

    def repairs(self) -> list[str]:
        """What has to be changed so that a provider accepts the messages."""
        pairing = self._pairing
        if self._is_recorded:
            pairing = Pairing()
            branch = self.read(self.branch)
            for sent in filter(None, map(branch.sent, branch.places)):
                pairing.feed(sent.message)
        return pairing.notes + pairing.last_notes

    def _path(self, number: int) -> list[Node]:
        """The nodes from the root to this one."""
        path = []
        while number:
            path.append(self.nodes[number - 1])
            number = path[-1].parent
        return path[::-1]

    def _add(
        self, parent: int, message: Message | None, details: Details, links: tuple[Link, ...] = ()
    ) -> tuple[Node, bool]:
        """The node of a message, and whether it is new: files repeat themselves."""
        same = self._same.setdefault(_key(parent, message), [])
        for node in same:
            if node.step.links == links and _is_same(node, message, details):
                return node, False
        tokens = self._count(spoken(message)) if self._count and message else 0
        step = _step(len(self.nodes) + 1, message, details, links, tokens)
        node = Node(parent, message, details, step)
        self.nodes.append(node)
        same.append(node)
        return node, True

    def _fold(self, number: int) -> Chain:
        """The chain up to a node. It is extended where that node follows the last one."""
        if number != self._folded:
            self._chain, self._folded = Chain(node.step for node in self._path(number)), number
        return self._chain

    # Entries

    def begins_with(self, new: Sequence[tuple[Message, Details]]) -> bool:
        """Whether the thread begins with these, or is still empty."""
        if not new or not self.nodes:
            return True
        message, details = new[0]
        message = self._with_tool_name(message)
        same = self._same.get(_key(0, message), ())
        return any(_is_same(node, message, details) for node in same)

    def append(self, entry: Entry, new: Sequence[tuple[Message, Details]]) -> None:
        """Add the messages of an entry behind its parent."""
        parent = self._last if entry.parent is None else self._by_key.get(entry.parent, self._last)
        links = self._summary_links(parent) if entry.compacts and new else ()
        for message, details in new:
            message = self._with_tool_name(message)
            node, is_new = self._add(parent, message, details, links)
            if is_new:
                self._move_branch(parent, node.step.id)
            self._pairing.feed(message)
            self._tool_names.update((call_id, name) for call_id, name in node.step.calls)
            parent, links = node.step.id, ()
        self._last = parent
        self.branch = self._ends.get(parent, MAIN)
        if entry.key is not None:
            self._by_key[entry.key] = parent

    def _move_branch(self, parent: int, number: int) -> None:
        """Extend the branch that ends with the parent, or begin a new one."""
        branch = self._ends.pop(parent, None) or self._free_name(MAIN)
        self._ends[number] = branch
        self.branches[branch] = number

    def _free_name(self, base: str) -> str:
        return next(name for n in count(2) if (name := f"{base}-{n}") not in self.branches)

    def _with_tool_name(self, message: Message) -> Message:
        """A result with the name of its tool, which the call has."""
        if message.role != "tool" or message.name is not None:
            return message
        return replace(message, name=self._tool_names.get(message.tool_call_id or ""))

    def _summary_links(self, parent: int) -> tuple[Link, ...]:
        """A summary replaces everything in the view except instructions."""
        places = self._fold(parent).places
        sources = [p.shown for p in places if not p.is_hidden and p.origin.role != "system"]
        return tuple(Link("replaces", step.id, step.hash) for step in sources)

    # Full histories

    def knows(self, messages: Sequence[Message]) -> bool:
        """Whether a branch has the beginning of a history, beyond its system message."""
        for head in self.branches.values():
            new = align(messages, self._fold(head), self).new
            known = messages[: len(messages) - len(new)]
            if any(message.role != "system" for message in known):
                return True
        return False

    def record(self, history: FullHistory) -> None:
        """Add what is new of a full history. Where it differs from what is recorded, it continues
        on a new branch."""
        toolset = None if history.tools is None else self._rules.toolset(history.tools)
        self._is_recorded = True
        aligned = self._align(history.messages)
        before = history.messages[: len(history.messages) - len(aligned.new)]
        chain = self._fold(self.branches[self.branch])
        new = with_known_ids(aligned.new, before, chain.places)
        answer = history.messages[-1:] if history.is_answered and new else ()
        self._extend(new[: len(new) - len(answer)], toolset)
        for message in answer:
            self._grow(message, history.details)

    def _align(self, messages: Sequence[Message]) -> Alignment:
        """What is new, with the branch checked out to which it belongs."""
        chain = self._fold(self.branches[self.branch])
        aligned = align(messages, chain, self)
        if aligned.differs_at is None:
            return aligned
        for branch, head in sorted(self.branches.items()):
            other = align(messages, self._fold(head), self)
            if other.differs_at is None and len(other.new) < len(messages):
                self.branch = branch
                return other
        before = chain.before(aligned.differs_at)
        self.branch = self._free_name(re.sub(r"-\d+$", "", self.branch))
        self.branches[self.branch] = before.id if before else 0
        return aligned

    def _extend(self, new: Sequence[Message], toolset: Toolset | None) -> None:
        """The tools of a request are for the next answer: earlier answers that are new in it were
        given with the tools before, if there were any."""
        has_tools = self._fold(self.branches[self.branch]).toolset is not None
        answers = [number for number, item in enumerate(new, 1) if item.role == "assistant"]
        first = answers[-1] if answers and has_tools else 0
        for message in new[:first]:
            self._grow(message)
        if toolset and self._fold(self.branches[self.branch]).toolset != toolset.hash:
            self._grow(None, Details(toolset=toolset))
        for message in new[first:]:
            self._grow(message)

    def _grow(self, message: Message | None, details: Details = NOTHING) -> None:
        """Add a node to the current branch."""
        parent = self.branches[self.branch]
        chain = self._fold(parent)
        node, _ = self._add(parent, self._completed(message, chain), details)
        chain.extend([node.step])
        self._folded = self.branches[self.branch] = node.step.id

    def _completed(self, message: Message | None, chain: Chain) -> Message | None:
        """A result with the id of its call and the name of its tool, as the chain knows them."""
        if message is None or message.role != "tool":
            return message
        call_id = self._rules.original_id(chain.places, message.tool_call_id or "")
        name = message.name if message.name is not None else chain.tool_name(call_id)
        return replace(message, tool_call_id=call_id, name=name)

    # What `align` asks

    def message(self, step: Step) -> Message:
        message = self.nodes[step.id - 1].message
        assert message is not None  # marks have no place
        return message

    def as_sent(self, message: Message) -> Iterator[list[Message]]:
        return self._rules.as_sent(message)

    def without_thoughts(self, message: Message) -> Message:
        return self._rules.without_thoughts(message)


class Branch:
    """One branch of a thread, to be read place by place like a snapshot of a database."""

    def __init__(
        self, nodes: Sequence[Node], rules: ProviderRules, count: Count | None = None
    ) -> None:
        self._nodes = {node.step.id: node for node in nodes}
        self._rules, self._count = rules, count
        self.chain = Chain(node.step for node in nodes)
        self.places = self.chain.places
        self.fetches = self.chain.is_lazy
        """Whether the model could ask for results that it is not sent."""
        self._outdated = self.chain.outdated_answers()

    def item(self, place: Place) -> Shown | None:
        """How a message is shown to the model; None where a summary replaces it."""
        return None if place.summary else Shown(place)

    def is_collapsed(self, place: Place) -> bool:
        """Never: agents' files know no forms."""
        return False

    def whole(self, place: Place) -> Message:
        message = self._nodes[place.origin.id].message  # files have no edits
        assert message is not None  # marks have no place
        return message

    def sent(self, place: Place) -> Sent | None:
        """What the model is sent; None where that is nothing."""
        item = self.item(place)
        if item is None:
            return None
        whole = self.whole(place)
        is_outdated = place.origin.id in self._outdated
        left = self._rules.without_thoughts(whole) if is_outdated else whole
        tokens = place.shown.token_count
        if left is not whole and self._count:
            tokens = self._count(spoken(left))
        return Sent(left, tokens, item.shape.form)

    def weight(self, place: Place) -> int:
        """How many tokens the model is sent."""
        sent = self.sent(place)
        return sent.tokens if sent else 0

    def has_lost_thoughts(self, place: Place) -> bool:
        """Whether an answer is sent without the thoughts that it came with."""
        sent = self.sent(place)
        return sent is not None and sent.message is not self.whole(place)

    @cached_property
    def failures(self) -> frozenset[int]:
        """The places of the results that are flagged as errors, or report one."""
        results = [place for place in self.places if place.origin.role == "tool"]
        return frozenset(
            place.origin.id
            for place in results
            if place.shown.is_error or has_failed(self.whole(place).content)
        )

    @property
    def toolsets(self) -> list[tuple[Step, Toolset]]:
        """The toolsets in their order, each with the step that put it in force."""
        changes: list[tuple[Step, Toolset]] = []
        for node in self._nodes.values():
            toolset = node.details.toolset if node.step.operation in DECIDING else None
            if toolset and (not changes or changes[-1][1].hash != toolset.hash):
                changes.append((node.step, toolset))
        return changes


def dialog_name(text: str) -> str:
    """What a file calls a session, as the name of a dialog."""
    legible = "".join(char if char.isprintable() else "_" for char in text).strip().lstrip("-")
    return legible[:LONGEST_NAME] if legible not in ("", "HEAD") else "imported"


def _key(parent: int, message: Message | None) -> tuple[object, ...]:
    """What equal nodes have in common, cheap to compare."""
    if message is None:
        return (parent,)
    content = message.content if isinstance(message.content, str) else None
    return parent, message.role, message.tool_call_id, content


def _is_same(node: Node, message: Message | None, details: Details) -> bool:
    """Whether a node has this message. Values that differ only in type (1 and true) differ."""
    ours, theirs = (node.message, _identity(node.details)), (message, _identity(details))
    return ours == theirs and repr(ours) == repr(theirs)


def _identity(details: Details) -> Details:
    """What is part of a commit's hash: usage is not."""
    return details._replace(usage=None)


def _step(
    number: int, message: Message | None, details: Details, links: tuple[Link, ...], tokens: int
) -> Step:
    toolset = details.toolset.hash if details.toolset else None
    if message is None:
        return Step(id=number, hash=b"", operation="mark", toolset=toolset)
    return Step(
        id=number,
        hash=b"",
        operation="compress" if links else "append",
        role=message.role,
        token_count=tokens,
        toolset=toolset,
        tool_call_id=message.tool_call_id,
        name=message.name,
        is_error=message.is_error,
        origin=message.origin,
        calls=[(call.id, call.name) for call in message.tool_calls],
        links=links,
    )
