"""A transcript whose long results were replaced by a hook gets them back in full."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.hooks import LONG, hook
from tests.importing import as_lines
from tests.samples.claude_code import answer, call, result, text, user
from tract import Tract
from tract.importers.hooked import HookedResults
from tract.importers.writer import import_file

TOOL = "mcp__tract__get_tool_result"


def transcript(folder: Path, shown: Any) -> Path:
    path = folder / "s.jsonl"
    lines = [
        user("u1", None, "hello"),
        answer("a1", "u1", "m1", call("t1")),
        user("r1", "a1", [result("t1", shown)]),
        answer("a2", "r1", "m2", text("bye")),
    ]
    path.write_bytes(as_lines(*lines))
    return path


def imported(tract: Tract, path: Path) -> tuple[Any, str]:
    """What is stored of the result, and what is sent of it."""
    import_file(tract, path)
    with_all = tract.sibling("s")
    [info] = with_all.list_tool_results()
    [sent] = [message for message in with_all.compile().messages if message.role == "tool"]
    return with_all.get_content(info.commit_hash), sent.text


def numbered(text: str) -> str:
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(text.splitlines(), 1))


@pytest.mark.parametrize("shape", [str, numbered, lambda text: json.dumps({"error": text})])
def test_the_full_result_is_stored_and_the_reference_is_its_form(
    db: str, tmp_path: Path, shape: Any
) -> None:
    with Tract.open(db) as tract:
        shown = shape(hook(tract))
        path = transcript(tmp_path, shown)
        assert imported(tract, path) == (LONG, shown)
        again = import_file(tract, path)
        assert (again.messages, again.duplicates) == (0, 4)


def test_a_session_in_a_file_with_others_has_the_name_of_the_file_before_its_own(
    tmp_path: Path,
) -> None:
    with Tract.open(tmp_path / "t.db") as tract:
        reference = hook(tract)
        assert HookedResults(tract.session, ["opencode/s"]).full(reference) == LONG
        assert HookedResults(tract.session, ["s/other"]).full(reference) is None


def test_a_text_that_quotes_a_reference_stays(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db") as tract:
        reference = hook(tract)
        quote = f"{LONG}\n{reference}"
        assert imported(tract, transcript(tmp_path, quote)) == (quote, quote)


@pytest.mark.parametrize(
    "shown", [f'call {TOOL}(id="t1")', f'call {TOOL}(id="other")', "nothing of that kind"]
)
def test_what_is_not_a_reference_of_this_session_stays(tmp_path: Path, shown: str) -> None:
    with Tract.open(tmp_path / "t.db") as tract:
        hook(tract)
        assert imported(tract, transcript(tmp_path, shown)) == (shown, shown)


def test_a_result_that_was_forgotten_does_not_come_back(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db") as tract:
        reference = hook(tract)
        results = tract.sibling("s.results")
        results.forget(results.list_tool_results()[0].commit_hash)
        stored, _ = imported(tract, transcript(tmp_path, reference))
        assert stored == reference


def test_without_a_hook_nothing_changes(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db") as tract:
        with Tract.open(tmp_path / "other.db") as other:
            reference = hook(other)
        assert imported(tract, transcript(tmp_path, reference)) == (reference, reference)
