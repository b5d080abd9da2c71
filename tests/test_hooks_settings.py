"""Files of settings: what setup adds, undo removes, and nothing else changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tract.errors import InputError
from tract.hooks.plans import CLAUDE_RULES, PARTS, Commands, Settings, Where, plan
from tract.hooks.settings import (
    BACKUP,
    added,
    has,
    installed_commands,
    removed,
    setup_edit,
    undo_edit,
    write,
)

COMMANDS = Commands(("/bin/tract",), "/data/t.db")
OTHERS = {"Stop": [{"hooks": [{"type": "command", "command": "beep"}]}], "PostToolUse": [{"a": 1}]}
USERS = st.fixed_dictionaries(
    {},
    optional={
        "model": st.text(max_size=5),
        "hooks": st.sampled_from([{}, {"Stop": []}, {"PostToolUse": []}, OTHERS]),
        "mcpServers": st.sampled_from([{}, {"other": {"command": "x"}}]),
        "permissions": st.sampled_from([{}, {"allow": []}, {"allow": ["Bash"], "deny": ["Read"]}]),
    },
)


def settings(client: str, folder: Path, commands: Commands = COMMANDS) -> list[Settings]:
    changes = plan(client, Where(folder, {}), commands, PARTS)
    return [change for change in changes if isinstance(change, Settings)]


def set_up(change: Settings, client: str) -> None:
    write(setup_edit(change, client))


def undo(change: Settings, client: str) -> None:
    write(undo_edit(change, client))


@given(USERS, st.sampled_from([None, 2, "\t"]), st.sampled_from(["claude", "gemini"]))
def test_what_is_added_is_removed_and_nothing_else(user: Any, style: Any, client: str) -> None:
    text = json.dumps(user, indent=style)
    for change in settings(client, Path("/home/me")):
        changed = added(change, text, client)
        assert added(change, changed, client) == changed
        assert json.loads(removed(change, changed, client, text)) == user


@given(USERS)
def test_an_edit_of_the_user_in_between_stays(user: Any) -> None:
    [change] = settings("gemini", Path("/home/me"))
    text = json.dumps(user, indent=2)
    document = json.loads(added(change, text, "gemini"))
    document["hooks"]["AfterTool"].insert(0, {"mine": True})
    document["theme"] = "dark"
    after = json.loads(removed(change, json.dumps(document), "gemini", text))
    assert after["theme"] == "dark"
    assert after["hooks"] == user.get("hooks", {}) | {"AfterTool": [{"mine": True}]}
    assert after.get("mcpServers") == user.get("mcpServers")


@pytest.mark.parametrize(
    "before", [b"", b"{}", b"{ }", b"\xef\xbb\xbf{\r\n}\r\n", b'{"a":1}', b'{"hooks": {  } }\n']
)
def test_undo_restores_every_byte(tmp_path: Path, before: bytes) -> None:
    for client in ("claude", "gemini"):
        for change in settings(client, tmp_path):
            change.file.parent.mkdir(exist_ok=True)
            change.file.write_bytes(before)
            set_up(change, client)
            assert has(change, client)
            undo(change, client)
            assert change.file.read_bytes() == before
            assert not change.file.with_name(change.file.name + BACKUP).exists()


def test_a_file_that_setup_created_is_deleted(tmp_path: Path) -> None:
    for client in ("claude", "codex", "gemini", "copilot", "opencode"):
        for change in settings(client, tmp_path):
            set_up(change, client)
            assert has(change, client)
            undo(change, client)
            assert not change.file.exists()


def test_other_options_replace_the_entries_and_the_backup_stays(tmp_path: Path) -> None:
    [change] = settings("gemini", tmp_path)
    change.file.parent.mkdir()
    change.file.write_text('{"theme": "dark"}')
    set_up(change, "gemini")
    [other] = settings("gemini", tmp_path, Commands(("/bin/tract",), "/data/other.db"))
    set_up(other, "gemini")
    assert all("/data/other.db" in command for command in installed_commands(other, "gemini"))
    assert not setup_edit(other, "gemini").is_change
    undo(change, "gemini")
    assert change.file.read_text() == '{"theme": "dark"}'


def test_undo_after_an_edit_removes_only_the_entries(tmp_path: Path) -> None:
    change = settings("claude", tmp_path)[0]
    change.file.parent.mkdir()
    change.file.write_text('{\n  "model": "a",\n  "hooks": {}\n}\n')
    set_up(change, "claude")
    text = change.file.read_text().replace('"a"', '"b"')
    change.file.write_text(text)
    undo(change, "claude")
    assert change.file.read_text() == '{\n  "model": "b",\n  "hooks": {}\n}\n'


@pytest.mark.parametrize("text", ['{"a": 1} // why', '{"hooks": []}', "[1]"])
def test_a_file_that_cannot_be_edited_is_left_alone_with_advice(tmp_path: Path, text: str) -> None:
    change = settings("claude", tmp_path)[0]
    change.file.parent.mkdir()
    change.file.write_text(text)
    with pytest.raises(InputError, match="add this yourself:") as error:
        setup_edit(change, "claude")
    assert str(change.file) in str(error.value)
    assert '"PostToolUse"' in str(error.value)
    assert change.file.read_text() == text


def test_another_server_of_that_name_is_not_overwritten(tmp_path: Path) -> None:
    [change] = settings("gemini", tmp_path)
    change.file.parent.mkdir()
    change.file.write_text('{"mcpServers": {"tract": {"command": "mine"}}}')
    with pytest.raises(InputError, match="does not start tract"):
        setup_edit(change, "gemini")
    assert not undo_edit(change, "gemini").is_change


def test_a_link_stays_a_link_and_keeps_its_mode(tmp_path: Path) -> None:
    [change] = settings("gemini", tmp_path)
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    real.chmod(0o640)
    change.file.parent.mkdir()
    change.file.symlink_to(real)
    set_up(change, "gemini")
    assert change.file.is_symlink()
    assert (real.stat().st_mode & 0o777, "tract" in real.read_text()) == (0o640, True)
    undo(change, "gemini")
    assert real.read_text() == "{}"


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    [change] = settings("gemini", tmp_path)
    change.file.parent.mkdir()
    change.file.write_bytes(b'{"a": "\xe9"}')
    with pytest.raises(InputError, match="not UTF-8"):
        setup_edit(change, "gemini")


def test_a_rule_that_a_person_had_is_there_after_undo(tmp_path: Path) -> None:
    file = tmp_path / ".claude" / "settings.json"
    file.parent.mkdir()
    text = '{"permissions": {"allow": ["mcp__tract__get_tool_result",  "Bash"]}}'
    file.write_text(text)
    [change] = [change for change in settings("claude", tmp_path) if change.file == file]
    set_up(change, "claude")
    assert json.loads(file.read_text())["permissions"]["allow"].count(CLAUDE_RULES[0]) == 1
    undo(change, "claude")
    assert file.read_text() == text
