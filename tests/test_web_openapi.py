"""The OpenAPI document."""

from __future__ import annotations

import json
import re
from typing import Any

from tract.remote.operations import OPERATIONS
from tract.web.openapi import openapi

DOCUMENT: dict[str, Any] = json.loads(openapi())


def test_every_operation_is_described_once() -> None:
    described = {
        (verb.upper(), path): entry
        for path, verbs in DOCUMENT["paths"].items()
        for verb, entry in verbs.items()
    }
    assert set(described) == {(each.verb, each.path) for each in OPERATIONS}
    assert len({entry["operationId"] for entry in described.values()}) == len(OPERATIONS)


def test_every_reference_leads_somewhere() -> None:
    names = re.findall(r'"#/components/schemas/([^"]+)"', openapi().decode())
    assert names
    assert set(names) <= set(DOCUMENT["components"]["schemas"])


def test_every_parameter_in_a_path_is_described() -> None:
    for path, verbs in DOCUMENT["paths"].items():
        for entry in verbs.values():
            inside = {p["name"] for p in entry["parameters"] if p["in"] == "path"}
            assert inside == set(re.findall(r"{(\w+)}", path))


def test_writes_have_an_example_and_a_key() -> None:
    for operation in OPERATIONS:
        entry = DOCUMENT["paths"][operation.path][operation.verb.lower()]
        if operation.verb in ("POST", "PUT") and operation.accepts == "application/json":
            assert "example" in entry["requestBody"]["content"]["application/json"]
            assert "Idempotency-Key" in [p["name"] for p in entry["parameters"]]


def test_it_is_the_same_every_time() -> None:
    assert openapi() == openapi()
