"""Operations that are methods of `Tract`, and what every write has: a receipt, an audit entry."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from itertools import islice, takewhile
from typing import Any, NamedTuple

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict

from tract.access import Grant
from tract.errors import ConflictError, InputError, NotFoundError
from tract.hashing import checked_json, from_json
from tract.model import CommitInfo, CommitOperation
from tract.remote import wire
from tract.remote.operations import MOST, PAGE, Operation
from tract.tract import Tract

SECRET = ("add_grant",)
"""What is answered with a secret, which no receipt may keep."""
ALONE = ("fsck", "gc", "forget", "delete_dialog")
"""What cannot be done inside a transaction with something else."""


class Request(NamedTuple):
    """One request, as the handlers see it."""

    operation: Operation
    grant: Grant
    dialog: str
    values: dict[str, str]
    """From the path."""
    params: Struct
    """From the query or the body."""
    body: bytes = b""
    key: str | None = None
    """The idempotency key."""
    wants_results: bool = False
    """Whether the client wants to know the new results, for its handlers."""
    has_handlers: bool = False
    """Whether the client decides about new results; else the settings of the dialog do."""
    is_head: bool = False
    """Whether only the headers of the answer are wanted."""
    expected: str | None = None
    """The newest commit that the client knows of, if that matters to it."""

    @property
    def fields(self) -> dict[str, Any]:
        """The parameters that were passed."""
        fields = asdict(self.params)
        return {name: value for name, value in fields.items() if value is not UNSET}


class Page(Struct, frozen=True):
    """A part of a list."""

    items: list[Any]
    next: str | None = None
    note: str | UnsetType = UNSET
    """What a search left out, or why it was slow."""


# Calling


def call(tract: Tract, request: Request) -> Any:
    """Call the method of the operation."""
    operation = request.operation
    method = getattr(tract, operation.name)
    fields = {name: _argument(tract, operation, name, v) for name, v in request.fields.items()}
    place = (fields.pop("cursor", None), fields.pop("limit", PAGE)) if operation.is_paged else None
    for name in operation.path_names:
        if name != "dialog":
            fields[name] = _argument(tract, operation, name, request.values[name])
    positional = [v for name in _several(operation.name) for v in fields.pop(name, ())]
    result = method(*positional, **fields)
    return page(result, *place) if place else result


@cache
def _several(method: str) -> list[str]:
    """The parameter of a method that takes all further arguments, if it has one."""
    parameters = inspect.signature(getattr(Tract, method)).parameters.values()
    return [p.name for p in parameters if p.kind == p.VAR_POSITIONAL]


def _argument(tract: Tract, operation: Operation, name: str, value: Any) -> Any:
    if name in operation.commits:
        return commit_name(tract, value)
    return wire.unpack(value) if name in operation.messages else value


def commit_name(tract: Tract, value: Any) -> Any:
    """The name of a commit, with HEAD replaced by the hash of the newest one."""
    if isinstance(value, list):
        return [commit_name(tract, item) for item in value]
    if isinstance(value, dict):
        return {commit_name(tract, name): item for name, item in value.items()}
    if value == "HEAD":
        if tract.head is None:
            raise NotFoundError(f"dialog {tract.dialog!r} has no commits yet")
        return tract.head
    return value


def page(items: Iterator[Any], cursor: str | None, limit: int) -> Page:
    """A part of a list. The cursor is the number of items before it."""
    start = _number(cursor)
    if not 1 <= limit <= MOST:
        raise InputError(f"limit must be a whole number from 1 to {MOST}, not {limit}")
    part = list(islice(items, start, start + limit + 1))
    more = len(part) > limit
    return Page(part[:limit], str(start + limit) if more else None)


def _number(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 16):
        raise InputError(f"not a cursor of this list: {cursor!r:.80}")
    return int(cursor)


# Writing


class Written(NamedTuple):
    """What a write returned, the results that are new, and what is checked out then."""

    body: bytes
    branch: str
    commit: str | None = None
    results: tuple[str, ...] = ()

    def packed(self) -> bytes:
        """For a receipt: one JSON list with the body at its end. What is erased is looked for in
        JSON."""
        head = checked_json(self[1:]).encode("ascii")
        return head[:-1] + b"," + (self.body or b"null") + b"]"


def unpacked(receipt: bytes) -> Written:
    """The reverse of `packed`: encoded again, a body is the same bytes."""
    branch, commit, results, value = from_json(receipt)
    return Written(checked_json(value).encode("ascii"), branch, commit, tuple(results))


def write(tract: Tract, request: Request, action: Callable[[Tract, Request], Any]) -> Written:
    """Carry out a write once: it, its receipt and its audit entry are stored, or none of them."""
    if request.operation.name in ALONE:
        result = action(tract, request)
        with tract.store.writing():
            _audit(tract, request, result)
        return _written(tract, request, result)
    try:
        return _write(tract, request, action)
    except ConflictError:
        receipt = request.key and tract.store.receipts.find(request.grant.name, request.key)
        if not receipt:  # another server was not faster with the same request
            raise
        return _answered(request, receipt.request, receipt.response)


def _write(tract: Tract, request: Request, action: Callable[[Tract, Request], Any]) -> Written:
    receipts, who = tract.store.receipts, request.grant.name
    key = None if request.operation.name in SECRET else request.key
    with tract.batch():
        receipt = receipts.find(who, key) if key else None
        if receipt is not None:
            return _answered(request, receipt.request, receipt.response)
        if request.expected is not None and request.expected != (tract.head or ""):
            raise ConflictError("nothing was written: the branch has changed in the meantime")
        before = tract.head if request.wants_results else None
        result = action(tract, request)
        results = _new_results(tract, before) if request.wants_results else ()
        written = _written(tract, request, result)._replace(results=results)
        _audit(tract, request, result)
        if key:
            receipts.add(who, key, _digest(request), written.packed())
    return written


def _written(tract: Tract, request: Request, result: Any) -> Written:
    body = b"" if request.operation.returns is None else wire.encode_result(result)
    branch, detached = tract.session.branch, tract.session.detached
    return Written(body, branch, detached.hash.hex() if detached and detached.hash else None)


def _answered(request: Request, digest: bytes, response: bytes) -> Written:
    if digest != _digest(request):
        raise InputError(f"the idempotency key {request.key!r:.80} was used for another request")
    return unpacked(response)


def _digest(request: Request) -> bytes:
    """What a repeated request has in common with the first."""
    parts = [request.operation.name, request.dialog, *map(str, request.values.values())]
    head = "\0".join(parts).encode("utf-8", "surrogatepass")
    return sha256(head + b"\0" + request.body).digest()


def _audit(tract: Tract, request: Request, result: Any) -> None:
    commits = [commit.commit_hash for commit in _commits(result)]
    tract.store.audit.add(
        request.grant.name, request.operation.name, request.dialog, commits[-1] if commits else None
    )


def _commits(result: Any) -> list[CommitInfo]:
    """The commits in what a write returned."""
    if isinstance(result, CommitInfo):
        return [result]
    if result is None:
        return []
    if isinstance(result, list):
        return [commit for commit in result if isinstance(commit, CommitInfo)]
    single = getattr(result, "commit", None)
    return [
        *getattr(result, "summaries", ()),
        *([single] if isinstance(single, CommitInfo) else []),
    ]


def _new_results(tract: Tract, before: str | None) -> tuple[str, ...]:
    """The results that were appended after a commit, oldest first."""
    new = takewhile(lambda info: info.commit_hash != before, tract.log())
    appended = [i.commit_hash for i in new if _is_result(i)]
    return tuple(reversed(appended))


def _is_result(info: CommitInfo) -> bool:
    return info.role == "tool" and info.operation == CommitOperation.APPEND
