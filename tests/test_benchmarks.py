"""The benchmarks load and report; what they measure is no test's business."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from benchmarks.report import Result, report

ROOT = Path(__file__).resolve().parent.parent
SHARED = {"__init__", "load", "measure", "outputs", "report"}
NAMES = sorted({path.stem for path in (ROOT / "benchmarks").glob("*.py")} - SHARED)


def bounds(name: str) -> dict[str, float]:
    module = import_module(f"benchmarks.{name}")
    return {**getattr(module, "AT_MOST", {}), **getattr(module, "AT_LEAST", {})}


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_explains_itself(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as exit_:
        runpy.run_path(str(ROOT / "benchmarks" / f"{name}.py"), run_name="__main__")
    assert exit_.value.code == 0
    assert f"dev.py bench {name}" in capsys.readouterr().out


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_has_bounds(name: str) -> None:
    assert bounds(name)


def results(quick: bool) -> Iterator[Result]:
    yield Result("fast_ms", 2.0, {"runs": 3 if quick else 100})
    yield Result("slow_ms", 9.0, {})
    yield Result("per_second", 5.0, {})


def printed(capsys: pytest.CaptureFixture[str], monkeypatch: Any, *options: str) -> str:
    monkeypatch.setattr(sys, "argv", ["x", *options])
    report("x", None, {"fast_ms": 4, "slow_ms": 4}, results, {"per_second": 6})
    return capsys.readouterr().out


def test_a_table_says_which_bounds_are_kept(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    header, *lines = printed(capsys, monkeypatch).splitlines()
    assert header.split() == ["key", "value", "bound"]
    assert [line.split() for line in lines] == [
        ["fast_ms", "2.00", "at", "most", "4", "ok", "runs", "100"],
        ["slow_ms", "9.00", "at", "most", "4", "over"],
        ["per_second", "5.00", "at", "least", "6", "under"],
    ]


def test_json_is_one_object_on_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    output = printed(capsys, monkeypatch, "--json", "--quick")
    assert output.count("\n") == 1
    assert json.loads(output) == {"fast_ms": 2, "slow_ms": 9, "per_second": 5, "runs": 3}


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_measures_all_that_it_bounds(name: str) -> None:
    command = [sys.executable, "-m", f"benchmarks.{name}", "--quick", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert set(json.loads(done.stdout)) >= set(bounds(name))
