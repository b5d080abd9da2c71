"""JSON bytes and the hashes over them.

Content is stored as ASCII JSON in the caller's key order, and its hash is taken over those very
bytes, so verifying is a plain hash. Sorted JSON is used where two spellings of one value must have
one hash: the commit envelope and tool schemas. The encoder is always the standard one, because
others print floats and large integers differently; only a text in ASCII is left to another one. The
decoder may be another one: all return the same values.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from hashlib import sha256
from json.encoder import (  # type: ignore[attr-defined]
    c_make_encoder,
    encode_basestring,
    encode_basestring_ascii,
)
from typing import Any

import msgspec

from tract.errors import CorruptError, NotJsonError

Json = Any
"""A value that JSON can hold: str, int, float, bool, None, and lists and dicts of them."""

MAX_DEPTH = 200
TOO_DEEP = f"JSON is nested deeper than {MAX_DEPTH} levels"
MAX_INT = 1 << 64
QUOTE = ord('"')

Encode = Callable[[Any], str]


def _encoder(
    *, sort_keys: bool = False, ensure_ascii: bool = True, is_spaced: bool = False
) -> Encode:
    """The standard encoder. It builds the same C encoder for every value, which costs more than a
    short value does; here it is built once. With spaces it is for people, and takes any number."""
    comma, colon = (", ", ": ") if is_spaced else (",", ":")
    standard = json.JSONEncoder(
        ensure_ascii=ensure_ascii,
        allow_nan=is_spaced,
        separators=(comma, colon),
        sort_keys=sort_keys,
    )
    if c_make_encoder is None:  # another Python than CPython
        return standard.encode
    escape = encode_basestring_ascii if ensure_ascii else encode_basestring
    options = sort_keys, False, is_spaced
    parts = c_make_encoder(None, standard.default, escape, None, colon, comma, *options)
    return lambda value: "".join(parts(value, 0))


checked_json = _encoder()
"""ASCII JSON of a value that was checked before."""
checked_sorted_json = _encoder(sort_keys=True)
"""The same with sorted keys."""
checked_wire_json = _encoder(ensure_ascii=False)
"""The same in the caller's order, with all characters as they are."""
_spaced_json = _encoder(ensure_ascii=False, is_spaced=True)
_decode = msgspec.json.Decoder().decode


def to_json(value: Json) -> str:
    """ASCII JSON in the caller's key order; a typed error for what JSON cannot hold exactly."""
    if type(value) is str:
        return encode_basestring_ascii(value)
    return _check_and_encode(checked_json, value)


def json_bytes(value: Json) -> bytes:
    """The same as bytes. Of a long message nearly all is one text."""
    if type(value) is str and value.isascii() and _DELETE not in value and _is_standard:
        return _text_bytes(value)
    return to_json(value).encode("ascii")


_text_bytes = msgspec.json.Encoder().encode
"""The JSON of a text in a quarter of the time. It does not escape DELETE."""
_DELETE = chr(127)
_ASCII = "".join(map(chr, range(127)))
_is_standard = _text_bytes(_ASCII) == encode_basestring_ascii(_ASCII).encode("ascii")
"""Whether it escapes what the standard encoder does: a later version could do more or less."""


def spaced_json(value: Json) -> str:
    """JSON for people; NotJsonError for a value that contains itself."""
    try:
        return _spaced_json(value)
    except RecursionError:
        raise NotJsonError(TOO_DEEP) from None


def check_json(value: Json) -> None:
    """Raises what `to_json` raises, without encoding the usual value."""
    level = [value]
    for _ in range(MAX_DEPTH):
        children: list[Json] = []
        for item in level:
            kind = type(item)
            if kind is dict and _TEXT.issuperset(map(type, item)):
                children += item.values()
            elif kind is list:
                children += item
            elif kind is not int or not -MAX_INT < item < MAX_INT:
                to_json(value)
                return
        level = [child for child in children if type(child) not in _PLAIN]
        if not level:
            return
    to_json(value)


def to_sorted_json(value: Json) -> str:
    """ASCII JSON with sorted keys: one text for equal values."""
    return _check_and_encode(checked_sorted_json, value)


def escape(text: str) -> str:
    """The inside of the text as an ASCII JSON string."""
    return encode_basestring_ascii(text)[1:-1]


def from_json(data: bytes | memoryview) -> Json:
    """The value of stored bytes. Half of a surrogate pair is read by the standard decoder alone."""
    try:
        return _decode(data)
    except msgspec.MsgspecError:
        return json.loads(bytes(data))


def content_hash(data: bytes) -> bytes:
    try:
        return sha256(data).digest()
    except TypeError:  # a damaged row may hold something else
        raise CorruptError(f"a content must be bytes, not {type(data).__name__}") from None


def hash_tool_schema(schema: dict[str, Json]) -> str:
    """SHA-256 of the sorted JSON: the order of keys does not matter at any depth."""
    return sha256(to_sorted_json(schema).encode("ascii")).hexdigest()


def hash_stored_schema(data: bytes) -> bytes:
    """The same for a schema that was stored, and so was checked before."""
    return sha256(checked_sorted_json(from_json(data)).encode("ascii")).digest()


def toolset_hash(tools: Iterable[bytes]) -> bytes:
    """The hash of an ordered set of tools, from the hashes of their schemas."""
    return sha256(checked_json([tool.hex() for tool in tools]).encode("ascii")).digest()


def commit_hash(
    operation: str,
    parent: bytes | None = None,
    content: bytes | None = None,
    role: str | None = None,
    **rest: Json,
) -> bytes:
    """SHA-256 of the envelope of a commit as sorted JSON. Absent fields are omitted, so that fields
    added later change no old hash."""
    fields = {
        "operation": operation,
        "parent": parent.hex() if parent else None,
        "content": content.hex() if content else None,
        "role": role,
        **rest,
    }
    present = {key: v for key, v in fields.items() if v is not None and v is not False}
    return sha256(checked_sorted_json(present).encode("ascii")).digest()


def envelope_hash(**fields: str | None) -> bytes:
    """The same from the texts of the fields, in the order of their names; those that are None are
    absent."""
    present = ",".join(f'"{name}":{text}' for name, text in fields.items() if text is not None)
    return sha256(f"{{{present}}}".encode("ascii")).digest()


def append_hash(
    parent: bytes,
    content: bytes,
    role: str | None,
    toolset: bytes | None = None,
    call_id: str | None = None,
    name: str | None = None,
    form: str | None = None,
) -> bytes:
    """The same for the envelope that most commits have, because every read verifies it. The id and
    the name are the insides of JSON strings, as they are stored."""
    end = "" if toolset is None else f',"toolset":"{toolset.hex()}"'
    if call_id is not None:
        end = f',"tool_call_id":"{call_id}"{end}'
    middle = "" if form is None else f'"form":{encode_basestring_ascii(form)},'
    if name is not None:
        middle += f'"name":"{name}",'
    envelope = (
        f'{{"content":"{content.hex()}",{middle}"operation":"append",'
        f'"parent":"{parent.hex()}","role":"{role}"{end}}}'
    )
    return sha256(envelope.encode("ascii")).digest()


def _check_and_encode(encode: Encode, value: Json) -> str:
    try:
        text = encode(value)
    except RecursionError:
        raise NotJsonError(TOO_DEEP) from None
    except (TypeError, ValueError) as error:
        is_nan = str(error).startswith("Out of range float")  # the rest differs between Pythons
        fact = "NaN and Infinity are not allowed" if is_nan else error
        raise NotJsonError(f"not valid JSON: {fact}") from None
    # The encoder accepts other keys and any depth, and would change them.
    level = [value]
    for _ in range(MAX_DEPTH):
        children: list[Json] = []
        for item in level:
            if isinstance(item, dict):
                for key in item:
                    if not isinstance(key, str):
                        kind = type(key).__name__
                        raise NotJsonError(f"JSON keys are strings, not {kind}: {key!r}")
                children += item.values()
            elif isinstance(item, list | tuple):
                children += item
        level = [child for child in children if type(child) not in _SCALARS]
        if not level:
            return text
    raise NotJsonError(TOO_DEEP)


_SCALARS = frozenset({str, int, float, bool, type(None)})
_PLAIN = frozenset({str, bool, type(None)})
_TEXT = frozenset({str})


def json_or_text(text: str) -> Json:
    """The value of a JSON text; the text itself if it is not JSON. Empty means no arguments."""
    try:
        value = _strict.decode(text or "{}")
        check_json(value)  # refuses what is too large or too deep to be sent on
    except (ValueError, RecursionError):
        return text
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


_strict = json.JSONDecoder(parse_constant=_refuse)
