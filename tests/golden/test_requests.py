"""Exact requests for a few small histories. TRACT_UPDATE_GOLDEN=1 writes the files anew."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.wire_rules import anthropic_problems, openai_problems
from tract import Priority, ToolCall, Tract

FOLDER = Path(__file__).parent / "requests"


def texts(t: Tract) -> None:
    t.system("Be brief.")
    t.user("Où est-il ?")
    t.assistant("Là.")
    t.system("Answer in English.")
    t.user("Where?")
    t.user("Say it.")


def tool_loop(t: Tract) -> None:
    t.user("How many files mention x?")
    t.assistant(
        "Two searches.",
        tool_calls=[
            ToolCall("call_1", "grep", {"pattern": "x", "path": "src"}),
            {"id": "call_2", "name": "grep", "arguments": '{ "pattern":"x" }'},
        ],
    )
    t.tool_result("call_2", "grep", "no such folder", is_error=True)
    t.tool_result("call_1", "grep", {"files": 3})
    t.assistant("Three.")


def repaired(t: Tract) -> None:
    t.assistant("", tool_calls=[ToolCall("functions.Bash:0", "bash", {"cmd": "ls"})])
    t.user("Never mind.")
    t.assistant("", tool_calls=[ToolCall("functions.Bash:0", "bash", {"cmd": "pwd"})])
    t.tool_result("functions.Bash:0", "bash", "/")
    t.tool_result("lost", "read", "a result that nobody asked for")
    t.tool_result("functions.Bash:0", "bash", "late")
    t.assistant("", tool_calls=[ToolCall("", "bash", "{broken")])


def changed(t: Tract) -> None:
    t.user("Read a and b.")
    call = t.assistant("Both.", tool_calls=[ToolCall("a", "read"), ToolCall("b", "read")])
    long = t.tool_result("a", "read", "a long file")
    other = t.tool_result("b", "read", "another long file")
    t.tool_result("a", "read", "a: short", edit=long)
    t.annotate(other, Priority.SKIP)
    t.assistant("Read both.", edit=call)
    noise = t.assistant("", tool_calls=[ToolCall("c", "read")])
    t.tool_result("c", "read", "noise")
    t.annotate(noise, Priority.SKIP)
    t.user("Go on.")


def providers_words(t: Tract) -> None:
    image = {"type": "image", "source": {"type": "url", "url": "u"}}
    cached = {"type": "text", "text": "Look.", "cache_control": {"type": "ephemeral"}}
    function = {"name": "run", "arguments": '{"b": 1, "a": 2}'}
    call = {"id": "call_1", "type": "function", "function": function}
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    t.commit({"role": "developer", "content": "Be kind."})
    t.commit({"role": "user", "content": [image, cached]})
    t.commit({"role": "assistant", "content": None, "tool_calls": [call], "refusal": None})
    t.commit({"role": "tool", "tool_call_id": "call_1", "name": "run", "content": "done"})
    t.commit({"role": "assistant", "content": [thought, {"type": "text", "text": "Done."}]})


HISTORIES: list[Callable[[Tract], None]] = [texts, tool_loop, repaired, changed, providers_words]


@pytest.mark.parametrize("make", HISTORIES, ids=lambda make: make.__name__)
def test_requests_are_the_recorded_ones(make: Callable[[Tract], None]) -> None:
    with Tract.open() as t:
        make(t)
        context = t.compile()
    requests: dict[str, Any] = {
        "openai": context.to_openai(),
        "anthropic": context.to_anthropic(),
        "notes": context.notes,
    }
    assert openai_problems(requests["openai"]) == []
    assert anthropic_problems(requests["anthropic"]) == []
    text = json.dumps(requests, indent=1, ensure_ascii=False) + "\n"
    path = FOLDER / f"{make.__name__}.json"
    if os.environ.get("TRACT_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


def test_every_recorded_request_is_made() -> None:
    made = {f"{make.__name__}.json" for make in HISTORIES}
    assert {path.name for path in FOLDER.iterdir()} == made
