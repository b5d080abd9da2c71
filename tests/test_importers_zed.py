from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.importing import as_database, entries, file_of, items_of, messages, problems
from tests.samples.zed import (
    FILES,
    MESSAGES,
    PACKED,
    SCHEMA,
    THREAD,
    agent,
    call,
    result,
    row,
    text,
    user,
)
from tract.importers import zed
from tract.importers.items import Entry, Facts, Item, Unknown
from tract.model import Message, Raw, Text, ToolCall

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}


def read_rows(folder: Path, *rows: Any) -> list[Item]:
    return items_of(zed, file_of(folder, as_database(SCHEMA, {"threads": list(rows)})))


def read(folder: Path, *exchanged: Any) -> list[Item]:
    return read_rows(folder, row("t-1", {**THREAD, "messages": list(exchanged)}))


def thread(folder: Path, dialog: str) -> list[Entry]:
    items = items_of(zed, file_of(folder, FILES["database"]))
    assert problems(items) == []
    return [entry for entry in entries(items) if entry.dialog == dialog]


def test_messages_calls_and_results(tmp_path: Path) -> None:
    prompt, answer, *results, resumed, done = messages(thread(tmp_path, "t-1"))[:7]
    words = (Text("What is here?\rÄ"), Text("print()"), Raw("anthropic", IMAGE))
    assert prompt.content == words
    assert answer.content == (
        Raw("anthropic", {"type": "thinking", "thinking": "hm", "signature": "sig"}),
        Raw("anthropic", {"type": "redacted_thinking", "data": "x"}),
        Text("I look."),
        *(ToolCall(own, "read_file", f'{{"of":  "{own}"}}') for own in ("c1", "c2", "c3")),
    )
    assert results == [
        Message("tool", "no such file", "c2", "read_file", is_error=True),
        Message("tool", "", "c1", "read_file"),
        Message("tool", [{"type": "text", "text": "seen"}, IMAGE], "c3", "read_file"),
    ]
    assert (resumed.text, done.text) == (zed.RESUMED, "Done.")


def test_a_summary_replaces_what_comes_before(tmp_path: Path) -> None:
    summary = thread(tmp_path, "t-1")[-3]
    assert (summary.compacts, summary.messages) == (True, (Message("user", "They looked."),))


def test_a_thread_of_an_older_version(tmp_path: Path) -> None:
    prompt, answer, returned = messages(thread(tmp_path, "t-2"))
    assert prompt.content == (Text("C"), Text("Hi"))
    assert answer.content == (
        Raw("zed", {"type": "thinking", "thinking": "mm"}),
        Raw("anthropic", {"type": "redacted_thinking", "data": "y"}),
        Text("I look."),
        ToolCall("o1", "ls", {"a": 1}),
    )
    assert (returned.tool_call_id, returned.content) == ("o1", "a.py")


def test_the_facts_of_a_thread(tmp_path: Path) -> None:
    items = items_of(zed, file_of(tmp_path, FILES["database"]))
    first, second = [item for item in items if isinstance(item, Facts)]
    time = datetime(2026, 1, 15, 20, 51, 48, tzinfo=UTC)
    assert first == Facts(
        dialog="t-1",
        title="Looking",
        folder="/home/me/project",
        model="claude-9",
        started=time,
        ended=time,
    )
    assert (second.title, second.parent) == ("S", "t-1")


def test_compressed_threads(tmp_path: Path) -> None:
    packed = row("t-1", THREAD, data_type="zstd", data=PACKED)
    assert entries(read_rows(tmp_path, packed)) == entries(read(tmp_path, *MESSAGES))
    (problem,) = problems(read_rows(tmp_path, {**packed, "data": PACKED[:20]}))
    assert problem.what.startswith(("cannot be unpacked", "not JSON"))
    (problem,) = problems(read_rows(tmp_path, {**packed, "data": b"other"}))
    assert problem.what.startswith("cannot be unpacked")


def test_a_broken_record_costs_only_itself(tmp_path: Path) -> None:
    blocks: list[Any] = [text("a"), None, {}, {"Text": None}, {"ToolUse": {}}, {"New": 1}]
    blocks += [call("c1", is_input_complete=False), call("c2")]
    odd = agent(*blocks, a=None, b={"tool_use_id": "x"}, c2=result("c2", [None, text("found")]))
    bad: list[Any] = [None, {}, 7, {"User": None}, {"User": {}}, {"role": "robot"}]
    native: Any = {"Compaction": {"ProviderNative": {"items": []}}}
    items = read(tmp_path, odd, *bad, native, user(text("b")))
    assert [m.text for m in messages(items)] == ["a", "b"]
    assert messages(items)[0].blocks[1] == Raw("zed", {"New": 1})
    assert [problem.place.removeprefix("thread t-1, ") for problem in problems(items)] == [
        *(f"message 1, block {number}" for number in (2, 3, 4, 5, 7)),
        *(f"message 1, result {number}" for number in (1, 2, 3)),
        *(f"message {number}" for number in range(2, 8)),
    ]
    assert [i.kind for i in items if isinstance(i, Unknown)] == ["Compaction"]


def test_a_broken_thread_costs_only_itself(tmp_path: Path) -> None:
    rows = [row("t-0", THREAD, data="{"), row("t-1", THREAD, data_type="new"), row("t-2", THREAD)]
    items = read_rows(tmp_path, *rows)
    assert [problem.place for problem in problems(items)] == ["thread t-0", "thread t-1"]
    assert {entry.dialog for entry in entries(items)} == {"t-2"}


def test_a_growing_thread_gives_the_same(tmp_path: Path) -> None:
    full = entries(read(tmp_path, *MESSAGES))
    for count in range(1, len(MESSAGES) + 1):
        grown = entries(read(tmp_path, *MESSAGES[:count]))
        assert grown == full[: len(grown)]
