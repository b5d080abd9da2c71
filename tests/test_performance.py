"""docs/performance.md says what stored runs of benchmarks measured, and nothing else."""

from __future__ import annotations

import re
import runpy
import sys
from importlib import import_module
from pathlib import Path

import msgspec
import pytest

from benchmarks import charts, performance
from benchmarks.performance import PAGE, figure, pages
from benchmarks.report import Result, command_of, report
from benchmarks.runs import Run, Runs, load_all, save

ROOT = Path(__file__).resolve().parent.parent


def a_run(**numbers: float) -> Run:
    return Run("python3 dev.py bench core", "2026-01-01", "a machine", {"tract": "1"}, numbers)


def test_the_page_is_what_the_runs_say() -> None:
    for path, text in pages(load_all()).items():
        assert (ROOT / path).read_text("utf-8") == text, "run: python3 dev.py bench performance"


def test_a_plot_that_no_run_makes_is_gone() -> None:
    plots = {path.name for path in (ROOT / performance.PLOTS).glob("*")}
    assert plots == {path.name for path in pages(load_all()) if path != PAGE}


def test_a_figure_that_no_command_produced_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    save(a_run(cold_vs_raw=1.75), "core", tmp_path)
    monkeypatch.setattr(performance, "RESULTS", tmp_path)
    monkeypatch.setattr(performance, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    monkeypatch.setattr(sys, "argv", ["performance"])
    performance.main()
    page = tmp_path / PAGE
    page.write_text(page.read_text("utf-8").replace("1.75", "1.25"), "utf-8")
    monkeypatch.setattr(sys, "argv", ["performance", "--check"])
    with pytest.raises(SystemExit, match=r"performance\.md is not what the runs say"):
        performance.main()


def test_every_stored_run_is_of_a_benchmark_that_bounds_some_of_it() -> None:
    for name, stored in load_all().items():
        module = import_module(f"benchmarks.{name}")
        assert stored.name == name
        assert all(run.command.startswith(f"python3 dev.py bench {name}") for run in stored.runs)
        assert {**module.AT_MOST, **getattr(module, "AT_LEAST", {})}.keys() & stored.numbers.keys()


def test_a_goal_that_is_missed_says_so() -> None:
    page = pages({"core": Runs("core", [a_run(cold_vs_raw=9.0, append_growth=1.0)])})[PAGE]
    rows = re.findall(r"^\| `core`: `(\w+)` \| (\S+) \| ≤ \S+ \| ([\w ]*?) *\|", page, re.MULTILINE)
    judged = {key: (value, verdict) for key, value, verdict in rows}
    assert judged["append_growth"] == ("1", "")
    assert judged["cold_vs_raw"] == ("9", "missed")
    assert judged["turn_growth"] == ("–", "not measured")


def test_the_table_has_the_stores_that_were_measured() -> None:
    numbers = {"cold_1000_tract_ms": 5.0, "fork_llm_ms": 7.0, "syncs_langgraph_delta": 2.0}
    page = pages({"peers": Runs("peers", [a_run(**numbers)])})[PAGE]
    assert "|  | tract | llm |" in page
    assert "1,000 / 10,000 / 50,000, ms | 5 / – / – | – |" in page


def test_a_number_belongs_to_the_last_run_that_measured_it(tmp_path: Path) -> None:
    for numbers in ({"a": 1.0, "b": 1.0}, {"b": 2.0}, {"a": 3.0}):
        save(a_run(**numbers), "core", tmp_path)
    (stored,) = load_all(tmp_path).values()
    assert [run.numbers for run in stored.runs] == [{"b": 2.0}, {"a": 3.0}]


def test_a_run_is_stored_with_its_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["x", "--json", "--save"])
    monkeypatch.setitem(save.__globals__, "RESULTS", tmp_path)
    monkeypatch.setattr(save, "__defaults__", (tmp_path,))
    facts = {"versions": {"llm": "1"}, "missing": []}
    report("x", None, {"fast": 2}, lambda quick: [Result("fast", 1, {})], facts=lambda: facts)
    (run,) = msgspec.json.decode((tmp_path / "x.json").read_bytes(), type=Runs).runs
    assert (run.command, run.numbers) == ("python3 dev.py bench x", {"fast": 1})
    assert run.versions.keys() >= {"tract", "python", "sqlite", "llm"}
    assert run.facts == {"missing": []}
    assert '"fast": 1' in capsys.readouterr().out


def test_a_quick_run_is_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["x", "--quick", "--save"])
    with pytest.raises(SystemExit):
        report("x", None, {}, lambda quick: [])


def test_a_command_is_without_what_does_not_change_the_numbers() -> None:
    assert command_of("peers", ["--json", "--only", "cold", "--save"]).endswith("peers --only cold")


@pytest.mark.parametrize(
    ("value", "text"),
    [(4.3211, "4.32"), (0.04321, "0.043"), (1234.5, "1,234"), (float("nan"), "–"), (0, "0")],
)
def test_a_figure_has_the_digits_that_a_measure_is_good_for(value: float, text: str) -> None:
    assert figure(value) == text


def test_a_plot_has_a_line_for_each_name() -> None:
    plot = charts.lines("Times", {"a": [(10, 1), (100, 2)], "b": [(10, 0.1)]}, "size", "ms")
    assert plot.count("<polyline") == 2
    assert charts.bars("Times", {"a & b": 1.0}, "ms").count("a &amp; b") == 1


def test_the_page_explains_how_it_is_made(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["performance", "--help"])
    with pytest.raises(SystemExit):
        runpy.run_path(str(ROOT / "benchmarks" / "performance.py"), run_name="__main__")
    assert "dev.py bench performance" in capsys.readouterr().out
