"""Rows of the database as values, and back. Whatever is read here is verified."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

from tract.errors import CorruptError
from tract.hashing import (
    QUOTE,
    Json,
    append_hash,
    checked_json,
    commit_hash,
    content_hash,
    escape,
    from_json,
    to_json,
)
from tract.model import (
    CommitInfo,
    CommitOperation,
    Draft,
    Gist,
    Link,
    Mark,
    Message,
    Step,
    glance,
    pack_shape,
    unpack_content,
    unpack_shape,
)
from tract.storage.codec import (
    CHUNK_SIZE,
    CHUNKED,
    COMPRESS_ABOVE,
    FORGOTTEN,
    PLAIN,
    TEXT_CHUNKED,
    Piece,
    inflate,
    pack,
    unpack,
)
from tract.storage.driver import Row

Links = tuple[Link, ...]
MAX_GIST = 1 << 16
DAMAGE = (TypeError, AttributeError, ValueError, LookupError)
"""What comes of a column that is not what it should be."""


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
    byte_size: int
    token_count: int
    token_source: str
    preview: str | None
    checksum: int


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
        role, call_id, name, origin = (
            message.role, message.tool_call_id, message.name, message.origin,
        )  # fmt: skip
        if isinstance(message.content, tuple) and role != "tool":
            calls = [[call.id, call.name] for call in message.tool_calls]
    stored_usage = None if usage is None else checked_json(usage)
    stored_calls = checked_json(calls) if calls else None
    return CommitRow(
        dialog_id,
        parent_id,
        digest,
        blob_id,
        draft.operation.value,
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
        commit_checksum(stored_usage, stored_calls, created_at),
        toolset_id,
        pack_shape(draft.shape) if draft.shape else None,
    )


def blob_row(draft: Draft) -> BlobRow:
    data, message = draft.payload, draft.message
    assert data is not None
    assert message is not None
    large = TEXT_CHUNKED if data[0] == QUOTE else CHUNKED
    if len(data) <= COMPRESS_ABOVE:
        piece, preview = Piece(content_hash(data), PLAIN, data), None
    else:
        piece = pack(data) if len(data) <= CHUNK_SIZE else Piece(content_hash(data), large, b"")
        preview = escape(glance(message))
    facts = (len(data), draft.token_count, draft.token_source, preview)
    return BlobRow._make((*piece, *facts, blob_checksum(piece.codec, *facts)))


def tombstone(row: BlobRow) -> BlobRow:
    """The row of a content that was forgotten: its size stays, nothing that it said."""
    facts = (row.byte_size, 0, row.token_source, None)
    return BlobRow(row.hash, FORGOTTEN, None, *facts, blob_checksum(FORGOTTEN, *facts))


def draft_hash(draft: Draft, parent: bytes | None, content: bytes | None) -> bytes:
    """The name that the draft gets on this parent."""
    message = draft.message
    rest = (draft.note, draft.metadata, draft.generation_config)
    is_plain = draft.operation == CommitOperation.APPEND and rest == (None, None, None)
    is_plain = is_plain and message is not None and message.origin is None and not message.is_error
    if is_plain and message and parent and content:
        call_id, name = message.tool_call_id, message.name
        return append_hash(
            parent,
            content,
            message.role,
            draft.toolset.hash if draft.toolset else None,
            None if call_id is None else stored_name(call_id),
            None if name is None else stored_name(name),
            pack_shape(draft.shape) if draft.shape else None,
        )
    fields: dict[str, Json] = {
        "links": _links_json(draft.links),
        "message": draft.note,
        "metadata": draft.metadata,
        "generation_config": draft.generation_config,
        "toolset": draft.toolset.hash.hex() if draft.toolset else None,
        "form": pack_shape(draft.shape) if draft.shape else None,
    }
    if message is None:
        return commit_hash(draft.operation.value, parent, **fields)
    fields["tool_call_id"], fields["name"] = message.tool_call_id, message.name
    fields["is_error"], fields["origin"] = message.is_error, message.origin
    return commit_hash(draft.operation.value, parent, content, message.role, **fields)


# Reading commits for people


class ReadRow(NamedTuple):
    """A commit as it is read, with its content and the hash of its toolset where it has them."""

    commit: CommitRow
    toolset: bytes | None
    blob: BlobRow | None


def split(row: Row) -> ReadRow:
    """What is in a row of READ_COLUMNS."""
    blob = None if row[19] is None else BlobRow._make(row[19:])
    return ReadRow(CommitRow(0, None, *row[1:18]), row[18], blob)


READ_COLUMNS = ", ".join(
    ["c.id"]
    + [f"c.{column}" for column in CommitRow._fields[2:]]
    + ["s.hash"]
    + [f"b.{column}" for column in BlobRow._fields]
)


def verify(row: ReadRow, parent: bytes | None, links: Links) -> None:
    """Refuse a row with a flipped bit: the hash covers most columns, a checksum the others."""
    try:
        _verify(*row, parent, links)
    except DAMAGE as error:
        raise CorruptError(f"a row of commits is damaged: {error}") from error


def _verify(
    row: CommitRow, toolset: bytes | None, blob: BlobRow | None, parent: bytes | None, links: Links
) -> None:
    is_plain = row.origin is row.message is row.metadata is row.generation_config is None
    if is_plain and row.operation == "append" and parent and blob and not row.is_error:
        digest = append_hash(
            parent, blob.hash, row.role, toolset, row.tool_call_id, row.name, row.form
        )
    else:
        digest = commit_hash(
            row.operation,
            parent,
            blob.hash if blob else None,
            row.role,
            tool_call_id=_text(row.tool_call_id),
            name=_text(row.name),
            is_error=bool(row.is_error),
            origin=stored_json(row.origin),
            links=_links_json(links),
            message=_text(row.message),
            metadata=stored_json(row.metadata),
            generation_config=stored_json(row.generation_config),
            toolset=toolset.hex() if toolset else None,
            form=row.form,
        )
    if digest != row.hash:
        raise CorruptError(f"commit {row.hash.hex()} does not match its hash")
    if row.checksum != commit_checksum(row.usage, row.calls, row.created_at):
        raise CorruptError(f"commit {row.hash.hex()}: calls, usage or time were altered")
    if blob:
        verify_blob(blob)


def verify_blob(blob: BlobRow) -> None:
    if not isinstance(blob.hash, bytes):
        raise CorruptError(f"a content has no hash but {blob.hash!r:.80}")
    if blob.checksum != blob_checksum(blob.codec, *blob[3:7]):
        raise CorruptError(f"content {blob.hash.hex()}: its size, tokens or preview are wrong")


def info_of(
    read: ReadRow, parent: bytes | None, links: Links, message: Message | None = None
) -> CommitInfo:
    """A commit for people. With its message, nothing of its content is parsed. Metadata is parsed
    in any case: what is returned must not change with what the caller passed in."""
    row, toolset, blob = read
    call_id, name, config = row.tool_call_id, row.name, row.generation_config
    if call_id is not None and "\\" in call_id:
        call_id = unescape(call_id)
    if name is not None and "\\" in name:
        name = unescape(name)
    metadata = _derived(call_id, name, row.calls)
    if row.metadata is not None:
        metadata |= stored_json(row.metadata)
    return CommitInfo(
        commit_hash=row.hash.hex(),
        parent_hash=parent.hex() if parent else None,
        operation=CommitOperation(row.operation),
        content_hash=blob.hash.hex() if blob else None,
        role=row.role,
        tool_call_id=call_id,
        name=name,
        is_error=bool(row.is_error),
        replaces=_replaced(links) if links else (),
        marks=_marks(links) if links else (),
        toolset_hash=toolset.hex() if toolset else None,
        form=unpack_shape(row.form).form if row.form else None,
        message=None if row.message is None else unescape(row.message),
        metadata=metadata,
        generation_config=config if config is None else stored_json(config),
        usage=row.usage if row.usage is None else stored_json(row.usage),
        token_count=blob.token_count if blob else 0,
        byte_size=blob.byte_size if blob else 0,
        preview=_preview(row, blob, message) if blob else "",
        created_at=as_datetime(row.created_at),
    )


def _replaced(links: Links) -> tuple[str, ...]:
    return tuple(link.target_hash.hex() for link in links if link.kind == "replaces")


def _marks(links: Links) -> tuple[Mark, ...]:
    return tuple(
        Mark(link.target_hash.hex(), link.kind, link.value)
        for link in links
        if link.kind != "replaces"
    )


def _derived(call_id: str | None, name: str | None, calls: str | None) -> dict[str, Json]:
    """What a caller's metadata is shown with, so that there is one source of it."""
    if call_id is not None:
        return {"tool_call_id": call_id, "name": name}
    if calls:
        return {"tool_calls": [{"id": call, "name": tool} for call, tool in stored_json(calls)]}
    return {}


def _preview(row: CommitRow, blob: BlobRow, message: Message | None) -> str:
    if blob.codec == FORGOTTEN:
        return "[forgotten]"
    if blob.preview is not None:
        return unescape(blob.preview)
    if message is not None:
        return glance(message)
    data = unpack(blob.hash, blob.codec, blob.payload, blob.byte_size)
    return glance(Message(row.role or "", unpack_content(row.role or "", from_json(data))))


# Reading chains


# The hash of a content is not read where its bytes are: it is computed from them.
STEP_COLUMNS = """
    c.id, c.hash, c.operation, c.role, c.blob_id, b.hash, b.codec, b.payload,
    b.byte_size, b.token_count, b.token_source, b.preview, b.checksum,
    c.calls, c.tool_call_id, c.name, c.is_error, c.origin, c.message, c.metadata,
    c.generation_config, c.form, s.hash"""


def steps_of(rows: Iterable[Row], parent: bytes | None, links: Mapping[int, Links]) -> list[Step]:
    """The commits of a chain in rows of STEP_COLUMNS, verified."""
    steps: list[Step] = []
    try:
        # Every cold start comes through here once per message: the usual row is dealt with on the
        # spot. Whether a backslash is there tells whether a text has to be parsed.
        for row in rows:
            (
                commit_id, digest, operation, role, blob_id, content, codec, payload,
                byte_size, token_count, token_source, preview, checksum,
                calls, call_id, name, is_error, origin, note, metadata, config, form, toolset,
            ) = row  # fmt: skip
            data = None
            if checksum is not None:
                if checksum != blob_checksum(codec, byte_size, token_count, token_source, preview):
                    raise CorruptError(f"commit {digest.hex()}: the size or tokens of it are wrong")
                if payload is not None:
                    data = payload if codec == PLAIN else inflate(payload, byte_size)
                    content = sha256(data).digest()  # if it is wrong, so is the hash of the commit
            is_plain = origin is note is metadata is config is None and not is_error
            if is_plain and parent and operation == "append":
                actual = append_hash(parent, content, role, toolset, call_id, name, form)
                step = Step(
                    commit_id, digest, operation, role, blob_id, data, token_count, token_source,
                    toolset,
                    unescape(call_id) if call_id is not None and "\\" in call_id else call_id,
                    unescape(name) if name is not None and "\\" in name else name,
                    calls=_calls(calls) if calls else (),
                    shape=_shape(form) if form else None,
                    byte_size=byte_size,
                )  # fmt: skip
            else:
                own = links.get(commit_id, ())
                step, actual = _unusual_step(row, data, parent, content, own, toolset)
            if actual != digest:
                raise CorruptError(f"commit {digest.hex()} or its content does not match its hash")
            steps.append(step)
            parent = digest
    except DAMAGE as error:
        raise CorruptError(f"a row of the history is damaged: {error}") from error
    return steps


def _unusual_step(
    row: Row,
    data: bytes | None,
    parent: bytes | None,
    content: bytes | None,
    links: Links,
    toolset: bytes | None,
) -> tuple[Step, bytes]:
    """A step with more to it than a role and a content, and the hash that it must have."""
    commit_id, digest, operation, role, blob_id = row[:5]
    calls, call_id, name, is_error, origin, note, metadata, config, form = row[13:22]
    fields = {
        "tool_call_id": _text(call_id),
        "name": _text(name),
        "is_error": bool(is_error),
        "origin": stored_json(origin),
        "generation_config": stored_json(config),
    }
    tokens, source = row[9] or 0, row[10] or ""
    step = Step(
        commit_id, digest, operation, role, blob_id, data, tokens, source, toolset,
        calls=_calls(calls) if calls else (), links=links, shape=_shape(form) if form else None,
        byte_size=row[8] or 0, **fields,
    )  # fmt: skip
    actual = commit_hash(
        operation, parent, content, role,
        links=_links_json(links), message=_text(note), metadata=stored_json(metadata),
        toolset=toolset.hex() if toolset else None, form=form, **fields,
    )  # fmt: skip
    return step, actual


_shape = lru_cache(64)(unpack_shape)


def _calls(stored: str) -> Sequence[Sequence[str]]:
    """Id and name of each call. Whether they are the right ones is seen in the content."""
    calls: list[list[str]] = from_json(stored.encode("ascii"))
    if not all(isinstance(part, str) for call_id, name in calls for part in (call_id, name)):
        raise CorruptError(f"not stored calls: {stored!r:.80}")
    return calls


# Hashes and checksums


def _links_json(links: Sequence[Link]) -> Json:
    return [_link_json(link) for link in links] if links else None


def _link_json(link: Link) -> dict[str, str]:
    named = {"kind": link.kind, "target": link.target_hash.hex()}
    return named if link.value is None else {**named, "value": link.value}


def commit_checksum(usage: str | None, calls: str | None, created_at: int) -> int:
    """For what the hash does not cover, so that a flipped bit is never returned."""
    try:
        return created_at ^ (_NOTHING if usage is calls is None else _text_sum(usage, calls))
    except TypeError:  # a damaged column may have another type
        return -1


def blob_checksum(
    codec: int, byte_size: int, token_count: int, token_source: str, preview: str | None
) -> int:
    # Without a preview, what is no number is nearly always the same: its sum is remembered.
    known = preview is None
    rest = _source_sum(codec, token_source) if known else _text_sum(codec, token_source, preview)
    try:
        return byte_size ^ token_count << 24 ^ rest
    except TypeError:
        return -1


@lru_cache(64)
def _source_sum(codec: int, token_source: str) -> int:
    return _text_sum(codec, token_source, None)


def _text_sum(*facts: object) -> int:
    return zlib.crc32("|".join(map(str, facts)).encode("utf-8", "surrogatepass"))


_NOTHING = _text_sum(None, None)

# What is read by itself has a sum of its own


def sealed(value: Json) -> str:
    text = to_json(value)
    return f"{zlib.crc32(text.encode('ascii')):08x}{text}"


def unsealed(stored: str) -> Json:
    try:
        data = stored[8:].encode("ascii")
        if int(stored[:8], 16) != zlib.crc32(data):
            raise CorruptError(f"stored JSON was altered: {stored[8:]!r:.80}")
        return from_json(data)
    except DAMAGE as error:
        raise CorruptError(f"stored JSON is damaged: {error}") from error


def stored_gist(gist: Gist) -> bytes:
    """Compressed by zlib, which has a sum of its own and starts faster than zstd: thousands of
    gists are read at once."""
    text = to_json([gist.kind, gist.summary, gist.preview, gist.is_error, gist.token_count])
    return zlib.compress(text.encode("ascii"))


def gist_of(stored: bytes) -> Gist:
    try:
        reader = zlib.decompressobj()
        data = reader.decompress(stored, MAX_GIST)
        if not reader.eof:
            raise CorruptError("a stored preview is cut off, or too large")
        return Gist(*from_json(data))
    except (zlib.error, *DAMAGE) as error:
        raise CorruptError(f"a stored preview is damaged: {error}") from error


# Columns


stored_name = lru_cache(256)(escape)
"""Whatever a caller names is stored as the inside of an ASCII JSON string. Names of dialogs,
branches and tools are short and few; an id is stored and hashed in a row."""


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
