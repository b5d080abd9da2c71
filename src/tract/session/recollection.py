"""What was read of the histories that a client sends again and again, until the next one comes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable

from tract.core.alignment import Walk
from tract.providers.frameworks.growing_list import GrowingList, Wire, kept


class Recollection:
    """Nothing depends on it but how long it takes to record a history."""

    def __init__(self) -> None:
        self.client = GrowingList(kept)
        """The history as the client has it."""
        self.sent: defaultdict[Hashable, tuple[GrowingList, Walk]] = defaultdict(
            lambda: (GrowingList(_same), Walk())
        )
        """What each provider was sent, and how that was compared with the client's history."""


def _same(message: Wire) -> Wire:
    """What was sent is shared, so that it is compared by identity: no one changes it."""
    return message
