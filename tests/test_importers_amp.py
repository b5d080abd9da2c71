from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.importing import entries, file_of, items_of, messages, problems
from tests.samples.amp import THREAD, USAGE, call, message, result, text
from tract.importers import amp
from tract.importers.items import Facts, Item, Unknown
from tract.model import Json, Message, Raw, Text, ToolCall


def read(folder: Path, *chat: Json) -> list[Item]:
    return items_of(amp, file_of(folder, {**THREAD, "messages": list(chat)} if chat else THREAD))


def test_threads_are_detected(tmp_path: Path) -> None:
    assert amp.detect(file_of(tmp_path, THREAD))
    assert amp.session(file_of(tmp_path, THREAD)) == "T-0001"
    for other in ({**THREAD, "id": "x"}, {"id": "T-1", "messages": []}, [THREAD]):
        assert not amp.detect(file_of(tmp_path, other))


def test_a_thread_is_read(tmp_path: Path) -> None:
    items = read(tmp_path)
    asked, looked, results, answered, more, cut = entries(items)
    assert asked.messages == (Message("user", (Text("Grüße\r"),)),)
    assert asked.time == datetime(2026, 1, 2, 3, 3, 21, tzinfo=UTC)
    assert looked.messages[0].content == (
        Raw("anthropic", {"type": "thinking", "thinking": "hm", "signature": "sig"}),
        Text("I look."),
        ToolCall("t1", "Bash", {"cmd": "ls"}),
        ToolCall("t2", "Read", {"path": "b"}),
        ToolCall("t3", "Bash", {"cmd": "true"}),
    )
    assert (looked.model, looked.time) == ("claude-9", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    assert looked.usage == {
        "input_tokens": 3,
        "output_tokens": 7,
        "cache_creation_input_tokens": 11,
        "cache_read_input_tokens": 13,
    }
    assert results.messages == (
        Message("tool", "no file", "t2", is_error=True),
        Message("tool", {"output": "a.py", "exitCode": 0}, "t1"),
        Message("tool", "", "t3"),
    )
    assert (answered.messages[0].text, more.messages[0].text) == ("One file.", "Go on.")
    assert [one.id for one in cut.messages[0].tool_calls] == ["t4"]  # whose result is not there yet
    assert not problems(items)


def test_a_thread_has_its_facts(tmp_path: Path) -> None:
    started = datetime(2026, 1, 2, 3, 3, 20, tzinfo=UTC)
    assert read(tmp_path)[0] == Facts(title="List files", folder="/work/my app", started=started)


def test_what_gpt_has_read_is_not_written_to_a_cache(tmp_path: Path) -> None:
    usage = {**USAGE, "model": "gpt-9", "inputTokens": 0}
    (entry,) = entries(read(tmp_path, message(1, "assistant", text("Hi."), usage=usage)))
    assert entry.usage == {"input_tokens": 11, "output_tokens": 7, "cache_read_input_tokens": 13}


@pytest.mark.parametrize(
    ("block", "content", "is_error"),
    [
        (result("t", status="cancelled"), "", True),
        (result("t", status="rejected-by-user", reason="No."), "No.", True),
        (result("t", status="done", result=["a", "b"]), ["a", "b"], False),
        (result("t", status="done"), "", False),
        ({"type": "tool_result", "tool_use_id": "t", "content": "x", "is_error": True}, "x", True),
    ],
)
def test_results_are_read(tmp_path: Path, block: Json, content: Json, is_error: bool) -> None:
    (_, found) = messages(
        read(tmp_path, message(1, "assistant", call("t", "x")), message(2, "user", block))
    )
    assert (found.tool_call_id, found.content, found.is_error) == ("t", content, is_error)


def test_other_blocks_are_kept(tmp_path: Path) -> None:
    image = {
        "type": "image",
        "source": {"type": "base64", "mediaType": "image/png", "data": "AA=="},
    }
    thought = {"type": "thinking", "thinking": "hm", "provider": "openai"}
    content = messages(read(tmp_path, message(1, "user", image, thought, {"type": "new"})))[
        0
    ].content
    source = {"type": "base64", "media_type": "image/png", "data": "AA=="}
    assert content == (
        Raw("anthropic", {"type": "image", "source": source}),
        Raw("amp", thought),
        Raw("amp", {"type": "new"}),
    )


def test_an_unknown_role_is_kept_and_no_message(tmp_path: Path) -> None:
    record = message(1, "info", text("x"))
    assert read(tmp_path, record)[1:] == [Unknown("message 1", "info", record)]


def test_what_is_broken_or_not_complete_costs_only_itself(tmp_path: Path) -> None:
    broken: list[Json] = [None, 7, {}, {"role": "user"}, {"role": "user", "content": None}]
    broken.append(message(6, "assistant", text("Hal"), state={"type": "streaming"}))
    blocks: list[Json] = [None, {"type": "text"}, {"type": "tool_use"}, {"type": "tool_result"}]
    items = read(tmp_path, *broken, message(7, "user", *blocks, text("x")))
    assert [problem.place for problem in problems(items)] == [
        *(f"message {number}" for number in range(1, 7)),
        *(f"message 7, block {number}" for number in range(1, 5)),
    ]
    assert [m.text for m in messages(items)] == ["x"]
