"""Where transcripts are looked for."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tract.cli.places import Transcripts, agent_folders, transcripts_in

SESSION = "0a1b2c3d-0000-4000-8000-000000000001"
KEPT = {
    ".claude/projects/-home-me/s.jsonl": "Claude Code",
    f".claude/projects/-home-me/{SESSION}/subagents/agent-1.jsonl": "Claude Code",
    ".codex/sessions/2026/11/16/rollout-1.jsonl": "Codex",
    ".codex/archived_sessions/rollout-2.jsonl": "Codex",
    ".gemini/tmp/slug/chats/session-1.json": "Gemini CLI",
    ".gemini/tmp/slug/chats/session-2.jsonl": "Gemini CLI",
    ".gemini/tmp/slug/chats/parent/child.jsonl": "Gemini CLI",
    ".local/share/opencode/opencode.db": "opencode",
    ".local/share/opencode/opencode-dev.db": "opencode",
    ".qwen/projects/-home-me/chats/s.jsonl": "Qwen Code",
    ".qwen/projects/-home-me/subagents/s/agent-1.jsonl": "Qwen Code",
    ".copilot/session-state/1/events.jsonl": "Copilot CLI",
    ".pi/agent/sessions/--home--/s.jsonl": "pi",
    ".cline/data/sessions/1/1.messages.json": "Cline",
    ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1/"
    "api_conversation_history.json": "Cline",
    ".config/Cursor/User/globalStorage/rooveterinaryinc.roo-cline/tasks/1/"
    "api_conversation_history.json": "Roo Code",
    ".config/io.datasette.llm/logs.db": "llm",
    "project/.aider.chat.history.md": "aider",
    "project/.crush/crush.db": "Crush",
    ".local/share/kilo/kilo.db": "Kilo Code",
    ".local/share/zed/threads/threads.db": "Zed",
    ".local/share/amp/threads/T-1.json": "Amp",
    f".continue/sessions/{SESSION}.json": "Continue",
    ".factory/sessions/-home-me/s.jsonl": "Factory Droid",
    ".cursor/projects/home-me/agent-transcripts/s/s.jsonl": "Cursor",
    ".config/Code/User/workspaceStorage/1/chatSessions/s.jsonl": "VS Code",
    ".config/Code/User/globalStorage/emptyWindowChatSessions/s.json": "VS Code",
}
OTHERS = (
    ".claude/settings.json",
    f".claude/projects/-home-me/{SESSION}/subagents/agent-1.meta.json",
    f".claude/projects/-home-me/{SESSION}/tool-results/1.txt",
    ".claude/projects/folder.jsonl/notes.md",
    ".codex/history.jsonl",
    ".continue/sessions/sessions.json",
    ".factory/sessions/-home-me/s.settings.json",
    ".gemini/tmp/slug/logs.json",
    ".local/share/opencode/opencode.db-wal",
    ".qwen/projects/-home-me/chats/s.runtime.json",
    ".cline/data/sessions/1/1.json",
    ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1/ui_messages.json",
    "project/README.md",
)


def write(home: Path, *names: str, at: float = 0) -> None:
    for name in names:
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("12345")
        os.utime(path, (at, at))


def files(home: Path, platform: str = "linux", **environ: str) -> dict[str, str]:
    """The agent of each file, by its path from home."""
    folders = agent_folders(home, environ, home / "project", platform)
    return {str(path.relative_to(home)): f.agent for f in folders for path in f.files()}


def test_each_agent_has_its_place(tmp_path: Path) -> None:
    write(tmp_path, *KEPT, *OTHERS)
    assert files(tmp_path) == KEPT


@pytest.mark.parametrize(
    ("variable", "value", "name"),
    [
        ("CLAUDE_CONFIG_DIR", "x", "x/projects/p/s.jsonl"),
        ("CODEX_HOME", "x", "x/sessions/rollout-1.jsonl"),
        ("GEMINI_CLI_HOME", "x", "x/.gemini/tmp/p/chats/session-1.json"),
        ("XDG_DATA_HOME", "x", "x/opencode/opencode.db"),
        ("OPENCODE_DB", "x/my.db", "x/my.db"),
        ("QWEN_HOME", "x", "x/projects/p/chats/s.jsonl"),
        ("QWEN_RUNTIME_DIR", "x", "x/projects/p/chats/s.jsonl"),
        ("COPILOT_HOME", "x", "x/session-state/1/events.jsonl"),
        ("PI_CODING_AGENT_DIR", "x", "x/sessions/p/s.jsonl"),
        ("CLINE_DIR", "x", "x/data/sessions/1/1.messages.json"),
        ("CLINE_DATA_DIR", "x", "x/sessions/1/1.messages.json"),
        ("LLM_USER_PATH", "x", "x/logs.db"),
        ("CONTINUE_GLOBAL_DIR", "x", "x/sessions/a-b.json"),
        ("XDG_CONFIG_HOME", "x", "x/io.datasette.llm/logs.db"),
    ],
)
def test_a_variable_moves_the_place(tmp_path: Path, variable: str, value: str, name: str) -> None:
    write(tmp_path, name)
    assert list(files(tmp_path, **{variable: str(tmp_path / value)})) == [name]
    assert files(tmp_path) == {}
    assert files(tmp_path, **{variable: ""}) == {}


@pytest.mark.parametrize(
    ("platform", "programs"),
    [
        ("linux", ".config"),
        ("darwin", "Library/Application Support"),
        ("win32", "AppData/Roaming"),
    ],
)
def test_editors_keep_their_data_where_the_system_says(
    tmp_path: Path, platform: str, programs: str
) -> None:
    tasks = "VSCodium/User/globalStorage/kilocode.kilo-code/tasks"
    name = f"{programs}/{tasks}/7/api_conversation_history.json"
    write(tmp_path, name)
    assert files(tmp_path, platform) == {name: "Kilo Code"}


def test_what_a_folder_holds_is_summed_up(tmp_path: Path) -> None:
    write(tmp_path, ".codex/sessions/rollout-1.jsonl", at=60)
    write(tmp_path, ".codex/sessions/rollout-2.jsonl", at=120)
    folders = agent_folders(tmp_path, {}, tmp_path, "linux")
    newest = datetime(1970, 1, 1, 0, 2, tzinfo=UTC)
    codex = Transcripts("Codex", str(tmp_path / ".codex/sessions"), 2, 10, newest)
    assert transcripts_in(folders) == [codex]


def test_a_link_to_nowhere_is_no_transcript(tmp_path: Path) -> None:
    (tmp_path / ".aider.chat.history.md").symlink_to(tmp_path / "gone")
    assert transcripts_in(agent_folders(tmp_path, {}, tmp_path, "linux")) == []


@pytest.mark.parametrize(
    ("platform", "name"),
    [
        ("linux", ".local/share/zed/threads/threads.db"),
        ("darwin", "Library/Application Support/Zed/threads/threads.db"),
        ("win32", "AppData/Local/Zed/threads/threads.db"),
    ],
)
def test_zed_has_a_folder_of_its_own_on_each_system(
    tmp_path: Path, platform: str, name: str
) -> None:
    write(tmp_path, name)
    assert files(tmp_path, platform) == {name: "Zed"}
