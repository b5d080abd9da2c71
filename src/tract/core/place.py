"""A place: where a message stands, how it looks now and how it looked before. Pure.

What each kind of link does to a look stands here, and nowhere else.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tract.core.pairing import pair
from tract.model import Form, Link, Priority, Shape, Step, unpack_shape

FULL = Shape()
_NORMAL, _SKIP, _COLLAPSED = Priority.NORMAL, Priority.SKIP, Form.COLLAPSED
"""To look up a member of an enumeration takes longer than to compare it."""

LEGIBLE = re.compile(r"(?!.*#\d+$)[!-~]{1,80}")
"""Ids that can be shown and asked for. One that ends like `#2` would be read as a number."""

STAND_IN = 0
"""The version that a model sees of a skipped result: a fixed text."""


class Look(NamedTuple):
    """What is shown at a place, and how."""

    shown: Step
    shape: Shape | None = None
    priority: Priority = Priority.NORMAL
    summary: Place | None = None
    """The summary that stands for the place."""
    is_left_out: bool = False
    """Whether the place is skipped, or its call is."""

    @property
    def visible(self) -> tuple[int, Shape] | None:
        """The version and the form that a model sees; None where it sees nothing."""
        if self.is_left_out or self.summary:
            return None
        if self.priority == Priority.SKIP and self.shown.role == "tool":
            return STAND_IN, FULL
        is_pinned = self.priority == Priority.PINNED
        return self.shown.id, FULL if is_pinned else self.shape or FULL

    @property
    def hides_content(self) -> bool:
        """Whether a result is not shown in full."""
        is_summarized = self.summary is not None and self.shown.role == "tool"
        shape = self.shape or FULL
        return is_summarized or (shape.form != Form.FULL and not shape.is_verbatim)


class Place:
    """Where an appended message stands, or the summary of some. Later commits change its look."""

    __slots__ = (
        *("at", "call", "changes", "links", "number", "origin", "past", "results", "sources"),
        *("is_hidden", "is_left_out", "priority", "shape", "shown", "summary"),
    )

    def __init__(self, origin: Step) -> None:
        self.origin = origin
        self.past: list[tuple[int, Look]] | tuple[()] = ()
        """The former looks, each with the commit that ended it."""
        self.reset()

    def reset(self) -> None:
        """Stand as if nothing had followed. The past stays."""
        origin = self.origin
        self.at = origin.id  # the order of places: a summary has that of its first source
        self.number = 1  # among the results with its id
        # As `show` would, but every cold start runs this once per message.
        self.shown, self.shape, self.priority = origin, origin.shape, _NORMAL
        self.summary: Place | None = None
        self.is_left_out = self.is_hidden = False
        self.links: list[tuple[Step, Link]] | tuple[()] = ()  # those that are undone included
        self.changes: tuple[Step, ...] = ()  # the edits and marks in force
        self.call: Place | None = None
        self.results: list[Place] | tuple[()] = ()
        self.sources: Sequence[Place] = ()  # what a summary stands for

    def show(self, look: Look) -> None:
        """Look like this from now on. The parts are attributes, because they are read often."""
        self.shown, self.shape, self.priority, self.summary, self.is_left_out = look
        self.is_hidden = look.is_left_out or look.summary is not None
        """Whether nothing of it is in the view: it is left out, or a summary stands for it."""

    @property
    def look(self) -> Look:
        return Look(self.shown, self.shape, self.priority, self.summary, self.is_left_out)

    @property
    def is_skipped_result(self) -> bool:
        return self.priority == _SKIP and self.origin.role == "tool"

    @property
    def stays_last(self) -> bool:
        """Whether a request ends with this, if nothing follows. A result goes right behind its
        call, wherever it came; an instruction may go to the front; what is empty is not sent."""
        has_content = self.shown.token_count > 0
        return self.call is None and self.origin.role != "system" and has_content

    @property
    def may_collapse(self) -> bool:
        """Whether one line may stand for this call and its results."""
        for result in self.results:
            if result.shape is not None and result.shape.form == _COLLAPSED:
                return True
        return False

    @property
    def label(self) -> str:
        """What a result is asked for by: its id, numbered where that was used before, or its
        commit where the id is not legible."""
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
    def ids(self) -> set[str]:
        """The ids of the calls that it shows, or of the one that it answers."""
        calls = {call_id for call_id, _ in self.shown.calls}
        return calls if self.origin.tool_call_id is None else {self.origin.tool_call_id}

    @property
    def answers(self) -> list[Place | None]:
        """For each call that it shows the result."""
        ids, results = [call_id for call_id, _ in self.shown.calls], self.results
        if len(ids) == len(results) == 1 and ids[0] == results[0].origin.tool_call_id:
            return [*results]  # as in most turns
        numbers = pair(ids, [result.origin.tool_call_id or "" for result in self.results])
        return [None if number is None else self.results[number] for number in numbers]

    def waits_for(self, call_id: str) -> bool:
        """Whether it shows a call with this id that has no result."""
        calls = zip(self.shown.calls, self.answers, strict=True)
        return any(called == call_id and not result for (called, _), result in calls)

    @property
    def is_put_away(self) -> bool:
        """Whether it is a result in a summary that does not have its call."""
        return self.origin.role == "tool" and self.call is None and self.summary is not None

    @property
    def everything_under(self) -> Iterator[Place]:
        """What a summary stands for, and what the summaries among that stand for."""
        for source in self.sources:
            yield source
            yield from source.everything_under

    @property
    def versions(self) -> list[Step]:
        """The message and its edits, the oldest first. Undone edits are included."""
        return [self.origin, *(step for step, _ in self.links if step.operation == "edit")]

    def look_before(self, commit: float) -> Look:
        """How it looked just before a commit, which need not be one that changed it."""
        position = bisect_left(self.past, commit, key=lambda entry: entry[0])
        return self.past[position][1] if position < len(self.past) else self.look


def summaries_of(place: Place) -> Iterator[Place]:
    """The summary that stands for a place, and the one that stands for that."""
    while place.summary:
        place = place.summary
        yield place


def outermost(place: Place) -> Place:
    """What stands in the view for a place: itself, or the last of its summaries."""
    return next(reversed([place, *summaries_of(place)]))


def in_sent_order(places: Sequence[Place]) -> list[Place]:
    """The places as providers accept them: each result right behind its call."""
    return [member for place in places if place.call is None for member in place.turn]


# Links


def alters(link: Link) -> bool:
    """Whether a link is about a place; the others undo a commit."""
    return link.kind != "void"


def apply_link(look: Look, step: Step, link: Link) -> Look:
    """The look of a place after an edit or a mark."""
    if link.kind == "priority":
        return look._replace(priority=Priority(link.value or ""))
    if link.kind == "form":
        return look._replace(shape=unpack_shape(link.value or ""))
    return look._replace(shown=step, shape=None)  # an edit is shown in full


def undo_targets(step: Step) -> list[int]:
    """The commits that a commit undoes."""
    return [link.target_id for link in step.links if not alters(link)]


def undone_commits(steps: Sequence[Step], start: Iterable[int] = ()) -> set[int]:
    """The commits that are undone, and those to start with."""
    undone = set(start)
    for step in reversed(steps):  # an undo can be undone itself
        if step.links and step.id not in undone:
            undone.update(undo_targets(step))
    return undone


def effect(step: Step, link: Link) -> str:
    """What a link did to a place, in a word."""
    if link.kind == "void":
        return "undone"
    if link.kind == "form":
        return f"→ {unpack_shape(link.value or '').form}"
    if link.kind == "priority":
        words = {Priority.SKIP.value: "left out", Priority.PINNED.value: "pinned"}
        return words.get(link.value or "", "back")
    return "edited" if step.operation == "edit" else "summarized"


def mark_text(kind: str, value: str | None, target: str) -> str:
    """What a mark says of the commit with this name."""
    if kind == "form":
        shape = unpack_shape(value or "")
        return f"{shape.form} {target}" + (f": {shape.text}" if shape.text else "")
    return f"{'undoes' if kind == 'void' else value or kind} {target}"
