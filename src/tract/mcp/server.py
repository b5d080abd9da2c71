"""The server itself: the tools and resources of tract in MCP's terms, and the stdio transport.

All work is done in threads, so that the protocol goes on meanwhile."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from importlib.metadata import version
from io import TextIOWrapper
from typing import Any, TypeVar, cast

import anyio
from anyio.to_thread import run_sync
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)

from tract.core.wording import GET_TOOL_RESULT, MCP_SERVER
from tract.errors import InputError, NotFoundError, TractError
from tract.mcp import answers, resources
from tract.mcp.binding import Bind, Caller
from tract.mcp.dialogs import Opener, Scope
from tract.mcp.escapes import receivable, sendable
from tract.mcp.schemas import INSTRUCTIONS, LIST, SCHEMAS, SEARCH, STORE, ToolSchema
from tract.model import Json

Answer = Callable[[Scope, Json], str]
Result = TypeVar("Result")

READING: dict[str, Answer] = {
    GET_TOOL_RESULT: answers.get_tool_result,
    SEARCH: answers.search_tool_results,
    LIST: answers.list_tool_results,
}
META = {"anthropic/alwaysLoad": True}
"""Claude Code then has the tools in every request, and does not hide them behind a search."""
TEXT = "text/plain"


def tract_server(bind: Bind, open_dialog: Opener) -> Server[Any]:
    """An MCP server for the dialogs that each call is bound to."""

    def scope(ctx: Any) -> Scope:
        return Scope(bind(Caller(dict(ctx.meta or {}), ctx.request)), open_dialog)

    async def list_tools(_: Any, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_tool(schema) for schema in SCHEMAS])

    async def call_tool(ctx: Any, params: CallToolRequestParams) -> CallToolResult:
        arguments = params.arguments or {}
        try:
            if params.name == STORE:
                text = await answers.store_tool_result(await run_sync(scope, ctx), arguments)
            elif answer := READING.get(params.name):
                text = await run_sync(lambda: answer(scope(ctx), arguments))
            else:
                raise MCPError(INVALID_PARAMS, f"unknown tool {sendable(params.name)!r:.100}")
        except TractError as error:
            return _result(str(error), is_error=True)
        return _result(text)

    async def list_resources(
        ctx: Any, params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        cursor = params.cursor if params else None

        def read() -> tuple[list[resources.ResultResource], str | None]:
            try:
                own = scope(ctx)
            except NotFoundError:  # no session yet; Gemini CLI drops a server that fails here
                return [], None
            return resources.list_resources(own, cursor)

        page, following = await _read(read)
        return ListResourcesResult(resources=[*map(_resource, page)], next_cursor=following)

    async def list_templates(
        _: Any, __: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=[TEMPLATE])

    async def read_resource(ctx: Any, params: ReadResourceRequestParams) -> ReadResourceResult:
        uri = str(params.uri)
        text = await _read(lambda: resources.read_resource(scope(ctx), uri))
        content = TextResourceContents(uri=uri, mime_type=TEXT, text=sendable(text))
        return ReadResourceResult(contents=[content])

    return Server(
        MCP_SERVER,
        version=version("tract-context"),
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


def serve_stdio(server: Server[Any]) -> None:
    """Serve until the client closes stdin."""

    async def serve() -> None:
        async with stdio_server(stdin=cast(Any, _lines())) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(serve)


async def _lines() -> AsyncIterator[str]:
    text = TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="replace")
    async for line in anyio.wrap_file(text):
        yield receivable(line)


async def _read(read: Callable[[], Result]) -> Result:
    try:
        return await run_sync(read)
    except TractError as error:
        is_asked_wrongly = isinstance(error, InputError | NotFoundError)
        code = INVALID_PARAMS if is_asked_wrongly else INTERNAL_ERROR
        raise MCPError(code, sendable(str(error))) from None


def _result(text: str, *, is_error: bool = False) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=sendable(text))], is_error=is_error)


def _tool(schema: ToolSchema) -> Tool:
    return Tool(
        name=schema.name,
        description=schema.description,
        input_schema=schema.input_schema,
        annotations=ToolAnnotations(
            read_only_hint=schema.is_read_only, destructive_hint=False, open_world_hint=False
        ),
        _meta=META,
    )


def _resource(result: resources.ResultResource) -> Resource:
    name, description = sendable(result.name), sendable(result.description)
    return Resource(
        uri=result.uri, name=name, description=description, mime_type=TEXT, size=result.size
    )


TEMPLATE = ResourceTemplate(
    uri_template=resources.TEMPLATE,
    name="tool result",
    description="The full text of a tool result",
    mime_type=TEXT,
)
