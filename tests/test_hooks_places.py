"""Where hooks store: on a server they do what they do on a file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.hooks import LONG, SESSION, Hook, bash, claude
from tests.importing import as_lines
from tests.samples.claude_code import TURN
from tests.serving import serving, url_of
from tract import Tract
from tract.hooks.archive import Limits
from tract.hooks.checkup import check_database
from tract.hooks.places import open_session, open_tract
from tract.hooks.runner import Options, import_transcript

LIMIT = ("--inline-tokens", "500")


def outcome(hook: Hook) -> list[Any]:
    """What the agent reads, what is logged, and what is stored then."""
    answers = [
        hook.send("claude", claude("Bash", bash(LONG)), *LIMIT),
        hook.send("claude", claude("Bash", bash(LONG)), *LIMIT),
        hook.send("claude", claude("Bash", bash("short"), "toolu_2"), *LIMIT),
    ]
    logged = [line["outcome"] for line in hook.log]
    with open_tract(hook.db, f"{SESSION}.results") as tract:
        commits = [info.commit_hash for info in tract.log()]
        [info] = tract.dialogs()
    # A server counts tokens itself.
    return [re.sub(r"\d+ tokens", "N tokens", json.dumps(answers)), logged, commits, info.facts]


def test_a_server_is_used_like_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    on_file = outcome(Hook(tmp_path / "a"))
    assert on_file[1] == ["replaced", "already stored", "stored"]
    with serving(str(tmp_path / "t.db")) as server:
        assert outcome(Hook(tmp_path / "b", url_of(server))) == on_file


def test_tokens_are_counted_quickly(tmp_path: Path) -> None:
    with serving(str(tmp_path / "t.db")) as server:
        session = open_session(url_of(server), "d")
        assert session.tokens.source == "chars/4"
        session.store.close()


def test_a_server_that_refuses_is_logged(tmp_path: Path) -> None:
    with serving(str(tmp_path / "t.db")) as server:
        hook = Hook(tmp_path, server.url)
        assert hook.send("claude", claude("Bash", bash(LONG)), *LIMIT) is None
    [line] = hook.log
    assert (line["outcome"], line["error"]) == ("failed", "AccessError")


def test_a_transcript_is_imported_by_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(as_lines(*TURN))
    with serving(str(tmp_path / "t.db")) as server:
        monkeypatch.setenv("TRACT_TOKEN", server.token or "")
        options = Options("claude", server.url, Limits())
        import_transcript(options, str(path), tmp_path / "log")
        assert check_database(server.url, "shown").fact == "shown can be written and has 1 dialog"
    assert '"imported"' in (tmp_path / "log").read_text()
    with Tract.open(tmp_path / "t.db") as tract:
        assert tract.fsck().ok
        assert len(tract.dialogs()) == 1
