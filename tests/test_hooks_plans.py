"""What setup adds to the settings of each agent."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tract.errors import InputError
from tract.hooks.clients import CLIENTS
from tract.hooks.plans import (
    PARTS,
    Change,
    Commands,
    OwnFile,
    Settings,
    Where,
    is_own_command,
    is_own_server,
    plan,
)

HOME = Path("/home/me")
COMMANDS = Commands(("/opt/my tools/tract",), "/data/t.db", 1000, 50)
HOOK = "'/opt/my tools/tract' --db /data/t.db hook {} --inline-tokens 1000 --preview-tokens 50"


def changes(client: str, parts: tuple[str, ...] = PARTS, **environ: str) -> list[Change]:
    return plan(client, Where(HOME, environ), COMMANDS, parts)


def files(client: str, **environ: str) -> list[str]:
    return [str(change.file) for change in changes(client, PARTS, **environ)]


def test_each_agent_has_its_files() -> None:
    assert files("claude") == ["/home/me/.claude/settings.json", "/home/me/.claude.json"]
    assert files("claude", CLAUDE_CONFIG_DIR="/c") == ["/c/settings.json", "/c/.claude.json"]
    assert files("codex") == ["/home/me/.codex/hooks.json", "/home/me/.codex/config.toml"]
    assert files("codex", CODEX_HOME="/c") == ["/c/hooks.json", "/c/config.toml"]
    assert files("gemini", GEMINI_CLI_HOME="/g") == ["/g/.gemini/settings.json"]
    assert files("copilot", COPILOT_HOME="/c") == ["/c/hooks/tract.json", "/c/mcp-config.json"]
    assert files("opencode", XDG_CONFIG_HOME="/x") == [
        "/x/opencode/plugin/tract.js",
        "/x/opencode/opencode.json",
    ]


def test_a_project_has_its_own_settings(tmp_path: Path) -> None:
    where = Where(HOME, {"CODEX_HOME": "/c"}, tmp_path)
    names = {
        client: [str(c.file.relative_to(tmp_path)) for c in plan(client, where, COMMANDS, PARTS)]
        for client in CLIENTS
        if client != "copilot"
    }
    assert names == {
        "claude": [".claude/settings.local.json", ".mcp.json"],
        "codex": [".codex/hooks.json", ".codex/config.toml"],
        "gemini": [".gemini/settings.json"],
        "opencode": [".opencode/plugin/tract.js", "opencode.json"],
    }
    with pytest.raises(InputError, match="--user"):
        plan("copilot", where, COMMANDS, PARTS)


@pytest.mark.parametrize("client", CLIENTS)
def test_commands_are_absolute_and_quoted(client: str) -> None:
    text = repr(changes(client))
    if client == "opencode":
        [plugin] = [c for c in changes(client) if isinstance(c, OwnFile)]
        line = next(line for line in plugin.text.splitlines() if "COMMAND = " in line)
        words = json.loads(line.partition(" = ")[2])
        assert shlex.join(words) == HOOK.format(client)
    elif client == "copilot":
        assert json.dumps(HOOK.format(client))[1:-1] in text.replace("\\'", "'")
    else:
        [settings, *_] = changes(client)
        assert isinstance(settings, Settings)
        assert HOOK.format(client) in repr(settings.entries[0].value)
    assert "'mcp'" in text


def test_parts_can_be_left_out() -> None:
    [hooks] = changes("gemini", ("hook",))
    assert isinstance(hooks, Settings)
    assert [entry.keys for entry in hooks.entries] == [("hooks", "AfterTool")]
    [server] = changes("copilot", ("mcp",))
    assert server.file.name == "mcp-config.json"
    [own] = changes("copilot", ("import",))
    assert isinstance(own, OwnFile)
    assert list(json.loads(own.text)["hooks"]) == ["sessionEnd"]
    plugin, _ = changes("opencode", ("hook", "mcp"))
    assert isinstance(plugin, OwnFile)
    assert '"--no-import"' in plugin.text


def test_comments_are_kept_in_a_jsonc_file(tmp_path: Path) -> None:
    (tmp_path / "opencode").mkdir()
    (tmp_path / "opencode" / "opencode.jsonc").write_text("{}")
    names = files("opencode", XDG_CONFIG_HOME=str(tmp_path))
    assert names[1].endswith("opencode.jsonc")


def test_own_entries_are_recognized() -> None:
    assert is_own_command({"hooks": [{"command": HOOK.format("claude")}]}, "claude")
    assert not is_own_command({"hooks": [{"command": HOOK.format("codex")}]}, "claude")
    assert not is_own_command({"hooks": [{"command": "my-own hook claude"}]}, "claude")
    assert is_own_server({"command": "/bin/tract", "args": ["--db", "x", "mcp"]})
    assert is_own_server({"command": ["python", "-m", "tract", "mcp"]})
    for value in (None, {}, {"command": "tract"}, {"command": "other", "args": ["mcp"]}):
        assert not is_own_server(value)
