"""The table of operations: complete, unambiguous, and read off `Tract`."""

from __future__ import annotations

import inspect

import msgspec
import pytest

from tract import CommitInfo, Tract
from tract.remote.operations import ADMIN, BY_NAME, OPERATIONS, READ, WRITE, Operation
from tract.remote.signatures import LOCAL
from tract.remote.tract import RemoteTract

ELSEWHERE = {
    "open": "connect()",
    "sibling": "an object of the client",
    "close": "an object of the client",
    "store": "an object of the client",
    "tokens": "an object of the client",
    "dialog": "an object of the client",
    "llm": "the model is the client's",
    "chat": "the model is the client's; its answer is pushed",
    "generate": "the model is the client's; its answer is pushed",
    "on": "handlers run in the client",
    "off": "handlers run in the client",
    "batch": "begin, end and abandon",
    "as_tool": "get_tool_result",
    "compile": "steps and payload; `context` for others",
    "stored": "steps and payload; `context` for others",
    "read": "steps and payload",
    "read_on": "steps and payload",
    "head": "position",
    "current_branch": "position",
}
"""What `Tract` has and the table has not, and why."""


def test_everything_that_tract_does_is_in_the_table() -> None:
    public = {name for name in dir(Tract) if not name.startswith("_")}
    assert public - set(BY_NAME) == set(ELSEWHERE)


def test_no_operation_is_there_twice() -> None:
    assert len(BY_NAME) == len(OPERATIONS)
    assert len({(each.verb, each.path) for each in OPERATIONS}) == len(OPERATIONS)


METHODS = [each for each in OPERATIONS if inspect.isfunction(getattr(Tract, each.name, None))]


@pytest.mark.parametrize("operation", METHODS, ids=lambda each: each.name)
def test_the_parameters_are_those_of_the_method(operation: Operation) -> None:
    parameters = inspect.signature(getattr(Tract, operation.name)).parameters
    own = {*operation.params.__struct_fields__, *operation.path_names} - {"dialog"}
    wanted = set(parameters) - set(LOCAL) - {"options"}
    own -= {"cursor", "limit"} if operation.is_paged else set()
    if operation.name in (
        "log",
        "dialogs",
        "delete_dialog",
        "backup",
    ):  # these have some of their own
        assert wanted - {"name", "path"} <= own
    elif "options" in parameters:
        assert wanted < own
    else:
        assert own == wanted


def test_a_get_reads_and_everything_else_writes() -> None:
    for operation in OPERATIONS:
        assert operation.scope in (READ, WRITE, ADMIN)
        if not operation.is_read:
            assert operation.scope != READ, operation.name


def test_every_operation_is_explained_and_its_example_fits() -> None:
    for operation in OPERATIONS:
        assert operation.doc, operation.name
        fields = {k: v for k, v in operation.example.items() if k not in operation.path_names}
        msgspec.convert(fields, operation.params)


def test_commits_are_named_by_hashes() -> None:
    assert BY_NAME["compress"].commits >= {"commits", "from_commit", "to_commit", "preserve"}
    assert "commit" in BY_NAME["annotate"].commits
    for operation in OPERATIONS:
        kinds = [field.type for field in msgspec.structs.fields(operation.params)]
        assert CommitInfo not in kinds


def test_a_client_has_the_methods_of_tract() -> None:
    for name, method in inspect.getmembers(Tract, inspect.isfunction):
        if not name.startswith("_"):
            mine = inspect.signature(getattr(RemoteTract, name))
            missing = set(inspect.signature(method).parameters) - set(mine.parameters)
            assert not missing or "settings" in mine.parameters, name
