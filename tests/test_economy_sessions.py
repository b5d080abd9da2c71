"""What the answers of files have used: read quickly, it is what the importer reads."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks.cost import claude_session, codex_session, exact_sum
from tests.corpus import BY_FOLDER, real_files
from tests.samples import claude_code, codex, pi
from tract import Tract
from tract.economy.accounting import Bill, Ledger, total
from tract.economy.catalog import GenaiPrices
from tract.economy.prices import PriceList
from tract.economy.sessions import Session, session_of_dialog, sessions_of_file
from tract.importers.writer import import_file

PRICES = PriceList(catalog=GenaiPrices(datetime(2026, 11, 17, tzinfo=UTC).date()))
FILES = [path for folder in BY_FOLDER for path in real_files(folder)]
SAMPLES = {
    f"{module.__name__.rpartition('.')[2]} {name}": data
    for module in (claude_code, codex, pi)
    for name, data in module.FILES.items()
}


def ledger(sessions: Iterable[Session]) -> Ledger:
    book = Ledger()
    for session in sessions:
        for answer in session.answers:
            book.add(session.name, session.facts.folder, answer)
    return book


def bill_of(path: Path) -> Bill:
    return total(ledger(sessions_of_file(path)[0]).charges(PRICES))


def imported_bill(path: Path) -> Bill:
    with Tract.open(":memory:") as database:
        import_file(database, path)
        sessions = [session_of_dialog(database, info) for info in database.dialogs()]
        return total(ledger(sessions).charges(PRICES))


def write(path: Path, lines: Iterable[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


@pytest.mark.skipif(not FILES, reason="the real transcripts are not here")
def test_real_files_cost_what_they_cost_when_they_are_imported() -> None:
    counts = 0
    for path in FILES:
        bill = bill_of(path)
        assert bill == imported_bill(path), path.name
        counts += bill.answers
    assert counts > 900


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_cost_what_they_cost_when_they_are_imported(name: str, tmp_path: Path) -> None:
    path = tmp_path / "sample.jsonl"
    data = SAMPLES[name]
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    assert bill_of(path) == imported_bill(path)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("make", [claude_session, codex_session])
def test_generated_sessions_cost_what_their_lines_come_to(
    make: Any, seed: int, tmp_path: Path
) -> None:
    path = write(tmp_path / "session.jsonl", make(30, seed))
    bill = bill_of(path)
    assert bill == imported_bill(path)
    assert (bill.dollars, bill.answers, bill.unpriced) == (exact_sum([path]), 30, 0)


def test_a_session_has_its_title_and_its_project(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", claude_session(2, 3))
    ((name, facts, _),), problems = sessions_of_file(path)
    assert (name, facts.title, facts.folder) == ("session 3", "Find bug 3.", "/home/me/p3")
    assert not problems


def test_a_fork_of_codex_pays_only_what_is_new(tmp_path: Path) -> None:
    lines = list(codex_session(4, 1))
    first = write(tmp_path / "first.jsonl", lines[:11])
    header = {**lines[0], "payload": {**lines[0]["payload"], "id": "the fork"}}
    fork = write(tmp_path / "fork.jsonl", [header, *lines])
    book = ledger([*sessions_of_file(first)[0], *sessions_of_file(fork)[0]])
    assert (total(book.charges(PRICES)).answers, book.copies) == (4, 2)


def test_a_cost_of_the_session_counts_where_no_answer_has_one(tmp_path: Path) -> None:
    answer = claude_code.answer("a1", "u1", "m1", claude_code.text("hi"))
    state = {"type": "cost-state", "totalCostUSD": 0.5}
    lines = [claude_code.user("u1", None, "hello"), answer, state]
    assert bill_of(write(tmp_path / "a.jsonl", lines)).dollars is None
    answer["message"]["usage"] = {}
    assert bill_of(write(tmp_path / "b.jsonl", lines)).dollars == 0.5


def test_a_line_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", claude_session(3, 0))
    path.write_text(path.read_text("utf-8") + '{"type": "assistant", "usage": {"inp\n', "utf-8")
    sessions, problems = sessions_of_file(path)
    assert len(problems) == 1
    assert total(ledger(sessions).charges(PRICES)).answers == 3
