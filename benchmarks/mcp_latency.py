"""The MCP server: how long a model's question for a result takes, and how much memory.

`python3 dev.py bench mcp_latency [--json] [--quick]`. One process is asked over stdio, as a client
asks it: one JSON line in, one out.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from types import TracebackType
from typing import Any, NamedTuple, Self

from benchmarks.measure import timed
from benchmarks.outputs import output
from benchmarks.report import Result, report
from tract import Tract

AT_MOST = {"mcp_ms": 10, "mcp_large_mb": 32}

DIALOG = "default"
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


class Scale(NamedTuple):
    results: int
    result: int
    """Bytes of each."""
    large: int
    calls: int


FULL = Scale(results=1_000, result=30_000, large=100_000_000, calls=300)
QUICK = Scale(results=20, result=4_000, large=1_000_000, calls=20)


class McpProcess:
    """`tract mcp`, asked over stdio."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-m", "tract", "--db", str(path), "--dialog", DIALOG, "mcp"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe)
        self._number = 0
        self.ask("initialize", HELLO)
        self._send({"method": "notifications/initialized"})

    def call(self, tool: str, **arguments: Any) -> str:
        """The text that a tool answers."""
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
        assert not result.get("isError"), result
        return str(result["content"][0]["text"])

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        assert self._process.stdout
        return json.loads(self._process.stdout.readline())

    def memory(self, field: str) -> int:
        """Bytes of the process: `VmRSS` now, `VmHWM` at most. Linux only."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        match = re.search(rf"^{field}:\s+(\d+) kB", status, re.MULTILINE)
        assert match
        return int(match[1]) * 1024

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        line = json.dumps({"jsonrpc": "2.0", **message})
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate()


def latency(folder: Path, scale: Scale) -> Result:
    """The median milliseconds of `get_tool_result`, while the process runs."""
    path = folder / "results.db"
    with Tract.open(path, dialog=DIALOG, durability="relaxed") as t, t.batch():
        for number in range(scale.results):
            _turn(t, f"call_{number}", output(number, scale.result))
    start, server = timed(lambda: McpProcess(path))
    with server:
        ids = [f"call_{number * 7 % scale.results}" for number in range(scale.calls)]
        fetches = [partial(server.call, "get_tool_result", id=name) for name in ids]
        first, *seconds = [timed(fetch)[0] for fetch in fetches]
        search, _ = timed(partial(server.call, "search_tool_results", query="not in any result"))
        listing, _ = timed(partial(server.call, "list_tool_results"))
    behind = {
        "p99_ms": quantiles(seconds, n=100)[98] * 1_000,
        "start_ms": start * 1_000,
        "first_ms": first * 1_000,
        "search_ms": search * 1_000,
        "list_ms": listing * 1_000,
    }
    return Result("mcp_ms", median(seconds) * 1_000, behind)


def large_result(folder: Path, scale: Scale) -> Result:
    """How many MB the process grows at most while parts of a large result are read."""
    path = folder / "large.db"
    line = "0123456789 abcdefghij klmnopqrst uvwxyz\n"
    text = line * (scale.large // len(line)) + "needle\n"
    with Tract.open(path, dialog=DIALOG, durability="relaxed") as t:
        _turn(t, "small", "x")
        _turn(t, "large", text)
    with McpProcess(path) as server:
        server.call("get_tool_result", id="small")
        before = server.memory("VmRSS")
        pages = (
            server.call("get_tool_result", id="large"),
            server.call("get_tool_result", id="large", lines="-5"),
            server.call("get_tool_result", id="large", grep="needle"),
            server.call("search_tool_results", query="NEEDLE"),
        )
        grown = server.memory("VmHWM") - before
    assert all(len(page) < 10_000 for page in pages)
    return Result("mcp_large_mb", grown / 1e6, {"longest_answer": max(map(len, pages))})


def _turn(t: Tract, call_id: str, content: str) -> None:
    arguments = {"command": f"run {call_id}"}
    t.assistant(tool_calls=[{"id": call_id, "name": "Bash", "arguments": arguments}])
    t.tool_result(call_id, "Bash", content)


def run(scale: Scale) -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        yield latency(Path(folder), scale)
        yield large_result(Path(folder), scale)


def main() -> None:
    report("mcp_latency", __doc__, AT_MOST, lambda quick: run(QUICK if quick else FULL))


if __name__ == "__main__":
    main()
