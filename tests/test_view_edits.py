"""Edits: what a call changes in files, as far as its arguments say."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tract.view.edits import changed_paths, file_edits

SIGNS = {"added": "+", "removed": "-", "context": " ", "hunk": ""}


def edits_of(name, arguments):
    edits = file_edits(name, arguments)
    assert edits is not None
    return edits


def shown(name, arguments):
    """Each file as its action, its path and the lines of the diff."""
    edits = edits_of(name, arguments)
    return [
        [f"{file.action} {file.path}", *(SIGNS[line.kind] + line.text for line in file.lines)]
        for file in edits.files
    ]


BEFORE, AFTER = "def f():\n    return 1\n", "def f():\n    return 2\n"
CHANGE = ["edit a.py", " def f():", "-    return 1", "+    return 2"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Edit", {"file_path": "a.py", "old_string": BEFORE, "new_string": AFTER}),
        ("replace", {"file_path": "a.py", "old_string": BEFORE, "new_string": AFTER}),
        ("edit", {"filePath": "a.py", "oldString": BEFORE, "newString": AFTER}),
        ("edit", {"path": "a.py", "oldText": BEFORE, "newText": AFTER}),
        ("edit", {"path": "a.py", "edits": [{"oldText": BEFORE, "newText": AFTER}]}),
        (
            "MultiEdit",
            {"file_path": "a.py", "edits": [{"old_string": BEFORE, "new_string": AFTER}]},
        ),
        (
            "str_replace_based_edit_tool",
            {"command": "str_replace", "path": "a.py", "old_str": BEFORE, "new_str": AFTER},
        ),
    ],
)
def test_a_replacement_is_a_diff(name, arguments):
    assert shown(name, arguments) == [CHANGE]
    assert shown(name, json.dumps(arguments)) == [CHANGE]


def test_a_diff_marks_what_changed_in_a_line():
    edits = edits_of("Edit", {"file_path": "a.py", "old_string": BEFORE, "new_string": AFTER})
    _, old, new = edits.files[0].lines
    assert [old.text[i:j] for i, j in old.marks] == ["1"]
    assert [new.text[i:j] for i, j in new.marks] == ["2"]


def test_several_edits_say_which_they_are():
    parts = [
        {"old_string": "a", "new_string": "b", "replace_all": True},
        {"old_string": "c", "new_string": "d", "note": "why"},
    ]
    assert shown("MultiEdit", {"file_path": "x", "edits": parts}) == [
        [
            "edit x",
            *("@@ edit 1 of 2, every occurrence @@", "-a", "+b"),
            *("@@ edit 2 of 2, note: why @@", "-c", "+d"),
        ]
    ]


def test_one_call_may_change_several_files():
    parts = [{"filePath": path, "oldString": "a", "newString": "b"} for path in ("x", "y")]
    edits = edits_of("multi_replace_string_in_file", {"replacements": parts, "explanation": "e"})
    assert changed_paths([edits]) == ["x", "y"]
    assert edits.rest == {"explanation": "e"}


@pytest.mark.parametrize(
    ("name", "arguments", "lines"),
    [
        ("Write", {"file_path": "x", "content": "a\nb\n"}, ["write x", "+a", "+b"]),
        ("write_file", {"path": "x", "content": ""}, ["write x"]),
        (
            "str_replace_editor",
            {"command": "create", "path": "x", "file_text": "a"},
            ["write x", "+a"],
        ),
        (
            "str_replace_editor",
            {"command": "insert", "path": "x", "insert_line": 3, "new_str": "a"},
            ["insert x", "@@ after line 3 @@", "+a"],
        ),
    ],
)
def test_a_written_file_is_all_new(name, arguments, lines):
    assert shown(name, arguments) == [lines]


PATCH = """*** Begin Patch
*** Update File: a.py
@@ def f():
-    return 1
+    return 2
*** Add File: b.py
+x = 1
*** Delete File: c.py
*** End Patch"""
PATCHED = [
    ["edit a.py", "@@ def f():", "-    return 1", "+    return 2"],
    ["write b.py", "+x = 1"],
    ["delete c.py"],
]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("apply_patch", PATCH),
        ("apply_patch", {"input": PATCH}),
        ("patch", {"patchText": PATCH}),
        ("shell", {"command": ["apply_patch", PATCH]}),
        ("shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF\n"]}),
        ("exec_command", json.dumps({"cmd": f"apply_patch <<'EOF'\n{PATCH}\nEOF\n"})),
    ],
)
def test_a_patch_of_codex_is_read(name, arguments):
    assert shown(name, arguments) == PATCHED


def test_a_command_keeps_what_stands_around_its_patch():
    command = ["bash", "-lc", f"cd src && apply_patch <<'EOF'\n{PATCH}\nEOF\nmake"]
    edits = edits_of("shell", {"command": command, "workdir": "/w"})
    assert edits.rest == {
        "workdir": "/w",
        "command": "bash -lc cd src && apply_patch <<'EOF'\nEOF\nmake",
    }


UNIFIED = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n"


def test_a_unified_diff_counts_only_where_it_is_applied():
    assert shown("patch", {"diff": UNIFIED}) == [["edit x.py", "@@ -1 +1 @@", "-a", "+b"]]
    applied = {"command": f"git apply <<'E'\n{UNIFIED}E"}
    assert shown("Bash", applied) == [["edit x.py", "@@ -1 +1 @@", "-a", "+b"]]
    assert file_edits("Bash", {"command": f"cat > x <<'E'\n{UNIFIED}E"}) is None


def test_search_and_replace_blocks_are_diffs():
    block = "------- SEARCH\nold\nsame\n=======\nnew\nsame\n+++++++ REPLACE\n"
    assert shown("replace_in_file", {"path": "x", "diff": block}) == [
        ["edit x", "@@ replace @@", "-old", "+new", " same"]
    ]
    roo = "<<<<<<< SEARCH\n:start_line:4\n-------\nold\n-------\n=======\n-------\n>>>>>>> REPLACE"
    assert shown("apply_diff", {"path": "x", "diff": roo}) == [
        ["edit x", "@@ replace :start_line:4 @@", "-old", " -------"]
    ]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Read", {"file_path": "x"}),
        ("TodoWrite", {"todos": []}),
        ("write_stdin", {"session_id": 1, "text": "x", "path": "p"}),
        ("Bash", {"command": "echo hi"}),
        ("edit", {"path": "x", "oldText": "only"}),
        ("edit", {"edits": ["x"], "path": "x"}),
        ("apply_patch", "no patch"),
        ("apply_patch", {"diff": "------- SEARCH\ncut off"}),
        ("f", None),
        ("f", [1]),
        ("f", "{broken"),
    ],
)
def test_everything_else_is_no_edit(name, arguments):
    assert file_edits(name, arguments) is None


KEYS = st.sampled_from(["path", "command", "edits", "old_str", "new_str", "content", "diff", "x"])
values = st.recursive(
    st.none() | st.integers() | st.text(max_size=8) | st.sampled_from([PATCH, UNIFIED]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)


@given(st.sampled_from(["Edit", "Write", "shell"]), values)
def test_no_argument_is_lost(name, arguments):
    edits = file_edits(name, arguments)
    if edits is None or not isinstance(arguments, dict):
        return
    texts = [file.path + "\n".join(line.text for line in file.lines) for file in edits.files]
    for key, value in arguments.items():
        assert (
            key in edits.rest
            or not value
            or any(part in "\n".join(texts) for part in _words(value))
        )


def _words(value):
    if isinstance(value, str):
        return value.split() or [""]
    if isinstance(value, dict):
        return [word for inner in value.values() for word in _words(inner)] or [""]
    return (
        [word for inner in value for word in _words(inner)]
        if isinstance(value, list)
        else [str(value)]
    )
