"""Finding out what is new in a full history that somebody else keeps. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import dropwhile
from operator import is_
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from tract.core import wording
from tract.core.chain import Chain
from tract.core.drafts import NO_DETAILS, Details
from tract.core.entries import FullHistory
from tract.core.forms import newest_items
from tract.core.place import Place
from tract.hashing import json_or_text, to_sorted_json
from tract.model import Block, Form, Json, Message, Priority, Raw, Step, Text, ToolCall

Atom = tuple[str, str, str]
"""A block by role, kind and what it says: all that makes two of them the same."""


class Messages(Protocol):
    """What is recorded at a place, and what providers were sent of it."""

    def message(self, step: Step) -> Message: ...

    def without_thoughts(self, message: Message) -> Message: ...

    def as_sent(self, message: Message) -> Iterator[list[Message]]:
        """The message as it comes back from each provider."""


class Alignment(NamedTuple):
    """Where a history leaves the recorded one."""

    new: Sequence[Message]
    """What is not recorded yet."""
    differs_at: Place | None
    """The place from which on something else is recorded; None when nothing is."""
    branch: str | None = None
    """Another branch, which has the rest."""
    is_past: bool = False
    """Whether more is recorded behind its end: what the history says beside its messages, such as
    the tools, is no longer in force."""
    is_offered: bool = False
    """Whether the tools of the history are those that are sent, in a provider's format."""


class Recorded(NamedTuple):
    """A history that is recorded."""

    branch: str
    chain: Chain
    messages: Messages
    requests: Iterable[tuple[FullHistory, Walk]] = ()
    """What a provider is sent of it, as that comes back, each with how it is compared."""


def is_known(history: FullHistory, branches: Iterable[Recorded]) -> bool:
    """Whether a branch has the beginning of a history, beyond its system message."""
    messages = history.messages
    for recorded in branches:
        new = align(history, recorded).new
        if any(message.role != "system" for message in messages[: len(messages) - len(new)]):
            return True
    return False


def align_any(history: FullHistory, current: Recorded, branches: Iterable[Recorded]) -> Alignment:
    """The alignment with the current branch; where that differs, with the first that does not."""
    aligned = align(history, current)
    if aligned.differs_at is None:
        return aligned
    for recorded in branches:
        other = align(history, recorded)
        if other.differs_at is None and len(other.new) < len(history.messages):
            return other._replace(branch=recorded.branch)
    return aligned


def additions(
    history: FullHistory, new: Sequence[Message], chain: Chain
) -> list[tuple[Message, Details] | None]:
    """The new messages of a history in the order in which they are recorded; None stands for its
    tools. They are for the next answer: earlier answers that are new in it were given with the
    tools before, if there were any."""
    before = history.messages[: len(history.messages) - len(new)]
    requested = with_known_ids(new, before, chain.places)
    is_answered = history.is_answered and len(new) > 0
    if is_answered:
        requested.pop()
    items: list[tuple[Message, Details] | None] = [(item, NO_DETAILS) for item in requested]
    if history.tools is not None:
        answers = [n for n, message in enumerate(requested, 1) if message.role == "assistant"]
        items.insert(answers[-1] if answers and chain.toolset is not None else 0, None)
    if is_answered:
        items.append((history.messages[-1], history.details))
    return items


def align(history: FullHistory, recorded: Recorded) -> Alignment:
    """What came may be what is sent, or its beginning, or continue it; the request that leaves the
    least decides. Otherwise it was kept in other words, and both are walked in step."""
    tools, exact, continued, latest = history.tools, None, None, None
    for number, (request, walk) in enumerate(recorded.requests):
        latest = request.tools if number == 0 else latest
        aligned = walk.go_on(history.messages, request.messages)
        if aligned and not aligned.is_past and tools in (None, request.tools):
            if continued is None or len(aligned.new) < len(continued.new):
                continued = aligned._replace(is_offered=True)
            if not aligned.new:
                break
        exact = exact or aligned
    if continued:
        return continued
    aligned = exact or _align_places(history.messages, recorded)
    is_offered = aligned.differs_at is None and tools == latest
    return aligned._replace(is_offered=is_offered)


def _align_places(history: Sequence[Message], recorded: Recorded) -> Alignment:
    """Walk in the order in which messages came, or in the one in which they are sent, where each
    result is right behind its call, or in that of the calls: results of one turn come in any."""
    places, messages = recorded.chain.places, recorded.messages
    as_recorded = _walk(history, places, messages)
    if as_recorded.differs_at is None:
        return as_recorded
    for turn in (lambda place: place.turn, _in_call_order):
        order = [member for place in places if place.call is None for member in turn(place)]
        aligned = _walk(history, order, messages)
        if aligned.differs_at is None:
            return aligned
    return as_recorded


def _in_call_order(place: Place) -> list[Place]:
    """A call and its results, in the order in which they were asked for."""
    answers = [result for result in place.answers if result]
    return [place, *answers, *(result for result in place.results if result not in answers)]


class Walk:
    """Compares a history with what was sent, atom by atom. Both grow: where both begin with the
    same objects as the last time, it goes on there."""

    def __init__(self) -> None:
        self._history: Sequence[Message] = ()
        self._sent: Sequence[Message] = ()
        self._reached: list[int | None] = []
        """For each message that was sent the one of the history at which it was looked for; None
        for one inside of a message."""

    def go_on(self, history: Sequence[Message], sent: Sequence[Message]) -> Alignment | None:
        """What the history has behind what was sent; None where it does not begin with that. The
        system text in front may be kept elsewhere; one among the messages may change the tools."""
        if history and history[0].role != "system":
            sent = list(dropwhile(lambda message: message.role == "system", sent))
        start, position = self._known(history, sent)
        self._history, self._sent = history, sent
        del self._reached[start:]
        stream, first = Stream(history, _all_atoms, position), _first_spoken(sent)
        for number in range(start, len(sent)):
            self._reached.append(stream.position)
            for atom in _all_atoms(sent[number]):
                if stream.has_ended():
                    return Alignment((), None, is_past=True)
                if stream.take([atom]) or _is_stand_in(atom, is_first=number == first):
                    continue
                stream.skip_stand_ins()
                if not stream.take([atom]):
                    return None
        stream.skip_stand_ins()
        return Alignment(stream.rest(), None)

    def _known(self, history: Sequence[Message], sent: Sequence[Message]) -> tuple[int, int]:
        """From which message that was sent it can go on, and where in the history. What stands
        there was looked at, too, so it must be the same."""
        same, same_sent = _common(self._history, history), _common(self._sent, sent)
        for number in reversed(range(min(same_sent + 1, len(self._reached)))):
            position = self._reached[number]
            if position is not None and position < same:
                return number, position
        return 0, 0


def _common(old: Sequence[Message], new: Sequence[Message]) -> int:
    """With how many of the same objects two histories begin."""
    first = bytes(map(is_, old, new)).find(False)
    return min(len(old), len(new)) if first < 0 else first


def with_known_ids(
    new: Sequence[Message], before: Sequence[Message], places: Sequence[Place]
) -> list[Message]:
    """What is new in a history, its results with the ids by which their calls are recorded. The
    other side may have got other ids: those that a provider took in their place, or its own."""
    wanted = _unknown_ids(new)
    known: dict[str | None, str] = {}
    theirs = (call for message in reversed(before) for call in reversed(message.tool_calls))
    shown = (item.place for item in newest_items(places) if item.shape.form != Form.COLLAPSED)
    ours = (call for place in shown for call in reversed(place.shown.calls))
    for call, (our_id, name) in zip(theirs, ours, strict=False) if wanted else ():
        if call.name != name:
            break
        known.setdefault(call.id, our_id)
        wanted.discard(call.id)
        if not wanted:
            break
    messages = []
    for message in new:
        for call in message.tool_calls:
            known.pop(call.id, None)
        call_id = known.get(message.tool_call_id, message.tool_call_id)
        is_same = call_id == message.tool_call_id
        messages.append(message if is_same else replace(message, tool_call_id=call_id))
    return messages


def _unknown_ids(new: Sequence[Message]) -> set[str | None]:
    """The ids of results whose calls are not among the new messages."""
    called: set[str] = set()
    unknown: set[str | None] = set()
    for message in new:
        called.update(call.id for call in message.tool_calls)
        if message.role == "tool" and message.tool_call_id not in called:
            unknown.add(message.tool_call_id)
    return unknown


def _walk(history: Sequence[Message], places: Sequence[Place], messages: Messages) -> Alignment:
    """Block by block, because providers join messages. A place is matched by any version of it in
    any form in which it was ever sent, and passed over when the other side need not know it: a
    hidden message, a system text that is kept elsewhere, a summary of what it still has."""
    stream = Stream(history, atoms)
    stream.skip_stand_ins()
    covered: set[int] = set()  # results of collapsed calls, sources of summaries
    for number, place in enumerate(places):
        if stream.has_ended():
            is_past = not all(later.is_hidden for later in places[number:])
            return Alignment((), None, is_past=is_past)
        if place.origin.id in covered:
            continue
        if place.sources:
            stream.skip_stand_ins()
        if _take(stream, place, messages):
            covered.update(source.origin.id for source in place.everything_under)
            continue
        if place.results and _take_any(stream, _collapsed_forms(place, messages)):
            covered.update(result.origin.id for result in place.results)
            continue
        is_elsewhere = place.origin.role == "system" and stream.role != "system"
        if place.sources or place.is_left_out or is_elsewhere:
            continue
        stream.skip_stand_ins()
        if not _take(stream, place, messages):
            return Alignment(stream.rest(), None if stream.has_ended() else place)
    stream.skip_stand_ins()
    return Alignment(stream.rest(), None)


def _take(stream: Stream, place: Place, messages: Messages) -> bool:
    if _take_any(stream, _forms(place, messages)):
        return True
    if place.origin.role == "tool":
        role = "tool" if place.call else "user"  # without its call it is quoted
        if stream.take_hint(role, wording.how_to_fetch(place)):
            return True
    # What was forgotten cannot be compared; that something of its role is there must do.
    is_forgotten = messages.message(place.shown).text == wording.FORGOTTEN
    return is_forgotten and stream.take_any(place.origin.role or "")


def _take_any(stream: Stream, forms: Iterator[list[Atom]]) -> bool:
    return any(stream.take(form) for form in forms)


class Stream:
    """Messages as atoms, read from the front."""

    def __init__(
        self,
        messages: Sequence[Message],
        atoms_of: Callable[[Message], list[Atom]],
        start: int = 0,
    ) -> None:
        self._messages = messages
        self._start = start
        self._atoms = [atoms_of(message) for message in messages[start:]]
        self._message, self._block = start, 0
        self._first = _first_spoken(messages)

    def has_ended(self) -> bool:
        return self._message == len(self._messages)

    @property
    def role(self) -> str:
        return self._messages[self._message].role

    @property
    def position(self) -> int | None:
        """The message that comes next; None inside of one."""
        return None if self._block else self._message

    def take(self, form: Sequence[Atom]) -> bool:
        """Whether the form comes next; then it is behind us. An empty one takes a blank message."""
        message, block = self._message, self._block
        for atom in form:
            message, block = self._at_atom(message, block)
            if message == len(self._messages) or self._atoms[message - self._start][block] != atom:
                return False
            block += 1
        if not form and not self._atoms[message - self._start]:
            message += 1
        elif message < len(self._messages) and block == len(self._atoms[message - self._start]) > 0:
            message, block = message + 1, 0
        self._message, self._block = message, block
        return True

    def take_any(self, role: str) -> bool:
        """Whether a full message of this role comes next; then it is behind us."""
        if self.has_ended() or self._block or self.role != role:
            return False
        self._message += 1
        return True

    def take_hint(self, role: str, hint: str) -> bool:
        """Whether something of this role comes next that says this; then it is behind us."""
        message, block = self._at_atom(self._message, self._block)
        if message == len(self._messages):
            return False
        atom = self._atoms[message - self._start][block]
        return atom[0] == role and hint in atom[2] and self.take([atom])

    def _at_atom(self, message: int, block: int) -> tuple[int, int]:
        """The next atom; blank messages have none."""
        while message < len(self._messages) and block == len(self._atoms[message - self._start]):
            message, block = message + 1, 0
        return message, block

    def skip_stand_ins(self) -> None:
        """Pass over what was put in only so that a provider takes the messages."""
        while not self.has_ended() and self._atoms[self._message - self._start][self._block :]:
            atom = self._atoms[self._message - self._start][self._block]
            if not _is_stand_in(atom, is_first=self._message == self._first):
                return
            self.take([atom])

    def rest(self) -> Sequence[Message]:
        """What is left, the first message perhaps without its beginning."""
        if not self._block:
            return self._messages[self._message :]
        first = self._messages[self._message]
        left = tuple(block for block in first.blocks if _says_something(block))[self._block :]
        return [replace(first, content=left, origin=None), *self._messages[self._message + 1 :]]


def atoms(message: Message) -> list[Atom]:
    content: Json = message.content
    if message.role == "tool":
        return [
            ("tool", "result", content if isinstance(content, str) else to_sorted_json(content))
        ]
    return [(message.role, *_atom(block)) for block in message.blocks if _says_something(block)]


def _all_atoms(message: Message) -> list[Atom]:
    """The atoms of a message, one of its own for a blank one."""
    return atoms(message) or [(message.role, "blank", "")]


def _first_spoken(messages: Sequence[Message]) -> int:
    """The number of the first message behind the system texts."""
    spoken = (number for number, message in enumerate(messages) if message.role != "system")
    return next(spoken, len(messages))


def _is_stand_in(atom: Atom, *, is_first: bool) -> bool:
    """Whether it is what is put in for a result, or before the first message."""
    role, _, text = atom
    if role == "tool":
        return text in wording.CLOSINGS
    return is_first and role == "user" and text == wording.START


def _says_something(block: Block) -> bool:
    return not isinstance(block, Text) or bool(block.text.strip())


def _atom(block: Block) -> tuple[str, str]:
    match block:
        case Text(text):
            return "text", text
        case ToolCall(_, name, arguments):
            spoken = json_or_text(arguments) if isinstance(arguments, str) else arguments
            return "call", to_sorted_json([name, spoken])
        case Raw(_, data):
            return "raw", to_sorted_json(data)


def _forms(place: Place, messages: Messages) -> Iterator[list[Atom]]:
    """How what stands here was or would be sent, the likely forms first."""
    versions = list(_versions(place, messages))
    yield from map(atoms, versions)
    for version in versions:
        yield from _sent_forms(version, messages)


def _sent_forms(version: Message, messages: Messages) -> Iterator[list[Atom]]:
    """How a message comes back from the providers."""
    for sent in messages.as_sent(version):
        form = [atom for message in sent for atom in atoms(message)]
        # A provider may get nothing of a thought, but it gets every word.
        if form or all(kind == "raw" for _, kind, _ in atoms(version)):
            yield form


def _collapsed_forms(call: Place, messages: Messages) -> Iterator[list[Atom]]:
    answer = messages.without_thoughts(messages.message(call.shown))
    for line in (wording.COLLAPSED, *wording.FORMERLY_COLLAPSED):
        yield from _sent_forms(wording.collapse(answer, call, line), messages)


def _versions(place: Place, messages: Messages) -> Iterator[Message]:
    former = (look.shown for _, look in place.past)
    for step in {step.hash: step for step in [place.shown, place.origin, *former]}.values():
        yield messages.message(step)
    if place.origin.role == "tool":
        result = messages.message(place.shown)
        if place.priority == Priority.SKIP:
            yield replace(result, content=wording.SKIPPED)
        if place.call is None:
            yield wording.quote(result)
            yield wording.former_quote(result)
