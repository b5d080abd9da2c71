"""Reading a branch: what stands where after all edits, marks and undone changes. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tract.core.pairing import OpenCalls
from tract.errors import EditError
from tract.model import DECIDING, Form, Head, Link, Priority, Shape, Step, unpack_shape

LEGIBLE = re.compile(r"(?!.*#\d+$)[!-~]{1,80}")
"""Ids that can be shown and asked for. One that ends like `#2` would be taken for a number."""


FULL = Shape()


class Place:
    """Where an appended message stands, or the summary of some. Edits change what is shown there,
    marks how."""

    __slots__ = (
        "at",
        "call",
        "changes",
        "number",
        "origin",
        "priority",
        "results",
        "shape",
        "shown",
        "sources",
        "summary",
    )

    def __init__(self, origin: Step) -> None:
        self.origin = origin
        self.at = origin.id  # what tells before from after: a summary stands where its first was
        self.shown = origin
        self.priority = Priority.NORMAL
        self.shape = origin.shape
        self.number = 1  # of the results with its id
        self.changes: Sequence[Step] = ()
        self.call: Place | None = None
        self.results: list[Place] | tuple[()] = ()
        self.sources: Sequence[Place] = ()  # of a summary: what it stands for
        self.summary: Place | None = None  # what stands for this

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
    def everything_under(self) -> Iterator[Place]:
        """What a summary stands for, and what the summaries among that stand for."""
        for source in self.sources:
            yield source
            yield from source.everything_under

    @property
    def is_hidden(self) -> bool:
        """Whether nothing of it is in the view: it is left out, or a summary stands for it."""
        return self.summary is not None or self.is_left_out

    @property
    def is_left_out(self) -> bool:
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


class Span(NamedTuple):
    """A time between two commits in which a place was shown otherwise than now."""

    start: int
    end: int
    place: int


class Chain:
    """The fold of a chain. It is extended with what is new; an undone change folds it anew."""

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self.steps: list[Step] = []
        self.toolset: bytes | None = None
        """The hash of the toolset in force; None where none was ever recorded."""
        self._appended: list[Step] = []
        self.is_plain = True
        """Nothing was changed so far: each message is shown as it is."""
        self._is_changed = False
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
        self.is_lazy = (
            self.is_lazy or is_shaped or _has_forms(changes) or self._hides_results(changes)
        )
        if any(link.kind == "void" for step in changes for link in step.links):
            self._clear()
        self._is_changed = self._is_changed or bool(changes)
        self.is_plain = not self._is_changed and not is_shaped and self.is_plain
        return not (changes or may_collapse)

    def _hides_results(self, changes: Iterable[Step]) -> bool:
        """Whether some of these are summaries of results."""
        summed = {link.target_id for c in changes if c.operation == "compress" for link in c.links}
        return bool(summed) and any(s.role == "tool" and s.id in summed for s in self.steps)

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
                self._name(step, self._by_commit.get(step.links[0].target_id))
        elif step.operation == "append":
            self._append(step)
        elif step.operation == "compress":
            self._compress(step)
        else:
            self._change(step)

    def _name(self, step: Step, place: Place | None) -> None:
        if place:
            self._by_commit[step.id] = place

    def _change(self, step: Step) -> None:
        for link in step.links:
            place = self._by_commit.get(link.target_id)
            if place is None:  # a summary that is undone, and with it what was done to it
                continue
            if link.kind == "replaces":
                self._edit(place, step)
            elif link.kind == "priority":
                place.priority = Priority(link.value or "")
                place.changes = (*place.changes, step)
            elif link.kind == "form":
                place.shape = unpack_shape(link.value or "")
                place.changes = (*place.changes, step)

    def _compress(self, step: Step) -> None:
        """Put a summary where the first of its sources stands."""
        found = [self._by_commit.get(link.target_id) for link in step.links]
        sources = [outermost(place) for place in found if place]
        if not sources:
            return
        summary = Place(step)
        summary.at = sources[0].at
        summary.sources = list(dict.fromkeys(sources))
        for source in summary.sources:
            source.summary = summary
        self._places.insert(self._places.index(sources[0]), summary)
        self._by_commit[step.id] = summary

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

    def changes(self, commits: Iterable[Head]) -> list[Step]:
        """What an undo of these commits voids: the changes themselves, or all changes of a message,
        the summaries that stand for it included."""
        steps = {step.id: step for step in self.steps}
        found = {step.id: step for commit in commits for step in self._changes(commit, steps)}
        self._check_summaries(list(found.values()))
        return list(found.values())

    def _changes(self, commit: Head, steps: Mapping[int, Step]) -> list[Step]:
        self._fold()
        step = steps.get(commit.id or 0)
        if step is None:
            raise EditError(f"commit {_hex(commit)} is not in the history at this point")
        if commit.id in self._voided:
            raise EditError(f"commit {_hex(commit)} is undone already")
        found = [step]
        if step.operation == "append":
            place = self.place(commit)
            found = [*place.changes, *(summary.origin for summary in summaries_of(place))]
        if not found:
            raise EditError(f"nothing to restore: commit {_hex(commit)} was never changed")
        return found

    def _check_summaries(self, undone: Sequence[Step]) -> None:
        """A summary of summaries is undone first; none comes back where there is another one."""
        gone = {step.id for step in undone}
        back = {link.target_id for step in undone for link in step.links if link.kind == "void"}
        for step in self.steps:
            if step.operation != "compress" or step.id not in gone | back:
                continue
            needed = [step.id] if step.id in gone else [link.target_id for link in step.links]
            if not all(commit in self._by_commit or commit in back for commit in needed):
                raise EditError(f"summary {step.hash.hex()} was made of one that is undone")
            for other in self._summaries_over(needed):
                if other.origin.id not in gone:
                    name, over = step.hash.hex(), other.origin.hash.hex()
                    raise EditError(f"summary {over} must be undone before summary {name}")

    def _summaries_over(self, commits: Iterable[int]) -> Iterator[Place]:
        """What stands for these commits, and for the results of calls that they bring back."""
        for place in filter(None, map(self._by_commit.get, commits)):
            turns = [member for source in place.sources for member in source.turn]
            over = [one.summary for one in (place, *turns)]
            yield from (summary for summary in over if summary and summary is not place)

    def versions(self, commit: Head) -> list[Step]:
        """What stood at the place of this commit, the first one first, undone edits included."""
        family = {self.place(commit).origin.id}
        for step in self.steps:
            if step.operation == "edit" and step.links[0].target_id in family:
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
        return len(self._appended) if self.is_plain else len(self.places)

    def order(self, commit: Head) -> int:
        """What tells before from after: of a message or an edit of it the key of the place, of a
        mark its own."""
        self._fold()
        place = self._by_commit.get(commit.id or 0)
        if place is None and not self.has(commit):
            raise EditError(f"commit {_hex(commit)} is not in the history at this point")
        return place.at if place else commit.id or 0

    def outdated_answers(self) -> set[int]:
        """The answers that were given when something before them was shown otherwise than now. What
        a provider let its model think in them does not fit any more."""
        if not self._is_changed:
            return set()
        self._fold()
        undos = _undos(self.steps)
        altered = self._alterations()
        spans = [
            span for commit, places in altered.items() for span in _spans(commit, places, undos)
        ]
        lasting = {span.end: span.place for span in spans if not span.start}
        passing = [span for span in spans if span.start]
        found, first_change = set(), float("inf")
        for step in reversed(self.steps):
            first_change = min(first_change, lasting.get(step.id, first_change))
            if step.operation == "append" and step.role == "assistant":
                was_passing = any(s.start < step.id < s.end and s.place < step.id for s in passing)
                if first_change < step.id or was_passing:
                    found.add(step.id)
        return found

    def _alterations(self) -> dict[int, list[Place]]:
        """By each change the places that it made look otherwise. A mark may say what is so already;
        an undo is to be looked at with what it undoes."""
        priorities: dict[Place, str] = {}
        shapes: dict[Place, Shape] = {}
        found: dict[int, list[Place]] = {}
        for step in self.steps:
            for link in step.links:
                place = self._by_commit.get(link.target_id)
                if place is None or link.kind == "void":
                    continue
                shape = shapes.get(place, place.origin.shape or FULL)
                both = {priorities.get(place, Priority.NORMAL.value), link.value or ""}
                if _alters(link, shape, both):
                    found.setdefault(step.id, []).append(place)
                if step.id in self._voided:
                    continue
                if link.kind == "priority":
                    priorities[place] = link.value or ""
                else:  # an edit shows all of it
                    shapes[place] = unpack_shape(link.value or "") if link.kind == "form" else FULL
        return found

    def has(self, commit: Head) -> bool:
        return any(step.id == commit.id for step in self.steps)

    def toolset_at(self, commit: Head) -> bytes | None:
        """The toolset that was recorded with the commit, else the one in force at it."""
        return self.toolsets_at([commit.id or 0])[0]

    def toolsets_at(self, commits: Sequence[int]) -> list[bytes | None]:
        """The same for several, in one pass; None for a commit that is not here."""
        found: dict[int, bytes | None] = dict.fromkeys(commits)
        active = None
        for step in self.steps:
            active = next(recorded_toolsets([step]), active)
            if step.id in found:
                found[step.id] = step.toolset or active
        return [found[commit] for commit in commits]

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


def summaries_of(place: Place) -> Iterator[Place]:
    """The summary that stands for a place, and the one that stands for that."""
    while place.summary:
        place = place.summary
        yield place


def outermost(place: Place) -> Place:
    """What stands in the view for a place: itself, or the last of its summaries."""
    return next(reversed([place, *summaries_of(place)]))


def in_sent_order(places: Sequence[Place]) -> list[Place]:
    """The places as providers take them: each result right behind its call. One whose call is
    not in the view stands where it came."""
    order: list[Place] = []
    for place in places:
        if place.call is None or place.call.is_hidden:
            order.append(place)
            order += [] if place.is_hidden else place.results
    return order


def recorded_toolsets(steps: Iterable[Step]) -> Iterator[bytes]:
    """The sets that steps put in force, in their order."""
    return (step.toolset for step in steps if step.toolset and step.operation in DECIDING)


def _has_forms(changes: Iterable[Step]) -> bool:
    links = [link for step in changes for link in step.links if link.kind == "form"]
    return any(unpack_shape(link.value or "").form != Form.FULL for link in links)


def _is_collapsed(step: Step) -> bool:
    return step.shape is not None and step.shape.form == Form.COLLAPSED


def _undos(steps: Iterable[Step]) -> dict[int, list[int]]:
    """By each commit those that undo it."""
    found: dict[int, list[int]] = {}
    for step in steps:
        for link in step.links:
            if link.kind == "void":
                found.setdefault(link.target_id, []).append(step.id)
    return found


def _alters(link: Link, shape: Shape, both: set[str]) -> bool:
    """Whether a link changes what is shown of a place that has this shape; `both` are its priority
    before and the one that the link may give it."""
    if link.kind == "form":
        return shape != unpack_shape(link.value or "")
    if link.kind == "priority":
        is_about_form = shape != FULL and Priority.PINNED in both
        return len(both) > 1 and (Priority.SKIP in both or is_about_form)
    return True


def _spans(
    change: int, places: Sequence[Place], undos: Mapping[int, Sequence[int]]
) -> Iterator[Span]:
    """When the view was otherwise than now for the sake of one change, and from where on."""
    flips = [0, *_flips(change, undos)]
    if len(flips) % 2:  # undone: it was there from one flip to the next
        flips = flips[1:]
    for start, end in zip(flips[::2], flips[1::2], strict=True):
        yield Span(start, end, min(place.at for place in places))


def _flips(change: int, undos: Mapping[int, Sequence[int]]) -> list[int]:
    """The commits that put a change in force, and out of it, and in force again."""
    return [change, *(flip for undo in undos.get(change, ()) for flip in _flips(undo, undos))]


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
