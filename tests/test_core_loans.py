"""A list that its caller has dropped goes on as the next one; no caller sees another's changes."""

from __future__ import annotations

import copy
import gc
import json
import pickle
from collections.abc import Callable
from threading import Thread
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tract.core import loans, pages
from tract.core.loans import KNOWS_HOLDERS, Lent
from tract.core.pages import Pages

pytestmark = pytest.mark.skipif(not KNOWS_HOLDERS, reason="this Python does not count references")

SIZE = 3


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PAGE", SIZE)
    monkeypatch.setattr(pages, "LONG", 1)


def lent_twice(change: Callable[[list[int]], object]) -> tuple[list[int], bool]:
    """What is lent after a caller has done this to a list, and whether it is the same object."""
    items = Pages(range(10))
    first = items.lend()
    place = id(first)
    change(first)
    del first
    others: list[list[int]] = [Lent() for _ in range(8)]  # one has its memory, if that was freed
    items.append(10)
    second = items.lend()
    assert second not in others
    return list(second), id(second) == place


def test_a_dropped_list_goes_on() -> None:
    assert lent_twice(len) == ([*range(11)], True)


def test_a_list_that_is_still_there_is_no_one_elses() -> None:
    items = Pages(range(10))
    lists = [items.lend() for _ in range(4)]
    lists[0].append(-1)
    items.append(10)
    lists.append(items.lend())
    assert lists == [[*range(10), -1], *[[*range(10)]] * 3, [*range(11)]]
    assert len({id(each) for each in lists}) == 5


CHANGES: dict[str, Callable[[Any], object]] = {
    "append": lambda lent: lent.append(1),
    "extend": lambda lent: lent.extend([1]),
    "insert": lambda lent: lent.insert(0, 1),
    "pop": lambda lent: lent.pop(),
    "remove": lambda lent: lent.remove(3),
    "reverse": lambda lent: lent.reverse(),
    "sort": lambda lent: lent.sort(key=lambda item: -item),
    "clear": lambda lent: lent.clear(),
    "set": lambda lent: lent.__setitem__(0, 7),
    "set a slice": lambda lent: lent.__setitem__(slice(0, 2), [7]),
    "delete": lambda lent: lent.__delitem__(0),
    "add": lambda lent: lent.__iadd__([7]),
    "multiply": lambda lent: lent.__imul__(2),
    "anew": lambda lent: lent.__init__([1, 2]),
    "behind its back": lambda lent: list.append(lent, 1),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_of_a_caller_is_not_handed_on(change: Callable[[Any], object]) -> None:
    assert lent_twice(change)[0] == [*range(11)]


def test_every_method_that_changes_a_list_is_noted() -> None:
    methods = {name for name in dir(list) if not name.startswith("__")}
    inherited = {name for name in methods if getattr(Lent, name) is getattr(list, name)}
    assert inherited == {"copy", "count", "index"}


def test_copies_are_plain_lists() -> None:
    lent = Pages(range(10)).lend()
    assert isinstance(lent, Lent)
    copies = [lent[:], lent.copy(), copy.copy(lent), copy.deepcopy(lent), lent + lent[:0]]
    copies.append(pickle.loads(pickle.dumps(lent)))
    assert all(type(each) is list and each == [*range(10)] for each in copies)


def test_it_is_json_as_a_list_is() -> None:
    lent = Pages(range(10)).lend()
    assert json.loads(json.dumps(lent)) == msgspec.json.decode(msgspec.json.encode(lent)) == lent


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "set", "pop", "back", "lend", "keep", "change"]),
        st.integers(0, 30),
    ),
    max_size=40,
)


@given(STEPS)
def test_whatever_happens_a_caller_gets_what_is_there(steps: list[tuple[str, int]]) -> None:
    """Also by copies that go on in other ways, as after an edit."""
    paged, plain = Pages(range(4)), [*range(4)]
    earlier, as_it_was = paged.copy(), [*plain]
    kept: list[tuple[list[int], list[int]]] = []
    for number, (kind, value) in enumerate(steps):
        match kind:
            case "add":
                new = range(1000 * number, 1000 * number + value % 5)
                paged += new
                plain += new
            case "set" if plain:
                paged[value % len(plain)] = plain[value % len(plain)] = -number
            case "pop" if plain:
                assert paged.pop() == plain.pop()
            case "back":
                (paged, plain), (earlier, as_it_was) = (
                    (earlier.copy(), [*as_it_was]),
                    (paged.copy(), [*plain]),
                )
            case "keep":
                kept.append((paged.lend(), [*plain]))
            case "change":
                paged.lend().append(-1)
        assert paged.lend() == plain
        assert all(lent == expected for lent, expected in kept)


def test_threads_get_lists_of_their_own() -> None:
    items = Pages(range(20))
    wrong: list[list[int]] = []

    def work(number: int) -> None:
        for _ in range(200):
            lent = items.lend()
            lent.append(number)
            if lent != [*range(20), number]:
                wrong.append(lent)

    threads = [Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_dropped_lists_are_few() -> None:
    before = sum(type(each) is Lent for each in gc.get_objects())
    items = Pages(range(10))
    lists = [items.lend() for _ in range(5)]
    del lists
    assert sum(type(each) is Lent for each in gc.get_objects()) <= before + loans.MOST
