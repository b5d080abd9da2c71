"""From the signature of a method to types of JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import pytest

from tract import CommitInfo, Form, InputError, Message, PendingCompress, Shape, Tract
from tract.remote import wire
from tract.remote.signatures import argument_type, kinds_of, parameters, result_type, struct


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (str | CommitInfo, str),
        (Sequence[str | CommitInfo] | None, list[str] | None),
        (Form, str),
        (Form | Shape | str | None, str | Shape | None),
        (Message | dict[str, Any], dict[str, Any]),
        (Mapping[str, Form], dict[str, str]),
        (Sequence[Any] | None, list[Any] | None),
        (Any | None, Any),
    ],
)
def test_what_json_has_of_an_argument(hint: Any, expected: Any) -> None:
    assert argument_type(hint) == expected


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (type(None), (None, False)),
        (Iterator[CommitInfo], (CommitInfo, True)),
        (int | PendingCompress, (int, False)),
        (Message, (dict[str, Any], False)),
        (list[str], (list[str], False)),
    ],
)
def test_what_json_has_of_a_result(hint: Any, expected: Any) -> None:
    assert result_type(hint) == expected


def test_options_are_parameters_like_others() -> None:
    fields = parameters(Tract.user)
    assert fields["text"] == (str | list[Any], True)
    assert fields["parent"] == (str | None, False)


def test_an_absent_field_keeps_the_default_of_the_method() -> None:
    kind = struct("Some", {"a": (int, True), "b": (str, False)})
    assert wire.convert({"a": 1}, kind).b is msgspec.UNSET
    for wrong in ({}, {"a": "x"}, {"a": 1, "c": 2}):
        with pytest.raises(InputError):
            wire.convert(wrong, kind)


def test_the_classes_in_a_hint_are_known() -> None:
    kinds = kinds_of(Tract.commit)
    assert Message in kinds["content"]
    assert CommitInfo in kinds["parent"]
    assert CommitInfo in kinds_of(Tract.user)["edit"]
