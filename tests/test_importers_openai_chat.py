"""Chats in OpenAI's words, as messages."""

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
from tests.samples.openai_chat import CALL, CHAT, OLD, TOOLS
from tract.importers import openai_chat
from tract.importers.items import Problem
from tract.importers.source import Source
from tract.providers.openai_chat import Dump


def test_a_list_of_messages_comes_back_without_foreign_keys(tmp_path: Path) -> None:
    source = file_of(tmp_path, CHAT)
    assert openai_chat.detect(source)
    dump = Dump()
    for message in messages(items_of(openai_chat, source)):
        dump.feed(message)
    known = [{key: value for key, value in m.items() if key != "own"} for m in CHAT]
    assert json.dumps(dump.finish()) == json.dumps(known)


@pytest.mark.parametrize("key", ["messages", "traj", "conversation"])
def test_a_conversation_has_its_messages_under_a_name(tmp_path: Path, key: str) -> None:
    source = file_of(tmp_path, {"task_id": 1, "reward": 0.0, key: CHAT, "tools": TOOLS})
    assert openai_chat.detect(source)
    first, *rest = items_of(openai_chat, source)
    assert first.tools == TOOLS
    assert all(entry.tools is None for entry in rest)
    assert counts([first, *rest]) == (5, 1, 1)


def test_old_definitions_are_definitions(tmp_path: Path) -> None:
    (first, *_) = items_of(
        openai_chat, file_of(tmp_path, {"messages": CHAT, "functions": [{"name": "f"}]})
    )
    assert first.tools == [{"type": "function", "function": {"name": "f"}}]


def test_several_conversations_are_dialogs(tmp_path: Path) -> None:
    bodies = [{"messages": CHAT}, {"messages": CHAT}, {"id": "third", "messages": CHAT}]
    for source in (file_of(tmp_path, bodies), of_lines(tmp_path, *bodies)):
        assert openai_chat.detect(source)
        dialogs = [entry.dialog for entry in items_of(openai_chat, source)]
        assert dialogs == [None] * 5 + ["2"] * 5 + ["third"] * 5


def test_messages_may_stand_one_per_line(tmp_path: Path) -> None:
    source = of_lines(tmp_path, *CHAT)
    assert openai_chat.detect(source)
    assert counts(items_of(openai_chat, source))[0] == 5


def test_old_calls_get_ids_of_their_own(tmp_path: Path) -> None:
    _, call, result, call2, result2 = messages(items_of(openai_chat, file_of(tmp_path, OLD)))
    assert [call.tool_calls[0].id, result.tool_call_id] == ["call_1", "call_1"]
    assert [call2.tool_calls[0].id, result2.tool_call_id] == ["call_2", "call_2"]


def test_calls_without_ids_are_answered_in_order(tmp_path: Path) -> None:
    calls = [{**CALL, "id": ""}, {"type": "function", "function": {"name": "sub"}}]
    chat = [
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "name": "sub", "content": "b"},
        {"role": "tool", "content": "a"},
    ]
    asked, sub, add = messages(items_of(openai_chat, file_of(tmp_path, chat)))
    assert [call.id for call in asked.tool_calls] == ["call_1", "call_2"]
    assert (sub.tool_call_id, add.tool_call_id) == ("call_2", "call_1")


def test_a_bad_message_is_told_and_the_rest_is_kept(tmp_path: Path) -> None:
    source = file_of(tmp_path, [CHAT[0], 7, {"role": "robot", "content": "x"}, *CHAT[1:]])
    items = items_of(openai_chat, source)
    assert [item.place for item in items if isinstance(item, Problem)] == [
        "line 1, message 2",
        "line 1, message 3",
    ]
    assert counts(items)[0] == 5


def test_a_cut_file_loses_what_was_cut(tmp_path: Path) -> None:
    data = json.dumps(CHAT, indent=1).encode()
    source = file_of(tmp_path, data[: data.index(b"One.")])
    assert openai_chat.detect(source)
    problem, *entries = items_of(openai_chat, source)
    assert isinstance(problem, Problem)
    assert [m.text for m in messages(entries)][:2] == ["Be brief.", "add"]
    assert counts(entries)[2] == 1


@pytest.mark.parametrize(
    "other",
    [
        {"model": "m", "messages": CHAT},
        {"messages": CHAT, "response": {}},
        [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}],
        [{"role": "user", "content": "x", "type": "message"}],
        {"id": "1", "role": "user", "content": []},
    ],
)
def test_other_formats_are_left_alone(tmp_path: Path, other: Any) -> None:
    assert not openai_chat.detect(file_of(tmp_path, other))


@pytest.mark.parametrize("path", real_files("openai-chat-tau"), ids=lambda path: path.name)
def test_real_trajectories_are_whole(path: Path) -> None:
    source = Source(path)
    assert openai_chat.detect(source)
    items = items_of(openai_chat, source)
    assert counts(items) == counts_in_manifest(path)
    trajectory = json.loads(path.read_bytes())["traj"]
    assert {message["content"] for message in trajectory if message["content"]} <= held(items)
    dump = Dump()
    for message in messages(items):
        dump.feed(message)
    assert without_ids(dump.finish()) == without_ids(trajectory)


def without_ids(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the ids of calls: the files have some twice, and what is sent does not."""
    return [
        {
            **{key: value for key, value in message.items() if key != "tool_call_id"},
            "tool_calls": [{**call, "id": ""} for call in message.get("tool_calls") or ()],
        }
        for message in messages
    ]
