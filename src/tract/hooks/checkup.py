"""Checks that the hook of an agent works: a made-up event goes through the real command."""

from __future__ import annotations

import json
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from tract.content.text import counted
from tract.core.sessions import results_dialog
from tract.errors import TractError
from tract.hooks.journal import last_lines
from tract.hooks.places import open_tract
from tract.hooks.plans import HOOK, IMPORT, MCP, Change, OwnFile
from tract.hooks.settings import has, installed_commands
from tract.model import Json
from tract.tract import Tract

LINES = 2_000
SESSION, CALL = "tract-doctor", "tract-doctor-call"
SECONDS = 30
SHOWN = 5
"""Lines of the log."""
GOOD = ("stored", "replaced", "already stored", "ignored", "import started", "imported")
EXECUTABLES = {
    "claude": "claude",
    "codex": "codex",
    "gemini": "gemini",
    "copilot": "copilot",
    "opencode": "opencode",
}


class Check(NamedTuple):
    """One thing that was checked."""

    name: str
    is_ok: bool
    fact: str


class _TakenBackError(Exception):
    """Ends a transaction that must leave nothing."""


# What every agent needs


def check_installation(command: Sequence[str], log: Path) -> list[Check]:
    """The executable, the versions and the log."""
    return [_check("tract", lambda: _executable(command)), _log(log)]


def _check(name: str, examine: Callable[[], str]) -> Check:
    try:
        return Check(name, True, examine())
    except (TractError, OSError, subprocess.SubprocessError, ValueError) as error:
        return Check(name, False, str(error))


def _executable(command: Sequence[str]) -> str:
    subprocess.run([*command, "--version"], check=True, capture_output=True, timeout=SECONDS)
    own = version("tract-context")
    return f"{shlex.join(command)}, version {own}, Python {platform.python_version()}"


def check_database(db: str, shown: str) -> Check:
    """Write to the database and take it back."""
    return _check("database", lambda: _write(db, shown))


def _write(db: str, shown: str) -> str:
    if "://" not in db and not Path(db).is_file():
        raise TractError(f"no database at {db}: `tract setup` creates it")
    with open_tract(db, SESSION) as tract:
        with suppress(_TakenBackError), tract.batch():
            tract.user("a test of tract doctor, which is taken back")
            raise _TakenBackError
        count = len(tract.dialogs())
    return f"{shown} can be written and has {counted(count, 'dialog')}"


def _log(log: Path) -> Check:
    lines = last_lines(log, SHOWN)
    bad = [line for line in lines if line.get("outcome") not in GOOD]
    if not lines:
        return Check("log", True, f"{log} has no lines yet")
    texts = [_line(line) for line in bad or lines[-1:]]
    fact = f"{log}: {len(bad)} of the last {len(lines)} events failed or were late"
    return Check("log", True, "\n".join([fact, *texts]))


def _line(line: dict[str, Json]) -> str:
    return " ".join(f"{key}={value}" for key, value in line.items())


# One agent


def check_client(name: str, changes: Sequence[Change]) -> list[Check]:
    """The agent itself, its settings, and its hook."""
    commands = hook_commands(name, changes)
    checks = [_agent(name), *(_settings(name, change) for change in changes)]
    if commands:
        checks.append(_check(f"{name} hook", lambda: _try(name, commands[0])))
    return checks


def hook_commands(name: str, changes: Sequence[Change]) -> list[list[str]]:
    """The command lines of the hook that the settings have."""
    commands: list[list[str]] = []
    for change in changes:
        with suppress(TractError, OSError, ValueError):  # which the check of the settings reports
            commands += map(shlex.split, installed_commands(change, name))
    return commands


def database_of(command: Sequence[str]) -> str | None:
    """The database that a command line names."""
    return command[command.index("--db") + 1] if "--db" in command[:-1] else None


def is_set_up(name: str, changes: Sequence[Change]) -> bool:
    """Whether any of the files has something of tract."""
    for change in changes:
        try:
            if has(change, name):
                return True
        except TractError:
            continue
    return False


def _agent(name: str) -> Check:
    """An agent may be started in other ways, so it need not be on the path."""
    path = shutil.which(EXECUTABLES[name])
    return Check(f"{name} program", True, path or "not on the path")


def _settings(name: str, change: Change) -> Check:
    parts = change.parts if isinstance(change, OwnFile) else {e.part for e in change.entries}
    words = {HOOK: "hook", MCP: "MCP server", IMPORT: "import"}
    what = " and ".join(words[part] for part in words if part in parts)

    def examine() -> str:
        if not has(change, name):
            raise TractError(f"{change.file} does not have the {what}: run `tract setup {name}`")
        return f"{change.file} has the {what}"

    return _check(f"{name} settings", examine)


def _try(name: str, command: Sequence[str]) -> str:
    """Send a made-up event through the command, to a database of its own, and fetch the result."""
    with tempfile.TemporaryDirectory(prefix="tract-doctor-") as folder:
        db = str(Path(folder) / "doctor.db")
        words = _with_database(command, db)
        text = "\n".join(f"{number}: a line of tract doctor" for number in range(1, LINES + 1))
        done = subprocess.run(
            words,
            input=json.dumps(sample_event(name, text)).encode(),
            env=os.environ | {"XDG_STATE_HOME": folder},
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
        lines = last_lines(Path(folder) / "tract" / "hook.log", 1)
        if done.returncode:
            raise TractError(f"the hook ended with {done.returncode}: {shlex.join(words)}")
        if not lines or lines[0].get("outcome") not in ("stored", "replaced"):
            raise TractError(f"the hook stored nothing: {_line(lines[0]) if lines else 'no log'}")
        with Tract.open(db, dialog=results_dialog(SESSION), create=False) as tract:
            [result] = tract.list_tool_results()
            answer = tract.get_tool_result(result.id, lines=f"{LINES}-")
            if text.splitlines()[-1] not in answer or result.byte_size != len(text):
                raise TractError("the result that was fetched differs from the one that was sent")
    return f"an event was {lines[0]['outcome']} in {lines[0]['ms']} ms, and fetched again"


def _with_database(command: Sequence[str], db: str) -> list[str]:
    words = list(command)
    if "--db" in words[:-1]:
        words[words.index("--db") + 1] = db
    return words


def sample_event(name: str, text: str) -> dict[str, Json]:
    """A made-up event of an agent whose result is this text."""
    common: dict[str, Json] = {"session_id": SESSION, "cwd": str(Path.cwd()), "tool_use_id": CALL}
    arguments = {"command": "tract doctor"}
    after = common | {"hook_event_name": "PostToolUse", "tool_input": arguments}
    events: dict[str, dict[str, Json]] = {
        "claude": after
        | {
            "tool_name": "Bash",
            "tool_response": {"stdout": text, "stderr": "", "interrupted": False},
        },
        "codex": after | {"tool_name": "Bash", "tool_response": text},
        "gemini": common
        | {"hook_event_name": "AfterTool", "tool_name": "run_shell_command"}
        | {"tool_input": arguments, "tool_response": {"llmContent": text}},
        "copilot": {"sessionId": SESSION, "toolName": "bash", "toolArgs": arguments}
        | {"toolResult": {"resultType": "success", "textResultForLlm": text}},
        "opencode": {"event": "tool.execute.after", "sessionID": SESSION, "callID": CALL}
        | {"tool": "bash", "args": arguments, "output": {"output": text, "metadata": {}}},
    }
    return events[name]
