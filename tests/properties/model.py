"""A history as a plain model: lists, folded from the beginning each time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from tract import CommitInfo, Message
from tract.core.wording import SKIPPED


def undone(log: Sequence[CommitInfo]) -> set[str]:
    """The commits that an undo in force undoes."""
    void: set[str] = set()
    for info in reversed(log):
        if info.commit_hash not in void:
            void.update(mark.target for mark in info.marks if mark.kind == "void")
    return void


def in_force(log: Sequence[CommitInfo]) -> list[CommitInfo]:
    """The changes that are not undone, oldest first, without the undos."""
    void = undone(log)
    return [
        info
        for info in log
        if info.operation != "append"
        and info.commit_hash not in void
        and not any(mark.kind == "void" for mark in info.marks)
    ]


@dataclass(eq=False)
class Slot:
    """Where a message or a summary stands."""

    shown: str
    role: str
    priority: str = "normal"
    summary: Slot | None = None
    call: Slot | None = None

    @property
    def outermost(self) -> Slot:
        return self.summary.outermost if self.summary else self


class Model:
    """What is shown where, without any forms of results."""

    def __init__(self, log: Sequence[CommitInfo], messages: Mapping[str, Message]) -> None:
        self._messages = messages
        self._slots: list[Slot] = []
        self._by_commit: dict[str, Slot] = {}
        void = undone(log)
        for info in log:
            self._add(info, is_void=info.commit_hash in void)
        self._appended = [self._by_commit[i.commit_hash] for i in log if i.operation == "append"]
        self._pair()

    def _add(self, info: CommitInfo, *, is_void: bool) -> None:
        name, role = info.commit_hash, info.role or ""
        targets = [slot for slot in map(self._by_commit.get, info.replaces) if slot]
        if info.operation == "append":
            self._by_commit[name] = slot = Slot(name, role)
            self._slots.append(slot)
        elif info.operation == "edit" and targets:  # an undone one can still be named
            self._by_commit[name] = targets[0]
            targets[0].shown = targets[0].shown if is_void else name
        elif info.operation == "compress" and targets and not is_void:
            sources = [slot.outermost for slot in targets]
            self._by_commit[name] = summary = Slot(name, role)
            self._slots.insert(self._slots.index(sources[0]), summary)
            for source in sources:
                source.summary = summary
        for mark in info.marks:
            if mark.kind == "priority" and mark.target in self._by_commit and not is_void:
                self._by_commit[mark.target].priority = mark.value or ""

    def _pair(self) -> None:
        """A result answers the newest open call with its id, among those that stand with it."""
        waiting: list[tuple[Slot, list[str]]] = []
        for slot in self._appended:
            message = self._messages[slot.shown]
            if slot.role == "tool":
                call_id = str(message.tool_call_id)
                for owner, ids in reversed(waiting):
                    if owner.summary is slot.summary and call_id in ids:
                        ids.remove(call_id)
                        slot.call = owner
                        break
            elif message.tool_calls:
                waiting.append((slot, [call.id for call in message.tool_calls]))

    def _is_left_out(self, slot: Slot) -> bool:
        """A skipped call hides its results too, unless one is pinned; a skipped result does not."""
        call = slot.call or slot
        turn = [call, *(result for result in self._appended if result.call is call)]
        is_pinned = any(member.priority == "pinned" for member in turn)
        return call.priority == "skip" and call.role != "tool" and not is_pinned

    def view(self) -> list[tuple[str, Message]]:
        """What a model would see, each message with its commit."""
        shown = [s for s in self._slots if s.summary is None and not self._is_left_out(s)]
        return [(slot.shown, self._message(slot)) for slot in shown]

    def _message(self, slot: Slot) -> Message:
        message = self._messages[slot.shown]
        if slot.role == "tool" and slot.priority == "skip":
            return replace(message, content=SKIPPED)
        return message


def toolset(log: Sequence[CommitInfo], none: str) -> str | None:
    """The newest set that a message or a mark recorded and nobody has undone. `none` is the set
    without tools, which is in force where all others are undone."""
    sets = [info for info in log if info.toolset_hash and info.operation in ("append", "mark")]
    void = undone(log)
    for info in reversed(sets):
        is_undo = any(mark.kind == "void" for mark in info.marks)  # it records what comes back
        if info.commit_hash not in void and not is_undo:
            return info.toolset_hash
    return none if sets else None
