"""Which call a result answers: the nearest one with its id that has no answer yet.

Ids cannot be trusted to be unique. Some agents use the same id in every turn, some use none.
"""

from __future__ import annotations

from typing import Generic, TypeVar

Owner = TypeVar("Owner")


class OpenCalls(Generic[Owner]):
    """Calls that wait for an answer, by id. An owner is whoever made the call."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[Owner]] = {}

    def ask(self, call_id: str, owner: Owner) -> None:
        self._waiting.setdefault(call_id, []).append(owner)

    def waiting(self, call_id: str) -> Owner | None:
        """The newest owner that waits for this id."""
        waiting = self._waiting.get(call_id)
        return waiting[-1] if waiting else None

    def answer(self, call_id: str) -> Owner | None:
        """The newest owner that waits for this id, now answered; None for a stray result."""
        waiting = self._waiting.get(call_id)
        if not waiting:
            return None
        owner = waiting.pop()
        if not waiting:
            del self._waiting[call_id]
        return owner
