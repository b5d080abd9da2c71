"""Tags: what programs write in the name of the user, told apart from the prompt. Pure.

Only whole elements count. A tag inside another one, and a tag that is not closed, is text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

COMMAND, SHELL_COMMAND = "command", "shell command"
LABELS = {
    "command-name": COMMAND,
    "command-message": COMMAND,
    "command-args": COMMAND,
    "local-command-stdout": "output of the command",
    "local-command-stderr": "error output of the command",
    "local-command-caveat": "caveat",
    "bash-input": SHELL_COMMAND,
    "bash-stdout": "output",
    "bash-stderr": "error output",
    "system-reminder": "reminder",
    "task-notification": "task notification",
    "system_notification": "notification",
    "user-prompt-submit-hook": "hook",
    "ide_opened_file": "opened in the editor",
    "ide_selection": "selected in the editor",
    "ide_diagnostics": "diagnostics of the editor",
    "environment_context": "environment",
    "collaboration_mode": "collaboration mode",
    "user_instructions": "instructions",
    "skills_instructions": "instructions about skills",
    "plugins_instructions": "instructions about plugins",
    "permissions instructions": "instructions about permissions",
    "turn_aborted": "interrupted",
}
"""What each tag means, in the words of the screen."""
STARTS = {
    "Base directory for this skill:": "skill",
    "Caveat: The messages below were generated": "caveat",
    "Operation stopped by hook:": "stopped by a hook",
    "# AGENTS.md instructions": "instructions",
}
"""How messages begin that a program wrote without a tag."""
_OPENING = re.compile(f"<({'|'.join(map(re.escape, LABELS))})>")


class Piece(NamedTuple):
    """A part of a message."""

    text: str
    label: str = ""
    """What a program wrote it for; empty for the words of the person."""


def pieces(text: str) -> list[Piece]:
    """The parts of a text. Nothing is left out but tags, and the blanks around elements."""
    label = next((STARTS[start] for start in STARTS if text.startswith(start)), "")
    if label or "<" not in text:  # the usual case
        return [Piece(text, label)]
    parts: list[Piece] = []
    command: dict[str, str] = {}
    for tag, inner in _elements(text):
        if LABELS.get(tag) == COMMAND and tag not in command:
            command[tag] = inner.strip()
            continue
        if tag or inner.strip():
            parts += _command(command)
            parts.append(Piece(inner.strip("\n") if tag else inner, LABELS.get(tag, "")))
    return [*parts, *_command(command)] or [Piece(text)]


def _command(parts: dict[str, str]) -> list[Piece]:
    """A command with its arguments. Its message usually repeats the name."""
    name, message = parts.get("command-name", ""), parts.get("command-message", "")
    is_repeated = message in ("", name, name.removeprefix("/"))
    words = [name, parts.get("command-args", ""), "" if is_repeated else f"({message})"]
    parts.clear()
    text = " ".join(filter(None, words))
    return [Piece(text, COMMAND)] if text else []


def _elements(text: str) -> Iterator[tuple[str, str]]:
    """Each element as its tag and its content; the text between them without a tag."""
    begin = at = 0
    unclosed: set[str] = set()
    while opening := _OPENING.search(text, at):
        at, tag = opening.end(), opening[1]
        closing = f"</{tag}>"
        end = -1 if tag in unclosed else text.find(closing, at)
        if end < 0:
            unclosed.add(tag)
            continue
        yield "", text[begin : opening.start()].strip("\n")
        yield tag, text[at:end]
        begin = at = end + len(closing)
    yield "", text[begin:].lstrip("\n") if begin else text
