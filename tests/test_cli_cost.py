"""The command `tract cost`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.cost import claude_session, codex_session, exact_sum, forked
from tests.cli import HOSTILE, dangerous, invoke, ok, ok_json
from tract.economy import catalog


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home and folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def write(path: Path, lines: Iterable[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def sessions(folder: Path) -> list[Path]:
    return [
        write(folder / "claude.jsonl", claude_session(5, 1)),
        write(folder / "codex.jsonl", codex_session(4, 2)),
    ]


def test_a_folder_costs_what_its_files_do(here: Path) -> None:
    paths = sessions(here / "some")
    (here / "some" / "settings.json").write_text("{}")
    (here / "some" / "broken.jsonl.gz").write_bytes(b"\x1f\x8b\x08 no gzip")
    exact = float(exact_sum(paths))
    whole = ok_json("cost", "some")
    assert whole["total"]["dollars"] == pytest.approx(exact, abs=1e-9)
    assert (whole["total"]["answers"], whole["sessions"], whole["files"]) == (9, 2, 2)
    assert whole["prices"].startswith("genai-prices")
    for path in paths:
        one = ok_json("cost", str(path))
        assert one["total"]["dollars"] == pytest.approx(float(exact_sum([path])), abs=1e-9)


@pytest.mark.parametrize("by", ["session", "project", "model", "day", "tool", "kind"])
def test_the_groups_and_the_kinds_add_up(here: Path, by: str) -> None:
    sessions(here / "some")
    told = ok_json("cost", "some", "--by", by)
    dollars, total = [group["dollars"] for group in told["groups"]], told["total"]
    assert sum(dollars) == pytest.approx(total["dollars"], abs=1e-9)
    assert sum(part["dollars"] for part in told["billed"]) == pytest.approx(total["dollars"])
    for key in ("input_tokens", "cache_read_tokens", "output_tokens"):
        assert sum(group[key] for group in told["groups"]) == total[key]
    assert told["is_estimate"] == (by in ("tool", "kind"))


def test_kinds_and_tools_are_the_same_for_a_file_and_its_dialog(here: Path) -> None:
    sessions(here / "some")
    ok("--db", "x.db", "import", "some")
    of_files = ok_json("cost", "some", "--by", "kind")
    assert ok_json("--db", "x.db", "cost", "--by", "kind")["groups"] == of_files["groups"]
    assert {group["name"] for group in of_files["groups"]} >= {"results", "text", "arguments"}
    assert of_files["results"][0]["requests"] > 0
    assert "MOST EXPENSIVE RESULTS" in ok("cost", "some", "--by", "tool")


def test_dialogs_cost_what_their_files_did(here: Path) -> None:
    paths = sessions(here / "some")
    ok("--db", "x.db", "import", "some")
    exact = pytest.approx(float(exact_sum(paths)), abs=1e-9)
    assert ok_json("--db", "x.db", "cost")["total"]["dollars"] == exact
    one = ok_json("--db", "x.db", "cost", "session 1", "--by", "model")
    assert one["total"]["dollars"] == pytest.approx(float(exact_sum(paths[:1])), abs=1e-9)
    assert invoke("--db", "x.db", "cost", "no such dialog").exit_code == 3


def test_a_copy_is_counted_once_and_said(here: Path) -> None:
    write(here / "some" / "a.jsonl", claude_session(5, 1))
    alone = ok_json("cost", "some")["total"]
    write(here / "some" / "b.jsonl", forked(claude_session(6, 1)))
    result = invoke("cost", "some", "--json")
    told = json.loads(result.stdout)
    assert (alone["answers"], told["total"]["answers"], told["copies"]) == (5, 6, 5)
    assert "5 answers of one session stand in another one too: counted once" in result.stderr


def test_a_path_that_does_not_exist_is_named(here: Path) -> None:
    result = invoke("cost", "no/such.jsonl")
    assert result.exit_code == 3
    assert "no file or folder 'no/such.jsonl', and no .tract folder here" in result.stderr


def test_stdin_is_a_transcript_too(here: Path) -> None:
    path = write(here / "s.jsonl", claude_session(2, 1))
    told = json.loads(ok("cost", "-", "--json", stdin=path.read_text()))
    assert told["total"] == ok_json("cost", "s.jsonl")["total"]


def test_without_a_name_or_a_database_the_agents_of_this_machine_are_read(here: Path) -> None:
    assert invoke("cost").exit_code == 3
    write(here / "home/.claude/projects/p/s.jsonl", claude_session(5, 1))
    result = invoke("cost")
    assert result.exit_code == 0, result.output
    assert "no database here; reading 1 transcript of Claude Code" in result.stderr
    assert "for 5 answers of 1 session, 2026-03-01" in result.stdout


def test_since_leaves_older_answers_out(here: Path) -> None:
    sessions(here / "some")
    by_day = ok_json("cost", "some", "--by", "day")["groups"]
    assert [day["name"] for day in by_day] == ["2026-03-01"]
    assert ok_json("cost", "some", "--since", "2026-03-01T23:02")["total"]["answers"] == 5
    assert ok_json("cost", "some", "--since", "2026-03-02")["total"]["answers"] == 0
    assert "no answer with a recorded usage" in ok("cost", "some", "--since", "2026-03-02")
    assert invoke("cost", "some", "--since", "soon").exit_code == 2


def test_a_model_without_a_price_is_named_with_its_tokens(here: Path) -> None:
    lines = list(claude_session(2, 1))
    for line in lines:
        if line["type"] == "assistant":
            line["message"]["model"] = "claude-of-tomorrow"
    write(here / "s.jsonl", lines)
    told = ok_json("cost", "s.jsonl")
    assert told["total"]["dollars"] is None
    assert told["without_price"][0]["model"] == "claude-of-tomorrow"
    assert "no price: claude-of-tomorrow, 2 answers, " in ok("cost", "s.jsonl")
    Path("prices.toml").write_text("[claude-of]\ninput=1\noutput=1\nwritten_hour=0\n")
    priced = ok_json("cost", "s.jsonl", "--prices", "prices.toml")
    assert priced["total"]["dollars"] > 0
    assert priced["without_price"] == []


def test_without_prices_tokens_are_shown_and_the_package_is_named(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "find_spec", lambda _: None)
    write(here / "s.jsonl", claude_session(2, 1))
    result = invoke("cost", "s.jsonl")
    assert result.exit_code == 0
    assert result.stdout.startswith("? for 2 answers of 1 session")
    assert result.stderr.count("no prices: pip install ") == 1


def test_the_screen_fits_and_is_harmless(here: Path) -> None:
    lines = list(claude_session(2, 1))
    for line in lines:
        line["sessionId"] = line["cwd"] = HOSTILE
    lines[0]["message"]["content"] = f"A title {HOSTILE} that is long " * 5
    path = write(here / "s.jsonl", lines)
    for by in ("session", "project", "model", "day"):
        result = invoke("cost", str(path), "--by", by)
        assert not dangerous(result.output)


def test_a_file_that_is_no_transcript_is_refused(here: Path) -> None:
    Path("x.json").write_text("{}")
    result = invoke("cost", "x.json")
    assert result.exit_code == 2
    assert "x.json: no format that can be imported" in result.stderr
