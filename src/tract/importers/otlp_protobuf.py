"""OTLP in protobuf, as most exporters send it: an export of spans as OTLP JSON. Of each span, what
the reader of JSON looks at. The format has few messages, so no library is needed for it."""

from __future__ import annotations

import struct
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any

from tract.errors import InputError
from tract.model import Json

DEEPEST = 100
"""How deep values may be nested; protobuf has the same limit."""
VARINT, EIGHT_BYTES, BYTES, FOUR_BYTES = 0, 1, 2, 5
"""How a field is written."""

Field = tuple[int, Any]
"""The number of a field and its value: an integer, or bytes."""


def decode_export(data: bytes) -> dict[str, Json]:
    """The spans of an `ExportTraceServiceRequest` as OTLP JSON; InputError if it is broken."""
    return {"resourceSpans": _each(data, 1, _resource_spans)}


def encode_response(rejected: int, message: str) -> bytes:
    """An `ExportTraceServiceResponse`. Without a message, it is a full success, which is empty."""
    if not message:
        return b""
    text = message.encode("utf-8", "replace")
    partial = b"\x08" + _encoded(rejected) + b"\x12" + _encoded(len(text)) + text
    return b"\x0a" + _encoded(len(partial)) + partial


def _resource_spans(data: bytes) -> Json:
    return {"scopeSpans": _each(data, 2, _scope_spans)}


def _scope_spans(data: bytes) -> Json:
    return {"spans": _each(data, 2, _span)}


def _span(data: bytes) -> Json:
    span: dict[str, Json] = {"attributes": _each(data, 9, _pair), "events": _each(data, 11, _event)}
    for number, value in _fields(data):
        match number:
            case 1:
                span["traceId"] = _bytes(value).hex()
            case 2:
                span["spanId"] = _bytes(value).hex()
            case 4:
                span["parentSpanId"] = _bytes(value).hex()
            case 5:
                span["name"] = _text(value)
            case 7:
                span["startTimeUnixNano"] = _time(value)
            case 8:
                span["endTimeUnixNano"] = _time(value)
    return span


def _event(data: bytes) -> Json:
    event: dict[str, Json] = {"attributes": _each(data, 3, _pair)}
    for number, value in _fields(data):
        if number == 1:
            event["timeUnixNano"] = _time(value)
        elif number == 2:
            event["name"] = _text(value)
    return event


def _pair(data: bytes, depth: int = 0) -> Json:
    pair: dict[str, Json] = {"key": "", "value": {}}
    for number, value in _fields(data):
        if number == 1:
            pair["key"] = _text(value)
        elif number == 2:
            pair["value"] = _value(_bytes(value), depth)
    return pair


def _value(data: bytes, depth: int) -> Json:
    """A value of any type: the last field counts."""
    if depth > DEEPEST:
        raise InputError("nested too deep to be read")
    result: Json = {}
    for number, value in _fields(data):
        match number:
            case 1:
                result = {"stringValue": _text(value)}
            case 2:
                result = {"boolValue": bool(_integer(value))}
            case 3:
                result = {"intValue": str(_signed(_integer(value)))}
            case 4:
                result = {"doubleValue": struct.unpack("<d", _bytes(value, 8))[0]}
            case 5:
                values = _each(_bytes(value), 1, lambda inner: _value(inner, depth + 1))
                result = {"arrayValue": {"values": values}}
            case 6:
                pairs = _each(_bytes(value), 1, lambda inner: _pair(inner, depth + 1))
                result = {"kvlistValue": {"values": pairs}}
            case 7:
                result = {"bytesValue": b64encode(_bytes(value)).decode("ascii")}
    return result


# The wire format


def _each(data: bytes, number: int, read: Callable[[bytes], Json]) -> list[Json]:
    """The messages of a repeated field."""
    return [read(_bytes(value)) for field, value in _fields(data) if field == number]


def _fields(data: bytes) -> Iterator[Field]:
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind, size = key & 7, 0
        if kind == VARINT:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        if kind == BYTES:
            size, at = _varint(data, at)
        elif kind in (EIGHT_BYTES, FOUR_BYTES):
            size = 8 if kind == EIGHT_BYTES else 4
        else:
            raise InputError(f"not protobuf: a field of type {kind}")
        if at + size > len(data):
            raise InputError("not protobuf, or cut: a field has no end")
        yield key >> 3, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """An integer in groups of seven bits, and where it ends."""
    number = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise InputError("not protobuf, or cut: a number has no end")
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
    raise InputError("not protobuf: a number has more than 64 bits")


def _encoded(number: int) -> bytes:
    groups = []
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    return bytes([*groups, number])


def _bytes(value: Any, size: int | None = None) -> bytes:
    if not isinstance(value, bytes) or size not in (None, len(value)):
        raise InputError("not an export of spans: a field has another type")
    return value


def _integer(value: Any) -> int:
    if not isinstance(value, int):
        raise InputError("not an export of spans: a field has another type")
    return value


def _signed(number: int) -> int:
    number &= (1 << 64) - 1
    return number - (1 << 64) if number >> 63 else number


def _text(value: Any) -> str:
    return _bytes(value).decode("utf-8", "replace")


def _time(value: Any) -> str:
    """64 bits are written as a text in JSON."""
    return str(struct.unpack("<Q", _bytes(value, 8))[0])
