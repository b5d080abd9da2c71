"""The log of the hooks."""

from __future__ import annotations

import json
from pathlib import Path

from tract.hooks.journal import MAX_BYTES, MAX_TEXT, former, journal_path, last_lines, write_line


def test_it_is_in_the_state_directory(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert journal_path({}, home) == home / ".local/state/tract/hook.log"
    assert journal_path({"XDG_STATE_HOME": "/s"}, home) == Path("/s/tract/hook.log")
    assert journal_path({"XDG_STATE_HOME": "relative"}, home).is_relative_to(home)


def test_lines_are_short_and_readable_only_by_their_owner(tmp_path: Path) -> None:
    log = tmp_path / "a" / "hook.log"
    write_line(log, {"tool": "x" * 5_000, "error": None, "text": "ü\n"})
    [line] = last_lines(log, 5)
    assert (len(str(line["tool"])), line["text"], "error" in line) == (MAX_TEXT, "ü\n", False)
    assert log.stat().st_mode & 0o077 == 0
    assert len(log.read_text().splitlines()) == 1


def test_it_never_grows_beyond_its_limit(tmp_path: Path) -> None:
    log = tmp_path / "hook.log"
    log.write_text("x" * (MAX_BYTES - 10) + "\n")
    write_line(log, {"number": 1})
    write_line(log, {"number": 2})
    assert [line["number"] for line in last_lines(log, 5)] == [1, 2]
    assert former(log).stat().st_size <= MAX_BYTES


def test_broken_lines_and_a_missing_log_are_left_out(tmp_path: Path) -> None:
    log = tmp_path / "hook.log"
    assert last_lines(log, 5) == []
    log.write_text(json.dumps({"number": 1}) + '\n{"cut\n[1]\n' + json.dumps({"number": 2}))
    assert [line["number"] for line in last_lines(log, 5)] == [1, 2]


def test_a_log_that_cannot_be_written_does_not_fail(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    write_line(tmp_path / "file" / "hook.log", {"number": 1})
