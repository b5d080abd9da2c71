"""A fifth provider is one object and one line: everything else asks the registry."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pytest

from tract import InputError, Tract, convert_tool
from tract.model import Json, Message, ToolCall
from tract.providers import PROVIDERS, Provider, load_answer, load_call, load_message, provider
from tract.providers.base import Answer, Evidence, Marks, UsageKeys
from tract.providers.common import Dump, ToolNames
from tract.providers.detect import detect
from tract.providers.functions import Function, Schema, dump_function, load_function
from tract.providers.requests import load, load_history
from tract.providers.streams import from_text
from tract.providers.tools import form_of, function_of
from tract.providers.usage import input_tokens


class TinyDump(Dump):
    """Lines of `[role, text]`; a call is `[assistant, name, id]`."""

    def __init__(self) -> None:
        super().__init__("t[0-9]+")
        self._lines: list[Json] = []

    def feed(self, message: Message) -> None:
        if message.role == "system":
            self.notes.append("a system text is not shown to tiny")
            return
        for call in message.tool_calls:
            name = {"by": "assistant", "calls": call.name, "id": self.ids.call(call.id)}
            self._lines.append(name)
        if message.text:
            self._lines.append({"by": message.role, "says": message.text})

    def finish(self, tail: Iterable[Message] = ()) -> dict[str, Json]:
        return {"lines": [*self._lines, *({"by": m.role, "says": m.text} for m in tail)]}


class TinyAssembler:
    has_last_event = False

    def __init__(self) -> None:
        self.is_complete = False
        self._text = ""

    def feed(self, event: dict[str, Json]) -> str:
        self._text += event["tiny_piece"]
        return str(event["tiny_piece"])

    def response(self) -> dict[str, Json]:
        return {"line": {"by": "assistant", "says": self._text}}


class Tiny(Provider):
    name = "tiny"
    history = "lines"
    marks = Marks(keys={"by": Evidence.CALL})
    usage_keys = UsageKeys(read=("tiny_read",))
    stop_key, cut_reasons = "tiny_end", ("full",)
    assembler, dump = TinyAssembler, TinyDump
    tool_names = ToolNames(12)
    tool_keys: ClassVar[Mapping[str, str]] = {"parameters": "tiny_schema"}

    def load_history(self, history: Json) -> Iterator[Message]:
        for line in history:
            if "calls" in line:
                yield Message("assistant", (self.load_call(line),))
            else:
                yield Message(line["by"], line["says"])

    def owns_call(self, call: dict[str, Json]) -> bool:
        return "calls" in call

    def load_call(self, call: dict[str, Json]) -> ToolCall:
        return ToolCall(call["id"], call["calls"], {})

    def is_response(self, body: dict[str, Json]) -> bool:
        return "line" in body

    def load_response(self, response: dict[str, Json]) -> Answer:
        (message,) = self.load_message(response["line"])
        return Answer(message, response.get("use"))

    def is_event(self, event: dict[str, Json]) -> bool:
        return "tiny_piece" in event

    def request(
        self, sent: Any, tools: list[Schema], called: Sequence[str], first: Message | None
    ) -> dict[str, Json]:
        return {**sent, "tiny_tools": tools}

    def tool_evidence(self, schema: Schema) -> int:
        return 3 if "tiny_schema" in schema else 0

    def load_tool(self, declaration: Schema) -> Function | None:
        return load_function(declaration, self.tool_keys)

    def dump_tool(self, function: Function) -> Schema:
        return dump_function(function, self.tool_keys)


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROVIDERS, "tiny", Tiny())


TOOL: Schema = {"name": "read the log", "input_schema": {"type": "object", "properties": {}}}
LINES = [{"by": "user", "says": "hello"}, {"by": "assistant", "calls": "ls", "id": "t1"}]


def test_it_is_compiled() -> None:
    with Tract.open() as t:
        t.system("Be brief.")
        t.user("hello", tools=[TOOL])
        t.assistant("I look.", tool_calls=[{"id": "c", "name": "read the log", "arguments": {}}])
        t.tool_result("c", None, "disk full")
        context = t.compile()
    request = context.to_params("tiny")
    (tool,) = request["tiny_tools"]
    assert tool.keys() == {"name", "tiny_schema"}
    assert len(tool["name"]) <= 12
    said, asked, answer, result = request["lines"]
    assert said == {"by": "user", "says": "hello"}
    assert asked["calls"] == tool["name"] != TOOL["name"]
    assert asked["id"] != "c"
    assert (answer["says"], result["says"]) == ("I look.", "disk full")
    assert context.to_messages("tiny") == {"lines": request["lines"]}


def test_it_has_notes() -> None:
    with Tract.open() as t:
        t.system("Be brief.")
        t.user("hello", tools=[TOOL])
        context = t.compile()
    notes = context.notes_for("tiny")
    assert notes[0] == "a system text is not shown to tiny"
    assert notes[1].startswith("tiny knows 'read the log' as ")
    assert set(notes) <= set(context.notes)
    assert not any("tiny" in note for note in context.notes_for("anthropic"))


def test_it_is_detected_and_loaded() -> None:
    assert detect({"lines": LINES}) == detect(LINES) == "tiny"
    assert [m.role for m in load({"lines": LINES}).messages] == ["user", "assistant"]
    assert load_history(LINES).provider == "tiny"
    assert load_message(LINES[0]) == [Message("user", "hello")]
    assert load_call(LINES[1]) == ToolCall("t1", "ls", {})
    with Tract.open() as t:
        assert len(t.record({"lines": LINES})) == 2
        assert t.record(t.compile().to_messages("tiny")) == []


def test_its_answers_and_streams_are_read() -> None:
    answer = load_answer({"line": {"by": "assistant", "says": "hi"}, "use": {"tiny_read": 7}})
    assert (answer.message.text, input_tokens(answer.usage)) == ("hi", 7)
    body = "".join(f"data: {json.dumps({'tiny_piece': text})}\n\n" for text in ("he", "llo"))
    assert from_text(body).response == {"line": {"by": "assistant", "says": "hello"}}


def test_its_tools_are_converted() -> None:
    theirs = convert_tool(TOOL, "tiny")
    assert theirs == {"name": "read the log", "tiny_schema": TOOL["input_schema"]}
    assert form_of(theirs) == "tiny"
    assert function_of(theirs) == function_of(TOOL)
    assert convert_tool(theirs, "anthropic") == TOOL


def test_an_unknown_provider_is_an_error() -> None:
    known = "openai, anthropic, responses, gemini, tiny"
    with pytest.raises(InputError, match=f"unknown provider 'acme'; expected one of {known}"):
        provider("acme")
    with Tract.open() as t, pytest.raises(InputError, match="unknown provider 'acme'"):
        t.compile().to_params("acme")
