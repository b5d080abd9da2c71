"""Server-sent events: what is new on the branches of dialogs, whoever wrote it.

The database is looked at while someone listens. That also notices what other processes write.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from itertools import islice, takewhile
from typing import NamedTuple

from tract.errors import TractError
from tract.model import EMPTY, CommitInfo, Head
from tract.remote import wire
from tract.storage import Store
from tract.web.lanes import Lane

PAUSE = 0.5
"""Seconds between two looks at the database."""
HEARTBEAT = 15.0
"""Seconds after which a comment is sent if nothing is new, so that a dead connection is noticed."""
MOST = 500
"""Commits of a branch that are sent at once; the newest ones."""
WAITING = 1000
"""Events that may wait for a slow reader. Then its stream ends, and it has to begin again."""

Covers = Callable[[str], bool]
"""Whether a listener is sent the events of a dialog."""


class News(NamedTuple):
    """A commit that is new on a branch."""

    dialog: str
    branch: str
    commit: CommitInfo

    def event(self) -> bytes:
        fields = {"dialog": self.dialog, "branch": self.branch, "commit": self.commit}
        return event("commit", wire.encode_result(fields).decode("ascii"), self.commit.commit_hash)


class Watch:
    """Looks for new commits while there are listeners. For the event loop."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self._listeners: dict[asyncio.Queue[News | None], Covers] = {}
        self._task: asyncio.Task[None] | None = None

    async def listen(
        self, covers: Covers, first: list[News], is_welcome: Callable[[], Awaitable[bool]]
    ) -> AsyncIterator[bytes]:
        """The events of a listener: first these, then what is new, for as long as it is welcome."""
        queue: asyncio.Queue[News | None] = asyncio.Queue(WAITING)
        await self._start()
        self._listeners[queue] = covers
        try:
            yield b": listening\n\n"
            for news in first:
                yield news.event()
            async for piece in _events(queue, is_welcome):
                yield piece
        finally:
            del self._listeners[queue]

    async def _start(self) -> None:
        """Begin to look; what is there now is not new."""
        if self._task is None or self._task.done():
            glance = Glance()
            await self._lane.run(lambda: glance.look(self._lane.store))
            self._task = asyncio.create_task(self._look(glance))

    async def _look(self, glance: Glance) -> None:
        while True:
            await asyncio.sleep(PAUSE)
            if not self._listeners:
                return
            with suppress(TractError):  # the next look may succeed, and misses nothing
                for news in await self._lane.run(lambda: glance.look(self._lane.store)):
                    self._tell(news)

    def _tell(self, news: News) -> None:
        for queue, covers in list(self._listeners.items()):
            if not covers(news.dialog):
                continue
            try:
                queue.put_nowait(news)
            except asyncio.QueueFull:
                self._listeners.pop(queue)
                while not queue.empty():
                    queue.get_nowait()
                queue.put_nowait(None)

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
        for queue in self._listeners:
            with suppress(asyncio.QueueFull):
                queue.put_nowait(None)


async def _events(
    queue: asyncio.Queue[News | None], is_welcome: Callable[[], Awaitable[bool]]
) -> AsyncIterator[bytes]:
    while True:
        try:
            news = await asyncio.wait_for(queue.get(), HEARTBEAT)
        except TimeoutError:
            if not await is_welcome():
                return
            yield b": nothing new\n\n"
            continue
        if news is None:
            yield event("end", '"too slow, or the server stops: begin again"')
            return
        yield news.event()


class Glance:
    """The heads of all branches at one moment."""

    def __init__(self) -> None:
        self._heads: dict[tuple[str, str], Head] | None = None

    def look(self, store: Store) -> list[News]:
        """What is new since the last look; nothing the first time."""
        heads, before = store.heads(), self._heads
        self._heads = heads
        if before is None:
            return []
        changed = [key for key, head in heads.items() if before.get(key, EMPTY) != head]
        return [news for key in changed for news in self._news(store, key, before, heads[key])]

    def _news(
        self, store: Store, key: tuple[str, str], before: dict[tuple[str, str], Head], head: Head
    ) -> list[News]:
        """The commits of a branch after its old head. A new branch has those after the newest that
        its dialog had: the others are not new."""
        dialog, branch = key
        old = before.get(key)
        if old is not None:
            stop = {_hex(old)}
        else:
            others = [other for (name, _), other in before.items() if name == dialog]
            if (head.id or 0) <= max((other.id or 0 for other in others), default=0):
                return []
            stop = set(map(_hex, others))
        return [News(dialog, branch, info) for info in commits_after(store, head, stop)]


def commits_after(store: Store, head: Head, stop: set[str]) -> list[CommitInfo]:
    """The commits up to a head that follow any of these, oldest first."""
    new = takewhile(lambda info: info.commit_hash not in stop, store.log(head.id))
    return list(islice(new, MOST))[::-1]


def _hex(head: Head) -> str:
    return head.hash.hex() if head.hash else ""


def event(kind: str, data: str, name: str | None = None) -> bytes:
    """One event of the protocol. The data is JSON in ASCII, which has no line breaks."""
    first = "" if name is None else f"id: {name}\n"
    return f"{first}event: {kind}\ndata: {data}\n\n".encode("ascii")
