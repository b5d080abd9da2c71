"""The server keeps what its OpenAPI document promises, for requests that fit it and that do not."""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.asking import ask, send
from tests.serving import serving
from tract import Tract
from tract.remote.operations import BY_NAME, SECTIONS, Operation
from tract.web.intake import Limits
from tract.web.server import Server

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
PNG = b64encode(b"\x89PNG\r\n\x1a\n" + bytes(60)).decode()
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
STREAMS = ("events", "all_events")
"""They have no end, and tests of their own."""
SCHEMA_TOOL = {"name": "ls", "description": "List", "input_schema": {"type": "object"}}
AnyCase = Case[Any]
_numbers = count()


@schemathesis.serializer("application/x-ndjson")
def lines(context: schemathesis.SerializationContext, value: Any) -> bytes:
    """A body of lines: any text, as it is generated."""
    del context
    return value if isinstance(value, bytes) else json.dumps(value).encode()


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with a dialog that has something of each kind."""
    place = str(tmp_path_factory.mktemp("schema") / "t.db")
    with Tract.open(place, dialog="seed") as t:
        t.set_tools([SCHEMA_TOOL])
        t.user("What is in src?")
        for number in range(3):
            arguments = {"path": f"src/{number}"}
            t.assistant(
                "Looking.", tool_calls=[{"id": f"c{number}", "name": "ls", "arguments": arguments}]
            )
            t.tool_result(f"c{number}", "ls", f"main.py {number}\n" * 200, is_error=number == 1)
        t.tool_result("shot", "Shot", [IMAGE])
        t.assistant("Nothing much.", usage={"input_tokens": 10, "output_tokens": 5})
        t.branch("other")
    limits = Limits(requests_per_second=0, batch_idle_seconds=1)
    with serving(place, limits=limits) as running:
        yield running


class Seeds:
    """Names of what exists. What a request deletes is made for it."""

    def __init__(self, server: Server) -> None:
        self._server = server
        log = ask(server, "GET", "/api/dialogs/seed/log?limit=1000", server.token).json["items"]
        self.commits = [item["commit_hash"] for item in log if item["role"] is not None]
        results = {i["tool_call_id"]: i["commit_hash"] for i in log if i["role"] == "tool"}
        self._shot, self._result = results["shot"], results["c0"]

    def path(self, operation: Operation, draw: st.DrawFn) -> dict[str, str]:
        """The names in a path."""
        values = {
            "dialog": "seed",
            "commit": draw(st.sampled_from([*self.commits, "main"])),
            "id": draw(st.sampled_from(["c0", "c1", "c2"])),
            "name": "ls",
        }
        return {name: values[name] for name in operation.path_names if name in values}

    def new(self, operation: str) -> dict[str, str]:
        """The name of something that is there to be ended or deleted."""
        server, name = self._server, f"n{next(_numbers)}"
        match operation:
            case "delete_branch":
                send(server, "POST", "/api/dialogs/seed/branches", {"name": name})
                return {"name": name}
            case "delete_dialog":
                send(server, "POST", f"/api/dialogs/{name}/messages/user", {"text": "Hi"})
                return {"dialog": name}
            case "end" | "abandon":
                return {"batch": send(server, "POST", "/api/batches", {}).json["batch"]}
            case "revoke_grant":
                send(server, "POST", "/api/grants", {"name": name, "scope": "read"})
                return {"name": name}
        return {}

    def example(self, operation: Operation) -> dict[str, Any]:
        """The example of an operation, about something that is there."""
        example = dict(operation.example)
        match operation.name:
            case "add_grant" | "branch":
                example["name"] = f"n{next(_numbers)}"
            case "view_picture":
                example["commit"] = self._shot
            case "preview_change":
                example["arguments"] = {"forms": {self._result: "reference"}}
            case name if name in FULL_HASHES:
                example["commit"] = self._result
        return example

    def field(self, operation: Operation, name: str) -> st.SearchStrategy[Any] | None:
        """Values of a parameter that mean something here; None if any value of its type does."""
        commits = st.sampled_from(self.commits)
        calls = st.sampled_from(["c0", "c1", "c2"])
        match name:
            case "commit" if operation.name in FULL_HASHES:
                return commits
            case "at" | "head" | "known" | "after" | "a" | "b" | "commit" | "old" | "new":
                return commits | st.just("HEAD")
            case "start" if operation.name in ("view_rows", "view_find"):
                return None
            case "parent" | "edit" | "occurrence" | "content" if operation.is_read:
                return None
            case "parent" | "edit" | "tool" | "target":
                return st.none()
        return calls if name == "tool_call_id" else _CHOICES.get(name)


def choice(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


_CHOICES: dict[str, st.SearchStrategy[Any]] = {
    "provider": choice("anthropic", "openai", "responses", "gemini"),
    "format": choice("anthropic", "openai", "jsonl", "markdown"),
    "view": choice("full", "raw", "metadata", "preview"),
    "status": choice("success", "error"),
    "form": choice("full", "reference"),
    "lines": choice("1-3", "2", "1-"),
    "grep": choice("main", "py"),
    "json_path": choice("$"),
    "limit": st.integers(1, 50),
    "offset": st.integers(0, 50),
    "context": st.integers(0, 3),
    "occurrence": st.just(1),
    "keep_recent": st.integers(0, 5),
    "priority": choice("pinned", "normal"),
    "scope": choice("read", "write"),
    "dialog": st.just(["seed"]),
    "block": st.just(0),
    "unit": st.integers(0, 5),
    "old_unit": st.just(0),
    "new_unit": st.just(0),
    "count": st.integers(1, 1000),
    "start": st.integers(0, 9),
    "path": st.just("[]"),
    "number": st.just(0),
}
FULL_HASHES = ("view_body", "view_text", "view_picture", "view_tree", "reword")
"""What is about a block of a message that a page shows."""
LEFT_OUT = ("cursor", "content", "parent", "edit", "load_tool_results", "batch", "inline_under")
"""Parameters that only an earlier answer can fill."""


@st.composite
def cases(draw: st.DrawFn, generated: st.SearchStrategy[AnyCase], seeds: Seeds) -> AnyCase:
    """A request that fits the document, about things that exist."""
    case = draw(generated)
    operation = BY_NAME[case.operation.definition.raw["operationId"]]
    case.path_parameters = {**(case.path_parameters or {}), **seeds.path(operation, draw)}
    if operation.is_read or operation.accepts != "application/json":
        case.query = _filled(draw, seeds, operation, dict(case.query or {}))
    elif isinstance(case.body, dict):
        case.body = _filled(draw, seeds, operation, dict(case.body))
    return case


def _filled(draw: st.DrawFn, seeds: Seeds, operation: Operation, fields: dict[str, Any]) -> Any:
    for name in list(fields):
        values = seeds.field(operation, name)
        if name in LEFT_OUT:
            del fields[name]
        elif values is not None:
            fields[name] = draw(values)
    example = seeds.example(operation)
    return {**fields, **example} if draw(st.integers(0, 3)) else {**example, **fields}


def explore(
    server: Server, mode: GenerationMode, examples: int, seeds: Seeds | None
) -> Counter[tuple[str, int]]:
    """Send generated requests to all operations; returns the answers, by operation and status."""
    document = json.loads(ask(server, "GET", "/openapi.json").body)
    schema = schemathesis.openapi.from_dict(document)
    statuses: Counter[tuple[str, int]] = Counter()
    for result in schema.get_all_operations():
        assert isinstance(result, Ok)
        operation = result.ok()
        name = operation.definition.raw["operationId"]
        if name not in STREAMS:
            generated = operation.as_strategy(generation_mode=mode)
            strategy = generated if seeds is None else cases(generated, seeds)
            for status in statuses_of(server, name, strategy, seeds, examples):
                statuses[name, status] += 1
    return statuses


def statuses_of(
    server: Server,
    name: str,
    strategy: st.SearchStrategy[AnyCase],
    seeds: Seeds | None,
    examples: int,
) -> list[int]:
    """The statuses of the answers to requests to one operation, each of which is checked."""
    statuses: list[int] = []
    headers = {"Authorization": f"Bearer {server.token}"}

    @settings(
        max_examples=examples,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )
    @given(strategy)
    def send_one(case: AnyCase) -> None:
        if seeds is not None:
            case.path_parameters = {**(case.path_parameters or {}), **seeds.new(name)}
        response = case.call(base_url=server.url, headers=headers)
        statuses.append(response.status_code)
        if name == "begin" and response.status_code == 200:
            ask(server, "DELETE", f"/api/batches/{response.json()['batch']}", server.token)
        case.validate_response(response, checks=CHECKS, headers=headers)

    send_one()
    return statuses


def share(statuses: Counter[tuple[str, int]]) -> float:
    """How much of the answers are neither 404 nor 422."""
    good = sum(n for (_, status), n in statuses.items() if status not in (404, 422))
    return good / statuses.total()


def check_positive(server: Server, examples: int) -> None:
    statuses = explore(server, GenerationMode.POSITIVE, examples, Seeds(server))
    assert share(statuses) >= 0.6, sorted(statuses.items())
    views = {operation.name for operation in SECTIONS["Views"]}
    assert views <= {name for name, status in statuses if status == 200}
    assert ask(server, "GET", "/readyz").status == 200


def check_negative(server: Server, examples: int) -> None:
    statuses = explore(server, GenerationMode.NEGATIVE, examples, None)
    assert statuses.total() > examples
    fsck = send(server, "POST", "/api/fsck", {})
    assert fsck.json["problems"] == []


def test_requests_that_fit_the_document(server: Server) -> None:
    check_positive(server, 5)


def test_requests_that_do_not_fit_the_document(server: Server) -> None:
    check_negative(server, 4)


@pytest.mark.long
@pytest.mark.parametrize("check", [check_positive, check_negative])
def test_many_requests(server: Server, check: Any) -> None:
    check(server, 150)
