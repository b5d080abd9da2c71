"""The corpus of real transcripts beside the repository; where it is absent, its tests are too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
RELEASES = DATA / "mcp-tool-schemas"
BY_FOLDER = {
    "atif-trajectory": "atif",
    "claude-code-jsonl": "claude_code",
    "codex-rollout-jsonl": "codex",
    "copilot-chatreplay": "copilot_chat",
    "copilot-cli-jsonl": "copilot_cli",
    "gemini-cli-session": "gemini_cli",
    "goose-recording": "goose",
    "http-cassette-json": "exchanges",
    "inspect-eval": "inspect_log",
    "inspect-json": "inspect_log",
    "langchain-dumpd": "langchain",
    "langfuse-trace": "langfuse",
    "langgraph-thread": "langgraph",
    "mastra-recording": "mastra",
    "openai-chat-tau": "openai_chat",
    "openhands-events": "openhands_events",
    "openhands-llm-log": "openhands_log",
    "pi-session-jsonl": "pi",
    "swe-agent-traj": "swe_agent",
    "tau2-simulation": "tau2",
    "vcr-pairs-jsonl": "exchanges",
    "vercel-anthropic-response": "requests",
    "vercel-openai-response": "requests",
}
"""Which importer takes the files of each folder."""


def real_files(folder: str) -> list[Path]:
    """The files of one kind; none where the data is not here."""
    found = DATA / folder
    return sorted(found.iterdir()) if found.exists() else []


def in_manifest(path: Path) -> dict[str, Any]:
    rows = json.loads((DATA / "manifest.json").read_bytes())
    (row,) = (row for row in rows if row["file"] == f"{path.parent.name}/{path.name}")
    return dict(row)


NO_TRANSCRIPTS = ("mcp-tool-schemas", "mcp-stdio-replay", "toolbench-answer")
REAL = sorted(
    path
    for path in (DATA.glob("*/*") if DATA.exists() else ())
    if path.parent.name not in NO_TRANSCRIPTS
)
