"""A history to be read place by place. Contents are loaded on demand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from tract.compiler import Compiler
from tract.core.chain import Place
from tract.core.forms import Sent, Shown, shown_items
from tract.model import Form, Head, Message, Step, Toolset
from tract.providers.server_tools import without_thoughts
from tract.storage import Store

WEIGHED = 32
"""Messages that are rendered together."""


class Snapshot:
    """A branch at one commit. It does not change when the branch does."""

    def __init__(self, store: Store, compiler: Compiler, head: Head, *, fetches: bool) -> None:
        """With `fetches`, the model can always fetch results."""
        self._store = store
        self._compiler = compiler
        self._fetches = fetches
        self.head = head
        self.chain = chain = compiler.chain(head)
        self.fetches = fetches or chain.is_lazy
        """Whether the model can fetch results, beside its own tools."""
        self.places: list[Place] = chain.places
        """The places of all messages and summaries."""
        self._shown = {item.place.origin.id: item for item in shown_items(self.places)}
        self._outdated = chain.outdated_answers()
        self._weights: dict[int, int] = {}
        self._rendered: dict[int, Sent] = {}

    @property
    def fetching_tokens(self) -> int:
        """What that costs in every request."""
        return self._compiler.fetching_tokens if self.fetches else 0

    def at(self, head: Head) -> Snapshot:
        """Return the history at a later commit. Do not use this snapshot afterwards."""
        return Snapshot(self._store, self._compiler, head, fetches=self._fetches)

    def is_current(self, head: Head) -> bool:
        """Whether this is the history at a commit, and nothing was erased since it was read."""
        return head == self.head and self._compiler.is_current(head)

    def item(self, place: Place) -> Shown | None:
        """Return how the model sees it; None if it is hidden, or collapsed into its call."""
        return self._shown.get(place.origin.id)

    def is_collapsed(self, place: Place) -> bool:
        """Whether a result is collapsed into the line of its call."""
        return place.origin.role == "tool" and self.item(place) is None and not place.is_hidden

    def whole(self, place: Place) -> Message:
        """Return the stored message, in its newest version."""
        with self._store.lock:
            return self._compiler.message(place.shown)

    def sent(self, place: Place) -> Sent | None:
        """Return what the model is sent; None for nothing."""
        item = self.item(place)
        if item is None:
            return None
        if not self._is_reshaped(item):
            return self._render([item])[place.origin.id]
        if place.origin.id not in self._rendered:
            self._weigh(place)
        return self._rendered[place.origin.id]

    def _render(self, items: Sequence[Shown]) -> dict[int, Sent]:
        with self._store.lock:
            rendered = self._compiler.render(items, self._outdated)
        return {
            item.place.origin.id: Sent(message, tokens, item.shape.form, item.is_left_out)
            for item, (message, tokens) in zip(items, rendered, strict=True)
        }

    def has_lost_thoughts(self, place: Place) -> bool:
        """Whether an answer is sent without its thoughts."""
        if place.origin.id not in self._outdated or self.item(place) is None:
            return False
        whole = self.whole(place)
        return without_thoughts(whole) is not whole

    def weight(self, place: Place) -> int:
        """Return how many tokens of it are sent. A message sent in full is not loaded for that."""
        item = self.item(place)
        if item is None:
            return 0
        if not self._is_reshaped(item):
            return place.shown.token_count
        if place.origin.id not in self._weights:
            self._weigh(place)
        return self._weights[place.origin.id]

    def _is_reshaped(self, item: Shown) -> bool:
        is_whole = item.shape.form == Form.FULL and not item.is_left_out
        return not is_whole or item.place.origin.id in self._outdated

    def _weigh(self, place: Place) -> None:
        """Render a message that is not sent in full, and those around it: one by one would take
        many times as long, and all at once too long for a first look. Their tokens are remembered,
        and what the last ones are sent as."""
        start = self._reshaped[place.origin.id] // WEIGHED * WEIGHED
        around = list(self._reshaped)[start : start + WEIGHED]
        self._rendered = self._render([self._shown[key] for key in around])
        self._weights |= {key: sent.tokens for key, sent in self._rendered.items()}

    @cached_property
    def _reshaped(self) -> dict[int, int]:
        """The messages that are not sent in full, numbered."""
        items = (item for item in self._shown.values() if self._is_reshaped(item))
        return {item.place.origin.id: number for number, item in enumerate(items)}

    @cached_property
    def failures(self) -> frozenset[int]:
        """The results that are flagged as errors, or report one."""
        return self.failures_among(self.places)

    def failures_among(self, places: Sequence[Place]) -> frozenset[int]:
        """The same of some results, without looking at the others."""
        results = [place for place in places if place.origin.role == "tool"]
        with self._store.lock:
            return frozenset(p.origin.id for p in self._compiler.failures(results))

    @cached_property
    def toolsets(self) -> list[tuple[Step, Toolset]]:
        """The toolsets in their order, each with the commit that put it in force."""
        changes = self.chain.toolset_changes()
        with self._store.lock:
            return [(step, self._store.toolset(digest)) for step, digest in changes]
