"""Rows of the database as values, and back. Everything that is read here is verified."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

import msgspec

from tract.content.blocks import size_of
from tract.core.wording import ERASED
from tract.errors import CorruptError
from tract.hashing import (
    QUOTE,
    Json,
    append_hash,
    checked_json,
    checked_sorted_json,
    commit_hash,
    envelope_hash,
    escape,
    from_json,
)
from tract.model import (
    CommitInfo,
    CommitOperation,
    Draft,
    Head,
    Link,
    Mark,
    Message,
    Step,
    Toolset,
    glance,
    pack_shape,
    unpack_content,
    unpack_shape,
)
from tract.storage.codec import (
    CHUNK_SIZE,
    CHUNKED,
    COMPRESS_ABOVE,
    DAMAGE,
    FORGOTTEN,
    OBJECT,
    PLAIN,
    TEXT_CHUNKED,
    TEXT_OBJECT,
    ZSTD,
    Piece,
    inflate,
    pack,
    pack_text,
    unpack,
)
from tract.storage.driver import Row

INLINE_BELOW = 4096
"""Contents up to this size are read together with their commits, larger ones when needed."""
Links = tuple[Link, ...]
IsLeft = Callable[[bytes, bytes], bool]
"""Whether something was erased of what has the first hash, and the rest has the second."""


class CommitRow(NamedTuple):
    """A row of `commits` without its key, as it is stored."""

    dialog_id: int
    parent_id: int | None
    hash: bytes
    blob_id: int | None
    operation: str
    role: str | None
    tool_call_id: str | None
    name: str | None
    is_error: int
    origin: str | None
    message: str | None
    metadata: str | None
    generation_config: str | None
    usage: str | None
    calls: str | None
    created_at: int
    checksum: int
    toolset_id: int | None
    form: str | None


class BlobRow(NamedTuple):
    """A row of `blobs` without its key. A short content is its own preview."""

    hash: bytes
    codec: int
    payload: bytes | None
    json_size: int
    token_count: int
    token_source: str
    preview: str | None
    checksum: int
    text_size: int
    """The bytes of its text, in UTF-8."""


# Writing


def commit_row(
    draft: Draft,
    dialog_id: int,
    parent_id: int | None,
    blob_id: int | None,
    digest: bytes,
    toolset_id: int | None,
) -> CommitRow:
    message, usage, created_at = draft.message, draft.usage, now()
    role = call_id = name = origin = calls = None
    if message:
        role, call_id = message.role, message.tool_call_id
        name, origin = message.name, message.origin
        if isinstance(message.content, tuple) and role != "tool":
            calls = [[call.id, call.name] for call in message.tool_calls]
    stored_usage = None if usage is None else checked_json(usage)
    stored_calls = checked_json(calls) if calls else None
    return CommitRow(
        dialog_id,
        parent_id,
        digest,
        blob_id,
        draft.operation._value_,  # which `value` looks up in a slow way
        role,
        None if call_id is None else stored_name(call_id),
        None if name is None else stored_name(name),
        int(message.is_error) if message else 0,
        None if origin is None else checked_json(origin),
        None if draft.note is None else escape(draft.note),
        None if draft.metadata is None else checked_json(draft.metadata),
        None if draft.generation_config is None else checked_json(draft.generation_config),
        stored_usage,
        stored_calls,
        created_at,
        created_at ^ _own_sum(stored_usage, stored_calls),
        toolset_id,
        pack_shape(draft.shape) if draft.shape else None,
    )


def blob_row(draft: Draft, digest: bytes, object_above: int | None = None) -> BlobRow:
    """The row of a content, which is an object above so many bytes."""
    data, message = draft.payload, draft.message
    assert data is not None
    assert message is not None
    length, size, codec, payload, preview = len(data), size_of(message), PLAIN, data, None
    if length > COMPRESS_ABOVE:
        preview = escape(glance(message))
    if object_above is not None and length > object_above:
        codec, payload = TEXT_OBJECT if data[0] == QUOTE else OBJECT, b""
    elif length > COMPRESS_ABOVE:
        _, codec, payload = _piece(data, digest, message.content)
    count, source = draft.token_count, draft.token_source
    checksum = blob_checksum(codec, length, count, source, preview, size)
    return BlobRow(digest, codec, payload, length, count, source, preview, checksum, size)


def _piece(data: bytes, digest: bytes, content: Json) -> Piece:
    """How a content is stored in the database."""
    if len(data) > CHUNK_SIZE:
        return Piece(digest, TEXT_CHUNKED if data[0] == QUOTE else CHUNKED, b"")
    if len(data) <= COMPRESS_ABOVE:
        return Piece(digest, PLAIN, data)
    is_long_text = len(data) > INLINE_BELOW and data[0] == QUOTE
    return (is_long_text and pack_text(content, digest)) or pack(data, digest)


def pulled(row: BlobRow, data: bytes) -> BlobRow:
    """The row of a content that was an object and is stored in the database."""
    _, codec, payload = _piece(data, row.hash, from_json(data))
    return _summed(row._replace(codec=codec, payload=payload))


def tombstone(row: BlobRow) -> BlobRow:
    """The row of a content that was forgotten: its size stays, its text and tokens do not."""
    return _summed(row._replace(codec=FORGOTTEN, payload=None, token_count=0, preview=None))


def measured(row: BlobRow, role: str, data: bytes) -> BlobRow:
    """The row of a content that was written without the size of its text."""
    return _summed(row._replace(text_size=size_of(message_of(role, data))))


def _summed(row: BlobRow) -> BlobRow:
    return row._replace(checksum=blob_checksum(row.codec, *row[3:7], row.text_size))


def draft_hash(draft: Draft, parent: bytes | None, content: bytes | None) -> bytes:
    """The hash of the draft on this parent."""
    message = draft.message or _NO_MESSAGE
    toolset = draft.toolset.hash if draft.toolset else None
    form = pack_shape(draft.shape) if draft.shape else None
    rest = draft.note, draft.metadata, draft.generation_config, message.origin
    is_append = draft.operation is CommitOperation.APPEND and not message.is_error
    if is_append and rest == _NO_NOTES and parent and content:
        call_id = None if message.tool_call_id is None else stored_name(message.tool_call_id)
        name = None if message.name is None else stored_name(message.name)
        return append_hash(parent, content, message.role, toolset, call_id, name, form)
    return commit_hash(
        draft.operation.value,
        parent,
        content,
        message.role or None,
        tool_call_id=message.tool_call_id,
        name=message.name,
        is_error=message.is_error,
        origin=message.origin,
        links=_links_json(draft.links),
        message=draft.note,
        metadata=draft.metadata,
        generation_config=draft.generation_config,
        toolset=toolset.hex() if toolset else None,
        form=form,
    )


_NO_MESSAGE = Message("")  # of a mark
_NO_NOTES = (None, None, None, None)


def new_info(
    row: CommitRow, blob: BlobRow | None, parent: bytes | None, draft: Draft
) -> CommitInfo:
    """What `info_of` returns for a commit that was just written. For one that has just a role, a
    content and perhaps tools, it takes a third of the time."""
    message, operation = draft.message, draft.operation
    toolset = draft.toolset.hash if draft.toolset else None
    has_rest = row[8:14] != _JUST_CONTENT or row.form
    if blob is None or operation is not CommitOperation.APPEND or has_rest:
        return info_of(ReadRow(row, toolset, blob), parent, draft.links, message)
    call_id, name = _text(row.tool_call_id), _text(row.name)
    return CommitInfo(
        row.hash.hex(),
        parent.hex() if parent else None,
        operation,
        blob.hash.hex(),
        row.role,
        call_id,
        name,
        toolset_hash=toolset.hex() if toolset else None,
        metadata=_metadata(call_id, name, row.calls, message),
        token_count=blob.token_count,
        byte_size=blob.text_size,
        preview=_preview(blob.preview, message),
        created_at=as_datetime(row.created_at),
    )


_JUST_CONTENT = (0, None, None, None, None, None)  # no error, no notes


class Written(msgspec.Struct, frozen=True, gc=False):
    """What a step is made of."""

    row: CommitRow
    blob: BlobRow | None
    data: bytes | None
    toolset: Toolset | None
    links: Links


def written(row: CommitRow, blob: BlobRow | None, draft: Draft) -> Written:
    """What `new_step` needs of a commit: of what may be long, only what a step has too."""
    data = draft.payload
    if blob and (blob.json_size > INLINE_BELOW or blob.codec > ZSTD):
        blob, data = blob._replace(payload=None), None
    if row.message or row.metadata or row.usage:
        row = row._replace(message=None, metadata=None, usage=None)
    return Written(row, blob, data, draft.toolset, draft.links)


def new_step(key: int, commit: Written) -> Step:
    """What `steps_of` returns for a commit that was just written."""
    row, blob, toolset = commit.row, commit.blob, commit.toolset
    tokens, source, size = (
        (blob.token_count, blob.token_source, blob.text_size) if blob else (0, "", 0)
    )
    return Step(
        key, row.hash, row.operation, row.role, row.blob_id, commit.data, tokens, source,
        toolset.hash if toolset else None, _text(row.tool_call_id), _text(row.name),
        bool(row.is_error), stored_json(row.origin), _calls(row.calls) if row.calls else (),
        stored_json(row.generation_config), commit.links,
        _shape(row.form) if row.form else None, size,
    )  # fmt: skip


# Reading commits for people


class ReadRow(NamedTuple):
    """A commit as it is read, with its content and the hash of its toolset, if it has them."""

    commit: CommitRow
    toolset: bytes | None
    blob: BlobRow | None


def split(row: Row) -> ReadRow:
    """The parts of a row of READ_COLUMNS."""
    blob = None if row[19] is None else BlobRow._make(row[19:])
    return ReadRow(CommitRow(0, None, *row[1:18]), row[18], blob)


READ_COLUMNS = ", ".join(
    ["c.id"]
    + [f"c.{column}" for column in CommitRow._fields[2:]]
    + ["s.hash"]
    + [f"b.{column}" for column in BlobRow._fields]
)


def row_hash(read: ReadRow, parent: bytes | None, links: Links) -> bytes:
    """The hash that a commit with these columns has, unless something was erased of it."""
    row, toolset, blob = read
    content = blob.hash if blob else None
    rest = row.operation, toolset, row.is_error, *row[9:13], row.form
    if parent and content and rest == _NO_REST:
        return append_hash(parent, content, row.role, None, row.tool_call_id, row.name)
    texts = row.role, row.tool_call_id, row.name
    return _stored_hash(row.hash, parent, content, *texts, rest, links)


def verify(read: ReadRow, parent: bytes | None, links: Links, is_left: IsLeft) -> None:
    """Reject a row with a flipped bit: the hash covers most columns, a checksum the others."""
    row, _, blob = read
    try:
        actual = row_hash(read, parent, links)
        if actual != row.hash and not is_left(row.hash, actual):
            raise CorruptError(f"commit {row.hash.hex()} does not match its hash")
        if row.checksum != commit_checksum(row.usage, row.calls, row.created_at):
            raise CorruptError(f"commit {row.hash.hex()}: calls, usage or time were altered")
        if blob:
            verify_blob(blob)
    except DAMAGE as error:
        raise CorruptError(f"a row of commits is damaged: {error}") from error


def verify_blob(blob: BlobRow) -> None:
    if not isinstance(blob.hash, bytes):
        raise CorruptError(f"a content has no hash but {blob.hash!r:.80}")
    if blob.checksum != blob_checksum(blob.codec, *blob[3:7], blob.text_size):
        raise CorruptError(f"content {blob.hash.hex()}: its size, tokens or preview are wrong")


def info_of(
    read: ReadRow,
    parent: bytes | None,
    links: Links,
    message: Message | None = None,
    *,
    is_own: bool = False,
) -> CommitInfo:
    """A commit for people. With its message, its content is not parsed. Metadata always is: what is
    returned must not change with what the caller passed in, unless the message is its own."""
    row, toolset, blob = read
    call_id, name, config = row.tool_call_id, row.name, row.generation_config
    if call_id is not None and "\\" in call_id:
        call_id = unescape(call_id)
    if name is not None and "\\" in name:
        name = unescape(name)
    is_parsed = row.calls is not None or (blob is not None and blob.preview is None)
    if message is None and blob and blob.codec != FORGOTTEN and is_parsed:
        message = message_of(row.role, unpack(blob.hash, blob.codec, blob.payload, blob.json_size))
    metadata = _metadata(call_id, name, row.calls, message, is_own=is_own)
    if row.metadata is not None:
        metadata = {**metadata, **stored_json(row.metadata), **metadata}
    replaces: tuple[str, ...] = ()
    marks: tuple[Mark, ...] = ()
    if links:
        named = [(link.target_hash.hex(), link) for link in links]
        replaces = tuple(target for target, link in named if link.kind == "replaces")
        others = [(target, link) for target, link in named if link.kind != "replaces"]
        marks = tuple(Mark(target, link.kind, link.value) for target, link in others)
    return CommitInfo(
        commit_hash=row.hash.hex(),
        parent_hash=parent.hex() if parent else None,
        operation=CommitOperation(row.operation),
        content_hash=blob.hash.hex() if blob else None,
        role=row.role,
        tool_call_id=call_id,
        name=name,
        is_error=bool(row.is_error),
        replaces=replaces,
        marks=marks,
        toolset_hash=toolset.hex() if toolset else None,
        form=unpack_shape(row.form).form if row.form else None,
        message=None if row.message is None else unescape(row.message),
        metadata=metadata,
        generation_config=config if config is None else stored_json(config),
        usage=row.usage if row.usage is None else stored_json(row.usage),
        token_count=blob.token_count if blob else 0,
        byte_size=blob.text_size if blob else 0,
        preview=_preview(blob.preview, message) if blob else "",
        created_at=as_datetime(row.created_at),
    )


def _preview(stored: str | None, message: Message | None) -> str:
    if stored is not None:
        return unescape(stored)
    return ERASED if message is None else glance(message)


def message_of(role: str | None, data: bytes) -> Message:
    """The role and the content of a commit."""
    return _message(role, from_json(data))


def _message(role: str | None, content: Json) -> Message:
    return Message(role or "", unpack_content(role or "", content))


def _metadata(
    call_id: str | None,
    name: str | None,
    calls: str | None,
    message: Message | None,
    *,
    is_own: bool = False,
) -> dict[str, Json]:
    """The metadata of a commit as far as it repeats its message, which is its only source."""
    if call_id is not None:
        return {"tool_call_id": call_id, "name": name}
    return {"tool_calls": _described_calls(calls, message, is_own)} if calls else {}


def _described_calls(stored: str, message: Message | None, is_own: bool) -> list[dict[str, Json]]:
    """The calls with their arguments; without them if the content was forgotten."""
    if message is None:
        return [{"id": call_id, "name": name} for call_id, name in stored_json(stored)]
    calls = [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in message.tool_calls]
    if is_own or all(type(call["arguments"]) is str for call in calls):
        return calls
    described: list[dict[str, Json]] = from_json(checked_json(calls).encode("ascii"))  # a copy
    return described


# Reading chains


WITH_REST, AS_REFERENCE = -1, -2


class Beside(NamedTuple):
    """What rows have beside their own columns."""

    rests: Mapping[int, Row]
    """The REST_COLUMNS of those that have them."""
    toolsets: Mapping[int, bytes]
    """The hashes of toolsets by their keys."""
    links: Mapping[int, Links]

    def rest(self, row: Row) -> Row:
        """The REST_COLUMNS of any row of STEP_COLUMNS or LIST_COLUMNS."""
        key = row[-1]
        if key == WITH_REST:
            return self.rests[row[0]]
        if key == AS_REFERENCE:
            return _JUST_REFERENCE
        return ("append", self.toolsets[key], *_NO_REST[2:]) if key else _NO_REST


# The hash of a content is not read where its bytes are: it is computed from them.
_COLUMNS = f"""
    c.id, c.hash, c.parent_id, c.role, c.blob_id,
    CASE WHEN b.json_size <= {INLINE_BELOW} AND b.codec <= {ZSTD} THEN b.payload ELSE b.hash END,
    b.codec, b.json_size, b.token_count, b.token_source, b.preview, b.checksum, b.text_size,
    c.calls, c.tool_call_id, c.name, c.usage, c.created_at, c.checksum,
    CASE WHEN c.operation <> 'append' OR c.is_error <> 0 OR coalesce(
            c.origin, c.message, c.metadata, c.generation_config) IS NOT NULL THEN {WITH_REST}
        WHEN c.form IS NULL THEN coalesce(c.toolset_id, 0)
        WHEN c.form = 'reference' AND c.toolset_id IS NULL THEN {AS_REFERENCE}
        ELSE {WITH_REST} END"""
"""The last one is WITH_REST if the row has REST_COLUMNS, because a column costs time even where it
is empty; AS_REFERENCE if that form is all that it has of them; else the key of its toolset, or 0.
"""
LIST_COLUMNS = _COLUMNS.replace(
    "THEN b.payload", "AND (b.preview IS NULL OR c.calls IS NOT NULL) THEN b.payload"
)
"""The same with fewer contents: just those that a preview or the arguments of calls are made of."""
STEP_COLUMNS = _COLUMNS.replace(
    "c.created_at, c.checksum", "(c.checksum | c.created_at) - (c.checksum & c.created_at)"
)
"""The same, but of the time only that it fits the checksum: the two, combined by exclusive or."""
REST_COLUMNS = """
    c.operation, s.hash, c.is_error, c.origin, c.message, c.metadata, c.generation_config, c.form"""


def steps_of(
    rows: Sequence[Row], beside: Beside, parent: bytes | None, is_left: IsLeft
) -> list[Step]:
    """The commits of a chain in rows of STEP_COLUMNS, verified."""
    steps: list[Step] = []
    try:
        # Every cold start runs this once per message: the usual row is handled inline. Only a text
        # with a backslash has to be parsed.
        for row in rows:
            (
                commit_id, digest, _, role, blob_id, content,
                codec, json_size, token_count, token_source, preview, checksum, text_size,
                calls, call_id, name, usage, own_sum, toolset_key,
            ) = row  # fmt: skip
            data = toolset = form = shape = None
            if own_sum != (_NOTHING if usage is None and calls is None else _own_sum(usage, calls)):
                raise CorruptError(f"commit {digest.hex()}: calls, usage or time were altered")
            if checksum is not None:
                if preview is None:
                    texts = _source_sum(codec, token_source)
                else:
                    texts = _preview_sum(codec, token_source, preview)
                if checksum != json_size ^ text_size << 12 ^ token_count << 24 ^ texts:
                    raise CorruptError(f"commit {digest.hex()}: the size or tokens of it are wrong")
                if json_size <= INLINE_BELOW and codec <= ZSTD:
                    data = content if codec == PLAIN else inflate(content, json_size)
                    content = sha256(data).digest()  # if it is wrong, so is the hash of the commit
            if parent and toolset_key != WITH_REST:
                if toolset_key == AS_REFERENCE:
                    form, shape = "reference", _REFERENCE
                elif toolset_key:
                    toolset = beside.toolsets[toolset_key]
                actual = append_hash(parent, content, role, toolset, call_id, name, form)
                step = Step(
                    commit_id, digest, "append", role, blob_id, data, token_count, token_source,
                    toolset,
                    unescape(call_id) if call_id is not None and "\\" in call_id else call_id,
                    unescape(name) if name is not None and "\\" in name else name,
                    False, None, _calls(calls) if calls else (), None, (), shape, text_size,
                )  # fmt: skip
            else:
                rest, own = beside.rest(row), beside.links.get(commit_id, ())
                step = _unusual_step(row, rest, data, own)
                actual = _stored_hash(digest, parent, content, role, call_id, name, rest, own)
            if actual != digest and not is_left(digest, actual):
                raise unmatched(digest)
            steps.append(step)
            parent = digest
    except DAMAGE as error:
        raise CorruptError(f"a row of the history is damaged: {error}") from error
    return steps


def unmatched(digest: bytes) -> CorruptError:
    """What is raised for a commit that is not what its hash says."""
    return CorruptError(f"commit {digest.hex()} or its content does not match its hash")


def listed_info(
    row: Row,
    beside: Beside,
    parent: bytes | None,
    is_left: IsLeft,
    read: Callable[[int], Json],
) -> CommitInfo:
    """The commit in a row of LIST_COLUMNS for people, verified. `read` loads a content."""
    digest, role, call_id, name, usage = row[1], row[3], *row[14:17]
    try:
        content, message = _listed_content(row, read)
        rest, links = beside.rest(row), beside.links.get(row[0], ())
        if parent and content and row[-1] >= 0:
            actual = append_hash(parent, content, role, rest[1], call_id, name)
        else:
            actual = _stored_hash(digest, parent, content, role, call_id, name, rest, links)
        if actual != digest and not is_left(digest, actual):
            raise unmatched(digest)
        if row[-1] < 0 or usage or not content:
            return info_of(_parts(row, rest, content), parent, links, message, is_own=True)
        return _plain_info(row, parent, content, rest[1], message)
    except DAMAGE as error:
        raise CorruptError(f"a row of commits is damaged: {error}") from error


def _listed_content(row: Row, read: Callable[[int], Json]) -> tuple[bytes | None, Message | None]:
    """The hash of the content in a row of LIST_COLUMNS, and the message, if the row does not say
    enough about it. The sums in the row are verified, the hash is not."""
    content, codec, json_size, tokens, source, preview, checksum, text_size, calls = row[5:14]
    usage, created_at, own_sum, _ = row[16:]
    if own_sum != created_at ^ _own_sum(usage, calls):
        raise CorruptError(f"commit {row[1].hex()}: calls, usage or time were altered")
    if checksum is None:
        return None, None
    if checksum != blob_checksum(codec, json_size, tokens, source, preview, text_size):
        raise CorruptError(f"commit {row[1].hex()}: its size, tokens or preview are wrong")
    if (preview is not None and calls is None) or codec == FORGOTTEN:
        return content, None
    if json_size > INLINE_BELOW or codec > ZSTD:
        return content, _message(row[3], read(row[4]))
    data = content if codec == PLAIN else inflate(content, json_size)
    return sha256(data).digest(), message_of(row[3], data)


def _plain_info(
    row: Row, parent: bytes | None, content: bytes, toolset: bytes | None, message: Message | None
) -> CommitInfo:
    """What `info_of` returns for a commit that has just a role, a content and perhaps tools, in
    half the time."""
    call_id, name = _text(row[14]), _text(row[15])
    return CommitInfo(
        row[1].hex(),
        parent.hex() if parent else None,
        CommitOperation.APPEND,
        content.hex(),
        row[3],
        call_id,
        name,
        toolset_hash=toolset.hex() if toolset else None,
        metadata=_metadata(call_id, name, row[13], message, is_own=True),
        token_count=row[8],
        byte_size=row[12],
        preview=_preview(row[10], message),
        created_at=as_datetime(row[17]),
    )


def _parts(row: Row, rest: Row, content: bytes | None) -> ReadRow:
    """The same commit as it is stored, without its content."""
    operation, toolset, is_error, origin, note, metadata, config, form = rest
    calls, call_id, name, usage, created_at, own_sum = row[13:19]
    start = 0, None, row[1], row[4], operation, row[3], call_id, name, is_error
    texts = origin, note, metadata, config, usage, calls
    commit = CommitRow(*start, *texts, created_at, own_sum, None, form)
    blob = BlobRow(content, row[6], None, *row[7:13]) if content else None
    return ReadRow(commit, toolset, blob)


_NO_REST = ("append", None, 0, None, None, None, None, None)
_JUST_REFERENCE = (*_NO_REST[:7], "reference")
_REFERENCE = unpack_shape("reference")
_JUST_FORM = _NO_REST[2:7]  # no error, no notes


def _unusual_step(row: Row, rest: Row, data: bytes | None, links: Links) -> Step:
    """A step with more to it than a role and a content."""
    commit_id, digest, _, role, blob_id, _, _, _, token_count, token_source = row[:10]
    text_size, calls, call_id, name = row[12:16]
    operation, toolset, is_error, origin, _, _, config, form = rest
    return Step(
        commit_id, digest, operation, role, blob_id, data, token_count or 0, token_source or "",
        toolset, _text(call_id), _text(name), bool(is_error), stored_json(origin),
        _calls(calls) if calls else (), stored_json(config), links,
        _shape(form) if form else None, text_size or 0,
    )  # fmt: skip


def _stored_hash(
    digest: bytes,
    parent: bytes | None,
    content: bytes | None,
    role: str | None,
    call_id: str | None,
    name: str | None,
    rest: Row,
    links: Links,
) -> bytes:
    """The hash that a commit with these columns must have. The texts of columns are nearly always
    what the envelope has of them. If that is not the hash, their values decide."""
    operation, toolset, is_error, origin, note, metadata, config, form = rest
    if parent and content and operation == "append" and rest[2:7] == _JUST_FORM:
        quick = append_hash(parent, content, role, toolset, call_id, name, form)
        if quick == digest:
            return quick
    quick = envelope_hash(
        content=_hex(content),
        form=form and checked_json(form),
        generation_config=_sorted_text(config),
        is_error="true" if is_error else None,
        links=checked_sorted_json(_links_json(links)) if links else None,
        message=_quoted(note),
        metadata=_sorted_text(metadata),
        name=_quoted(name),
        operation=_quoted(operation),
        origin=_sorted_text(origin),
        parent=_hex(parent),
        role=_quoted(role),
        tool_call_id=_quoted(call_id),
        toolset=_hex(toolset),
    )
    if quick == digest:
        return quick
    return commit_hash(
        operation,
        parent,
        content,
        role,
        tool_call_id=_text(call_id),
        name=_text(name),
        is_error=bool(is_error),
        origin=stored_json(origin),
        links=_links_json(links),
        message=_text(note),
        metadata=stored_json(metadata),
        generation_config=stored_json(config),
        toolset=toolset.hex() if toolset else None,
        form=form,
    )


def _quoted(stored: str | None) -> str | None:
    return None if stored is None else f'"{stored}"'


def _hex(digest: bytes | None) -> str | None:
    return f'"{digest.hex()}"' if digest else None


@lru_cache(256)
def _sorted_text(stored: str | None) -> str | None:
    """A column of JSON with sorted keys. Many commits have the same settings of a model."""
    return None if stored is None else checked_sorted_json(stored_json(stored))


_shape = lru_cache(64)(unpack_shape)


def _calls(stored: str) -> Calls:
    """Id and name of each call."""
    try:
        return _decode_calls(stored)
    except msgspec.MsgspecError:  # half of a surrogate pair
        return msgspec.convert(from_json(stored.encode("ascii")), Calls)


Calls = tuple[tuple[str, str], ...]
_decode_calls = msgspec.json.Decoder(Calls).decode


# Hashes and checksums


def _links_json(links: Sequence[Link]) -> Json:
    fields = [{"kind": link.kind, "target": link.target_hash.hex()} for link in links]
    for link, link_fields in zip(links, fields, strict=True):
        if link.value is not None:
            link_fields["value"] = link.value
    return fields or None


def commit_checksum(usage: str | None, calls: str | None, created_at: int) -> int:
    """Covers what the hash does not, so that a flipped bit is never returned."""
    try:
        return created_at ^ _own_sum(usage, calls)
    except TypeError:  # a damaged column may have another type
        return -1


def blob_checksum(
    codec: int,
    json_size: int,
    token_count: int,
    token_source: str,
    preview: str | None,
    text_size: int,
) -> int:
    try:
        rest = _source_sum(codec, token_source)
        if preview is not None:
            rest = _preview_sum(codec, token_source, preview)
        return json_size ^ text_size << 12 ^ token_count << 24 ^ rest
    except (TypeError, AttributeError):  # a damaged column may have another type
        return -1


@lru_cache(64)
def _source_sum(codec: int, token_source: str) -> int:
    """Of a content without a preview: nearly always the same."""
    return text_sum(codec, token_source, None)


def _preview_sum(codec: int, token_source: str, preview: str) -> int:
    """`text_sum` of the three, in a third of the time."""
    return zlib.crc32(preview.encode("utf-8", "surrogatepass"), _start_sum(codec, token_source))


@lru_cache(64)
def _start_sum(codec: int, token_source: str) -> int:
    return text_sum(codec, token_source, "")


def text_sum(*facts: object) -> int:
    """The CRC-32 of columns that no hash covers."""
    return zlib.crc32("|".join(map(str, facts)).encode("utf-8", "surrogatepass"))


def _own_sum(usage: str | None, calls: str | None) -> int:
    """`text_sum` of both, in less time. Most commits have neither."""
    if usage is None and calls is None:
        return _NOTHING
    return zlib.crc32(f"{usage}|{calls}".encode("utf-8", "surrogatepass"))


_NOTHING = text_sum(None, None)


def branch_checksum(dialog: str, name: str, head: Head) -> int:
    """Of a row of `branches`, with the stored names. Every write needs two of them."""
    try:
        names = zlib.crc32(f"{dialog}|{name}|{head.id}".encode("ascii"))
        return zlib.crc32(head.hash or b"", names)
    except (TypeError, ValueError):  # a damaged column may have another type, or be no ASCII
        return -1


def chunk_checksum(content: bytes, position: int, line: int | None, piece: Piece) -> int:
    """Binds a chunk to its content and its position."""
    return text_sum(content, position, line, piece.hash, piece.codec)


# Columns


stored_name = lru_cache(256)(escape)
"""Names are stored as the inside of an ASCII JSON string. Names of dialogs, branches and tools are
short and few; an id is stored and hashed in one go."""


def unescape(stored: str) -> str:
    if "\\" not in stored and stored.isascii():
        return stored  # the usual case needs no parser
    text = stored_json(f'"{stored}"')
    if not isinstance(text, str):
        raise CorruptError(f"not a stored text: {stored!r:.80}")
    return text


def _text(stored: str | None) -> str | None:
    return None if stored is None else unescape(stored)


def stored_json(stored: str | None) -> Json:
    if stored is None:
        return None
    try:
        return from_json(stored.encode("ascii"))
    except (ValueError, AttributeError) as error:
        raise CorruptError(f"not stored JSON: {stored!r:.80}") from error


def now() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


def as_datetime(microseconds: int) -> datetime:
    try:
        return datetime.fromtimestamp(microseconds / 1e6, UTC)
    except (ValueError, OverflowError, OSError, TypeError) as error:
        raise CorruptError(f"not a stored time: {microseconds!r:.80}") from error
