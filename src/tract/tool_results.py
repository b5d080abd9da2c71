"""Tool results for asynchronous code, and the migration of older dialogs to references."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

import msgspec

from tract.core.chain import Place
from tract.core.drafts import GIST_ABOVE
from tract.core.forms import ResultSettings, Shown, forms, is_fixed, settings
from tract.core.subjects import entitle
from tract.core.turns import results_of
from tract.core.wording import pays, preview_of, what_of
from tract.errors import InputError, ResultNotFoundError, StorageError
from tract.hashing import json_or_text
from tract.model import CommitInfo, Form, Gist, Json, Shape, ToolCall, readable
from tract.providers.call_ids import find_result
from tract.providers.frameworks.langchain import STORAGE_TYPE, is_reference
from tract.reprs import brief, number
from tract.session import Session
from tract.session.session import check_name
from tract.tract import Tract

if TYPE_CHECKING:
    from tract.aio import AsyncTract

Result = TypeVar("Result")
Progress = Callable[[int, int], None]
"""Called with the number of results that are done, and of all."""

INLINE_TOKENS = 2_000
"""The default limit for results that stay in full: about 8 KB."""
LONGEST_ARGUMENT = 200
"""Characters of a text among arguments. The call has all of it."""
BATCH = 500
ENVELOPE_BYTES = 64_000
"""No reference is larger, so nothing larger is read to check whether it is one."""


class ToolResultMetadata(msgspec.Struct, frozen=True):
    """Facts about a result, without its content."""

    tool_call_id: str
    """The id to ask for it by: `id#2` for the second result with the same id."""
    tool_name: str
    status: str
    size_bytes: int
    token_count: int
    summary: str
    """What was asked, and what came of it: `Read src/main.py (342 lines)`."""
    truncated_preview: str
    form: Form | None
    """What the model sees of it; None if it is not in the view."""
    timestamp: datetime | None
    """The time that the caller passed, or else when it was stored."""
    dialog_id: str
    commit_hash: str
    arguments: Json = None
    """Of the call, each text of them cut to 200 characters; None if the call is not known."""

    def __repr__(self) -> str:
        return brief(
            self,
            self.tool_call_id,
            self.tool_name,
            self.status,
            number(self.size_bytes, "byte"),
            number(self.token_count, "token"),
        )


class ToolResultReference(msgspec.Struct, frozen=True):
    """What a message contains instead of a stored result."""

    tool_call_id: str
    tool_name: str
    status: str
    size_bytes: int
    summary: str
    truncated_preview: str
    dialog_id: str

    def to_dict(self) -> dict[str, Json]:
        """Return the reference as JSON, to be sent instead of the result."""
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

    def __repr__(self) -> str:
        return brief(
            self, self.tool_call_id, self.tool_name, self.status, number(self.size_bytes, "byte")
        )


class ToolResultsStorage:
    """The results of one dialog for asynchronous code. Many tasks may share it.

    It is opened on first use. A `Tract` that was passed in stays open when this is closed. A
    cancelled call is carried out or not, never in part.
    """

    def __init__(self, path_or_store: str | os.PathLike[str] | Tract, dialog_id: str) -> None:
        from tract.threads import Gate

        check_name("dialog", dialog_id)
        self.dialog_id = dialog_id
        self._source = path_or_store
        self._tract: AsyncTract | None = None
        self._is_closed = False
        self._opening = Gate()

    def __repr__(self) -> str:
        return brief(self, self.dialog_id)

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
        """Store a result in full and show it as a reference. Its call is recorded too, unless the
        dialog has a call with this id that waits for a result."""
        call = ToolCall(tool_call_id, tool_name, args)
        if not isinstance(timestamp, datetime | None):
            raise InputError(f"a timestamp is a datetime, not {type(timestamp).__name__}")
        metadata = None if timestamp is None else {"timestamp": timestamp.isoformat()}
        store = partial(
            store_result, call=call, result=result, metadata=metadata, is_error=is_error
        )
        return await self._run(store, writes=True)

    async def get_result(self, tool_call_id: str) -> Json:
        """Return a result exactly as it was stored or last edited; None for an unknown id."""
        return await self._run(partial(_content, name=tool_call_id))

    async def get_metadata(self, tool_call_id: str) -> ToolResultMetadata | None:
        """Describe a result without its content; None for an unknown id."""
        return await self._run(partial(_metadata, name=tool_call_id))

    async def list_results(self) -> list[ToolResultMetadata]:
        """Describe all results, oldest first, without their contents."""
        return await self._run(list_results)

    async def close(self) -> None:
        """Close the database, unless a `Tract` was passed in. Every later call raises an error."""
        async with self._opening:
            self._is_closed = True
            if self._tract is not None and not isinstance(self._source, Tract):
                await self._tract.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _run(self, action: Callable[[Tract], Result], *, writes: bool = False) -> Result:
        async with self._opening:
            if self._is_closed:
                raise StorageError("this storage was closed")
            if self._tract is None:
                self._tract = await self._open()
        return await self._tract.run(partial(action, self._tract.tract), writes=writes)

    async def _open(self) -> AsyncTract:
        from tract.aio import AsyncTract

        source, dialog = self._source, self.dialog_id
        if not isinstance(source, Tract):
            return await AsyncTract.open(source, dialog=dialog)
        tract = AsyncTract(source)
        return tract if tract.dialog == dialog else await tract.sibling(dialog)


def store_result(
    tract: Tract, call: ToolCall, result: Json, metadata: dict[str, Json] | None, is_error: bool
) -> ToolResultReference:
    """Store a result, and its call unless that waits for it. Returns what is shown instead."""
    session = tract.session
    with tract.batch():
        _, head = session.lock_branch()
        if session.chain(head).tool_name(call.id) is None:
            tract.assistant(tool_calls=[call])
        info = tract.tool_result(
            call.id, call.name, result, is_error=is_error, form=Form.REFERENCE, metadata=metadata
        )
        place = session.chain().place(session.resolve(info))
        [facts] = _describe(session, {place: Form.REFERENCE})
    return msgspec.convert(facts, ToolResultReference, from_attributes=True)


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
        return _describe(session, {place: forms(session.chain().places)[place]})[0]


def _find(session: Session, name: str) -> Place | None:
    try:
        return find_result(session.chain().places, name)
    except ResultNotFoundError:
        return None


def describe_result(tract: Tract, name: str) -> ToolResultMetadata:
    """Describe a result without its content; ResultNotFoundError for an unknown id."""
    facts = _metadata(tract, name)
    if facts is None:
        raise ResultNotFoundError(f"no result {name!r:.100} in this dialog")
    return facts


def list_results(tract: Tract) -> list[ToolResultMetadata]:
    """List the results of the branch, oldest first, without their contents."""
    with tract.session.lock:
        return _describe(tract.session, forms(tract.session.chain().places))


def _describe(session: Session, form_of: Mapping[Place, Form | None]) -> list[ToolResultMetadata]:
    stored = session.store.contents.gists([place.shown.blob_id or 0 for place in form_of])
    calls = session.compiler.calls(form_of)
    # A large content has none only if an older release wrote it. It is not read for a list.
    known = [p for p in form_of if p.shown.byte_size <= GIST_ABOVE or p.shown.blob_id in stored]
    gists = session.compiler.gists(known, calls)
    results = []
    for (place, form), info in zip(form_of.items(), session.infos(list(form_of)), strict=True):
        step, call = place.shown, calls.get(place)
        gist = gists.get(place) or Gist("", info.preview, info.preview)
        results.append(
            ToolResultMetadata(
                tool_call_id=place.label,
                tool_name=step.name or "",
                arguments=_abridge(call.arguments) if call else None,
                status="error" if step.is_error or gist.is_error else "success",
                size_bytes=step.byte_size,
                token_count=step.token_count,
                summary=entitle(what_of(step, call), gist.summary),
                truncated_preview=preview_of(gist, place.shape or Shape()),
                form=form,
                timestamp=_time(info),
                dialog_id=session.dialog,
                commit_hash=info.commit_hash,
            )
        )
    return results


def _abridge(arguments: Json) -> Json:
    """Arguments for a list, where the text of a written file would be most of it."""
    if isinstance(arguments, dict):
        return {key: _abridge(value) for key, value in arguments.items()}
    if isinstance(arguments, list | tuple):
        return [_abridge(value) for value in arguments]
    if not isinstance(arguments, str) or len(arguments) <= LONGEST_ARGUMENT:
        return arguments
    value = json_or_text(arguments)  # some models write them as the text of an object
    if isinstance(value, dict):
        return readable(_abridge(value))
    return arguments[: LONGEST_ARGUMENT - 1] + "…"


def _time(info: CommitInfo) -> datetime | None:
    try:
        return datetime.fromisoformat(info.metadata["timestamp"])
    except (KeyError, TypeError, ValueError):  # callers may put anything into metadata
        return info.created_at


# Older dialogs


class MigrationReport(msgspec.Struct, frozen=True):
    """What a migration did with the visible results of a dialog."""

    results: int
    migrated: int
    """Now shown as references."""
    already: int
    """References before, or in another form that somebody chose."""
    small: int
    """Within the limit, too short for a reference, or of tools whose results are kept."""
    fixed: int
    """Pinned, or answers of `get_tool_result`."""
    tokens_before: int
    """Of the migrated results."""
    tokens_after: int
    commits: list[str]
    """The marks; `restore` undoes each."""

    def __repr__(self) -> str:
        return brief(
            self,
            f"{self.migrated} of {number(self.results, 'result')}",
            f"{self.tokens_before:,} → {number(self.tokens_after, 'token')}",
        )


def import_messages(tract: Tract, messages: Any) -> list[CommitInfo]:
    """Record what is new in a history that was kept as JSON: messages in a provider's format, a
    request that has them, or a framework's dump. Returns the new commits."""
    return tract.record(messages)


def migrate_results(
    tract: Tract, *, inline_tokens: int | None = None, progress: Progress | None = None
) -> MigrationReport:
    """Show full results of more than `inline_tokens` as references.

    The default limit is that of the dialog's settings, or else 2,000 tokens. Each batch is one
    mark: the next call continues an interrupted migration, and writes nothing if all is done.
    """
    session = tract.session
    with session.lock:
        session.head()  # with it, the settings are read: others may have changed them
        limits = _limits(session.settings, inline_tokens)
        fates = _fates(session, limits)
    wanted = [commit_id for commit_id, fate in fates.items() if fate == "migrated"]
    count, commits = Counter(fates.values()), []
    migrated = before = after = 0
    for start in range(0, len(wanted), BATCH):
        sizes, mark = _reshape(tract, set(wanted[start : start + BATCH]), limits)
        migrated += len(sizes)
        before += sum(old for old, _ in sizes)
        after += sum(new for _, new in sizes)
        commits += [mark.commit_hash] if mark else []
        if progress is not None:
            progress(min(start + BATCH, len(wanted)), len(wanted))
    already = count["already"] + len(wanted) - migrated  # others may have migrated some meanwhile
    return MigrationReport(
        len(fates), migrated, already, count["small"], count["fixed"], before, after, commits
    )


def _limits(own: ResultSettings, inline_tokens: int | None) -> ResultSettings:
    """Return the settings of the dialog, with a limit in any case."""
    limit = own.inline_tokens if inline_tokens is None else inline_tokens
    limit = INLINE_TOKENS if limit is None else limit
    return settings(**{**msgspec.to_builtins(own), "inline_tokens": limit})


def _fates(session: Session, limits: ResultSettings) -> dict[int, str]:
    """Say what happens to each visible result, by its commit."""
    places = results_of(session.chain().places, None, None, None)
    return {p.origin.id: _fate(session, p, limits) for p in places if not p.is_skipped_result}


def _fate(session: Session, place: Place, limits: ResultSettings) -> str:
    step = place.shown
    if is_fixed(place):
        return "fixed"
    if place.shape is not None:
        return "already"
    if limits.shape(step.name, step.token_count) is None or not pays(step):
        return "small"
    if step.byte_size <= ENVELOPE_BYTES and is_reference(session.compiler.load(step).content):
        return "already"
    return "migrated"


def _reshape(
    tract: Tract, wanted: Collection[int], limits: ResultSettings
) -> tuple[list[tuple[int, int]], CommitInfo | None]:
    """Mark the wanted results that are still in full. Returns the tokens of each before and after,
    and the mark."""
    session = tract.session
    with tract.batch():
        _, head = session.lock_branch()
        places = [place for place in session.chain(head).places if place.origin.id in wanted]
        free = [place for place in places if not (place.shape or is_fixed(place))]
        own = [
            limits.shape(place.shown.name, place.shown.token_count) if pays(place.shown) else None
            for place in free
        ]
        shapes = {place: shape for place, shape in zip(free, own, strict=True) if shape}
        if not shapes:
            return [], None
        by_commit = {place.origin.hash.hex(): shape for place, shape in shapes.items()}
        mark = tract.reshape(by_commit, message="results as references")
        shown = session.compiler.render([Shown(place, shape) for place, shape in shapes.items()])
    before = (place.shown.token_count for place in shapes)
    return list(zip(before, (tokens for _, tokens in shown), strict=True)), mark
