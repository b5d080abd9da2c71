"""JSON that nobody vouches for: read within bounds, also where it is cut or glued together."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice

from tract.errors import InputError
from tract.model import Json

MAX_WEIGHT = 1_000_000
"""Of what is in one text: a comma weighs one, a bracket three, about as the memory that their
values take."""
MAX_GLUED = 1000

_BRACKET = re.compile(
    r'(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+(?:(["\[{])|([\]}])|\Z)', re.DOTALL
)
"""Texts and numbers up to the next bracket, or up to a text that does not end."""
_COMMA = re.compile(r'(?:[^",]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+(?:(,)|"|\Z)', re.DOTALL)
_CLOSERS = {"{": "}", "[": "]"}
_decode = json.JSONDecoder().raw_decode


def check_weight(data: bytes) -> None:
    if len(data) * 3 <= MAX_WEIGHT:
        return
    if data.count(b",") + 3 * (data.count(b"[") + data.count(b"{")) > MAX_WEIGHT:
        raise InputError("too many values in one text")


def parsed(data: bytes) -> Json:
    """The one value that the text is."""
    check_weight(data)
    try:
        return json.loads(data.decode("utf-8-sig", "surrogatepass"))
    except RecursionError:
        raise InputError("nested too deep to be read") from None
    except ValueError as error:
        raise InputError(f"not JSON: {error}") from None


def parsed_or_none(data: bytes) -> Json:
    try:
        return parsed(data)
    except InputError:
        return None


def glued(data: bytes) -> list[Json]:
    """The whole objects with which a line begins that is no JSON: somebody else's may be behind
    them, and bytes in them may be none of a text."""
    return list(islice(_objects(data.decode("utf-8-sig", "replace")), MAX_GLUED))


def _objects(text: str) -> Iterator[Json]:
    left = text.lstrip()
    place = len(text) - len(left)
    while text.startswith("{", place):
        try:
            value, place = _decode(text, place)
        except (ValueError, RecursionError):
            return
        yield value


def begun(cut: bytes, depth: int | None = None) -> Json:
    """What the beginning of a document says; None where that is nothing."""
    try:
        return parsed(mended(cut, depth))
    except InputError:
        return None


def mended(cut: bytes, depth: int | None = None) -> bytes:
    """The beginning of a document as a document: without the value in which it was cut, and with
    everything closed that it left open. What is deeper than `depth` is kept only if it is whole."""
    check_weight(cut)
    text = cut.decode("utf-8-sig", "ignore")
    stack: list[str] = []
    closers: list[str] = []
    begin = end = 0  # of the last stretch in which nothing is open that is too deep
    is_shallow = True
    for token in _BRACKET.finditer(text):
        opened, closed = token.groups()
        if is_shallow:
            end = token.end() - bool(opened or closed)
        if opened in ('"', None) and closed is None:
            break
        if opened:
            stack.append(_CLOSERS[opened])
        elif not stack or stack.pop() != closed:
            return b""
        is_shallow = depth is None or len(stack) <= depth
        if is_shallow:
            begin = end = token.end()
            closers = stack if depth is None else stack.copy()
    safe = text[: _last_comma(text, begin, end)]
    return (safe + "".join(reversed(closers))).encode("utf-8", "surrogatepass")


def _last_comma(text: str, begin: int, end: int) -> int:
    """Where the last whole value of a stretch without brackets ends."""
    found = begin
    for token in _COMMA.finditer(text, begin, end):
        if token[1]:
            found = token.start(1)
    return found
