"""Append what is new in a client's full history, on the branch that it continues."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from tract.context import CompiledContext
from tract.core.alignment import Alignment, Recorded, Walk, additions, align_any, is_known
from tract.core.drafts import NO_DETAILS, Details
from tract.core.entries import FullHistory
from tract.errors import InputError
from tract.model import EMPTY, CommitInfo, CommitOperation, Head, Json, Message
from tract.providers import PROVIDERS
from tract.providers.frameworks.growing_list import GrowingList
from tract.providers.frameworks.lists import LoadedList, load_any
from tract.providers.requests import Loaded, full_history
from tract.session.branches import create_numbered
from tract.session.commits import set_tools
from tract.session.session import Session

Sent = Callable[[Head], Iterator[tuple[FullHistory, Walk]]]
"""What a provider is sent of the history at a commit, as it comes back."""


class Again(NamedTuple):
    """A history of which the beginning is known."""

    known: int
    """How many messages were not read anew."""
    read: Callable[[], FullHistory]
    """Reads all of them. Two that compare equal may still differ in what is stored of them, such as
    the order of keys."""


def record(
    session: Session,
    messages: Sequence[Message | dict[str, Json]] | dict[str, Json],
    response: Any = None,
    metadata: dict[str, Json] | None = None,
) -> list[CommitInfo]:
    """See `Tract.record`."""
    listed, known = session.recollection.client.load(messages)
    again = Again(known, lambda: full_history(load_any(messages).loaded, response, metadata))
    is_request = isinstance(messages, dict)
    return record_list(session, listed, response, metadata, is_request=is_request, again=again)


def record_list(
    session: Session,
    listed: LoadedList,
    response: Any = None,
    metadata: dict[str, Json] | None = None,
    *,
    is_request: bool = False,
    again: Again | None = None,
) -> list[CommitInfo]:
    """The same for a history that was read already."""
    loaded, details = listed
    history = full_history(loaded, response, metadata)
    previous = loaded.config.get("previous_response_id")
    names = _providers(loaded, is_request=is_request)

    def sent(head: Head) -> Iterator[tuple[FullHistory, Walk]]:
        for inline in (False, True):
            context = session.compiler.compile(
                head, inline_tools=inline, fetches=session.settings.is_lazy, is_seen=False
            )
            if inline and not context.has_changed_tools:
                return
            for name in names:
                reader, walk = session.recollection.sent[name, inline, is_request]
                try:
                    request = _request(context, name, reader, is_request=is_request)
                except InputError:  # then it is not what came: that was readable
                    continue
                yield request, walk

    return record_history(session, history, previous, details, sent=sent, again=again)


def go_on(session: Session, listed: LoadedList) -> list[CommitInfo]:
    """Append messages, and set the tools that come with them. The caller knows that they continue
    what is recorded, so nothing is compared."""
    loaded, details = listed
    with session.batch():
        tools = None if loaded.tools is None else set_tools(session, loaded.tools)
        pairs = zip(loaded.messages, details, strict=True)
        new = [session.commit(message, own) for message, own in pairs]
        return [tools, *new] if tools else new


def _providers(loaded: Loaded, *, is_request: bool) -> list[str]:
    """The providers that may have been sent a history: the one whose format it has. Without a call,
    it may have that of another, too: a request of one that has the same key, a list of any."""
    if loaded.provider and any(m.tool_calls or m.role == "tool" for m in loaded.messages):
        return [loaded.provider]
    key = PROVIDERS[loaded.provider].history if loaded.provider else "messages"
    alike = [name for name, known in PROVIDERS.items() if not is_request or known.history == key]
    return sorted(alike, key=loaded.provider.__ne__)


def _request(
    context: CompiledContext, provider: str, reader: GrowingList, *, is_request: bool
) -> FullHistory:
    """What a provider is sent, read as the history of the caller is read."""
    request = context.to_params(provider) if is_request else context.to_messages(provider)
    if not is_request and isinstance(request, dict):
        request = request[PROVIDERS[provider].history]
    loaded = reader.load(request).listed.loaded
    return FullHistory(loaded.messages, loaded.tools)


def record_history(
    session: Session,
    history: FullHistory,
    previous: Json = None,
    details: Sequence[Details] = (),
    *,
    sent: Sent | None = None,
    again: Again | None = None,
) -> list[CommitInfo]:
    """Append what is new, on the branch that it continues. After the id of a previous response,
    everything is new: the provider keeps the rest. `details` are those of each message. Without
    `sent` it is a replay, in which a history that was continued since does not bring its tools
    back."""
    with session.batch():
        new = history.messages
        if previous is None:
            history, aligned = _align(session, history, sent, again)
            new = aligned.new
            if aligned.is_offered or (aligned.is_past and sent is None):
                history = history._replace(tools=None)
        else:
            session.lock_branch()
            _go_after(session, previous)
            history = again.read() if again else history
            new = history.messages
        items = additions(history, new, session.chain())
        known = iter(details[len(history.messages) - len(new) :])
        items = [item and (item[0], _details(item[1], next(known, NO_DETAILS))) for item in items]
        commits = [
            session.commit(*item) if item else set_tools(session, history.tools) for item in items
        ]
        return [info for info in commits if info]


def _details(own: Details, known: Details) -> Details:
    """Those of the response, or else those that the history has of a message."""
    return known if own is NO_DETAILS else own


def knows(session: Session, history: FullHistory) -> bool:
    """Whether a branch has the beginning of a history, beyond its system message."""
    with session.lock:
        return is_known(history, _branches(session))


def _branches(session: Session) -> Iterator[Recorded]:
    for name, head in session.store.branches(session.dialog).items():
        compiler = session.new_compiler()
        yield Recorded(name, compiler.chain(head), compiler)


def _align(
    session: Session, history: FullHistory, sent: Sent | None, again: Again | None
) -> tuple[FullHistory, Alignment]:
    """Find what is new. Check out the branch that has the rest, or a new one where it differs."""
    _, head = session.lock_branch()
    aligned = _align_at(session, head, history, sent)
    if again and len(aligned.new) > len(history.messages) - again.known:
        history = again.read()
        aligned = _align_at(session, head, history, sent)
    if aligned.branch:
        session.go_to(aligned.branch)
    elif aligned.differs_at:
        before = session.chain(head).before(aligned.differs_at)
        create_numbered(session, Head(before.id, before.hash) if before else EMPTY)
    return history, aligned


def _align_at(session: Session, head: Head, history: FullHistory, sent: Sent | None) -> Alignment:
    requests = sent(head) if sent else ()
    current = Recorded(session.branch, session.chain(head), session.compiler, requests)
    return align_any(history, current, _branches(session))


def _go_after(session: Session, response_id: Json) -> None:
    """Check out the branch that ends with this answer, or a new one that starts after it."""
    for name, head in session.store.branches(session.dialog).items():
        is_last = True
        for info in session.store.log(head.id):
            response = info.metadata.get("response")
            if isinstance(response, dict) and response.get("id") == response_id:
                session.go_to(name)
                if not is_last:
                    create_numbered(session, session.resolve(info))
                return
            is_last = is_last and info.operation != CommitOperation.APPEND
    raise InputError(f"no response {response_id!r:.80} is recorded in this dialog")
