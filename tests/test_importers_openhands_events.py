from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.corpus import DATA
from tests.importing import counts, entries, file_of, items_of, kept, messages, of_lines, problems
from tests.samples.openhands_events import HISTORY, RUN, TOOL, event
from tract.errors import InputError
from tract.importers import openhands_events
from tract.importers.items import Item
from tract.importers.source import Source
from tract.model import Raw, Text


def read(folder: Path, document: Any) -> list[Item]:
    return list(openhands_events.read(file_of(folder, document)))


def test_it_takes_histories_and_nothing_else(tmp_path: Path) -> None:
    assert openhands_events.detect(file_of(tmp_path, RUN))
    assert openhands_events.detect(file_of(tmp_path, HISTORY))
    assert openhands_events.detect(file_of(tmp_path, {"history": [HISTORY[:2]]}))
    long = {"instance_id": "i", "test_result": {"git_patch": "x" * 200_000}, "history": HISTORY}
    assert openhands_events.detect(file_of(tmp_path, long))
    others: list[Any] = [
        [],
        {"history": []},
        {"history": [{"role": "user", "content": "x"}], "trajectory": []},
        [{"role": "user", "content": "x"}],
        [{"action": 3, "args": {}, "id": 1}],
    ]
    for other in others:
        assert not openhands_events.detect(file_of(tmp_path, other))


def test_a_run_is_read(tmp_path: Path) -> None:
    items = read(tmp_path, RUN)
    system, user, said, seen, failed, done = entries(items)
    assert system.tools == [TOOL]
    assert (user.messages[0].role, user.messages[0].content) == ("user", "List.")
    assert user.time == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert said.messages[0].text == "Look."
    assert [c.id for c in said.messages[0].tool_calls] == ["x", "y"]
    assert (said.usage, said.model) == ({"prompt_tokens": 7}, "m-1")
    (result,) = seen.messages
    assert (result.role, result.tool_call_id, result.name) == ("tool", "x", "bash")
    assert (result.content, result.is_error) == ("a.py", False)
    assert seen.metadata == {"exit_code": 0}
    assert (failed.messages[0].content, failed.messages[0].is_error) == ("no", True)
    assert (done.messages[0].role, done.messages[0].content) == ("assistant", "Done.")
    assert not problems(items)


def test_a_bare_list_and_pairs_are_the_same(tmp_path: Path) -> None:
    pairs = {"history": [HISTORY[:2], HISTORY[2:]]}
    assert read(tmp_path, HISTORY) == read(tmp_path, pairs) == read(tmp_path, RUN)


def test_lines_and_a_folder_of_files_are_the_same(tmp_path: Path) -> None:
    lines = items_of(openhands_events, of_lines(tmp_path, *HISTORY))
    assert lines == read(tmp_path, HISTORY)
    folder = tmp_path / "conv-1" / "events"
    folder.mkdir(parents=True)
    files = [file_of(folder, one, f"{number}.json") for number, one in enumerate(HISTORY)]
    assert all(map(openhands_events.detect, files))
    assert openhands_events.session(files[3]) == "conv-1"
    assert items_of(openhands_events, files[0]) == lines
    assert items_of(openhands_events, files[3]) == []  # read with the first


def test_several_runs_are_several_dialogs(tmp_path: Path) -> None:
    other = {"instance_id": "i-2", "history": HISTORY[:1]}
    lines = "\n".join([json.dumps(RUN), "{broken", json.dumps(other), '{"history": 3}'])
    items = read(tmp_path, lines)
    assert [entry.dialog for entry in entries(items)] == [None] * 6 + ["i-2"]
    assert [problem.place for problem in problems(items)] == ["line 2", "line 4: history"]


def test_an_action_without_the_words_of_the_model_is_a_call(tmp_path: Path) -> None:
    history = [
        event(1, action="run", args={"command": "ls", "thought": "Look."}),
        event(2, observation="run", content="a.py", cause=1),
        event(3, action="read", args={"path": "a.py"}),
        event(4, observation="read", content="x = 1", cause=3),
    ]
    one, first, two, second = messages(read(tmp_path, history))
    assert one.content[0] == Text("Look.")
    assert (one.tool_calls[0].name, one.tool_calls[0].arguments) == ("run", {"command": "ls"})
    assert one.tool_calls[0].id == first.tool_call_id == "call_1"
    assert two.tool_calls[0].id == second.tool_call_id == "call_2"
    assert (second.name, second.content) == ("read", "x = 1")


def test_what_the_user_did_is_told_by_the_user(tmp_path: Path) -> None:
    history = [
        event(1, source="user", action="run", message="Running command: ls", args={}),
        event(2, source="user", observation="run", content="a.py", cause=1),
    ]
    assert [(m.role, m.content) for m in messages(read(tmp_path, history))] == [
        ("user", "Running command: ls"),
        ("user", "a.py"),
    ]


def test_what_was_recalled_is_told(tmp_path: Path) -> None:
    extras = {
        "repo_instructions": "Use tabs.",
        "microagent_knowledge": [{"name": "git", "content": "Push."}, None],
    }
    history = [
        event(1, source="user", action="recall", args={"query": "List."}),
        event(2, observation="recall", content="Added", cause=1, extras=extras),
    ]
    (told,) = messages(read(tmp_path, history))
    assert (told.role, told.content) == ("user", "Added\n\nUse tabs.\n\nPush.")


def test_images_of_the_user_are_kept(tmp_path: Path) -> None:
    args = {"content": "See:", "image_urls": ["data:image/png;base64,AA=="]}
    (said,) = messages(read(tmp_path, [event(1, source="user", action="message", args=args)]))
    url = {"url": "data:image/png;base64,AA=="}
    assert said.content == (Text("See:"), Raw("openai", {"type": "image_url", "image_url": url}))


def test_events_around_the_agent_are_left_out(tmp_path: Path) -> None:
    history = [
        event(1, action="change_agent_state", args={"agent_state": "running"}),
        event(2, observation="agent_state_changed", content="", extras={}),
        event(3, action="condensation", args={"forgotten_event_ids": [1]}),
        event(4, observation="null", content=""),
    ]
    assert read(tmp_path, history) == []


def test_a_summary_of_some_events_is_told(tmp_path: Path) -> None:
    history = [event(1, action="condensation", args={"summary": "So far."})]
    (entry,) = entries(read(tmp_path, history))
    assert entry.messages[0].content == "So far."
    assert not entry.compacts


def test_an_id_that_the_answer_lacks_is_told_by_the_event(tmp_path: Path) -> None:
    bare = {"type": "function", "function": {"name": "bash", "arguments": "{}"}}
    answer = {"choices": [{"message": {"role": "assistant", "tool_calls": [bare]}}]}
    metadata = {"tool_call_id": "z", "function_name": "bash", "model_response": answer}
    history = [
        event(1, action="run", args={}, tool_call_metadata=metadata),
        event(2, observation="run", content="ok", cause=1, tool_call_metadata=metadata),
    ]
    said, seen = messages(read(tmp_path, history))
    assert said.tool_calls[0].id == seen.tool_call_id == "z"


def test_an_event_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    items = read(tmp_path, {"history": [4, {"id": 1}, *HISTORY]})
    assert [problem.place for problem in problems(items)] == ["line 1: event 0", "line 1: event 1"]
    assert len(entries(items)) == 6


@settings(max_examples=60, deadline=None)
@given(at=st.integers(0, len(json.dumps(RUN)) - 1), bare=st.booleans())
def test_a_cut_file_gives_its_first_events(
    tmp_path_factory: pytest.TempPathFactory, at: int, bare: bool
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    text = json.dumps(HISTORY if bare else RUN)[:-1]
    found: list[Item] = []
    with suppress(InputError):
        found = read(folder, text[:at])
        assert problems(found)
    told = entries(found)
    assert told == read(folder, RUN)[: len(told)]


@pytest.mark.skipif(not DATA.exists(), reason="the shared transcripts are not here")
def test_a_real_run() -> None:
    source = Source(DATA / "openhands-events" / "openhands_mswe_0.json")
    items = list(openhands_events.read(source))
    assert not problems(items)
    # The manifest counts 49 events with 24 actions: the recall is one, but no call of the model.
    assert counts(items) == (48, 23, 22)
    everything = kept(items)
    for told in json.loads(source.path.read_text())["history"]:
        assert told.get("content", "") in everything
        metadata = told.get("tool_call_metadata")
        if metadata:
            answer = metadata["model_response"]["choices"][0]["message"]
            assert answer["content"] in everything
            assert answer["tool_calls"][0]["function"]["arguments"] in everything
        elif told.get("action") in ("system", "message"):
            assert told["args"]["content"] in everything
    assert sum(entry.usage is not None for entry in entries(items)) == 23
