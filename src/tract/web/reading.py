"""What is read of a dialog beyond the methods of `Tract`: positions, contexts, chains, lists."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from itertools import islice
from typing import Any

from msgspec.structs import replace

from tract.errors import DialogNotFoundError, InputError
from tract.model import CommitInfo, DialogInfo, Gist, Head, Step, Toolset
from tract.remote.operations import MOST, PAGE
from tract.remote.values import Context, Position, Steps
from tract.session.commits import find_commit
from tract.storage.search import NEWEST, Filters, Search
from tract.storage.titles import titled_dialogs
from tract.tool_results import list_results
from tract.tract import Tract
from tract.view.export import document
from tract.web.methods import Page, Request, commit_name, page

KEPT_BYTES = 8_000_000
"""The contents of a dialog up to which its compiled messages stay in memory."""
STEPS = 2000
"""Commits in one answer."""


def position(tract: Tract, request: Request) -> Position:
    """Where the dialog stands, or a commit or branch of it."""
    session, store = tract.session, tract.store
    at = commit_name(tract, request.fields.get("at"))
    exists = session.is_there()
    head = session.head(at) if exists or at is not None else Head(None, None)
    settings = store.dialogs.settings
    return Position(
        branch=session.branch,
        detached=_hex(session.detached) if session.detached else None,
        head_id=head.id,
        head=_hex(head),
        exists=exists,
        erasures=store.read_erasures(),
        result_settings=settings(tract.dialog, "result_settings") if exists else None,
        summarization=settings(tract.dialog, "summarization") if exists else None,
        facts=settings(tract.dialog, "facts") if exists else None,
    )


def _hex(head: Head) -> str | None:
    return head.hash.hex() if head.hash else None


def dialog_info(tract: Tract, request: Request) -> DialogInfo:
    """One dialog with its totals."""
    for info in tract.dialogs():
        if info.dialog == request.dialog:
            return info
    raise DialogNotFoundError(f"no dialog {request.dialog!r:.100}")


def dialogs(tract: Tract, request: Request) -> Page:
    """The dialogs of the token, by name."""
    words = request.fields.get("search", "").split()
    known = sorted(titled_dialogs(tract.store), key=lambda info: info.dialog)
    mine = (info for info in known if request.grant.covers(info.dialog) and info.has(words))
    return _after(mine, request, lambda info: info.dialog)


def _after(items: Iterator[Any], request: Request, key: Callable[[Any], str]) -> Page:
    """The items of a sorted list after the one that the cursor names."""
    cursor = request.fields.get("cursor")
    rest = (item for item in items if cursor is None or key(item) > cursor)
    part = list(islice(rest, limit_of(request) + 1))
    more = len(part) > limit_of(request)
    return Page(part[: limit_of(request)], key(part[-2]) if more else None)


def limit_of(request: Request) -> int:
    limit: int = request.fields.get("limit", PAGE)
    if not 1 <= limit <= MOST:
        raise InputError(f"limit must be a whole number from 1 to {MOST}, not {limit}")
    return limit


def context(tract: Tract, request: Request) -> Context:
    """What a model would be sent."""
    fields = request.fields
    provider, stored = fields.pop("provider"), fields.pop("stored")
    if "at" in fields:
        fields["at"] = commit_name(tract, fields["at"])
    if "load_tool_results" in fields:
        fields["load_tool_results"] = _load(fields["load_tool_results"])
    source = _compiling(tract)
    compiled = source.stored(fields.get("at")) if stored else source.compile(**fields)
    return Context(
        provider=provider,
        request=compiled.to_params(provider),
        token_count=compiled.token_count,
        tool_tokens=compiled.tool_tokens,
        token_source=compiled.token_source,
        commit_hashes=compiled.commit_hashes,
        message_forms=[str(form) for form in compiled.message_forms],
        message_tokens=compiled.message_tokens,
        notes=compiled.notes_for(provider),
    )


def _compiling(tract: Tract) -> Tract:
    """The dialog, or another instance of a large one, so that what it compiles is not kept."""
    session = tract.session
    if sum(step.byte_size for step in session.chain().steps) <= KEPT_BYTES:
        return tract
    other = tract.sibling(tract.dialog)
    other.session.branch, other.session.detached = session.branch, session.detached
    return other


def _load(values: list[str]) -> bool | list[str]:
    return values[0] == "true" if values in (["true"], ["false"]) else values


def export(tract: Tract, request: Request) -> str:
    """The dialog as a document."""
    fields = request.fields
    at = commit_name(tract, fields.get("at"))
    source = _compiling(tract)
    compiled = source.stored(at) if fields["stored"] else source.compile(at)
    return document(compiled, tract.dialog, fields["format"])


# Lists


def log(tract: Tract, request: Request) -> Page:
    """The commits of the branch, newest first. The cursor is the last one of the page before."""
    fields, session = request.fields, tract.session
    commits: Iterator[CommitInfo]
    if "cursor" in fields:
        commits = islice(session.store.log(session.resolve(fields["cursor"]).id), 1, None)
    else:
        at = commit_name(tract, fields.get("at"))
        commits = session.store.log(session.head(at).id)
    return _with_cursor(commits, request, lambda info: info.commit_hash)


def search(tract: Tract, request: Request) -> Page:
    """The commits of one dialog that contain a text, newest first."""
    return _search(tract, request, tract.dialog)


def search_all(tract: Tract, request: Request) -> Page:
    """The same in all dialogs of the token."""
    return _search(tract, request, None)


def _search(tract: Tract, request: Request, dialog: str | None) -> Page:
    fields, cursor = request.fields, request.fields.get("cursor")
    before = Head(None, None)
    order = fields.get("order", NEWEST)
    if cursor is not None and order == NEWEST:
        commit, _, name = cursor.partition(".")
        if not request.grant.covers(name):
            raise InputError(f"not a cursor of this list: {cursor!r:.80}")
        [before] = tract.store.resolve(name, [commit])
    names = ("tool", "role", "since", "until", "project", "errors")
    filters = Filters.of(**{name: fields[name] for name in names if name in fields})
    covers = request.grant.covers
    hits = Search(
        *(tract.store, fields["text"]),
        dialog=dialog,
        before=before,
        filters=filters,
        order=order,
        covers=covers,
    )
    if order == NEWEST:
        part = _with_cursor(hits, request, lambda hit: f"{hit.commit_hash}.{hit.dialog}")
    else:  # there is no commit to continue from
        part = page(hits, cursor, limit_of(request))
    return replace(part, note=hits.note) if hits.note else part


def _with_cursor(items: Iterator[Any], request: Request, key: Callable[[Any], str]) -> Page:
    limit = limit_of(request)
    part = list(islice(items, limit + 1))
    return Page(part[:limit], key(part[limit - 1]) if len(part) > limit else None)


def tool_results(tract: Tract, request: Request) -> Page:
    """The results of the branch, oldest first, without their contents."""
    fields = request.fields
    superseded = None
    if fields["superseded"]:
        superseded = {old.result.commit_hash for old in tract.find_superseded()}
    matching = (
        info
        for info in list_results(tract)
        if fields.get("tool") in (None, info.tool_name)
        and fields.get("status") in (None, info.status)
        and fields.get("form") in (None, info.form)
        and (superseded is None or info.commit_hash in superseded)
    )
    return page(matching, fields.get("cursor"), limit_of(request))


def audit(tract: Tract, request: Request) -> Page:
    """What was written, newest first."""
    cursor = request.fields.get("cursor")
    if cursor is not None and not cursor.isdecimal():
        raise InputError(f"not a cursor of this list: {cursor!r:.80}")
    limit = limit_of(request)
    entries = tract.store.audit.entries(int(cursor) if cursor else None, limit + 1)
    return Page(entries[:limit], str(entries[limit - 1].id) if len(entries) > limit else None)


# Chains


def steps(tract: Tract, request: Request) -> Steps:
    """The commits between two, as the fold needs them. The key of a content is that of its commit:
    the stored one would say whether another dialog had the content before."""
    session, store, fields = tract.session, tract.store, request.fields
    head, known = session.find(commit_name(tract, fields["head"])), Head(None, None)
    if "known" in fields:
        heads = _known(tract, fields["known"])
        if heads is None:
            return Steps(None)
        known = heads
    chain = store.steps(head, known) if head != known else []
    if chain is None:
        return Steps(None)
    part = chain[:STEPS]
    large = [step.blob_id or 0 for step in part if step.blob_id and step.data is None]
    forgotten = store.contents.forgotten(large)
    return Steps(
        [replace(step, blob_id=step.id) if step.blob_id is not None else step for step in part],
        _gists(tract, head, {step.id for step in part if step.role == "tool"}),
        [step.id for step in part if step.blob_id in forgotten],
        part[-1].hash.hex() if len(chain) > STEPS else None,
    )


def _gists(tract: Tract, head: Head, results: Container[int]) -> dict[int, Gist]:
    """The gists of these results that have a stored one. That may be of another call with the same
    content, maybe in another dialog, which nobody needs to know."""
    session = tract.session
    with session.lock:
        places = [place for place in session.chain(head).places if place.shown.id in results]
        stored = tract.store.contents.gists([place.shown.blob_id or 0 for place in places])
        known = [place for place in places if place.shown.blob_id in stored]
        gists = session.compiler.gists(known, session.compiler.calls(known))
    return {place.shown.id: gist for place, gist in gists.items()}


def _known(tract: Tract, name: str) -> Head | None:
    """A commit that the client has; None if it is gone, such as after a rollback."""
    try:
        return tract.session.resolve(name)
    except LookupError:
        return None


def payload(tract: Tract, request: Request) -> bytes:
    """The content of a commit as it is stored."""
    step = _step(tract, request)
    if step.blob_id is None:
        raise InputError(f"commit {step.hash.hex()} is a mark and has no content")
    return step.data if step.data is not None else tract.store.contents.read(step.blob_id)


def toolset(tract: Tract, request: Request) -> Toolset:
    """The toolset that was recorded with a commit."""
    step = _step(tract, request)
    if step.toolset is None:
        raise InputError(f"commit {step.hash.hex()} records no tools")
    return tract.store.toolset(step.toolset)


def _step(tract: Tract, request: Request) -> Step:
    name = commit_name(tract, request.values["commit"])
    return tract.store.step(find_commit(tract.session, name))
