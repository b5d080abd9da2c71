"""From the signature of a method to types of JSON. Pure."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Union, Unpack, get_args, get_origin, get_type_hints, is_typeddict

import msgspec
from msgspec import UNSET, Struct, UnsetType

from tract.context import CompiledContext
from tract.core.compression import PendingCompress
from tract.model import CommitInfo, Json, Message
from tract.session.handlers import PendingToolResult

LOCAL = ("self", "review", "on_progress", "on_text", "all_dialogs")
"""Parameters that make sense only in the process that calls, or that have an operation."""


def argument_type(hint: Any) -> Any:
    """The type of an argument in JSON. A commit is named by its hash, and a word of an enum is a
    text."""
    args = get_args(hint)
    if get_origin(hint) in (Union, UnionType):
        kinds = [argument_type(arg) for arg in args]
        return _union([kind for kind in kinds if kind not in (CommitInfo, CompiledContext)])
    if hint is Message:
        return dict[str, Json]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return str
    if get_origin(hint) in (list, tuple, Sequence, Iterable):
        return list[argument_type(args[0])]  # type: ignore[misc]
    if get_origin(hint) is Mapping:
        return dict[str, argument_type(args[1])]  # type: ignore[misc]
    return hint


def _union(kinds: list[Any]) -> Any:
    if Any in kinds:
        return Any
    return Union[tuple(dict.fromkeys(kinds))]  # noqa: UP007 - there is no other way to join a list


def result_type(hint: Any) -> tuple[Any, bool]:
    """The type of a result in JSON, and whether it comes in pages."""
    if get_origin(hint) is Iterator:
        return get_args(hint)[0], True
    if get_origin(hint) in (Union, UnionType):
        kinds = [k for k in get_args(hint) if k not in (PendingCompress, PendingToolResult)]
        return _union(kinds), False
    if hint is Message:
        return dict[str, Json], False
    return (None if hint is NoneType else hint), False


def parameters(method: Any) -> dict[str, tuple[Any, bool]]:
    """The parameters of a method: the type of each in JSON, and whether it must be there."""
    hints = get_type_hints(method)
    fields: dict[str, tuple[Any, bool]] = {}
    for name, parameter in inspect.signature(method).parameters.items():
        hint = hints.get(name)
        if name in LOCAL:
            continue
        if parameter.kind == inspect.Parameter.VAR_KEYWORD:
            options = get_args(hint)[0] if get_origin(hint) is Unpack else hint
            assert is_typeddict(options), name
            for option, kind in get_type_hints(options).items():
                fields[option] = argument_type(kind), False
        elif parameter.kind == inspect.Parameter.VAR_POSITIONAL:
            fields[name] = list[argument_type(hint)], False  # type: ignore[misc]
        else:
            fields[name] = argument_type(hint), parameter.default is inspect.Parameter.empty
    return fields


def struct(name: str, fields: Mapping[str, tuple[Any, bool]]) -> type[Struct]:
    """A struct of these fields. One that is absent keeps the default of the method."""
    described: list[Any] = [
        (field, kind) if is_required else (field, Union[kind, UnsetType], UNSET)  # noqa: UP007
        for field, (kind, is_required) in fields.items()
    ]
    return msgspec.defstruct(name, described, kw_only=True, forbid_unknown_fields=True)


def kinds_of(method: Any) -> dict[str, set[Any]]:
    """The types that the hint of each parameter is made of."""
    hints = dict(get_type_hints(method))
    for hint in list(hints.values()):
        if get_origin(hint) is Unpack:
            hints |= get_type_hints(get_args(hint)[0])
    return {name: set(_atoms(hint)) for name, hint in hints.items()}


def _atoms(hint: Any) -> Iterator[Any]:
    """The classes that a hint is made of."""
    if isinstance(hint, type) and not get_args(hint):
        yield hint
    for arg in get_args(hint):
        yield from _atoms(arg)
