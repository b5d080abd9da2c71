"""What `tract cost` prints: sums as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from heapq import nlargest
from typing import Any

from tract.cli.screen import CYAN, NUMBER, Column, put, table
from tract.economy.accounting import Bill, Charge, Ledger, group, total
from tract.economy.composition import (
    NOTHING,
    Composition,
    Part,
    Result,
    group_parts,
    result_costs,
)
from tract.economy.prices import (
    ANSWERED,
    CACHED,
    RECORDED,
    SEARCHES,
    SENT,
    WRITTEN,
    WRITTEN_HOUR,
    PriceList,
)
from tract.economy.sessions import Session
from tract.extras import install_command
from tract.importers.items import Problem
from tract.model import DialogFacts
from tract.providers.usage import Usage
from tract.view.numbers import short
from tract.view.sanitize import counted, cut

BAR = 20
TITLE = 60
PATH = 26
UNKNOWN = "(not recorded)"
MOST_NOTES = 10

GROUPS: dict[str, Callable[[Charge], str]] = {
    "session": lambda charge: charge.answer.session,
    "project": lambda charge: charge.answer.project or UNKNOWN,
    "model": lambda charge: charge.answer.model or UNKNOWN,
    "day": lambda charge: f"{charge.answer.time:%Y-%m-%d}" if charge.answer.time else UNKNOWN,
}
"""What each grouping goes by. Days are in UTC."""
PARTS: dict[str, Callable[[Part], str]] = {
    "tool": lambda part: part.tool,
    "kind": lambda part: part.kind,
}
"""Groupings by what the requests consist of."""
MOST_RESULTS = 5

TOKENS: dict[str, Callable[[Usage], int]] = {
    SENT: lambda usage: usage.read,
    CACHED: lambda usage: usage.cached,
    WRITTEN: lambda usage: usage.written - usage.written_hour,
    WRITTEN_HOUR: lambda usage: usage.written_hour,
    ANSWERED: lambda usage: usage.answered,
    SEARCHES: lambda usage: usage.searches,
}
"""The tokens of what is billed; the searches are their number."""


class Account:
    """What was read: the answers, and what is known about their sessions."""

    def __init__(self, since: datetime | None = None, *, has_parts: bool = False) -> None:
        self.since, self.has_parts = since, has_parts
        self.compositions: dict[str, Composition] = {}
        """Of the requests of each session, if they are asked for."""
        self.ledger = Ledger()
        self.facts: dict[str, DialogFacts] = {}
        self.faults: list[tuple[str, str]] = []
        """Files that could not be read, or not completely."""
        self.files = self.passed_over = self.undated = 0

    def is_too_old(self, modified: float) -> bool:
        """Whether a file was last written before the time that is asked for."""
        return self.since is not None and modified < self.since.timestamp()

    def add(self, session: Session) -> None:
        self.facts.setdefault(session.name, session.facts)
        for answer in session.answers:
            if self.since is None or (answer.time is not None and answer.time >= self.since):
                self.ledger.add(session.name, session.facts.folder, answer)
            self.undated += self.since is not None and answer.time is None

    def add_file(self, name: str, sessions: list[Session], problems: list[Problem]) -> None:
        self.files += 1
        for session in sessions:
            self.add(session)
        if problems:
            first = f"{problems[0].place}: {problems[0].what}"
            self.faults.append((name, f"{counted(len(problems), 'part')} skipped; {first}"))

    def skip(self, name: str, problem: str) -> None:
        """A file of a folder that cannot be read."""
        self.faults.append((name, problem))


class Report:
    """The sums of an account, grouped."""

    def __init__(self, account: Account, prices: PriceList, by: str) -> None:
        self._account, self._prices, self._by = account, prices, by
        self._charges = list(account.ledger.charges(prices))
        self.total = total(self._charges)
        if by in PARTS:
            self.groups = group_parts(self._sessions(), PARTS[by])
        else:
            groups = group(self._charges, GROUPS[by])
            self.groups = dict(sorted(groups.items())) if by == "day" else groups

    def _sessions(self) -> list[tuple[list[Charge], Composition]]:
        """The answers of each session, and what it consists of with its sub-agents."""
        charges: dict[str, list[Charge]] = {}
        for charge in self._charges:
            charges.setdefault(charge.answer.session, []).append(charge)
        return [(answers, self._composition(name)) for name, answers in charges.items()]

    def _composition(self, name: str) -> Composition:
        whole = NOTHING
        for dialog, composition in self._account.compositions.items():
            is_own = dialog == name or dialog.startswith(f"{name}/")
            if is_own and (dialog == name or dialog not in self._account.facts):
                whole = whole.plus(composition)
        return whole

    def _results(self) -> list[tuple[Decimal, Result]]:
        """The most expensive results."""
        costs = (cost for session in self._sessions() for cost in result_costs(*session))
        return nlargest(MOST_RESULTS, costs, key=lambda cost: (cost[0], cost[1].tokens))

    def document(self) -> dict[str, Any]:
        """One JSON document. Keys are only ever added."""
        return {
            "total": bill_json(self.total),
            "billed": [
                {"kind": kind, "tokens": tokens, "dollars": float(dollars)}
                for kind, tokens, dollars in self._billed()
            ],
            "by": self._by,
            "groups": [self._group_json(name, bill) for name, bill in self.groups.items()],
            "is_estimate": self._by in PARTS,
            "results": [
                {
                    "tool": result.tool,
                    "call": result.label,
                    "dollars": float(dollars),
                    "tokens": round(result.tokens),
                    "requests": result.requests,
                }
                for dollars, result in self._results()
            ],
            "without_price": [
                {"model": model, **bill_json(bill)} for model, bill in self._unpriced().items()
            ],
            "sessions": len({charge.answer.session for charge in self._charges}),
            "files": self._account.files,
            "files_passed_over": self._account.passed_over,
            "copies": self._account.ledger.copies,
            "since": self._account.since and self._account.since.isoformat(),
            "prices": self._prices.source,
            "faults": [{"file": name, "problem": what} for name, what in self._account.faults],
        }

    def _group_json(self, name: str, bill: Bill) -> dict[str, Any]:
        facts = self._account.facts.get(name) if self._by == "session" else None
        about = {"title": facts.title, "project": facts.folder} if facts else {}
        return {"name": name, **about, **bill_json(bill)}

    def _billed(self) -> Iterator[tuple[str, int, Decimal]]:
        """What is billed: its tokens, also of models without a price, and its dollars. The tokens
        of a recorded cost stand with it."""
        dollars: Counter[str] = Counter()
        counts: Counter[str] = Counter()
        for answer, parts in self._charges:
            dollars.update(parts or {})
            if answer.usage.cost is None:
                counts.update({kind: tokens(answer.usage) for kind, tokens in TOKENS.items()})
            else:
                counts[RECORDED] += answer.usage.tokens
        for kind in (*TOKENS, RECORDED):
            if counts[kind] or dollars[kind]:
                yield kind, counts[kind], Decimal(dollars[kind])

    def _unpriced(self) -> dict[str, Bill]:
        unknown = (charge for charge in self._charges if charge.parts is None)
        return group(unknown, GROUPS["model"])

    # Text

    def put(self, top: int) -> None:
        if not self._charges:
            put("no answer with a recorded usage")
            return
        put(self._headline())
        put()
        self._put_billed()
        put()
        self._put_groups(top)
        self._put_results()
        for model, bill in self._unpriced().items():
            sent, answered = short(bill.usage.sent), short(bill.usage.answered)
            count = counted(bill.answers, "answer")
            put(f"no price: {model}, {count}, {sent} tokens sent, {answered} answered")

    def _headline(self) -> str:
        days = sorted({f"{c.answer.time:%Y-%m-%d}" for c in self._charges if c.answer.time})
        sessions = counted(len({c.answer.session for c in self._charges}), "session")
        span = f", {' to '.join(dict.fromkeys((days[0], days[-1])))}" if days else ""
        answers = counted(self.total.answers, "answer")
        return f"{money(self.total)} for {answers} of {sessions}{span}"

    def _put_billed(self) -> None:
        rows = list(self._billed())
        most = max((dollars for _, _, dollars in rows), default=Decimal(0))
        cells = [
            (kind, short(tokens), f"${dollars:,.2f}", bar(dollars, most))
            for kind, tokens, dollars in rows
        ]
        table((Column(), NUMBER, NUMBER, Column(CYAN)), [("BILLED", "TOKENS", "COST", ""), *cells])

    def _put_groups(self, top: int) -> None:
        names = list(self.groups)
        shown = names[-top:] if self._by == "day" else names[:top]
        most = max((self.groups[name].dollars or Decimal(0) for name in shown), default=Decimal(0))
        header = ("COST", "", "SENT", "CACHED", "ANSWERED", "ANSWERS", self._by.upper())
        columns = [NUMBER, Column(CYAN, rank=2), *[NUMBER._replace(rank=1)] * 4, Column()]
        rows = [header, *(self._cells(name, self.groups[name], most) for name in shown)]
        if self._by in PARTS:  # an answer is of many kinds
            del columns[5]
            rows = [(*row[:5], row[6]) for row in rows]
        table(columns, rows)
        rest = [self.groups[name] for name in names if name not in shown]
        if rest:
            left = Bill()
            for bill in rest:
                left = left.plus(bill)
            put(f"{money(left)} for {len(rest)} more, which --top or --json shows")

    def _put_results(self) -> None:
        rows = [
            (
                f"${dollars:,.2f}",
                short(round(result.tokens)),
                str(result.requests),
                f"{result.tool} {result.label}",
            )
            for dollars, result in self._results()
        ]
        if rows:
            put()
            header = ("COST", "TOKENS", "TIMES SENT", "MOST EXPENSIVE RESULTS")
            table((*(NUMBER,) * 3, Column()), [header, *rows])

    def _cells(self, name: str, bill: Bill, most: Decimal) -> tuple[str, ...]:
        usage = bill.usage
        cached = f"{usage.cached / usage.sent:.0%}" if usage.sent else ""
        return (
            money(bill),
            bar(bill.dollars or Decimal(0), most, BAR // 2),
            short(usage.sent),
            cached,
            short(usage.answered),
            str(bill.answers),
            self._label(name),
        )

    def _label(self, name: str) -> str:
        if self._by == "project" and len(name) > PATH:  # its end tells more
            return f"…{name[1 - PATH :]}"
        facts = self._account.facts.get(name) if self._by == "session" else None
        if not facts or not facts.title:
            return name
        short_name = name[:8] if len(name) > 30 else name
        return f"{short_name} {cut(facts.title, TITLE)}"

    def notes(self) -> Iterator[str]:
        """What a person must know to trust the sums, a line each."""
        account = self._account
        if self._by in PARTS:
            yield "the division by parts is an estimate: our token counts, scaled to the usage"
        if account.ledger.copies:
            copies = counted(account.ledger.copies, "answer")
            yield f"{copies} of one session stand in another one too: counted once"
        incomplete = sum(charge.has_no_input for charge in self._charges)
        if incomplete:
            answers = counted(incomplete, "answer")
            yield f"{answers} without recorded input: only the output is in the cost"
        if account.undated:
            yield f"{counted(account.undated, 'answer')} without a time left out by --since"
        for name, problem in account.faults[:MOST_NOTES]:
            yield f"{name}: {problem}"
        if len(account.faults) > MOST_NOTES:
            yield f"{len(account.faults) - MOST_NOTES} more files have problems; --json lists them"
        if account.passed_over:
            yield f"{counted(account.passed_over, 'file')} passed over: of no known format"
        if self._prices:
            yield f"prices: {self._prices.source}"
        else:
            yield f"no prices: {install_command('prices')}, or name a file with --prices"


def bill_json(bill: Bill) -> dict[str, Any]:
    usage = bill.usage
    return {
        "dollars": None if bill.dollars is None else float(bill.dollars),
        "answers": bill.answers,
        "answers_without_price": bill.unpriced,
        "input_tokens": usage.read,
        "cache_read_tokens": usage.cached,
        "cache_write_tokens": usage.written - usage.written_hour,
        "cache_write_1h_tokens": usage.written_hour,
        "output_tokens": usage.answered,
        "thinking_tokens": usage.thought,
        "searches": usage.searches,
    }


def money(bill: Bill) -> str:
    """`$1.23`, with a plus where a part is not known; `?` where nothing is."""
    if bill.dollars is None:
        return "?"
    return f"${bill.dollars:,.2f}" + ("+" if bill.unpriced else "")


def bar(value: Decimal, most: Decimal, width: int = BAR) -> str:
    """A share of the largest value, in blocks; a value that is not zero has one."""
    if not value or not most:
        return ""
    return "█" * max(1, round(value / most * width))
