"""A tally counts, and its copies count apart from it."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tract.core.tally import Tally

KEYS = st.text("abc", min_size=1, max_size=2)
COPY = None


@given(st.lists(st.tuples(st.integers(0, 5), KEYS | st.just(COPY))))
def test_copies_count_apart(changes: list[tuple[int, str | None]]) -> None:
    """Each change is to one of the tallies that there are: a key, or a copy of it."""
    tallies, counts = [Tally()], [Counter[str]()]
    for number, key in changes:
        tally, count = tallies[number % len(tallies)], counts[number % len(tallies)]
        if key is COPY:
            tallies.append(tally.copy())
            counts.append(count.copy())
        else:
            count[key] += 1
            assert tally.add(key) == count[key]
        for each, counted in zip(tallies, counts, strict=True):
            assert [(each[key], key in each) for key in "abc"] == [
                (counted[key], key in counted) for key in "abc"
            ]


def test_a_copy_shares_what_was_counted_long_before() -> None:
    tally = Tally()
    for number in range(10_000):
        tally.add(f"call_{number}")
    before = tally.copy()
    tally.add("one more")
    after = tally.copy()
    assert [tally["one more"] for tally in (before, after)] == [0, 1]
    assert after._shared[-1] is before._shared[-1]
    assert len(after._shared[-1]) == 10_000


def test_it_is_looked_up_in_few_parts() -> None:
    tally = Tally()
    for number in range(1_000):
        tally.add(f"call_{number}")
        tally.copy()
    lengths = [len(counts) for counts in tally._shared]
    assert sum(lengths) == 1_000
    assert len(lengths) <= 10
