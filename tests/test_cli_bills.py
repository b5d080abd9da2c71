"""What `tract cost` prints."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from tract.cli.bills import Account, Report, bar, money
from tract.economy.accounting import Bill
from tract.economy.prices import PriceList, prices_of
from tract.economy.sessions import Session
from tract.importers.items import Problem
from tract.model import AnswerUsage, DialogFacts

PRICES = PriceList(prices_of({"claude": {"input": 3, "output": 15, "cached": 0.3}}))
NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)


def account(count: int) -> Account:
    """Sessions that cost more and more."""
    whole = Account()
    for number in range(1, count + 1):
        usage = {"input_tokens": number * 1_000_000, "output_tokens": 1000}
        answer = AnswerUsage("claude", usage, NOON + timedelta(days=number))
        facts = DialogFacts(title=f"Task {number}", folder="/project")
        whole.add(Session(f"s{number}", facts, [answer]))
    return whole


def test_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    Report(account(3), PRICES, "session").put(2)
    assert (
        capsys.readouterr().out
        == """\
$18.04 for 3 answers of 3 sessions, 2026-11-18 to 2026-11-20

BILLED     TOKENS    COST
sent anew    6.0M  $18.00  ████████████████████
answered     3.0k   $0.04  █

 COST              SENT  CACHED  ANSWERED  ANSWERS  SESSION
$9.02  ██████████  3.0M      0%      1.0k        1  s3 Task 3
$6.02  ███████     2.0M      0%      1.0k        1  s2 Task 2
$3.02 for 1 more, which --top or --json shows
"""
    )


def test_days_are_in_their_order_and_the_newest_are_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Report(account(3), PRICES, "day").put(2)
    last = capsys.readouterr().out.splitlines()[-3:]
    assert [line.split()[-1] for line in last[:2]] == ["2026-11-19", "2026-11-20"]
    assert last[2].startswith("$3.02 for 1 more")


def test_a_recorded_cost_stands_with_its_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    whole = account(1)
    usage = {"input": 7, "output": 3, "cost": {"total": 1.5}}
    whole.add(Session("s9", DialogFacts(), [AnswerUsage("claude", usage)]))
    billed = Report(whole, PRICES, "session").document()["billed"]
    assert billed[-1] == {"kind": "as recorded", "tokens": 10, "dollars": 1.5}
    assert sum(part["tokens"] for part in billed) == 1_001_010


def test_a_long_path_is_known_by_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    whole = Account()
    folder = DialogFacts(folder="/home/me/" + "a" * 50 + "/the/project")
    whole.add(Session("s", folder, [AnswerUsage("claude", {"input_tokens": 5})]))
    Report(whole, PRICES, "project").put(5)
    assert capsys.readouterr().out.splitlines()[-1].endswith("aaa/the/project")


def test_what_a_person_must_know_is_noted() -> None:
    whole = account(1)
    whole.add(Session("s9", DialogFacts(), [AnswerUsage("claude", {"outputTokens": 7})]))
    whole.add_file("a.jsonl", [], [Problem("line 3", "not JSON"), Problem("line 4", "not JSON")])
    whole.passed_over = 2
    whole.skip("c.json", "c.json: too large for one document")
    report = Report(whole, PRICES, "session")
    assert list(report.notes()) == [
        "1 answer without recorded input: only the output is in the cost",
        "a.jsonl: 2 parts skipped; line 3: not JSON",
        "c.json: c.json: too large for one document",
        "2 files passed over: of no known format",
        "prices: the price file",
    ]
    assert money(report.total) == "$3.02+"


def test_money_and_bars() -> None:
    assert money(Bill()) == "?"
    assert money(Bill(dollars=Decimal("1234.5"))) == "$1,234.50"
    assert [bar(Decimal(n), Decimal(100), 10) for n in (0, 1, 55, 100)] == [
        *("", "█", "██████", "█" * 10)
    ]
