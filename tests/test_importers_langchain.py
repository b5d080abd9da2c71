"""LangChain's dumps, as messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.corpus import real_files
from tests.importing import (
    counts,
    counts_in_manifest,
    file_of,
    held,
    items_of,
    messages,
    of_lines,
)
from tests.samples.langchain import CALL, FLAT, USAGE, constructed, wrapped
from tract.importers import langchain
from tract.importers.items import Problem, Unknown
from tract.importers.source import Source


@pytest.mark.parametrize("way", [dict, constructed, wrapped])
@pytest.mark.parametrize("layout", ["list", "dict", "lines"])
def test_every_way_to_dump(tmp_path: Path, way: Any, layout: str) -> None:
    dumped = [way(message) for message in FLAT]
    if layout == "lines":
        source = of_lines(tmp_path, *dumped)
    else:
        source = file_of(tmp_path, dumped if layout == "list" else {"messages": dumped})
    assert langchain.detect(source)
    items = items_of(langchain, source)
    found = messages(items)
    assert [m.role for m in found] == ["system", "user", "assistant", "tool", "assistant"]
    assert [m.text for m in found] == ["Be brief.", "add", "Well", "1", "One."]
    assert found[1].name == "ann"
    assert found[2].tool_calls[0].arguments == {"a": 1}
    assert found[3].tool_call_id == found[2].tool_calls[0].id == "c1"
    assert (items[2].model, items[2].usage) == ("gpt-x", USAGE)


def test_thoughts_and_artifacts_stay(tmp_path: Path) -> None:
    items = items_of(langchain, file_of(tmp_path, FLAT))
    assert items[3].metadata == {"artifact": {"raw": [7]}}
    assert items[4].metadata == {"additional_kwargs": {"reasoning_content": "easy"}}


def ai(**said: Any) -> dict[str, Any]:
    return {"type": "ai", "content": "", **said}


def test_calls_stand_in_several_places(tmp_path: Path) -> None:
    invalid = {"name": "sub", "args": "{oops", "id": "c2", "error": "no JSON"}
    function = {"name": "add", "arguments": "{}"}
    raw = {"id": "c3", "type": "function", "function": function}
    dumped = [
        ai(tool_calls=[CALL], invalid_tool_calls=[invalid]),
        ai(additional_kwargs={"tool_calls": [raw]}),
        ai(additional_kwargs={"function_call": function}),
        {"type": "function", "name": "add", "content": "2"},
        ai(tool_calls=[CALL], additional_kwargs={"tool_calls": [{**raw, "id": "c1"}]}),
    ]
    first, second, third, result, last = messages(items_of(langchain, file_of(tmp_path, dumped)))
    assert [(c.id, c.arguments) for c in first.tool_calls] == [("c1", {"a": 1}), ("c2", "{oops")]
    assert second.tool_calls[0].id == "c3"
    assert result.tool_call_id == third.tool_calls[0].id == "call_1"
    assert len(last.tool_calls) == 1


def test_a_failed_tool_and_a_role_by_name(tmp_path: Path) -> None:
    dumped = [
        FLAT[2],
        {"type": "tool", "content": "no", "tool_call_id": "c1", "status": "error"},
        {"type": "chat", "data": {"role": "user", "content": "Hi"}},
    ]
    _, failed, chat = messages(items_of(langchain, file_of(tmp_path, dumped)))
    assert failed.is_error
    assert (chat.role, chat.text) == ("user", "Hi")


def test_what_is_no_message_is_told(tmp_path: Path) -> None:
    items = items_of(langchain, file_of(tmp_path, [*FLAT, {"type": "remove", "id": "x"}, 7]))
    assert items[5] == Unknown("message 6", "remove", {"type": "remove", "id": "x"})
    assert [item.place for item in items if isinstance(item, Problem)] == ["message 7"]
    assert counts(items)[0] == 5


@pytest.mark.parametrize(
    "other",
    [
        {"type": "system", "content": "compacted", "uuid": "u"},
        {"type": "user.message", "data": {"content": "Hi"}},
        [{"role": "user", "content": "Hi"}],
        {"type": "message", "role": "assistant", "content": []},
        {"values": {"messages": FLAT}},
    ],
)
def test_other_formats_are_left_alone(tmp_path: Path, other: Any) -> None:
    assert not langchain.detect(file_of(tmp_path, other))


@pytest.mark.parametrize("path", real_files("langchain-dumpd"), ids=lambda path: path.name)
def test_real_dumps_are_whole(path: Path) -> None:
    source = Source(path)
    assert langchain.detect(source)
    items = items_of(langchain, source)
    assert counts(items) == counts_in_manifest(path)
    contents = [message["kwargs"]["content"] for message in json.loads(path.read_bytes())]
    blocks = [b for content in contents if isinstance(content, list) for b in content]
    texts = [c for c in contents if isinstance(c, str)] + [b["text"] for b in blocks if "text" in b]
    assert set(texts) <= held(items)
    assert sum(item.usage is not None for item in items) == 3
