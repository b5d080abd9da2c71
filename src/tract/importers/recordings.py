"""One recorded HTTP exchange with a provider, in any of the recorders' formats."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from tract.errors import InputError
from tract.importers import bedrock
from tract.importers.coerce import as_dict, as_time, dicts, json_or_none
from tract.importers.conversations import Conversations, check_exchange
from tract.importers.items import Exchange, Item, Problem
from tract.importers.provider import request_provider
from tract.importers.source import MAX_DOCUMENT
from tract.model import Json
from tract.providers import PROVIDERS
from tract.providers.detect import response_provider
from tract.providers.streams import Stream, from_events, from_text, is_stream


def is_recording(record: Json) -> bool:
    """Whether it is an exchange with a provider: in its request there is a history."""
    recording = _recording(record)
    if recording is None:
        return False
    return bedrock.is_request(recording.body) or bool(_provider(recording))


class Recording(NamedTuple):
    url: str
    body: Json
    status: int
    answer: str | bytes | Json
    time: Json = None


def _recording(record: Json) -> Recording | None:
    if not isinstance(record, dict) or record.get("request") is None:
        return None
    request, response = record["request"], record.get("response")
    times = ("time", "timestamp", "startedDateTime", "recorded_at")
    time = next((record[key] for key in times if key in record), as_dict(request).get("timestamp"))
    # A request with an address around its body, or the body alone.
    if {"url", "uri", "postData", "body"}.isdisjoint(as_dict(request)):
        url, status = str(record.get("url") or ""), record.get("status")
        status = status if isinstance(status, int) else 200
        return Recording(url, _json(request), status, response, time)
    url = str(request.get("url") or request.get("uri") or "")
    post = as_dict(request.get("postData")).get("text")
    body = request.get("body") if post is None else post
    return Recording(url, _json(_content(body)), _status(response), _answer(response), time)


def _status(response: Json) -> int:
    status = as_dict(response).get("status", as_dict(response).get("status_code"))
    code = status.get("code") if isinstance(status, dict) else status
    return code if isinstance(code, int) else 200


def _answer(response: Json) -> str | bytes | Json:
    fields = as_dict(response)
    if isinstance(fields.get("chunks"), list):
        return "".join(chunk for chunk in fields["chunks"] if isinstance(chunk, str))
    body = fields.get("body", fields.get("content"))
    return _unpack(body) if fields.get("bodyEncoding") == "base64" else _content(body)


def _content(body: Json) -> str | bytes | Json:
    """A body that is itself, or a dict around it."""
    if not isinstance(body, dict):
        return body
    if "base64_string" in body:
        return _unpack(body["base64_string"])
    for key in ("string", "text"):
        if isinstance(body.get(key), str) and body.keys() <= _AROUND:
            return _unpack(body[key]) if body.get("encoding") == "base64" else body[key]
    return body


_AROUND = {"string", "text", "encoding", "size", "mimeType", "compression", "comment", "_isBinary"}


def _unpack(text: Json) -> str | bytes | None:
    """The bytes of base64, decompressed if needed; a text if they are UTF-8."""
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
"""Addresses that accept a history and return no answer to it."""


def _provider(recording: Recording) -> str | None:
    if recording.url.partition("?")[0].endswith(NO_ANSWER):
        return None
    return request_provider(recording.body, recording.url)


def read_recording(record: Json, place: str, conversations: Conversations) -> Iterator[Item]:
    """The exchange in a record, or what is wrong with it. Other traffic, such as logins and lists
    of models, yields nothing."""
    recording = _recording(record)
    if recording is None:
        yield Problem(place, "neither a request nor a response")
        return
    provider, request = _provider(recording), as_dict(recording.body)
    if bedrock.is_request(request):
        provider, request = "anthropic", bedrock.convert_request(request)
    if provider is None:
        yield from _unplaced(recording, place)
        return
    try:
        stream = _response(recording)
    except InputError as error:
        yield Problem(place, f"the response: {error}; the request is kept")
        stream = Stream(None)
    if recording.status >= 400:
        # The history was sent, and refused.
        stream = Stream(None)
    elif stream.response is None and recording.answer not in (None, "", {}):
        yield Problem(place, "the response is no answer of a model; the request is kept")
    yield from (Problem(place, problem) for problem in stream.problems)
    exchange = Exchange(
        provider=provider, request=request, response=stream.response, time=as_time(recording.time)
    )
    yield check_exchange(conversations.place(exchange), place)


def _unplaced(recording: Recording, place: str) -> Iterator[Item]:
    """What is wrong with a request that has a history of which nothing can be read."""
    histories = {provider.history for provider in PROVIDERS.values()}
    is_other = recording.url.partition("?")[0].endswith(NO_ANSWER)
    if isinstance(recording.body, dict) and not is_other and histories & recording.body.keys():
        yield Problem(place, "nothing of the messages can be read")
        answer = _response(recording).response
        provider = response_provider(answer)
        if answer and provider:
            request: dict[str, Json] = {PROVIDERS[provider].history: []}
            yield check_exchange(
                Exchange(provider=provider, request=request, response=answer), place
            )


def _response(recording: Recording) -> Stream:
    answer = recording.answer
    if isinstance(answer, bytes):
        return bedrock.convert_stream(answer)
    if isinstance(answer, str) and is_stream(answer):
        return from_text(answer)
    body = _json(answer)
    if isinstance(body, list) and any("candidates" in event for event in dicts(body)):
        return from_events(dicts(body))
    if response_provider(body):
        return Stream(body)
    return Stream(bedrock.convert_response(body))
