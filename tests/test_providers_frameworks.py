"""Lists of messages of frameworks: who claims them, and what `record` makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.samples import ai_sdk, autogen, langchain, pydantic_ai, sharegpt
from tests.validity import violations
from tract import InputError, Tract, import_file, import_messages
from tract.importers import importer
from tract.providers.detect import detect
from tract.providers.frameworks.lists import claims, load_list
from tract.providers.frameworks.marks import marked

LISTS: dict[str, list[dict[str, Any]]] = {
    "langchain": [langchain.wrapped(message) for message in langchain.FLAT],
    "pydantic-ai": pydantic_ai.MESSAGES,
    "ai-sdk": ai_sdk.UI,
    "autogen": autogen.CONTEXT,
    "sharegpt": sharegpt.HERMES["conversations"],
}
MORE = {
    "langchain": langchain.FLAT,
    "ai-sdk": ai_sdk.MODEL,
    "autogen": autogen.THREAD,
}
EVERY = [*LISTS.items(), *MORE.items(), ("ai-sdk", ai_sdk.OLD)]
each_list = pytest.mark.parametrize(("name", "messages"), EVERY)


@each_list
def test_only_its_own_format_claims_a_list(name: str, messages: list[Any]) -> None:
    assert marked(messages) == {name}
    assert [other for other in LISTS if claims(other, messages)] == [name]
    assert detect(messages) is None
    assert detect({"messages": messages}) is None


@each_list
def test_record_and_import_agree(name: str, messages: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(messages))
    with Tract.open() as recorded, Tract.open(tmp_path / "t.db") as imported:
        new = recorded.record(messages)
        assert recorded.record(messages) == []
        assert import_file(imported, path).format == name
        context = recorded.compile()
        assert violations(context) == []
        with Tract.open(tmp_path / "t.db", dialog="talk") as read:
            assert read.compile().messages == context.messages
            log = list(read.log())[::-1]
            assert [info.usage for info in log] == [info.usage for info in new]
            assert [info.metadata for info in log] == [info.metadata for info in new]


@each_list
def test_results_are_those_of_their_calls(name: str, messages: list[Any]) -> None:
    with Tract.open() as tract:
        import_messages(tract, messages)
        context = tract.compile()
        asked = [call.id for message in context.messages for call in message.tool_calls]
        answered = [m.tool_call_id for m in context.messages if m.role == "tool"]
        assert asked
        assert set(answered) <= set(asked)
        assert "not shown" not in json.dumps(context.to_anthropic())


def test_what_the_source_knows_is_recorded() -> None:
    with Tract.open() as tract:
        answer = tract.record(pydantic_ai.MESSAGES)[3]
        assert answer.usage == pydantic_ai.MESSAGES[1]["usage"]
        assert answer.generation_config == {"model": "claude-x"}
        assert answer.metadata["time"] == "2026-01-02T03:04:05.678000+00:00"


def test_a_request_of_a_framework_has_its_tools_and_its_system_text() -> None:
    tool = {"name": "add", "input_schema": {"type": "object"}}
    request = {"messages": LISTS["langchain"][1:], "system": "Be quick.", "tools": [tool]}
    with Tract.open() as tract:
        tract.record(request)
        sent = tract.compile().to_anthropic_params()
        assert (sent["system"], sent["tools"]) == ("Be quick.", [tool])


class Dumped:
    """An object as LangChain has them: its type is never set."""

    def __init__(self, kind: str, **fields: Any) -> None:
        self.type, self._fields = kind, fields

    def model_dump(self, **options: Any) -> dict[str, Any]:
        return self._fields


def test_objects_of_langchain_are_recorded() -> None:
    with Tract.open() as tract:
        tract.record([Dumped("human", content="Hi."), Dumped("ai", content="Yes?")])  # type: ignore[list-item]
        assert [(m.role, m.text) for m in tract.compile().messages] == [
            ("user", "Hi."),
            ("assistant", "Yes?"),
        ]


def test_messages_of_providers_may_stand_among_them() -> None:
    mixed = [{"role": "user", "content": "Hi."}, *LISTS["langchain"][2:]]
    with Tract.open() as tract:
        assert len(tract.record(mixed)) == 4


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        (
            [*LISTS["langchain"], {"type": "foo", "data": {"content": "x"}}],
            r"nearest: langchain \(message 6: unknown type 'foo'\)",
        ),
        (
            [*ai_sdk.UI, {"role": "assistant", "parts": [{"type": "smell"}]}],
            r"nearest: ai-sdk \(message 6: unknown type 'smell'\)",
        ),
        (
            [*pydantic_ai.MESSAGES, {"role": "user", "content": "Hi."}],
            r"nearest: pydantic-ai \(message 9: unknown kind 'null'\)",
        ),
        ([{"type": "banana", "peel": 1}], r"openai \(message 1: not a message: it has no role"),
        ([{"poem": "x"}, {"poem": "y"}], r"openai \(message 1: not a message: it has no role"),
        ([7], r"a message is a dict, not int"),
        ([{"role": "user", "message": {"content": "Hi."}}], r"no content, but message"),
        ([{"role": "user", "parts": [{"type": "text", "content": "Hi."}]}], r"an unknown format"),
        (
            [{"role": "user", "content": [{"type": "tool_result", "toolUseID": "t", "run": {}}]}],
            r"a result without its content",
        ),
    ],
)
def test_what_nobody_claims_is_rejected(messages: list[Any], why: str, tmp_path: Path) -> None:
    with Tract.open() as tract, pytest.raises(InputError, match=why) as error:
        tract.record(messages)
    assert str(error.value).startswith("not a list of messages of a known format; nearest: ")


def test_a_file_that_nobody_claims_is_rejected_by_its_nearest_formats(tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_text(json.dumps([{"type": "banana", "peel": 1}, {"role": "user", "content": "x"}]))
    with Tract.open() as tract, pytest.raises(InputError, match=r"nearest: .*message 1: "):
        import_file(tract, path)


@pytest.mark.parametrize("part", [{"type": "text", "content": "Hi."}, {"type": "tool_call"}])
def test_typed_parts_are_not_those_of_gemini(part: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "spans.json"
    path.write_text(json.dumps([{"role": "user", "parts": [part]}]))
    with Tract.open() as tract, pytest.raises(InputError, match="no format that can be imported"):
        import_file(tract, path)


def test_lists_of_providers_are_not_theirs() -> None:
    items = [{"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{}"}]
    for messages in (items, [{"role": "user", "content": "Hi."}], [{"role": "user", "parts": []}]):
        assert load_list(messages) is None


@pytest.mark.parametrize("damage", [None, {}, 7, "x", [], {"role": "user"}, {"content": "x"}])
@each_list
def test_a_damaged_message_costs_only_itself(
    name: str, messages: list[Any], damage: Any, tmp_path: Path
) -> None:
    path = tmp_path / "talk.json"
    module = importer(name.replace("-", "_"))
    for at in range(len(messages)):
        if len(messages) < 4:
            continue
        path.write_text(json.dumps([*messages[:at], damage, *messages[at:]]))
        with Tract.open() as tract:
            damaged = import_file(tract, path)
        assert damaged.format == module.NAME
        path.write_text(json.dumps(messages))
        with Tract.open() as tract:
            whole = import_file(tract, path)
        lost = (damaged.messages, damaged.calls, damaged.results)
        extra = damaged.messages - whole.messages  # some damage is a legal, empty message
        assert lost == (whole.messages + extra, whole.calls, whole.results)
        assert len(damaged.problems) == 1 - extra


@pytest.mark.parametrize("key", ["tool_calls", "invalid_tool_calls"])
def test_calls_of_langchain_that_are_no_list_cost_only_themselves(key: str, tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    asked = {"type": "human", "data": {"content": "Hi"}}
    answer = {"type": "ai", "data": {"content": "Hello", key: 7}}
    path.write_text(json.dumps([asked, answer, asked, asked]))
    with Tract.open() as tract:
        report = import_file(tract, path)
    assert (report.messages, report.calls) == (4, 0)
    assert [problem.what for problem in report.problems] == ["a part is a dict, not int"]
