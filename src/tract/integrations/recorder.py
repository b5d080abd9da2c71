"""What goes over a connection to a provider, recorded in a dialog: each request before it is sent,
and the answer after its request."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from threading import Lock
from typing import Any, NamedTuple

from tract.core.alignment import Atom, atoms
from tract.core.drafts import NO_DETAILS
from tract.errors import InputError
from tract.integrations.failures import logged
from tract.integrations.mirror import shown_in
from tract.integrations.wire import PREVIOUS, Body, continues, history_of, reshaped
from tract.model import CommitInfo, CommitOperation, Head, Json, Message
from tract.providers import PROVIDERS
from tract.providers.frameworks.lists import LoadedList
from tract.providers.requests import Loaded, full_history, load
from tract.providers.streams import from_text, is_stream
from tract.session.branches import create_numbered
from tract.session.record import go_on, record_list
from tract.tract import Tract

_WAITING = 32
"""Requests without an answer that are remembered: one that comes again is a retry."""
_UNANSWERED = ("queued", "in_progress", "failed", "cancelled")
"""The statuses of a response of the Responses API that has no answer."""


class Position(NamedTuple):
    """Where a dialog is: changes to what is recorded already do not move it."""

    branch: str
    appended: int
    """How many messages were ever appended to the branch."""


@dataclass
class Exchange:
    """A request that is recorded, and its answer once it is."""

    provider: str
    body: Body
    """As the caller made it."""
    content: bytes
    """As it is sent."""
    position: Position
    head: Head | None
    """The commit with which the request ends; None if more is recorded after it."""
    answer: Answer | None = None


class Answer(NamedTuple):
    """What an answer says, to recognize it in the next request."""

    atoms: list[Atom]
    call_ids: list[str]

    @classmethod
    def of(cls, message: Message) -> Answer:
        return cls(atoms(message), [call.id for call in message.tool_calls])


class Recorder:
    """Records requests and answers in one dialog. Threads may share it."""

    def __init__(self, tract: Tract, *, is_shaping: bool = False) -> None:
        self.tract = tract
        self._is_shaping = is_shaping
        self._waiting: OrderedDict[bytes, Exchange] = OrderedDict()
        self._last: Exchange | None = None
        self._lock = Lock()

    def begin(self, content: bytes, provider: str) -> Exchange | None:
        """Record what is new in a request that is about to be sent. None if that fails; it is
        reported, and the request can be sent as it is."""
        with logged(self.tract, "record a request, which is sent as it is"):
            key = sha256(content).digest()
            known = self._retried(key)
            if known is not None:
                return known
            exchange = self._followed(json.loads(content), provider, content)
            if self._is_shaping:
                exchange.content = self._shaped(exchange)
            self._remember(key, exchange)
            return exchange
        return None

    def end(self, exchange: Exchange, text: Callable[[], str]) -> None:
        """Record the answer to a request. An answer that is not complete is left out; that is
        reported."""
        with logged(self.tract, "record an answer, which the caller has"):
            response = _response(text())
            self._forget(exchange)
            if exchange.head is None:  # then the answer says where it leaves what is recorded
                listed = _loaded(exchange.body, exchange.provider)
                record_list(self.tract.session, listed, response, is_request=True)
            else:
                self._append(exchange, exchange.head, response)

    def is_in_batch(self) -> bool:
        """Whether the calling thread is inside a batch: no other thread can write then."""
        session = self.tract.session
        if not session.lock.acquire(blocking=False):
            return False
        try:
            return session.store.depth > 0
        finally:
            session.lock.release()

    # Requests

    def _followed(self, body: Body, provider: str, content: bytes) -> Exchange:
        session = self.tract.session
        with session.batch():
            tail, is_end = self._tail(body, provider), True
            if tail is None:
                listed = _loaded(body, provider)
                new = record_list(session, listed, is_request=True)
                is_end = self._is_end(listed.loaded.messages, new)
            else:
                go_on(session, tail)
            head = session.head() if is_end else None
            exchange = Exchange(provider, body, content, self._position(), head)
        self._last = exchange if is_end else None
        return exchange

    def _is_end(self, messages: list[Message], new: list[CommitInfo]) -> bool:
        """Whether the branch ends with a request. If nothing of it was new, the request may also be
        the beginning of what is recorded: it then has fewer messages."""
        is_new = any(info.operation == CommitOperation.APPEND for info in new)
        return is_new or len(messages) >= self._position().appended

    def _tail(self, body: Body, provider: str) -> LoadedList | None:
        """What a request has after the last one and its answer; None where it does not continue
        those. It is then compared with all that is recorded."""
        last = self._last
        if last is None or last.provider != provider or last.position != self._position():
            return None
        before, items = history_of(last.body, provider), history_of(body, provider)
        if _frame(last.body, provider) != _frame(body, provider) or not continues(items, before):
            return None
        tools = None if body.get("tools") == last.body.get("tools") else body.get("tools")
        request = {PROVIDERS[provider].history: items[len(before) :], "tools": tools}
        loaded, details = _loaded(request, provider)
        if last.answer is None:
            return LoadedList(loaded, details)
        if not loaded.messages or Answer.of(loaded.messages[0]) != last.answer:
            return None
        return LoadedList(loaded._replace(messages=loaded.messages[1:]), details[1:])

    def _shaped(self, exchange: Exchange) -> bytes:
        """The request as the model should see it; the same bytes where nothing differs."""
        session = self.tract.session
        branch = exchange.position.branch
        with session.lock:
            shown = shown_in(self.tract, None if branch == session.branch else branch)
            if exchange.head is None:  # the context has more than the caller asks about
                shown = shown._replace(is_rewritten=False)
            body = reshaped(exchange.body, exchange.provider, shown)
        if body is exchange.body:
            return exchange.content
        return json.dumps(body, separators=(",", ":")).encode()

    def _retried(self, key: bytes) -> Exchange | None:
        """The exchange of a request that is sent again, if the dialog has not changed."""
        with self._lock:
            known = self._waiting.get(key)
        if known is None:
            return None
        session = self.tract.session
        with session.lock:
            heads = session.store.branches(session.dialog)
        return known if heads.get(known.position.branch) == known.head else None

    def _remember(self, key: bytes, exchange: Exchange) -> None:
        with self._lock:
            self._waiting[key] = exchange
            if len(self._waiting) > _WAITING:
                self._waiting.popitem(last=False)

    def _forget(self, exchange: Exchange) -> None:
        with self._lock:
            for key in [key for key, waiting in self._waiting.items() if waiting is exchange]:
                del self._waiting[key]

    # Answers

    def _append(self, exchange: Exchange, head: Head, response: Body) -> None:
        """Append an answer to the branch that ends with its request, or to a new one if that branch
        was continued."""
        session = self.tract.session
        message, details = _answer(exchange, response)
        with session.batch():
            if session.branch != exchange.position.branch:
                session.go_to(exchange.position.branch)
            if self._position() != exchange.position:
                create_numbered(session, head)
            session.commit(message, details)
            position = self._position()
        self._last = replace(exchange, position=position, answer=Answer.of(message))

    def _position(self) -> Position:
        session = self.tract.session
        return Position(session.branch, len(session.chain().appended_steps()))


def _loaded(body: Body, provider: str) -> LoadedList:
    if body.get("conversation") is not None:
        raise InputError("the provider has the beginning of this conversation")
    loaded = load(body, provider)
    return LoadedList(loaded, [NO_DETAILS] * len(loaded.messages))


def _frame(body: Body, provider: str) -> list[Json]:
    """What stands before the messages of a request."""
    return [body.get(key) for key in (*PROVIDERS[provider].system, PREVIOUS)]


def _answer(exchange: Exchange, response: Body) -> tuple[Message, Any]:
    """The message of a response, and what is recorded with it."""
    provider = exchange.provider
    config = load({**exchange.body, PROVIDERS[provider].history: []}, provider).config
    history = full_history(Loaded([], None, config, provider), response, None)
    return history.messages[-1], history.details


def _response(text: str) -> Body:
    """The response of a body, which may be a stream of events."""
    if is_stream(text):
        stream = from_text(text)
        if stream.is_cut or stream.response is None:
            raise InputError("the stream ends before the answer does")
        response: Json = stream.response
    else:
        response = json.loads(text)
    if not isinstance(response, dict) or response.get("status") in _UNANSWERED:
        raise InputError("the response has no answer")
    return response
