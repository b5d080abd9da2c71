"""The benchmarks load and report; what they measure is no test's business."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from benchmarks import previews
from benchmarks.previews import RIVALS, compiled, preview
from benchmarks.recordings import doubts, recordings
from benchmarks.report import Result, report
from tests import browser

ROOT = Path(__file__).resolve().parent.parent
TRACES = re.compile(
    r"/root/|/work/|/mnt/|/opt/(?![Ff]robnicate)|tract-recordings|pg-recording|sandboxing"
    r"|https?://(?:registry|pypi|files|proxy|repo|deb|index|static)\.(?!example\.org)"
)
NAMES = sorted(
    path.stem
    for path in (ROOT / "benchmarks").glob("*.py")
    if " report(" in path.read_text("utf-8") and path.stem != "report"  # not a part of one
)


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
    if name == "page" and browser.find_chromium() is None:
        pytest.skip(browser.NONE)
    command = [sys.executable, "-m", f"benchmarks.{name}", "--quick", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    unexpected = [line for line in done.stderr.splitlines() if not line.startswith("left out")]
    assert (done.returncode, unexpected) == (0, [])
    assert set(json.loads(done.stdout)) >= set(bounds(name))


# Recordings


def test_the_recordings_are_many_and_of_many_kinds() -> None:
    assert len(recordings()) >= 200
    assert len({recording.recipe.kind for recording in recordings()}) >= 60
    assert all(1 <= len(recording.questions) <= 4 for recording in recordings())
    held = sum(recording.split == "held" for recording in recordings())
    assert 0.3 < held / len(recordings()) < 0.5


def test_each_question_is_answered_by_the_full_output_and_not_by_the_call() -> None:
    assert [doubt for recording in recordings() for doubt in doubts(recording)] == []


def test_no_recording_names_a_machine_or_a_registry() -> None:
    traces = [
        (recording.name, match[0])
        for recording in recordings()
        for match in TRACES.finditer(recording.text)
    ]
    assert traces == []


def test_a_preview_and_its_rivals_are_shown() -> None:
    recording = recordings()[0]
    for show in (preview, *RIVALS.values()):
        assert recording.text.split()[-1] in show(recording, 400)
    assert "6 failed" in compiled([recording], 400)[recording.name]


@pytest.mark.parametrize("option", ["--kinds", "--failures", "--show=pytest-quiet"])
def test_previews_are_looked_at_closer(
    option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["previews", option])
    monkeypatch.setattr(previews, "recordings", lambda: recordings()[:12])
    previews.main()
    assert "pytest" in capsys.readouterr().out
