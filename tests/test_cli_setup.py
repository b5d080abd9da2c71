"""`tract setup`, as a process with a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli import content_of, on_a_terminal, read_until, run
from tract import Tract
from tract.hooks.clients import CLIENTS

USER = {
    ".claude/settings.json": '{\n    "model": "opus",\n    "hooks": {"Stop": [{"hooks": []}]}\n}',
    ".claude.json": '{"numStartups": 3}\n',
    ".codex/config.toml": 'model = "m"  # mine\n\n[projects."/x"]\ntrust_level = "trusted"\n',
    ".gemini/settings.json": '{\n\t"theme": "dark"\n}\n',
    ".copilot/mcp-config.json": '{"mcpServers": {}}',
    ".config/opencode/opencode.json": '{"$schema": "x", "plugin": ["a"]}\n',
}


class Home:
    """The home directory of a test."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "home"
        self.work = folder / "work"
        for name, text in USER.items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_text(text)
        self.work.mkdir()

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        home = str(self.path)
        env = {"HOME": home, "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""}
        return run(*args, env=env, cwd=self.work, stdin=subprocess.DEVNULL)

    def ok(self, *args: str) -> str:
        done = self.run(*args)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def settings(self) -> dict[str, bytes]:
        files = {str(p.relative_to(self.path)): data for p, data in content_of(self.path).items()}
        return {name: data for name, data in files.items() if not name.startswith(".local")}

    def json(self, name: str) -> Any:
        return json.loads((self.path / name).read_text())


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.mark.parametrize("client", CLIENTS)
def test_setup_is_repeatable_and_undo_restores_every_byte(home: Home, client: str) -> None:
    before = home.settings()
    out = home.ok("setup", client, "--yes")
    assert f"database: {home.path}/.local/share/tract/tract.db (of this user)" in out
    after = home.settings()
    assert after != before
    assert "is set up already" in home.ok("setup", client, "--yes")
    assert home.settings() == after
    home.ok("setup", client, "--undo", "--yes")
    assert home.settings() == before
    assert "nothing to undo" in home.ok("setup", client, "--undo", "--yes")


def test_the_change_is_shown_and_nothing_is_written_without_consent(home: Home) -> None:
    before = content_of(home.path)
    done = home.run("setup", "claude")
    assert done.returncode == 2
    assert '+  "mcpServers"' in done.stdout or '"mcpServers"' in done.stdout
    assert "confirm with --yes" in done.stderr
    assert content_of(home.path) == before


def test_a_person_is_asked(home: Home) -> None:
    home_of = {"HOME": str(home.path), "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": ""}
    with on_a_terminal("setup", "gemini", columns=80, **home_of) as (process, terminal):
        text = read_until(terminal, "[y/N]")
        os.write(terminal, b"y\n")
        read_until(terminal, None)
        assert process.wait(60) == 0, text
    assert "tract" in home.json(".gemini/settings.json")["mcpServers"]


def test_commands_are_absolute_and_name_the_database(home: Home) -> None:
    home.ok("--db", "own.db", "setup", "claude", "--yes", "--inline-tokens", "7")
    [group] = home.json(".claude/settings.json")["hooks"]["PostToolUse"]
    command = group["hooks"][0]["command"]
    db = str(home.work / "own.db")
    assert command.startswith("/")
    assert command.endswith(f"--db {db} hook claude --inline-tokens 7")
    server = home.json(".claude.json")["mcpServers"]["tract"]
    assert db in server["args"]
    assert (server["args"][-3:], server["alwaysLoad"]) == (["mcp", "--session", "auto"], True)
    Tract.open(db, create=True).close()
    backup = home.path / ".claude" / "settings.json.tract-backup"
    assert backup.read_text() == USER[".claude/settings.json"]


def test_parts_can_be_left_out(home: Home) -> None:
    home.ok("setup", "claude", "--yes", "--no-mcp", "--no-import", "--store-only")
    hooks = home.json(".claude/settings.json")["hooks"]
    assert list(hooks) == ["Stop", "PostToolUse", "PostToolUseFailure"]
    assert hooks["PostToolUse"][0]["hooks"][0]["command"].endswith(" hook claude")
    assert (home.path / ".claude.json").read_text() == USER[".claude.json"]
    done = home.run("setup", "claude", "--no-hook", "--no-mcp", "--no-import")
    assert done.returncode == 2


def test_a_project_uses_its_own_database_if_it_has_one(home: Home) -> None:
    assert "(of this user)" in home.ok("setup", "gemini", "--project", "--yes")
    home.ok("setup", "gemini", "--project", "--yes", "--undo")
    home.ok("init")
    out = home.ok("setup", "gemini", "--project", "--yes")
    assert f"database: {home.work}/.tract/tract.db (of this project)" in out
    assert (home.work / ".gemini" / "settings.json").exists()
    assert home.json(".gemini/settings.json") == {"theme": "dark"}


def test_comments_are_never_destroyed(home: Home) -> None:
    file = home.path / ".gemini" / "settings.json"
    file.write_text('{\n  // mine\n  "theme": "dark"\n}\n')
    done = home.run("setup", "gemini", "--yes")
    assert done.returncode == 2
    assert "add this yourself" in done.stderr
    assert file.read_text() == '{\n  // mine\n  "theme": "dark"\n}\n'


def test_a_database_in_memory_is_refused(home: Home) -> None:
    assert home.run("--db", ":memory:", "setup", "claude", "--yes").returncode == 2


def test_the_report_is_data_too(home: Home) -> None:
    report = json.loads(home.ok("setup", "gemini", "--yes", "--json"))
    [file] = report["files"]
    assert (report["client"], report["undo"]) == ("gemini", False)
    assert file["path"] == str(home.path / ".gemini" / "settings.json")
    assert file["backup"].endswith("settings.json.tract-backup")
    assert '+\t\t"tract": {' in file["diff"]
    assert json.loads(home.ok("setup", "gemini", "--yes", "--json"))["files"] == []
    undone = json.loads(home.ok("setup", "gemini", "--undo", "--yes", "--json"))
    assert [(f["is_removed"], f["backup"]) for f in undone["files"]] == [(False, None)]
