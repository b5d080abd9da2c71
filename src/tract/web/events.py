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
"""Commits of a branch that are sent at once: the newest ones, and the first of them says so."""
WAITING = 1000
"""Events that may wait for a slow reader. Then its stream ends, and it has to begin again."""

Covers = Callable[[str], bool]
"""Whether a listener is sent the events of a dialog."""


class News(NamedTuple):
    """A commit that is new on a branch."""

    dialog: str
    branch: str
    commit: CommitInfo
    is_after_gap: bool = False
    """Whether there are older new commits, which are not sent."""

    def event(self) -> bytes:
        fields = {"dialog": self.dialog, "branch": self.branch, "commit": self.commit}
        if self.is_after_gap:
            fields["skipped"] = True
        return event("commit", wire.encode_result(fields).decode("ascii"), self.commit.commit_hash)


class Deleted(NamedTuple):
    """A dialog that is gone."""

    dialog: str

    def event(self) -> bytes:
        return event("deleted", wire.encode_result({"dialog": self.dialog}).decode("ascii"))


Inbox = asyncio.Queue[News | Deleted | None]
"""What waits for a listener; None for the end."""


class Watch:
    """Looks for new commits while there are listeners. For the event loop."""

    def __init__(self, lane: Lane, waiting: int = WAITING) -> None:
        self._lane = lane
        self._waiting = waiting
        self._listeners: dict[Inbox, Covers] = {}
        self._task: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._is_closed = False

    async def join(self, covers: Covers) -> Inbox:
        """A new listener. Whatever is written from here on comes to it."""
        inbox: Inbox = asyncio.Queue(self._waiting)
        self._listeners[inbox] = covers
        try:
            await self._start()
        except BaseException:
            self.leave(inbox)
            raise
        if self._is_closed:
            self._end(inbox)
        return inbox

    def leave(self, inbox: Inbox) -> None:
        self._listeners.pop(inbox, None)

    async def listen(
        self, inbox: Inbox, first: list[News], is_welcome: Callable[[], Awaitable[bool]]
    ) -> AsyncIterator[bytes]:
        """The events of a listener: first these, then what is new, for as long as it is welcome."""
        sent = {news.commit.commit_hash for news in first}
        try:
            yield b": listening\n\n"
            for news in first:
                yield news.event()
            async for piece in _events(inbox, sent, is_welcome):
                yield piece
        finally:
            self.leave(inbox)

    async def _start(self) -> None:
        """Begin to look; what is there now is not new."""
        async with self._starting:  # of two at once, one begins
            if self._task is None or self._task.done():
                glance = Glance()
                await self._lane.run(lambda: glance.look(self._lane.store))
                self._task = asyncio.create_task(self._look(glance))

    async def _look(self, glance: Glance) -> None:
        while True:
            await asyncio.sleep(PAUSE)
            if not self._listeners:
                return
            with suppress(TractError):  # the next look begins where this one did
                for news in await self._lane.run(lambda: glance.look(self._lane.store)):
                    self._tell(news)

    def _tell(self, news: News | Deleted) -> None:
        for inbox, covers in list(self._listeners.items()):
            if covers(news.dialog):
                try:
                    inbox.put_nowait(news)
                except asyncio.QueueFull:
                    self._end(inbox)

    def _end(self, inbox: Inbox) -> None:
        """Have a listener end, without what waits for it."""
        self.leave(inbox)
        while not inbox.empty():
            inbox.get_nowait()
        inbox.put_nowait(None)

    def close(self) -> None:
        """End all listeners."""
        self._is_closed = True
        if self._task is not None:
            self._task.cancel()
        for inbox in list(self._listeners):
            self._end(inbox)


async def _events(
    inbox: Inbox, sent: set[str], is_welcome: Callable[[], Awaitable[bool]]
) -> AsyncIterator[bytes]:
    while True:
        is_idle = False
        try:
            news = await asyncio.wait_for(inbox.get(), HEARTBEAT)
        except TimeoutError:
            is_idle, news = True, None
        if not is_idle and news is None:
            yield event("end", '"too slow, or the server stops: begin again"')
            return
        if not await is_welcome():
            yield event("end", '"the token is not accepted: begin again"')
            return
        if news is None:
            yield b": nothing new\n\n"
        elif isinstance(news, Deleted) or news.commit.commit_hash not in sent:
            yield news.event()


class Glance:
    """The heads of all branches at one moment."""

    def __init__(self) -> None:
        self._heads: dict[tuple[str, str], Head] | None = None

    def look(self, store: Store) -> list[News | Deleted]:
        """What has happened since the last look; nothing the first time."""
        heads, before = store.heads(), self._heads
        if before is None:
            self._heads = heads
            return []
        changed = [key for key, head in heads.items() if before.get(key, EMPTY) != head]
        news = [news for key in changed for news in self._news(store, key, before, heads[key])]
        gone = sorted({dialog for dialog, _ in before} - {dialog for dialog, _ in heads})
        self._heads = heads
        return [*news, *map(Deleted, gone)]

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
        return news_after(store, dialog, branch, head, stop)


def news_after(store: Store, dialog: str, branch: str, head: Head, stop: set[str]) -> list[News]:
    """The commits up to a head that follow any of these, oldest first."""
    new = takewhile(lambda info: info.commit_hash not in stop, store.log(head.id))
    infos = list(islice(new, MOST + 1))
    news = [News(dialog, branch, info) for info in infos[:MOST][::-1]]
    if len(infos) > MOST:
        news[0] = news[0]._replace(is_after_gap=True)
    return news


def _hex(head: Head) -> str:
    return head.hash.hex() if head.hash else ""


def event(kind: str, data: str, name: str | None = None) -> bytes:
    """One event of the protocol. The data is JSON in ASCII, which has no line breaks."""
    first = "" if name is None else f"id: {name}\n"
    return f"{first}event: {kind}\ndata: {data}\n\n".encode("ascii")
