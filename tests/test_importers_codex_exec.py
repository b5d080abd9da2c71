from __future__ import annotations

from pathlib import Path

from tests.importing import entries, items_of, messages, of_lines, problems
from tests.samples.codex_exec import CHANGES, FOUND, RUN, START, TODO, USAGE, done, started
from tract.importers import codex_exec
from tract.importers.items import Item, Unknown
from tract.model import Json, Raw, Text, ToolCall


def read(folder: Path, *records: Json) -> list[Item]:
    return items_of(codex_exec, of_lines(folder, *records))


def test_a_started_thread_is_detected(tmp_path: Path) -> None:
    assert codex_exec.detect(of_lines(tmp_path, *RUN))
    assert codex_exec.session(of_lines(tmp_path, *RUN)) == "th-1"
    assert codex_exec.detect(of_lines(tmp_path, *RUN[2:]))
    assert not codex_exec.detect(of_lines(tmp_path, RUN[1]))
    assert not codex_exec.detect(of_lines(tmp_path, {"type": "thread.started"}))


def test_a_run_is_read(tmp_path: Path) -> None:
    items = read(tmp_path, *RUN)
    first, page, failed, second, changed, third, empty, last, cut = entries(items)
    assert first.messages[0].content == (
        Raw("codex-exec", {"type": "thinking", "thinking": "**Looking**"}),
        Text("Grüße.\rI look."),
        ToolCall("item_2", "command_execution", {"command": "ls"}),
        ToolCall("item_3", "mcp__docs__find", {"q": "x"}),
    )
    (result,) = page.messages
    assert (result.tool_call_id, result.name) == ("item_3", "mcp__docs__find")
    assert (result.content, result.is_error) == (FOUND["content"], False)
    (result,) = failed.messages
    assert (result.tool_call_id, result.name) == ("item_2", "command_execution")
    assert (result.content, result.is_error) == ("no such file", True)
    assert failed.metadata == {"exit_code": 2}
    search, change = second.messages[0].blocks
    assert isinstance(search, Raw)
    assert search.data["query"] == "tract"
    assert change == ToolCall("item_6", "file_change", {"changes": CHANGES})
    assert changed.messages[0].content == {"status": "completed"}
    assert third.messages[0].tool_calls[0].id == empty.messages[0].tool_call_id == "item_7"
    assert (empty.messages[0].content, empty.messages[0].is_error) == ("", False)
    assert last.messages[0].content == (Text("Done."),)
    assert [entry.usage for entry in entries(items)] == [*[None] * 7, USAGE, None]
    assert [call.id for call in cut.messages[0].tool_calls] == ["item_9"]
    assert not problems(items)


def test_what_is_no_message_is_kept_and_reported(tmp_path: Path) -> None:
    failure = {"type": "turn.failed", "error": {"message": "429"}}
    notice = done("item_1", "error", message="careful")
    new = done("item_2", "hologram", beam=1)
    plan = done("item_3", "todo_list", items=TODO)
    items = read(tmp_path, START, notice, new, plan, failure, {"type": "thread.idle"})
    unknown = [item for item in items if isinstance(item, Unknown)]
    assert [(one.place, one.kind) for one in unknown] == [
        ("line 2", "error"),
        ("line 3", "hologram"),
        ("line 4", "todo_list"),
        ("line 5", "turn.failed"),
        ("line 6", "thread.idle"),
    ]
    assert unknown == items
    assert unknown[0].record == notice["item"]


def test_agents_that_work_together_are_called(tmp_path: Path) -> None:
    spawned = {"tool": "spawn_agent", "sender_thread_id": "th-1", "prompt": "Look."}
    states = {"th-2": {"status": "running", "message": None}}
    end = {"receiver_thread_ids": ["th-2"], "agents_states": states, "status": "completed"}
    call, result = messages(
        read(
            tmp_path,
            START,
            started("item_0", "collab_tool_call", **spawned, receiver_thread_ids=[]),
            done("item_0", "collab_tool_call", **spawned, **end),
        )
    )
    assert call.tool_calls == (ToolCall("item_0", "spawn_agent", {"prompt": "Look."}),)
    assert (result.name, result.content) == ("spawn_agent", end)


def test_a_tool_that_failed_says_why(tmp_path: Path) -> None:
    end = {"result": None, "error": {"message": "no server"}, "status": "failed"}
    _, result = messages(
        read(tmp_path, START, done("i", "mcp_tool_call", server="s", tool="t", **end))
    )
    assert (result.content, result.is_error) == ("no server", True)


def test_another_thread_is_another_dialog(tmp_path: Path) -> None:
    text = done("item_0", "agent_message", text="Hi.")
    other = {**START, "thread_id": "th-2"}
    items = read(tmp_path, START, text, text, START, text, other, text)
    assert [entry.dialog for entry in entries(items)] == [None, None, "th-2"]


def test_a_broken_event_costs_only_itself(tmp_path: Path) -> None:
    broken: list[Json] = [None, {}, {"type": "item.completed"}, done("i", "agent_message")]
    broken += [started("j", "mcp_tool_call"), {"type": "item.completed", "item": {"id": "k"}}]
    items = read(tmp_path, START, *broken, done("l", "plan", text="Plan."))
    assert [problem.place for problem in problems(items)] == [f"line {n}" for n in range(2, 8)]
    assert [message.text for message in messages(items)] == ["Plan."]
