"""A database, the instances of `Tract` that are open on it, and what a run knows about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tests.pages import PageRows
from tract import CommitInfo, Message, Tract
from tract.economy.prices import NO_PRICES
from tract.errors import BranchNotFoundError, ForgottenError, NotFoundError
from tract.llm import ScriptedLLM
from tract.model import Trace
from tract.snapshot import Snapshot
from tract.web.sheets import Sheets

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
        """By dialog and commit, as it was read right after it was written."""
        self.parents: dict[tuple[str, str], str | None] = {}
        """By dialog and commit. Nothing that is erased changes it."""
        self.heads: dict[tuple[str, str], str | None] = {}
        """By dialog and branch: the newest commit that was acknowledged."""
        self.checks_each_step = False
        self.forgotten: set[str] = set()
        """The contents that were erased, by their hashes."""
        self.files = 0
        self.sheets = Sheets(NO_PRICES)
        self.pages: dict[tuple[str, int], PageRows] = {}
        """By dialog and number of erasures: what a page has, it has until it is opened again."""
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

    def _opened(self, dialog: str = DIALOGS[0]) -> Tract:
        return Tract.open(
            self.place, dialog=dialog, llm=self.llm, durability="relaxed", tokens=TOKENS
        )

    def reopen(self, who: int) -> None:
        for key in [key for key in self._open if key[0] == who]:
            t = self._open.pop(key)
            self._snapshots.pop(id(t), None)
            t.close()

    def drop(self, dialog: str) -> None:
        """Have every instance open a dialog again that was deleted: after an erasure, it is an
        error to go on with it."""
        for key in [key for key in self._open if key[1] == dialog]:
            self._snapshots.pop(id(self._open.pop(key)), None)

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

    @contextmanager
    def fresh(self, t: Tract) -> Iterator[Tract]:
        """A new instance on a new connection, which has read nothing yet, at the same head."""
        with self._opened(t.dialog) as other:
            self.align(other, t)
            yield other

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
        """Remember what is new on all branches, where everything that was there has to be still."""
        heads = {(t.dialog, name): head for name, head in t.branches().items()}
        for head in [*heads.values()] * 2:  # what is said again is back wherever it was erased
            self._learn_commits(t, head)
        for (dialog, name), old in self.heads.items():
            if dialog == t.dialog and old:
                chain = self.chain(dialog, heads.get((dialog, name)))
                assert old in chain, f"lost from {name}: {old}, after it {chain}"
        self.heads |= heads

    def _learn_commits(self, t: Tract, head: str | None) -> None:
        name = head
        while name:
            if (t.dialog, name) not in self.infos:
                info = self.infos[t.dialog, name] = t.get_commit(name)
                self.parents[t.dialog, name] = info.parent_hash
                if info.role is not None:
                    self._learn_message(t, info)
            name = self.parents[t.dialog, name]

    def _learn_message(self, t: Tract, info: CommitInfo) -> None:
        try:
            self.messages[info.commit_hash] = t.get_message(info)
        except ForgottenError:
            self.forgotten.add(info.content_hash or "")
        else:
            if info.content_hash in self.forgotten:
                self.forgotten.remove(info.content_hash)
                self._unlearn(lambda other: other.content_hash == info.content_hash)

    def unlearn(self, erased: Iterable[Trace]) -> None:
        """What was erased is read anew."""
        names = {trace.commit for trace in erased}
        self._unlearn(lambda info: info.commit_hash in names)

    def _unlearn(self, is_outdated: Callable[[CommitInfo], bool]) -> None:
        self.infos = {key: info for key, info in self.infos.items() if not is_outdated(info)}

    def chain(self, dialog: str, head: str | None) -> list[str]:
        """The commits up to a head, newest first, as they were written."""
        names = []
        while head:
            names.append(head)
            head = self.parents[dialog, head]
        return names

    def lose_branch(self, dialog: str, branch: str) -> None:
        self.heads.pop((dialog, branch), None)

    def lose_branches(self, dialog: str) -> None:
        """They may be anywhere."""
        for key in [key for key in self.heads if key[0] == dialog]:
            del self.heads[key]

    def lose_dialog(self, dialog: str) -> None:
        self.lose_branches(dialog)
        for key in [key for key in self.infos if key[0] == dialog]:
            del self.infos[key], self.parents[key]

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
