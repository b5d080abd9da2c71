"""The hook as an agent starts it: whatever it reads, it exits with 0, and the agent goes on."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli import HEAVY, imported_by
from tests.hooks import LONG, SESSION, Hook, bash, claude
from tests.samples.claude_code import TURN
from tract import Tract
from tract.storage.sqlite import binding

SOON = ("--deadline", "1")
LIMIT = ("--inline-tokens", "500", "--preview-tokens", "50")


def stored(hook: Hook, dialog: str = f"{SESSION}.results") -> list[Any]:
    with Tract.open(hook.db, dialog=dialog, create=False) as tract:
        return [tract.get_content(info.commit_hash) for info in tract.list_tool_results()]


def wait_for(hook: Hook, *outcomes: str) -> None:
    for _ in range(600):
        if [line["outcome"] for line in hook.log] == list(outcomes):
            return
        time.sleep(0.05)
    pytest.fail(f"the log has {hook.log}")


def test_a_long_output_is_stored_and_replaced(db: str, tmp_path: Path) -> None:
    hook = Hook(tmp_path, db)
    answer = hook.send("claude", claude("Bash", bash(LONG)), *LIMIT)
    output = answer["hookSpecificOutput"]["updatedToolOutput"]
    assert 'mcp__tract__get_tool_result(id="toolu_1")' in output["stdout"]
    assert output == bash(output["stdout"])
    assert stored(hook) == [LONG]
    [line] = hook.log
    assert (line["outcome"], line["bytes"], line["tool"]) == ("replaced", len(LONG), "Bash")
    assert "module" not in json.dumps(line)


def test_a_short_output_and_store_only_print_nothing(tmp_path: Path) -> None:
    hook = Hook(tmp_path)
    assert hook.send("claude", claude("Bash", bash("a")), *LIMIT) is None
    assert hook.send("claude", claude("Bash", bash(LONG), "b"), *LIMIT, "--store-only") is None
    assert hook.send("claude", claude("Bash", bash(LONG), "c")) is None
    assert stored(hook) == ["a", LONG, LONG]


def test_answers_of_tract_itself_are_neither_stored_nor_replaced(tmp_path: Path) -> None:
    hook = Hook(tmp_path)
    for client, tool in (
        ("claude", "mcp__tract__get_tool_result"),
        ("codex", "mcp__tract__search_tool_results"),
    ):
        assert hook.send(client, claude(tool, LONG), *LIMIT) is None
    copilot = {"sessionId": "s", "toolName": "tract-get_tool_result"}
    assert (
        hook.send("copilot", copilot | {"toolResult": {"textResultForLlm": LONG}}, *LIMIT) is None
    )
    assert [line["reason"] for line in hook.log] == ["a tool of tract itself"] * 3
    assert not Path(hook.db).exists()


@pytest.mark.parametrize(
    ("data", "outcome"),
    [
        (b"", "failed"),
        (b"{", "failed"),
        (b"\xff\xfe\x00", "failed"),
        (b"[" * 100_000, "failed"),
        (b"[1]", "ignored"),
        (b"{}", "ignored"),
        (b'{"hook_event_name": "PostToolUse"}', "ignored"),
        (b'{"hook_event_name": "PostToolUse", "session_id": 7, "tool_name": []}', "ignored"),
        (b'{"hook_event_name": "Tomorrow", "tool_response": {}}', "ignored"),
        (json.dumps(claude("Edit", {"a": float("nan")})).encode(), "failed"),
    ],
)
def test_a_malformed_event_changes_nothing(tmp_path: Path, data: bytes, outcome: str) -> None:
    hook = Hook(tmp_path)
    assert hook.raw("claude", data, *LIMIT) == b""
    [line] = hook.log
    assert line["outcome"] == outcome


def test_hostile_names_and_texts_are_stored(tmp_path: Path) -> None:
    hook = Hook(tmp_path)
    event = claude("Bash", bash("\ud800 \x00 \u202e"), "../id\n")
    hook.send("claude", event | {"session_id": "a\n" * 400, "tool_name": "x\x1b[31m"})
    [line] = hook.log
    assert line["outcome"] == "stored"
    with Tract.open(hook.db) as tract:
        [info] = tract.dialogs()
    assert stored(hook, info.dialog) == [bash("\ud800 \x00 \u202e")]


def test_a_locked_database_does_not_keep_the_agent_and_the_result_is_stored_late(
    tmp_path: Path,
) -> None:
    hook = Hook(tmp_path)
    Tract.open(hook.db).close()
    lock = binding.connect(hook.db, isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    assert hook.send("claude", claude("Bash", bash(LONG)), *LIMIT, *SOON) is None
    [line] = hook.log
    assert line["outcome"] == "late"
    lock.execute("ROLLBACK")
    lock.close()
    wait_for(hook, "late", "stored")
    assert stored(hook) == [LONG]
    with Tract.open(hook.db, dialog=f"{SESSION}.results") as tract:
        assert [info.form for info in tract.list_tool_results()] == ["full"]
        assert tract.fsck().ok


def test_a_database_that_cannot_be_opened_is_reported(tmp_path: Path) -> None:
    for db in (str(tmp_path / "no" / "folder" / "t.db"), "postgresql://127.0.0.1:1/none"):
        hook = Hook(tmp_path, db)
        assert hook.send("claude", claude("Bash", bash(LONG)), *LIMIT) is None
        assert hook.log[-1]["outcome"] == "failed"
        assert hook.log[-1]["reason"]


def test_a_file_that_is_not_a_database_stays_as_it_is(tmp_path: Path) -> None:
    hook = Hook(tmp_path)
    Path(hook.db).write_text("a letter, not a database" * 50)
    assert hook.send("claude", claude("Bash", bash(LONG)), *LIMIT) is None
    assert hook.log[-1]["outcome"] == "failed"
    assert Path(hook.db).read_text() == "a letter, not a database" * 50


def test_an_input_that_never_ends_does_not_keep_the_agent(tmp_path: Path) -> None:
    hook = Hook(tmp_path)
    reading, writing = os.pipe()
    process = subprocess.Popen(
        hook.command("claude", *SOON), stdin=reading, stdout=subprocess.PIPE, env=hook.env
    )
    os.close(reading)
    os.write(writing, b'{"hook_event_name": ')
    assert process.communicate(timeout=60)[0] == b""
    assert process.returncode == 0
    assert [line["outcome"] for line in hook.log] == ["late"]
    os.close(writing)
    wait_for(hook, "late", "failed")


@pytest.mark.long
def test_an_output_of_100_mb_does_not_keep_the_agent(tmp_path: Path) -> None:
    hook = Hook(tmp_path)
    out = hook.raw("claude", json.dumps(claude("Bash", bash("x" * 110_000_000))).encode(), *SOON)
    assert out == b""
    assert hook.log[0]["outcome"] in ("late", "ignored")


def test_the_end_of_a_session_imports_its_transcript(tmp_path: Path) -> None:
    hook = Hook(tmp_path)
    transcript = tmp_path / f"{SESSION}.jsonl"
    transcript.write_text("".join(json.dumps(line) + "\n" for line in TURN))
    end = {"hook_event_name": "SessionEnd", "session_id": SESSION}
    assert hook.send("claude", end | {"transcript_path": str(transcript)}, "--no-import") is None
    assert hook.send("claude", end | {"transcript_path": str(transcript)}) is None
    wait_for(hook, "ignored", "import started", "imported")
    assert (hook.log[-1]["dialogs"], hook.log[-1]["messages"]) == (1, 5)
    with Tract.open(hook.db) as tract:
        [info] = tract.dialogs()
    assert info.facts.source == str(transcript)


def test_an_import_that_fails_is_reported(tmp_path: Path) -> None:
    hook = Hook(tmp_path)
    end = {"hook_event_name": "SessionEnd", "session_id": SESSION}
    hook.send("claude", end | {"transcript_path": str(tmp_path / "gone.jsonl")})
    wait_for(hook, "import started", "failed")
    assert "gone.jsonl" in hook.log[-1]["reason"]


def test_many_hooks_at_once_store_everything(db: str, tmp_path: Path) -> None:
    hook = Hook(tmp_path, db)
    Tract.open(db).close()
    processes = [
        subprocess.Popen(hook.command("codex"), stdin=subprocess.PIPE, env=hook.env)
        for _ in range(6)
    ]
    for number, process in enumerate(processes):
        event = claude("Bash", f"output {number}", f"call{number}")
        process.communicate(json.dumps(event).encode(), timeout=60)
        assert process.returncode == 0
    for _ in range(600):  # some may be late
        if sum(line["outcome"] == "stored" for line in hook.log) == len(processes):
            break
        time.sleep(0.05)
    assert sorted(stored(hook)) == [f"output {number}" for number in range(6)]


def test_the_command_loads_only_what_it_needs() -> None:
    modules = imported_by("hook", "claude", "--help")
    assert modules & HEAVY == set()
    rooms = ("tract.importers", "tract.tui", "tract.tract", "tract.view.lines", "tract.aio")
    assert modules.isdisjoint(rooms)
