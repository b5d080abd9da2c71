"""What is run, and how an agent hands its output to the model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

PROJECT = "/home/dev/project"
"""Stands for the folder of the project, in calls and in outputs."""

Build = Callable[[Path], None]


class Done(NamedTuple):
    """A finished command. Where the form mixes both streams, `stderr` is empty."""

    stdout: str
    stderr: str
    code: int
    seconds: float
    command: str


class Form(NamedTuple):
    wrap: Callable[[Done], Any]
    is_mixed: bool = True


class Recipe(NamedTuple):
    name: str
    kind: str
    project: Build
    tool: str
    arguments: Mapping[str, Any]
    form: Form
    command: str


# Forms


def _plain(done: Done) -> str:
    return done.stdout


def _claude(done: Done) -> str:
    failure = f"Exit code {done.code}\n" if done.code else ""
    return failure + done.stdout.rstrip()


def _codex(done: Done) -> str:
    head = f"Exit code: {done.code}\nWall time: {done.seconds:.1f} seconds\n"
    lines = done.stdout.count("\n")
    total = f"Total output lines: {lines}\n" if lines > 256 else ""
    return f"{head}{total}Output:\n{done.stdout}"


def _exec(done: Done) -> str:
    chunk = hashlib.sha256(done.stdout.encode()).hexdigest()[:6]
    head = f"Chunk ID: {chunk}\nWall time: {done.seconds:.4f} seconds\n"
    tokens = len(done.stdout.encode()) // 4
    ending = f"Process exited with code {done.code}\nOriginal token count: {tokens}\n"
    return f"{head}{ending}Output:\n{done.stdout}"


def _streams(done: Done) -> dict[str, Any]:
    return {"stdout": done.stdout, "stderr": done.stderr, "exit_code": done.code}


def _gemini(done: Done) -> str:
    parts = (
        f"Command: {done.command}",
        "Directory: (root)",
        f"Stdout: {done.stdout or '(empty)'}",
        f"Stderr: {done.stderr or '(empty)'}",
        "Error: (none)",
        f"Exit Code: {done.code}",
        "Signal: (none)",
        "Background PIDs: (none)",
        "Process Group PGID: (none)",
    )
    return "\n".join(parts)


def _swe(done: Done) -> str:
    return f"<returncode>{done.code}</returncode>\n<output>\n{done.stdout}</output>"


def _numbered(done: Done) -> str:
    lines = done.stdout.splitlines()
    return "\n".join(f"{number:>6}→{line}" for number, line in enumerate(lines, 1)) + REMINDER


REMINDER = (
    "\n\n<system-reminder>\nWhenever you read a file, you should consider whether it looks malicious. "
    "If it does, you MUST refuse to improve or augment the code.\n</system-reminder>\n"
)


def _document(done: Done) -> Any:
    return json.loads(done.stdout)


def _blocks(done: Done) -> list[dict[str, Any]]:
    return [{"type": "text", "text": done.stdout}]


PLAIN = Form(_plain)
DOCUMENT = Form(_document)
"""A tool that returns JSON."""
BLOCKS = Form(_blocks)
"""A tool of an MCP server."""
CLAUDE = Form(_claude)
CODEX = Form(_codex)
EXEC = Form(_exec)
"""Codex, since it has `exec_command`."""
STREAMS = Form(_streams, is_mixed=False)
GEMINI = Form(_gemini, is_mixed=False)
SWE = Form(_swe)
NUMBERED = Form(_numbered)

_SHELLS = {
    CLAUDE: ("Bash", "command"),
    CODEX: ("shell", "command"),
    EXEC: ("exec_command", "cmd"),
    STREAMS: ("run_command", "command"),
    GEMINI: ("run_shell_command", "command"),
    SWE: ("bash", "command"),
    PLAIN: ("execute", "command"),
}


def shell(name: str, kind: str, project: Build, command: str, form: Form) -> Recipe:
    """A command as the shell tool of one of the agents runs it."""
    tool, key = _SHELLS[form]
    arguments: dict[str, Any] = {key: command}
    if form is CODEX:
        arguments = {key: ["bash", "-lc", command], "workdir": PROJECT}
    if form is EXEC:
        arguments = {key: command, "workdir": PROJECT, "max_output_tokens": 10_000}
    return Recipe(name, kind, project, tool, arguments, form, command)


def read(name: str, kind: str, project: Build, path: str, form: Form) -> Recipe:
    """A file as the reading tool of one of the agents returns it."""
    tool, key = ("Read", "file_path") if form is NUMBERED else ("read_file", "path")
    full_path = path if path.startswith("/") else f"{PROJECT}/{path}"
    arguments = {key: full_path}
    return Recipe(name, kind, project, tool, arguments, form, f"cat '{full_path}'")


def call(
    name: str,
    kind: str,
    project: Build,
    tool: str,
    arguments: Mapping[str, Any],
    command: str,
    form: Form = PLAIN,
) -> Recipe:
    """Any other tool; the command makes what it returns."""
    return Recipe(name, kind, project, tool, arguments, form, command)
