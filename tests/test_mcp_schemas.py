"""The tools of the server, as models read them."""

from __future__ import annotations

from tract.core.wording import GET_TOOL_RESULT_SCHEMA, is_fetch
from tract.mcp.schemas import OWN_ANSWERS, SCHEMAS
from tract.providers.registry import PROVIDERS
from tract.providers.tools import convert_tool


def test_fetching_is_the_same_tool_as_without_mcp() -> None:
    first = SCHEMAS[0]
    own = {"name": first.name, "description": first.description, "input_schema": first.input_schema}
    assert own == GET_TOOL_RESULT_SCHEMA


def test_only_storing_writes() -> None:
    assert [schema.name for schema in SCHEMAS if not schema.is_read_only] == ["store_tool_result"]


def test_every_provider_accepts_the_tools() -> None:
    for schema in SCHEMAS:
        tool = {"name": schema.name, "description": schema.description}
        for target in PROVIDERS:
            assert convert_tool({**tool, "input_schema": schema.input_schema}, target)


def test_own_answers_are_known_in_every_client() -> None:
    assert "mcp__tract__search_tool_results" in OWN_ANSWERS
    assert "Bash" not in OWN_ANSWERS
    assert sum(map(is_fetch, OWN_ANSWERS)) == 5
