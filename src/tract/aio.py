"""Results of a dialog for asynchronous code, and older dialogs with their results as references."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar
from weakref import WeakKeyDictionary

import msgspec
from msgspec.structs import replace

from tract.content.preview import gist_of
from tract.core.chain import Place
from tract.core.forms import ResultSettings, forms, is_fixed, settings
from tract.core.turns import results_of
from tract.core.wording import preview_of, reference_tokens
from tract.errors import ConflictError, InputError, ResultNotFoundError, StorageError
from tract.model import CommitInfo, Form, Gist, Json, Shape, Step, ToolCall
from tract.providers.call_ids import find_result
from tract.providers.frameworks import STORAGE_TYPE, is_reference, load_dump
from tract.session import Session
from tract.session.session import check_name
from tract.tract import Tract

if TYPE_CHECKING:
    import asyncio

Result = TypeVar("Result")
Progress = Callable[[int, int], None]
"""Told how many results are done, of how many."""

INLINE_TOKENS = 2_000
"""What a result may have to stay as it is, where nobody says otherwise: about 8 KB."""
BATCH = 500
ENVELOPE_BYTES = 64_000
"""No reference is larger, so that nothing larger is read to see whether it is one."""


class ToolResultMetadata(msgspec.Struct, frozen=True):
    """What is known of a result without reading it."""

    tool_call_id: str
    """What it is asked for by: the id, or `id#2` for the second result with that id."""
    tool_name: str
    status: str
    size_bytes: int
    token_count: int
    summary: str
    truncated_preview: str
    form: Form | None
    """What the model sees of it; None where it is left out of the view."""
    timestamp: datetime | None
    """When it came, as it was said; else when it was stored."""
    dialog_id: str
    commit_hash: str


class ToolResultReference(msgspec.Struct, frozen=True):
    """What stands for a stored result in a message."""

    tool_call_id: str
    tool_name: str
    status: str
    size_bytes: int
    summary: str
    truncated_preview: str
    dialog_id: str

    def to_dict(self) -> dict[str, Json]:
        """The reference as JSON, to be put where the result would be."""
        return {
            "tool_call_id": self.tool_call_id,
            "tool_name": self.tool_name,
            "status": self.status,
            "metadata": {
                "size_bytes": self.size_bytes,
                "summary": self.summary,
                "truncated_preview": self.truncated_preview,
            },
            "result_ref": {
                "storage_type": STORAGE_TYPE,
                "dialog_id": self.dialog_id,
                "tool_call_id": self.tool_call_id,
            },
        }


class ToolResultsStorage:
    """The results of one dialog. Many tasks may share it; all work is done in a thread, so that
    the event loop goes on.

    It is opened when it is first used. A `Tract` that was given stays open when this is closed.
    A call that is cancelled may still be carried out.
    """

    def __init__(self, path_or_store: str | os.PathLike[str] | Tract, dialog_id: str) -> None:
        check_name("dialog", dialog_id)
        self.dialog_id = dialog_id
        self._source = path_or_store
        self._tract: Tract | None = None
        self._is_closed = False
        self._opening = threading.Lock()
        self._turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = (
            WeakKeyDictionary()
        )

    async def store_result(
        self,
        tool_call_id: str,
        tool_name: str,
        args: Json,
        result: Json,
        timestamp: datetime | None = None,
        *,
        is_error: bool = False,
    ) -> ToolResultReference:
        """Keep a result whole and show it as a reference. Its call is recorded too, unless the
        dialog has one with this id that waits for a result."""
        call = ToolCall(tool_call_id, tool_name, args)
        metadata = None if timestamp is None else {"timestamp": _as_text(timestamp)}
        return await self._run(lambda tract: _store(tract, call, result, metadata, is_error))

    async def get_result(self, tool_call_id: str) -> Json:
        """The result exactly as it was stored, or as it was edited since; None for an unknown
        id."""
        return await self._run(lambda tract: _content(tract, tool_call_id))

    async def get_metadata(self, tool_call_id: str) -> ToolResultMetadata | None:
        """What is known of a result; None for an unknown id. The result is not read."""
        return await self._run(lambda tract: _metadata(tract, tool_call_id))

    async def list_results(self) -> list[ToolResultMetadata]:
        """What is known of all results, oldest first. None of them is read."""
        return await self._run(list_results)

    async def close(self) -> None:
        """Close what was opened. Nothing can be asked for afterwards."""
        import asyncio

        async with self._turn():
            await asyncio.to_thread(self._close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _run(self, action: Callable[[Tract], Result]) -> Result:
        import asyncio

        self._check_batch()
        async with self._turn():
            return await asyncio.to_thread(lambda: action(self._opened()))

    def _turn(self) -> asyncio.Lock:
        """One call at a time: there is one connection, and threads that wait for it would be
        missing elsewhere. A lock belongs to one event loop."""
        import asyncio

        return self._turns.setdefault(asyncio.get_running_loop(), asyncio.Lock())

    def _check_batch(self) -> None:
        """A batch of this thread has the connection; another thread would wait for it forever."""
        if not isinstance(self._source, Tract):
            return
        driver = self._source.session.store.driver
        if driver.lock.acquire(blocking=False):
            try:
                if driver.depth:
                    raise ConflictError("this cannot be done inside a batch")
            finally:
                driver.lock.release()

    def _opened(self) -> Tract:
        with self._opening:
            if self._is_closed:
                raise StorageError("this storage was closed")
            if self._tract is None:
                self._tract = _open(self._source, self.dialog_id)
            return self._tract

    def _close(self) -> None:
        with self._opening:
            self._is_closed = True
            if self._tract is not None and not isinstance(self._source, Tract):
                self._tract.close()


def _open(source: str | os.PathLike[str] | Tract, dialog: str) -> Tract:
    if not isinstance(source, Tract):
        return Tract.open(source, dialog=dialog)
    return source if source.dialog == dialog else source.sibling(dialog)


def _as_text(timestamp: object) -> str:
    if not isinstance(timestamp, datetime):
        raise InputError(f"a timestamp is a datetime, not {type(timestamp).__name__}")
    return timestamp.isoformat()


# One result


def _store(
    tract: Tract, call: ToolCall, result: Json, metadata: dict[str, Json] | None, is_error: bool
) -> ToolResultReference:
    session = tract.session
    with tract.batch():
        _, head = session.lock_branch()
        if session.chain(head).tool_name(call.id) is None:
            tract.assistant(tool_calls=[call])
        info = tract.tool_result(
            call.id, call.name, result, is_error=is_error, form=Form.REFERENCE, metadata=metadata
        )
        place = session.chain().place(session.resolve(info))
        [known] = _described(session, {place: Form.REFERENCE}, [info])
    return ToolResultReference(
        known.tool_call_id,
        known.tool_name,
        known.status,
        known.size_bytes,
        known.summary,
        known.truncated_preview,
        known.dialog_id,
    )


def _content(tract: Tract, name: str) -> Json:
    with tract.session.lock:
        place = _find(tract.session, name)
        return None if place is None else tract.session.compiler.load(place.shown).content


def _metadata(tract: Tract, name: str) -> ToolResultMetadata | None:
    session = tract.session
    with session.lock:
        place = _find(session, name)
        if place is None:
            return None
        return _described(session, {place: _form(session, place)}, session.infos([place]))[0]


def _form(session: Session, place: Place) -> Form | None:
    """What the model sees of one result. Only whether it is collapsed depends on others."""
    own = place.shape.form if place.shape else Form.FULL
    if own == Form.COLLAPSED:
        return forms(session.chain().places)[place]
    if place.is_hidden or place.is_skipped_result:
        return None
    return Form.FULL if is_fixed(place) else own


def _find(session: Session, name: str) -> Place | None:
    try:
        return find_result(session.chain().places, name)
    except ResultNotFoundError:
        return None


# All results


def list_results(tract: Tract) -> list[ToolResultMetadata]:
    """What is known of the results of the branch, oldest first. None of them is read."""
    with tract.session.lock:
        shown = forms(tract.session.chain().places)
        return _described(tract.session, shown, tract.session.infos(list(shown)))


def _described(
    session: Session, shown: Mapping[Place, Form | None], infos: Sequence[CommitInfo]
) -> list[ToolResultMetadata]:
    gists = session.store.contents.gists([place.shown.blob_id or 0 for place in shown])
    described = []
    for (place, form), info in zip(shown.items(), infos, strict=True):
        step = place.shown
        gist = gists.get(step.blob_id or 0)
        if gist is None and step.data is not None:  # a content that came with its commit
            gist = gist_of(session.compiler.load(step).content)
        gist = gist or Gist("", info.preview, info.preview)
        described.append(
            ToolResultMetadata(
                tool_call_id=place.label,
                tool_name=step.name or "",
                status="error" if step.is_error or gist.is_error else "success",
                size_bytes=step.byte_size,
                token_count=step.token_count,
                summary=gist.summary,
                truncated_preview=preview_of(gist, place.shape or Shape()),
                form=form,
                timestamp=_time(info),
                dialog_id=session.dialog,
                commit_hash=info.commit_hash,
            )
        )
    return described


def _time(info: CommitInfo) -> datetime | None:
    try:
        return datetime.fromisoformat(info.metadata["timestamp"])
    except (KeyError, TypeError, ValueError):  # metadata is anybody's
        return info.created_at


# Older dialogs


class MigrationReport(msgspec.Struct, frozen=True):
    """What became of the results in the view of a dialog."""

    results: int
    migrated: int
    """Now shown as references."""
    already: int
    """References before, or given some form by somebody."""
    small: int
    """Within the limit, or of tools whose results are to be kept."""
    fixed: int
    """Pinned, or answers to a question for a result."""
    tokens_before: int
    """Of those that were migrated."""
    tokens_after: int
    commits: list[str]
    """The marks; `restore` undoes each."""


def import_messages(tract: Tract, messages: Any) -> list[CommitInfo]:
    """Record what is new in a history that was kept as JSON: messages in a provider's words, a
    request that has them, or what a framework dumped. Returns the new commits."""
    return tract.record(load_dump(messages))


def migrate_results(
    tract: Tract, *, inline_tokens: int | None = None, progress: Progress | None = None
) -> MigrationReport:
    """Show the results that are shown whole and have more than `inline_tokens` as references.

    Without a limit, that of the dialog's settings is taken, else 2,000 tokens. Each batch is one
    mark: what was interrupted goes on with the next call, and where nothing is left to do nothing
    is written.
    """
    session = tract.session
    limits = _limits(session.settings, inline_tokens)
    with session.lock:
        fates = _fates(session, limits)
    wanted = [commit_id for commit_id, fate in fates.items() if fate == "migrated"]
    batches = []
    for start in range(0, len(wanted), BATCH):
        batches.append(_reshape(tract, set(wanted[start : start + BATCH]), limits))
        if progress is not None:
            progress(min(start + BATCH, len(wanted)), len(wanted))
    migrated = sum(batch.results for batch in batches)
    before = sum(batch.tokens_before for batch in batches)
    after = sum(batch.tokens_after for batch in batches)
    count = Counter(fates.values())
    already = count["already"] + len(wanted) - migrated  # what others did meanwhile
    commits = [batch.commit for batch in batches if batch.commit]
    return MigrationReport(
        len(fates), migrated, already, count["small"], count["fixed"], before, after, commits
    )


def _limits(own: ResultSettings, inline_tokens: int | None) -> ResultSettings:
    """The settings of the dialog, with a limit in any case."""
    limit = own.inline_tokens if inline_tokens is None else inline_tokens
    limit = INLINE_TOKENS if limit is None else limit
    return settings(**{**msgspec.to_builtins(own), "inline_tokens": limit})


def _fates(session: Session, limits: ResultSettings) -> dict[int, str]:
    """What is to become of each result in the view, by its commit."""
    places = results_of(session.chain().places, None, None, None)
    return {p.origin.id: _fate(session, p, limits) for p in places if not p.is_skipped_result}


def _fate(session: Session, place: Place, limits: ResultSettings) -> str:
    step = place.shown
    if is_fixed(place):
        return "fixed"
    if place.shape is not None:
        return "already"
    if limits.shape(step.name, step.token_count) is None:
        return "small"
    if step.byte_size <= ENVELOPE_BYTES and is_reference(session.compiler.load(step).content):
        return "already"
    return "migrated"


class _Batch(NamedTuple):
    """What one mark did."""

    results: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    commit: str | None = None


def _reshape(tract: Tract, wanted: Collection[int], limits: ResultSettings) -> _Batch:
    """One mark for those that are still to be migrated."""
    session = tract.session
    with tract.batch():
        _, head = session.lock_branch()
        places = [place for place in session.chain(head).places if place.origin.id in wanted]
        free = [place for place in places if not (place.shape or is_fixed(place))]
        own = [limits.shape(place.shown.name, place.shown.token_count) for place in free]
        shapes = {place: shape for place, shape in zip(free, own, strict=True) if shape}
        if not shapes:
            return _Batch()
        gists = _gists(session, [place.shown for place in shapes])
        by_commit = {place.origin.hash.hex(): shape for place, shape in shapes.items()}
        mark = tract.reshape(by_commit, message="results as references")
    return _Batch(
        len(shapes),
        sum(place.shown.token_count for place in shapes),
        sum(reference_tokens(gists[p.shown.blob_id or 0], s) or 0 for p, s in shapes.items()),
        mark.commit_hash,
    )


def _gists(session: Session, steps: Sequence[Step]) -> dict[int, Gist]:
    """What is shown of results. What an older release has not written is written now, so that a
    result need not be read whenever it is shown."""
    gists = session.store.contents.gists([step.blob_id or 0 for step in steps])
    for step in steps:
        blob_id = step.blob_id or 0
        if blob_id not in gists:
            gist = gist_of(session.compiler.load(step).content)
            count = session.tokens.count(gist.summary + gist.preview)
            gists[blob_id] = replace(gist, token_count=count)
            session.store.contents.add_gist(blob_id, gists[blob_id])
    return gists
