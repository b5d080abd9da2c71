"""A place and its looks, and what links do to them."""

from __future__ import annotations

from math import inf

import pytest

from tests.chains import Builder, fold
from tract.core.place import (
    FULL,
    STAND_IN,
    Look,
    Place,
    alters,
    effect,
    in_sent_order,
    mark_text,
    undo_targets,
    undone_commits,
)
from tract.model import Form, Link, Priority, Shape, Step, pack_shape

REFERENCE = Shape(Form.REFERENCE)
RESULT = Step(7, b"", "append", role="tool")
TEXT = Step(8, b"", "append", role="user")


@pytest.mark.parametrize(
    ("look", "visible"),
    [
        (Look(TEXT), (8, FULL)),
        (Look(RESULT, REFERENCE), (7, REFERENCE)),
        (Look(RESULT, REFERENCE, Priority.PINNED), (7, FULL)),
        (Look(RESULT, REFERENCE, Priority.SKIP), (STAND_IN, FULL)),
        (Look(RESULT, is_left_out=True), None),
        (Look(TEXT, summary=Place(TEXT)), None),
        (Look(TEXT, priority=Priority.SKIP), (8, FULL)),
    ],
)
def test_what_a_model_sees_of_a_look(look: Look, visible: object) -> None:
    """A skipped call with a pinned result is not left out."""
    assert look.visible == visible


def test_a_look_ends_with_the_commit_that_changes_it() -> None:
    place = Place(TEXT)
    now, first, second = place.look, Look(TEXT, REFERENCE), Look(RESULT)
    place.past = [(10, first), (20, second)]
    looks = [place.look_before(commit) for commit in (9, 10, 11, 20, 21, inf)]
    assert looks == [first, first, second, second, now, now]


def test_each_call_has_its_result() -> None:
    build = Builder()
    call = build.append(calls=("a", "b", "a"))
    for answer in ("a", "a", "b"):
        build.append(answers=answer)
    place = fold(build).place(call)
    assert [result and result.origin.id for result in place.answers] == [2, 4, 3]


def test_results_go_right_behind_their_calls_as_long_as_these_are_in_the_view() -> None:
    build = Builder()
    first, second = build.append(calls=("a",)), build.append(calls=("b",))
    build.append(answers="a")
    assert [p.origin.id for p in in_sent_order(fold(build).places)] == [1, 3, 2]
    build.compress(first)
    assert [p.origin.id for p in in_sent_order(fold(build).places)] == [4, 1, 2, 3]
    assert second.id == 2


# Links


def step(operation: str, *links: Link, number: int = 9) -> Step:
    return Step(number, b"", operation, links=links)


@pytest.mark.parametrize(
    ("operation", "link", "word", "text"),
    [
        ("edit", Link("replaces", 1, b""), "edited", None),
        ("compress", Link("replaces", 1, b""), "summed up", None),
        ("mark", Link("priority", 1, b"", "skip"), "left out", "skip abc"),
        ("mark", Link("priority", 1, b"", "pinned"), "pinned", "pinned abc"),
        ("mark", Link("priority", 1, b"", "normal"), "back", "normal abc"),
        ("mark", Link("form", 1, b"", "reference"), "→ reference", "reference abc"),
        (
            "mark",
            Link("form", 1, b"", pack_shape(Shape(Form.SUMMARY, text="short"))),
            "→ summary",
            "summary abc: short",
        ),
        ("mark", Link("void", 1, b""), "undone", "undoes abc"),
    ],
)
def test_links_in_words(operation: str, link: Link, word: str, text: str | None) -> None:
    assert effect(step(operation, link), link) == word
    if text:
        assert mark_text(link.kind, link.value, "abc") == text
    assert alters(link) == (link.kind != "void")


def test_what_is_undone() -> None:
    undo = step("mark", Link("void", 1, b""), Link("void", 2, b""), number=3)
    again = step("mark", Link("void", 3, b""), number=4)
    assert undo_targets(undo) == [1, 2]
    assert undone_commits([undo]) == {1, 2}
    assert undone_commits([undo, again]) == {3}
    assert undone_commits([undo, again], [4]) == {4, 1, 2}
