"""Untrusted JSON: read within bounds, also if it is cut off or several values stand in a row."""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterator
from itertools import islice
from typing import NamedTuple

from tract.errors import InputError
from tract.model import Json

MAX_WEIGHT = 1_000_000
"""Of one text: a comma weighs one, a bracket three, in proportion to the memory of their values."""
MAX_OBJECTS = 1000
MAX_REPAIRS = 100
MAX_KEY = 200

_BRACKET = re.compile(
    r'(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+(?:(["\[{])|([\]}])|\Z)', re.DOTALL
)
"""Strings and numbers up to the next bracket, or up to a string that does not end."""
_COMMA = re.compile(r'(?:[^",]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+(?:(,)|"|\Z)', re.DOTALL)
_KEY = re.compile(r'"((?:[^"\\]|\\.)*)"\s*:\s*\Z')
_WORD = re.compile(r'[^\s",:\[\]{}]*')
_CLOSERS = {"{": "}", "[": "]"}
_STRETCH = re.compile(
    rb'(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+(?:([\[{])|([\]}]))', re.DOTALL
)
"""The same of bytes; no match where the next bracket is not there yet."""
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
"""A string; one that does not end reaches to the end."""
_loads = json.JSONDecoder().decode
_decode = json.JSONDecoder().raw_decode


def check_weight(data: bytes) -> None:
    if len(data) * 3 <= MAX_WEIGHT:
        return
    # What stands in a string is part of one value; to leave the strings out takes longer.
    if _weight(data) > MAX_WEIGHT and _weight(_STRING.sub(b"", data)) > MAX_WEIGHT:
        raise InputError("too many values in one text")


def _weight(data: bytes) -> int:
    return data.count(b",") + 3 * (data.count(b"[") + data.count(b"{"))


def parse(data: bytes) -> Json:
    """The value of a JSON text."""
    check_weight(data)
    try:
        return _loads(data.removeprefix(BOM_UTF8).decode("utf-8", "surrogatepass"))
    except RecursionError:
        raise InputError("nested too deep to be read") from None
    except ValueError as error:
        raise InputError(f"not JSON: {error}") from None


def parse_or_none(data: bytes) -> Json:
    try:
        return parse(data)
    except InputError:
        return None


def split_objects(data: bytes) -> list[Json]:
    """The complete objects at the beginning of a line that is not JSON: something else may follow
    them, and bytes that are not UTF-8 are replaced."""
    return list(islice(_objects(data.decode("utf-8-sig", "replace")), MAX_OBJECTS))


def _objects(text: str) -> Iterator[Json]:
    left = text.lstrip()
    place = len(text) - len(left)
    while text.startswith("{", place):
        try:
            value, place = _decode(text, place)
        except (ValueError, RecursionError):
            return
        yield value


def parse_beginning(cut: bytes) -> Json:
    """The value of the beginning of a document; None if it has none."""
    try:
        return parse(repair(cut))
    except InputError:
        return None


def repair(cut: bytes) -> bytes:
    """The beginning of a document as a document: without the value that was cut, and with every
    bracket closed. For detecting a format: what is cut off from a container is not visible."""
    check_weight(cut)
    text = cut.decode("utf-8-sig", "ignore")
    closers: list[str] = []
    begin = end = 0  # of the last stretch without brackets
    for token in _BRACKET.finditer(text):
        opener, closer = token.groups()
        end = token.end() - bool(opener or closer)
        if opener in ('"', None) and closer is None:
            break
        if opener:
            closers.append(_CLOSERS[opener])
        elif not closers or closers.pop() != closer:
            return b""
        begin = end = token.end()
    safe = text[: _last_comma(text, begin, end)]
    return (safe + "".join(reversed(closers))).encode("utf-8", "surrogatepass")


class Damaged(NamedTuple):
    """A document that is damaged or was cut off."""

    value: Json
    faults: list[str]
    is_cut: bool
    """Whether the last of the faults is its end."""


def parse_around(data: bytes, lists: Collection[str]) -> Damaged:
    """What is complete in a document. A broken value becomes null, and one that is cut off is left
    out: in a list that is the document itself or has one of these names, only that element;
    anywhere else, the whole value. `a/*` names whatever is in `a`."""
    check_weight(data)
    faults: list[str] = []
    is_cut = False
    try:
        text = data.decode("utf-8-sig", "surrogatepass")
    except UnicodeDecodeError as error:
        text = data.decode("utf-8-sig", "replace")
        faults.append(f"bytes that are not UTF-8 were replaced: {error}")
    for _ in range(MAX_REPAIRS):
        try:
            return Damaged(json.loads(text), faults, is_cut)
        except RecursionError:
            raise InputError("nested too deep to be read") from None
        except ValueError as error:
            if not isinstance(error, json.JSONDecodeError):  # an integer of too many digits
                raise InputError(f"not JSON: {error}") from None
            faults.append(str(error))
            text, is_cut = _without_broken(text, error.pos, lists)
    raise InputError("too many broken values in one text")


def _without_broken(text: str, at: int, lists: Collection[str]) -> tuple[str, bool]:
    """The document without the broken value around this position, and whether it ends there."""
    openers = _open_brackets(text, at)
    if not openers:
        # Something follows the document, or it is none.
        if _decode_or_none(text[:at]) is None:
            raise InputError("not JSON")
        return text[:at], True
    level = _kept_level(text, openers, lists)
    kept, deeper = openers[: level + 1], openers[level + 1 :]
    begin = deeper[0] if deeper else at
    end = _end_of_value(text, begin) if deeper else _end_of_word(text, at)
    if end is not None:
        return f"{text[:begin]}null{text[end:]}", False
    closers = "".join(_CLOSERS[text[opener]] for opener in reversed(kept))
    whole = text[:begin].rstrip()
    if whole.endswith(("}", "]", '"')) and _decode_or_none(whole + closers) is not None:
        return whole + closers, True  # the cut is between two values
    return text[: _last_complete(text, kept[-1] + 1, begin)] + closers, True


def _last_complete(text: str, begin: int, end: int) -> int:
    """Where the last complete value of an open container ends."""
    depth, last = 0, begin
    for token in _BRACKET.finditer(text, begin, end):
        depth += (token[1] in ("{", "[")) - bool(token[2])
        if token[2] and depth == 0:
            last = token.end()
    return _last_comma(text, last, end)


def _end_of_word(text: str, at: int) -> int | None:
    """Where something ends that is neither a value nor a bracket; None if the text ends there."""
    end = _WORD.match(text, at)
    return end.end() if end and at < end.end() < len(text) else None


def _open_brackets(text: str, at: int) -> list[int]:
    """Where the brackets are that are open at this position."""
    stack: list[int] = []
    for token in _BRACKET.finditer(text, 0, at):
        if token[1] in ("{", "["):
            stack.append(token.start(1))
        elif token[2] and stack:
            stack.pop()
    return stack


def _kept_level(text: str, openers: list[int], lists: Collection[str]) -> int:
    """The innermost container whose complete elements are kept; else the document itself."""
    level, before = 0, ""
    for n, opener in enumerate(openers[1:], 1):
        match = _KEY.search(text, max(0, opener - MAX_KEY), opener)
        key = match[1] if match and text[openers[n - 1]] == "{" else None
        if key is None and text[openers[n - 1]] == "{":
            break
        if key is not None and key not in lists and f"{before}/*" not in lists:
            break
        if key is not None and (text[opener] == "[" or f"{key}/*" in lists):
            level = n
        before = key or before
    return level


def _end_of_value(text: str, begin: int) -> int | None:
    """Where the brackets that are opened here are closed again; None if they never are."""
    depth = 0
    for token in _BRACKET.finditer(text, begin):
        depth += (token[1] in ("{", "[")) - bool(token[2])
        if token[1] == '"' or (token[1] is None and token[2] is None):
            return None
        if depth == 0:
            return token.end()
    return None


def _decode_or_none(text: str) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _last_comma(text: str, begin: int, end: int) -> int:
    """Where the last complete value of a stretch without brackets ends."""
    last = begin
    for token in _COMMA.finditer(text, begin, end):
        if token[1]:
            last = token.start(1)
    return last


def elements(read: Callable[[], bytes], longest: int) -> Iterator[bytes | None]:
    """The elements of a list as JSON texts, with the memory of one of them. None stands for the one
    where the list ends before its end, or that is too long to find its end."""
    data, at, start, depth = b"", 0, 0, 0
    while True:
        token = _STRETCH.match(data, at)
        if token is None:
            if len(data) - start > longest or not (more := read()):
                yield None
                return
            data, at, start = data[start:] + more, at - start, 0
            continue
        if token[1]:
            if depth == 1:
                yield from _scalars(data[start : token.start(1)])
                start = token.start(1)
            depth, at = depth + 1, token.end()
            start = at if depth == 1 else start
            continue
        depth, at = depth - 1, token.end()
        if depth == 1:
            yield data[start:at]
            start = at
        elif depth < 1:
            yield from _scalars(data[start : at - 1])
            return


def _scalars(between: bytes) -> Iterator[bytes]:
    """The elements without brackets between two with them."""
    text = between.strip().strip(b",").strip()
    if text:
        values = parse_or_none(b"[" + text + b"]")
        yield from [text] if values is None else (json.dumps(value).encode() for value in values)
