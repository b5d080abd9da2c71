"""Epochs: the commits that rewrote what a model had been sent, and the frontier behind which
nothing was rewritten."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from functools import cache
from math import inf
from typing import NamedTuple

from tract.core.chain import Chain
from tract.core.place import Place
from tract.model import Step
from tract.view.history import History


class Epoch(NamedTuple):
    """One such commit."""

    step: Step
    words: str
    is_undone: bool


class Answers:
    """When the model answered, which is when it was sent something."""

    def __init__(self, chain: Chain) -> None:
        answers = (step for step in chain.appended_steps() if step.role == "assistant")
        self._ids = [step.id for step in answers]

    def after(self, commit: int) -> float:
        """The next answer after a commit."""
        position = bisect_right(self._ids, commit)
        return self._ids[position] if position < len(self._ids) else inf

    def before(self, commit: int) -> int:
        """The last answer before a commit; 0 where there is none."""
        position = bisect_left(self._ids, commit)
        return self._ids[position - 1] if position else 0


def epochs(chain: Chain) -> list[Epoch]:
    """The rewrites of a history, oldest first. A commit is none where the model never saw anything
    else, or where it was undone before the model could see it."""
    answers, undone_before = Answers(chain), cache(chain.undone_commits)
    rewrites = []
    for step in chain.steps:
        if step.links and step.id not in undone_before(answers.after(step.id)):
            words = _words(step, chain, answers.before(step.id))
            if words:
                rewrites.append(Epoch(step, words, step.id in undone_before(inf)))
    return rewrites


def _words(step: Step, chain: Chain, answered: int) -> str:
    """What a commit did to what was sent for the last answer; empty where it did nothing to it."""

    def is_rewritten(place: Place) -> bool:
        before, sent = (place.look_before(commit).visible for commit in (step.id, answered))
        now = place.look_before(step.id + 1).visible
        return place.at < answered and now not in (before, sent)

    counts = Counter(
        effect.word
        for effect in chain.effects(step)
        if (effect.undoes or 0) < answered and any(map(is_rewritten, effect.places))
    )
    return ", ".join(f"{number} {word}" for word, number in counts.items())


def frontier(reading: History, answered: float = inf) -> int | None:
    """The number of the last place that is not sent as it was sent before; None where all are.
    What follows it, a provider may have cached. With `answered`, without the answers from that
    commit on: an answer may move it."""
    answers = Answers(reading.chain)
    for number in range(len(reading.places) - 1, -1, -1):
        place = reading.places[number]
        first = answers.after(place.at)
        if first < answered and _is_rewritten(reading, place, first):
            return number
    return None


def _is_rewritten(reading: History, place: Place, first: float) -> bool:
    """Whether a place is sent differently than for the first answer after it."""
    if place.sources and place.origin.id > first:
        return True
    is_other = place.look_before(first).visible != place.look.visible
    return is_other or reading.has_lost_thoughts(place)
