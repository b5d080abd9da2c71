from __future__ import annotations

from pathlib import Path

import pytest

from tract.importers.claude_spills import unspilled
from tract.model import Message

PREVIEW = "Output too large (85KB). Full output saved to: {}\n\nPreview (first 2KB):\nabc"


def result(name: str) -> Message:
    return Message("tool", PREVIEW.format(name), "t1")


def saved(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "b.txt").write_text("all of it")
    return folder


@pytest.mark.parametrize("name", ["s/tool-results/b.txt", "/moved/from/tool-results/b.txt"])
def test_the_file_of_a_session_is_read(tmp_path: Path, name: str) -> None:
    saved(tmp_path / "s" / "tool-results")
    assert unspilled(tmp_path / "s.jsonl", result(name)).content == "all of it"


@pytest.mark.parametrize("place", ["subagents", "subagents/workflows/w1"])
def test_a_sub_agent_saves_to_the_folder_of_its_session(tmp_path: Path, place: str) -> None:
    saved(tmp_path / "s" / "tool-results")
    transcript = tmp_path / "s" / place / "agent-1.jsonl"
    found = unspilled(transcript, result("/moved/tool-results/b.txt"))
    assert found.content == "all of it"


def test_no_other_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "link.txt").symlink_to(tmp_path / "secret.txt")
    transcript = tmp_path / "here" / "s.jsonl"
    for name in ("../secret.txt", "link.txt", "gone.txt", str(tmp_path / "secret.txt"), "\0.txt"):
        assert unspilled(transcript, result(name)) == result(name)


def test_other_messages_stay_as_they_are(tmp_path: Path) -> None:
    saved(tmp_path / "s" / "tool-results")
    named = "saved to: s/tool-results/b.txt"
    for message in (
        Message("user", f"Output {named}"),
        Message("tool", [f"Output {named}"], "t1"),
        Message("tool", f"I {named}", "t1"),
    ):
        assert unspilled(tmp_path / "s.jsonl", message) is message
