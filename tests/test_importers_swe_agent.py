from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.corpus import DATA
from tests.importing import counts, entries, file_of, kept, messages, problems
from tests.samples.swe_agent import RUN
from tract.errors import InputError
from tract.importers import swe_agent
from tract.importers.items import Item
from tract.importers.source import Source


def read(folder: Path, document: Any) -> list[Item]:
    return list(swe_agent.read(file_of(folder, document)))


def history(*given: Any) -> dict[str, Any]:
    return {"trajectory": [], "history": list(given), "info": {}}


def test_it_takes_trajectories_and_nothing_else(tmp_path: Path) -> None:
    assert swe_agent.detect(file_of(tmp_path, RUN))
    assert swe_agent.detect(file_of(tmp_path, json.dumps(RUN, indent=4) + " " * 70_000))
    assert swe_agent.detect(file_of(tmp_path, history({"role": "user", "content": "x"})))
    mini = {"info": {"mini_version": "1.9"}, "messages": [{"role": "user", "content": "x"}]}
    assert swe_agent.detect(file_of(tmp_path, mini))
    others: list[Any] = [
        [],
        {},
        {"trajectory": "x"},
        {"trajectory": [1]},
        {"history": [], "info": {}},
    ]
    for other in others:
        assert not swe_agent.detect(file_of(tmp_path, other))


def test_a_run_is_read_as_it_was_sent(tmp_path: Path) -> None:
    items = read(tmp_path, RUN)
    system, user, look, seen, done, last = messages(items)
    assert (system.role, system.content) == ("system", "Fix it.")
    assert (user.role, user.content) == ("user", "The issue.")
    assert (look.text, look.tool_calls[0].id) == ("Look.", "c1")
    assert look.tool_calls[0].arguments == '{"cmd":"ls"}'
    assert (seen.role, seen.tool_call_id, seen.content) == ("tool", "c1", "a.py b.py\n$")
    assert done.text == "Done."
    assert (last.role, last.tool_call_id, last.content) == ("tool", "c1", "diff --git")
    assert not problems(items)


def test_bookkeeping_is_beside_the_messages(tmp_path: Path) -> None:
    first = entries(read(tmp_path, RUN))[0]
    assert first.metadata == {"agent": "main", "message_type": "system_prompt"}
    assert first.messages[0].origin is None


def test_the_model_is_told_of_answers(tmp_path: Path) -> None:
    found = entries(read(tmp_path, RUN))
    assert [entry.model for entry in found[:4]] == [None, None, "gpt-4o", None]
    as_dict = {**RUN, "replay_config": json.loads(RUN["replay_config"])}
    assert entries(read(tmp_path, as_dict))[2].model == "gpt-4o"


def test_a_result_that_was_shown_in_part_is_kept_whole(tmp_path: Path) -> None:
    run = json.loads(json.dumps(RUN))
    run["trajectory"][0]["observation"] = "a very long listing"
    shown = entries(read(tmp_path, run))[3]
    assert shown.metadata == {"agent": "main", "observation": "a very long listing"}


def test_an_action_in_the_text_gets_its_last_observation_as_a_user(tmp_path: Path) -> None:
    run = {
        "trajectory": [{"action": "ls", "observation": "a.py", "response": "```ls```"}],
        "history": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "```ls```"}],
    }
    last = messages(read(tmp_path, run))[-1]
    assert (last.role, last.content) == ("user", "a.py")


def test_ids_that_are_missing_are_made_up(tmp_path: Path) -> None:
    bare = {"type": "function", "function": {"name": "bash", "arguments": "{}"}}
    run = history(
        {"role": "assistant", "content": "", "tool_calls": [bare]},
        {"role": "tool", "content": "1"},
        {"role": "assistant", "content": "", "tool_calls": [{**bare, "id": ""}]},
        {"role": "tool", "content": "2", "tool_call_ids": []},
    )
    one, first, two, second = messages(read(tmp_path, run))
    assert one.tool_calls[0].id == first.tool_call_id == "call_1"
    assert two.tool_calls[0].id == second.tool_call_id == "call_2"


def test_a_thought_stands_for_a_missing_content(tmp_path: Path) -> None:
    run = history({"role": "assistant", "content": None, "thought": "Hm."})
    assert messages(read(tmp_path, run))[0].text == "Hm."


def test_other_agents_have_dialogs_of_their_own(tmp_path: Path) -> None:
    run = history(
        {"role": "user", "content": "x", "agent": "main"},
        {"role": "user", "content": "y", "agent": "helper"},
    )
    assert [entry.dialog for entry in entries(read(tmp_path, run))] == [None, "helper"]


def test_steps_alone_are_a_conversation(tmp_path: Path) -> None:
    items = read(tmp_path, {"trajectory": RUN["trajectory"]})
    assert [m.content for m in messages(items)] == ["Look.", "a.py b.py", "Done.", "diff --git"]


def test_a_message_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    items = read(tmp_path, history(3, {"role": "nobody"}, {"role": "user", "content": "x"}))
    assert [problem.place for problem in problems(items)] == ["message 1", "message 2"]
    assert [message.content for message in messages(items)] == ["x"]


def test_a_trajectory_without_messages_is_refused(tmp_path: Path) -> None:
    empties: list[Any] = [{"trajectory": []}, [], {"history": "x"}, "nothing"]
    for empty in empties:
        with pytest.raises(InputError):
            read(tmp_path, empty)


def test_a_cut_file_loses_the_cut_message_only(tmp_path: Path) -> None:
    text = json.dumps(RUN)
    cut = text[: text.index("b.py\\n$")]
    items = read(tmp_path, cut)
    assert [message.text for message in messages(items)][:3] == ["Fix it.", "The issue.", "Look."]
    assert [problem.place for problem in problems(items)] == ["end of file"]


@settings(max_examples=40, deadline=None)
@given(at=st.integers(0, len(json.dumps(RUN)) - 1))
def test_no_cut_is_a_surprise(tmp_path_factory: pytest.TempPathFactory, at: int) -> None:
    folder = tmp_path_factory.mktemp("cut")
    with suppress(InputError):
        assert problems(read(folder, json.dumps(RUN)[:at]))


@pytest.mark.skipif(not DATA.exists(), reason="the shared transcripts are not here")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # Its actions are in the texts, with no calls.
        ("sweagent_ctf_flash.traj", (9, 0, 0)),
        # The manifest counts the issue, which the user tells, as a result.
        ("sweagent_marshmallow_function_calling.traj", (24, 11, 11)),
    ],
)
def test_real_trajectories(name: str, expected: tuple[int, int, int]) -> None:
    source = Source(DATA / "swe-agent-traj" / name)
    items = list(swe_agent.read(source))
    assert not problems(items)
    assert counts(items) == expected
    run = json.loads(source.path.read_text())
    everything = kept(items)
    for message in run["history"]:
        assert message["content"] in everything
        for call in message.get("tool_calls") or []:
            assert call["function"]["arguments"] in everything
    for step in run["trajectory"]:
        assert step["observation"] in everything
        assert step["response"] in everything
