"""One table in a TOML text."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tract.errors import InputError
from tract.hooks.toml_edit import parse, put_table, remove_table

PATH = ("mcp_servers", "tract")
VALUES = {"command": "/bin/tract", "args": ["--db", 'a "b" \\ ü', "mcp"]}
NOTE = "Written by tract."
USER = """\
# my settings
model = "m"   # a comment

[mcp_servers.other]
command = "x"
args = [
  "a",
]

[projects."/work"]
trust_level = "trusted"
"""


@pytest.mark.parametrize("text", ["", USER, USER.replace("\n", "\r\n"), 'model = "m"\n'])
def test_a_table_is_added_and_removed_again(text: str) -> None:
    changed = put_table(text, PATH, VALUES, NOTE)
    assert changed.startswith(text)
    assert tomllib.loads(changed)["mcp_servers"]["tract"] == VALUES
    assert remove_table(changed, PATH, NOTE) == text
    assert remove_table(text, PATH, NOTE) == text


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00")))
def test_every_path_is_written_exactly(path: str) -> None:
    text = put_table("", PATH, {"command": path}, NOTE)
    assert tomllib.loads(text)["mcp_servers"]["tract"] == {"command": path}


def test_what_was_added_around_the_table_stays() -> None:
    changed = put_table(USER, PATH, VALUES, NOTE)
    tools = '[mcp_servers.tract.tools.get_tool_result]\napproval_mode = "approve"\n'
    after = '\n# about this project\n[projects."/new"]\ntrust_level = "trusted"\n'
    edited = changed.replace("my settings", "our settings") + tools + after
    expected = USER.replace("my settings", "our settings") + after
    assert remove_table(edited, PATH, NOTE) == expected


def test_a_text_that_only_looks_like_the_table_is_not_touched() -> None:
    text = 'note = """\n[mcp_servers.tract]\n"""\n'
    assert remove_table(text, PATH, NOTE) == text
    with pytest.raises(InputError, match="cannot be removed automatically"):
        remove_table(put_table(text, PATH, VALUES, NOTE), PATH, NOTE)


@pytest.mark.parametrize(
    "text", ["mcp_servers = {}\n", "mcp_servers = 3\n", "[mcp_servers.tract]\na = 1\n", "a = \n"]
)
def test_what_cannot_be_added_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        put_table(text, PATH, VALUES, NOTE)


def test_what_is_not_toml_is_refused() -> None:
    with pytest.raises(InputError, match="not TOML"):
        parse("{")
