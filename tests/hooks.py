"""Events of agents, and their hook as a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.cli import environment
from tract import Tract
from tract.hooks.archive import Limits, keep
from tract.hooks.events import ToolResult
from tract.hooks.journal import last_lines

SESSION = "0199-session"
LONG = "\n".join(f"line {number}: all is well in module {number % 7}" for number in range(2_000))


def claude(tool: str, response: Any, call: str = "toolu_1", **more: Any) -> dict[str, Any]:
    """A `PostToolUse` event of Claude Code; that of Codex has the same fields."""
    return {
        "session_id": SESSION,
        "transcript_path": "/nowhere/0199-session.jsonl",
        "cwd": "/work/shop",
        "hook_event_name": "PostToolUse",
        "tool_name": tool,
        "tool_input": {"command": "make test"},
        "tool_use_id": call,
        "tool_response": response,
        **more,
    }


def bash(stdout: str, **more: Any) -> dict[str, Any]:
    return {"stdout": stdout, "stderr": "", "interrupted": False, "isImage": False, **more}


class Hook:
    """`tract hook` with a database and a log of its own."""

    def __init__(self, folder: Path, db: str | None = None) -> None:
        self.folder = folder
        self.db = db or str(folder / "hook.db")
        self.env = environment(XDG_STATE_HOME=str(folder / "state"), HOME=str(folder / "home"))

    def command(self, client: str, *options: str) -> list[str]:
        """The command, with time enough on a busy machine."""
        hook = ["hook", client, "--deadline", "60"]
        return [sys.executable, "-m", "tract", "--db", self.db, *hook, *options]

    def raw(self, client: str, data: bytes, *options: str) -> bytes:
        """What the hook prints. It must not fail, nor complain."""
        done = subprocess.run(
            self.command(client, *options),
            input=data,
            env=self.env,
            capture_output=True,
            timeout=60,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout

    def send(self, client: str, event: Any, *options: str) -> Any:
        """The answer to an event; None if the hook prints nothing."""
        out = self.raw(client, json.dumps(event).encode(), *options)
        return json.loads(out) if out else None

    @property
    def log(self) -> list[dict[str, Any]]:
        return last_lines(self.folder / "state" / "tract" / "hook.log", 100)


TOOL = "mcp__tract__get_tool_result"


def hook(tract: Tract, call_id: str = "t1", content: str = LONG) -> str:
    """What a hook sends the model after it has stored a result."""
    answers: list[str | None] = []
    report = ToolResult("s", call_id, "Read", content, lambda text: {"text": text})

    def deliver(text: str | None) -> bool:
        answers.append(text)
        return True

    session = tract.sibling("s.results").session
    keep(session, report, "Claude Code", Limits(100, 50), TOOL, deliver)
    [text] = answers
    assert text is not None
    return text
