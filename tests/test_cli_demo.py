"""`tract demo`: it runs anywhere, and what it says is true."""

from __future__ import annotations

import csv
import io
import re
import sys
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest

from tests.cli import invoke, ok, run
from tract.cli.demo_project import AFFECTED, TESTED, orders


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What it prints, and the folder that it made."""
    folder = tmp_path_factory.mktemp("demo")
    done = run("demo", "work", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout, folder / "work"


def test_the_tools_of_the_agent_are_real(demo: tuple[str, Path]) -> None:
    screen, folder = demo
    result = ok("result", "call_3", "--raw", "--db", str(folder / "demo.db"))
    assert f"test_order_{AFFECTED}_of_" in result
    assert "FAILED (failures=1)" in result
    assert ", 0 problems" in screen
    for path in (folder, Path(sys.executable).parent):  # as long as whoever runs it has them
        screen = screen.replace(str(path), "")
    assert max(map(len, screen.splitlines())) <= 100


def test_the_summary_without_a_model_names_the_failing_test(demo: tuple[str, Path]) -> None:
    summary = demo[0].partition("without a model")[2].partition("undo it")[0]
    assert f"test_order_{AFFECTED}" in summary


def test_the_commands_to_try_next_work(demo: tuple[str, Path]) -> None:
    screen, folder = demo
    commands = re.findall(r"^  [^`\s]*tract (.*)$", screen.partition("Try next")[2], re.MULTILINE)
    assert len(commands) == 9
    for command in commands[1:]:  # the first one needs a terminal
        result = invoke(*command.split(), TRACT_DB=str(folder / "demo.db"))
        assert (result.exit_code, result.output != "") == (0, True), command


def test_what_the_scripted_answers_say_is_true() -> None:
    rows = list(csv.DictReader(io.StringIO(orders())))
    assert len(rows) == 400
    assert {row["discount"] for row in rows} == {"10"}
    exact = {
        int(row["number"]): int(row["quantity"]) * Decimal(row["price"]) * Decimal("0.9")
        for row in rows
    }
    cent = Decimal("0.01")
    differing = [
        number
        for number, amount in exact.items()
        if amount.quantize(cent, ROUND_HALF_UP) != amount.quantize(cent, ROUND_HALF_EVEN)
    ]
    assert differing == [AFFECTED]
    assert exact[AFFECTED] == Decimal("2.745")
    odd = [row["number"] for row in rows if int(row["price"].replace(".", "")) % 2]
    assert odd == [str(AFFECTED)]
    assert AFFECTED < 1001 + TESTED


def test_it_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    result = invoke("demo", str(tmp_path))
    assert (result.exit_code, result.stdout) == (4, "")
    assert result.stderr.endswith("is not empty; name a new folder\n")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
