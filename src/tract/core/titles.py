"""The title of a conversation: the first thing that a person asks. Pure."""

from __future__ import annotations

import re

LONGEST = 100
LOOKED_AT = 20_000
"""How many characters of a prompt are looked at."""

_WRAPPERS = "task|user_input|user_query|user_message|user-prompt|userRequest|prompt|feedback"
_WRAPPER = re.compile(rf"</?(?:{_WRAPPERS})(?:\s[^<>]*)?>")
_TAG = re.compile(r"<([A-Za-z][\w.-]*)(?:\s[^<>]*)?>")
_HOUSEKEEPING = frozenset(
    {"/clear", "/compact", "/config", "/cost", "/exit", "/help", "/login", "/logout", "/mcp"}
    | {"/memory", "/model", "/permissions", "/resume", "/status", "/usage"}
)
_BY_PROGRAMS = (
    *("[Request interrupted", "Caveat: The messages below were generated", "# AGENTS.md"),
    *("Base directory for this skill:", "Operation stopped by hook:"),
)
"""How texts begin that programs write in the place of a person."""
_COMMAND = re.compile(r"<command-(name|args)>(.*?)</command-\1>", re.DOTALL)


def title_of(text: str) -> str | None:
    """The first line of a prompt, without what a program puts around it in tags: reminders, the
    state of the editor, output of commands. None if nothing is left. A command that was typed, such
    as `/review 12`, is its own title, unless it asks for nothing."""
    text = text[:LOOKED_AT]
    command = " ".join(match[2].strip() for match in _COMMAND.finditer(text)).strip()
    if command:
        return None if command in _HOUSEKEEPING else _cut(command)
    rest = _without_elements(_WRAPPER.sub("\n", text))
    line = next((line for line in map(_legible, rest.splitlines()) if line), None)
    return None if line is None or line.startswith(_BY_PROGRAMS) else _cut(line)


def _without_elements(text: str) -> str:
    """The text between elements. A tag that is not closed is text."""
    kept, begin, at = [], 0, 0
    unclosed: set[str] = set()
    while tag := _TAG.search(text, at):
        at = tag.end()
        end = -1 if tag[1] in unclosed else text.find(f"</{tag[1]}>", at)
        if end < 0:
            unclosed.add(tag[1])
            continue
        kept.append(text[begin : tag.start()])
        begin = at = end + len(tag[1]) + 3
    return "\n".join([*kept, text[begin:]])


def _legible(line: str) -> str:
    if not line.isprintable():
        line = "".join(char if char.isprintable() else " " for char in line)
    return " ".join(line.split())


def _cut(line: str) -> str:
    legible = _legible(line)
    return legible if len(legible) <= LONGEST else legible[: LONGEST - 1].rstrip() + "…"
