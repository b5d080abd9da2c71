"""The arguments of adapters."""

from __future__ import annotations

import pytest

from tract import InputError, Tract
from tract.integrations.settings import configure

LONG = "word " * 2000


def form(t: Tract) -> str:
    t.tool_result("c1", "read", LONG)
    return str(t.list_tool_results()[-1].form)


@pytest.mark.parametrize(
    ("results", "shown"),
    [
        (100, "reference"),
        ({"inline_tokens": 100, "preview_tokens": 20}, "reference"),
        ({"inline_tokens": 100, "keep": ["read"]}, "full"),
        (100_000, "full"),
        (None, "full"),
        ({}, "full"),
    ],
)
def test_a_number_or_all_arguments(results: object, shown: str) -> None:
    t = Tract.open()
    configure(t, results)  # type: ignore[arg-type]
    assert form(t) == shown


def test_nothing_leaves_the_settings() -> None:
    t = Tract.open()
    t.configure_results(inline_tokens=100)
    configure(t)
    configure(t, {}, {})
    assert form(t) == "reference"


@pytest.mark.parametrize("auto", [100, {"auto_threshold": 100}])
def test_results_are_summarized(auto: object) -> None:
    t = Tract.open()
    configure(t, auto=auto)  # type: ignore[arg-type]
    t.assistant(tool_calls=[{"id": "c1", "name": "read", "arguments": {}}])
    assert form(t) == "summary"


def test_a_wrong_argument_is_an_error() -> None:
    t = Tract.open()
    with pytest.raises((InputError, TypeError)):
        configure(t, {"inline": 3})
