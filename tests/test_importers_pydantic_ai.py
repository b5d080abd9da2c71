"""pydantic-ai's messages, as messages."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.importing import counts, entries, file_of, items_of, messages, of_lines, problems
from tests.samples.pydantic_ai import IMAGE, MESSAGES, TIME, call, prompt, request, response, result
from tract.importers import pydantic_ai
from tract.importers.items import Unknown
from tract.model import Message, Raw, Text, ToolCall

PICTURE = {"type": "base64", "media_type": "image/png", "data": "+//+AA=="}
BLOCK = {"type": "image", "source": PICTURE}


def read(folder: Path, document: Any) -> list[Any]:
    return items_of(pydantic_ai, file_of(folder, document))


@pytest.mark.parametrize("layout", ["list", "key", "lines"])
def test_every_part_is_a_message(tmp_path: Path, layout: str) -> None:
    if layout == "lines":
        items = items_of(pydantic_ai, of_lines(tmp_path, *MESSAGES))
    else:
        items = read(tmp_path, MESSAGES if layout == "list" else {"messages": MESSAGES})
    page = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    thought = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    errors = [{"type": "int", "loc": ["n"]}]
    assert messages(items) == [
        Message("system", "Be brief."),
        Message("system", "You list files."),
        Message("user", (Text("What is here?"), Raw("anthropic", page), Raw("anthropic", BLOCK))),
        Message(
            "assistant",
            (
                Raw("anthropic", thought),
                Text("Looking."),
                ToolCall("c1", "ls", {"path": "a"}),
                ToolCall("c2", "bad", '{"n": 1}'),
                ToolCall("c3", "pic", {}),
            ),
        ),
        Message("tool", [BLOCK], "c3", "pic"),
        Message("tool", ["a.py", {"n": 1}], "c1", "ls"),
        Message("tool", errors, "c2", "bad", True),
        Message("assistant", (ToolCall("c4", "ls", {}), ToolCall("c5", "bad", "{}"))),
        Message("tool", "", "c4", "ls"),
        Message("tool", "try n=2", "c5", "bad", True),
        Message("user", "Please return text."),
        Message("assistant", "Done é\r."),
        Message("system", "Be long."),
        Message("user", "And now?"),
        Message("assistant", (ToolCall("c6", "ls", {}),)),
    ]


def test_what_is_known_of_an_answer(tmp_path: Path) -> None:
    answer = entries(read(tmp_path, MESSAGES))[3]
    assert (answer.model, answer.usage) == ("claude-x", MESSAGES[1]["usage"])
    assert answer.time == datetime(2026, 1, 2, 3, 4, 5, 678000, UTC)
    assert answer.metadata is not None
    assert answer.metadata["provider_response_id"] == "msg_1"


def test_results_of_the_providers_own_tools(tmp_path: Path) -> None:
    searched = {**call("web", {"q": 1}, "s1"), "part_kind": "builtin-tool-call"}
    answered = {**result("web", "hit", "s1"), "part_kind": "builtin-tool-return"}
    items = read(tmp_path, [request(prompt("x")), response(searched, answered)])
    assert messages(items)[2:] == [
        Message("assistant", (ToolCall("s1", "web", {"q": 1}),)),
        Message("tool", "hit", "s1", "web"),
    ]


def test_an_odd_part_costs_only_itself(tmp_path: Path) -> None:
    future = {"part_kind": "hologram", "content": "x"}
    odd = response(future, {"part_kind": "text", "content": None}, call("ls", {}, "c9"))
    items = read(tmp_path, [*MESSAGES, odd, {"kind": "interlude", "parts": []}, None])
    assert [item for item in items if isinstance(item, Unknown)] == [
        Unknown("message 9, part 1", "hologram", future)
    ]
    assert [(p.place, p.what) for p in problems(items)] == [
        ("message 9, part 2", "content is a text, not NoneType"),
        ("message 10", "unknown kind 'interlude'"),
        ("message 11", "a message is a dict, not NoneType"),
    ]
    assert counts(items)[1] == counts(read(tmp_path, MESSAGES))[1] + 1


def test_files_that_a_model_made(tmp_path: Path) -> None:
    items = read(
        tmp_path, [request(prompt("x")), response({"part_kind": "file", "content": IMAGE})]
    )
    assert messages(items)[-1] == Message("assistant", (Raw("anthropic", BLOCK),))


@pytest.mark.parametrize(
    "other",
    [
        [{"role": "user", "parts": [{"text": "hi"}]}],
        [{"kind": "request", "parts": [{"text": "hi"}]}],
        {"kind": "request", "timestamp": TIME},
        [],
    ],
)
def test_other_formats_are_left_alone(tmp_path: Path, other: Any) -> None:
    assert not pydantic_ai.detect(file_of(tmp_path, other))
