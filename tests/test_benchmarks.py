"""The benchmarks run and report; what they measure is no test's business."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BOUNDED = {
    "core": {
        "append_full_vs_raw",
        "append_relaxed_vs_raw",
        "append_growth",
        "turn_growth",
        "cold_vs_raw",
        "log_lazy_rss_mb",
        "size_vs_text",
        "statements_per_append",
    },
    "tools": {"tools_size_overhead", "tools_append_overhead", "tools_compile_overhead"},
    "results": {
        "lazy_open_vs_full",
        "lazy_rss_mb",
        "slice_ms",
        "pure_vs_copy",
        "dup_size",
        "preview_mb_s",
    },
    "import": {"import_mb_s"},
    "view": {"blocks_ms_per_mb", "first_screen_ms", "toggle_ms", "show_vs_cat"},
}


def bench(name: str, *options: str) -> str:
    command = [sys.executable, "-m", f"benchmarks.{name}", "--quick", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("name", BOUNDED)
def test_a_benchmark_prints_one_json_object_on_one_line(name: str) -> None:
    output = bench(name, "--json")
    assert output.count("\n") == 1
    numbers = json.loads(output)
    assert set(numbers) >= BOUNDED[name]
    assert [key for key, value in numbers.items() if not value > 0] == []


@pytest.mark.parametrize("name", BOUNDED)
def test_a_benchmark_prints_a_table_with_every_bound(name: str) -> None:
    header, *lines = bench(name).splitlines()
    assert header.split() == ["key", "value", "bound"]
    assert {line.split()[0] for line in lines} == BOUNDED[name]
    assert {" ".join(line.split()[2:4]) for line in lines} <= {"at most", "at least"}
    assert {line.split()[5] for line in lines} <= {"ok", "over", "under"}
