from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.importing import as_database, entries, file_of, items_of, messages, problems
from tests.samples.opencode import (
    CHILD,
    EXPORT,
    FILES,
    INFO,
    SCHEMA,
    START,
    assistant,
    message,
    rows,
    text,
    tool,
    user,
)
from tract import Tract, import_file
from tract.errors import InputError
from tract.importers import opencode
from tract.importers.items import Facts, Item, Problem, Unknown
from tract.model import Message, Raw, Text, ToolCall
from tract.storage.sqlite import binding

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
SCREEN = Raw("anthropic", IMAGE)


def read(folder: Path, *exchanged: Any, **info: Any) -> list[Item]:
    export = {"info": {**INFO, **info}, "messages": list(exchanged)}
    return items_of(opencode, file_of(folder, export))


def test_the_messages_of_an_export(tmp_path: Path) -> None:
    items = items_of(opencode, file_of(tmp_path, FILES["export"]))
    assert problems(items) == []
    system, prompt, answer, *results = messages(items)[:6]
    assert system == Message("system", "Be brief.")
    assert prompt.blocks == (Text("What is here?\rÄ"), Text("Called the Read tool"), SCREEN)
    thought, words, *calls = answer.blocks
    assert thought == Raw("anthropic", {"type": "thinking", "thinking": "hm", "signature": "sig"})
    assert words == Text("I look.")
    assert calls == [
        ToolCall("c1", "bash", {"of": "c1"}),
        ToolCall("c2", "read", {"of": "c2"}),
        ToolCall("c3", "task", {"of": "c3"}),
    ]
    assert results == [
        Message("tool", "no such file", "c2", "read", is_error=True),
        Message("tool", "later", "c1", "bash"),
        Message("tool", "", "c3", "task"),
    ]


def test_usage_model_and_times(tmp_path: Path) -> None:
    items = entries(items_of(opencode, file_of(tmp_path, FILES["export"])))
    answer, failed = items[2:4]
    usage = {"input": 5, "output": 2, "thoughts": 1, "cacheRead": 7, "cacheWrite": 3, "cost": 0.25}
    assert (answer.model, answer.usage) == ("claude-9", usage)
    assert answer.metadata == {"provider": "anthropic"}
    assert answer.time == datetime.fromtimestamp((START + 2) / 1000, UTC)
    assert failed.time == datetime.fromtimestamp((START + 8) / 1000, UTC)


def test_a_compaction_replaces_all_but_its_tail(tmp_path: Path) -> None:
    items = entries(items_of(opencode, file_of(tmp_path, FILES["export"])))
    (summary,) = [entry for entry in items if entry.compacts]
    assert [m.text for m in summary.messages] == [opencode.QUESTION, "They looked."]
    tail = items[items.index(summary) + 1 :]
    content = [{"type": "text", "text": "long"}, IMAGE]
    assert [(m.role, m.content) for entry in tail for m in entry.messages] == [
        ("assistant", (Text("Done."), ToolCall("c4", "bash", {"of": "c4"}))),
        ("tool", content),
        ("user", "And now?"),
        ("assistant", (ToolCall("c5", "bash", {"of": "c5"}),)),
    ]
    assert [entry.usage is None for entry in tail] == [True, True, True, False]


def test_the_facts_of_a_session_and_of_its_child(tmp_path: Path) -> None:
    items = items_of(opencode, file_of(tmp_path, FILES["database"]))
    time = datetime.fromtimestamp(START / 1000, UTC)
    first, second = [item for item in items if isinstance(item, Facts)]
    assert (first.dialog, first.title, first.folder) == ("ses_1", "Looking", "/home/me/project")
    assert (first.started, first.cost, first.parent, first.call_id) == (time, 0.75, None, None)
    assert (second.dialog, second.title, second.parent) == ("ses_2", None, "ses_1")
    assert (second.call_id, second.cost) == ("c3", None)
    alone = items_of(opencode, file_of(tmp_path, FILES["child"]))[0]
    assert alone.parent == "opencode/ses_1"  # its dialog, from whatever file


def test_a_database_and_exports_give_the_same_dialogs(tmp_path: Path) -> None:
    with Tract.open() as t:
        stored = import_file(t, file_of(tmp_path, FILES["database"], "opencode.db").path)
        parts = [file_of(tmp_path, FILES[name], f"{name}.json") for name in ("export", "child")]
        again = [import_file(t, source.path) for source in parts]
    assert stored.dialogs == ["opencode/ses_1", "opencode/ses_2"]
    assert [report.dialogs for report in again] == [["opencode/ses_1"], ["opencode/ses_2"]]
    assert [report.messages for report in again] == [0, 0]


def test_a_database_needs_its_log(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    path.write_bytes(as_database(SCHEMA, rows(CHILD)))
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = wal")
        data = json.dumps({"role": "user", "time": {"created": START + 9}})
        writer.execute("INSERT INTO message VALUES ('msg_9', 'ses_2', ?, 0, ?)", (START + 9, data))
        part = json.dumps(text("In the log."))
        writer.execute("INSERT INTO part VALUES ('prt_9', 'msg_9', 'ses_2', 0, 0, ?)", (part,))
        writer.commit()
        source = file_of(tmp_path, path.read_bytes(), "copy.db")
        assert len(messages(opencode.read(source))) == 1
        (tmp_path / "copy.db-wal").write_bytes((tmp_path / "opencode.db-wal").read_bytes())
        assert [m.text for m in messages(opencode.read(source))] == ["Find it.", "In the log."]


def test_a_log_that_cannot_be_read_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = file_of(tmp_path, FILES["database"], "opencode.db")
    (tmp_path / "opencode.db-wal").write_bytes(b"x")

    def refuse(*_arguments: Any, **_options: Any) -> Any:
        raise binding.Error("unable to open")

    monkeypatch.setattr(binding, "connect", refuse)
    with pytest.raises(InputError, match=r"opencode\.db-wal cannot be read: unable to open"):
        list(opencode.read(source))


def test_messages_of_a_newer_table_are_reported(tmp_path: Path) -> None:
    tables = rows({**CHILD, "messages": []})
    tables["session_message"] = [
        {"id": "m1", "session_id": "ses_2", "type": "user", "seq": 1, "data": '{"text": "hi"}'}
    ]
    items = items_of(opencode, file_of(tmp_path, as_database(SCHEMA, tables)))
    (unknown,) = [item for item in items if isinstance(item, Unknown)]
    assert (unknown.kind, unknown.dialog) == ("session_message user", "ses_2")
    assert unknown.record == {"text": "hi", "id": "m1"}


def test_parts_without_their_message_are_reported(tmp_path: Path) -> None:
    tables = rows(CHILD)
    tables["message"] = []
    items = items_of(opencode, file_of(tmp_path, as_database(SCHEMA, tables)))
    assert problems(items) == [Problem("part prt_3_1", "its message is not in the database")]


def test_a_call_without_its_arguments_is_left_out(tmp_path: Path) -> None:
    cut = tool("c9", "write", "pending", raw='{"pa')
    items = read(tmp_path, message(assistant(1, 0), text("I write."), cut))
    assert [m.content for m in messages(items)] == [(Text("I write."),)]
    what = "the arguments of the call 'c9' of write are not complete"
    assert problems(items) == [Problem("message msg_1, part prt_1_2", what)]


def test_an_interrupted_command_has_an_output(tmp_path: Path) -> None:
    about = {"interrupted": True, "output": "half"}
    stopped = tool("c1", "bash", "error", 5, error="aborted", metadata=about)
    _, result = messages(read(tmp_path, message(assistant(1, 0), stopped)))
    assert (result.content, result.is_error) == ("half", False)


def test_a_compaction_that_did_not_finish_replaces_nothing(tmp_path: Path) -> None:
    asked = message(user(1), {"type": "compaction", "auto": False})
    cut = message(assistant(2, 1, summary=True, finish=None), text("They"))
    failed = message(assistant(3, 1, summary=True, error={"name": "APIError"}), text("They"))
    assert entries(read(tmp_path, asked, cut, failed)) == []


def test_a_subtask_of_a_person_reads_as_the_model_read_it(tmp_path: Path) -> None:
    asked = message(user(1), {"type": "subtask", "prompt": "p", "agent": "a", "description": "d"})
    assert messages(read(tmp_path, asked)) == [Message("user", opencode.TASK)]


def test_other_thoughts_and_files_are_kept(tmp_path: Path) -> None:
    own = {"openai": {"itemId": "rs_1"}}
    thought = {"type": "reasoning", "text": "hm", "metadata": own}
    hidden = {"type": "reasoning", "text": "", "metadata": {"anthropic": {"redactedData": "x"}}}
    file = {"id": "f", "type": "file", "mime": "audio/wav", "url": "file:///a.wav"}
    items = read(tmp_path, message(assistant(1, 0), thought, hidden, file))
    assert messages(items)[0].blocks == (
        Raw("opencode", {"type": "reasoning", "text": "hm", "metadata": own}),
        Raw("anthropic", {"type": "redacted_thinking", "data": "x"}),
        Raw("opencode", file),
    )


def test_a_broken_record_costs_only_itself(tmp_path: Path) -> None:
    parts = [text("a"), {"type": "text"}, {"type": "new", "x": 1}, {}, text("b")]
    bad = [None, {}, 7, {"info": {"role": "robot"}, "parts": []}, {"info": {"role": "user"}}]
    odd = message(user(2))
    odd["parts"] = [None, {"type": "text", "text": None}, {"type": "file"}, text("c")]
    cut = tool("c", "bash", "completed", 4)
    items = read(tmp_path, message(user(1), *parts), *bad, odd, message(assistant(3, 2), cut))
    assert [m.text for m in messages(items)] == ["a\nb", "c", ""]
    assert [problem.place for problem in problems(items)] == [
        "message msg_1, part prt_1_2",
        "message msg_1, part prt_1_4",
        *(f"message {number}" for number in range(2, 7)),
        "message msg_2, part 1",
        "message msg_2, part 2",
        "message msg_2, part 3",
        "message msg_3, part prt_3_1",
    ]
    (unknown,) = [item for item in items if isinstance(item, Unknown)]
    assert (unknown.kind, unknown.place) == ("new", "message msg_1, part prt_1_3")


def test_a_growing_export_extends_its_dialog(tmp_path: Path) -> None:
    with Tract.open() as t:
        for count in range(len(EXPORT["messages"]) + 1):
            if count:
                grown = {**EXPORT, "messages": EXPORT["messages"][:count]}
                import_file(t, file_of(tmp_path, grown).path)
        (dialog,) = t.dialogs()
    assert (dialog.dialog, dialog.branches) == ("opencode/ses_1", 1)


def test_a_session_that_is_imported_while_it_is_written(tmp_path: Path) -> None:
    unfinished: Any = {"tokens": {"input": 0}, "finish": None, "time": {"created": START + 2}}
    pending = tool("c1", "bash", "pending", raw="{")
    first, second = tool("c1", "bash", "running"), tool("c2", "read", "running")
    one = tool("c1", "bash", "completed", 9, output="one")
    two = tool("c2", "read", "completed", 8, output="two")
    growth: list[list[Any]] = [[text("")], [text("I look.")], [text("I look."), pending]]
    growth += [[text("I look."), first], [text("I look."), first, second]]
    growth += [[text("I look."), first, two], [text("I look."), one, two]]
    prompt = message(user(1), text("Hi"))
    answers = [message(assistant(2, 1, **unfinished), *parts) for parts in growth]
    done = message(assistant(2, 1), *growth[-1])
    logs = []
    for states in ([*answers, done], [done]):
        db = tmp_path / f"{len(states)}.db"
        with Tract.open(db) as t:
            for answer in states:
                export = {**EXPORT, "messages": [prompt, answer]}
                import_file(t, file_of(tmp_path, as_database(SCHEMA, rows(export))).path)
            assert [info.branches for info in t.dialogs()] == [1]
        with Tract.open(db, dialog="opencode/ses_1") as t:
            logs.append([(commit.commit_hash, commit.usage) for commit in t.log()])
    assert logs[0] == logs[1]
