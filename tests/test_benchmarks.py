"""The benchmarks run and report; what they measure is no test's business."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BOUNDED = {
    "append_full_vs_raw",
    "append_relaxed_vs_raw",
    "append_growth",
    "turn_growth",
    "cold_vs_raw",
    "log_lazy_rss_mb",
    "size_vs_text",
    "statements_per_append",
}


def core(*options: str) -> str:
    command = [sys.executable, "-m", "benchmarks.core", "--quick", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_core_prints_one_json_object_on_one_line() -> None:
    output = core("--json")
    assert output.count("\n") == 1
    numbers = json.loads(output)
    assert set(numbers) >= BOUNDED
    assert [key for key, value in numbers.items() if not value > 0] == []


def test_core_prints_a_table_with_every_bound() -> None:
    header, *lines = core().splitlines()
    assert header.split() == ["key", "value", "at", "most"]
    assert {line.split()[0] for line in lines} == BOUNDED
    assert {line.split()[3] for line in lines} <= {"ok", "over"}
