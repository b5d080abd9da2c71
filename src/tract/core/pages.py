"""A list in pages, so that a copy of a long one costs little. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Self, TypeVar, overload

from tract.core.loans import KNOWS_HOLDERS, Loans

Item = TypeVar("Item")

PAGE = 1024
"""Items of a full page."""
LONG = 32
"""Full pages of a list that is worth to be used again: to copy it takes a tenth of a turn. Shorter
ones are plain lists, which a few libraries insist on."""


class Pages(Sequence[Item]):
    """A list that grows at its end. A copy of it, or of its beginning, shares the full pages: none
    of these is ever changed. While one thread adds items, others may read those before."""

    __slots__ = ("_loans", "_pages")

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self._loans: Loans[Item] = Loans()
        self._pages: list[list[Item]] = [[]]  # the last one is no one else's, and has room
        self += items

    def __len__(self) -> int:
        last = len(self._pages) - 1  # which another thread may fill meanwhile
        return last * PAGE + len(self._pages[last])

    def __iter__(self) -> Iterator[Item]:
        return chain.from_iterable(self._pages)

    @overload
    def __getitem__(self, where: int) -> Item: ...

    @overload
    def __getitem__(self, where: slice) -> list[Item]: ...

    def __getitem__(self, where: int | slice) -> Item | list[Item]:
        if isinstance(where, slice):
            start, stop, step = where.indices(len(self))
            return self._between(start, stop) if step == 1 else list(self)[where]
        number, index = self._find(where)
        return self._pages[number][index]

    def __setitem__(self, where: int, item: Item) -> None:
        number, index = self._find(where)
        if number < len(self._pages) - 1:  # a page that others may have
            self._pages[number] = self._pages[number].copy()
        self._pages[number][index] = item

    def __iadd__(self, items: Iterable[Item]) -> Self:
        new, start = list(items), 0
        while start < len(new):
            last = self._pages[-1]
            end = start + PAGE - len(last)
            last += new[start:end]
            if len(last) == PAGE:
                self._pages.append([])
            start = end
        return self

    def append(self, item: Item) -> None:
        last = self._pages[-1]
        last.append(item)
        if len(last) == PAGE:
            self._pages.append([])

    def pop(self) -> Item:
        """Remove the last one."""
        if not self._pages[-1] and len(self._pages) > 1:
            self._pages[-2:] = [self._pages[-2].copy()]
        return self._pages[-1].pop()

    def before(self, size: int) -> Pages[Item]:
        """The first ones, to be continued with others."""
        number, rest = divmod(min(size, len(self)), PAGE)
        other: Pages[Item] = Pages()
        other._pages = [*self._pages[:number], self._pages[number][:rest]]
        other._loans = self._loans
        return other

    def copy(self) -> Pages[Item]:
        return self.before(len(self))

    def lend(self) -> list[Item]:
        """All items, in a list of the caller's own. A long one is of a subclass of `list`."""
        is_long = len(self._pages) > LONG and KNOWS_HOLDERS
        return self._loans.lend(self._pages) if is_long else self[:]

    def _find(self, index: int) -> tuple[int, int]:
        """The page of an item, and where it stands there."""
        size = len(self)
        if not -size <= index < size:
            raise IndexError(f"{index} of {size}")
        return divmod(index % size, PAGE)

    def _between(self, start: int, stop: int) -> list[Item]:
        if stop <= start:
            return []
        (first, offset), (last, end) = divmod(start, PAGE), divmod(stop, PAGE)
        if first == last:
            return self._pages[first][offset:end]
        items = self._pages[first][offset:]
        for page in self._pages[first + 1 : last]:
            items += page
        if end:  # otherwise there may be no such page yet
            items += self._pages[last][:end]
        return items
