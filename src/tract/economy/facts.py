"""What is known about a dialog besides its messages: its source, and what its answers cost."""

from __future__ import annotations

from collections.abc import Sequence

from tract.economy.accounting import bill, bill_text
from tract.economy.prices import PriceList
from tract.model import AnswerUsage, DialogFacts
from tract.view.facts import Facts
from tract.view.numbers import short


def known_facts(
    dialog: str,
    branch: str,
    facts: DialogFacts,
    answers: Sequence[AnswerUsage],
    prices: PriceList,
) -> Facts:
    """What the source of a dialog says about it, and what its answers cost."""
    total = bill(answers, prices)
    usage = total.usage
    recorded = f"${facts.cost:,.2f}" if facts.cost else ""
    return Facts(
        dialog=dialog,
        branch=branch,
        title=facts.title or "",
        folder=facts.folder or "",
        parent=facts.parent or "",
        started=facts.started,
        ended=facts.ended,
        models=(facts.model,) if facts.model else (),
        tokens=f"{short(usage.sent)} → {short(usage.answered)}" if usage.tokens else "",
        cost=bill_text(total) if total.dollars else recorded,
    )
