from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.importing import entries, file_of, items_of, messages, problems
from tests.samples.cline import (
    CALLS,
    COMPACTION,
    FOUND,
    HISTORY,
    ROO,
    SDK,
    SYSTEM,
    TASK,
    THOUGHT,
    TS,
    UI,
    UNSIGNED,
    call,
    result,
    said,
    shown,
    text,
)
from tract import Tract, import_file
from tract.errors import InputError
from tract.importers import cline
from tract.importers.items import Entry, Facts, Item, Unknown
from tract.model import Message, Raw, Text, ToolCall

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}


def read(folder: Path, document: Any, name: str = "given") -> list[Item]:
    return items_of(cline, file_of(folder, document, name))


def test_detects_its_own_lists_and_no_others(tmp_path: Path) -> None:
    plain = [{"role": "user", "content": "hi", "ts": TS}, {"role": "tool", "content": []}]
    for other in (plain, [{**TASK, "role": "system"}], [{"role": "user", "content": [text("a")]}]):
        assert not cline.detect(file_of(tmp_path, other))


def test_calls_in_the_text_stay_text(tmp_path: Path) -> None:
    items = read(tmp_path, HISTORY)
    _, answer, returned = messages(items)[:3]
    assert answer.content == (Text("<read_file><path>a.py</path></read_file>"),)
    assert (returned.role, returned.text) == ("user", "[read_file for 'a.py'] Result:\nprint()")
    assert problems(items) == []


def test_calls_and_results(tmp_path: Path) -> None:
    answer, failed, empty, rest = messages(read(tmp_path, HISTORY))[3:7]
    assert answer.content == (
        Raw("anthropic", THOUGHT),
        Raw("cline", UNSIGNED),
        Text("I look.", {"cline": {"signature": "g", "reasoning_details": []}}),
        ToolCall("c1", "run", {"of": "c1"}, {"cline": {"call_id": "fc_1"}}),
        ToolCall("c2", "run", {"of": "c2"}),
    )
    assert failed == Message("tool", "no such file", "c2", is_error=True)
    assert empty == Message("tool", "", "c1")
    assert (rest.role, rest.text) == ("user", "Go on.")


def test_model_usage_times_and_folder(tmp_path: Path) -> None:
    items = read(tmp_path, HISTORY)
    answer = entries(items)[3]
    assert (answer.model, answer.metadata) == ("claude-9", {"provider": "anthropic"})
    assert answer.time == datetime.fromtimestamp(TS / 1000, UTC)
    assert answer.usage == {
        "prompt_tokens": 9,
        "completion_tokens": 2,
        "cached_input_tokens": 5,
        "cost": 0.25,
    }
    assert [i for i in items if isinstance(i, Facts)] == [Facts(folder="/home/me/project")]


def test_a_truncation_hides_the_messages_that_name_it(tmp_path: Path) -> None:
    marker = next(entry for entry in entries(read(tmp_path, ROO)) if entry.compacts)
    first, words = marker.messages
    assert first.text.startswith("<task>")
    assert words.text == "[3 messages hidden]"


def test_a_summary_replaces_what_comes_before(tmp_path: Path) -> None:
    items = entries(read(tmp_path, ROO))
    summary = [entry for entry in items if entry.compacts][-1]
    assert [m.text for m in summary.messages] == ["They looked."]
    assert [m.text for entry in items[-2:] for m in entry.messages] == ["And now?", ""]


def test_thoughts_beside_the_messages(tmp_path: Path) -> None:
    alone, answer = messages(read(tmp_path, ROO))[7:9]
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
    assert alone.content == (Raw("responses", item),)
    thought = Raw("cline", {"type": "reasoning", "text": "I think"})
    assert answer.content == (thought, Text("On."))


def test_a_session_of_the_sdk(tmp_path: Path) -> None:
    items = read(tmp_path, SDK)
    system, prompt, answer, returned, _ = messages(items)
    assert system == Message("system", SYSTEM)
    file = '<file_content path="/a">\nA\n</file_content>'
    assert prompt.text == f"Look\n{file}"  # as it was sent
    assert returned == Message("tool", [FOUND[0], IMAGE], "c1", "run")
    entry = entries(items)[2]
    assert entry.messages == (answer,)
    assert (entry.model, entry.metadata) == ("m-9", {"provider": "cline"})
    assert entry.usage == {
        "prompt_tokens": 9,
        "completion_tokens": 2,
        "cached_input_tokens": 5,
        "input_tokens_cache_write": 0,
        "cost": 0.1,
    }
    assert cline.session(file_of(tmp_path, SDK)) == "1768_abc"


def test_a_compaction_of_the_sdk_is_a_history_of_its_own(tmp_path: Path) -> None:
    found = [m.text for m in messages(read(tmp_path, COMPACTION, "s.compaction.json"))]
    assert found == [SYSTEM, "They looked.", "Done."]


def test_the_file_beside_a_history_has_its_facts(tmp_path: Path) -> None:
    manifest = {"cwd": "/p", "started_at": "2026-01-15T20:00:00Z", "metadata": {"title": "Look"}}
    (tmp_path / "1768_abc.json").write_text(json.dumps(manifest))
    facts = read(tmp_path, SDK, "1768_abc.messages.json")[0]
    started = datetime(2026, 1, 15, 20, tzinfo=UTC)
    assert facts == Facts(title="Look", folder="/p", started=started)
    item = {"task": "Look", "workspace": "/q", "totalCost": 0.5, "parentTaskId": "17"}
    (tmp_path / "history_item.json").write_text(json.dumps(item))
    facts = read(tmp_path, HISTORY, "api_conversation_history.json")[0]
    assert facts == Facts(title="Look", folder="/q", cost=0.5, parent="17")


def test_prompts_and_answers_of_the_screen(tmp_path: Path) -> None:
    items = read(tmp_path, UI, "ui_messages.json")
    assert [(m.role, m.content) for m in messages(items)] == [
        ("user", (Text("What is here?"), Raw("anthropic", IMAGE))),
        ("assistant", (Raw("cline", {"type": "thinking", "thinking": "hm"}),)),
        ("assistant", (Text("I look."),)),
        ("assistant", (Text("Which one?"),)),
        ("user", (Text("All."),)),
        ("assistant", (Text("Done."),)),
    ]
    assert [i.kind for i in items if isinstance(i, Unknown)] == ["ask tool"]


def test_the_screen_is_not_read_beside_what_was_sent(tmp_path: Path) -> None:
    file_of(tmp_path, HISTORY, "api_conversation_history.json")
    assert read(tmp_path, UI, "ui_messages.json") == []


def test_a_task_is_named_after_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "1768000000000"
    folder.mkdir()
    with Tract.open() as t:
        source = file_of(folder, HISTORY, "api_conversation_history.json")
        assert import_file(t, source.path).dialogs == ["1768000000000"]


def test_a_broken_record_costs_only_itself(tmp_path: Path) -> None:
    blocks = [text("a"), {}, None, {"type": "text"}, {"type": "tool_use"}, {"type": "new", "x": 1}]
    bad = [None, {}, 7, {"role": "robot", "content": []}, {"role": "user"}]
    odd = said("user", result("c9", None), {"type": "text", "text": None}, text("b"))
    items = read(tmp_path, [said("assistant", *blocks), *bad, odd, said("assistant", call("c1"))])
    answer, returned, rest, last = messages(items)
    assert answer.content == (Text("a"), Raw("cline", {"type": "new", "x": 1}))
    assert (returned.tool_call_id, rest.text, last.tool_calls[0].id) == ("c9", "b", "c1")
    assert [problem.place for problem in problems(items)] == [
        *(f"message 1, block {number}" for number in (2, 3, 4, 5)),
        *(f"message {number}" for number in range(2, 7)),
        "message 7, block 2",
    ]


def test_a_broken_message_of_the_screen_costs_only_itself(tmp_path: Path) -> None:
    bad = [None, {}, {"ts": TS, "type": "say"}, {**UI[3], "text": 5}]
    part = shown("say", "text", "Do", partial=True)
    items = read(tmp_path, [UI[0], *bad, part, UI[3], shown("say", "new", "x")])
    assert [m.text for m in messages(items)] == ["What is here?", "I look."]
    assert [problem.place for problem in problems(items)] == [f"message {n}" for n in range(2, 7)]
    assert isinstance(items[-1], Unknown)


def test_a_growing_task_gives_the_same(tmp_path: Path) -> None:
    for task in (HISTORY, ROO, UI):
        full = [item for item in read(tmp_path, task) if isinstance(item, Entry)]
        for count in range(1, len(task) + 1):
            grown = entries(read(tmp_path, task[:count]))
            assert grown == full[: len(grown)]


def test_results_are_the_same_together_or_apart(tmp_path: Path) -> None:
    both = said("user", result("c1", "a"), result("c2", "b"))
    apart = [said("user", result("c1", "a")), said("user", result("c2", "b"))]
    assert messages(read(tmp_path, [CALLS, both])) == messages(read(tmp_path, [CALLS, *apart]))


def test_a_session_that_is_cut_before_its_system_text_is_refused(tmp_path: Path) -> None:
    content = json.dumps(SDK)
    with pytest.raises(InputError, match="before the system text"):
        read(tmp_path, content[: content.index("system_prompt")])
