"""Whoever looks on while a dialog is used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tract.llm import LLMClient
from tract.model import CommitInfo


class Observer(Protocol):
    """Looks on while a dialog is used. It changes nothing, and it must not raise: what it looks at
    is done already."""

    def watched(self, client: LLMClient) -> LLMClient:
        """Return the client that is asked instead of this one, and asks it."""

    def committed(self, commits: Sequence[CommitInfo]) -> None:
        """Look at new commits. It is called after the outermost batch has committed."""
