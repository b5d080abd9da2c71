"""What a conversation is made of: a branch of a database, or one of a transcript file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tract.core.chain import Chain, Place
from tract.core.forms import Sent, Shown
from tract.model import Message, Step, Toolset


class History(Protocol):
    """A branch at one commit, to be read place by place."""

    chain: Chain
    places: list[Place]
    """Where every message stands, and every summary."""
    fetches: bool
    """Whether the model is offered to ask for results."""

    @property
    def fetching_tokens(self) -> int:
        """What that costs in every request."""

    def item(self, place: Place) -> Shown | None:
        """How it is shown to the model; None where it is not sent."""

    def is_collapsed(self, place: Place) -> bool:
        """Whether the line of its call stands for a result."""

    def whole(self, place: Place) -> Message:
        """What is stored, in its newest version."""

    def sent(self, place: Place) -> Sent | None:
        """What the model is sent; None where that is nothing."""

    def weight(self, place: Place) -> int:
        """How many tokens of it are sent."""

    def has_lost_thoughts(self, place: Place) -> bool:
        """Whether an answer is sent without the thoughts that it came with."""

    @property
    def failures(self) -> frozenset[int]:
        """The places of the results that are flagged as errors, or report one."""

    def failures_among(self, places: Sequence[Place]) -> frozenset[int]:
        """The same of some results, without looking at the others."""

    @property
    def toolsets(self) -> Sequence[tuple[Step, Toolset]]:
        """The toolsets in their order, each with the step that put it in force."""
