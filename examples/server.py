"""A server, an agent that stores a result there, and a program that reads a part of it over HTTP.

Run it with `.venv/bin/python examples/server.py`. It needs no key, and no network but this machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote
from urllib.request import Request, urlopen

import tract
from tract import ToolCall

LOG = "".join(f"09:{n // 60:02}:{n % 60:02} INFO step {n} ok\n" for n in range(900))


@contextmanager
def server(database: Path) -> Iterator[dict[str, str]]:
    """`tract serve` in a process of its own: its url and its token."""
    command = [sys.executable, "-m", "tract", "--db", str(database), "serve"]
    command += ["--port", "0", "--json", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()


def work(url: str, token: str) -> None:
    """What an agent does, in any process that reaches the server."""
    with tract.connect(url, token=token, dialog="ci/build") as t:
        t.configure_results(inline_tokens=1000, preview_tokens=50)
        t.user("Why is the build red?")
        t.assistant(tool_calls=[ToolCall("call_1", "read_log", {"job": "build"})])
        t.tool_result("call_1", "read_log", LOG)
        print("The model is sent:\n")
        print(t.compile().to_openai()[-1]["content"])


def fetch(url: str, token: str, dialog: str, call: str, lines: str) -> str:
    """A part of a result, as a program in any language gets it."""
    path = f"/api/dialogs/{quote(dialog, safe='')}/tool-results/{quote(call, safe='')}"
    headers = {"Authorization": f"Bearer {token}"}
    with urlopen(Request(f"{url}{path}?lines={lines}", headers=headers)) as answer:
        return str(answer.read().decode())


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, server(Path(folder, "agents.db")) as start:
        url, token = start["url"], start["token"]
        work(url, token)
        print("\nGET …/tool-results/call_1?lines=501 answers:\n")
        print(fetch(url, token, "ci/build", "call_1", "501"))


if __name__ == "__main__":
    main()
