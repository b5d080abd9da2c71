"""A list in pages behaves as a list, and its copies as lists of their own."""

from __future__ import annotations

import sys
from collections import deque
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tract.core import pages
from tract.core.pages import Pages


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PAGE", 4)


NUMBERS = st.integers(0, 30)
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("append"), NUMBERS),
        st.tuples(st.just("add"), st.lists(NUMBERS, max_size=12)),
        st.tuples(st.just("set"), NUMBERS),
        st.tuples(st.just("pop"), NUMBERS),
        st.tuples(st.just("before"), NUMBERS),
    )
)


def changed(items: Any, change: tuple[str, Any]) -> Any:
    kind, value = change
    match kind:
        case "append":
            items.append(value)
        case "add":
            items += value
        case "set" if items:
            items[value % len(items)] = -1
        case "pop" if items:
            items.pop()
        case "before":
            return items[:value] if isinstance(items, list) else items.before(value)
    return items


@given(CHANGES, CHANGES)
def test_it_is_a_list_and_a_copy_is_its_own(
    first: list[tuple[str, Any]], later: list[tuple[str, Any]]
) -> None:
    paged, plain = Pages[int](), list[int]()
    for change in first:
        paged, plain = changed(paged, change), changed(plain, change)
    copy, as_it_was = paged.copy(), plain.copy()
    for change in later:
        paged, plain = changed(paged, change), changed(plain, change)
        assert (list(paged), list(copy)) == (plain, as_it_was)
    for change in later:
        copy, as_it_was = changed(copy, change), changed(as_it_was, change)
    assert (list(paged), list(copy), len(paged)) == (plain, as_it_was, len(plain))


@given(st.integers(0, 20), st.slices(24))
def test_a_part_is_a_list(size: int, part: slice) -> None:
    assert Pages(range(size))[part] == list(range(size))[part]


@given(st.integers(1, 20), st.integers(-20, 20))
def test_an_item(size: int, index: int) -> None:
    plain, paged = list(range(size)), Pages(range(size))
    if -size <= index < size:
        assert paged[index] == plain[index]
    else:
        with pytest.raises(IndexError):
            paged[index]


def test_others_read_while_one_adds() -> None:
    """A context is read in one thread while another one compiles the next."""
    paged, size = Pages[int](), 50_000
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        writer = Thread(target=lambda: deque(map(paged.append, range(size)), maxlen=0))
        writer.start()
        while writer.is_alive():
            known = len(paged)
            start = max(0, known - 6)
            assert paged[start:known] == list(range(start, known))
        writer.join()
    finally:
        sys.setswitchinterval(before)
    assert len(paged) == size
