"""Exports of spans in protobuf, encoded by hand as the specification has them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protobuf import as_protobuf, field, varint
from tests.samples.otel import export, pairs, span, value
from tract.errors import InputError
from tract.importers.otlp_protobuf import DEEPEST, decode_export, encode_response

TRACE = "0af7651916cd43dd8448eb211c80319c"


def spans_of(decoded: Any) -> Any:
    return decoded["resourceSpans"][0]["scopeSpans"][0]["spans"]


def test_a_span_is_the_same_as_in_json() -> None:
    attributes = {
        "text": "Grüße \U0001f600",
        "yes": True,
        "no": False,
        "small": -1,
        "large": 2**62,
        "float": 0.5,
        "list": ["a", 1, [True]],
        "dict": {"inner": {"deep": "x"}},
        "nothing": "",
    }
    event = {"timeUnixNano": "7", "name": "gen_ai.choice", "attributes": pairs({"index": 0})}
    sent = span(1, attributes, traceId=TRACE, spanId="b7ad6b7169203331", events=[event])
    sent["parentSpanId"] = "00f067aa0ba902b7"
    decoded = spans_of(decode_export(as_protobuf(export(sent))))
    assert decoded == [sent]


def test_what_is_not_known_is_skipped() -> None:
    known = field(1, bytes.fromhex(TRACE)) + field(5, b"chat")
    others = field(3, b"state") + varint(6 << 3) + varint(3) + varint(16 << 3 | 5) + b"1234"
    body = field(1, field(1, b"resource") + field(2, field(2, others + known)))
    [decoded] = spans_of(decode_export(body))
    assert (decoded["traceId"], decoded["name"]) == (TRACE, "chat")


def test_bytes_and_nothing_are_values() -> None:
    body = field(1, field(2, field(2, field(9, field(1, b"k") + field(2, field(7, b"\0\xff"))))))
    [pair] = spans_of(decode_export(body))[0]["attributes"]
    assert pair == {"key": "k", "value": {"bytesValue": "AP8="}}
    body = field(1, field(2, field(2, field(9, field(1, b"k")))))
    [pair] = spans_of(decode_export(body))[0]["attributes"]
    assert pair == {"key": "k", "value": {}}


def test_an_empty_export_has_no_spans() -> None:
    assert decode_export(b"") == {"resourceSpans": []}


@pytest.mark.parametrize(
    ("body", "fact"),
    [
        (b"\x0a\x05abc", "has no end"),
        (b"\x80", "a number has no end"),
        (b"\xff" * 11, "more than 64 bits"),
        (b"\x0b", "a field of type 3"),
        (b"\x08\x01", "another type"),
        (field(1, field(2, field(2, field(7, b"1234")))), "another type"),
        (b'{"resourceSpans": []}', "not protobuf"),
    ],
)
def test_what_is_broken_is_refused(body: bytes, fact: str) -> None:
    with pytest.raises(InputError, match=fact):
        decode_export(body)


def test_values_are_nested_only_so_deep() -> None:
    inner = field(1, b"x")
    for _ in range(DEEPEST + 1):
        inner = field(5, field(1, inner))
    body = field(1, field(2, field(2, field(9, field(1, b"k") + field(2, inner)))))
    with pytest.raises(InputError, match="too deep"):
        decode_export(body)


@given(st.binary(max_size=200))
def test_no_bytes_do_more_than_be_refused(body: bytes) -> None:
    with suppress(InputError):
        decode_export(body)


json_values = st.recursive(
    st.text(st.characters(codec="utf-8"), max_size=20)
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(json_values)
def test_every_value_survives(one: Any) -> None:
    sent = span(1, {}, traceId=TRACE, spanId="b7ad6b7169203331", parentSpanId="", events=[])
    sent["attributes"] = [{"key": "k", "value": value(one)}]
    [decoded] = spans_of(decode_export(as_protobuf(export(sent))))
    assert decoded["attributes"] == sent["attributes"]


def test_a_success_is_empty_and_a_partial_one_has_both_fields() -> None:
    assert encode_response(0, "") == b""
    partial = b"\x08\xac\x02" + b"\x12\x03no\x21"
    assert encode_response(300, "no!") == b"\x0a" + bytes([len(partial)]) + partial
