from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.importing import entries, file_of, items_of, messages, problems
from tests.samples.continue_sessions import HISTORY, SESSION, call, item, output, state
from tract.importers import continue_sessions
from tract.importers.items import Facts, Item, Unknown
from tract.model import Message, Raw, Text, ToolCall

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}


def read(folder: Path, *history: Any) -> list[Item]:
    return items_of(continue_sessions, file_of(folder, {**SESSION, "history": list(history)}))


def test_detects_its_own_sessions_and_no_others(tmp_path: Path) -> None:
    assert continue_sessions.detect(file_of(tmp_path, SESSION))
    assert continue_sessions.session(file_of(tmp_path, SESSION)) == "s-1"
    index = [{key: SESSION[key] for key in ("sessionId", "title", "workspaceDirectory")}]
    for other in (index, index[0], {"history": HISTORY}):
        assert not continue_sessions.detect(file_of(tmp_path, other))


def test_messages_and_calls(tmp_path: Path) -> None:
    items = read(tmp_path, *HISTORY)
    assert problems(items) == []
    system, prompt, thought, answer = messages(items)[:4]
    assert system == Message("system", "Be brief.")
    words = (Text("print()\n"), Text("What is here?\rÄ"), Raw("anthropic", IMAGE))
    assert prompt.content == words
    assert thought.content == (
        Raw("anthropic", {"type": "thinking", "thinking": "hm", "signature": "sig"}),
    )
    assert answer.blocks[:2] == (Text("I look."), ToolCall("c1", "read_file", '{"of":  "c1"}'))
    assert [call.id for call in answer.tool_calls] == ["c1", "c2", "c3", "c4"]


def test_a_result_is_read_once_from_wherever_it_is(tmp_path: Path) -> None:
    results = [m for m in messages(read(tmp_path, *HISTORY)) if m.role == "tool"]
    assert [(m.tool_call_id, m.content, m.is_error) for m in results] == [
        ("c1", "a\n\nb", False),
        ("c2", "no such file\n[Status: failed]", True),
        ("c3", "The user cancelled this tool call.", False),
        ("c4", "No tool output", False),
        ("c5", "", False),
    ]
    failed = item("assistant", "", toolCallStates=[state("c1", "errored")])
    call_alone, result = messages(read(tmp_path, failed))
    assert [one.id for one in call_alone.tool_calls] == ["c1"]
    assert (result.text, result.is_error) == ("There was an error calling the tool.", True)


def test_usage_model_and_facts(tmp_path: Path) -> None:
    index = [{"sessionId": "s-1", "dateCreated": "1768000000000"}]
    (tmp_path / "sessions.json").write_text(json.dumps(index))
    items = read(tmp_path, *HISTORY)
    assert items[0] == Facts(
        title="Looking",
        folder="/home/me/my code",
        model="Model 9",
        started=datetime.fromtimestamp(1_768_000_000, UTC),
        cost=0.5,
    )
    answer = entries(items)[3]
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "cached_input_tokens": 5}
    assert (answer.model, answer.usage) == ("Model 9", usage)


def test_a_summary_replaces_what_comes_before(tmp_path: Path) -> None:
    items = entries(read(tmp_path, *HISTORY))
    place = next(number for number, entry in enumerate(items) if entry.compacts)
    assert items[place].messages == (Message("user", "They looked."),)
    thought = Raw("continue", {"type": "reasoning", "text": "I think"})
    assert items[place - 1].messages[0].content == (thought, Text("Done."))
    later = entries(read(tmp_path, item("assistant", "Done.", conversationSummary="All.")))
    assert [entry.messages[0].text for entry in later] == ["Done.", "All."]


def test_other_thoughts_and_parts_are_kept(tmp_path: Path) -> None:
    remote = {"type": "imageUrl", "imageUrl": {"url": "https://x/a.png"}}
    history = [
        item("thinking", "", _redactedThinking="x"),
        item("thinking", [{"type": "text", "text": "mm"}]),
        item("user", [remote, {"type": "new", "x": 1}]),
    ]
    hidden, plain, prompt = messages(read(tmp_path, *history))
    assert hidden.content == (Raw("anthropic", {"type": "redacted_thinking", "data": "x"}),)
    assert plain.content == (Raw("continue", {"type": "thinking", "thinking": "mm"}),)
    image = Raw("openai", {"type": "image_url", "image_url": {"url": "https://x/a.png"}})
    assert prompt.content == (image, Raw("continue", {"type": "new", "x": 1}))


def test_a_call_without_its_arguments_is_left_out(tmp_path: Path) -> None:
    cut = item(
        "assistant", "Hm.", _toolCalls=[call("c1")], toolCallStates=[state("c1", "generating")]
    )
    items = read(tmp_path, cut)
    assert messages(items)[0].content == (Text("Hm."),)
    what = "the arguments of the call 'c1' of read_file are not complete"
    assert [problem.what for problem in problems(items)] == [what]


def test_a_broken_record_costs_only_itself(tmp_path: Path) -> None:
    blocks = [{"type": "text", "text": "a"}, {}, None, {"type": "text"}, {"type": "imageUrl"}]
    bad: list[Any] = [None, {}, 7, {"message": {}}, item("user", None), item("tool", "x")]
    odd = item("assistant", "b", _toolCalls=[None, {}, call("c1")], contextItems=None)
    odd["toolCallStates"] = [state("c1", "done", {"content": None}, output("e"))]
    context = item("user", "c", contextItems=[None, output("d")])
    items = read(tmp_path, item("user", blocks), *bad, odd, item("robot", "x"), context)
    assert [m.text for m in messages(items)] == ["a", "b", "e", "d\n\nc"]
    assert [problem.place for problem in problems(items)] == [
        *(f"item 1, block {number}" for number in (2, 3, 4)),
        *(f"item {number}" for number in range(2, 8)),
        *(f"item 8, call {number}" for number in (1, 2)),
        "item 8, call 3, output 1",
        "item 10, context 1",
    ]
    assert [i.kind for i in items if isinstance(i, Unknown)] == ["robot"]


def test_a_growing_session_gives_the_same(tmp_path: Path) -> None:
    full = entries(read(tmp_path, *HISTORY))
    for count in range(1, len(HISTORY) + 1):
        grown = entries(read(tmp_path, *HISTORY[:count]))
        assert grown == full[: len(grown)]


def test_results_wait_for_the_calls_before_them(tmp_path: Path) -> None:
    calls = [call("c1"), call("c2")]
    states = [state("c1", "calling"), state("c2", "done", output("b"))]
    answer = item("assistant", "", _toolCalls=calls, toolCallStates=states)
    items = read(tmp_path, answer)
    assert len(messages(items)) == 1
    assert [(p.place, p.what) for p in problems(items)] == [
        ("item 1, call 2", "its result waits for that of a call before it")
    ]
    assert len(messages(read(tmp_path, answer, item("user", "Go on.")))) == 3
