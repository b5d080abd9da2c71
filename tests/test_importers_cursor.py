from __future__ import annotations

from pathlib import Path

from tests.importing import as_lines, entries, file_of, items_of, messages, of_lines, problems
from tests.samples.cursor import ANSWER, FILES, LINES, PROMPT, call, said, text
from tract import Tract, import_file
from tract.importers import cursor
from tract.importers.items import Facts, Unknown
from tract.model import Text


def test_detects_its_own_lines_and_no_others(tmp_path: Path) -> None:
    assert cursor.detect(of_lines(tmp_path, PROMPT))
    assert not cursor.detect(of_lines(tmp_path, {**PROMPT, "id": "1"}))
    assert not cursor.detect(of_lines(tmp_path, PROMPT, {"role": "user", "content": "hi"}))
    assert not cursor.detect(of_lines(tmp_path, {"role": "user", "message": "hi"}))


def test_messages_and_calls(tmp_path: Path) -> None:
    items = items_of(cursor, file_of(tmp_path, FILES["lines"]))
    prompt, answer, done, again, last = messages(items)
    assert problems(items) == []
    assert prompt.text == "<user_query>\nWhat is here?\rÄ\n</user_query>"
    assert answer.blocks[0] == Text("I look.")
    assert [(c.id, c.name, c.arguments) for c in (*answer.tool_calls, *last.tool_calls)] == [
        ("call_1", "Read", {"of": "Read"}),
        ("call_2", "Grep", {"of": "Grep"}),
        ("call_3", "Shell", {"of": "Shell"}),
    ]
    assert (done.text, again.text) == ("Done.", "And now?")


def test_an_id_and_a_result_are_used_where_there_are_any(tmp_path: Path) -> None:
    result = {"type": "tool_result", "content": "found"}
    named = {**call("Read"), "id": "t1"}
    lines = [PROMPT, said("assistant", named), said("user", result)]
    _, answer, returned = messages(items_of(cursor, of_lines(tmp_path, *lines)))
    assert answer.tool_calls[0].id == "t1" == returned.tool_call_id


def test_a_sub_agent_is_a_dialog_of_its_session(tmp_path: Path) -> None:
    folder = tmp_path / "s-1" / "subagents"
    folder.mkdir(parents=True)
    source = file_of(folder, as_lines(*LINES), "a-2.jsonl")
    items = items_of(cursor, source)
    assert items[0] == Facts(dialog="a-2", parent="s-1")
    assert {entry.dialog for entry in entries(items)} == {"a-2"}
    with Tract.open() as t:
        assert import_file(t, source.path).dialogs == ["s-1/a-2"]


def test_a_broken_record_costs_only_itself(tmp_path: Path) -> None:
    blocks = [text("a"), {}, {"type": "text", "text": None}, {"type": "tool_use"}, text("b")]
    bad = [b"{", 5, {}, {"role": "robot", "message": {}}, {"role": "user"}, said("user", None)]
    other = {"type": "new", "x": 1}
    items = items_of(cursor, of_lines(tmp_path, said("assistant", *blocks), *bad, other, ANSWER))
    assert [m.text for m in messages(items)] == ["a\nb", "I look."]
    assert [problem.place for problem in problems(items)] == [
        *(f"line 1, block {number}" for number in (2, 3, 4)),
        *(f"line {number}" for number in range(2, 7)),
        "line 7, block 1",
    ]
    assert [i.kind for i in items if isinstance(i, Unknown)] == ["new"]


def test_a_growing_file_gives_the_same(tmp_path: Path) -> None:
    full = entries(items_of(cursor, of_lines(tmp_path, *LINES)))
    for count in range(1, len(LINES) + 1):
        grown = entries(items_of(cursor, of_lines(tmp_path, *LINES[:count])))
        assert grown == full[: len(grown)]
