"""Long lists that callers get as their own, each a little longer than the one before. Pure.

To copy a list of a million items, and to free the one before, takes thirty times as long as all
else that an agent's turn costs. So a list that its caller has dropped becomes the next one, unless
the caller has changed it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from operator import is_
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar

Item = TypeVar("Item")

MOST = 2
"""Lists that are remembered: a caller often drops one only when it has the next."""
KNOWS_HOLDERS = hasattr(sys, "getrefcount") and getattr(sys, "_is_gil_enabled", lambda: True)()
"""Whether this Python says how many hold an object, and no thread can change that meanwhile."""


class Lent(list[Item]):
    """A list that notes when one of its methods changes it. C code that writes into its memory, as
    that of `heapq`, goes unnoticed. Copies of it are plain lists."""

    __slots__ = ("is_changed",)
    is_changed: bool

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return list, (self[:],)


def _noted(change: Callable[..., Any]) -> Callable[..., Any]:
    def note_and_change(lent: Lent[Any], *args: Any, **options: Any) -> Any:
        lent.is_changed = True
        return change(lent, *args, **options)

    return note_and_change


_CHANGES = (
    *("__init__", "__setitem__", "__delitem__", "__iadd__", "__imul__"),
    *("append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"),
)
for _name in _CHANGES:
    setattr(Lent, _name, _noted(getattr(list, _name)))


class _Loan(NamedTuple):
    lent: Lent[Any]
    size: int
    pages: list[list[Any]]
    """What it begins with."""


class Loans(Generic[Item]):
    """The lists that were made of some pages, and of copies of these."""

    def __init__(self) -> None:
        self._loans: list[_Loan] = []
        self._lock = Lock()

    def lend(self, pages: Sequence[list[Item]]) -> list[Item]:
        """All items. The pages but the last have one size, and no one ever changes them."""
        full = [*pages[:-1]]
        with self._lock:
            lent, same = self._take_back(full)
            list.__delitem__(lent, slice(same * len(pages[0]), None))
            for page in pages[same:]:
                list.extend(lent, page)
            lent.is_changed = False
            self._loans = [*self._loans[1 - MOST :], _Loan(lent, len(lent), full)]
        return lent

    def _take_back(self, pages: list[list[Item]]) -> tuple[Lent[Item], int]:
        """A list that no one else has any more, and how many of these pages it begins with."""
        for number, loan in enumerate(self._loans):
            if _count_holders(loan) == _ALONE:
                del self._loans[number]
                is_as_lent = not loan.lent.is_changed and len(loan.lent) == loan.size
                return loan.lent, _count_same(loan.pages, pages) if is_as_lent else 0
        return Lent(), 0


def _count_holders(loan: _Loan) -> int:
    return sys.getrefcount(loan.lent)


_ALONE = _count_holders(_Loan(Lent(), 0, [])) if KNOWS_HOLDERS else None


def _count_same(first: Sequence[object], second: Sequence[object]) -> int:
    """How many at the beginning are the same objects."""
    same = [*map(is_, first, second)]
    return len(same) if all(same) else same.index(False)
