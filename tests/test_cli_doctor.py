"""`tract doctor`, as a process with a home of its own."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli import content_of, run
from tract.hooks.clients import CLIENTS


class Patient:
    """A user with agents."""

    def __init__(self, folder: Path) -> None:
        self.home = folder
        self.env = {
            "HOME": str(folder),
            **dict.fromkeys(("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"), ""),
        }

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        return run(*args, env=self.env, cwd=self.home, stdin=subprocess.DEVNULL)

    def checks(self, *args: str) -> tuple[int, dict[str, Any]]:
        done = self.run("doctor", "--json", *args)
        report = json.loads(done.stdout)
        assert report["ok"] == (done.returncode == 0)
        return done.returncode, {check["name"]: check for check in report["checks"]}


@pytest.fixture
def patient(tmp_path: Path) -> Patient:
    return Patient(tmp_path)


def test_without_a_set_up_it_says_what_to_do(patient: Patient) -> None:
    code, checks = patient.checks()
    assert (code, checks["agents"]["ok"], checks["database"]["ok"]) == (1, False, False)
    done = patient.run("doctor")
    assert done.returncode == 1
    assert "fail  agents: none is set up: run `tract setup CLIENT`" in done.stdout


@pytest.mark.parametrize("client", CLIENTS)
def test_an_event_goes_through_the_command_of_the_settings(patient: Patient, client: str) -> None:
    assert patient.run("setup", client, "--yes").returncode == 0
    before = content_of(patient.home)
    code, checks = patient.checks(client)
    assert code == 0, checks
    assert "and fetched again" in checks[f"{client} hook"]["fact"]
    after = content_of(patient.home)
    assert after.keys() == before.keys()


def test_a_command_that_does_not_work_is_reported(patient: Patient) -> None:
    patient.run("setup", "claude", "--yes")
    file = patient.home / ".claude" / "settings.json"
    file.write_text(file.read_text().replace("/bin/tract ", "/bin/no-tract "))
    code, checks = patient.checks("claude")
    assert (code, checks["claude hook"]["ok"]) == (1, False)


def test_a_part_that_is_missing_is_reported(patient: Patient) -> None:
    patient.run("setup", "codex", "--yes", "--no-mcp")
    code, checks = patient.checks()
    assert code == 1
    assert checks["codex settings"]["fact"].endswith("run `tract setup codex`")
    assert checks["codex hook"]["ok"]


def test_the_database_of_the_hook_is_checked(patient: Patient) -> None:
    patient.run("--db", "own.db", "setup", "gemini", "--yes")
    assert "own.db can be written" in patient.checks()[1]["database"]["fact"]
    (patient.home / "own.db").unlink()
    assert not patient.checks()[1]["database"]["ok"]
