"""Sums of what answers have used and cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from tract.economy.prices import Parts, PriceList
from tract.model import AnswerUsage, DialogFacts
from tract.providers.usage import Usage, usage_of
from tract.view.numbers import short


class Bill(NamedTuple):
    """The tokens of answers, and the dollars as far as known."""

    usage: Usage = Usage()
    dollars: Decimal | None = None
    """The sum of the costs that are known; None if none is."""
    unpriced: int = 0
    """The number of answers whose cost is not known, or only in part."""
    answers: int = 0

    def plus(self, other: Bill) -> Bill:
        known = [bill.dollars for bill in (self, other) if bill.dollars is not None]
        return Bill(
            self.usage.plus(other.usage),
            sum(known, Decimal(0)) if known else None,
            self.unpriced + other.unpriced,
            self.answers + other.answers,
        )


class Spending(NamedTuple):
    """An answer of a session, as recorded."""

    session: str
    project: str | None
    model: str | None
    time: datetime | None
    usage: Usage


class Charge(NamedTuple):
    """An answer with its cost."""

    answer: Spending
    parts: Parts | None
    """None if the price is not known."""

    @property
    def has_no_input(self) -> bool:
        """Whether only the output was recorded, so that the cost is too low."""
        usage = self.answer.usage
        return bool(usage.answered and not usage.sent and usage.cost is None and self.parts)

    @property
    def bill(self) -> Bill:
        usage = self.answer.usage._replace(cost=None, tier="")
        if self.parts is None:
            return Bill(usage, None, 1, 1)
        return Bill(usage, sum(self.parts.values(), Decimal(0)), int(self.has_no_input), 1)


class Ledger:
    """The answers of any number of sessions, each counted once. Agents write an answer in several
    pieces with the same usage, and copy it when a session is continued or forked; it is the same
    answer if its id, its model and the tokens of its request are equal. Of several counts of output
    the largest is the last."""

    def __init__(self) -> None:
        self._answers: dict[object, Spending] = {}
        self._copies: set[tuple[object, str]] = set()
        self._last: object = None

    def add(self, session: str, project: str | None, answer: AnswerUsage) -> None:
        again = answer.id, session, answer.usage
        if answer.id is not None and again == self._last:  # the next block of the same answer
            return
        self._last, usage = again, usage_of(answer.usage)
        spending = Spending(session, project, answer.model, answer.time, usage)
        if answer.id is None:
            self._answers[len(self._answers)] = spending
            return
        key = (answer.id, answer.model, usage.read, usage.cached, usage.written)
        first = self._answers.setdefault(key, spending)
        if first.session != session:
            self._copies.add((key, session))
        if usage.answered > first.usage.answered:
            self._answers[key] = first._replace(usage=usage)

    @property
    def copies(self) -> int:
        """How many answers of a session are those of another one."""
        return len(self._copies)

    def charges(self, prices: PriceList) -> Iterator[Charge]:
        for answer in self._answers.values():
            yield Charge(answer, prices.parts(answer.model, answer.usage, answer.time))


def bill(answers: Iterable[AnswerUsage], prices: PriceList) -> Bill:
    """The sum over the answers of one dialog: `bill(tract.usages(), prices)`."""
    ledger = Ledger()
    for answer in answers:
        ledger.add("", None, answer)
    return total(ledger.charges(prices))


def with_session_cost(
    name: str, facts: DialogFacts, answers: list[AnswerUsage]
) -> list[AnswerUsage]:
    """A cost that is recorded for a session counts if none of its answers reports anything."""
    if answers or facts.cost is None:
        return answers
    time = facts.ended or facts.started
    return [AnswerUsage(facts.model, {"cost": facts.cost}, time, f"session {name}")]


def total(charges: Iterable[Charge]) -> Bill:
    return _sum(charge.bill for charge in charges)


def group(charges: Iterable[Charge], key: Callable[[Charge], str]) -> dict[str, Bill]:
    """The sum of each group, the most expensive first."""
    groups: dict[str, list[Bill]] = {}
    for charge in charges:
        groups.setdefault(key(charge), []).append(charge.bill)
    return ranked({name: _sum(bills) for name, bills in groups.items()})


def ranked(bills: dict[str, Bill]) -> dict[str, Bill]:
    """By cost, then by tokens."""
    order = sorted(bills, key=lambda name: (-(bills[name].dollars or 0), -bills[name].usage.tokens))
    return {name: bills[name] for name in order}


def _sum(bills: Iterable[Bill]) -> Bill:
    whole = Bill()
    for one in bills:
        whole = whole.plus(one)
    return whole


def bill_text(bill: Bill) -> str:
    """`$1.23`; `$1.23+` where some prices are unknown; `1.2M → 34k` tokens in and out where all
    are; "" where nothing was used."""
    if bill.dollars:
        return f"${bill.dollars:,.2f}" + ("+" if bill.unpriced else "")
    if not bill.usage.tokens:
        return ""
    if bill.dollars is not None and not bill.unpriced:
        return "$0.00"
    return f"{short(bill.usage.sent)} → {short(bill.usage.answered)}"
