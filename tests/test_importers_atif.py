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
from tests.importing import (
    counts,
    entries,
    file_of,
    kept,
    messages,
    problems,
    strings,
)
from tests.samples.atif import TOOL, TRAJECTORY
from tract.errors import InputError
from tract.importers import atif
from tract.importers.items import Item
from tract.importers.source import Source
from tract.model import Raw, Text


def read(folder: Path, document: Any) -> list[Item]:
    return list(atif.read(file_of(folder, document)))


def steps(*given: Any) -> dict[str, Any]:
    return {"schema_version": "ATIF-v1.4", "agent": {"name": "a"}, "steps": list(given)}


def agent(**given: Any) -> dict[str, Any]:
    return {"source": "agent", "message": "", **given}


def test_it_takes_trajectories_and_nothing_else(tmp_path: Path) -> None:
    assert atif.detect(file_of(tmp_path, TRAJECTORY))
    assert atif.detect(file_of(tmp_path, json.dumps(TRAJECTORY, indent=2) + " " * 70_000))
    others: list[Any] = [[], {}, {"schema_version": 1}, {"schema_version": "1.0", "steps": []}]
    for other in others:
        assert not atif.detect(file_of(tmp_path, other))


def test_a_trajectory_is_read(tmp_path: Path) -> None:
    items = read(tmp_path, TRAJECTORY)
    system, user, call, results, done = entries(items)
    assert [m.role for m in messages(items)] == [
        *("system", "user", "assistant", "tool", "tool", "assistant")
    ]
    assert system.tools == [TOOL]
    assert user.time == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert user.tools is None
    assert call.usage == {"prompt_tokens": 9, "completion_tokens": 2}
    assert (call.model, done.model) == ("m-2", "m-1")
    assert call.metadata == {"step_id": 3, "extra": {"round": 1}}
    assert call.messages[0].content[:2] == (
        Raw("atif", {"type": "reasoning", "text": "Where?"}),
        Text("I look."),
    )
    assert [(c.id, c.arguments) for c in call.messages[0].tool_calls] == [
        ("x", {"cmd": "ls"}),
        ("y", {"cmd": "pwd"}),
    ]
    assert [(m.tool_call_id, m.name, m.content) for m in results.messages] == [
        ("y", "bash", "/app"),
        ("x", "bash", "a.py"),
    ]
    assert not problems(items)


def test_results_without_an_id_belong_to_the_calls_in_order(tmp_path: Path) -> None:
    calls = [{"function_name": "one"}, {"function_name": "two", "tool_call_id": ""}]
    observation = {"results": [{"content": "1"}, {"content": "2"}, {"content": "more"}]}
    said, one, two, more = messages(
        read(tmp_path, steps(agent(tool_calls=calls, observation=observation)))
    )
    assert [call.id for call in said.tool_calls] == ["call_1", "call_2"]
    assert [(m.tool_call_id, m.name) for m in (one, two)] == [("call_1", "one"), ("call_2", "two")]
    assert (more.role, more.content) == ("user", "more")


def test_what_the_environment_says_uncalled_is_said_by_the_user(tmp_path: Path) -> None:
    observation = {"results": [{"content": "Terminal ready."}]}
    said, seen = messages(read(tmp_path, steps(agent(message="Go.", observation=observation))))
    assert (said.role, seen.role, seen.content) == ("assistant", "user", "Terminal ready.")


def test_parts_stay_parts(tmp_path: Path) -> None:
    image = {"type": "image", "source": {"media_type": "image/png", "path": "a.png"}}
    parts = [{"type": "text", "text": "See:"}, image]
    calls = [{"tool_call_id": "x", "function_name": "look"}]
    observation = {"results": [{"source_call_id": "x", "content": parts}]}
    document = steps(
        {"source": "user", "message": parts}, agent(tool_calls=calls, observation=observation)
    )
    user, _, result = messages(read(tmp_path, document))
    assert user.content == (Text("See:"), Raw("atif", image))
    assert result.content == parts


def test_a_result_may_be_the_name_of_a_subagent(tmp_path: Path) -> None:
    reference = [{"trajectory_id": "t-1"}]
    calls = [{"tool_call_id": "x", "function_name": "agent"}]
    result = {"source_call_id": "x", "subagent_trajectory_ref": reference}
    document = steps(agent(tool_calls=calls, observation={"results": [result]}))
    assert messages(read(tmp_path, document))[1].content == reference


def test_subagents_have_dialogs_of_their_own(tmp_path: Path) -> None:
    inner = {**steps({"source": "user", "message": "c"}), "subagent_trajectories": [3]}
    child = {**steps({"source": "user", "message": "b"}), "trajectory_id": "t-1"}
    document = {
        **steps({"source": "user", "message": "a"}),
        "subagent_trajectories": [child, inner],
    }
    items = read(tmp_path, document)
    assert [(entry.dialog, entry.messages[0].content) for entry in entries(items)] == [
        (None, "a"),
        ("t-1", "b"),
        ("subagent 2", "c"),
    ]
    assert [problem.place for problem in problems(items)] == ["subagent 2.1"]


def test_a_step_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    document = steps(7, {"source": "moon"}, agent(tool_calls=[{}]), agent(message="x"))
    items = read(tmp_path, document)
    assert [problem.place for problem in problems(items)] == ["step 1", "step 2", "step 3, block 1"]
    assert [message.content for message in messages(items)] == ["x"]


def test_a_document_without_steps_is_refused(tmp_path: Path) -> None:
    empties: list[Any] = [[], {"schema_version": "ATIF-v1.4"}, "no JSON"]
    for empty in empties:
        with pytest.raises(InputError):
            read(tmp_path, empty)


@settings(max_examples=60, deadline=None)
@given(at=st.integers(0, len(json.dumps(TRAJECTORY)) - 1))
def test_a_cut_file_gives_its_first_steps(
    tmp_path_factory: pytest.TempPathFactory, at: int
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    text = json.dumps(TRAJECTORY)
    whole = read(folder, text)
    with suppress(InputError):
        items = read(folder, text[:at])
        assert len(problems(items)) == 1
        found = entries(items)
        assert found == whole[: len(found)]
        complete = sum(text.index(f'"step_id": {n + 1}') < at for n in range(1, 4))
        assert len({entry.messages[0].text for entry in found}) >= min(complete, 2)


@pytest.mark.skipif(not DATA.exists(), reason="the shared transcripts are not here")
def test_a_real_trajectory() -> None:
    source = Source(DATA / "atif-trajectory" / "atif_openhands_hello.json")
    items = list(atif.read(source))
    assert not problems(items)
    assert counts(items) == (7, 2, 1)  # six steps, and the result of one
    everything = kept(items)
    for step in json.loads(source.path.read_text())["steps"]:
        said = {key: step.get(key) for key in ("message", "tool_calls", "observation")}
        for text in strings(said):
            assert text in everything or text in {
                name for m in messages(items) for name in (m.tool_call_id, m.name)
            }
    tools = entries(items)[0].tools
    assert tools is not None
    assert len(tools) == 6
