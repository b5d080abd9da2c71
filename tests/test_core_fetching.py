"""`get_tool_result` as a plain function."""

from __future__ import annotations

import asyncio
import inspect
from typing import get_type_hints

import pytest

from tract import AsyncTract, Tract
from tract.core.fetching import async_fetch_tool, fetch_tool, in_thread
from tract.core.wording import GET_TOOL_RESULT_SCHEMA

LINES = "\n".join(f"line {number}" for number in range(1, 2001))


@pytest.fixture
def t() -> Tract:
    t = Tract.open()
    t.assistant(tool_calls=[{"id": "c1", "name": "read", "arguments": {"path": "a"}}])
    t.tool_result("c1", "read", LINES)
    return t


def test_the_function_says_what_a_model_needs(t: Tract) -> None:
    tool = t.as_tool()
    assert tool.__name__ == "get_tool_result"
    assert tool.schema is GET_TOOL_RESULT_SCHEMA
    fields = GET_TOOL_RESULT_SCHEMA["input_schema"]["properties"]
    assert list(inspect.signature(tool).parameters) == list(fields)
    assert get_type_hints(tool) == {
        **dict.fromkeys(("lines", "grep", "json_path"), str | None),
        **dict.fromkeys(("context", "offset", "limit"), int | None),
        "id": str,
        "return": str,
    }
    for name, field in fields.items():
        assert f"\n    {name}: {field['description']}\n" in (tool.__doc__ or "")


def test_it_reads_parts(t: Tract) -> None:
    tool = t.as_tool()
    assert "line 7" in tool("c1", lines="7")
    assert tool("c1", lines="7-9") == t.get_tool_result("c1", lines="7-9")
    assert tool("c1", grep="line 1999", context=1) == t.get_tool_result(
        "c1", grep="line 1999", context=1
    )
    assert tool("c1", offset=5, limit=9) == t.get_tool_result("c1", offset=5, limit=9)


def test_what_is_wrong_is_a_text(t: Tract) -> None:
    tool = t.as_tool()
    assert tool("none").startswith("Error: ")
    assert tool("c1", lines="x").startswith("Error: ")
    t.forget(t.list_tool_results("c1")[0].commit_hash)
    assert tool("c1").startswith("Error: ")


def test_other_errors_are_raised(t: Tract) -> None:
    tool = t.as_tool()
    t.close()
    with pytest.raises(Exception, match="closed"):
        tool("c1")


def test_it_can_be_awaited(t: Tract) -> None:
    tool = async_fetch_tool(in_thread(t.get_tool_result))
    assert inspect.iscoroutinefunction(tool)
    assert asyncio.run(tool("c1", lines="3")) == t.get_tool_result("c1", lines="3")
    assert asyncio.run(tool("none")).startswith("Error: ")


def test_of_a_dialog_that_is_awaited() -> None:
    async def work() -> str:
        async with await AsyncTract.open() as t:
            await t.tool_result("c1", "read", LINES)
            answer: str = await t.as_tool()("c1", lines="4")
            return answer

    assert "line 4" in asyncio.run(work())


def test_both_have_one_signature() -> None:
    sync, awaited = fetch_tool(lambda *_, **__: ""), async_fetch_tool(None)  # type: ignore[arg-type]
    assert inspect.signature(sync) == inspect.signature(awaited)
    assert sync.__doc__ == awaited.__doc__
