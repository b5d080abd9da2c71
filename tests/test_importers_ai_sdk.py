"""The AI SDK's messages, as messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.importing import entries, file_of, items_of, messages, problems
from tests.samples.ai_sdk import MODEL, OLD, UI, part, said
from tract.importers import ai_sdk
from tract.importers.items import Unknown
from tract.model import Message, Raw, Text, ToolCall

THOUGHT = Raw("anthropic", {"type": "thinking", "thinking": "hm", "signature": "sig"})


def image(data: str, media_type: str = "image/png") -> dict[str, Any]:
    source = {"type": "base64", "media_type": media_type, "data": data}
    return {"type": "image", "source": source}


def read(folder: Path, document: Any) -> list[Any]:
    return items_of(ai_sdk, file_of(folder, document))


def test_each_step_of_an_answer_has_its_results(tmp_path: Path) -> None:
    items = read(tmp_path, UI)
    assert messages(items) == [
        Message("system", "Be brief."),
        Message("user", (Text("What?"), Raw("anthropic", image("AAAA")))),
        Message(
            "assistant",
            (
                THOUGHT,
                Text("Looking."),
                ToolCall("c1", "ls", {"path": "a"}),
                ToolCall("c2", "fail", {}),
                ToolCall("c3", "odd", "{oops"),
            ),
        ),
        Message("tool", {"files": ["a"]}, "c1", "ls"),
        Message("tool", "no", "c2", "fail", True),
        Message("tool", "bad", "c3", "odd", True),
        Message("assistant", (ToolCall("c4", "rm", {}), ToolCall("c5", "web", {}))),
        Message("tool", "Tool call execution denied.", "c4", "rm", True),
        Message("tool", "", "c5", "web"),
        Message("assistant", "Done é\r."),
        Message("user", "And now?"),
        Message("assistant", (ToolCall("c6", "ls", {}),)),
    ]
    assert entries(items)[2].metadata == {"id": "m1", "metadata": {"model": "x"}}


def test_version_4_says_everything_twice(tmp_path: Path) -> None:
    items = read(tmp_path, {"messages": OLD})
    thought = Raw("ai-sdk", {"type": "thinking", "thinking": "hm"})
    first, second = ToolCall("c1", "ls", {"path": "a"}), ToolCall("c2", "ls", {})
    assert messages(items) == [
        Message("user", "What?"),
        Message("assistant", (thought, first)),
        Message("tool", ["a"], "c1", "ls"),
        Message("assistant", (second,)),
        Message("tool", "", "c2", "ls"),
        Message("assistant", "Two."),
        Message("assistant", (first,)),
        Message("tool", ["a"], "c1", "ls"),
        Message("assistant", "Older."),
    ]
    time = entries(items)[0].time
    assert time is not None
    assert time.isoformat() == "2026-01-02T03:04:05+00:00"


def test_messages_of_models(tmp_path: Path) -> None:
    blocks = [{"type": "text", "text": "look"}, image("AA")]
    assert messages(read(tmp_path, MODEL)) == [
        Message("system", "Be brief."),
        Message("user", (Text("What?"), Raw("anthropic", image("AA", "image")))),
        Message(
            "assistant",
            (
                THOUGHT,
                Text("Looking."),
                ToolCall("c1", "ls", {"path": "a"}),
                ToolCall("c2", "ls", {"path": "b"}),
                ToolCall("c3", "ls", {}),
            ),
        ),
        Message("tool", "no", "c2", None, True),
        Message("tool", blocks, "c1", "ls"),
        Message("tool", "Tool call execution denied.", "c3", "ls", True),
        Message("assistant", "Done é\r."),
        Message("user", "And now?"),
        Message("assistant", (ToolCall("c4", "ls", {}),)),
    ]


def test_an_odd_part_costs_only_itself(tmp_path: Path) -> None:
    parts = [
        part("ls", "c7", "input-streaming"),
        {"type": "smell", "note": "x"},
        {"type": "text", "text": None},
        part("ls", "c8", "half-done"),
        said("Yes."),
    ]
    items = read(tmp_path, [*UI, {"id": "m3", "role": "assistant", "parts": parts}, {}, 7])
    assert messages(items)[-1] == Message("assistant", (ToolCall("c8", "ls", {}), Text("Yes.")))
    assert [(i.place, i.kind) for i in items if isinstance(i, Unknown)] == [
        ("message 6, part 2", "smell")
    ]
    assert [(p.place, p.what) for p in problems(items)] == [
        ("message 6, part 1", "the call 'c7' of 'ls' is not complete"),
        ("message 6, part 3", "text is a text, not NoneType"),
        ("message 6, part 4", "unknown state 'half-done' of the call 'c8'"),
        ("message 7", "no role"),
        ("message 8", "a message is a dict, not int"),
    ]


@pytest.mark.parametrize(
    "other",
    [
        [{"role": "user", "content": "hi"}],
        [{"role": "user", "parts": [{"text": "hi"}]}],
        [{"role": "user", "parts": [{"type": "text", "content": "hi"}]}],  # OpenTelemetry
        [{"role": "user", "content": [{"type": "image", "source": {}}]}],
        [{"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}],
    ],
)
def test_other_formats_are_left_alone(tmp_path: Path, other: Any) -> None:
    assert not ai_sdk.detect(file_of(tmp_path, other))
