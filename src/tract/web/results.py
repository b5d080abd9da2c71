"""A tool result over HTTP: in full, its bytes, a part of it, or facts about it.

A large result is read in pieces, each in its turn on the lane, so that neither memory nor the
dialog's other requests depend on its size.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from itertools import chain, islice
from typing import NamedTuple

from starlette.responses import Response, StreamingResponse

from tract.core.chain import Chain, Place
from tract.errors import InputError, ResultNotFoundError
from tract.hashing import checked_json, content_hash
from tract.model import Head, Step, ToolCall
from tract.providers.call_ids import find_result
from tract.remote import wire
from tract.storage.contents import LongContent, ShortContent
from tract.tool_results import ToolResultReference, describe_result, store_result
from tract.tract import Tract
from tract.web.methods import Request
from tract.web.problems import RefusedError

VIEWS = ("full", "raw", "metadata", "preview")
PART = ("lines", "grep", "context", "json_path", "offset", "limit")
JSON, TEXT = "application/json", "text/plain; charset=utf-8"
CONDITIONS = frozenset(("if-none-match", "if-range", "range"))
"""The headers of a request that the answer depends on."""
AT_ONCE = 1 << 18
"""Bytes up to which a result is one piece."""


class Located(NamedTuple):
    """A result, its pieces to be read."""

    etag: str
    media: str
    size: int
    pieces: bytes | Iterator[bytes]
    """All of it, if it is short."""
    is_fixed: bool
    """Whether the request names the content, so that the answer never changes."""


Piece = bytes | None
Run = Callable[[Callable[[], Piece]], Awaitable[Piece]]
"""Runs on a lane what reads one piece."""
Answer = Located | tuple[bytes, str]
"""A result whose bytes are sent, or a short answer with its media type."""


def find(tract: Tract, head: Head, request: Request) -> Answer:
    """What was asked for. Runs on the lane."""
    fields = request.fields
    history = tract.session.chain(head)
    view, place = fields["view"], _place(history, request.values["id"], fields.get("occurrence"))
    if view not in VIEWS:
        raise InputError(f"unknown view {view!r:.80}; expected one of {', '.join(VIEWS)}")
    part = {key: fields[key] for key in PART if key in fields}
    if part:
        return tract.get_tool_result(place.label, **part).encode("utf-8", "surrogatepass"), TEXT
    if view in ("metadata", "preview"):
        facts = describe_result(tract, place.label)
        if view == "preview":
            return facts.truncated_preview.encode("utf-8", "surrogatepass"), TEXT
        return wire.encode_result(facts), JSON
    return _locate(tract, place, view, fields.get("content"))


def store(tract: Tract, request: Request) -> ToolResultReference:
    """Store a result together with its call."""
    fields = request.fields
    call = ToolCall(request.values["id"], fields["tool_name"], fields["arguments"])
    return store_result(tract, call, fields["result"], None, fields["is_error"])


def _place(history: Chain, name: str, occurrence: int | None) -> Place:
    """The result: by default the newest with this id."""
    if occurrence is not None:
        return find_result(history.places, f"{name}#{occurrence}")
    return history.newest_result(name) or find_result(history.places, name)


def _locate(tract: Tract, place: Place, view: str, wanted: str | None) -> Located:
    step, content = place.shown, _content(tract, place.shown)
    etag = content.hash.hex()
    if wanted is not None and wanted != etag:
        raise ResultNotFoundError(f"result {place.label!r:.80} has another content")
    is_fixed = wanted is not None
    if view == "raw":
        media, size, pieces = TEXT if content.is_text else JSON, content.size, content.raw_pieces()
        return Located(etag, media, size, _at_once(size, pieces), is_fixed)
    failed = tract.session.compiler.failures([place])
    head = {
        "tool_call_id": place.label,
        "tool_name": step.name or "",
        "status": "error" if failed else "success",
        "dialog_id": tract.dialog,
        "content_hash": etag,
        "commit_hash": step.hash.hex(),
        "size_bytes": step.byte_size,
        "token_count": step.token_count,
    }
    opening = checked_json(head).encode("ascii")[:-1] + b',"result":'
    size = len(opening) + content.json_size + 1
    pieces = chain((opening,), content.pieces(), (b"}",))
    return Located(etag, JSON, size, _at_once(size, pieces), is_fixed)


def _content(tract: Tract, step: Step) -> ShortContent | LongContent:
    """A short one was read and verified with its chain."""
    if step.data is None:
        return tract.store.contents.open(step.blob_id or 0)
    return ShortContent(step.data, content_hash(step.data), step.byte_size)


def _at_once(size: int, pieces: Iterator[bytes]) -> bytes | Iterator[bytes]:
    """A long content is begun, so that one that cannot be read is an error with a status, not an
    answer that breaks off."""
    if size <= AT_ONCE:
        return b"".join(pieces)
    return chain(list(islice(pieces, 2)), pieces)


# Answers


def respond(answer: Answer, headers: Mapping[str, str], run: Run | None = None) -> Response:
    """The HTTP answer: not modified, a range, or all. What is long is read on by `run`."""
    if not isinstance(answer, Located):
        body, media = answer
        return Response(body, media_type=media, headers={"cache-control": "no-cache"})
    known = {
        "etag": f'"{answer.etag}"',
        "cache-control": "private, max-age=31536000, immutable"
        if answer.is_fixed
        else "private, no-cache",
        "accept-ranges": "bytes",
    }
    if answer.media == TEXT:
        known["content-disposition"] = "attachment"
    if is_known(headers, answer.etag):
        return Response(status_code=304, headers=known)
    span = _range(headers, answer)
    start, stop = span or (0, answer.size)
    status = 200
    if span is not None:
        status = 206
        known["content-range"] = f"bytes {start}-{stop - 1}/{answer.size}"
    known["content-length"] = str(stop - start)
    if isinstance(answer.pieces, bytes):
        return Response(answer.pieces[start:stop], status, known, answer.media)
    assert run
    pieces = _cut(_pieces(run, answer.pieces), start, stop)
    return StreamingResponse(pieces, status, known, answer.media)


def is_known(headers: Mapping[str, str], etag: str) -> bool:
    """Whether the client has what has this tag."""
    header = headers.get("if-none-match", "")
    names = [name.strip().removeprefix("W/") for name in header.split(",")]
    return "*" in names or f'"{etag}"' in names


def _range(headers: Mapping[str, str], answer: Located) -> tuple[int, int] | None:
    """The bytes that are asked for; None for all. Several ranges count as none."""
    condition = headers.get("if-range")
    if condition is not None and condition != f'"{answer.etag}"':
        return None
    match = re.fullmatch(r"bytes=(\d{0,18})-(\d{0,18})", headers.get("range", "").strip())
    if match is None or match.group(1) == match.group(2) == "":
        return None
    first, last = match.groups()
    if first == "":
        start, stop = max(0, answer.size - int(last)), answer.size
    else:
        start, stop = int(first), min(int(last) + 1 if last else answer.size, answer.size)
    if start >= stop:
        error = InputError(f"the result has {answer.size} bytes")
        raise RefusedError(416, error, content_range=f"bytes */{answer.size}")
    return start, stop


async def _pieces(run: Run, pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    take: Callable[[], Piece] = lambda: next(pieces, None)  # noqa: E731
    while (piece := await run(take)) is not None:
        yield piece


async def _cut(pieces: AsyncIterator[bytes], start: int, stop: int) -> AsyncIterator[bytes]:
    at = 0
    async for piece in pieces:
        if at + len(piece) > start:
            yield piece[max(0, start - at) : stop - at]
        at += len(piece)
        if at >= stop:
            return
