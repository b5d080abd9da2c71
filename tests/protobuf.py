"""Exports of spans in protobuf, as the exporters of OpenTelemetry encode them."""

from __future__ import annotations

import struct
from base64 import b64decode
from typing import Any


def varint(number: int) -> bytes:
    groups = bytearray()
    number &= (1 << 64) - 1
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    groups.append(number)
    return bytes(groups)


def field(number: int, content: bytes) -> bytes:
    """A field with a length: bytes, a text or a message."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def as_protobuf(export: Any) -> bytes:
    """An export as OTLP JSON, in protobuf."""
    return b"".join(field(1, _resource(one)) for one in export["resourceSpans"])


def _resource(spans: Any) -> bytes:
    return field(1, b"") + b"".join(field(2, _scope(one)) for one in spans["scopeSpans"])


def _scope(spans: Any) -> bytes:
    return b"".join(field(2, _span(one)) for one in spans["spans"])


def _span(span: Any) -> bytes:
    ids = ((1, "traceId"), (2, "spanId"), (4, "parentSpanId"))
    return b"".join(
        [
            *(field(number, bytes.fromhex(span[name])) for number, name in ids),
            field(5, span["name"].encode()),
            _time(7, span["startTimeUnixNano"]),
            _time(8, span["endTimeUnixNano"]),
            *(field(9, _pair(pair)) for pair in span["attributes"]),
            *(field(11, _event(event)) for event in span.get("events", ())),
        ]
    )


def _event(event: Any) -> bytes:
    pairs = (field(3, _pair(pair)) for pair in event["attributes"])
    name = field(2, event["name"].encode())
    return b"".join([_time(1, event["timeUnixNano"]), name, *pairs])


def _time(number: int, nanoseconds: str) -> bytes:
    return varint(number << 3 | 1) + struct.pack("<Q", int(nanoseconds))


def _pair(pair: Any) -> bytes:
    return field(1, pair["key"].encode()) + field(2, _value(pair["value"]))


def _value(value: Any) -> bytes:
    [(kind, inner)] = value.items()
    match kind:
        case "stringValue":
            return field(1, inner.encode())
        case "boolValue":
            return varint(2 << 3) + varint(int(inner))
        case "intValue":
            return varint(3 << 3) + varint(int(inner))
        case "doubleValue":
            return varint(4 << 3 | 1) + struct.pack("<d", inner)
        case "arrayValue":
            return field(5, b"".join(field(1, _value(one)) for one in inner["values"]))
        case "kvlistValue":
            return field(6, b"".join(field(1, _pair(one)) for one in inner["values"]))
    return field(7, b64decode(inner))
