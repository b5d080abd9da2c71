"""Epochs: the commits that changed what a model is sent of what it was sent before, and the
frontier behind which nothing was changed."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from math import inf
from typing import NamedTuple

from tract.core.chain import FULL, Chain, Place, voided
from tract.model import Link, Priority, Shape, Step, unpack_shape
from tract.view.history import History


class Epoch(NamedTuple):
    """One such commit."""

    step: Step
    words: str
    is_undone: bool


class Answers:
    """When the model answered: only then was it sent something."""

    def __init__(self, chain: Chain) -> None:
        answers = (step for step in chain.appended() if step.role == "assistant")
        self._ids = [step.id for step in answers]

    def after(self, commit: int) -> float:
        """When it did so next."""
        place = bisect_right(self._ids, commit)
        return self._ids[place] if place < len(self._ids) else inf

    def before(self, commit: int) -> int:
        """When it did so last; 0 where it did not."""
        place = bisect_left(self._ids, commit)
        return self._ids[place - 1] if place else 0


class Past:
    """How the places of a chain were shown at any time, undone changes included."""

    def __init__(self, chain: Chain) -> None:
        self._places = {place.origin.id: place for place in chain.places}
        self._changes: dict[int, list[Step]] = {}  # by place
        self._undos: list[tuple[int, int]] = []  # each with what it undoes
        self._gone: dict[float, set[int]] = {}
        self._touched: dict[int, list[tuple[Link, list[Place]]]] = {}  # by change
        for step in chain.steps:
            if step.links:
                self._touched[step.id] = [(link, self._note(link, step)) for link in step.links]

    def _note(self, link: Link, step: Step) -> list[Place]:
        """Remember what a commit does, and tell to which places."""
        if link.kind == "void":
            self._undos.append((step.id, link.target_id))
            return [p for _, places in self._touched.get(link.target_id, ()) for p in places]
        place = self._places.get(link.target_id)
        if place is None:  # a summary that is undone
            return []
        self._changes.setdefault(place.origin.id, []).append(step)
        if step.operation == "edit":
            self._places[step.id] = place
        return [place]

    def touched(self, step: Step) -> list[tuple[Link, list[Place]]]:
        return self._touched[step.id]

    def is_in_force(self, commit: int, until: float) -> bool:
        """Whether a change was not undone before something; an undo can be undone itself."""
        if until not in self._gone:
            gone: set[int] = set()
            for undo, undone in reversed(self._undos):
                if undo < until and undo not in gone:
                    gone.add(undone)
            self._gone[until] = gone
        return commit not in self._gone[until]

    def looks(self, place: Place, until: float) -> tuple[int, Shape] | None:
        """The version and the form in which a place was shown; None where it was not."""
        version, shape, priority = place.origin.id, place.origin.shape or FULL, ""
        for step in self._changes.get(place.origin.id, ()):
            if step.id >= until or not self.is_in_force(step.id, until):
                continue
            if step.operation == "compress":
                return None
            if step.operation == "edit":
                version, shape = step.id, FULL
            for link in step.links:
                if link.target_id == place.origin.id and link.kind == "form":
                    shape = unpack_shape(link.value or "")
                elif link.target_id == place.origin.id and link.kind == "priority":
                    priority = link.value or ""
        if priority == Priority.PINNED:
            return version, FULL
        is_hidden = place.call is not None and self.looks(place.call, until) is None
        return None if is_hidden or priority == Priority.SKIP else (version, shape)


def epochs(chain: Chain) -> list[Epoch]:
    """The rewrites of a history, oldest first. What a model never saw otherwise is none, nor is
    what was undone before it could see it."""
    answers, past, gone = Answers(chain), Past(chain), voided(chain.steps)
    found = []
    for step in chain.steps:
        if step.links and past.is_in_force(step.id, answers.after(step.id)):
            words = _words(step, past, answers.before(step.id))
            if words:
                found.append(Epoch(step, words, step.id in gone))
    return found


def _words(step: Step, past: Past, answered: int) -> str:
    """What a commit did to what was sent for the last answer; empty where it did nothing to it."""

    def is_rewritten(place: Place) -> bool:
        now = past.looks(place, step.id + 1)
        changed = now not in (past.looks(place, step.id), past.looks(place, answered))
        return place.at < answered and changed

    counts = Counter(
        _word(link, step)
        for link, places in past.touched(step)
        if (link.kind != "void" or link.target_id < answered) and any(map(is_rewritten, places))
    )
    return ", ".join(f"{number} {word}" for word, number in counts.items())


def _word(link: Link, step: Step) -> str:
    if link.kind == "void":
        return "undone"
    if link.kind == "form":
        return f"→ {unpack_shape(link.value or '').form}"
    if link.kind == "priority":
        words = {Priority.SKIP.value: "left out", Priority.PINNED.value: "pinned"}
        return words.get(link.value or "", "back")
    return "edited" if step.operation == "edit" else "summed up"


def frontier(reading: History) -> int | None:
    """The number of the last place that is not sent as it was sent before; None where all are.
    What follows it, a provider may have cached."""
    answers, past = Answers(reading.chain), Past(reading.chain)
    for number in range(len(reading.places) - 1, -1, -1):
        place = reading.places[number]
        first = answers.after(place.at)
        if first < inf and _is_rewritten(reading, place, past, first):
            return number
    return None


def _is_rewritten(reading: History, place: Place, past: Past, first: float) -> bool:
    """Whether a place is sent otherwise than for the first answer after it."""
    if place.sources and place.origin.id > first:
        return True
    is_other = past.looks(place, first) != past.looks(place, inf)
    return is_other or reading.has_lost_thoughts(place)
