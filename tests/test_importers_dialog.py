"""Importing a file that has grown, or that somebody has worked with since."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.importing import as_lines
from tract import Tract
from tract.importers.writer import import_file
from tract.model import CommitOperation

ABOUT: dict[str, Any] = {
    "sessionId": "s",
    "isSidechain": False,
    "timestamp": "2026-01-01T00:00:00Z",
}


def line(number: int, kind: str, **message: Any) -> dict[str, Any]:
    parent = f"u{number - 1}" if number else None
    return {**ABOUT, "uuid": f"u{number}", "parentUuid": parent, "type": kind, "message": message}


def answer(number: int, block: dict[str, Any]) -> dict[str, Any]:
    return line(number, "assistant", role="assistant", id="msg_1", model="m", content=[block])


PROMPT = line(0, "user", role="user", content="Hi")
TEXT = answer(1, {"type": "text", "text": "Hello"})
CALL = answer(2, {"type": "tool_use", "id": "c", "name": "ls", "input": {}})
RESULT = {"type": "tool_result", "tool_use_id": "c", "content": "a.py"}
ANSWERED = line(3, "user", role="user", content=[RESULT])


@pytest.fixture
def t() -> Any:
    with Tract.open(dialog="s") as tract:
        yield tract


def write(tmp_path: Path, *lines: dict[str, Any]) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_bytes(as_lines(*lines))
    return path


def texts(t: Tract, branch: str = "main") -> list[str]:
    t.checkout(branch)
    return [message.text for message in t.compile().messages]


def test_a_growing_answer_extends_its_branch(t: Tract, tmp_path: Path) -> None:
    lines = [PROMPT, TEXT, CALL, ANSWERED]
    for end in range(1, len(lines) + 1):
        import_file(t, write(tmp_path, *lines[:end]))
    grown = t.branches()
    with Tract.open(dialog="s") as once:
        import_file(once, write(tmp_path, *lines))
        assert once.branches() == grown
    assert list(grown) == ["main"]
    assert t.fsck().ok


def test_what_somebody_added_stays_where_it_is(t: Tract, tmp_path: Path) -> None:
    import_file(t, write(tmp_path, PROMPT, TEXT))
    t.checkout("main")
    mine = t.user("And now?").commit_hash
    import_file(t, write(tmp_path, PROMPT, TEXT, CALL))
    assert t.branches()["main"] == mine
    assert texts(t, "main-2")[-1].startswith("Hello")
    import_file(t, write(tmp_path, PROMPT, TEXT, CALL, ANSWERED))
    assert list(t.branches()) == ["main", "main-2"]
    assert texts(t, "main-2")[-1] == "a.py"


@pytest.mark.parametrize("change", ["edit", "pin"])
def test_a_message_that_somebody_changed_is_not_replaced(
    t: Tract, tmp_path: Path, change: str
) -> None:
    import_file(t, write(tmp_path, PROMPT, TEXT))
    t.checkout("main")
    last = next(iter(t.log())).commit_hash
    if change == "edit":
        t.assistant("Hello!", edit=last)
    else:
        t.annotate(last, "pinned")
    head = t.branches()["main"]
    import_file(t, write(tmp_path, PROMPT, TEXT, CALL))
    assert t.branches()["main"] == head
    assert list(t.branches()) == ["main", "main-2"]


def test_a_rewritten_file_does_not_replace_what_was_there(t: Tract, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    for words in ("Hello", "Goodbye"):
        path.write_text(
            json.dumps([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": words}])
        )
        import_file(t, path)
    assert {branch: texts(t, branch)[-1] for branch in t.branches()} == {
        "main": "Hello",
        "main-2": "Goodbye",
    }


def test_a_file_that_shrank_takes_nothing_away(t: Tract, tmp_path: Path) -> None:
    import_file(t, write(tmp_path, PROMPT, TEXT, CALL, ANSWERED))
    before = t.branches()
    import_file(t, write(tmp_path, PROMPT))
    assert t.branches() == before


def test_usage_that_comes_later_is_added(t: Tract, tmp_path: Path) -> None:
    lines = [
        {"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload}
        for kind, payload in (
            ("session_meta", {"id": "s", "timestamp": "2026-01-01T00:00:00Z"}),
            (
                "response_item",
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "Hi"}],
                },
            ),
            (
                "event_msg",
                {"type": "token_count", "info": {"last_token_usage": {"input_tokens": 7}}},
            ),
        )
    ]
    import_file(t, write(tmp_path, *lines[:2]))
    t.checkout("main")
    assert next(iter(t.log())).usage is None
    import_file(t, write(tmp_path, *lines))
    assert next(iter(t.log())).usage == {"input_tokens": 7}
    assert t.fsck().ok


def test_an_unknown_record_is_kept_and_never_sent(t: Tract, tmp_path: Path) -> None:
    novel = {**ABOUT, "uuid": "u1", "parentUuid": "u0", "type": "novel", "state": {"a": 1}}
    after = {**TEXT, "uuid": "u2", "parentUuid": "u1"}
    imported = import_file(t, write(tmp_path, PROMPT, novel, after))
    assert imported.unknown == {"novel": 1}
    assert (imported.messages, imported.problems) == (2, [])
    t.checkout("main")
    (kept,) = [info for info in t.log() if info.operation == CommitOperation.MARK]
    assert kept.metadata == {"unknown": "novel", "record": novel}
    assert "novel" not in json.dumps(t.compile().to_anthropic())
    assert texts(t) == ["Hi", "Hello"]
    assert import_file(t, write(tmp_path, PROMPT, novel, after)).messages == 0
    assert list(t.branches()) == ["main"]


def test_facts_are_stored_with_the_dialog(t: Tract, tmp_path: Path) -> None:
    path = write(tmp_path, {**PROMPT, "cwd": "/src"}, TEXT)
    import_file(t, path)
    (info,) = t.dialogs()
    facts = info.facts
    assert (facts.title, facts.model, facts.source) == ("Hi", "m", str(path))
    assert facts.started is not None
    assert facts.started.isoformat() == "2026-01-01T00:00:00+00:00"
