"""hooks/rollout: the output of a command in the file of a Codex session."""

from __future__ import annotations

import json
from pathlib import Path

from tract.hooks.rollout import CUT, TAIL, Command, find_command


def line(call_id: object, **item: object) -> str:
    command = {"type": "CommandExecution", "id": call_id, "exit_code": 0}
    command |= {"aggregated_output": "1\n"} | item
    return json.dumps({"type": "event_msg", "payload": {"item": command}}) + "\n"


def rollout(folder: Path, *lines: str) -> str:
    path = folder / "rollout.jsonl"
    path.write_text("".join(lines))
    return str(path)


def test_a_command_is_known_by_its_id(tmp_path: Path):
    path = rollout(tmp_path, line("a"), line("b", aggregated_output="2\n", exit_code=3), line("c"))
    assert find_command(path, "b") == Command("2\n", 3)


def test_the_newest_of_a_reused_id_counts(tmp_path: Path):
    path = rollout(tmp_path, line("a"), line("a", aggregated_output="2\n"))
    assert find_command(path, "a") == Command("2\n", 0)


def test_only_the_end_of_a_long_file_is_read(tmp_path: Path):
    path = rollout(tmp_path, line("a"), "x" * TAIL + "\n", line("b"))
    assert find_command(path, "a") is None
    assert find_command(path, "b") == Command("1\n", 0)


def test_a_file_that_is_damaged_has_no_commands(tmp_path: Path):
    damaged = (line("a")[:40] + "\n", line("a")[20:], "[1]\n", '{"payload": "CommandExecution"}\n')
    path = rollout(tmp_path, *damaged, line("a", aggregated_output=None), line(["a"]))
    assert find_command(path, "a") is None


def test_a_missing_file_has_no_commands(tmp_path: Path):
    assert find_command(str(tmp_path / "none"), "a") is None
    assert find_command(None, "a") is None
    assert find_command(rollout(tmp_path, line("")), "") is None


def test_an_exit_code_may_be_missing(tmp_path: Path):
    assert find_command(rollout(tmp_path, line("a", exit_code=None)), "a") == Command("1\n", None)


def test_an_output_without_its_middle_is_cut():
    assert Command(f"1{CUT}9", 0).is_cut
    assert not Command("1\n9", 0).is_cut
