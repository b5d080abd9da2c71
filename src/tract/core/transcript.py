"""A transcript: the conversations in a file, each as a tree of messages.

Importers produce entries and full histories; `Transcript` passes each to the thread it belongs to.
A thread is kept in memory here, or in a database: nothing is hashed or stored in this module. In
memory, messages are numbered, and a branch can be read like a snapshot of a database.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import count
from typing import Generic, NamedTuple, Protocol, TypeVar

from msgspec import to_builtins
from msgspec.structs import replace

from tract.content.preview.verdict import has_failed
from tract.core import drafts
from tract.core.alignment import Recorded, additions, align_any, is_known
from tract.core.chain import Chain, Place
from tract.core.drafts import NO_DETAILS, Details
from tract.core.entries import Entry, FullHistory, Problem, Unknown, annotate, position
from tract.core.forms import Sent, Shown
from tract.core.pairing import Pairing
from tract.core.subjects import abridge
from tract.core.wording import fetching_tokens
from tract.errors import InputError
from tract.model import (
    ROOT,
    CommitOperation,
    Draft,
    Json,
    Message,
    Step,
    ToolCall,
    Toolset,
    spoken,
)

MAIN = "main"
LONGEST_NAME = 80

Count = Callable[[str], int]
At = TypeVar("At")
"""Where a message is in a tree."""


class ProviderRules(Protocol):
    """What only providers know about messages."""

    def toolset(self, tools: list[dict[str, Json]]) -> Toolset:
        """The definitions as a toolset; an error if they are invalid."""

    def without_thoughts(self, message: Message) -> Message: ...

    def original_id(self, places: Sequence[Place], call_id: str) -> str:
        """The id of a call for which a provider was sent another one."""

    def as_sent(self, message: Message) -> Iterator[list[Message]]:
        """The message as it comes back from each provider."""


class Thread(ABC, Generic[At]):
    """One conversation: a tree of messages whose ends are branches."""

    def __init__(self, name: str, start: At) -> None:
        self.name = name
        self.branches: dict[str, At] = {MAIN: start}
        """Each branch with its last message, as the source has them."""
        self.branch = MAIN
        """The branch to which the last message belongs."""
        self.is_recorded = False
        self.last = start
        self.parents: dict[At, At] = {}
        """What each message follows."""
        self.calls: dict[str, ToolCall] = {}
        """The last call with each id, without what is long in it."""
        self._ends = {start: MAIN}
        self._by_key = {ROOT: start}
        self._last_key: str | None = None
        self._pairing = Pairing()
        self._numbers = count(2)

    def repairs(self) -> list[str]:
        """What has to be changed so that a provider accepts the messages."""
        pairing = self._pairing
        if self.is_recorded:
            pairing = Pairing()
            for message in self.sent():
                pairing.feed(message)
        return pairing.notes + pairing.last_notes

    # Entries

    def append(self, entry: Entry) -> None:
        """Add the messages of an entry behind its parent. What the tree has already is not added
        again: files repeat themselves."""
        at = self.last if entry.parent is None else self._by_key.get(entry.parent, self.last)
        new = self.drafts(entry)
        if new and entry.compacts:
            new[0] = self._summary(at, new[0])
        for draft in map(self.completed, new):
            at = self._extend(at, draft)
            if draft.message:
                self._pairing.feed(draft.message)
                if draft.message.role == "assistant":
                    calls = draft.message.tool_calls
                    self.calls.update((call.id, abridge(call)) for call in calls)
        self.branch = self._ends.get(at, MAIN)
        self._last_key = entry.key
        if entry.key is not None:
            self._by_key[entry.key] = at

    def keep(self, unknown: Unknown) -> None:
        """Keep a record that is no message behind the last one; what follows that follows it."""
        kept = {"unknown": unknown.kind, "record": unknown.record}
        at = self._extend(self.last, drafts.note(f"unknown record {unknown.kind!r:.80}", kept))
        if self._last_key is not None:
            self._by_key[self._last_key] = at

    def _extend(self, parent: At, draft: Draft) -> At:
        """Put a draft behind its parent: on the branch that ends there, else on a new one."""
        self.last = at = self.write(parent, draft)
        if at not in self.parents:
            self.parents[at] = parent
            branch = self._ends.pop(parent, None) or self.create_branch(parent)
            self._ends[at], self.branches[branch] = branch, at
        return at

    def drafts(self, entry: Entry) -> list[Draft]:
        """The messages of an entry, each with its details from the source."""
        toolset = None if entry.tools is None else self.toolset(entry.tools)
        return [self.draft(*item) for item in annotate(entry, toolset)]

    def completed(self, draft: Draft) -> Draft:
        """A result with the name of its tool, which the call has."""
        message = draft.message
        if message is None or message.role != "tool" or message.name is not None:
            return draft
        name = self.tool_name(message.tool_call_id or "")
        return replace(draft, message=replace(message, name=name))

    def tool_name(self, call_id: str) -> str | None:
        call = self.calls.get(call_id)
        return call.name if call else None

    def create_branch(self, at: At) -> str:
        name = next(name for n in self._numbers if (name := f"{MAIN}-{n}") not in self.branches)
        self.branches[name] = at
        return name

    def _summary(self, at: At, draft: Draft) -> Draft:
        """A summary replaces everything in the view except instructions."""
        places = self.places(at)
        sources = [p for p in places if not p.is_hidden and p.origin.role != "system"]
        return drafts.summarize(draft, sources) if sources else draft

    @abstractmethod
    def begins_with(self, entry: Entry) -> bool:
        """Whether the thread begins with this entry, or is still empty."""

    @abstractmethod
    def toolset(self, tools: list[dict[str, Json]]) -> Toolset:
        """The definitions as a toolset; an error if they are invalid."""

    @abstractmethod
    def draft(self, message: Message, details: Details) -> Draft:
        """A message to be added; an error if it is invalid."""

    @abstractmethod
    def write(self, parent: At, draft: Draft) -> At:
        """Where the draft is behind its parent: it is added if it is not there yet."""

    @abstractmethod
    def places(self, at: At) -> Sequence[Place]:
        """The view up to a message."""

    # Full histories

    @abstractmethod
    def knows(self, history: FullHistory) -> bool:
        """Whether a branch has the beginning of a history, or the thread is still empty."""

    @abstractmethod
    def record(self, history: FullHistory) -> None:
        """Add what is new of a full history. Where it differs from what is recorded, it continues
        on a new branch."""

    @abstractmethod
    def sent(self) -> Iterator[Message]:
        """What the model is sent of the current branch."""


AnyThread = TypeVar("AnyThread", bound=Thread)  # type: ignore[type-arg]


class Transcript(Generic[AnyThread]):
    """All conversations of one file."""

    def __init__(self, name: str, open_thread: Callable[[str], AnyThread]) -> None:
        """`name` is that of the main conversation."""
        self._name, self._open_thread = name, open_thread
        self.threads: dict[str, AnyThread] = {}
        self.problems: list[Problem] = []
        self.unknown: Counter[str] = Counter()
        """How many records there are of each type that the importer does not know."""
        self._by_dialog: dict[tuple[type, str | None], AnyThread] = {}
        self._unknown: dict[str | None, list[Unknown]] = {}

    def add(self, item: Entry | FullHistory | Problem | Unknown) -> None:
        """Put what an importer read where it belongs. What is invalid becomes a problem."""
        try:
            match item:
                case Entry():
                    thread = self._thread(item)
                    thread.append(item)
                    self._keep_unknown(item.dialog, thread)
                case FullHistory():
                    self._thread(item).record(item)
                case Problem():
                    self.problems.append(item)
                case Unknown():
                    self.unknown[item.kind] += 1
                    self._unknown.setdefault(item.dialog, []).append(item)
                    self._keep_unknown(item.dialog, self._by_dialog.get((Entry, item.dialog)))
        except InputError as error:
            self.problems.append(Problem(position(item), str(error)))

    def _keep_unknown(self, dialog: str | None, thread: AnyThread | None) -> None:
        """Unknown records wait for the first message: a conversation is known by that."""
        if thread:
            for unknown in self._unknown.pop(dialog, ()):
                thread.keep(unknown)

    def repairs(self) -> list[str]:
        """What has to be changed so that a provider accepts the messages."""
        return [note for thread in self.threads.values() for note in thread.repairs()]

    def thread_of(self, dialog: str | None) -> AnyThread | None:
        """The thread of a conversation of the source; None if it has no messages."""
        return self._by_dialog.get((Entry, dialog)) or self._by_dialog.get((FullHistory, dialog))

    def _thread(self, item: Entry | FullHistory) -> AnyThread:
        key = type(item), item.dialog
        if key not in self._by_dialog:
            thread = next(
                thread
                for thread in self._candidates(item.dialog)
                if (thread.begins_with(item) if isinstance(item, Entry) else thread.knows(item))
            )
            self._by_dialog[key] = self.threads[thread.name] = thread
        return self._by_dialog[key]

    def _candidates(self, dialog: str | None) -> Iterator[AnyThread]:
        """The thread with the name of a dialog; then those with a number behind the name."""
        base = self._name if dialog is None else f"{self._name}/{dialog_name(dialog)}"
        names = (base if number == 1 else f"{base}-{number}" for number in count(1))
        return (self.threads.get(name) or self._open_thread(name) for name in names)


class Node(NamedTuple):
    """A message in the tree, or a change of the tools."""

    parent: int
    """The number of the node before it; 0 at the root."""
    draft: Draft
    step: Step
    """Its id is the number of the node, from 1 on."""


class MemoryThread(Thread[int]):
    """A conversation whose messages are numbered nodes."""

    def __init__(self, name: str, rules: ProviderRules, count: Count | None = None) -> None:
        """Without `count` no tokens are counted."""
        super().__init__(name, 0)
        self.nodes: list[Node] = []
        self._rules, self._count = rules, count
        self.without_thoughts, self.as_sent = rules.without_thoughts, rules.as_sent
        self._same: dict[tuple[object, ...], list[Node]] = {}
        self._chain, self._folded = Chain(), 0

    def read(self, branch: str) -> Branch:
        return Branch(self._path(self.branches[branch]), self._rules, self._count)

    def sent(self) -> Iterator[Message]:
        branch = self.read(self.branch)
        return (sent.message for sent in filter(None, map(branch.sent, branch.places)))

    def _path(self, number: int) -> list[Node]:
        """The nodes from the root to this one."""
        path = []
        while number:
            path.append(self.nodes[number - 1])
            number = path[-1].parent
        return path[::-1]

    def _fold(self, number: int) -> Chain:
        """The chain up to a node. It is extended where that node follows the last one."""
        if number != self._folded:
            self._chain, self._folded = Chain(node.step for node in self._path(number)), number
        return self._chain

    # Entries

    def begins_with(self, entry: Entry) -> bool:
        new = self.drafts(entry) if self.nodes else []
        if not new:
            return True
        first = self.completed(new[0])
        return any(_is_same(node.draft, first) for node in self._same.get(_key(0, first), ()))

    def toolset(self, tools: list[dict[str, Json]]) -> Toolset:
        return self._rules.toolset(tools)

    def draft(self, message: Message, details: Details) -> Draft:
        return Draft(
            CommitOperation.APPEND,
            message,
            metadata=details.metadata,
            generation_config=details.generation_config,
            usage=details.usage,
            toolset=details.toolset,
        )

    def write(self, parent: int, draft: Draft) -> int:
        return self._put(parent, draft).id

    def places(self, at: int) -> Sequence[Place]:
        return self._fold(at).places

    def _put(self, parent: int, draft: Draft) -> Step:
        """The step of the equal node behind the parent, or of a new one."""
        alike = self._same.setdefault(_key(parent, draft), [])
        for node in alike:
            if _is_same(node.draft, draft):
                return node.step
        tokens = self._count(spoken(draft.message)) if self._count and draft.message else 0
        node = Node(parent, draft, _step(len(self.nodes) + 1, draft, tokens))
        self.nodes.append(node)
        alike.append(node)
        return node.step

    # Full histories

    def knows(self, history: FullHistory) -> bool:
        return not self.nodes or is_known(history, self._folded_branches())

    def record(self, history: FullHistory) -> None:
        toolset = None if history.tools is None else self.toolset(history.tools)
        self.is_recorded = True
        chain = self._current()
        current = Recorded(self.branch, chain, self)
        aligned = align_any(history, current, self._folded_branches())
        if aligned.branch:
            self.branch = aligned.branch
        elif aligned.differs_at:
            before = chain.before(aligned.differs_at)
            self.branch = self.create_branch(before.id if before else 0)
        for item in additions(history, aligned.new, self._current()):
            if item:
                self._grow(self.draft(*item))
            elif toolset and not aligned.is_past and self._current().toolset != toolset.hash:
                self._grow(drafts.offer(toolset, NO_DETAILS))

    def _current(self) -> Chain:
        return self._fold(self.branches[self.branch])

    def _folded_branches(self) -> Iterator[Recorded]:
        heads = sorted(self.branches.items())
        return (Recorded(name, self._fold(head), self) for name, head in heads)

    def _grow(self, draft: Draft) -> None:
        """Add a node to the current branch, with the tool of a result as the chain knows it."""
        parent = self.branches[self.branch]
        chain, message = self._fold(parent), draft.message
        if message and message.role == "tool":
            call_id = self._rules.original_id(chain.places, message.tool_call_id or "")
            name = message.name if message.name is not None else chain.tool_name(call_id)
            draft = replace(draft, message=replace(message, tool_call_id=call_id, name=name))
        step = self._put(parent, draft)
        chain.extend([step])
        self._folded = self.branches[self.branch] = step.id

    def message(self, step: Step) -> Message:
        message = self.nodes[step.id - 1].draft.message
        assert message is not None  # marks have no place
        return message


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
        self.fetching_tokens = fetching_tokens(count) if count and self.fetches else 0
        self._outdated = self.chain.outdated_answers()

    def item(self, place: Place) -> Shown | None:
        """How a message is shown to the model; None where a summary replaces it."""
        return None if place.summary else Shown(place)

    def is_collapsed(self, place: Place) -> bool:
        """Never: agents' files know no forms."""
        return False

    def whole(self, place: Place) -> Message:
        message = self._nodes[place.origin.id].draft.message  # files have no edits
        assert message is not None  # marks have no place
        return message

    def details(self, place: Place) -> Details:
        """What the file says about a message besides its content."""
        draft = self._nodes[place.origin.id].draft
        return Details(None, draft.metadata, draft.generation_config, draft.usage)

    def sent(self, place: Place) -> Sent | None:
        """What the model is sent; None where that is nothing."""
        item, message = self.item(place), self.whole(place)
        if item is None:
            return None
        if place.origin.id not in self._outdated:
            return Sent(message, place.shown.token_count, item.shape.form)
        rest = self._rules.without_thoughts(message)
        return Sent(rest, self._count(spoken(rest)) if self._count else 0, item.shape.form)

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
        return self.failures_among(self.places)

    def failures_among(self, places: Sequence[Place]) -> frozenset[int]:
        """The same of some results, without looking at the others."""
        results = [place for place in places if place.origin.role == "tool"]
        return frozenset(
            place.origin.id
            for place in results
            if place.shown.is_error or has_failed(self.whole(place).content, self._call(place))
        )

    def _call(self, place: Place) -> ToolCall | None:
        if place.call is None:
            return None
        pairs = zip(self.whole(place.call).tool_calls, place.call.answers, strict=True)
        return next((call for call, result in pairs if result is place), None)

    @property
    def toolsets(self) -> list[tuple[Step, Toolset]]:
        """The toolsets in their order, each with the step that put it in force."""
        toolsets = (node.draft.toolset for node in self._nodes.values())
        by_hash = {toolset.hash: toolset for toolset in toolsets if toolset}
        return [(step, by_hash[digest]) for step, digest in self.chain.toolset_changes()]


def dialog_name(text: str) -> str:
    """What a file calls a session, as the name of a dialog."""
    legible = "".join(char if char.isprintable() else "_" for char in text).strip().lstrip("-")
    return legible[:LONGEST_NAME] if legible not in ("", "HEAD") else "imported"


def _key(parent: int, draft: Draft) -> tuple[object, ...]:
    """What equal nodes have in common, cheap to compare."""
    message = draft.message
    if message is None:
        return (parent,)
    content = message.content if isinstance(message.content, str) else None
    return parent, message.role, message.tool_call_id, content


def _is_same(one: Draft, other: Draft) -> bool:
    """Whether two have the same hash, of which usage is no part. Values that differ only in type
    (1 and true) differ."""
    one, other = replace(one, usage=None), replace(other, usage=None)
    return one == other and repr(to_builtins(one)) == repr(to_builtins(other))


def _step(number: int, draft: Draft, tokens: int) -> Step:
    toolset = draft.toolset.hash if draft.toolset else None
    message = draft.message
    if message is None:
        return Step(id=number, hash=b"", operation="mark", toolset=toolset)
    return Step(
        id=number,
        hash=b"",
        operation=str(draft.operation),
        role=message.role,
        token_count=tokens,
        toolset=toolset,
        tool_call_id=message.tool_call_id,
        name=message.name,
        is_error=message.is_error,
        origin=message.origin,
        calls=[(call.id, call.name) for call in message.tool_calls],
        links=draft.links,
    )
