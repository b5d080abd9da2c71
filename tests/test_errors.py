"""The tree of exceptions: one root, drawn as it is."""

from __future__ import annotations

import re

from tract import errors

CLASSES = {name: value for name, value in vars(errors).items() if isinstance(value, type)}


def test_everything_is_a_tract_error() -> None:
    assert CLASSES
    assert all(issubclass(error, errors.TractError) for error in CLASSES.values())


def test_the_drawing_is_the_tree() -> None:
    """Names and depths of the docstring's drawing are those of the classes."""
    lines = re.findall(r"^( {4}[│ ├└─]*)([A-Z]\w+)", errors.__doc__ or "", re.MULTILINE)
    drawn = {name: len(indent) // 4 - 1 for indent, name in lines}
    assert drawn == {name: depth(error) for name, error in CLASSES.items()}


def depth(error: type) -> int:
    """How far it is from the root, by its first parents: one error has two."""
    return 0 if error is errors.TractError else 1 + depth(error.__bases__[0])


def test_they_are_also_what_python_programmers_catch() -> None:
    assert issubclass(errors.InputError, ValueError)
    assert issubclass(errors.NotFoundError, LookupError)
    assert issubclass(errors.MissingExtraError, ImportError)


def test_each_says_when_it_is_raised() -> None:
    assert [name for name, error in CLASSES.items() if not error.__doc__] == []
