from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from tests.importing import entries, file_of, items_of, messages, of_lines, problems
from tests.samples.openhands_sdk import (
    EVENTS,
    STATE,
    THOUGHT,
    TOOL,
    action,
    event,
    observation,
    prompt,
    text,
)
from tract.importers import openhands_sdk
from tract.importers.items import Item, Unknown
from tract.importers.source import Source
from tract.model import Json, Message, Raw, Text, ToolCall


def read(folder: Path, *events: Json) -> list[Item]:
    return items_of(openhands_sdk, of_lines(folder, *events))


def test_events_with_a_kind_are_detected(tmp_path: Path) -> None:
    assert openhands_sdk.detect(file_of(tmp_path, EVENTS))
    assert openhands_sdk.detect(of_lines(tmp_path, STATE))
    for other in ([{"kind": "MessageEvent"}], {"kind": "New", "id": "e", "source": "user"}):
        assert not openhands_sdk.detect(file_of(tmp_path, other))


def test_a_conversation_is_read(tmp_path: Path) -> None:
    items = read(tmp_path, *EVENTS)
    system, asked, answer, failed, seen, empty, done, summary, more, cut = entries(items)
    assert (system.messages[0], system.tools) == (Message("system", "Be brief."), [TOOL])
    assert asked.messages == (Message("user", (Text("Grüße\r"), Text("Use tabs."))),)
    assert asked.time == datetime(2026, 1, 2, 3, 4, 5, 600000, tzinfo=UTC)
    assert answer.messages[0].content == (
        Raw("anthropic", THOUGHT),
        Text("I look."),
        ToolCall("c1", "terminal", '{"command": "ls"}'),
        ToolCall("c2", "terminal", '{"command": "cat b"}'),
        ToolCall("c3", "terminal", '{"command": "true"}'),
    )
    assert failed.messages == (Message("tool", "no file", "c2", "terminal", True),)
    assert (seen.messages[0].content, seen.metadata) == ("a.py", {"exit_code": 0})
    assert (empty.messages[0].tool_call_id, empty.messages[0].content) == ("c3", "")
    assert done.messages == (Message("assistant", "One file."),)
    assert (summary.messages[0].content, summary.compacts) == ("So far.", False)
    assert more.messages[0].content == "Go on."
    assert [call.id for call in cut.messages[0].tool_calls] == ["c4"]
    assert not problems(items)


def test_a_list_gives_the_same_as_lines(tmp_path: Path) -> None:
    assert items_of(openhands_sdk, file_of(tmp_path, EVENTS)) == read(tmp_path, *EVENTS)


def test_a_folder_of_files_is_one_conversation(tmp_path: Path) -> None:
    folder = tmp_path / "conv-1" / "events"
    folder.mkdir(parents=True)
    for number, one in enumerate(EVENTS):
        file_of(folder, one, f"event-{number:05}-ab-{number}.json")
    first, second = (Source(folder / f"event-{n:05}-ab-{n}.json") for n in (0, 1))
    assert openhands_sdk.detect(second)
    assert openhands_sdk.session(first) == openhands_sdk.session(second) == "conv-1"
    assert items_of(openhands_sdk, first) == read(tmp_path, *EVENTS)
    assert items_of(openhands_sdk, second) == []  # read with the first
    file_of(folder, b'{"kind": "Mess', "event-00001-ab-1.json")
    items = items_of(openhands_sdk, first)
    assert [problem.place for problem in problems(items)] == ["event-00001-ab-1.json"]
    assert len(entries(items)) == 9
    damaged = file_of(folder, b"\0", "event-00000-ab-0.json")
    assert openhands_sdk.detect(damaged)
    assert len(entries(items_of(openhands_sdk, damaged))) == 8


def test_results_are_read(tmp_path: Path) -> None:
    image = {"type": "image", "image_urls": ["data:image/png;base64,AA=="]}
    rejected = {"tool_name": "terminal", "tool_call_id": "c2", "rejection_reason": "No."}
    results = messages(
        read(
            tmp_path,
            action(1, "c1", "x", "r1"),
            observation(2, "c1", text("See:"), image, is_error=True),
            event(3, "UserRejectObservation", "user", **rejected),
        )
    )[1:]
    source = {"type": "base64", "media_type": "image/png", "data": "AA=="}
    assert results == [
        Message(
            "tool",
            [{"type": "text", "text": "See:"}, {"type": "image", "source": source}],
            "c1",
            "terminal",
            True,
        ),
        Message("tool", "Action rejected: No.", "c2", "terminal"),
    ]


def test_other_thoughts_are_kept_for_reading(tmp_path: Path) -> None:
    (answer,) = messages(read(tmp_path, {**action(1, "c1", "x", "r1"), "reasoning_content": "hm"}))
    thought = {"type": "thinking", "thinking": "hm"}
    assert answer.blocks[0] == Raw("openhands-sdk", thought)


def test_an_unknown_kind_is_kept_and_no_message(tmp_path: Path) -> None:
    new = event(5, "DreamEvent", dream="x")
    assert read(tmp_path, new) == [Unknown("line 1", "DreamEvent", new)]


def test_a_repeated_event_counts_once(tmp_path: Path) -> None:
    assert len(messages(read(tmp_path, prompt(1, "Hi."), prompt(1, "Hi.")))) == 1


def test_what_is_broken_costs_only_itself(tmp_path: Path) -> None:
    broken: list[Json] = [None, 7, {}, event(1, "MessageEvent"), event(2, "ActionEvent")]
    broken += [event(3, "ObservationEvent"), event(4, "AgentErrorEvent", tool_call_id="c")]
    message = {"role": "user", "content": [None, {}, {"type": "text"}, text("x")]}
    items = read(
        tmp_path,
        *broken,
        event(5, "MessageEvent", llm_message=message),
        observation(6, "c", None, text("y")),
    )
    assert [problem.place for problem in problems(items)] == [
        *(f"line {number}" for number in range(1, 8)),
        *(f"line 8, block {number}" for number in (1, 2, 3)),
        "line 9, block 1",
    ]
    assert [m.content for m in messages(items)] == ["x", "y"]
