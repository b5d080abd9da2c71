"""Copies that grow for themselves."""

from __future__ import annotations

from tract.core.duplicates import duplicate


class Grown:
    def __init__(self) -> None:
        self.items, self.names, self.seen = [[1]], {"a": 1}, {1}
        self.count = 1


def test_a_copy_grows_by_itself_and_shares_what_it_holds() -> None:
    original = Grown()
    other = duplicate(original)
    other.items.append([2])
    other.names["b"] = 2
    other.seen.add(2)
    other.count += 1
    assert (original.items, original.names, original.seen) == ([[1]], {"a": 1}, {1})
    assert original.count == 1
    assert other.items[0] is original.items[0]
