"""Values of any shape as what is needed."""

from __future__ import annotations

from typing import Any

import pytest

from tract.importers.coerce import as_number, as_time, path_of


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("2025-08-01T16:16:37", "2025-08-01T16:16:37+00:00"),
        ("2025-08-01T16:16:37Z", "2025-08-01T16:16:37+00:00"),
        (1762446213, "2025-11-06T16:23:33+00:00"),
        (1762446213000, "2025-11-06T16:23:33+00:00"),
    ],
)
def test_times(said: Any, meant: str) -> None:
    time = as_time(said)
    assert time is not None
    assert time.isoformat() == meant


def test_what_is_no_time() -> None:
    nothing: list[Any] = [None, "", "soon", True, 1e300, float("nan"), [], {}]
    for said in nothing:
        assert as_time(said) is None


def test_numbers() -> None:
    odd: list[Any] = [None, "5", True, float("nan"), float("inf"), []]
    assert [as_number(value) for value in (5, 0.5, *odd)] == [5, 0.5, *[None] * len(odd)]


def test_folders() -> None:
    values: list[Any] = ["/a b", "file:///a%20b", "file://", "", None, 5]
    assert [path_of(value) for value in values] == ["/a b", "/a b", None, None, None, None]
