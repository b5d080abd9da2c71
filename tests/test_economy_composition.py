"""What the requests of a dialog consist of, and what that has cost."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tract import ToolCall, Tract
from tract.economy.accounting import Bill, Charge, Spending, total
from tract.economy.composition import (
    ARGUMENTS,
    HIDDEN,
    IDLE,
    NOTHING,
    RESULTS,
    SYSTEM,
    TEXT,
    THINKING,
    TOOLS,
    Composition,
    Part,
    divide,
    fit,
    group_parts,
    result_costs,
    sent_dollars,
    shares,
    spread,
)
from tract.economy.prices import PriceList, prices_of
from tract.economy.sessions import composition_of
from tract.model import Message, Raw, Text
from tract.providers.usage import Usage

TOOL = {"name": "bash", "description": "Runs a command", "input_schema": {"type": "object"}}
IDLE_TOOL = {**TOOL, "name": "fax", "description": "Sends a fax " * 20}
LONG = "a line of output\n" * 400


@pytest.fixture
def tract() -> Any:
    """Three requests; the first result is in two of them."""
    with Tract.open(":memory:") as t:
        t.system("Be brief.")
        t.user("Run it.", tools=[TOOL, IDLE_TOOL])
        for number in (1, 2):
            call = ToolCall(f"c{number}", "bash", {"command": f"make {number}"})
            t.assistant("Now.", tool_calls=[call], usage={"input_tokens": 9_000 * number})
            t.tool_result(call.id, "bash", LONG)
        t.assistant("Done.", usage={"input_tokens": 27_000})
        yield t


def test_a_part_counts_as_often_as_it_was_sent(tract: Tract) -> None:
    whole = composition_of(tract)
    results = [result for result in whole.results if result.tool == "bash"]
    assert [(result.label, result.requests) for result in results] == [("make 1", 2), ("make 2", 1)]
    assert results[0].tokens == pytest.approx(2 * results[1].tokens)
    kinds = {part.kind for part in whole.sent}
    assert kinds >= {SYSTEM, TOOLS, IDLE, RESULTS, ARGUMENTS, TEXT}
    assert whole.sent[Part(IDLE, "fax")] > whole.sent[Part(TOOLS, "bash")]
    assert {part.kind for part in whole.answered} == {ARGUMENTS, TEXT}


def test_the_parts_are_scaled_to_the_recorded_input(tract: Tract) -> None:
    whole = composition_of(tract)
    assert sum(whole.sent.values()) == pytest.approx(9_000 + 18_000 + 27_000)


def test_a_result_costs_its_share_of_what_was_sent(tract: Tract) -> None:
    answers = [Spending("s", None, "m", None, Usage(1_000_000, 0, 0, 500))]
    charges = [Charge(a, PRICES.parts(a.model, a.usage)) for a in answers]
    (first, _), (second, _) = result_costs(charges, composition_of(tract))
    assert first == pytest.approx(2 * second)
    assert 0 < first + second < 3


def test_a_dialog_without_answers_has_no_composition() -> None:
    with Tract.open(":memory:") as t:
        assert composition_of(t) == NOTHING
        t.user("Hello")
        assert sum(composition_of(t).sent.values()) == 0


def test_an_answer_is_text_thinking_and_arguments() -> None:
    thought = Raw("anthropic", {"type": "thinking", "thinking": "x" * 50})
    blocks = (Text("y" * 10), thought, ToolCall("c", "bash", {"command": "make"}))
    parts = shares(Message("assistant", blocks))
    assert set(parts) == {Part(TEXT), Part(THINKING), Part(ARGUMENTS, "bash")}
    assert sum(parts.values()) == pytest.approx(1)
    assert shares(Message("assistant", "")) == {Part(TEXT): 1.0}


@pytest.mark.parametrize(
    ("points", "line"),
    [
        ([], (1.0, 0.0)),
        ([(100, 350)], (1.0, 250.0)),
        ([(100, 450), (200, 600), (300, 750)], (1.5, 300.0)),
        ([(100, 150), (200, 300)], (1.5, 0.0)),
        ([(100, 50), (300, 150)], (0.5, 0.0)),
        ([(0, 0)], (1.0, 0.0)),
    ],
)
def test_the_line_through_our_sizes_and_the_recorded_ones(
    points: list[tuple[int, int]], line: tuple[float, float]
) -> None:
    assert fit(points) == pytest.approx(line)


sizes = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=6)


@given(sizes)
def test_no_part_is_negative_and_the_sum_is_what_was_recorded(
    points: list[tuple[int, int]],
) -> None:
    factor, hidden = fit(points)
    assert factor >= 0
    assert hidden >= 0
    ours, theirs = sum(x for x, _ in points), sum(y for _, y in points)
    if ours:
        assert factor * ours + hidden * len(points) == pytest.approx(theirs, abs=1e-3)


parts = st.builds(Part, st.sampled_from([TEXT, RESULTS, SYSTEM]), st.sampled_from(["a", "b"]))
weights = st.dictionaries(parts, st.floats(0, 10**9), max_size=5)
compositions = st.builds(Composition, weights, weights, st.just([]))
PRICES = PriceList(prices_of({"m": {"input": 3, "output": 15, "cached": 0.3}}))
spendings = st.builds(
    lambda model, usage: Spending("s", None, model, None, usage),
    st.sampled_from(["m", "unknown"]),
    st.builds(
        Usage,
        *[st.integers(0, 10**7)] * 4,
        st.none() | st.floats(0, 99),
        written_hour=st.integers(0, 10**7),
        thought=st.integers(0, 10**7),
        searches=st.integers(0, 2**64),  # no stored number is larger
    ),
)


@given(st.lists(spendings, min_size=1, max_size=4), compositions, st.sampled_from([0, 1]))
def test_the_sum_over_kinds_and_tools_is_the_total(
    answers: list[Spending], composition: Composition, field: int
) -> None:
    charges = [Charge(a, PRICES.parts(a.model, a.usage)) for a in answers]
    groups, whole = group_parts([(charges, composition)], lambda part: part[field]), total(charges)
    assert sum(bill.dollars or 0 for bill in groups.values()) == (whole.dollars or 0)
    for name in ("read", "cached", "written", "answered"):
        counts = [getattr(bill.usage, name) for bill in groups.values()]
        assert sum(counts) == getattr(whole.usage, name)
        assert min(counts) >= 0
    assert 0 <= sent_dollars(charges) <= (whole.dollars or 0)


def test_what_has_no_composition_is_not_in_the_transcript() -> None:
    bill = Bill(Usage(5, 0, 0, 2), Decimal(3))
    assert spread(bill, Decimal(2), NOTHING) == {Part(HIDDEN): bill}


def test_what_rounding_leaves_goes_to_the_largest() -> None:
    thirds = divide(Decimal(10), {Part("a"): 1, Part("b"): 1.5, Part("c"): 1}, Decimal(1))
    assert thirds == {Part("a"): 2, Part("b"): 6, Part("c"): 2}
