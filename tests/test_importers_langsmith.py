from __future__ import annotations

import json
from pathlib import Path

from tests.importing import file_of, of_lines, problems
from tests.samples.langsmith import (
    FIRST,
    FLAT,
    NESTED,
    SECOND,
    TOOL,
    TOOL_RUN,
    WRAPPED,
    dumped,
    generated,
    run,
)
from tract import Tract
from tract.importers import langsmith
from tract.importers.items import FullHistory, Item, Unknown
from tract.importers.writer import import_file
from tract.model import Json, ToolCall


def read(folder: Path, value: Json) -> list[Item]:
    return list(langsmith.read_histories(file_of(folder, value)))


def histories(items: list[Item]) -> list[FullHistory]:
    return [item for item in items if isinstance(item, FullHistory)]


def test_runs_with_model_calls_are_detected(tmp_path: Path) -> None:
    assert all(langsmith.detect(file_of(tmp_path, one)) for one in (NESTED, FLAT, WRAPPED))
    others: list[Json] = [[], [TOOL_RUN], {"run_type": "llm"}, {"run_type": "llm", "inputs": {}}]
    assert not any(langsmith.detect(file_of(tmp_path, other)) for other in others)


def test_calls_are_read_in_the_order_of_their_starts(tmp_path: Path) -> None:
    items = read(tmp_path, NESTED)
    first, second = histories(items)
    assert len(items) == 2
    assert [m.role for m in first.messages] == ["system", "user", "assistant"]
    assert first.messages[1].content == "Grüße\r"
    assert first.messages[2].tool_calls == (
        ToolCall("c1", "ls", {"path": "."}),
        ToolCall("c2", "cat", {}),
    )
    assert (first.tools, first.is_answered, first.dialog) == ([TOOL], True, None)
    details = first.details
    assert details.generation_config == {"model": "gpt-9", "temperature": 0.5}
    assert details.usage == {"input_tokens": 20, "output_tokens": 3, "total_tokens": 23}
    assert details.metadata == {"time": "2025-12-04T14:51:01+00:00"}
    assert second.messages[:3] == first.messages
    results = [(m.tool_call_id, m.name, m.content, m.is_error) for m in second.messages[3:5]]
    assert results == [("c2", "cat", "no file", True), ("c1", "ls", "", False)]
    assert second.messages[5].content == "Done."


def test_flat_runs_give_the_same(tmp_path: Path) -> None:
    nested = read(tmp_path, NESTED)
    assert read(tmp_path, FLAT) == nested
    assert list(langsmith.read_histories(of_lines(tmp_path, SECOND, FIRST))) == nested
    assert read(tmp_path, [NESTED, *FLAT]) == nested


def test_a_repeated_history_is_one_dialog(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db") as t:
        report = import_file(t, file_of(tmp_path, NESTED, "run.json").path)
        assert report.dialogs == ["run"]
        assert (report.messages, report.calls, report.results) == (6, 2, 2)
        assert (report.repairs, report.problems) == ([], [])


def test_a_wrapped_client_is_read(tmp_path: Path) -> None:
    (history,) = histories(read(tmp_path, [WRAPPED]))
    assert [m.content for m in history.messages] == ["Hi.", "Hello."]
    assert history.tools == [TOOL]
    assert history.details.usage == {"prompt_tokens": 3, "completion_tokens": 1}


def test_prompts_and_batches_are_read(tmp_path: Path) -> None:
    outputs = {"generations": [[{"text": "A."}], [{"text": "B."}]]}
    batch = run(1, "llm", {"prompts": ["a", "b"]}, outputs, prompt_tokens=4, total_cost=0.5)
    first, second = histories(read(tmp_path, [batch]))
    assert [m.content for m in (*first.messages, *second.messages)] == ["a", "A.", "b", "B."]
    assert (first.dialog, second.dialog) == (None, "2")
    assert first.details.usage == {"prompt_tokens": 4, "total_cost": 0.5}


def test_a_call_that_failed_has_no_answer(tmp_path: Path) -> None:
    (history,) = histories(read(tmp_path, [{**FIRST, "outputs": None, "error": "429"}]))
    assert (len(history.messages), history.is_answered) == (2, False)


def test_an_unknown_type_is_kept_and_no_message(tmp_path: Path) -> None:
    new = run(5, "dream", {}, {})
    assert read(tmp_path, [new, FIRST])[0] == Unknown("element 1", "dream", new)


def test_a_broken_run_or_message_costs_only_itself(tmp_path: Path) -> None:
    messages = [[None, dumped("Human", None), dumped("Human", "x"), {"type": "new"}]]
    damaged = run(4, "llm", {"messages": messages}, generated(dumped("AI", "y")))
    items = read(tmp_path, [None, {}, {**FIRST, "run_type": 7}, damaged])
    assert [problem.place for problem in problems(items)] == [
        *("element 1", "element 2", "element 3"),
        *("element 4, message 1", "element 4, message 2", "element 4, message 4"),
    ]
    assert [m.content for m in histories(items)[0].messages] == ["x", "y"]


def test_a_cut_run_is_no_run(tmp_path: Path) -> None:
    root = {**NESTED, "child_runs": [FIRST, SECOND]}
    text = json.dumps(root)
    cut = text[: text.rindex('"run_type": "llm"') + 60]
    assert len(histories(read(tmp_path, cut))) == 1
    after = text[: text.rindex("]}") + 1] + ', "tags": ["x'
    assert len(histories(read(tmp_path, after))) == 2
