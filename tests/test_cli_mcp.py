"""`tract mcp` as a person or a client starts it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client

from tests.cli import environment, invoke, run
from tests.mcp_clients import call, connected, connected_over_http, opener, turn
from tests.serving import serving, url_of
from tract import Tract
from tract.mcp.binding import dialog_binding
from tract.mcp.server import tract_server


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with Tract.open(tmp_path / "t.db", dialog="d") as t:
        turn(t, "c", "text of d")
    return tmp_path / "t.db"


@pytest.mark.parametrize("arguments", [["--port", "5"], ["--json"]])
def test_options_of_http_need_http(path: Path, arguments: list[str]) -> None:
    result = invoke("--db", str(path), "mcp", *arguments)
    assert result.exit_code == 2
    assert "require --http" in result.output


def test_without_a_database_it_says_so(tmp_path: Path) -> None:
    result = run("mcp", cwd=tmp_path, input="")
    assert (result.returncode, result.stdout) == (3, "")
    assert "no .tract folder here or above" in result.stderr


def test_it_ends_with_its_input_and_prints_nothing(path: Path) -> None:
    result = run("--db", str(path), "mcp", input="")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_it_while_it_waits(path: Path) -> None:
    command = [sys.executable, "-m", "tract", "--db", str(path), "mcp"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment())
    assert process.stdin
    assert process.stdout
    process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    process.stdin.flush()
    assert b'"id":1' in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == -signal.SIGINT
    assert process.communicate() == (b"", b"")


def test_http_prints_the_link_and_serves(path: Path) -> None:
    arguments = ["--db", str(path), "--dialog", "d", "mcp", "--http", "--json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tract", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
    )
    assert process.stdout
    started = json.loads(process.stdout.readline())

    async def use(client: Client) -> None:
        text, _ = await call(client, "get_tool_result", id="c")
        assert "text of d" in text

    headers = {"authorization": f"Bearer {started['token']}"}
    connected_over_http(started["url"], headers, use)
    assert httpx2.post(started["url"]).status_code == 401
    process.send_signal(signal.SIGTERM)
    out, error = process.communicate(timeout=30)
    assert (out, error) == ("", "")


def test_a_port_that_is_taken_is_an_error(path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = run("--db", str(path), "mcp", "--http", "--port", port)
    assert result.returncode == 1
    assert "in use" in result.stderr


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("list_tool_results", {}),
    ("get_tool_result", {"id": "c"}),
    ("get_tool_result", {"id": "c", "lines": "1-2"}),
    ("get_tool_result", {"id": "nowhere"}),
    ("search_tool_results", {"query": "TEXT"}),
    ("store_tool_result", {"tool_name": "Read", "content": "a\nb", "id": "s1"}),
    ("list_tool_results", {"tool": "Read"}),
    ("search_tool_results", {"query": "b"}),
]


def answers(place: str, dialog: str = "d") -> list[tuple[str, bool]]:
    """What a client gets for these calls, one after the other."""
    dialogs = opener(place)

    async def use(client: Client) -> list[tuple[str, bool]]:
        return [await call(client, name, **arguments) for name, arguments in CALLS]

    try:
        return connected(tract_server(lambda _: dialog_binding(dialog), dialogs), use)
    finally:
        dialogs.close()


@pytest.mark.parametrize("dialog", ["d", "new"])
def test_the_dialogs_of_a_server_are_served_like_those_of_a_file(path: Path, dialog: str) -> None:
    with Tract.open(path, dialog="d") as t:
        t.backup(path.with_name("other.db"))
    with serving(str(path.with_name("other.db"))) as server:
        on_server = answers(url_of(server), dialog)
    on_file = answers(str(path), dialog)
    hide = re.compile(r"mcp_[\w-]+|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?")
    assert [(hide.sub("…", text), error) for text, error in on_server] == [
        (hide.sub("…", text), error) for text, error in on_file
    ]
    assert not any(error for _, error in on_file[5:])
