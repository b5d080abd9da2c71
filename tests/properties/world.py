"""A database, the instances of `Tract` that are open on it, and what a run knows about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeVar

from tract import CommitInfo, Message, Tract
from tract.errors import BranchNotFoundError, ForgottenError, NotFoundError
from tract.llm import ScriptedLLM
from tract.snapshot import Snapshot

T = TypeVar("T")

LONG_LIVED, SECOND_WRITER, READER = range(3)
"""The instances, each with a connection of its own. The reader reads now and then."""
DIALOGS = ("one", "two")
TOKENS = "chars/4"


class Picks:
    """The integers of an operation. Each chooses among what is there; those that are missing
    choose the first."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._numbers = iter(numbers)

    def number(self, below: int) -> int:
        return next(self._numbers, 0) % below

    def one(self, options: Sequence[T]) -> T:
        return options[self.number(len(options))]

    def some(self, options: Sequence[T], most: int = 5) -> list[T]:
        """At least one, each once, in some order."""
        left = list(options)
        count = 1 + self.number(min(most, len(left)))
        return [left.pop(self.number(len(left))) for _ in range(count)]

    def yes(self) -> bool:
        """False if it is not chosen."""
        return self.number(2) == 1


class World:
    """One run: its database, its instances, and everything that was ever committed."""

    def __init__(self, place: str, folder: Path) -> None:
        self.place = place
        self.folder = folder
        self.reply: Any = "in short"
        """What the model answers next."""
        self.llm = ScriptedLLM([lambda _: self.reply] * 100_000)
        self.messages: dict[str, Message] = {}
        """By commit, as it was read right after it was written."""
        self.infos: dict[tuple[str, str], CommitInfo] = {}
        self.forgotten: set[str] = set()
        """The contents that were erased, by their hashes."""
        self.files = 0
        self.refused: Counter[str] = Counter()
        """How often which operation was refused, and with which error."""
        self._open: dict[tuple[int, str], Tract] = {}
        self._snapshots: dict[int, tuple[Tract, Snapshot]] = {}

    def tract(self, who: int, dialog: str = DIALOGS[0]) -> Tract:
        """The instance that this one has open."""
        key = who, dialog
        if key not in self._open:
            is_first = dialog == DIALOGS[0]
            self._open[key] = self._opened() if is_first else self.tract(who).sibling(dialog)
        return self._open[key]

    def _opened(self) -> Tract:
        return Tract.open(
            self.place, dialog=DIALOGS[0], llm=self.llm, durability="relaxed", tokens=TOKENS
        )

    def reopen(self, who: int) -> None:
        for key in [key for key in self._open if key[0] == who]:
            t = self._open.pop(key)
            self._snapshots.pop(id(t), None)
            t.close()

    def empty(self) -> None:
        """Delete all dialogs, with which everything else goes."""
        t = self.tract(LONG_LIVED)
        for info in t.dialogs():
            t.delete_dialog(info.dialog)
        left = t.fsck()
        assert (left.commits, left.contents, left.problems) == (0, 0, []), f"left: {left}"

    def close(self) -> None:
        for tract in self._open.values():
            tract.close()
        self._open.clear()

    def fresh(self, t: Tract) -> Tract:
        """Another instance on another connection, which has read nothing yet, at the same head."""
        other = self.tract(READER).sibling(t.dialog)
        self.align(other, t)
        return other

    def align(self, other: Tract, t: Tract) -> None:
        """Have an instance look at what another one has checked out, without checking it out."""
        other.session.branch, other.session.detached = t.session.branch, t.session.detached

    def instances(self) -> list[Tract]:
        return list(self._open.values())

    def snapshot(self, t: Tract) -> Snapshot:
        """The history, read on from where it was read last."""
        _, old = self._snapshots.get(id(t), (t, None))
        new = t.read() if old is None else t.read_on(old)
        self._snapshots[id(t)] = t, new
        return new

    def find_branch(self, t: Tract) -> None:
        """Check out another branch if another writer has deleted this one."""
        try:
            t.head  # noqa: B018
        except NotFoundError:
            t.checkout(next(iter(t.branches())))

    def learn(self, t: Tract) -> None:
        """Remember what is new on the branch."""
        new = takewhile(lambda info: (t.dialog, info.commit_hash) not in self.infos, t.log())
        for info in list(new):
            self.infos[t.dialog, info.commit_hash] = info
            if info.role is None:
                continue
            try:
                self.messages[info.commit_hash] = t.get_message(info)
            except ForgottenError:
                self.forgotten.add(info.content_hash or "")
            else:
                if info.content_hash in self.forgotten:  # it was said again
                    self.learn_anew()
                    self.learn(t)
                    return

    def learn_anew(self) -> None:
        """After something was erased: it may have been anywhere."""
        self.infos.clear()
        self.messages.clear()
        self.forgotten.clear()

    def log(self, t: Tract) -> list[CommitInfo]:
        """Oldest first."""
        return list(t.log())[::-1]


@contextmanager
def side_branch(t: Tract) -> Iterator[None]:
    """Work on a branch that is deleted afterwards."""
    branch, name = t.current_branch, "side"
    if branch is None:
        raise BranchNotFoundError("HEAD is detached")
    t.branch(name)
    t.checkout(name)
    try:
        yield
    finally:
        t.checkout(branch)
        t.delete_branch(name)
