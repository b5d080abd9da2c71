"""Reading a branch: what stands where after all edits, marks and undone changes. Pure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise, product, takewhile
from math import inf
from typing import NamedTuple

from tract.core.pairing import OpenCalls
from tract.core.place import (
    FULL,
    Look,
    Place,
    alters,
    apply_link,
    effect,
    outermost,
    summaries_of,
    undo_targets,
    undone_commits,
)
from tract.errors import EditError
from tract.model import DECIDING, Head, Link, Priority, Step

__all__ = ["FULL", "Chain", "Effect", "Place", "recorded_toolsets", "undone_commits"]


class Effect(NamedTuple):
    """What one link of a commit did."""

    word: str
    places: list[Place]
    undoes: int | None = None
    """The commit that it undoes."""


class Chain:
    """The fold of a chain, in which every place remembers its looks. It is extended with what is
    new, and a change costs what it changes. Only an undo that moves places folds it anew."""

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self.steps: list[Step] = []
        self.toolset: bytes | None = None
        """The hash of the toolset in force; None where none was ever recorded."""
        self.is_plain = True
        """Nothing was changed so far: each message is shown as it is."""
        self.is_lazy = False
        """Whether a result was ever not shown in full."""
        self._appended: list[Step] = []
        self._answers: list[int] = []
        self._deciding: list[Step] = []  # those that put a toolset in force
        self._folded = 0  # how many steps have found their places
        self._known: dict[int, Place] = {}  # by the first commit: those that may come back
        self._with_past: list[Place] = []
        self._changing: dict[int, Step] = {}  # edits, marks and summaries
        self._undos: dict[int, Step] = {}
        self._voided: set[int] = set()
        self._last = 0  # where a request ends
        self._looks_before: dict[Place, Look] = {}  # of the places that a step touches
        self._first_altered: float = inf
        self._clear()
        self.extend(steps)

    def _clear(self) -> None:
        self._places: list[Place] = []
        self._by_commit: dict[int, Place] = {}
        self._users: dict[str, list[Place]] | None = None  # of ids; None until it is asked for
        self._open_calls: OpenCalls[Place] = OpenCalls()  # of the view
        self._unpaired: set[str] = set()  # ids whose calls or results have come or gone
        self._numbers: dict[str, int] = {}  # how many results each id has

    def extend(self, steps: Iterable[Step]) -> float:
        """Add steps. Returns from where on (`Place.at`) something is shown differently; infinity
        where all that was there is shown as before."""
        new = list(steps)
        appended = [step for step in new if step.operation == "append"]
        self.steps += new
        self._appended += appended
        self._answers += [step.id for step in appended if step.role == "assistant"]
        self._deciding += [step for step in new if step.toolset and step.operation in DECIDING]
        self.toolset = next(recorded_toolsets(reversed(self._deciding)), None)
        shapes = [step.shape for step in new if step.shape]
        self.is_lazy = self.is_lazy or not all(shape.is_verbatim for shape in shapes)
        self.is_plain = self.is_plain and not shapes and not any(step.links for step in new)
        return inf if self.is_plain else self._fold()

    @property
    def places(self) -> list[Place]:
        """Where every message stands. A plain chain can be shown without them."""
        self._fold()
        return self._places

    def _fold(self) -> float:
        """Put the new steps in their places. Returns from where on something is altered."""
        self._first_altered = inf
        start = self._folded
        if start < len(self.steps):
            for step in self.steps[start:]:
                if step.operation == "append" and not step.links and step.id not in self._voided:
                    self._append(step)  # every cold start of a chain with forms comes here
                else:
                    self._apply(step)
                self._folded += 1
            self._collapse(is_first=start == 0)
        return self._first_altered

    def _apply(self, step: Step) -> None:
        if not step.links:
            self._put(step)
            return
        self._looks_before = {}
        if undo_targets(step):
            self._undo(step)
        self._put(step)
        self._pair_again()
        for place, before in self._looks_before.items():
            if place.look != before:
                self._remember(place, before, step.id)

    def _remember(self, place: Place, look: Look, until: int) -> None:
        if not place.past:
            place.past = []
            self._with_past.append(place)
        place.past.append((until, look))
        now = place.look
        self.is_lazy = self.is_lazy or now.hides_content
        if (look.shown, look.visible) != (now.shown, now.visible):
            self._alter_from(place.call or place)  # a collapsed call shows its results

    def _alter_from(self, place: Place) -> None:
        self._first_altered = min(self._first_altered, place.at)

    def _collapse(self, *, is_first: bool) -> None:
        """Report the turns that collapse or open: one collapses only if something follows it. Of
        the first steps, nothing was shown before."""
        ends = (p.at for p in reversed(self._places) if p.stays_last and not p.is_hidden)
        before, self._last = self._last, next(ends, 0)
        if before != self._last and self.is_lazy and not is_first:
            moved = takewhile(lambda p: p.at >= min(before, self._last), reversed(self._places))
            for place in moved:
                if place.may_collapse:
                    self._alter_from(place)

    def _put(self, step: Step) -> None:
        if step.operation == "append":
            if step.id not in self._voided:
                self._append(step)
            return
        self._changing[step.id] = step
        if step.operation != "compress":
            self._change(step)
        elif step.id not in self._voided:
            self._compress(step)

    def _new_place(self, step: Step) -> Place:
        place = self._by_commit[step.id] = self._known.get(step.id) or Place(step)
        return place

    def _append(self, step: Step) -> None:
        place = self._new_place(step)
        self._places.append(place)
        if self._users is not None:
            _add_user(self._users, place)
        if step.calls:
            self._open_calls.ask([(call_id, place) for call_id, _ in step.calls])
        if step.tool_call_id is not None:
            self._answer(place, step.tool_call_id)

    def _answer(self, place: Place, call_id: str) -> None:
        """Put a result in the turn of the call that it answers."""
        place.number = self._numbers[call_id] = self._numbers.get(call_id, 0) + 1
        place.call = call = self._open_calls.answer(call_id)
        if call is None:
            return
        if call.results:
            call.results.append(place)
        else:
            call.results = [place]
        if call.is_left_out:
            place.show(place.look._replace(is_left_out=True))
        if self.is_lazy and call.may_collapse:
            self._alter_from(call)

    def _users_of(self, call_id: str) -> Sequence[Place]:
        """What calls or answers an id, in its order."""
        return self._all_users().get(call_id, ())

    def _all_users(self) -> dict[str, list[Place]]:
        """The same for every id. Most chains are never asked for it."""
        if self._users is None:
            self._users = {}
            for place in self._places:
                _add_user(self._users, place)
        return self._users

    def _compress(self, step: Step) -> None:
        """Put a summary where the first of its sources stands."""
        targets = [self._by_commit.get(link.target_id) for link in step.links]
        sources = list(dict.fromkeys(outermost(place) for place in targets if place))
        if not sources:
            return
        summary = self._new_place(step)
        summary.at, summary.sources = sources[0].at, sources
        chosen = set(sources)
        for source in sources:
            partners = [source.call] if source.call else source.results
            is_open = len(source.results) < len(source.shown.calls)
            if is_open or not chosen.issuperset(partners):  # full turns leave the others as paired
                self._unpaired |= source.ids
            self._set_look(source, source.look._replace(summary=summary))
        self._places.insert(self._places.index(sources[0]), summary)

    def _change(self, step: Step) -> None:
        """An edit or a mark. An undone edit can still be named."""
        for link in filter(alters, step.links):
            place = self._by_commit.get(link.target_id)
            if place is None:  # a summary that is undone, and with it what was done to it
                continue
            place.links = place.links or []
            place.links.append((step, link))
            if step.operation == "edit":
                self._by_commit[step.id] = place
            if step.id not in self._voided:
                self._set_look(place, apply_link(place.look, step, link))
                place.changes = (*place.changes, step)

    def _set_look(self, place: Place, look: Look) -> None:
        before, ids = place.look, place.ids
        self._looks_before.setdefault(place, before)
        place.show(look)
        if look.priority != before.priority:
            self._leave_out(place.turn)
        if look.shown.calls != before.shown.calls:
            self._unpaired |= ids | place.ids
            if self._users is not None:
                _insert_user(self._users, place, place.ids - ids)

    def _leave_out(self, turn: Sequence[Place]) -> None:
        """A skipped call hides its results too, unless one is pinned; a skipped result does not."""
        call = turn[0]
        is_skipped = call.priority == Priority.SKIP and call.origin.role != "tool"
        is_pinned = any(member.priority == Priority.PINNED for member in turn)
        for member in turn:
            self._looks_before.setdefault(member, member.look)
            member.show(member.look._replace(is_left_out=is_skipped and not is_pinned))

    def _pair_again(self) -> None:
        """Pair the calls and results of ids where these changed, by what is shown. What is in the
        view is paired with what is in the view, and what a summary stands for within that."""
        for call_id in self._unpaired:
            self._open_calls.drop(call_id)
            open_calls: dict[Place | None, OpenCalls[Place]] = {None: self._open_calls}
            for place in self._users_of(call_id):
                waiting = open_calls.setdefault(place.summary, OpenCalls())
                calls = [(called, place) for called, _ in place.shown.calls if called == call_id]
                waiting.ask(calls)
                if place.origin.tool_call_id == call_id:
                    self._move(place, waiting.answer(call_id))
        self._unpaired.clear()

    def _move(self, result: Place, call: Place | None) -> None:
        """Put a result in the turn of another call."""
        before = result.call
        if before is call:
            return
        result.call = call
        if before:
            before.results = [other for other in before.results if other is not result]
        if call:
            call.results = sorted([*call.results, result], key=lambda each: each.at)
        for place in filter(None, (before, call, result)):
            self._leave_out(place.turn)
            self._alter_from(place)

    # Undoing

    def _undo(self, step: Step) -> None:
        targets = set(undo_targets(step))
        flipped = targets - self._voided
        self._undos[step.id] = step
        if targets & self._undos.keys():  # what an undo had undone is in force again
            flipped = self._voided ^ self.undone_commits()
        self._voided ^= flipped
        newest_first = sorted(flipped, reverse=True)  # a summary of summaries before those
        if not all(map(self._flip, newest_first)):
            self._fold_anew()

    def _flip(self, commit: int) -> bool:
        """Put a change in force or out of it; False where that would move places."""
        step = self._changing.get(commit)
        if step is None:
            return False
        if step.operation == "compress":
            return commit in self._voided and self._take_back(self._by_commit.get(commit))
        for link in filter(alters, step.links):
            self._restyle(self._by_commit.get(link.target_id))
        return True

    def _take_back(self, summary: Place | None) -> bool:
        if summary is None or summary.summary:
            return summary is None
        for source in summary.sources:
            self._unpaired |= source.ids
            self._set_look(source, source.look._replace(summary=None))
        self._places.remove(summary)
        self._known[summary.origin.id] = summary
        for version in summary.versions:
            self._by_commit.pop(version.id, None)
        return True

    def _restyle(self, place: Place | None) -> None:
        """Give a place the look that the changes in force make."""
        if place is None:
            return
        links = [(step, link) for step, link in place.links if step.id not in self._voided]
        look = Look(place.origin, place.origin.shape)
        look = look._replace(summary=place.summary, is_left_out=place.is_left_out)
        for step, link in links:
            look = apply_link(look, step, link)
        place.changes = tuple(step for step, _ in links)
        self._set_look(place, look)

    def _fold_anew(self) -> None:
        self._known |= {place.origin.id: place for place in self._places}
        for place in self._known.values():
            self._looks_before.setdefault(place, place.look)
            place.reset()
        self._clear()
        for step in self.steps[: self._folded]:
            self._put(step)
        self._first_altered = 0

    # Questions

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
        self._fold()
        named = list(commits)
        undone = {step.id: step for commit in named for step in self._changes(commit)}
        together, more = dict(undone), undone
        while more:
            needed = {step.id: step for step in self._also_undone(together.values())}
            more = {key: step for key, step in needed.items() if key not in together}
            together |= more
        others = [step.hash.hex() for step in together.values() if step.id not in undone]
        if others:
            names = ", ".join(f'"{name}"' for name in [*others, *map(_hex, named)])
            raise EditError(f"these can only be undone together: restore({names})")
        return list(undone.values())

    def _changes(self, commit: Head) -> list[Step]:
        step = self._step(commit.id or 0)
        if step is None:
            raise EditError(f"commit {_hex(commit)} is not in the history at this point")
        if commit.id in self._voided:
            raise EditError(f"commit {_hex(commit)} is undone already")
        if step.operation != "append":
            return [step]
        place = self.place(commit)
        changes = [*place.changes, *(summary.origin for summary in summaries_of(place))]
        if not changes:
            raise EditError(f"nothing to restore: commit {_hex(commit)} was never changed")
        return changes

    def _also_undone(self, undone: Collection[Step]) -> list[Step]:
        """What has to be undone with these, so that every summary stands for what it was made of,
        and no call comes back whose result stays behind a summary."""
        if not any(map(self._concerns_others, undone)):
            return []
        summaries = [step for step in self._changing.values() if step.operation == "compress"]
        links = tuple(Link("void", step.id, step.hash) for step in undone)
        after = Chain([*self.steps, Step(self.steps[-1].id + 1, b"", "mark", links=links)])
        needed = [other for step in summaries for other in self._needed_by(step, after)]
        before = self._withheld_results()
        for pair, over in after._withheld_results().items():
            needed += [] if pair in before else over
        return needed

    def _concerns_others(self, undone: Step) -> bool:
        """Whether other summaries may have to do with an undo; most have not."""
        place = self._by_commit.get(undone.id)
        if place is None or place.summary:
            return bool(undo_targets(undone) or place)
        steps = [version for p in (place, *place.sources) for version in p.versions]
        ids = {call_id for step in steps for call_id, _ in step.calls}
        return any(user.is_put_away for call_id in ids for user in self._users_of(call_id))

    def _needed_by(self, summary: Step, after: Chain) -> Iterator[Step]:
        """What else is undone where a summary would not stand for what it was made of."""
        if summary.id in after._voided:
            return
        is_back = summary.id in self._voided
        for link in summary.links:
            place = after._by_commit.get(link.target_id)
            over = place.summary.origin if place and place.summary else summary
            if place is None and is_back:
                yield self._undo_of(after._source(link.target_id), summary, after)
            elif place is None and link.target_id in self._by_commit:
                yield summary
            elif over.id != summary.id and is_back and over.id in self._voided:
                names = f"{summary.hash.hex()} and {over.hash.hex()}"
                raise EditError(f"only one of the summaries {names} can come back")
            elif over.id != summary.id and (is_back or over.id in self._voided):
                yield over if is_back else summary

    def _source(self, commit: int) -> Step:
        """The summary that a commit made or edited."""
        step = self._changing[commit]
        return step if step.operation == "compress" else self._source(step.links[0].target_id)

    def _undo_of(self, undone: Step, summary: Step, after: Chain) -> Step:
        """An undo that takes away what a summary was made of, and would still be in force."""
        in_force = (step for step in self._undos.values() if step.id not in after._voided)
        for step in in_force:
            if undone.id in undo_targets(step):
                return step
        name, source = summary.hash.hex(), undone.hash.hex()
        raise EditError(f"summary {name} cannot come back without {source}, of which it was made")

    def _withheld_results(self) -> dict[tuple[int, int], list[Step]]:
        """The calls in the view that wait for a result which a summary stands for, each with that
        result, and the summaries over it."""
        withheld = {}
        for call_id, users in self._all_users().items():
            results = [user for user in users if user.is_put_away]
            calls = [user for user in users if results and user.waits_for(call_id)]
            for call, result in product(calls, results):
                if call.at < result.at and not call.is_hidden:
                    over = [summary.origin for summary in summaries_of(result)]
                    withheld[call.origin.id, result.origin.id] = over
        return withheld

    def waiting_call(self, call_id: str) -> tuple[Place, int] | None:
        """The call that the next result with this id would answer: where, and which one there."""
        self._fold()
        place = self._open_calls.waiting_call(call_id)
        if place is None:  # perhaps a summary stands for the call
            users = reversed(self._users_of(call_id))
            place = next((user for user in users if user.waits_for(call_id)), None)
        if place is None:
            return None
        answers = place.answers
        numbers = [n for n, (called, _) in enumerate(place.shown.calls) if called == call_id]
        waiting = [n for n in numbers if answers[n] is None]
        return (place, (waiting or numbers)[0]) if numbers else None

    def tool_name(self, call_id: str) -> str | None:
        """Which tool the next result with this id would be of."""
        waiting = self.waiting_call(call_id)
        if waiting is None:
            return None
        place, number = waiting
        return place.shown.calls[number][1]

    def newest_result(self, call_id: str) -> Place | None:
        """The last result of the calls with this id."""
        self._fold()
        users = reversed(self._users_of(call_id))
        return next((place for place in users if place.origin.tool_call_id == call_id), None)

    def before(self, place: Place) -> Step | None:
        """The commit after which this place came; None at the root."""
        index = self._index(place.origin.id)
        return self.steps[index - 1] if index else None

    def _index(self, commit: int) -> int:
        """The number of a step, or of the one before which it would be."""
        return bisect_left(self.steps, commit, key=lambda step: step.id)

    def _step(self, commit: int) -> Step | None:
        index = self._index(commit)
        step = self.steps[index] if index < len(self.steps) else None
        return step if step and step.id == commit else None

    def appended_steps(self, start: int = 0) -> list[Step]:
        """What was appended, from one place on."""
        return self._appended[start:]

    def count(self) -> int:
        """How many places there are."""
        return len(self._appended) if self.is_plain else len(self.places)

    def position(self, at: float) -> int:
        """The number of the first place from there on, in the order of places."""
        return bisect_left(self.places, at, key=lambda place: place.at)

    def order(self, commit: Head) -> int:
        """The order of commits: `Place.at` of a message and its edits, the own key of a mark."""
        self._fold()
        place = self._by_commit.get(commit.id or 0)
        if place is None and not self.has(commit):
            raise EditError(f"commit {_hex(commit)} is not in the history at this point")
        return place.at if place else commit.id or 0

    def outdated_answers(self, start: int = 0) -> set[int]:
        """The answers, from one place on (`Place.at`), before which something was altered since, or
        looked different than now for the sake of a change that is undone. What a provider let its
        model think in them does not fit any more. An undo brings it back, an opposite mark does
        not."""
        ranges = [
            (bisect_right(self._answers, since), bisect_left(self._answers, until))
            for place in self._with_past
            if place.origin.id in self._by_commit
            for since, until in self._other_times(place)
        ]
        outdated: set[int] = set()
        reached = bisect_left(self._answers, start)
        for first, end in sorted(ranges):
            outdated.update(self._answers[max(first, reached) : end])
            reached = max(reached, end)
        return outdated

    def _other_times(self, place: Place) -> Iterator[tuple[int, int]]:
        """From which commit to which answers after a place are outdated."""
        looks = [look.visible for _, look in place.past] + [place.look.visible]
        since = place.origin.id
        for (until, _), (look, following) in zip(place.past, pairwise(looks), strict=True):
            is_in_force = until not in self._voided and until not in self._undos
            if is_in_force and look != following:
                yield place.origin.id, until
            elif look != looks[-1]:
                yield since, until
            since = until

    def undone_commits(self, before: float = inf) -> set[int]:
        """The commits that are undone, or were so before a commit."""
        return undone_commits([step for step in self._undos.values() if step.id < before])

    def effects(self, step: Step) -> list[Effect]:
        """What the links of a commit did, and to which places."""
        effects = []
        for link in step.links:
            if alters(link):
                place = self._by_commit.get(link.target_id)  # none where its summary is undone
                effects.append(Effect(effect(step, link), [place] if place else []))
            else:
                undone = self._changing.get(link.target_id)
                places = [p for e in (self.effects(undone) if undone else []) for p in e.places]
                effects.append(Effect(effect(step, link), places, link.target_id))
        return effects

    def has(self, commit: Head) -> bool:
        return self._step(commit.id or 0) is not None

    def toolset_at(self, commit: Head) -> bytes | None:
        """The toolset that was recorded with the commit, else the one in force at it."""
        return self.toolsets_at([commit.id or 0])[0]

    def toolsets_at(self, commits: Sequence[int]) -> list[bytes | None]:
        """The same for several, in one pass; None for a commit that is not here."""
        toolsets: dict[int, bytes | None] = dict.fromkeys(commits)
        active = None
        for step in self.steps:
            if step.toolset and step.operation in DECIDING:
                active = step.toolset
            if step.id in toolsets:
                toolsets[step.id] = step.toolset or active
        return [toolsets[commit] for commit in commits]

    def toolset_changes(self) -> list[tuple[Step, bytes]]:
        """The toolsets in their order, each with the commit that put it in force."""
        changes: list[tuple[Step, bytes]] = []
        for step, toolset in zip(self._deciding, recorded_toolsets(self._deciding), strict=True):
            if not changes or toolset != changes[-1][1]:
                changes.append((step, toolset))
        return changes

    def toolset_without(self, undone: Iterable[Step]) -> bytes | None:
        """The toolset that would be in force without these changes."""
        gone = undone_commits([*self._undos.values()], (step.id for step in undone))
        # An undo records the set that it brings back; here it does not count as one of its own.
        newest_first = reversed(self._deciding)
        left = (s for s in newest_first if s.id not in gone and not undo_targets(s))
        return next(recorded_toolsets(left), None)


def recorded_toolsets(steps: Iterable[Step]) -> Iterator[bytes]:
    """The sets that steps put in force, in their order."""
    return (step.toolset for step in steps if step.toolset and step.operation in DECIDING)


def _add_user(users: dict[str, list[Place]], place: Place) -> None:
    for call_id in sorted(place.ids):  # in one order in every process
        users.setdefault(call_id, []).append(place)


def _insert_user(users: dict[str, list[Place]], place: Place, ids: Iterable[str]) -> None:
    """Add a place that shows other ids than before."""
    for call_id in ids:
        others = users.setdefault(call_id, [])
        if place not in others:
            insort(others, place, key=lambda user: user.at)


def _hex(commit: Head) -> str:
    return commit.hash.hex() if commit.hash else "of nothing"
