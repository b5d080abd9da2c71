"""What is known about a dialog besides its messages."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tract import Tract
from tract.economy.facts import known_facts
from tract.economy.prices import NO_PRICES, PriceList, prices_of
from tract.model import DialogFacts
from tract.view.facts import Facts

PRICES = PriceList(prices_of({"m": {"input": 1, "output": 10}}))
START, END = datetime(2026, 3, 1, 12, tzinfo=UTC), datetime(2026, 3, 1, 13, tzinfo=UTC)


def known(*usages: dict[str, Any], prices: PriceList = PRICES, **facts: Any) -> Facts:
    """The facts of a dialog with such answers."""
    with Tract.open(":memory:", dialog="work") as t:
        for usage in usages:
            t.assistant("so", usage=usage, generation_config={"model": "m"})
        return known_facts("work", "main", DialogFacts(**facts), list(t.usages()), prices)


def test_what_the_source_says_is_taken_over() -> None:
    facts = known(
        title="Fix x",
        folder="/srv/app",
        parent="main",
        model="claude-x",
        started=START,
        ended=END,
    )
    assert (facts.dialog, facts.branch, facts.title) == ("work", "main", "Fix x")
    assert (facts.folder, facts.parent, facts.models) == ("/srv/app", "main", ("claude-x",))
    assert (facts.started, facts.ended) == (START, END)


def test_what_is_not_known_is_empty() -> None:
    facts = known()
    assert (facts.title, facts.folder, facts.parent, facts.models) == ("", "", "", ())
    assert (facts.tokens, facts.cost, facts.started) == ("", "", None)


def test_answers_are_summed_with_their_cost() -> None:
    facts = known(*[{"input_tokens": 1_000_000, "output_tokens": 100_000}] * 2)
    assert facts.tokens == "2.0M → 200k"
    assert facts.cost.startswith("$4.00")


def test_a_recorded_cost_is_shown_where_no_price_is_known() -> None:
    usage = {"input_tokens": 1000, "output_tokens": 100}
    assert known(usage, prices=NO_PRICES, cost=1234.5).cost == "$1,234.50"
    assert known(usage, cost=1234.5).cost != "$1,234.50"
    assert known(usage, prices=NO_PRICES).cost == ""
