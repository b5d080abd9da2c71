"""Where agents keep their transcripts on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from os import stat_result
from pathlib import Path
from typing import NamedTuple

from tract.cli.target import FOLDER

EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf", "Trae", "Kiro", "Positron")
"""Editors that keep the data of an extension as VS Code does."""
EXTENSIONS = {
    "Cline": "saoudrizwan.claude-dev",
    "Roo Code": "rooveterinaryinc.roo-cline",
    "Kilo Code": "kilocode.kilo-code",
}

ENDINGS = (
    *(".jsonl", ".json", ".traj", ".eval", ".har", ".gz"),
    *(".db", ".sqlite", ".sqlite3", ".vscdb"),
    *(".aider.chat.history.md", ".aider.llm.history"),
)
"""The files of a folder that may be transcripts."""

CONTINUE = "sessions/*-*.json"
"""Sessions are named by UUIDs; `sessions.json` lists them."""


class AgentFolder(NamedTuple):
    """A folder in which an agent keeps transcripts, and the patterns of their names."""

    agent: str
    path: Path
    patterns: tuple[str, ...]

    def files(self) -> list[Path]:
        """The transcripts, sorted; none if the folder does not exist."""
        paths = {path for pattern in self.patterns for path in self.path.glob(pattern)}
        return sorted(path for path in paths if path.is_file())


def files_below(folder: Path) -> Iterator[Path]:
    """The files that may be transcripts, in order. Our own databases are none."""
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != FOLDER)
        for path in (Path(where, name) for name in sorted(names)):
            if path.name.lower().endswith(ENDINGS) and path.is_file():
                yield path


def agent_folders(
    home: Path, environ: Mapping[str, str], here: Path, platform: str
) -> list[AgentFolder]:
    """Where each agent keeps its transcripts. `platform` is that of `sys`."""

    def root(variable: str, default: Path) -> Path:
        return here / (environ.get(variable) or default)

    claude = root("CLAUDE_CONFIG_DIR", home / ".claude")
    codex = root("CODEX_HOME", home / ".codex")
    gemini = root("GEMINI_CLI_HOME", home) / ".gemini"
    qwen = root("QWEN_RUNTIME_DIR", root("QWEN_HOME", home / ".qwen"))
    copilot = root("COPILOT_HOME", home / ".copilot")
    pi = root("PI_CODING_AGENT_DIR", home / ".pi" / "agent")
    cline = root("CLINE_DATA_DIR", root("CLINE_DIR", home / ".cline") / "data")
    data = root("XDG_DATA_HOME", home / ".local" / "share")
    opencode = data / "opencode" / (environ.get("OPENCODE_DB") or "opencode*.db")
    programs = _programs(home, environ, platform)
    return [
        AgentFolder("Claude Code", claude / "projects", ("**/*.jsonl",)),
        AgentFolder("Codex", codex / "sessions", ("**/rollout-*.jsonl",)),
        AgentFolder("Codex", codex / "archived_sessions", ("**/rollout-*.jsonl",)),
        AgentFolder("Gemini CLI", gemini / "tmp", ("*/chats/**/*.json", "*/chats/**/*.jsonl")),
        AgentFolder("opencode", opencode.parent, (opencode.name,)),
        AgentFolder("Kilo Code", data / "kilo", ("kilo*.db",)),
        AgentFolder("Qwen Code", qwen / "projects", ("*/chats/*.jsonl", "*/subagents/**/*.jsonl")),
        AgentFolder("Copilot CLI", copilot / "session-state", ("*/events.jsonl", "*.jsonl")),
        AgentFolder("pi", pi / "sessions", ("**/*.jsonl",)),
        AgentFolder("Cline", cline / "sessions", ("*/*.messages.json",)),
        *_of_extensions(programs),
        AgentFolder("VS Code", programs, tuple(_chats())),
        AgentFolder("Cursor", home / ".cursor" / "projects", ("*/agent-transcripts/**/*.jsonl",)),
        AgentFolder("Factory Droid", home / ".factory" / "sessions", ("**/*.jsonl",)),
        AgentFolder("Amp", data / "amp" / "threads", ("T-*.json",)),
        AgentFolder("Continue", root("CONTINUE_GLOBAL_DIR", home / ".continue"), (CONTINUE,)),
        AgentFolder("Crush", here / ".crush", ("crush.db",)),
        AgentFolder("Zed", _zed(data, programs, environ, platform), ("threads/threads.db",)),
        AgentFolder("llm", root("LLM_USER_PATH", programs / "io.datasette.llm"), ("logs.db",)),
        AgentFolder("aider", here, (".aider.chat.history.md",)),
    ]


def _programs(home: Path, environ: Mapping[str, str], platform: str) -> Path:
    """The folder in which programs keep their settings."""
    if platform == "win32":
        return Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
    if platform == "darwin":
        return home / "Library" / "Application Support"
    return Path(environ.get("XDG_CONFIG_HOME") or home / ".config")


def _zed(data: Path, programs: Path, environ: Mapping[str, str], platform: str) -> Path:
    if platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or programs.parent / "Local") / "Zed"
    return programs / "Zed" if platform == "darwin" else data / "zed"


def _chats() -> Iterator[str]:
    """The patterns of VS Code's own chats."""
    for editor in EDITORS:
        yield f"{editor}/User/workspaceStorage/*/chatSessions/*.json*"
        yield f"{editor}/User/globalStorage/emptyWindowChatSessions/*.json*"


def _of_extensions(programs: Path) -> Iterator[AgentFolder]:
    for agent, extension in EXTENSIONS.items():
        tasks = f"User/globalStorage/{extension}/tasks/*/api_conversation_history.json"
        yield AgentFolder(agent, programs, tuple(f"{editor}/{tasks}" for editor in EDITORS))


class Transcripts(NamedTuple):
    """The transcripts of one agent in one folder."""

    agent: str
    folder: str
    files: int
    bytes: int
    newest: datetime


def transcripts_in(folders: list[AgentFolder]) -> list[Transcripts]:
    """What the folders hold. Those without a transcript are left out."""
    stats = ((folder, _stats(folder.files())) for folder in folders)
    return [_transcripts(folder, stats) for folder, stats in stats if stats]


def _stats(paths: list[Path]) -> list[stat_result]:
    """Of the files that still exist."""
    stats = []
    for path in paths:
        with suppress(FileNotFoundError):
            stats.append(path.stat())
    return stats


def _transcripts(folder: AgentFolder, stats: list[stat_result]) -> Transcripts:
    newest = datetime.fromtimestamp(max(stat.st_mtime for stat in stats), UTC)
    size = sum(stat.st_size for stat in stats)
    return Transcripts(folder.agent, str(folder.path), len(stats), size, newest)
