"""A history to be read place by place. Nothing of it is loaded before somebody looks."""

from __future__ import annotations

from functools import cached_property

from tract.compiler import Compiler
from tract.core.chain import Place
from tract.core.forms import Sent, Shown, shown_items
from tract.model import Form, Head, Message, Step, Toolset
from tract.providers.server_tools import without_thoughts
from tract.storage import Store


class Snapshot:
    """A branch at one commit. It stays as it is while the branch goes on."""

    def __init__(self, store: Store, history: Compiler, head: Head, *, fetches: bool) -> None:
        """With `fetches` the model is always offered to ask for results."""
        self._store = store
        self._compiler = history
        self._fetches = fetches
        self.head = head
        self.chain = chain = history.chain(head)
        self.fetches = fetches or chain.is_lazy
        """Whether the model is offered to ask for results, beside its own tools."""
        self.places: list[Place] = chain.places
        """Where every message stands, and every summary."""
        self._shown = {item.place.origin.id: item for item in shown_items(self.places)}
        self._outdated = chain.outdated_answers()

    def at(self, head: Head) -> Snapshot:
        """The history at a later commit. This one must not be looked at any more."""
        return Snapshot(self._store, self._compiler, head, fetches=self._fetches)

    def item(self, place: Place) -> Shown | None:
        """How it is shown to the model; None where nothing of it is, or its call stands for it."""
        return self._shown.get(place.origin.id)

    def is_collapsed(self, place: Place) -> bool:
        """Whether the line of its call stands for a result."""
        return place.origin.role == "tool" and self.item(place) is None and not place.is_hidden

    def whole(self, place: Place) -> Message:
        """What is kept, in its newest version."""
        with self._store.lock:
            return self._compiler.message(place.shown)

    def sent(self, place: Place) -> Sent | None:
        """What the model is sent; None where that is nothing."""
        item = self.item(place)
        if item is None:
            return None
        is_outdated = place.origin.id in self._outdated
        with self._store.lock:
            message, tokens = self._compiler.sent(item, thoughtless=is_outdated)
        return Sent(message, tokens, item.shape.form, item.is_left_out)

    def has_lost_thoughts(self, place: Place) -> bool:
        """Whether an answer is sent without thoughts that it came with."""
        if place.origin.id not in self._outdated or self.item(place) is None:
            return False
        whole = self.whole(place)
        return without_thoughts(whole) is not whole

    def weight(self, place: Place) -> int:
        """How many tokens of it are sent. What is sent whole need not be loaded for that."""
        item = self.item(place)
        if item is None:
            return 0
        whole = place.shown.token_count
        return self._reshaped[place.origin.id] if self._is_reshaped(item) else whole

    def _is_reshaped(self, item: Shown) -> bool:
        is_whole = item.shape.form == Form.FULL and not item.is_left_out
        return not is_whole or item.place.origin.id in self._outdated

    @cached_property
    def _reshaped(self) -> dict[int, int]:
        """The tokens of all that is not sent whole, counted in one go."""
        items = [item for item in self._shown.values() if self._is_reshaped(item)]
        with self._store.lock:
            counts = self._compiler.weights(items, self._outdated)
        return {item.place.origin.id: n for item, n in zip(items, counts, strict=True)}

    @cached_property
    def failures(self) -> frozenset[int]:
        """The places of the results that were flagged as errors, or tell of one."""
        results = [place for place in self.places if place.origin.role == "tool"]
        with self._store.lock:
            return frozenset(p.origin.id for p in self._compiler.failed(results))

    @cached_property
    def toolsets(self) -> list[tuple[Step, Toolset]]:
        """The sets of tools in their order, each with the commit that put it in force."""
        changes = self.chain.toolset_changes()
        with self._store.lock:
            return [(step, self._store.toolset(digest)) for step, digest in changes]
