"""The MCP server: with mcp's own client in this process, and over stdio as a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp.types import TextResourceContents

from benchmarks.mcp_latency import AT_MOST, FULL, large_result
from tests.cli import HOSTILE, environment
from tests.mcp_clients import call, connected, opener, turn
from tract import NotFoundError, Tract
from tract.core.wording import GET_TOOL_RESULT_SCHEMA
from tract.mcp.binding import Binding, dialog_binding
from tract.mcp.dialogs import OpenDialogs
from tract.mcp.server import tract_server


@pytest.fixture
def dialogs(tmp_path: Path) -> Iterator[OpenDialogs]:
    opened = opener(tmp_path / "t.db")
    t = opened("d", create=True)
    for number in range(3):
        turn(t, f"c{number}", "".join(f"line {line} of {number}\n" for line in range(3_000)))
    yield opened
    opened.close()


def serving(dialogs: OpenDialogs, name: str = "d") -> Any:
    return tract_server(lambda _: dialog_binding(name), dialogs)


# In this process


def test_the_tools_are_plain_and_always_loaded(dialogs: OpenDialogs) -> None:
    async def use(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == [
            "get_tool_result",
            "search_tool_results",
            "list_tool_results",
            "store_tool_result",
        ]
        assert tools[0].input_schema == GET_TOOL_RESULT_SCHEMA["input_schema"]
        for tool in tools:
            assert tool.meta == {"anthropic/alwaysLoad": True}
            assert tool.output_schema is None

    connected(serving(dialogs), use)


def test_a_client_fetches_searches_lists_and_stores(dialogs: OpenDialogs) -> None:
    async def use(client: Client) -> None:
        page, failed = await call(client, "get_tool_result", id="c1")
        assert page.startswith("[c1 · Bash · offset 0–8000 of ")
        assert page.endswith("[more: call again with offset=8000]")
        assert len(page) < 8_200
        assert not failed
        text, _ = await call(client, "search_tool_results", query="LINE 2999 OF 2")
        assert "\n  3000: line 2999 of 2\n" in text
        text, _ = await call(client, "list_tool_results", limit=1)
        assert "1–1 of 3" in text
        text, _ = await call(client, "store_tool_result", tool_name="t", content="x", id="n")
        assert text.startswith("[stored · n · success · 1 byte]")
        text, failed = await call(client, "get_tool_result", id="n")
        assert (text.splitlines()[1], failed) == ("x", False)

    connected(serving(dialogs), use)


def test_an_error_is_an_answer_and_the_next_call_works(dialogs: OpenDialogs) -> None:
    async def use(client: Client) -> None:
        assert await call(client, "get_tool_result", id="c9") == ("no result 'c9' in d", True)
        text, failed = await call(client, "get_tool_result", lines="1")
        assert (text, failed) == ("id must be a string, not None", True)
        with pytest.raises(MCPError, match="unknown tool 'rm'"):
            await client.call_tool("rm", {})
        text, failed = await call(client, "get_tool_result", id="c0", lines="1")
        assert text.splitlines()[1] == "line 0 of 0"

    connected(serving(dialogs), use)


def test_a_database_that_does_not_exist_yet_is_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "later.db"

    async def use(client: Client) -> None:
        text, failed = await call(client, "list_tool_results")
        assert failed
        assert "later.db" in text
        with Tract.open(path, dialog="d") as t:
            turn(t, "c", "it is there")
        text, failed = await call(client, "get_tool_result", id="c")
        assert "it is there" in text

    dialogs = opener(path)
    connected(serving(dialogs), use)
    dialogs.close()


def test_results_are_resources(dialogs: OpenDialogs) -> None:
    turn(dialogs("d"), "a/b ü\ud800", HOSTILE, name=f"n{HOSTILE}")

    async def use(client: Client) -> None:
        listed = (await client.list_resources()).resources
        assert [resource.uri for resource in listed][1:] == [
            f"tract://d/results/c{number}" for number in (2, 1, 0)
        ]
        read = await client.read_resource(listed[0].uri)
        [content] = read.contents
        assert isinstance(content, TextResourceContents)
        assert content.text == HOSTILE.replace("\ud800", "\\ud800")
        templates = await client.list_resource_templates()
        assert templates.resource_templates[0].uri_template == "tract://{dialog}/results/{id}"
        for uri in ("tract://other/results/c1", "tract://d/results/nothing", "file:///etc/passwd"):
            with pytest.raises(MCPError):
                await client.read_resource(uri)
        dialogs("d").forget(dialogs("d").list_tool_results("c1")[0].commit_hash)
        with pytest.raises(MCPError, match="forgotten"):
            await client.read_resource("tract://d/results/c1")
        with pytest.raises(MCPError, match="not a cursor"):
            await client.list_resources(cursor="x")

    connected(serving(dialogs), use)


def test_the_protocol_goes_on_while_a_call_waits(dialogs: OpenDialogs) -> None:
    """A call that waits for the database does not keep the server from answering others."""
    locked, release = Event(), Event()

    def hold() -> None:
        with dialogs("d").session.lock:
            locked.set()
            release.wait(30)

    async def use(client: Client) -> None:
        answers: list[str] = []

        async def fetch() -> None:
            answers.append((await call(client, "get_tool_result", id="c0", lines="1"))[0])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fetch)
            await client.list_tools(cache_mode="bypass")
            assert answers == []
            release.set()
        assert len(answers) == 1

    thread = Thread(target=hold)
    thread.start()
    locked.wait(30)
    connected(serving(dialogs), use)
    thread.join()


def test_a_session_without_anything_stored_has_no_resources(dialogs: OpenDialogs) -> None:
    def bind(_: object) -> Binding:
        raise NotFoundError("no session is stored")

    async def use(client: Client) -> None:
        assert (await client.list_resources()).resources == []
        assert await call(client, "list_tool_results") == ("no session is stored", True)

    connected(tract_server(bind, dialogs), use)


def test_each_call_is_bound_by_what_the_client_sends(dialogs: OpenDialogs) -> None:
    turn(dialogs("other", create=True), "mine", "of the other")

    def bind(caller: Any) -> Binding:
        return dialog_binding(caller.meta.get("sessionId", "d"))

    async def use(client: Client) -> None:
        assert (await call(client, "get_tool_result", id="mine"))[1]
        meta: Any = {"sessionId": "other"}
        result = await client.call_tool("get_tool_result", {"id": "mine"}, meta=meta)
        assert not result.is_error

    connected(tract_server(bind, dialogs), use)


# As a process


@pytest.mark.long
def test_a_large_result_needs_little_memory(tmp_path: Path) -> None:
    assert large_result(tmp_path, FULL).value < AT_MOST["mcp_large_mb"]


def test_a_process_serves_over_stdio(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with Tract.open(path, dialog="f00.results") as t:
        turn(t, "c", f"first\n{HOSTILE}\nlast")
    command = ["-m", "tract", "--db", str(path), "mcp", "--session", "auto"]
    env = environment(CLAUDE_CODE_SESSION_ID="f00")
    server = StdioServerParameters(command=sys.executable, args=command, env=env, cwd=tmp_path)

    async def use(client: Client) -> None:
        text, _ = await call(client, "get_tool_result", id="c")
        assert text.splitlines()[-1] == "last"
        assert "\x1b[31mred" in text
        assert "\\ud800end" in text
        text, _ = await call(client, "search_tool_results", query="evil")
        assert "\n  2: a\\u001b[31mred\\u0007" in text
        await call(client, "store_tool_result", tool_name="t", content="kept", id="k")
        text, _ = await call(client, "get_tool_result", id="k")
        assert "kept" in text

    connected(server, use)
    with Tract.open(path, dialog="f00.results", create=False) as t:
        assert [info.id for info in t.list_tool_results()] == ["c", "k"]


class Process:
    """`tract mcp` and what it writes, line by line."""

    def __init__(self, path: Path, *args: str, **env: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tract", "--db", str(path), "--dialog", "d", "mcp", *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(**env),
            cwd=path.parent,
        )

    def send(self, message: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(message + b"\n")
        self.process.stdin.flush()

    def ask(self, number: int, method: str, params: bytes) -> Any:
        self.send(
            b'{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}'
            % (number, method.encode(), params)
        )
        while True:
            assert self.process.stdout
            message = json.loads(self.process.stdout.readline())
            if message.get("id") == number:
                return message

    def close(self) -> tuple[bytes, bytes]:
        """What it still wrote, once stdin is closed."""
        out, error = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, error
        return out, error


def test_broken_input_does_not_stop_the_process(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with Tract.open(path, dialog="d") as t:
        turn(t, "c", "text")
    server = Process(path, "--session", "auto", CLAUDE_CODE_SESSION_ID="d\x1b[31m")
    hello = b'{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":%s}'
    assert "result" in server.ask(0, "initialize", hello % b'{"name":"t","version":"1"}')
    server.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    for broken in (b"", b"not json", b"\xff\xfe\x00", b"[]", b"{}", b'{"id":1}'):
        server.send(broken)
    question = b'{"name":"get_tool_result","arguments":{"id":"\\ud800\\u0000"}}'
    assert server.ask(5, "tools/call", question)["result"]["isError"]
    answer = server.ask(6, "tools/call", b'{"name":"list_tool_results","arguments":{}}')
    assert answer["result"]["content"][0]["text"] == "[no tool results]"
    out, error = server.close()
    assert all(json.loads(line) for line in out.splitlines())
    assert b"\x1b" not in error
    assert b"tract mcp: session d" in error
