"""What a call says about its result: the file that was read, the command that was run. Pure.

It is evidence, not proof: a command may print anything, and arguments may be missing.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from tract.model import Json, ToolCall

_PATHS = (
    *("path", "file_path", "filepath", "filePath", "filename", "file", "target_file", "file_name"),
    *("absolute_path", "relative_path", "relative_workspace_path", "notebook_path", "uri", "url"),
)
_COMMANDS = ("command", "cmd", "script", "commands", "args", "argv", "input", "code")
_READS = re.compile(r"read|view|open|cat|get_file|fetch_file|show_file|load", re.IGNORECASE)
_WRITES = re.compile(r"write|edit|create|replace|patch|delete|apply|move|insert", re.IGNORECASE)
_SEARCHES = re.compile(r"grep|search|rg\b", re.IGNORECASE)
_PATTERNS = ("pattern", "regex", "query", "glob")
_LONGEST = 4000  # characters of a command that are read

# Where one command ends and the next begins; quoted parts are skipped.
_STEP = re.compile(
    r"""(?:[^\n;&|'"\\]|\\.|'[^']*+'|"(?:[^"\\]|\\.)*+"|['"]|&>|>&|(?<!&)&(?!&))++""",
    re.DOTALL,
)
_JOINT = re.compile(r"""[\n;&|'"\\]""")
_PREFIX = re.compile(
    r"(?:\w{1,60}=\S*|sudo|time|nohup|exec|command|env|nice|stdbuf \S+|xvfb-run|npx(?: --?\S+)*"
    r"|timeout(?: -\S+)* \S+|(?:uv|poetry|pipenv|pdm|hatch|rye|conda|bundle|pnpm|yarn|bun)"
    r" (?:run|exec|x)(?: --?\S+)*|(?:\S*/)?python[\d.]*(?: -[a-zA-Z]+)*? -m|(?:\S*/)?busybox)\s+"
)
_ASIDE = {"cd", "export", "source", ".", "set", "echo", "mkdir", "true", "pushd", "popd", "sleep"}
_KEEPING = {"head", "tail", "cat", "tee", "less", "more", "nl", "col", "stdbuf", "ts"}
_READERS = {"cat", "head", "tail", "sed", "less", "more", "bat", "nl", "batcat", "type"}


class Evidence(NamedTuple):
    path: str = ""
    """The file that was read, or nothing."""
    command: str = ""
    """The command whose output is shown, without what runs it and without what it is piped to."""
    is_read: bool = False
    """Whether the text is the content of a file."""

    @property
    def extension(self) -> str:
        name = self.path.rsplit("/", 1)[-1].lower()
        return name.rpartition(".")[2] if "." in name[1:] else _NAMED.get(name, "")

    @property
    def program(self) -> str:
        return self.command.split(None, 1)[0].rsplit("/", 1)[-1] if self.command else ""

    @property
    def words(self) -> list[str]:
        return self.command.split()

    @property
    def key(self) -> str:
        """The same for all calls that say the same about a text. It has everything that finders
        ask for, and as a sum no word of the arguments, which may have to be forgotten."""
        words = self.words if "-h" in self.command else []
        is_last = words[-1:] == ["--help"]
        helps = [word for word in words[1:] if word == "-h" or word.startswith("--help")]
        facts = self.extension, self.program, tuple(helps), is_last, self.is_read
        return _sum(*facts, bool(self.command))


@lru_cache(256)
def _sum(extension: str, program: str, helps: tuple[str, ...], *rest: bool) -> str:
    """Of facts that most calls share with others."""
    facts = (extension, program, list(helps), *rest)
    return f"{zlib.crc32(repr(facts).encode('utf-8', 'backslashreplace')):08x}"


NONE = Evidence()
_NAMED = {"makefile": "mk", "dockerfile": "dockerfile", "gemfile": "rb", "rakefile": "rb"}


def evidence_of(call: ToolCall | None) -> Evidence:
    if call is None:
        return NONE
    fields = _fields(call.arguments)
    command, name = _first_text(fields, _COMMANDS), str(call.name)
    if not command and any(key in fields for key in _PATTERNS):
        return Evidence("", "grep" if _SEARCHES.search(name) else "")
    is_word = not command or command in ("view", "read", "cat")
    if is_word and (path := _first_text(fields, _PATHS)):
        is_read = bool(_READS.search(name) or command) and not _WRITES.search(name)
        return Evidence(path[:_LONGEST] if is_read else "", "", is_read)
    return _of_command(command) if command else NONE


def _fields(arguments: Json) -> dict[str, Json]:
    if isinstance(arguments, str) and len(arguments) < 100_000:
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return {"command": arguments}
    return arguments if isinstance(arguments, dict) else {"command": arguments}


def _first_text(fields: dict[str, Json], keys: tuple[str, ...]) -> str:
    for key in keys:
        if key in fields and (text := _text(fields[key])):
            return text
    return ""


def _text(value: Json) -> str:
    if isinstance(value, list):
        words = [word for word in value[:40] if isinstance(word, str)]
        # A shell and its option are not the command: ["bash", "-lc", "pytest"].
        if len(words) >= 3 and words[0].rsplit("/", 1)[-1] in ("bash", "sh", "zsh"):
            return words[2][:_LONGEST]
        return " ".join(words)[:_LONGEST]
    return value[:_LONGEST] if isinstance(value, str) else ""


_REDIRECTED = re.compile(r"\d*[<>&]")


def _of_command(command: str) -> Evidence:
    """The last pipeline that is more than a preparation."""
    main = ""
    for pipeline in _pipelines(command):
        first, *filters = pipeline
        if first.split(None, 1)[0].rsplit("/", 1)[-1] in _ASIDE:
            continue
        is_kept = not filters or all(part.split(None, 1)[0] in _KEEPING for part in filters)
        main = first if is_kept else filters[-1]
    words = [word for word in main.split() if not _REDIRECTED.match(word)]
    program = words[0].rsplit("/", 1)[-1] if words else ""
    if program in _READERS and len(words) > 1 and (program != "sed" or "-n" in words):
        return Evidence(words[-1].strip("'\""), main, True)
    return Evidence("", main)


def _pipelines(command: str) -> Iterator[list[str]]:
    if not _JOINT.search(command):  # one step, as in most commands
        if (step := _bare(command)).strip():
            yield [step]
        return
    pipeline: list[str] = []
    end = 0
    for match in _STEP.finditer(command):
        is_piped = command[end : match.start()] in ("|", "|&")
        end = match.end()
        step = _bare(match[0])
        if not step.strip():
            continue
        if not is_piped and pipeline:
            yield pipeline
            pipeline = []
        pipeline.append(step)
    if pipeline:
        yield pipeline


def _bare(step: str) -> str:
    step = step.strip(" \t()\n{}")
    for _ in range(6):
        match = _PREFIX.match(step)
        if match is None:
            break
        step = step[match.end() :]
    return step
