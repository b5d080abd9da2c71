from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.corpus import DATA
from tests.importing import file_of, items_of, of_lines, only_entries, problems
from tests.samples.langfuse import (
    DOWNLOAD,
    FIRST,
    OF_API,
    ROWS,
    SECOND,
    SPAN,
    TOOL,
    TRACE,
    observation,
)
from tract import Tract
from tract.importers import langfuse
from tract.importers.items import FullHistory, Item, Unknown
from tract.importers.source import Source
from tract.importers.writer import import_file
from tract.model import Json, ToolCall


def read(folder: Path, value: Json) -> list[Item]:
    return list(langfuse.read_histories(file_of(folder, value)))


def histories(items: list[Item]) -> list[FullHistory]:
    return [item for item in items if isinstance(item, FullHistory)]


def test_traces_with_model_calls_are_detected(tmp_path: Path) -> None:
    assert all(langfuse.detect(file_of(tmp_path, one)) for one in (DOWNLOAD, OF_API, ROWS, FIRST))
    for other in ({"trace": TRACE, "observations": [SPAN]}, [SPAN], TRACE, [TRACE]):
        assert not langfuse.detect(file_of(tmp_path, other))
    joined = {"trace": {**TRACE, "sessionId": "se"}, "observations": [FIRST]}
    assert langfuse.session(file_of(tmp_path, joined)) == "se"
    assert langfuse.session(file_of(tmp_path, DOWNLOAD)) is None


def test_calls_are_read_in_the_order_of_their_starts(tmp_path: Path) -> None:
    items = read(tmp_path, DOWNLOAD)
    first, second, judge = histories(items)
    assert len(items) == 3
    system, asked, answer = first.messages
    assert [m.role for m in first.messages] == ["system", "user", "assistant"]
    assert (system.content, asked.content) == ("Be brief.", "Grüße\r")
    assert answer.tool_calls == (ToolCall("c1", "ls", "{}"), ToolCall("c2", "cat", "{}"))
    assert (first.tools, first.is_answered, first.dialog) == ([TOOL], True, None)
    details = first.details
    assert details.generation_config == {"model": "gpt-9", "temperature": 0.5}
    assert details.usage == {"input": 20, "output": 3, "total": 23, "cost": 0.5}
    assert details.metadata == {"time": "2025-12-04T14:51:01+00:00"}
    assert second.messages[:3] == first.messages
    results = [(m.tool_call_id, m.content) for m in second.messages[3:5]]
    assert results == [("c2", "no file"), ("c1", "")]
    assert second.messages[5].content == "Done."
    assert (judge.dialog, judge.messages[0].content) == ("2", "Good?")


def test_every_form_gives_the_same(tmp_path: Path) -> None:
    first, second, _ = histories(read(tmp_path, DOWNLOAD))
    assert read(tmp_path, OF_API) == read(tmp_path, ROWS) == [first, second]
    assert list(langfuse.read_histories(of_lines(tmp_path, SECOND, FIRST))) == [first, second]


def test_each_step_is_there_once_with_what_is_known_of_it(tmp_path: Path) -> None:
    steps = only_entries(items_of(langfuse, file_of(tmp_path, DOWNLOAD)))
    assert [(step.dialog, step.messages[0].role) for step in steps] == [
        *((None, role) for role in ("system", "user", "assistant", "tool", "tool", "assistant")),
        *(("2", role) for role in ("user", "assistant")),
    ]
    first = histories(read(tmp_path, DOWNLOAD))[0]
    assert steps[2].messages == (first.messages[2],)
    assert (steps[0].tools, steps[2].usage) == ([TOOL], first.details.usage)
    assert (steps[2].model, steps[2].generation_config) == ("gpt-9", {"temperature": 0.5})
    assert steps[2].time == datetime(2025, 12, 4, 14, 51, 1, tzinfo=UTC)


def test_a_repeated_history_is_one_dialog(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db") as t:
        report = import_file(t, file_of(tmp_path, DOWNLOAD, "run.json").path)
        assert report.dialogs == ["run", "run/2"]
        assert (report.messages, report.calls, report.results) == (8, 2, 2)
        assert (report.repairs, report.problems) == ([], [])


def test_texts_are_a_prompt_and_an_answer(tmp_path: Path) -> None:
    (history,) = histories(read(tmp_path, [observation(1, "GENERATION", "Hi.", "Hello.")]))
    assert [(m.role, m.content) for m in history.messages] == [
        ("user", "Hi."),
        ("assistant", "Hello."),
    ]


def test_an_unknown_type_is_kept_and_no_message(tmp_path: Path) -> None:
    new = observation(2, "DREAM", None, None)
    assert read(tmp_path, {"trace": TRACE, "observations": [new, FIRST]})[0] == Unknown(
        "line 1, observation 1", "DREAM", new
    )


def test_a_broken_observation_costs_only_itself(tmp_path: Path) -> None:
    nothing, odd = observation(5, "GENERATION", None, None), observation(6, "GENERATION", 7, None)
    items = read(tmp_path, [None, {}, {**FIRST, "type": None}, nothing, odd, FIRST])
    assert [problem.place for problem in problems(items)] == [
        *("element 1", "element 2", "element 3"),
        *("element 4", "element 5, message", "element 5"),
    ]
    assert len(histories(items)) == 1
    message: Json = {"role": "user", "content": None}
    damaged = observation(1, "GENERATION", [message, {"role": "user", "content": "x"}], "y")
    items = read(tmp_path, [damaged])
    assert [problem.place for problem in problems(items)] == ["element 1, message 1"]
    assert [m.content for m in histories(items)[0].messages] == ["x", "y"]


@pytest.mark.skipif(not DATA.exists(), reason="the shared transcripts are not here")
def test_a_real_trace(tmp_path: Path) -> None:
    source = Source(DATA / "langfuse-trace" / "langfuse_pydanticai_tools.trace.json")
    document = json.loads(source.path.read_text())
    made = [o for o in document["observations"] if o["type"] == "GENERATION"]
    made.sort(key=lambda o: str(o["startTime"]))
    assert langfuse.detect(source)
    items = list(langfuse.read_histories(source))
    assert not problems(items)
    for history, one in zip(histories(items), made, strict=True):
        parts = [p for m in [*one["input"], *one["output"]] for p in m["parts"]]
        calls = [p["id"] for p in parts if p["type"] == "tool_call"]
        results = [p["result"] for p in parts if p["type"] == "tool_call_response"]
        texts = [p["content"] for p in parts if p["type"] == "text"]
        assert [c.id for m in history.messages for c in m.tool_calls] == calls
        assert [m.content for m in history.messages if m.role == "tool"] == results
        assert [m.text for m in history.messages if m.role != "tool" and m.text] == texts
        assert history.tools
    # The agent's run with three calls and two prompts, and the evaluation.
    with Tract.open(tmp_path / "t.db") as t:
        report = import_file(t, source.path)
        assert (report.messages, report.calls, report.results) == (12, 4, 3)
        assert len(report.dialogs) == 2
