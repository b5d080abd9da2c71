"""The tool `get_tool_result` as a plain function, for code that makes tools of functions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from tract.core.wording import GET_TOOL_RESULT, GET_TOOL_RESULT_SCHEMA
from tract.errors import ForgottenError, InputError, NotFoundError
from tract.model import Json

REFUSALS = (InputError, NotFoundError, ForgottenError)
"""What is wrong with a call. The model reads it and can call again."""


class FetchTool(Protocol):
    """A function that a model may call. Frameworks read its name, signature and docstring; those
    that take a schema find it beside them."""

    __name__: str
    schema: dict[str, Json]

    def __call__(
        self,
        id: str,  # noqa: A002
        lines: str | None = None,
        grep: str | None = None,
        context: int | None = None,
        json_path: str | None = None,
        offset: int | None = None,
        limit: int | None = None,
    ) -> Any: ...


def fetch_tool(read: Callable[..., str]) -> FetchTool:
    """The tool as a function. `read` returns a part of a result."""

    def get_tool_result(
        id: str,  # noqa: A002
        lines: str | None = None,
        grep: str | None = None,
        context: int | None = None,
        json_path: str | None = None,
        offset: int | None = None,
        limit: int | None = None,
    ) -> str:
        part = _part(lines, grep, context, json_path, offset, limit)
        try:
            return read(id, **part)
        except REFUSALS as error:
            return refusal(error)

    return _described(get_tool_result)


def async_fetch_tool(read: Callable[..., Awaitable[str]]) -> FetchTool:
    """The same as a function that is awaited."""

    async def get_tool_result(
        id: str,  # noqa: A002
        lines: str | None = None,
        grep: str | None = None,
        context: int | None = None,
        json_path: str | None = None,
        offset: int | None = None,
        limit: int | None = None,
    ) -> str:
        part = _part(lines, grep, context, json_path, offset, limit)
        try:
            return await read(id, **part)
        except REFUSALS as error:
            return refusal(error)

    return _described(get_tool_result)


def in_thread(read: Callable[..., str]) -> Callable[..., Awaitable[str]]:
    """The same function, awaited while a thread reads."""
    import asyncio  # not needed by a command, and slow to import

    async def reading(name: str, **part: Any) -> str:
        return await asyncio.to_thread(read, name, **part)

    return reading


def refusal(error: Exception) -> str:
    """What the model reads in the place of a result."""
    return f"Error: {error}"


def _part(
    lines: str | None,
    grep: str | None,
    context: int | None,
    json_path: str | None,
    offset: int | None,
    limit: int | None,
) -> dict[str, Any]:
    numbers = {"context": context, "offset": offset, "limit": limit}
    return {"lines": lines, "grep": grep, "json_path": json_path, **numbers}


def _described(function: Any) -> FetchTool:
    schema = GET_TOOL_RESULT_SCHEMA
    parameters = schema["input_schema"]["properties"]
    listed = "".join(f"\n    {name}: {field['description']}" for name, field in parameters.items())
    function.__doc__ = f"{schema['description']}\n\nArgs:{listed}\n"
    function.__qualname__ = GET_TOOL_RESULT
    function.schema = schema
    tool: FetchTool = function
    return tool
