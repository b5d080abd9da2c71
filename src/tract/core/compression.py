"""Compressing: which messages a summary takes the place of, and what became of them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import compress, pairwise
from typing import NamedTuple

import msgspec

from tract.content.text import counted
from tract.core.chain import Chain
from tract.core.place import Look, Place, in_sent_order
from tract.errors import CompressError, ConflictError, EditError, InputError
from tract.model import CommitInfo, Head, Priority, Summary
from tract.reprs import brief, number, some

GIVEN = "given"
"""Who made a summary that a caller wrote."""


# What is compressed


class Plan(NamedTuple):
    """Groups of neighbours, each to become one summary, and what stays although it was chosen."""

    groups: list[list[Place]]
    preserved: list[Place]

    @property
    def looks(self) -> list[list[Look]]:
        """What each group shows. The places themselves may change as the chain grows."""
        return [[place.look for place in group] for group in self.groups]


class FrozenPlan(NamedTuple):
    """A plan as it was when it was made."""

    branch: str
    groups: list[list[Look]]
    preserved: list[str]
    sizes: list[int]
    """How many tokens each group shows."""
    headings: list[str]
    """The first line of the summary of each group."""
    forgotten: frozenset[int] = frozenset()
    """The contents that were forgotten already."""
    notes: tuple[str, ...] = ()
    """Why groups were left out."""

    @property
    def sources(self) -> list[str]:
        return [look.shown.hash.hex() for group in self.groups for look in group]

    def only(self, wanted: Sequence[bool]) -> FrozenPlan:
        """Some of the groups. The others stay."""
        others = compress(self.groups, (not is_wanted for is_wanted in wanted))
        stay = [look.shown.hash.hex() for group in others for look in group]
        return self._replace(
            groups=list(compress(self.groups, wanted)),
            preserved=self.preserved + stay,
            sizes=list(compress(self.sizes, wanted)),
            headings=list(compress(self.headings, wanted)),
        )

    def only_shorter(
        self, texts: Sequence[str], what: str, count: Callable[[str], int]
    ) -> tuple[FrozenPlan, list[bool]]:
        """The groups that become shorter with these texts below their headings, and which they
        are. The notes say why the others stay."""
        each = zip(self.groups, self.sizes, self.headings, texts, strict=True)
        reasons = [
            why_unused(counted(len(group), "message"), size, what, count(f"{heading}\n{text}"))
            for group, size, heading, text in each
        ]
        is_less = [not reason for reason in reasons]
        return self.only(is_less)._replace(notes=(*self.notes, *filter(None, reasons))), is_less


def why_unused(original: str, before: int, what: str, after: int) -> str:
    """Why an original stays; nothing if what would replace it is shorter."""
    if after < before:
        return ""
    verb = "stay" if original.endswith("s") else "stays"
    return f"{original} of {counted(before, 'token')} {verb}: {what} has {after}"


def plan_listed(chain: Chain, chosen: Sequence[Place], preserve: Collection[Place]) -> Plan:
    """What a caller lists, without what is not in the view."""
    for place in chosen:
        if place.summary:
            name, summary = place.shown.hash.hex(), place.summary.shown.hash.hex()
            raise CompressError(f"commit {name} is compressed already, into {summary}")
    return _plan(chain, chosen, preserve)


def plan_range(
    chain: Chain, first: Head | None, last: Head | None, preserve: Collection[Place]
) -> Plan:
    """What lies from one commit to another, both included; without one, from the beginning or to
    the end. Nobody means instructions by that, and calls that still wait."""
    start = chain.order(first) if first else 0
    end = chain.order(last) if last else None
    if end is not None and start > end:
        raise CompressError("the range ends before it begins")
    chosen = [p for p in chain.places if p.at >= start and (end is None or p.at <= end)]
    instructions = [place for place in chosen if place.origin.role == "system"]
    return _plan(chain, chosen, [*preserve, *instructions, *_waiting_calls(chain)])


def plan_turns(
    chain: Chain, calls: Sequence[Place], keep_recent: int, preserve_answer: bool
) -> Plan:
    """The turns that have all of their results and nothing pinned, without the newest so many; and
    the answers that they led to, unless those stay."""
    if type(keep_recent) is not int or keep_recent < 0:
        raise InputError(f"keep_recent must be an integer of at least 0, not {keep_recent!r:.80}")
    complete = [c for c in calls if len(c.results) >= len(c.shown.calls) and not _stays(c, ())]
    complete = complete[: max(0, len(complete) - keep_recent)]
    chosen = [member for call in complete for member in _visible_turn(call)]
    chosen += [] if preserve_answer else _answers_after(chain, set(chosen))
    return _plan(chain, chosen, ()) if chosen else Plan([], [])


def plan_listed_turns(
    chain: Chain, listed: Sequence[Place], calls: Sequence[Place] | None, preserve_answer: bool
) -> Plan:
    """What a caller lists, or only turns of these calls; without what is compressed already, and
    without the answer in the end."""
    listed = [place for place in listed if not place.is_hidden]
    last = max(listed, key=lambda place: place.at, default=None)
    is_answer = last is not None and last.origin.role == "assistant" and not last.shown.calls
    kept = [last] if last and is_answer and preserve_answer else []
    of_calls = [p for p in listed if p in kept or calls is None or (p.call or p) in calls]
    return _plan(chain, of_calls, kept) if set(of_calls) - set(kept) else Plan([], kept)


def renew_plan(chain: Chain, plan: FrozenPlan) -> Plan:
    """The same plan on a chain that has grown since: nothing in it may have changed."""
    commits = [look.shown for group in plan.groups for look in group]
    try:
        places = [chain.place(Head(step.id, step.hash)) for step in commits]
        again = plan_listed(chain, places, ())
    except (CompressError, EditError) as error:
        raise ConflictError(f"the history changed in the meantime: {error}") from error
    if _visible(again.looks) != _visible(plan.groups):
        raise ConflictError("the messages to be compressed changed in the meantime")
    return again


def _visible(groups: Sequence[Sequence[Look]]) -> list[list[object]]:
    return [[look.visible for look in group] for group in groups]


def _plan(chain: Chain, chosen: Iterable[Place], preserve: Collection[Place]) -> Plan:
    """Neighbours go together. A message that stays does so with the full turn that it belongs to,
    since a call without its results would be no request."""
    wanted = {place for place in chosen if not place.is_hidden}
    if not wanted:
        raise CompressError("nothing to compress: none of it is in the view")
    kept = {place for place in wanted if _stays(place, preserve)}
    wanted -= kept
    if not wanted:
        raise CompressError("nothing to compress: all of it is pinned, or to be preserved")
    missing = {m for place in wanted for m in _visible_turn(place)} - wanted
    if missing:
        names = ", ".join(p.shown.hash.hex() for p in sorted(missing, key=lambda p: p.at))
        raise CompressError(f"a call and its results go together; also needed: {names}")
    groups: list[list[Place]] = [[]]
    for place in in_sent_order(chain.places):
        if place in wanted:
            groups[-1].append(place)
        elif groups[-1] and not place.is_hidden:
            groups.append([])
    return Plan([group for group in groups if group], [p for p in chain.places if p in kept])


def _stays(place: Place, preserve: Collection[Place]) -> bool:
    return any(m.priority == Priority.PINNED or m in preserve for m in _visible_turn(place))


def _visible_turn(place: Place) -> list[Place]:
    """What goes together in the view."""
    return [member for member in place.turn if not member.is_hidden]


def _waiting_calls(chain: Chain) -> list[Place]:
    """The last call, if results of it are still to come and nothing else followed."""
    visible = [place for place in chain.places if not place.is_hidden]
    call = next((place for place in reversed(visible) if place.shown.calls), None)
    if call is None or len(call.results) >= len(call.shown.calls):
        return []
    is_last = all(place in call.results for place in visible if place.at > call.at)
    return [call] if is_last else []


def _answers_after(chain: Chain, turns: Collection[Place]) -> list[Place]:
    """Messages of the assistant right behind turns."""
    visible = [place for place in in_sent_order(chain.places) if not place.is_hidden]
    return [
        place
        for before, place in pairwise(visible)
        if before in turns and place.origin.role == "assistant" and not place.shown.calls
    ]


# What takes its place


def by_caller(content: object, groups: int) -> Summary:
    """A summary that a caller wrote."""
    if not isinstance(content, str) or not content.strip():
        raise InputError(f"a summary is a text that says something, not {content!r:.80}")
    if groups > 1:
        raise CompressError(
            f"one content cannot stand for {groups} groups: other messages stay between them"
        )
    return Summary(content, GIVEN)


# What became of it


class CompressResult(msgspec.Struct, frozen=True):
    """What was compressed into what."""

    tokens_before: int
    """Of the sources, as they were shown."""
    tokens_after: int
    """Of the summaries."""
    sources: list[str]
    """The commits that summaries stand for now."""
    summaries: list[CommitInfo]
    preserved: list[str]
    """Commits that were asked for too, but stay."""
    made_by: str | None = None
    """The model, `structure` where none was asked, `given` where the caller wrote it."""
    notes: list[str] = []
    """Why messages stay, and which summary is longer than its target."""

    @property
    def ratio(self) -> float:
        """What is left: 0.1 is a tenth."""
        return self.tokens_after / self.tokens_before if self.tokens_before else 1.0

    def __repr__(self) -> str:
        return brief(
            self,
            f"{number(len(self.sources), 'commit')} → {len(self.summaries)}",
            f"{self.tokens_before:,} → {number(self.tokens_after, 'token')}",
            self.made_by and f"by {self.made_by}",
            some(len(self.notes), "note"),
        )


def result(
    plan: FrozenPlan, commits: Sequence[CommitInfo], made: Sequence[Summary]
) -> CompressResult:
    return CompressResult(
        sum(plan.sizes),
        sum(commit.token_count for commit in commits),
        plan.sources,
        list(commits),
        plan.preserved,
        made[0].made_by if made else None,
        notes(plan, made),
    )


def notes(plan: FrozenPlan, made: Sequence[Summary]) -> list[str]:
    return [*plan.notes, *(summary.note for summary in made if summary.note)]


class PendingCompress:
    """Summaries that are not committed yet. They can be edited until they are approved."""

    def __init__(
        self,
        plan: FrozenPlan,
        made: Sequence[Summary],
        write: Callable[[FrozenPlan, Sequence[Summary]], CompressResult],
    ) -> None:
        self.status = "pending"
        self.reason: str | None = None
        """Why it was rejected."""
        self._plan = plan
        self._made = list(made)
        self._write = write

    def __repr__(self) -> str:
        return f"PendingCompress({len(self.sources)} commits, {self.status})"

    @property
    def sources(self) -> list[str]:
        return self._plan.sources

    @property
    def preserved(self) -> list[str]:
        return self._plan.preserved

    @property
    def tokens_before(self) -> int:
        return sum(self._plan.sizes)

    @property
    def notes(self) -> list[str]:
        """Why messages stay, and which summary is longer than its target."""
        return notes(self._plan, self._made)

    @property
    def summaries(self) -> list[str]:
        """One text for each group of neighbours."""
        return [made.text for made in self._made]

    def edit_summary(self, text: str, number: int = 0) -> None:
        """Put another text in the place of a summary."""
        self._check_open()
        if number not in range(len(self._made)):
            raise InputError(f"no summary {number!r:.80}; there are {len(self._made)}, from 0 on")
        self._made[number] = by_caller(text, 1)

    def approve(self) -> CompressResult:
        """Commit the summaries, unless something they stand for was changed meanwhile."""
        self._check_open()
        result = self._write(self._plan, self._made)
        self.status = "approved"
        return result

    def reject(self, reason: str = "") -> None:
        """Leave everything as it is."""
        self._check_open()
        self.status, self.reason = "rejected", reason or None

    def _check_open(self) -> None:
        if self.status != "pending":
            raise ConflictError(f"too late: this compression is {self.status} already")


class SummarizedResult(msgspec.Struct, frozen=True):
    """What became of a result that was to be summarized."""

    text: str | None
    """The summary; None where the result is shorter than one would be."""
    made_by: str | None
    tokens_before: int
    tokens_after: int
    commit: CommitInfo | None = None
    note: str | None = None
    """Why the result stays, or that the summary is longer than its target."""

    def __repr__(self) -> str:
        return brief(
            self,
            f"{self.tokens_before:,} → {number(self.tokens_after, 'token')}",
            self.made_by and f"by {self.made_by}",
            None if self.commit else "unchanged",
        )
