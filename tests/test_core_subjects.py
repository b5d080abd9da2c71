"""What a call asks for, in one line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import json_values, texts
from tract.core.subjects import COMMANDS, PATHS, PATTERNS, abridge, entitle, subject
from tract.model import ToolCall

PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** Add File: b.py\n*** End Patch"
DEEP = "/home/somebody/" + "folder/" * 30 + "main.py"


def said(name: str, arguments: Any) -> str:
    return subject(ToolCall("c", name, arguments))


@pytest.mark.parametrize(
    ("name", "arguments", "line"),
    [
        ("Read", {"file_path": "src/main.py"}, "Read src/main.py"),
        ("Read", {"file_path": "a.py", "offset": 5, "limit": 9}, "Read a.py, offset=5, limit=9"),
        ("Bash", {"command": "pytest -q tests", "description": "Run"}, "Bash: pytest -q tests"),
        ("Bash", {"command": "cd x\nmake"}, "Bash: cd x …"),
        ("shell", {"command": ["bash", "-lc", "rg x"]}, "shell: rg x"),
        ("Grep", {"pattern": "TODO", "path": "src"}, 'Grep "TODO" in src'),
        ("Glob", {"pattern": "**/*.py"}, 'Glob "**/*.py"'),
        ("WebFetch", {"url": "https://a.b/c", "prompt": "x"}, "WebFetch https://a.b/c"),
        ("Task", {"description": "Find it", "prompt": "long"}, "Task: Find it"),
        ("apply_patch", {"input": PATCH}, "apply_patch src/a.py …"),
        ("mcp__gh__issue", {"owner": "a", "number": 7}, "mcp__gh__issue owner=a, number=7"),
        ("Read", '{"file_path": "src/main.py"}', "Read src/main.py"),
        ("Bash", '{"command": "ls', 'Bash: {"command": "ls'),
        ("run", {}, "run"),
        ("run", None, "run"),
        ("", {"path": "a"}, "a tool a"),
    ],
)
def test_what_was_asked(name: str, arguments: Any, line: str) -> None:
    assert said(name, arguments) == line


def test_a_long_path_keeps_its_end_and_a_long_command_its_beginning() -> None:
    path = said("Read", {"file_path": DEEP})
    assert path.startswith("Read …/folder/")
    assert path.endswith("/folder/main.py")
    command = said("Bash", {"command": "echo " + "x" * 1_000_000})
    assert command.startswith("Bash: echo xxx")
    assert command.endswith("x…")
    assert max(len(path), len(command)) <= 130


def test_with_what_came_of_it() -> None:
    assert entitle("Read a.py", "342 lines") == "Read a.py (342 lines)"
    assert entitle("", "342 lines") == "342 lines"
    assert entitle("Read a.py", "") == "Read a.py"


@pytest.mark.parametrize(
    "text", ["a\x1b[31m\x1b]0;t\x07b", "a\nb", "\u202eab", "\ud800", "a\x00" * 99]
)
@pytest.mark.parametrize("key", ["command", "path", "pattern", "url", "title", "x"])
def test_hostile_arguments_stay_one_harmless_line(key: str, text: str) -> None:
    line = said(text, {key: text * 20_000})
    assert line.isprintable()
    assert len(line) <= 300


keys = st.sampled_from([*PATHS, *PATTERNS, *COMMANDS, "description", "offset", "x"])


@given(texts, json_values | st.dictionaries(keys | texts, json_values, max_size=4))
def test_any_call_has_one_line(name: str, arguments: Any) -> None:
    line = said(name, arguments)
    assert line
    assert line.isprintable()
    assert line == " ".join(line.split())
    assert len(line) <= 300
    assert said(name, json.dumps(arguments))


@given(texts, json_values | st.dictionaries(keys | texts, json_values, max_size=4))
def test_an_abridged_call_asks_for_the_same(name: str, arguments: Any) -> None:
    call = ToolCall("c", name, arguments)
    assert subject(abridge(call)) == subject(call)


def test_an_abridged_call_is_short() -> None:
    arguments = {"file_path": "a.py", "content": "x" * 1_000_000, "edits": ["y" * 1_000_000]}
    short = abridge(ToolCall("c", "Write", arguments))
    assert len(json.dumps(short.arguments)) < 5_000
    assert subject(short) == "Write a.py"
