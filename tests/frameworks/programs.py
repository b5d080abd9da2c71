"""The programs on the pages of frameworks, as a person runs them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.llm_server import LLMServer, Reply
from tract import Tract, validate

ROOT = Path(__file__).resolve().parents[2]


ANSWER = Reply("Line 4243 is fine.")


def check_program(name: str, folder: Path, answer: Reply = ANSWER) -> None:
    """The program of a page runs, and the page shows it as it is."""
    program = ROOT / "examples" / "frameworks" / f"{name}_agent.py"
    page = (ROOT / "docs" / "frameworks" / f"{name}.md").read_text("utf-8")
    assert program.read_text("utf-8") in page
    replies = [
        Reply(calls=[("call_1", "read_log", {"path": "orders.log"})]),
        Reply(calls=[("call_2", "get_tool_result", {"id": "call_1", "lines": "4243"})]),
        answer,
    ]
    with LLMServer(*replies) as server:
        command = [sys.executable, str(program), server.openai_url]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "Line 4243 is fine." in done.stdout
        assert [validate(request.body, "openai") for request in server.requests] == [[], [], []]
        assert all(len(str(request.body)) < 20_000 for request in server.requests)
    with Tract.open(folder / "agent.db") as t:
        assert len(t.get_content(t.list_tool_results("call_1")[0].commit_hash)) > 100_000
