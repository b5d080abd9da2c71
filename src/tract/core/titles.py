"""The title of a conversation: the first thing that a person asks. Pure."""

from __future__ import annotations

import re

LONGEST = 100

_WRAPPERS = "task|user_input|user_query|user_message|user-prompt|userRequest|prompt|feedback"
_WRAPPER = re.compile(rf"</?(?:{_WRAPPERS})(?:\s[^<>]*)?>")
_ELEMENT = re.compile(r"<([A-Za-z][\w.-]*)(?:\s[^<>]*)?>.*?</\1\s*>", re.DOTALL)
_COMMAND = re.compile(r"<command-(name|args)>(.*?)</command-\1>", re.DOTALL)


def title_of(text: str) -> str | None:
    """The first line of a prompt, without what a program puts around it in tags: reminders, the
    state of the editor, output of commands. None if nothing is left. A command that was typed, such
    as `/review 12`, is its own title."""
    command = " ".join(match[2].strip() for match in _COMMAND.finditer(text)).strip()
    if command:
        return _cut(command)
    rest = _ELEMENT.sub("\n", _WRAPPER.sub("\n", text))
    line = next((line for line in map(_legible, rest.splitlines()) if line), None)
    return line and _cut(line)


def _legible(line: str) -> str:
    plain = "".join(char if char.isprintable() else " " for char in line)
    return " ".join(plain.split())


def _cut(line: str) -> str:
    legible = _legible(line)
    return legible if len(legible) <= LONGEST else legible[: LONGEST - 1].rstrip() + "…"
