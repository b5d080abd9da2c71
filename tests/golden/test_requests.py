"""Exact requests for a few small histories. TRACT_UPDATE_GOLDEN=1 writes the files anew."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.toolkit import claude_tool, tool
from tests.validity import violations
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


def offered(t: Tract) -> None:
    """Tools in two providers' words, changed twice."""
    cached = claude_tool("read", path="string") | {"cache_control": {"type": "ephemeral"}}
    t.system("Be brief.")
    t.user("Look at a.", tools=[tool("grep", pattern="string"), cached])
    t.assistant("", tool_calls=[ToolCall("a", "read", {"path": "a"})])
    t.tool_result("a", "read", "12")
    t.set_tools([tool("grep", pattern="string"), cached, tool("ls")])
    t.assistant("12.")
    t.user("And b?", tools=[tool("ls"), tool("grep", pattern="string", limit="integer")])


def taken_away(t: Tract) -> None:
    """A call of a tool that there is no more."""
    t.user("Look at a.", tools=[tool("read", path="string")])
    t.assistant("", tool_calls=[ToolCall("a", "read", {"path": "a"})])
    t.tool_result("a", "read", "12")
    t.set_tools(None)


HISTORIES: list[Callable[[Tract], None]] = [
    *(texts, tool_loop, repaired, changed, providers_words, offered, taken_away),
]
TOOLS = {"latest": "", "inline": "_inline"}
"""How tools are compiled, and the end of the file's name."""
RECORDED = [(make, "latest") for make in HISTORIES] + [(offered, "inline"), (taken_away, "inline")]


NAMES = [f"{make.__name__}{TOOLS[tools]}" for make, tools in RECORDED]


@pytest.mark.parametrize(("make", "tools"), RECORDED, ids=NAMES)
def test_requests_are_the_recorded_ones(make: Callable[[Tract], None], tools: str) -> None:
    with Tract.open() as t:
        make(t)
        context = t.compile(tools=tools)
    requests: dict[str, Any] = {
        "openai": context.to_openai_params(),
        "anthropic": context.to_anthropic_params(),
        "responses": context.to_responses_params(),
        "gemini": context.to_gemini_params(),
        "betas": context.betas,
        "notes": context.notes,
    }
    assert violations(context) == []
    text = json.dumps(requests, indent=1, ensure_ascii=False) + "\n"
    path = FOLDER / f"{make.__name__}{TOOLS[tools]}.json"
    if os.environ.get("TRACT_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("make", HISTORIES, ids=lambda make: make.__name__)
def test_messages_alone_are_those_of_the_requests(make: Callable[[Tract], None]) -> None:
    with Tract.open() as t:
        make(t)
        context = t.compile()
    assert context.to_openai() == context.to_openai_params()["messages"]
    request = context.to_anthropic_params()
    alone = {key: request[key] for key in ("messages", "system") if key in request}
    assert context.to_anthropic() == alone
    whole = context.to_gemini_params()
    whole.pop("tools", None)
    assert context.to_gemini() == whole


def test_every_recorded_request_is_made() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.json" for name in NAMES}
