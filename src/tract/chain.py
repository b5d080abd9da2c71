"""Reading a branch: what stands where after all edits, marks and undone changes. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tract.errors import EditError
from tract.model import DECIDING, Form, Head, Link, Priority, Step, unpack_shape
from tract.pairing import OpenCalls

LEGIBLE = re.compile(r"(?!.*#\d+$)[!-~]{1,80}")
"""Ids that can be shown and asked for. One that ends like `#2` would be taken for a number."""


class Place:
    """Where an appended message stands. Edits change what is shown there, marks how."""

    __slots__ = ("call", "changes", "number", "origin", "priority", "results", "shape", "shown")

    def __init__(self, origin: Step) -> None:
        self.origin = origin
        self.shown = origin
        self.priority = Priority.NORMAL
        self.shape = origin.shape
        self.number = 1  # of the results with its id
        self.changes: Sequence[Step] = ()
        self.call: Place | None = None
        self.results: list[Place] | tuple[()] = ()

    @property
    def label(self) -> str:
        """What a result is asked for by: its id, numbered where that was used before, or its
        commit where the id is no name."""
        call_id = self.origin.tool_call_id or ""
        if not LEGIBLE.fullmatch(call_id):
            return f"result-{self.origin.hash.hex()[:12]}"
        return call_id if self.number == 1 else f"{call_id}#{self.number}"

    @property
    def turn(self) -> list[Place]:
        """The call and all of its results; just itself when there is no call."""
        call = self.call or self
        return [call, *call.results]

    @property
    def is_hidden(self) -> bool:
        """A skipped call hides its results too. A skipped result only gives way to a stand-in."""
        call = self.call or self
        if call.priority != Priority.SKIP or call.origin.role == "tool":
            return False
        return not any(member.priority == Priority.PINNED for member in self.turn)

    @property
    def stays_last(self) -> bool:
        """Whether a request ends with this, if nothing follows. A result goes right behind its
        call, wherever it came; an instruction may go to the front; what is empty is not sent."""
        is_said = self.shown.token_count > 0
        return self.call is None and self.origin.role != "system" and is_said

    @property
    def is_skipped_result(self) -> bool:
        return self.priority == Priority.SKIP and self.origin.role == "tool"


class Chain:
    """The fold of a chain. It is extended with what is new; an undone change folds it anew."""

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self.steps: list[Step] = []
        self.toolset: bytes | None = None
        """The hash of the toolset in force; None where none was ever recorded."""
        self._appended: list[Step] = []
        self.is_plain = True
        """Nothing was changed so far: each message is shown as it is."""
        self.is_lazy = False
        """Whether a result ever had another form than its whole."""
        self._clear()
        self.extend(steps)

    def _clear(self) -> None:
        self._places: list[Place] = []
        self._placed = 0  # how many steps have found their places
        self._by_commit: dict[int, Place] = {}
        self._open_calls: OpenCalls[Place] = OpenCalls()
        self._numbers: Counter[str] = Counter()
        self._voided: set[int] = set()

    def extend(self, steps: Iterable[Step]) -> bool:
        """Add steps. Whether what was shown before is still shown the same."""
        new = list(steps)
        may_collapse = self._ends_collapsed() or any(map(_is_collapsed, new))
        self.steps += new
        self._appended += [step for step in new if step.operation == "append"]
        self.toolset = next(recorded_toolsets(reversed(new)), self.toolset)
        changes = [step for step in new if step.links]
        is_shaped = any(step.shape for step in new)
        self.is_lazy = self.is_lazy or is_shaped or _has_forms(changes)
        if any(link.kind == "void" for step in changes for link in step.links):
            self._clear()
        self.is_plain = self.is_plain and not changes and not is_shaped
        return not (changes or may_collapse)

    def _ends_collapsed(self) -> bool:
        """Whether the last turn may be collapsed as soon as something follows it."""
        if self.is_plain:
            return False
        for place in reversed(self.places):
            shapes = [result.shape for result in place.results]
            if any(shape and shape.form == Form.COLLAPSED for shape in shapes):
                return True
            if place.stays_last and not place.is_hidden:
                return False
        return False

    @property
    def places(self) -> list[Place]:
        """Where every message stands."""
        self._fold()
        return self._places

    def _fold(self) -> None:
        """Put the steps that came since the last time in their places. A plain chain can be shown
        without."""
        if self._placed < len(self.steps):
            if not self._placed:
                self._voided = voided(self.steps)
            for step in self.steps[self._placed :]:
                self._apply(step)
            self._placed = len(self.steps)

    def _apply(self, step: Step) -> None:
        if step.id in self._voided:
            if step.operation == "edit":  # it can still be named
                self._by_commit[step.id] = self._by_commit[step.links[0].target_id]
        elif step.operation == "append":
            self._append(step)
        else:
            self._change(step)

    def _change(self, step: Step) -> None:
        for link in step.links:
            if link.kind == "replaces":
                self._edit(self._by_commit[link.target_id], step)
            elif link.kind == "priority":
                place = self._by_commit[link.target_id]
                place.priority = Priority(link.value or "")
                place.changes = (*place.changes, step)
            elif link.kind == "form":
                place = self._by_commit[link.target_id]
                place.shape = unpack_shape(link.value or "")
                place.changes = (*place.changes, step)

    def _append(self, step: Step) -> None:
        place = Place(step)
        self._places.append(place)
        self._by_commit[step.id] = place
        if step.calls:
            self._ask(place, step.calls)
        if step.tool_call_id is not None:
            self._numbers[step.tool_call_id] += 1
            place.number = self._numbers[step.tool_call_id]
            place.call = self._open_calls.answer(step.tool_call_id)
            if place.call:
                place.call.results = place.call.results or []
                place.call.results.append(place)

    def _edit(self, place: Place, step: Step) -> None:
        self._ask(place, [call for call in step.calls if call not in place.shown.calls])
        place.shown = step
        place.shape = None  # an edit is the new truth, and all of it is shown
        place.changes = (*place.changes, step)
        self._by_commit[step.id] = place

    def _ask(self, place: Place, calls: Sequence[Sequence[str]]) -> None:
        for call_id, _ in calls:
            self._open_calls.ask(call_id, place)

    def place(self, commit: Head) -> Place:
        """Where the commit stands, whether it was appended there or changed what stands there."""
        self._fold()
        place = self._by_commit.get(commit.id or 0)
        if place is None:
            raise EditError(f"commit {_hex(commit)} is a mark, or not in the history at this point")
        return place

    def changes(self, commit: Head) -> list[Step]:
        """What an undo of this commit voids: the change itself, or all changes of a message."""
        self._fold()
        found = [step for step in self.steps if step.id == commit.id]
        if not found:
            raise EditError(f"commit {_hex(commit)} is not in the history at this point")
        if commit.id in self._voided:
            raise EditError(f"commit {_hex(commit)} is undone already")
        is_change = found[0].operation != "append"
        changes = found if is_change else list(self.place(commit).changes)
        if not changes:
            raise EditError(f"nothing to restore: commit {_hex(commit)} was never changed")
        return changes

    def versions(self, commit: Head) -> list[Step]:
        """What stood at the place of this commit, the first one first, undone edits included."""
        family = {self.place(commit).origin.id}
        for step in self.steps:
            if any(link.kind == "replaces" and link.target_id in family for link in step.links):
                family.add(step.id)
        return [step for step in self.steps if step.id in family]

    def tool_name(self, call_id: str) -> str | None:
        """Which tool the next result with this id would be of."""
        self._fold()
        place = self._open_calls.waiting(call_id)
        calls = place.shown.calls if place else ()
        return next((name for called, name in calls if called == call_id), None)

    def before(self, place: Place) -> Step | None:
        """The commit after which this place came; None at the root."""
        index = self.steps.index(place.origin)
        return self.steps[index - 1] if index else None

    def appended(self, start: int = 0) -> list[Step]:
        """What was appended, from one place on."""
        return self._appended[start:]

    def count(self) -> int:
        """How many places there are."""
        return len(self._appended)

    def order(self, commit: Head) -> int:
        """What tells before from after: of a message or an edit of it the key of the place, of a
        mark its own."""
        self._fold()
        place = self._by_commit.get(commit.id or 0)
        if place is None and not self.has(commit):
            raise EditError(f"commit {_hex(commit)} is not in the history at this point")
        return place.origin.id if place else commit.id or 0

    def has(self, commit: Head) -> bool:
        return any(step.id == commit.id for step in self.steps)

    def toolset_at(self, commit: Head) -> bytes | None:
        """The toolset that was recorded with the commit, else the one in force at it."""
        active = None
        for step in self.steps:
            active = next(recorded_toolsets([step]), active)
            if step.id == commit.id:
                return step.toolset or active
        return active

    def toolset_changes(self) -> list[tuple[int, bytes]]:
        """The toolsets in their order, each with the key of the commit that put it in force."""
        changes: list[tuple[int, bytes]] = []
        for step in self.steps:
            for toolset in recorded_toolsets([step]):
                if not changes or changes[-1][1] != toolset:
                    changes.append((step.id, toolset))
        return changes

    def toolset_without(self, undone: Iterable[Step]) -> bytes | None:
        """The toolset that would be in force without these changes."""
        links = tuple(Link("void", step.id, step.hash) for step in undone)
        gone = voided([*self.steps, Step(0, b"", "mark", links=links)])
        # An undo records the set that it brings back; here it does not count as one of its own.
        left = [step for step in reversed(self.steps) if step.id not in gone and not _undoes(step)]
        return next(recorded_toolsets(left), None)


def recorded_toolsets(steps: Iterable[Step]) -> Iterator[bytes]:
    """The sets that steps put in force, in their order."""
    return (step.toolset for step in steps if step.toolset and step.operation in DECIDING)


def _has_forms(changes: Iterable[Step]) -> bool:
    links = [link for step in changes for link in step.links if link.kind == "form"]
    return any(unpack_shape(link.value or "").form != Form.FULL for link in links)


def _is_collapsed(step: Step) -> bool:
    return step.shape is not None and step.shape.form == Form.COLLAPSED


def _undoes(step: Step) -> bool:
    return any(link.kind == "void" for link in step.links)


def _hex(commit: Head) -> str:
    return commit.hash.hex() if commit.hash else "of nothing"


def voided(steps: Sequence[Step]) -> set[int]:
    """The commits that are undone. From new to old, because an undo can be undone itself."""
    found: set[int] = set()
    for step in reversed(steps):
        if step.id not in found:
            found.update(link.target_id for link in step.links if link.kind == "void")
    return found
