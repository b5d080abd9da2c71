"""tract search: hits by dialog, filters, the index."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli import invoke, ok, ok_json
from tract import ToolCall, Tract
from tract.cli import search as command
from tract.storage import search, word_index


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(search, "SMALL", 0)
    ok("init")
    with Tract.open(tmp_path / ".tract" / "tract.db", dialog="shop") as t:
        t.user("Why is the disk full?")
        t.assistant(tool_calls=[ToolCall("c", "bash", {"command": "df"})])
        t.tool_result("c", "bash", "/dev/sda1: no space left on disk", is_error=True)
        t.tool_result("d", "read", "space and time, left and right")
        t.session.store.dialogs.set_settings("shop", "facts", {"folder": "/home/me/shop"})
    return tmp_path


def hits(*arguments: str) -> list[str]:
    return [hit["name"] or hit["role"] for hit in ok_json("search", *arguments)]


@pytest.mark.usefixtures("here")
def test_hits_are_listed_by_dialog() -> None:
    lines = ok("search", "disk").splitlines()
    assert lines[0] == "shop"
    assert [line.split()[1] for line in lines[1:]] == ["tool", "user"]
    assert lines[1].endswith("/dev/sda1: no space left on disk")


def test_titles_are_found(here: Path) -> None:
    with Tract.open(here / ".tract" / "tract.db", dialog="shop") as t:
        t.session.store.dialogs.set_settings("shop", "facts", {"title": "Disk of the Shop"})
    assert ok("search", "SHOP").splitlines() == ["shop  is titled Disk of the Shop"]
    assert ok("search", "disk").splitlines()[0] == "shop  Disk of the Shop"


@pytest.mark.usefixtures("here")
def test_words_and_phrases_and_filters() -> None:
    assert hits("left space") == ["read", "bash"]
    assert hits('"space left"') == ["bash"]
    assert hits("left", "--tool", "read") == ["read"]
    assert hits("disk", "--role", "user") == ["user"]
    assert hits("space", "--errors") == ["bash"]
    assert hits("space", "--project", "SHOP", "--since", "1h") == ["read", "bash"]
    assert hits("space", "--since", "2999-01-01") == []
    assert hits("e", "--rank", "-n", "1") == ["read"]
    (hit,) = ok_json("search", "full")
    assert [hit["snippet"][start:end] for start, end in hit["spans"]] == ["full"]


@pytest.mark.usefixtures("here")
def test_more_hits_and_no_hits_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "HITS", 1)
    assert "there are more hits: -n 2" in invoke("search", "disk").stderr
    nothing = invoke("search", "nowhere to be seen")
    assert (nothing.stdout, nothing.exit_code) == ("", 0)
    assert "no message has 'nowhere to be seen'" in nothing.stderr
    assert "has 'left' with these filters" in invoke("search", "left", "--role", "user").stderr
    assert "messages were read one by one" in invoke("search", "??").stderr
    assert invoke("search", " ").exit_code != 0
    assert "or --index" in invoke("search").stderr


def test_the_index_is_switched(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_index, "SLICE", 2)
    assert "4 contents to be indexed" in ok("search", "--index", "status")
    ok("search", "disk")
    assert ok("search", "--index", "status") == "the word index is on\n"
    assert ok_json("search", "--index", "status") == {"is_on": True, "to_index": 0}
    assert ok("search", "--index", "off") == "the word index is off\n"
    result = invoke("search", "disk")
    assert "because the word index is off" in result.stderr
    assert "no space left" in result.stdout
    assert ok("search", "--index", "on") == "the word index is on\n"
    with Tract.open(here / ".tract" / "tract.db") as t:
        assert t.session.store.words.backlog().size == 0
        t.session.store.words.switch(True)
    assert "4 contents to be indexed" in ok("search", "--index", "status")
    ok("search", "disk")  # indexes all of them
    assert ok("search", "--index", "status") == "the word index is on\n"
