from __future__ import annotations

import json
from pathlib import Path

from tests.importing import file_of, of_lines, problems
from tests.samples.otel import (
    ABOUT,
    AGENT,
    CONVENTIONS,
    EVENTS,
    FIRST,
    IN_SPAN,
    INFERENCE,
    LLMETRY,
    RAN,
    SECOND,
    TOOL,
    export,
    log,
    logs,
    pairs,
    span,
    text,
)
from tract import Tract
from tract.importers import otel
from tract.importers.items import FullHistory, Item
from tract.importers.writer import import_file
from tract.model import Json, Message, Raw, Text, ToolCall


def read(folder: Path, *values: Json) -> list[Item]:
    source = of_lines(folder, *values) if len(values) > 1 else file_of(folder, values[0])
    return list(otel.read_histories(source))


def histories(items: list[Item]) -> list[FullHistory]:
    return [item for item in items if isinstance(item, FullHistory)]


def test_calls_of_models_are_detected_and_other_spans_are_not(tmp_path: Path) -> None:
    assert otel.detect(file_of(tmp_path, CONVENTIONS))
    assert otel.detect(of_lines(tmp_path, logs(log(*EVENTS[0]))))
    for other in (export(), export(span(1, {"http.method": "GET"})), export(span(1, AGENT))):
        assert not otel.detect(file_of(tmp_path, other))
    assert not otel.detect(file_of(tmp_path, export(span(1, ABOUT))))  # without any message


def test_the_conventions_are_read(tmp_path: Path) -> None:
    items = read(tmp_path, CONVENTIONS)
    first, second = histories(items)
    assert len(items) == 2
    system, asked, answer = first.messages
    assert (system.role, system.content) == ("system", "Be brief.")
    assert (asked.role, asked.content) == ("user", "Grüße\r")
    assert answer.content == (
        Raw("otel", {"type": "thinking", "content": "hm"}),
        ToolCall("c1", "ls", {"path": "."}),
        ToolCall("c2", "cat", '{"path": "b"}'),
    )
    assert (first.tools, first.is_answered, first.dialog) == ([TOOL], True, None)
    details = first.details
    assert details.usage == {"input_tokens": 20, "output_tokens": 3, "cached_input_tokens": 5}
    assert details.generation_config == {"model": "m-1", "temperature": 0.5}
    assert details.metadata == {
        "time": "2023-11-14T22:13:21+00:00",
        "response": {"id": "r1", "model": "m-1-x"},
    }
    assert second.messages[:3] == first.messages
    assert second.messages[3:] == [
        Message("tool", "no file", "c2"),
        Message("tool", "", "c1"),
        Message("assistant", "Done."),
    ]


def test_a_repeated_history_is_one_dialog(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db") as t:
        report = import_file(t, file_of(tmp_path, CONVENTIONS, "trace.json").path)
        assert (report.dialogs, report.messages, report.calls, report.results) == (
            ["trace"],
            6,
            2,
            2,
        )
        assert (report.repairs, report.problems) == ([], [])


def test_spans_in_any_order_are_read_by_their_starts(tmp_path: Path) -> None:
    assert read(tmp_path, export(span(3, SECOND), span(1, FIRST))) == read(tmp_path, CONVENTIONS)


def test_attributes_of_openllmetry_are_read(tmp_path: Path) -> None:
    (history,) = histories(read(tmp_path, export(span(2, LLMETRY))))
    contents = [message.content for message in history.messages]
    assert contents[:9] == ["Be brief.", *(f"word {n}" for n in range(8))]
    assert contents[9] == (Text("List."),)
    assert history.messages[10].tool_calls[0].name == "ls"
    assert history.messages[10].tool_calls[0].arguments == "{}"
    assert (history.messages[11].tool_call_id, contents[11]) == ("c1", "[1]")
    assert contents[12] == "One."
    parameters = {"type": "object"}
    function = {"name": "ls", "description": "List.", "parameters": parameters}
    assert history.tools == [{"type": "function", "function": function}]
    assert history.details.usage == {"input_tokens": 9}


def test_attributes_of_openinference_are_read(tmp_path: Path) -> None:
    (history,) = histories(read(tmp_path, export(span(1, INFERENCE))))
    asked, called, result, answer = history.messages
    url = {"url": "data:image/png;base64,AA=="}
    image = Raw("openai", {"type": "image_url", "image_url": url})
    assert asked.content == (Text("See:"), image)
    assert [(c.id, c.name, c.arguments) for c in called.tool_calls] == [("c1", "ls", '{"a": 1}')]
    assert (result.tool_call_id, result.content) == ("c1", "x")
    assert answer.content == "A picture."
    assert history.details.generation_config == {"model": "m-2", "top_p": 1}


def test_events_of_a_span_and_logs_are_the_same(tmp_path: Path) -> None:
    (in_span,) = histories(read(tmp_path, export(IN_SPAN)))
    (in_logs,) = histories(read(tmp_path, *(logs(log(*event)) for event in EVENTS)))
    assert in_span.messages == in_logs.messages
    assert [message.role for message in in_span.messages] == [
        *("system", "user", "assistant", "tool", "assistant")
    ]
    assert in_span.messages[3].tool_call_id == "c1"


def test_an_event_may_have_the_attributes(tmp_path: Path) -> None:
    details = {"name": "gen_ai.client.inference.operation.details", "attributes": pairs(FIRST)}
    (history,) = histories(read(tmp_path, export(span(1, ABOUT, events=[details]))))
    assert history.messages == histories(read(tmp_path, CONVENTIONS))[0].messages
    record = {**log("", {}), "eventName": details["name"], "attributes": details["attributes"]}
    (history,) = histories(read(tmp_path, logs(record)))
    assert len(history.messages) == 3


def test_other_beginnings_are_other_dialogs(tmp_path: Path) -> None:
    other = {**FIRST, "gen_ai.input.messages": json.dumps([text("user", "Bye.")])}
    elsewhere = {**FIRST, "gen_ai.conversation.id": "conv-2"}
    items = read(
        tmp_path, export(span(1, FIRST), span(2, other), span(3, elsewhere), span(4, SECOND))
    )
    assert [history.dialog for history in histories(items)] == [None, "2", "3", None]


def test_several_choices_are_branches(tmp_path: Path) -> None:
    choices = [text("assistant", "A."), text("assistant", "B.")]
    spans = export(span(1, {**FIRST, "gen_ai.output.messages": choices}))
    assert [h.messages[-1].content for h in histories(read(tmp_path, spans))] == ["A.", "B."]


def test_what_was_not_recorded_or_cut_is_reported(tmp_path: Path) -> None:
    cut = {**FIRST, "gen_ai.input.messages": FIRST["gen_ai.input.messages"][:-4]}
    items = read(tmp_path, export(span(1, ABOUT), span(2, cut), span(3, SECOND)))
    assert [problem.place for problem in problems(items)] == [
        "line 1, spans 1 1 1",
        "line 1, spans 1 1 2",
    ]
    assert "not recorded" in problems(items)[0].what
    assert len(histories(items)) == 1


def test_a_broken_span_or_message_costs_only_itself(tmp_path: Path) -> None:
    messages = [None, {"role": "user"}, *SECOND["gen_ai.input.messages"]]
    messages.append({"role": "user", "parts": [{"type": "text"}, {"type": "text", "content": "x"}]})
    damaged = {**SECOND, "gen_ai.input.messages": json.dumps(messages)}
    items = read(tmp_path, export(None, {}, span(3, damaged), span(4, RAN)))
    assert [problem.place for problem in problems(items)] == [
        *(
            "line 1, spans 1 1 1",
            "line 1, spans 1 1 2",
            "line 1, spans 1 1 3, message 2",
            "line 1, spans 1 1 3, message 3",
        ),
        "line 1, spans 1 1 3, message 7, part 1",
    ]
    (history,) = histories(items)
    assert history.messages[-2] == Message("user", "x")
    assert len(history.messages) == 7


def test_broken_tools_cost_only_themselves(tmp_path: Path) -> None:
    items = read(tmp_path, export(span(1, {**FIRST, "gen_ai.tool.definitions": [{"x": 1}]})))
    assert histories(items)[0].tools is None
    assert [problem.place for problem in problems(items)] == ["line 1, spans 1 1 1, tools"]
