"""Errors as answers."""

from __future__ import annotations

import inspect
import json

import pytest

from tract import errors
from tract.errors import ScrubError, TractError
from tract.remote.transport import ERRORS
from tract.web.problems import STATUS, problem, status_of

KINDS = [
    kind
    for kind in vars(errors).values()
    if inspect.isclass(kind) and issubclass(kind, TractError) and kind is not ScrubError
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_has_a_status_and_keeps_its_class(kind: type[TractError]) -> None:
    error = kind("the fact")
    status, body = problem(error)
    document = json.loads(body)
    assert status == document["status"] == status_of(error)
    assert 400 <= status < 600
    assert document["detail"] == "the fact"
    assert ERRORS[document["type"].removeprefix("urn:tract:")] is kind
    assert document["title"]


def test_the_special_stands_before_the_general() -> None:
    for number, (kind, _) in enumerate(STATUS):
        assert not any(issubclass(later, kind) for later, _ in STATUS[number + 1 :]), kind
