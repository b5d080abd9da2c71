"""Short results that were sent before, kept in memory.

What a dialog has under an id depends on its newest commit alone, until something is erased. So of a
dialog only that is read, in the event loop: on SQLite it takes less time than to wake a lane.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from typing import NamedTuple

from starlette.responses import Response

from tract.errors import TractError
from tract.model import Head
from tract.storage import Store
from tract.web.lanes import OpenStore, Position
from tract.web.methods import Request
from tract.web.results import CONDITIONS, Answer, Located, respond

KEPT_BYTES = 16 * 1024 * 1024
LARGEST = 64 * 1024


class At(NamedTuple):
    """What an answer depends on, apart from the request."""

    head: bytes | None
    erasures: int


class Kept(NamedTuple):
    """An answer, and the response to a request for all of it."""

    answer: Located
    whole: Response

    def response(self, headers: Mapping[str, str]) -> Response:
        is_plain = CONDITIONS.isdisjoint(headers)
        return self.whole if is_plain else respond(self.answer, headers)


class Answers:
    """Answers by their requests, those that were asked for last."""

    def __init__(self, open_store: OpenStore | None) -> None:
        """Without a database that can be read at once, nothing is kept."""
        self._open_store = open_store
        self._store: Store | None = None
        self._kept: OrderedDict[tuple[object, ...], Kept] = OrderedDict()
        self._size = 0
        self._stamp: object = None
        self._is_fresh = False
        self._stands: dict[tuple[str, str | None], At | None] = {}  # in this version

    def open(self) -> None:
        """Takes a moment: runs on a lane."""
        if self._open_store is not None:
            self._store = self._open_store()
            self._store.driver.busy_seconds = 0  # the event loop must not wait for a lock

    def close(self) -> None:
        if self._store is not None:
            self._store.close()

    def find(self, request: Request, position: Position) -> Kept | None:
        """The answer, if it is kept. Whatever is wrong is for the lane to say."""
        if self._store is None or position.commit is not None:
            return None
        try:
            at = self._at(self._store, request.dialog, position.branch)
        except TractError:
            return None
        key = _key(request, at)
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
        return kept

    def _at(self, store: Store, dialog: str, branch: str | None) -> At | None:
        """Where a dialog stands; None if that cannot be read at once."""
        self._look(store)
        if (dialog, branch) not in self._stands:
            head = _head(store, dialog, branch)
            self._stands[dialog, branch] = head and At(head.hash, store.erasures)
        return self._stands[dialog, branch]

    def _look(self, store: Store) -> None:
        """Notice what others have written. Requests that have come already share one look: the
        event loop calls them before what is called soon."""
        if self._is_fresh:
            return
        stamp = store.driver.stamp()
        if stamp != self._stamp:
            self._stamp, self._stands = stamp, {}
        self._is_fresh = True
        asyncio.get_running_loop().call_soon(self._let_stale)

    def _let_stale(self) -> None:
        self._is_fresh = False

    def keep(self, request: Request, at: At, answer: Answer) -> None:
        """Keep an answer that a lane has found."""
        if self._store is None or not isinstance(answer, Located) or answer.size > LARGEST:
            return
        key = _key(request, at)
        if key not in self._kept:
            self._kept[key] = Kept(answer, respond(answer, {}))
            self._size += answer.size
        while self._size > KEPT_BYTES:
            self._size -= self._kept.popitem(last=False)[1].answer.size


def _head(store: Store, dialog: str, branch: str | None) -> Head | None:
    """The newest commit of a branch, by default of the one that is checked out."""
    if branch is not None:
        stand = store.branch(dialog, branch)
    else:
        *_, stand = store.checked_out(dialog) or (None,)
    return stand and stand.head


def _key(request: Request, at: At | None) -> tuple[object, ...]:
    return (at, request.dialog, request.values["id"], *request.fields.items())
