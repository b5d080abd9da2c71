"""The facade for asynchronous code: the methods of `Tract`, awaited."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from contextvars import ContextVar, copy_context
from functools import partial, wraps
from itertools import islice
from typing import (
    Any,
    Concatenate,
    NamedTuple,
    ParamSpec,
    Self,
    TypeVar,
)
from weakref import WeakValueDictionary

from tract.core.fetching import FetchTool, async_fetch_tool
from tract.errors import ConflictError, HandlerError, InputError, TractError
from tract.llm import LLMClient
from tract.storage import Store
from tract.storage.objects import OBJECT_BYTES
from tract.threads import Gate, Start, call, in_event_loop, in_own_thread, in_worker
from tract.tokens import TokenCounter
from tract.tract import Tract
from tract.urls import opening

Args = ParamSpec("Args")
Result = TypeVar("Result")
Awaiting = Coroutine[Any, Any, Result]

PAGE = 100
"""Items that one call reads for an iterator."""
WAITING = 32
"""Calls on one database that wait for models, handlers or a server at the same time."""
CALLBACKS = ("on_text", "on_progress")


class Kind(NamedTuple):
    """What a call needs."""

    writes: bool = False
    """The turn of its dialog."""
    waits: bool = False
    """A thread of its own, because it may take minutes."""
    is_alone: bool = True
    """The connection for itself. A call that waits for a model takes it only now and then."""
    unless: tuple[str, ...] = ()
    """The arguments with which it writes nothing."""


READ = Kind()
WRITE = Kind(writes=True)
SCAN = Kind(waits=True)
ASK = Kind(writes=True, waits=True, is_alone=False, unless=("dry_run", "review"))


# From a method to one that is awaited


def _awaited(
    method: Callable[Concatenate[Tract, Args], Result], kind: Kind
) -> Callable[Concatenate[AsyncTract, Args], Awaiting[Result]]:
    """Return the same method for `AsyncTract`, with its signature and its docstring."""

    @wraps(method)
    async def run(self: AsyncTract, /, *args: Args.args, **options: Args.kwargs) -> Result:
        for name in CALLBACKS:
            if options.get(name) is not None:
                options[name] = in_event_loop(options[name])  # type: ignore[arg-type]
        writes = kind.writes and not any(map(options.get, kind.unless))
        action = partial(getattr(self.tract, method.__name__), *args, **options)
        return await self._run(action, kind._replace(writes=writes))

    return run


def _reads(
    method: Callable[Concatenate[Tract, Args], Result],
) -> Callable[Concatenate[AsyncTract, Args], Awaiting[Result]]:
    return _awaited(method, READ)


def _writes(
    method: Callable[Concatenate[Tract, Args], Result],
) -> Callable[Concatenate[AsyncTract, Args], Awaiting[Result]]:
    return _awaited(method, WRITE)


def _asks(
    method: Callable[Concatenate[Tract, Args], Result],
) -> Callable[Concatenate[AsyncTract, Args], Awaiting[Result]]:
    return _awaited(method, ASK)


def _scans(
    method: Callable[Concatenate[Tract, Args], Result],
) -> Callable[Concatenate[AsyncTract, Args], Awaiting[Result]]:
    return _awaited(method, SCAN)


def _iterates(
    method: Callable[Concatenate[Tract, Args], Iterator[Result]], kind: Kind = READ
) -> Callable[Concatenate[AsyncTract, Args], AsyncIterator[Result]]:
    """Return the same method as an asynchronous iterator."""

    @wraps(method)
    def iterate(
        self: AsyncTract, /, *args: Args.args, **options: Args.kwargs
    ) -> AsyncIterator[Result]:
        start = partial(getattr(self.tract, method.__name__), *args, **options)
        return _Pages(start, lambda read: self._run(read, kind))

    return iterate


class _Pages(AsyncIterator[Result]):
    """An iterator that is read page by page in a thread. Between pages it holds none."""

    def __init__(
        self, start: Callable[[], Iterator[Result]], run: Callable[[Callable[[], None]], Any]
    ) -> None:
        self._start, self._run = start, run
        self._source: Iterator[Result] | None = None
        self._items: deque[Result] = deque()
        self._end: Exception | None = None

    async def __anext__(self) -> Result:
        if not (self._items or self._end):
            await self._run(self._read)
        if self._items:
            return self._items.popleft()
        raise self._end or StopAsyncIteration

    def _read(self) -> None:
        """A call that is cancelled leaves what it has read to the next one, which may take it as
        soon as it is there: so it comes in one step, and the end after it."""
        page: list[Result] = []
        end: Exception | None = None
        try:
            self._source = self._source or self._start()
            page.extend(islice(self._source, PAGE))
            if len(page) < PAGE:
                end = StopAsyncIteration()
        except TractError as error:  # it comes after what was read before it
            end = error
        self._items.extend(page)
        self._end = end


# Who waits for whom


class _Turn:
    """A turn belongs to the task that began it, and to those that this one starts meanwhile."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self.is_open = True


class _Batch(_Turn):
    """A batch is the turn of a database, with a thread: only the thread that began a transaction
    may end it. Its calls come one after another, and a batch inside it is like one call."""

    def __init__(self, gate: Gate, thread: ThreadPoolExecutor) -> None:
        super().__init__(gate)
        self.thread = thread
        self.calls = Gate()


Hold = TypeVar("Hold", bound=_Turn)
_holds: ContextVar[tuple[_Turn, ...]] = ContextVar("holds", default=())


def _innermost(kind: type[Hold], gate: Gate) -> Hold | None:
    """Return what the running task has of a gate."""
    for hold in reversed(_holds.get()):
        if isinstance(hold, kind) and hold.gate is gate and hold.is_open:
            return hold
    return None


@contextmanager
def _holding(hold: _Turn) -> Iterator[None]:
    before = _holds.get()
    _holds.set((*before, hold))
    try:
        yield
    finally:
        hold.is_open = False
        _holds.set(before)


async def _enter(lane: Gate, batch: _Batch | None) -> Gate:
    """Wait for the calls before this one, on the database or in the batch."""
    gate = batch.calls if batch else lane
    await gate.enter()
    if batch and not batch.is_open:
        gate.leave()
        raise ConflictError("the batch has ended, and this call was not a part of it")
    return gate


class Writes(Gate):
    """Admits the writes to a dialog, or the turns."""

    is_in_turn = False


AnyGate = TypeVar("AnyGate", bound=Gate)
_gates: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()
_sharing = threading.Lock()


def _shared(kind: str, key: Hashable, make: Callable[[], AnyGate]) -> AnyGate:
    """Return the gate that all in this process share for this key."""
    with _sharing:
        gate: AnyGate = _gates.get((kind, key)) or make()
        _gates[kind, key] = gate
        return gate


class _Transaction:
    """A batch of a `Tract`; all of its methods are called in one thread."""

    def __init__(self, manager: AbstractContextManager[None]) -> None:
        self._manager = manager
        self._is_open = False

    def begin(self) -> None:
        self._manager.__enter__()
        self._is_open = True

    def commit(self) -> None:
        self._is_open = False
        self._manager.__exit__(None, None, None)

    def roll_back(self, error: BaseException) -> None:
        """Undo everything, unless it was committed or did not begin."""
        if self._is_open:
            self._is_open = False
            self._manager.__exit__(type(error), error, error.__traceback__)


class Opening:
    """What `AsyncTract.open` returns: await it, or use it in `async with`."""

    def __init__(self, start: Callable[[], Tract]) -> None:
        self._start = start
        self._opened: AsyncTract | None = None

    def __await__(self) -> Generator[Any, None, AsyncTract]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncTract:
        self._opened = await self
        return self._opened

    async def __aexit__(self, *error: object) -> None:
        if self._opened:
            await self._opened.close()

    async def _open(self) -> AsyncTract:
        opening = in_own_thread(partial(copy_context().run, self._start))
        try:
            return AsyncTract(await asyncio.wrap_future(opening))
        except BaseException:
            opening.cancel()
            opening.add_done_callback(_close)
            raise


def _close(opened: Future[Tract]) -> None:
    """Close a database that was opened for a task that is cancelled."""
    if not (opened.cancelled() or opened.exception()):
        opened.result().close()


class AsyncTract:
    """One dialog of a database for asynchronous code: `Tract` with `await` in front.

    The work is done in threads. The event loop is not blocked, and one call follows another on each
    database. A cancelled call is carried out or not, never in part, and the next call works.
    Iterators need `async for`; the batch and the turn need `async with`. `dialog`, `llm`,
    `handler_errors`, `store` and `tokens` are not awaited.
    """

    def __init__(self, tract: Tract) -> None:
        if isinstance(tract, str | os.PathLike):
            raise InputError(f"to open a database, use {opening('AsyncTract', tract)}")
        self.tract = tract
        """The dialog that is open: a `Tract`, or any object that has its methods."""
        try:
            store = tract.store
        except (AttributeError, TractError):
            store = None
        self._store = store if isinstance(store, Store) else None
        self._transactions: Any = store if hasattr(store, "depth") else None
        if self._store:
            database, lane = self._store.identity, self._store.lane
        else:
            database, lane = (getattr(tract, name, tract) for name in ("identity", "lane"))
        self._lane = _shared("lane", lane, Gate)
        self._writes = _shared("writes", (database, tract.dialog), Writes)
        self._waiting = _shared("waiting", database, partial(Gate, WAITING))

    def __repr__(self) -> str:
        return f"Async{self.tract!r}"

    @classmethod
    def open(
        cls,
        path_or_url: str | os.PathLike[str] = ":memory:",
        *,
        dialog: str = "default",
        llm: LLMClient | None = None,
        durability: str = "full",
        tokens: str | None = None,
        create: bool = True,
        objects: str | None = None,
        object_bytes: int = OBJECT_BYTES,
    ) -> Opening:
        """Open a dialog in memory, in a SQLite file (a path or `sqlite:///…`), or in PostgreSQL
        (`postgresql://…`).

        `durability="relaxed"` is faster, but a power cut or a crash of the PostgreSQL server may
        lose the last commits; a crash of this process does not. `tokens` names a token counter.
        With `create=False`, a missing database or dialog is an error. `llm` is the client that
        answers and summarizes.

        With `objects="s3://BUCKET/PREFIX"`, contents above `object_bytes` of JSON are stored in
        that object store, and everything else in the database.
        """
        options: dict[str, Any] = {"dialog": dialog, "llm": llm, "create": create}
        if str(path_or_url).startswith(("http://", "https://")):
            from tract.remote.tract import connect

            return Opening(partial(connect, str(path_or_url), **options))
        options |= {"durability": durability, "tokens": tokens}
        options |= {"objects": objects, "object_bytes": object_bytes}
        return Opening(partial(Tract.open, path_or_url, **options))

    async def sibling(self, dialog: str) -> AsyncTract:
        """Open another dialog of the same database, with the same model. It needs no `close()`."""
        return AsyncTract(await self._run(partial(self.tract.sibling, dialog), READ))

    close = _reads(Tract.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    @property
    def store(self) -> Store:
        """The database that holds the dialog."""
        return self.tract.store

    @property
    def tokens(self) -> TokenCounter:
        """The counter for the tokens of new commits."""
        return self.tract.tokens

    @property
    def dialog(self) -> str:
        """The name of the dialog."""
        return self.tract.dialog

    @property
    def llm(self) -> LLMClient | None:
        """The client that answers and summarizes; None without a model."""
        return self.tract.llm

    @llm.setter
    def llm(self, client: LLMClient | None) -> None:
        self.tract.llm = client

    @property
    def handler_errors(self) -> deque[HandlerError]:
        """The errors of handlers, newest last. The results are stored in any case."""
        return self.tract.handler_errors

    # One after another

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Have the dialog for this task alone, and for the tasks that it starts meanwhile: writes
        of others wait, also through other objects of this process. Reads do not wait.

        A turn inside a turn is the same turn. Whoever needs the turns of several dialogs should
        take them in the same order everywhere. Other processes are not kept out: `parent=` notices
        what they write.
        """
        if _innermost(_Turn, self._writes):
            yield
            return
        async with self._in_order():
            self._writes.is_in_turn = True
            try:
                with _holding(_Turn(self._writes)):
                    yield
            finally:
                self._writes.is_in_turn = False

    @asynccontextmanager
    async def _in_order(self) -> AsyncIterator[None]:
        """Wait for earlier writes to the dialog, unless they wait for this task."""
        if _innermost(_Turn, self._writes):
            yield
        elif not _innermost(_Batch, self._lane):
            async with self._writes:
                yield
        elif self._writes.is_in_turn:
            raise ConflictError(
                f"another task has the turn of dialog {self.dialog!r}: begin it before the batch"
            )
        else:
            yield

    @asynccontextmanager
    async def batch(self) -> AsyncIterator[None]:
        """Make several commits in one transaction: all of them, or none."""
        self._check_thread()
        async with self.turn():
            outer = _innermost(_Batch, self._lane)
            gate = await _enter(self._lane, outer)
            thread = outer.thread if outer else ThreadPoolExecutor(1, "tract-batch")
            hold = _Batch(self._lane, thread)
            batch = _Transaction(self.tract.batch())

            def release() -> None:
                if not outer:
                    thread.shutdown(wait=False)
                gate.leave()

            try:
                with _holding(hold):
                    await call(thread.submit, batch.begin)
                    yield
                    async with hold.calls:  # those of other tasks that have begun
                        hold.is_open = False
                        await call(thread.submit, batch.commit)
            except BaseException as error:
                # The thread does this after all that has begun, also if the task is cancelled.
                undone = thread.submit(batch.roll_back, error)
                undone.add_done_callback(lambda _: release())
                if isinstance(error, Exception):
                    await asyncio.shield(asyncio.wrap_future(undone))
                raise
            release()

    async def run(
        self, action: Callable[[], Result], *, writes: bool = True, waits: bool = False
    ) -> Result:
        """Run a function in a thread, in its place among the other calls: for methods of what tract
        returns, such as `approve` of a `PendingCompress`. Say with `writes=False` that it only
        reads, and with `waits=True` that it waits for a model."""
        return await self._run(action, Kind(writes, waits, is_alone=not waits))

    async def _run(self, action: Callable[[], Result], kind: Kind) -> Result:
        self._check_thread()
        if not kind.writes:
            return await self._admit(action, kind)
        async with self._in_order():
            return await self._admit(action, kind)

    async def _admit(self, action: Callable[[], Result], kind: Kind) -> Result:
        batch = _innermost(_Batch, self._lane)
        start: Start[Result] = batch.thread.submit if batch else self._start(kind)
        if not batch and (not kind.is_alone or (kind.writes and self._has_handler())):
            gate, start = self._waiting, in_own_thread
            await gate.enter()
        else:
            gate = await _enter(self._lane, batch)
        return await call(start, action, gate.leave)

    def _start(self, kind: Kind) -> Start[Any]:
        """Only work on a database of this process is work; everything else waits."""
        return in_own_thread if kind.waits or not self._store else in_worker

    def _has_handler(self) -> bool:
        """A handler may wait for a model."""
        return self._transactions is not None and self.tract.session.listener is not None

    def _check_thread(self) -> None:
        """Refuse a call inside a batch of this thread: another thread would wait forever."""
        transactions = self._transactions
        if transactions is not None and transactions.lock.acquire(blocking=False):
            try:
                if transactions.depth:
                    raise ConflictError("this cannot be done inside a batch")
            finally:
                transactions.lock.release()

    # Messages

    commit = _writes(Tract.commit)
    system = _writes(Tract.system)
    user = _writes(Tract.user)
    assistant = _writes(Tract.assistant)
    tool_result = _writes(Tract.tool_result)
    record = _writes(Tract.record)

    # Changes

    annotate = _writes(Tract.annotate)
    restore = _writes(Tract.restore)
    reshape = _writes(Tract.reshape)
    set_tools = _writes(Tract.set_tools)
    configure_results = _writes(Tract.configure_results)

    # The model

    chat = _asks(Tract.chat)
    generate = _asks(Tract.generate)
    answer = _writes(Tract.answer)
    token_factor = _reads(Tract.token_factor)

    # Handlers

    on = _reads(Tract.on)
    off = _reads(Tract.off)
    configure_tool_summarization = _writes(Tract.configure_tool_summarization)

    # Summaries

    summarize_tool_result = _asks(Tract.summarize_tool_result)
    compress = _asks(Tract.compress)
    compress_tool_calls = _asks(Tract.compress_tool_calls)

    # Reading

    @property
    def head(self) -> Awaiting[str | None]:
        """The hash of the newest commit; None if there is none."""
        return self._run(lambda: self.tract.head, READ)

    log = _iterates(Tract.log)
    get_commit = _reads(Tract.get_commit)
    get_message = _reads(Tract.get_message)
    get_content = _reads(Tract.get_content)
    edit_history = _reads(Tract.edit_history)
    compile = _reads(Tract.compile)
    stored = _reads(Tract.stored)
    read = _reads(Tract.read)
    read_on = _reads(Tract.read_on)
    search = _iterates(Tract.search, SCAN)

    # Results and tools

    def as_tool(self) -> FetchTool:
        """Return `get_tool_result` as a plain function, for code that makes tools of functions: its
        name, signature and docstring say what a model needs, and `.schema` is the definition. What
        is wrong with a call is returned as a text. The function of an `AsyncTract` is awaited."""
        return async_fetch_tool(self.get_tool_result)

    get_tool_result = _reads(Tract.get_tool_result)
    list_tool_results = _reads(Tract.list_tool_results)
    find_tool_results = _reads(Tract.find_tool_results)
    find_tool_calls = _reads(Tract.find_tool_calls)
    find_tool_turns = _reads(Tract.find_tool_turns)
    find_superseded = _reads(Tract.find_superseded)
    drop_failed_tool_turns = _writes(Tract.drop_failed_tool_turns)
    get_tools = _reads(Tract.get_tools)
    get_commit_tools = _reads(Tract.get_commit_tools)
    diff_tools = _reads(Tract.diff_tools)
    tool_history = _reads(Tract.tool_history)

    # Branches

    @property
    def current_branch(self) -> Awaiting[str | None]:
        """The branch that commits go to; None while HEAD is detached."""
        return self._run(lambda: self.tract.current_branch, READ)

    branches = _reads(Tract.branches)
    branch = _writes(Tract.branch)
    checkout = _writes(Tract.checkout)
    delete_branch = _writes(Tract.delete_branch)

    # The database

    dialogs = _reads(Tract.dialogs)
    usages = _iterates(Tract.usages)
    delete_dialog = _writes(Tract.delete_dialog)
    fsck = _scans(Tract.fsck)
    gc = _scans(Tract.gc)
    backup = _scans(Tract.backup)
    forget = _scans(Tract.forget)
