"""Recorded HTTP exchanges with providers: lines or lists of request and response, cassettes in
JSON, HAR files. A cassette in YAML is not read, unless it is JSON, which YAML includes."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from typing import NamedTuple

from tract.errors import InputError
from tract.importers import bedrock
from tract.importers.coerce import as_dict, as_text, as_time, dicts, json_or_none, sound
from tract.importers.collect import of_values
from tract.importers.items import Exchange, Item, Problem
from tract.importers.provider import opening, request_provider
from tract.importers.source import MAX_DOCUMENT, Source
from tract.model import Json
from tract.providers.detect import response_provider
from tract.providers.streams import Stream, from_events, from_text, is_stream

NAME = "http-exchanges"

LISTS = ("interactions", "http_interactions")
KEPT_RESPONSES = 1000
"""How many answers are remembered for requests that only name them."""


def detect(source: Source) -> bool:
    value = source.peek
    if isinstance(value, dict) and "recordings" in value:
        return False
    records = _records(value)
    return bool(records) and any(map(_is_record, records))


def read(source: Source) -> Iterator[Item]:
    return of_values(source, partial(_exchanges, Conversations()))


def _exchanges(conversations: Conversations, place: str, value: Json) -> Iterator[Item]:
    records = _records(value)
    if not records:
        yield Problem(place, "no recorded exchange")
    for number, record in enumerate(records, 1):
        where = place if len(records) == 1 else f"exchange {number}"
        yield from exchange(record, where, conversations)


def _records(value: Json) -> list[Json]:
    if isinstance(value, list):
        return value
    body = as_dict(value)
    for key in LISTS:
        if isinstance(body.get(key), list):
            return list(body[key])
    entries = as_dict(body.get("log")).get("entries")
    if isinstance(entries, list):
        return entries
    return [body] if body else []


def _is_record(record: Json) -> bool:
    """Whether it is an exchange with a provider: in its request there is a history."""
    call = _call(record)
    return call is not None and (bedrock.is_request(call.body) or bool(_provider(call)))


class Call(NamedTuple):
    """One exchange, however it was written down."""

    url: str
    body: Json
    status: int
    answer: str | bytes | Json
    time: Json = None


def _call(record: Json) -> Call | None:
    asked, answered = as_dict(record).get("request"), as_dict(record).get("response")
    if asked is None:
        return None
    times = ("time", "timestamp", "startedDateTime", "recorded_at")
    time = next((record[key] for key in times if key in record), as_dict(asked).get("timestamp"))
    if not _is_http(asked):
        status = record.get("status")
        url = str(record.get("url") or "")
        return Call(url, _json(asked), status if isinstance(status, int) else 200, answered, time)
    url = str(asked.get("url") or asked.get("uri") or "")
    post = as_dict(asked.get("postData")).get("text")
    body = asked.get("body") if post is None else post
    return Call(url, _json(_content(body)), _status(answered), _answer(answered), time)


def _is_http(asked: Json) -> bool:
    """Whether it is a request with an address around its body, and not the body alone."""
    return isinstance(asked, dict) and not {"url", "uri", "postData", "body"}.isdisjoint(asked)


def _status(answered: Json) -> int:
    status = as_dict(answered).get("status", as_dict(answered).get("status_code"))
    code = status.get("code") if isinstance(status, dict) else status
    return code if isinstance(code, int) else 200


def _answer(answered: Json) -> str | bytes | Json:
    reply = as_dict(answered)
    if isinstance(reply.get("chunks"), list):
        return "".join(chunk for chunk in reply["chunks"] if isinstance(chunk, str))
    body = reply.get("body", reply.get("content"))
    if reply.get("bodyEncoding") == "base64":
        return _unpacked(body)
    return _content(body)


def _content(body: Json) -> str | bytes | Json:
    """A body that is itself, or a dict around it."""
    if not isinstance(body, dict):
        return body
    if "base64_string" in body:
        return _unpacked(body["base64_string"])
    for key in ("string", "text"):
        if isinstance(body.get(key), str) and body.keys() <= _AROUND:
            return _unpacked(body[key]) if body.get("encoding") == "base64" else body[key]
    return body


_AROUND = {"string", "text", "encoding", "size", "mimeType", "compression", "comment", "_isBinary"}


def _unpacked(text: Json) -> str | bytes | None:
    """The bytes behind base64, unzipped where they were zipped; a text where they are one."""
    try:
        data = base64.b64decode(text)
        if data.startswith(b"\x1f\x8b"):
            data = zlib.decompressobj(wbits=31).decompress(data, MAX_DOCUMENT)
    except (binascii.Error, zlib.error, TypeError, ValueError):
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _json(body: Json) -> Json:
    return json_or_none(body) if isinstance(body, str | bytes) else body


NO_ANSWER = ("/count_tokens", "/input_tokens", ":countTokens", "/embeddings", ":embedContent")
"""Addresses that take a history and give no answer to it."""


def _provider(call: Call) -> str | None:
    if call.url.partition("?")[0].endswith(NO_ANSWER):
        return None
    return request_provider(call.body, call.url)


def exchange(record: Json, place: str, conversations: Conversations) -> Iterator[Item]:
    """What one record says: an exchange, or what is wrong with it. Other traffic, such as logins
    and lists of models, says nothing."""
    call = _call(record)
    if call is None:
        yield Problem(place, "neither a request nor a response")
        return
    provider, request = _provider(call), as_dict(call.body)
    if bedrock.is_request(request):
        provider, request = "anthropic", bedrock.request(request)
    if provider is None:
        return
    try:
        stream = _response(call)
    except InputError as error:
        yield Problem(place, f"the response: {error}; the request is kept")
        stream = Stream(None)
    if call.status >= 400:
        # The history was sent, and refused.
        stream = Stream(None)
    elif stream.response is None and call.answer not in (None, "", {}):
        yield Problem(place, "the response is no answer of a model; the request is kept")
    if stream.unread:
        yield Problem(place, f"{stream.unread} events of the response could not be read")
    found = Exchange(
        provider=provider, request=request, response=stream.response, time=as_time(call.time)
    )
    yield checked(conversations.placed(found), place)


def checked(found: Exchange, place: str) -> Exchange | Problem:
    """The exchange, if it can be stored."""
    try:
        sound([found.request, found.response])
    except InputError as error:
        return Problem(place, str(error))
    return found


def _response(call: Call) -> Stream:
    answer = call.answer
    if isinstance(answer, bytes):
        return bedrock.streamed(answer)
    if isinstance(answer, str) and is_stream(answer):
        return from_text(answer)
    body = _json(answer)
    if isinstance(body, list) and any("candidates" in event for event in dicts(body)):
        return Stream(from_events(dicts(body)))
    if response_provider(body):
        return Stream(body)
    return Stream(bedrock.response(body))


class Conversations:
    """Which conversation each exchange of a file belongs to, and what earlier ones have said that
    later ones only name."""

    def __init__(self) -> None:
        self._names: dict[bytes, str | None] = {}
        self._items: dict[str, Json] = {}
        self._histories: dict[str, tuple[list[Json], str | None]] = {}

    def placed(self, given: Exchange) -> Exchange:
        if given.provider != "responses":
            return _in_dialog(given, given.request, self._name(given))
        request, dialog = self._continued(given)
        self._remember(request, given.response, dialog)
        return _in_dialog(given, request, dialog)

    def _name(self, given: Exchange) -> str | None:
        """None for the first conversation, a number for each other one."""
        said = opening(given.provider, given.request).encode("utf-8", "surrogatepass")
        number = len(self._names) + 1
        return self._names.setdefault(sha256(said).digest(), str(number) if number > 1 else None)

    def _continued(self, given: Exchange) -> tuple[dict[str, Json], str | None]:
        """The request with its whole history, and where it belongs."""
        before = given.request.get("previous_response_id")
        known_before = self._histories.get(before) if isinstance(before, str) else None
        request = self._resolved(given.request)
        if known_before is None:
            return request, self._name(given)
        history, dialog = known_before
        rest = {key: value for key, value in request.items() if key != "previous_response_id"}
        return {**rest, "input": [*history, *_items(request)]}, dialog

    def _resolved(self, request: dict[str, Json]) -> dict[str, Json]:
        """The request with the items themselves where it only refers to them."""
        items = request.get("input")
        if not isinstance(items, list):
            return request
        return {**request, "input": [self._item(item) for item in items]}

    def _item(self, item: Json) -> Json:
        if as_dict(item).get("type") != "item_reference":
            return item
        return self._items.get(str(item.get("id")), item)

    def _remember(self, request: dict[str, Json], response: Json, dialog: str | None) -> None:
        output = as_dict(response).get("output")
        if not isinstance(output, list):
            return
        for item in dicts(output):
            if isinstance(item.get("id"), str):
                self._items[item["id"]] = item
        name = as_text(as_dict(response).get("id"))
        if name:
            self._histories[name] = ([*_items(request), *output], dialog)
        for kept in (self._items, self._histories):
            while len(kept) > KEPT_RESPONSES:
                del kept[next(iter(kept))]


def _items(request: dict[str, Json]) -> list[Json]:
    items = request.get("input")
    if isinstance(items, str):
        return [{"role": "user", "content": items}]
    return items if isinstance(items, list) else []


def _in_dialog(given: Exchange, request: dict[str, Json], dialog: str | None) -> Exchange:
    return Exchange(
        provider=given.provider,
        request=request,
        response=given.response,
        dialog=dialog,
        time=given.time,
    )
