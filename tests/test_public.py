"""The public names: listed once, sorted, explained."""

from __future__ import annotations

import inspect
import subprocess
import sys
import types
from enum import Enum

import pytest

import tract


def test_all_is_what_is_exported() -> None:
    exported = [
        name
        for name in dir(tract)
        if not name.startswith("_") and not isinstance(getattr(tract, name), types.ModuleType)
    ]
    assert sorted(tract.__all__) == sorted(exported)


def test_what_is_loaded_late_is_as_good_as_there() -> None:
    from tract import aio, tool_results

    assert tract.AsyncTract is aio.AsyncTract
    assert tract.ToolResultsStorage is tool_results.ToolResultsStorage
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tract.nothing  # type: ignore[attr-defined]
    code = "import sys, tract.cli; print({'tract.aio', 'tract.tool_results'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stderr


def test_all_is_sorted() -> None:
    """Constants, then classes, then functions, each by the alphabet."""

    def kind(name: str) -> int:
        return 0 if name.isupper() else 1 if name[0].isupper() else 2

    assert list(tract.__all__) == sorted(tract.__all__, key=lambda name: (kind(name), name))


def test_every_error_is_exported() -> None:
    from tract import errors

    classes = [name for name, value in vars(errors).items() if isinstance(value, type)]
    assert set(classes) <= set(tract.__all__)


@pytest.mark.parametrize("name", tract.__all__)
def test_every_public_name_is_explained(name: str) -> None:
    value = getattr(tract, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        # msgspec and dataclasses write a signature into __doc__ where there is none.
        assert value.__doc__
        assert not value.__doc__.startswith(f"{name}(")


METHODS = [
    (name, method)
    for name in ("Tract", "AsyncTract", "ToolResultsStorage")
    for method in dir(getattr(tract, name))
    if not method.startswith("_")
]


def test_all_methods_are_looked_at() -> None:
    assert {("Tract", "commit"), ("Tract", "close"), ("ToolResultsStorage", "close")} <= {*METHODS}
    assert len(METHODS) > 60


@pytest.mark.parametrize(("name", "method"), METHODS)
def test_every_method_is_explained(name: str, method: str) -> None:
    assert inspect.getattr_static(getattr(tract, name), method).__doc__


def test_enums_are_their_words() -> None:
    for enum in (tract.Priority, tract.CommitOperation):
        assert issubclass(enum, Enum)
        assert all(member == member.value == str(member) for member in enum)


def test_importing_tract_imports_nothing_heavy() -> None:
    heavy = ["psycopg", "rich", "splintr", "click", "asyncio"]
    code = f"import sys, tract; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
