from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.importing import as_database, entries, file_of, items_of, messages, problems
from tests.samples.crush import (
    CHILD,
    FILES,
    FINISH,
    ROWS,
    SCHEMA,
    START,
    call,
    message,
    part,
    result,
    session,
    text,
)
from tract import Tract, import_file
from tract.importers import crush
from tract.importers.items import Entry, Facts, Item, Unknown
from tract.model import Message, Raw, Text, ToolCall

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}


def read(folder: Path, *rows: Any) -> list[Item]:
    tables = {"sessions": [session("s-1")], "messages": list(rows)}
    return items_of(crush, file_of(folder, as_database(SCHEMA, tables)))


def main_entries(folder: Path) -> list[Entry]:
    items = items_of(crush, file_of(folder, FILES["database"]))
    assert problems(items) == []
    return [entry for entry in entries(items) if entry.dialog == "s-1"]


def test_messages_calls_and_results(tmp_path: Path) -> None:
    prompt, answer, *results, done = messages(main_entries(tmp_path))[:6]
    words = (Text("What is here?\rÄ"), Text("A"), Raw("anthropic", IMAGE))
    assert prompt.content == words
    assert answer.content == (
        Raw("anthropic", {"type": "thinking", "thinking": "hm", "signature": "sig"}),
        Text("I look."),
        *(ToolCall(own, "bash", f'{{"of":  "{own}"}}') for own in ("c1", "c2", "c3")),
    )
    assert results == [
        Message("tool", "no such file", "c2", "bash", is_error=True),
        Message("tool", "", "c1", "bash"),
        Message("tool", [{"type": "text", "text": "seen"}, IMAGE], "c3", "bash"),
    ]
    assert done.text == "Done."


def test_model_and_times_in_seconds(tmp_path: Path) -> None:
    answer = main_entries(tmp_path)[1]
    assert (answer.model, answer.metadata) == ("m-9", {"provider": "anthropic"})
    assert answer.time == datetime.fromtimestamp(START + 1, UTC)


def test_a_summary_and_a_command_of_a_person(tmp_path: Path) -> None:
    summary, command, _ = main_entries(tmp_path)[-3:]
    assert (summary.compacts, summary.messages) == (True, (Message("user", "They looked."),))
    assert command.messages == (Message("user", "$ ls\na.py\n(exit code 0)"),)


def test_facts_and_a_child(tmp_path: Path) -> None:
    folder = tmp_path / "project" / ".crush"
    folder.mkdir(parents=True)
    source = file_of(folder, FILES["database"], "crush.db")
    child, main = [item for item in items_of(crush, source) if isinstance(item, Facts)]
    assert (child.dialog, child.parent, child.call_id) == ("m2$$c3", "s-1", "c3")
    assert main == Facts(
        dialog="s-1",
        title="Looking",
        folder=str(folder.parent.resolve()),
        started=datetime.fromtimestamp(START, UTC),
        ended=datetime.fromtimestamp(START + 99, UTC),
        cost=0.5,
    )
    with Tract.open() as t:
        assert import_file(t, source.path).dialogs == ["crush/m2$$c3", "crush/s-1"]


def test_an_answer_that_is_not_finished_is_left_out(tmp_path: Path) -> None:
    cut = message("m1", "assistant", text("Do"))
    items = read(tmp_path, cut)
    assert [(p.place, p.what) for p in problems(items)] == [
        ("message m1", "the answer is not finished")
    ]
    assert len(messages(read(tmp_path, cut, message("m2", "user", text("Hm?"), at=1)))) == 2


def test_other_parts(tmp_path: Path) -> None:
    odd = {"MIMEType": "audio/wav", "Data": "aGk=", "Path": "a.wav"}
    parts = [part("reasoning", thinking="mm"), part("image_url", url="https://x/a.png")]
    row = message("m1", "user", *parts, part("binary", **odd), part("new", x=1))
    items = read(tmp_path, row)
    assert messages(items)[0].content == (
        Raw("crush", {"thinking": "mm", "type": "reasoning"}),
        Raw("openai", {"type": "image_url", "image_url": {"url": "https://x/a.png"}}),
        Raw("crush", {**odd, "type": "binary"}),
    )
    assert [i.kind for i in items if isinstance(i, Unknown)] == ["new"]


def test_a_broken_record_costs_only_itself(tmp_path: Path) -> None:
    parts = [text("a"), None, {}, part("text"), part("tool_call"), call("c1", finished=False)]
    parts += [part("binary", MIMEType="text/plain", Data="?"), part("tool_result"), text("b")]
    rows = [
        message("m1", "assistant", *parts, FINISH),
        message("m2", "robot", text("x"), at=1),
        {**message("m3", "user", at=2), "parts": "{"},
        message("m4", "tool", result("c1", "found"), at=3),
    ]
    items = read(tmp_path, *rows)
    assert [m.text for m in messages(items)] == ["a\nb", "found"]
    assert [problem.place for problem in problems(items)] == [
        *(f"message m1, part {number}" for number in range(2, 9)),
        "message m2",
        "message m3",
    ]


def test_a_growing_database_gives_the_same(tmp_path: Path) -> None:
    full = main_entries(tmp_path)
    for count in range(1, len(ROWS["messages"])):
        grown = entries(read(tmp_path, *ROWS["messages"][:count]))
        assert grown == full[: len(grown)]
    assert CHILD not in ROWS["messages"][:-1]
