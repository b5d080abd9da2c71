"""Results of a dialog for asynchronous code, and older dialogs with their results as references."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar
from weakref import WeakKeyDictionary

import msgspec
from msgspec.structs import replace

from tract.content.preview import gist_of
from tract.core.chain import Place
from tract.core.forms import ResultSettings, forms, is_fixed, settings
from tract.core.turns import results_of
from tract.core.wording import preview_of, reference_tokens
from tract.errors import ConflictError, InputError, ResultNotFoundError, StorageError
from tract.model import CommitInfo, Form, Gist, Head, Json, Shape, Step, ToolCall
from tract.providers.call_ids import find_result
from tract.providers.frameworks import STORAGE_TYPE, is_reference, load_dump
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
        self._given = path_or_store
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
        said = None if timestamp is None else {"timestamp": _as_text(timestamp)}
        return await self._run(lambda tract: _store(tract, call, result, said, is_error))

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
        if not isinstance(self._given, Tract):
            return
        driver = self._given.session.store.driver
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
                self._tract = _open(self._given, self.dialog_id)
            return self._tract

    def _close(self) -> None:
        with self._opening:
            self._is_closed = True
            if self._tract is not None and not isinstance(self._given, Tract):
                self._tract.close()


def _open(given: str | os.PathLike[str] | Tract, dialog: str) -> Tract:
    if not isinstance(given, Tract):
        return Tract.open(given, dialog=dialog)
    return given if given.dialog == dialog else given.sibling(dialog)


def _as_text(timestamp: object) -> str:
    if not isinstance(timestamp, datetime):
        raise InputError(f"a timestamp is a datetime, not {type(timestamp).__name__}")
    return timestamp.isoformat()


# One result


def _store(
    tract: Tract, call: ToolCall, result: Json, said: dict[str, Json] | None, is_error: bool
) -> ToolResultReference:
    with tract.batch():
        _, head = tract.session.lock_branch()
        if tract.session.chain(head).tool_name(call.id) is None:
            tract.assistant(tool_calls=[call])
        info = tract.tool_result(
            call.id, call.name, result, is_error=is_error, form=Form.REFERENCE, metadata=said
        )
        place = tract.session.chain().place(tract.session.resolve(info))
        known = _described(tract, {place: Form.REFERENCE}, [info])[0]
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
        place = _find(tract, name)
        return None if place is None else tract.session.compiler.load(place.shown).content


def _metadata(tract: Tract, name: str) -> ToolResultMetadata | None:
    with tract.session.lock:
        place = _find(tract, name)
        if place is None:
            return None
        info = tract.session.store.info(Head(place.shown.id, place.shown.hash))
        return _described(tract, {place: _form(tract, place)}, [info])[0]


def _form(tract: Tract, place: Place) -> Form | None:
    """What the model sees of one result. Only whether it is collapsed depends on others."""
    own = place.shape.form if place.shape else Form.FULL
    if own == Form.COLLAPSED:
        return forms(_places(tract))[place]
    if place.is_hidden or place.is_skipped_result:
        return None
    return Form.FULL if is_fixed(place) else own


def _find(tract: Tract, name: str) -> Place | None:
    try:
        return find_result(_places(tract), name)
    except ResultNotFoundError:
        return None


def _places(tract: Tract) -> list[Place]:
    return tract.session.chain().places


# All results


def list_results(tract: Tract) -> list[ToolResultMetadata]:
    """What is known of the results of the branch, oldest first. None of them is read."""
    with tract.session.lock:
        seen = forms(_places(tract))
        return _described(tract, seen, tract.session.infos(list(seen)))


def _described(
    tract: Tract, seen: Mapping[Place, Form | None], infos: Sequence[CommitInfo]
) -> list[ToolResultMetadata]:
    gists = tract.session.store.gists([place.shown.blob_id or 0 for place in seen])
    return [
        _described_one(tract, place, form, info, gists.get(place.shown.blob_id or 0))
        for (place, form), info in zip(seen.items(), infos, strict=True)
    ]


def _described_one(
    tract: Tract, place: Place, form: Form | None, info: CommitInfo, gist: Gist | None
) -> ToolResultMetadata:
    step = place.shown
    gist = gist or _small_gist(tract, step) or Gist("", info.preview, info.preview)
    return ToolResultMetadata(
        tool_call_id=place.label,
        tool_name=step.name or "",
        status="error" if step.is_error or gist.is_error else "success",
        size_bytes=step.byte_size,
        token_count=step.token_count,
        summary=gist.summary,
        truncated_preview=preview_of(gist, place.shape or Shape()),
        form=form,
        timestamp=_time(info),
        dialog_id=tract.dialog,
        commit_hash=info.commit_hash,
    )


def _small_gist(tract: Tract, step: Step) -> Gist | None:
    """Of a content that came with its commit; None where it would have to be read."""
    return None if step.data is None else gist_of(tract.session.compiler.load(step).content)


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
    limits = _limits(tract, inline_tokens)
    with tract.session.lock:
        fates = _fates(tract, limits)
    wanted = [commit_id for commit_id, fate in fates.items() if fate == "migrated"]
    before = after = migrated = 0
    commits: list[str] = []
    for start in range(0, len(wanted), BATCH):
        batch = _reshape(tract, wanted[start : start + BATCH], limits)
        if batch.commit is not None:
            commits.append(batch.commit)
        migrated += batch.results
        before, after = before + batch.tokens_before, after + batch.tokens_after
        if progress is not None:
            progress(min(start + BATCH, len(wanted)), len(wanted))
    count = Counter(fates.values())
    already = count["already"] + len(wanted) - migrated  # what others did meanwhile
    return MigrationReport(
        len(fates), migrated, already, count["small"], count["fixed"], before, after, commits
    )


def _limits(tract: Tract, inline_tokens: int | None) -> ResultSettings:
    """The settings of the dialog, with a limit in any case."""
    own = tract.session.settings
    limit = own.inline_tokens if inline_tokens is None else inline_tokens
    given = {**msgspec.to_builtins(own), "inline_tokens": INLINE_TOKENS if limit is None else limit}
    return settings(**given)


def _fates(tract: Tract, limits: ResultSettings) -> dict[int, str]:
    """What is to become of each result in the view, by its commit."""
    places = results_of(_places(tract), None, None, None)
    return {
        place.origin.id: _fate(tract, place, limits)
        for place in places
        if not place.is_skipped_result
    }


def _fate(tract: Tract, place: Place, limits: ResultSettings) -> str:
    step = place.shown
    if is_fixed(place):
        return "fixed"
    if place.shape is not None:
        return "already"
    if limits.shape(step.name, step.token_count) is None:
        return "small"
    if step.byte_size <= ENVELOPE_BYTES and is_reference(tract.session.compiler.load(step).content):
        return "already"
    return "migrated"


class _Batch(msgspec.Struct):
    results: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    commit: str | None = None


def _reshape(tract: Tract, wanted: Sequence[int], limits: ResultSettings) -> _Batch:
    """One mark for those that are still to be migrated."""
    done = _Batch()
    with tract.batch():
        _, head = tract.session.lock_branch()
        chosen = set(wanted)
        shapes: dict[str, Shape] = {}
        for place in tract.session.chain(head).places:
            step = place.shown
            shape = limits.shape(step.name, step.token_count)
            if place.origin.id in chosen and not (place.shape or is_fixed(place)) and shape:
                shapes[place.origin.hash.hex()] = shape
                done.results += 1
                done.tokens_before += step.token_count
                done.tokens_after += reference_tokens(_gist(tract, step), shape) or 0
        if shapes:
            done.commit = tract.reshape(shapes, message="results as references").commit_hash
    return done


def _gist(tract: Tract, step: Step) -> Gist:
    """What is told of a result. What an older release has not written is written now, so that the
    result need not be read whenever it is shown."""
    blob_id = step.blob_id or 0
    known = tract.session.store.gists([blob_id]).get(blob_id)
    if known is None:
        found = gist_of(tract.session.compiler.load(step).content)
        known = replace(
            found, token_count=tract.session.tokens.count(found.summary + found.preview)
        )
        tract.session.store.add_gist(blob_id, known)
    return known
