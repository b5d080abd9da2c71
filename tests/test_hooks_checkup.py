"""The checks of `tract doctor`, one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli import content_of
from tests.hooks import LONG
from tract import Tract
from tract.hooks.checkup import (
    check_database,
    check_installation,
    database_of,
    is_set_up,
    sample_event,
)
from tract.hooks.clients import CLIENTS, client
from tract.hooks.events import ToolResult
from tract.hooks.journal import write_line
from tract.hooks.plans import PARTS, Commands, Where, plan
from tract.hooks.settings import setup_edit, write


@pytest.mark.parametrize("name", CLIENTS)
def test_each_agent_has_a_made_up_event_that_can_be_replaced(name: str) -> None:
    report = client(name).read(sample_event(name, LONG))
    assert isinstance(report, ToolResult)
    assert (report.content, report.replace is None) == (LONG, False)


def test_the_database_is_written_and_nothing_is_left(db: str) -> None:
    with Tract.open(db) as tract:
        tract.user("mine")
    check = check_database(db, "the database")
    assert (check.is_ok, check.fact) == (True, "the database can be written and has 1 dialog")
    with Tract.open(db) as tract:
        assert [info.commits for info in tract.dialogs()] == [1]


def test_a_missing_database_is_not_created(tmp_path: Path) -> None:
    check = check_database(str(tmp_path / "t.db"), "x")
    assert not check.is_ok
    assert content_of(tmp_path) == {}


def test_the_log_is_shown_without_failing(tmp_path: Path) -> None:
    log = tmp_path / "hook.log"
    tract, empty = check_installation(["/no/such/tract"], log)
    assert (tract.is_ok, empty.is_ok) == (False, True)
    write_line(log, {"outcome": "stored"})
    write_line(log, {"outcome": "failed", "reason": "disk full"})
    _, check = check_installation(["/no/such/tract"], log)
    assert "1 of the last 2 events failed or were late" in check.fact
    assert "reason=disk full" in check.fact


def test_the_database_of_a_command_is_known() -> None:
    assert database_of(["tract", "--db", "x", "hook"]) == "x"
    assert database_of(["tract", "hook", "--db"]) is None


@pytest.mark.parametrize("name", CLIENTS)
def test_an_agent_is_set_up_if_any_of_its_files_says_so(tmp_path: Path, name: str) -> None:
    changes = plan(name, Where(tmp_path, {}), Commands(("/bin/tract",), "/t.db"), PARTS)
    assert not is_set_up(name, changes)
    write(setup_edit(changes[-1], name))
    assert is_set_up(name, changes)
    changes[-1].file.write_text("{ // broken")
    assert not is_set_up(name, changes)
