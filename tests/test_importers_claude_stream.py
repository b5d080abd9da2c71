from __future__ import annotations

from pathlib import Path

from tests.importing import entries, file_of, items_of, messages, of_lines, problems
from tests.samples.claude_stream import END, INIT, RUN, answer, noise, prompt, record, result
from tract.importers import claude_stream
from tract.importers.items import Entry, Facts, Item, Unknown
from tract.model import Json, Message, Raw, Text, ToolCall


def read(folder: Path, *records: Json) -> list[Item]:
    return items_of(claude_stream, of_lines(folder, *records))


def of_dialog(items: list[Item], dialog: str | None) -> list[Entry]:
    return [entry for entry in entries(items) if entry.dialog == dialog]


def test_its_records_are_detected_and_a_transcript_is_not(tmp_path: Path) -> None:
    assert claude_stream.detect(of_lines(tmp_path, INIT))
    assert claude_stream.detect(file_of(tmp_path, RUN))
    assert not claude_stream.detect(of_lines(tmp_path, {**INIT, "sessionId": "s"}))
    assert not claude_stream.detect(of_lines(tmp_path, {"type": "system", "session_id": "s"}))
    assert claude_stream.session(of_lines(tmp_path, *RUN)) == "s-1"


def test_a_run_is_read(tmp_path: Path) -> None:
    items = read(tmp_path, *RUN)
    first, *results, done, summary, asked, cut = of_dialog(items, None)
    assert first.messages[0].content == (
        Raw("anthropic", {"type": "thinking", "thinking": "hm", "signature": "sig"}),
        ToolCall("t1", "Bash", {"command": "ls"}),
        ToolCall("t2", "Task", {"prompt": "Look."}),
        ToolCall("t4", "Bash", {"command": "true"}),
    )
    assert (first.model, first.usage) == ("claude-9", {"input_tokens": 7, "output_tokens": 1})
    assert first.metadata == {"id": "m1"}
    seen = [(m.tool_call_id, m.content, m.is_error) for e in results for m in e.messages]
    assert seen == [("t2", "seen", False), ("t1", "", False), ("t4", "", False)]
    assert done.messages[0].content == (Text("Grüße\rdone."),)
    assert (summary.compacts, summary.messages[0].text) == (True, "So far: nothing.")
    assert (asked.compacts, asked.messages[0].role) == (False, "user")
    assert [one.id for one in cut.messages[0].tool_calls] == ["t5"]
    assert not problems(items)


def test_a_sub_agent_is_a_dialog_with_its_parent(tmp_path: Path) -> None:
    items = read(tmp_path, *RUN)
    asked, looked, failed = of_dialog(items, "t2")
    assert (asked.messages[0].role, asked.messages[0].text) == ("user", "Look.")
    assert looked.messages[0].tool_calls == (ToolCall("t3", "Read", {"path": "b"}),)
    assert (failed.messages[0].tool_call_id, failed.messages[0].is_error) == ("t3", True)
    facts = [item for item in items if isinstance(item, Facts)]
    assert facts == [
        Facts(folder="/work/app", model="claude-9"),
        Facts(dialog="t2", parent="", call_id="t2"),
        Facts(cost=0.25),
    ]


def test_a_list_gives_the_same_as_lines(tmp_path: Path) -> None:
    assert items_of(claude_stream, file_of(tmp_path, RUN)) == read(tmp_path, *RUN)


def test_the_result_alone_is_the_answer(tmp_path: Path) -> None:
    entry, facts = read(tmp_path, END)
    assert entry == Entry(
        messages=(Message("assistant", "Grüße\rdone."),),
        usage={"input_tokens": 14, "output_tokens": 9},
    )
    assert facts == Facts(cost=0.25)
    assert read(tmp_path, {**END, "is_error": True, "total_cost_usd": None}) == []


def test_an_unknown_record_is_kept_and_no_message(tmp_path: Path) -> None:
    new = noise("moon_phase")
    items = read(tmp_path, INIT, new, {"type": "star", "session_id": "s-1"}, *RUN[2:4])
    unknown = [item for item in items if isinstance(item, Unknown)]
    assert [(one.place, one.kind) for one in unknown] == [
        ("line 2", "system/moon_phase"),
        ("line 3", "star"),
    ]
    assert unknown[0].record == new
    assert len(messages(items)) == 1


def test_an_error_of_the_program_is_no_answer(tmp_path: Path) -> None:
    failed = answer("m", {"type": "text", "text": "API Error: 429"}) | {"error": "rate_limit"}
    assert read(tmp_path, failed) == [Unknown("line 1", "assistant/rate_limit", failed)]


def test_a_repeated_record_counts_once(tmp_path: Path) -> None:
    asked = prompt("Hi.", uuid="u1")
    assert len(messages(read(tmp_path, asked, asked))) == 1


def test_a_broken_block_costs_only_itself(tmp_path: Path) -> None:
    good = {"type": "text", "text": "a"}
    content = [good, {"type": "text"}, None, {"type": "new", "x": 1}]
    items = read(tmp_path, record("user", {"role": "user", "content": content}))
    (message,) = messages(items)
    assert message.content == (Text("a"), Raw("any", {"type": "new", "x": 1}))
    assert [problem.place for problem in problems(items)] == ["line 1, block 2", "line 1, block 3"]


def test_a_broken_record_costs_only_itself(tmp_path: Path) -> None:
    broken: list[Json] = [None, 7, {}, record("user", None), record("user", {"content": None})]
    items = read(tmp_path, *broken, answer("m", {"type": "text"}), result("t", "x"))
    assert [problem.place for problem in problems(items)] == [
        *(f"line {number}" for number in range(1, 6)),
        "line 6, block 1",
    ]
    assert [message.content for message in messages(items)] == ["x"]
