"""What `tract setup` adds to the settings of each agent. Pure."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tract.errors import InputError
from tract.hooks.json_edit import Path as Keys
from tract.model import Json

SERVER = "tract"
"""The name of the MCP server. The names of its tools begin with it."""
HOOK, MCP, IMPORT = PARTS = ("hook", "mcp", "import")
CLAUDE_RULES = tuple(
    f"mcp__{SERVER}__{tool}"
    for tool in ("get_tool_result", "list_tool_results", "search_tool_results")
)
"""The tools that only read what is stored."""
INLINE_TOKENS = 4_000
SECONDS = 5
"""How long an agent waits for the hook, which ends by itself before."""


class Entry(NamedTuple):
    """One thing that is added to a file of settings."""

    part: str
    keys: Keys
    value: Json
    is_element: bool = False
    """Whether it is an element of the list at the keys, and not the value at the keys."""


class Settings(NamedTuple):
    """A file of settings, and what is added to it."""

    file: Path
    entries: tuple[Entry, ...]
    format: str = "json"


class OwnFile(NamedTuple):
    """A file that holds nothing else."""

    file: Path
    parts: tuple[str, ...]
    text: str


Change = Settings | OwnFile


class Commands(NamedTuple):
    """The command lines that an agent starts."""

    tract: tuple[str, ...]
    """An absolute path, so that they work in any directory."""
    db: str
    inline_tokens: int | None = INLINE_TOKENS
    preview_tokens: int | None = None

    def hook(self, client: str, *more: str) -> tuple[str, ...]:
        options = ["--db", self.db, "hook", client]
        if self.inline_tokens is not None:
            options += ["--inline-tokens", str(self.inline_tokens)]
            if self.preview_tokens is not None:
                options += ["--preview-tokens", str(self.preview_tokens)]
        return (*self.tract, *options, *more)

    def mcp(self) -> tuple[str, ...]:
        return (*self.tract, "--db", self.db, "mcp", "--session", "auto")


class Where(NamedTuple):
    """Whose settings are changed: those of a user, or those of a project."""

    home: Path
    environ: Mapping[str, str]
    project: Path | None = None

    def folder(self, name: str, variable: str | None = None) -> Path:
        """The agent's folder of settings."""
        if self.project is not None:
            return self.project / name
        own = self.environ.get(variable or "")
        return Path(own) if own else self.home / name


def plan(client: str, where: Where, commands: Commands, parts: tuple[str, ...]) -> list[Change]:
    """The changes for an agent, reduced to these parts."""
    changes = []
    for change in _PLANS[client](where, commands, parts):
        if isinstance(change, OwnFile):
            kept: Change | None = change if set(change.parts) & set(parts) else None
        else:
            entries = tuple(entry for entry in change.entries if entry.part in parts)
            kept = change._replace(entries=entries) if entries else None
        if kept is not None:
            changes.append(kept)
    return changes


def is_own_command(value: Json, client: str) -> bool:
    """Whether a value of the settings starts tract's hook for this agent."""
    if isinstance(value, dict):
        return any(is_own_command(inner, client) for inner in value.values())
    if isinstance(value, list):
        return any(is_own_command(inner, client) for inner in value)
    return isinstance(value, str) and f" hook {client}" in value and "tract" in value


def is_own_server(value: Json) -> bool:
    """Whether a value of the settings starts tract's MCP server."""
    if not isinstance(value, dict):
        return False
    command, arguments = value.get("command"), value.get("args", [])
    words = [*([command] if isinstance(command, str) else command or [])]
    words += arguments if isinstance(arguments, list) else []
    return "mcp" in words and any("tract" in str(word) for word in words)


def is_rule(entry: Entry) -> bool:
    """Whether an entry lets the model call a tool without asking the person."""
    return entry.is_element and isinstance(entry.value, str)


# The agents


def _shell(words: tuple[str, ...]) -> str:
    if os.name == "nt":
        from subprocess import list2cmdline

        return list2cmdline(words)
    return shlex.join(words)


def _server(commands: Commands, **more: Json) -> Json:
    command, *arguments = commands.mcp()
    return {**more, "command": command, "args": arguments}


def _claude(where: Where, commands: Commands, _: tuple[str, ...]) -> Iterator[Change]:
    handler = {"type": "command", "command": _shell(commands.hook("claude")), "timeout": SECONDS}
    folder = where.folder(".claude", "CLAUDE_CONFIG_DIR")
    # The settings of a project are shared; these name paths of one machine.
    name = "settings.json" if where.project is None else "settings.local.json"
    yield Settings(
        folder / name,
        (
            *_hooks(("PostToolUse", "PostToolUseFailure"), {"matcher": "*", "hooks": [handler]}),
            *_hooks(("SessionEnd",), {"hooks": [handler]}, IMPORT),
            # Without these, Claude Code asks for each fetch, or denies it where nobody can answer.
            *(Entry(MCP, ("permissions", "allow"), rule, is_element=True) for rule in CLAUDE_RULES),
        ),
    )
    server = _server(commands, type="stdio") | {"alwaysLoad": True}
    if where.project is not None:
        file = where.project / ".mcp.json"
    elif where.environ.get("CLAUDE_CONFIG_DIR"):
        file = folder / ".claude.json"
    else:
        file = where.home / ".claude.json"
    yield Settings(file, (Entry(MCP, ("mcpServers", SERVER), server),))


def _codex(where: Where, commands: Commands, _: tuple[str, ...]) -> Iterator[Change]:
    handler = {"type": "command", "command": _shell(commands.hook("codex"))}
    folder = where.folder(".codex", "CODEX_HOME")
    yield Settings(
        folder / "hooks.json",
        (
            *_hooks(("PostToolUse",), {"matcher": "*", "hooks": [handler | {"timeout": SECONDS}]}),
            *_hooks(("SessionEnd",), {"hooks": [handler]}, IMPORT),
        ),
    )
    server = _server(commands)
    yield Settings(folder / "config.toml", (Entry(MCP, ("mcp_servers", SERVER), server),), "toml")


def _gemini(where: Where, commands: Commands, _: tuple[str, ...]) -> Iterator[Change]:
    command = _shell(commands.hook("gemini"))
    handler = {"name": "tract", "type": "command", "command": command, "timeout": SECONDS * 1000}
    if where.project is None:
        folder = Path(where.environ.get("GEMINI_CLI_HOME") or where.home) / ".gemini"
    else:
        folder = where.project / ".gemini"
    yield Settings(
        folder / "settings.json",
        (
            *_hooks(("AfterTool",), {"matcher": "*", "hooks": [handler]}),
            *_hooks(("SessionEnd",), {"hooks": [handler]}, IMPORT),
            Entry(MCP, ("mcpServers", SERVER), _server(commands)),
        ),
    )


def _copilot(where: Where, commands: Commands, parts: tuple[str, ...]) -> Iterator[Change]:
    if where.project is not None:
        raise InputError("Copilot CLI runs only the hooks of a user: use --user")
    folder = where.folder(".copilot", "COPILOT_HOME")
    command = _shell(commands.hook("copilot"))
    handler = {"type": "command", "command": command, "timeoutSec": SECONDS}
    events = [*(["postToolUse", "postToolUseFailure"] if HOOK in parts else [])]
    events += ["sessionEnd"] if IMPORT in parts else []
    document = {"version": 1, "hooks": {event: [handler] for event in events}}
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    yield OwnFile(folder / "hooks" / "tract.json", (HOOK, IMPORT), text)
    server = _server(commands, type="local") | {"tools": ["*"]}
    yield Settings(folder / "mcp-config.json", (Entry(MCP, ("mcpServers", SERVER), server),))


def _opencode(where: Where, commands: Commands, parts: tuple[str, ...]) -> Iterator[Change]:
    if where.project is None:
        config = where.environ.get("XDG_CONFIG_HOME") or where.home / ".config"
        folder, settings = Path(config) / "opencode", Path(config) / "opencode"
    else:
        folder, settings = where.project / ".opencode", where.project
    words = commands.hook("opencode", *([] if IMPORT in parts else ["--no-import"]))
    source = Path(__file__).with_name("opencode_plugin.js").read_text("utf-8")
    text = source.replace("COMMAND = []", f"COMMAND = {json.dumps(words)}")
    yield OwnFile(folder / "plugin" / "tract.js", (HOOK,), text)
    file = settings / "opencode.json"
    if not file.exists() and file.with_suffix(".jsonc").exists():
        file = file.with_suffix(".jsonc")
    server = {"type": "local", "command": list(commands.mcp()), "enabled": True}
    yield Settings(file, (Entry(MCP, ("mcp", SERVER), server),))


def _hooks(events: tuple[str, ...], group: Json, part: str = HOOK) -> Iterator[Entry]:
    return (Entry(part, ("hooks", event), group, is_element=True) for event in events)


_PLANS = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "copilot": _copilot,
    "opencode": _opencode,
}
