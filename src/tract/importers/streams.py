"""Answers that came as a stream of events, put together as the response that they stream."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tract.errors import InputError
from tract.importers.coerce import as_dict, dicts, json_or_none
from tract.model import Json

Event = dict[str, Json]

_BLANK_LINE = re.compile(r"\r\n\r\n|\n\n|\r\r")


class Stream(NamedTuple):
    """The response, and how many events of it could not be read."""

    response: dict[str, Json] | None
    unread: int = 0


def is_stream(text: str) -> bool:
    return text.lstrip("\ufeff \r\n").startswith(("event:", "data:", "id:", "retry:", ":"))


def assembled(text: str) -> Stream:
    """The response of a body of server-sent events."""
    events: list[Event] = []
    unread = 0
    for data in _data(text):
        event = json_or_none(data)
        if isinstance(event, dict):
            events.append(event)
        elif data.strip() != "[DONE]":
            unread += 1
    return Stream(from_events(events), unread)


def _data(text: str) -> Iterator[str]:
    for event in _BLANK_LINE.split(text):
        lines = [line[5:] for line in event.splitlines() if line.startswith("data:")]
        if lines:
            yield "\n".join(lines)


def is_event(value: Json) -> bool:
    """Whether a dict is one event of a stream."""
    event = as_dict(value)
    kind = event.get("type")
    return (
        kind == "message_start"
        or (isinstance(kind, str) and kind.startswith("response."))
        or event.get("object") == "chat.completion.chunk"
    )


class _Pieces(list[str]):
    """A text that is still coming. Joined once, at the end: there may be very many pieces."""


def _settled(value: Json) -> Json:
    """The value with its texts as texts."""
    if isinstance(value, _Pieces):
        return "".join(value)
    if isinstance(value, dict):
        return {key: _settled(inner) for key, inner in value.items()}
    return [_settled(inner) for inner in value] if isinstance(value, list) else value


def from_events(events: list[Event]) -> dict[str, Json] | None:
    """The response that the events of one stream say; None where they say none."""
    try:
        found = _settled(_put_together(events))
    except RecursionError:
        raise InputError("nested too deep to be read") from None
    return found if isinstance(found, dict) else None


def _put_together(events: list[Event]) -> dict[str, Json] | None:
    kinds = {event.get("type") for event in events if isinstance(event.get("type"), str)}
    if "message_start" in kinds:
        return _anthropic(events)
    if any(str(kind).startswith("response.") for kind in kinds):
        return _responses(events)
    if any("candidates" in event for event in events):
        return _gemini(events)
    if any("choices" in event for event in events):
        return _chat(events)
    return None


def _anthropic(events: Iterable[Event]) -> dict[str, Json]:
    message: dict[str, Json] = {}
    blocks: dict[int, dict[str, Json]] = {}
    inputs: dict[int, list[str]] = {}
    for event in events:
        match event.get("type"):
            case "message_start":
                message = {**as_dict(event.get("message"))}
            case "content_block_start":
                blocks[_index(event)] = {**as_dict(event.get("content_block"))}
            case "content_block_delta":
                _add_to_block(blocks.setdefault(_index(event), {}), inputs, event)
            case "message_delta":
                usage = {**as_dict(message.get("usage")), **as_dict(event.get("usage"))}
                rest = {k: v for k, v in event.items() if k not in ("type", "delta", "usage")}
                message |= as_dict(event.get("delta")) | rest | ({"usage": usage} if usage else {})
    for index, pieces in inputs.items():
        blocks[index]["input"] = _said_input("".join(pieces))
    return message | {"content": [blocks[index] for index in sorted(blocks)]}


def _add_to_block(block: dict[str, Json], inputs: dict[int, list[str]], event: Event) -> None:
    delta = as_dict(event.get("delta"))
    if delta.get("type") == "input_json_delta":
        # Nothing is said by the first piece, and by the only one of a call without arguments.
        if delta.get("partial_json"):
            inputs.setdefault(_index(event), []).append(str(delta["partial_json"]))
        return
    if delta.get("type") == "citations_delta":
        if not isinstance(block.get("citations"), list):
            block["citations"] = []
        block["citations"].append(delta.get("citation"))
        return
    for key, value in delta.items():
        if key != "type":
            _join(block, key, value)


def _said_input(text: str) -> Json:
    """The arguments; where they were cut, what there is of them."""
    found = json_or_none(text)
    return text if found is None else found


def _index(event: Event, key: str = "index") -> int:
    index = event.get(key)
    return index if isinstance(index, int) else 0


def _join(into: dict[str, Json], key: str, value: Json) -> None:
    """A piece of a text is added to the text; anything else is its newest value."""
    before = into.get(key)
    if isinstance(value, str) and isinstance(before, _Pieces):
        before.append(value)
    elif isinstance(value, str) and isinstance(before, str):
        into[key] = _Pieces([before, value])
    elif value is not None or key not in into:
        into[key] = value


def _chat(events: Iterable[Event]) -> dict[str, Json]:
    response: dict[str, Json] = {}
    choices: dict[int, dict[str, Json]] = {}
    for event in events:
        for key, value in event.items():
            if key != "choices" and (value is not None or key not in response):
                response[key] = value
        for piece in dicts(event.get("choices")):
            index = _index(piece)
            start: dict[str, Json] = {"index": index, "message": {"role": "assistant"}}
            choice = choices.setdefault(index, start)
            _add_to_message(choice["message"], as_dict(piece.get("delta")))
            for key in piece.keys() - {"index", "delta"}:
                _join_choice(choice, key, piece[key])
    for choice in choices.values():
        choice["message"].setdefault("content", None)
    said = {"object": "chat.completion", "choices": [choices[index] for index in sorted(choices)]}
    return response | said


def _join_choice(choice: dict[str, Json], key: str, value: Json) -> None:
    if value is not None or key not in choice:
        choice[key] = value


_WHOLE = ("id", "type", "role", "name")
"""What comes in one piece; some servers repeat it with every piece of the rest."""


def _add_to_message(message: dict[str, Json], delta: dict[str, Json]) -> None:
    for key, value in delta.items():
        if key == "tool_calls":
            _add_calls(message.setdefault(key, []), dicts(value))
        elif key == "function_call" and isinstance(value, dict):
            _add_whole(message.setdefault(key, {}), value)
        elif key in _WHOLE:
            message[key] = value or message.get(key)
        elif isinstance(value, list) and type(message.get(key)) is list:
            message[key] = [*message[key], *value]
        else:
            _join(message, key, value)


def _add_calls(calls: list[Json], pieces: list[dict[str, Json]]) -> None:
    for piece in pieces:
        index = piece.get("index")
        place = index if isinstance(index, int) else len(calls)
        while not 0 <= place < len(calls) and len(calls) <= min(max(place, 0), 10_000):
            calls.append({})
        _add_whole(
            calls[min(max(place, 0), len(calls) - 1)],
            {key: value for key, value in piece.items() if key != "index"},
        )


def _add_whole(call: dict[str, Json], piece: dict[str, Json]) -> None:
    for key, value in piece.items():
        if isinstance(value, dict) and isinstance(call.setdefault(key, {}), dict):
            _add_whole(call[key], value)
        elif key in _WHOLE:
            call[key] = value or call.get(key)
        else:
            _join(call, key, value)


_LAST = ("response.completed", "response.incomplete", "response.failed")


def _responses(events: Iterable[Event]) -> dict[str, Json]:
    """The last event says all of it. Where the stream was cut, or where a server leaves the output
    out of the last event, it is put together from the items."""
    response: dict[str, Json] = {}
    items: dict[int, dict[str, Json]] = {}
    for event in events:
        kind, index = event.get("type"), _index(event, "output_index")
        if isinstance(event.get("response"), dict):
            response = event["response"]
        elif kind in ("response.output_item.added", "response.output_item.done"):
            items[index] = {**as_dict(event.get("item"))}
        elif kind == "response.output_text.delta" and index in items:
            _add_text(items[index], str(event.get("delta") or ""))
        elif kind == "response.function_call_arguments.delta" and index in items:
            _join(items[index], "arguments", str(event.get("delta") or ""))
    if response.get("output"):
        return response
    return {"object": "response", **response, "output": [items[index] for index in sorted(items)]}


def _add_text(item: dict[str, Json], piece: str) -> None:
    """The text is taken as one part: only what was cut is put together like this."""
    parts = dicts(item.get("content"))
    if not parts:
        parts = item["content"] = [{"type": "output_text", "text": ""}]
    _join(parts[-1], "text", piece)


def _gemini(events: Iterable[Event]) -> dict[str, Json]:
    """Each event is a response with more parts of the same contents."""
    response: dict[str, Json] = {}
    candidates: dict[int, dict[str, Json]] = {}
    for event in events:
        response |= event
        for piece in dicts(event.get("candidates")):
            content = as_dict(piece.get("content"))
            candidate = candidates.setdefault(_index(piece), {"content": {"parts": []}})
            parts = candidate["content"]["parts"]
            _add_parts(parts, dicts(content.get("parts")))
            content = candidate["content"] | content | {"parts": parts}
            candidate |= piece | {"content": content}
    return response | {"candidates": [candidates[index] for index in sorted(candidates)]}


def _add_parts(parts: list[Json], new: list[dict[str, Json]]) -> None:
    """Pieces of a text are one text. What carries a signature stays as it came."""
    for part in new:
        if parts and _is_piece(part) and _is_piece(parts[-1]) and _kind(part) == _kind(parts[-1]):
            _join(parts[-1], "text", part["text"])
        else:
            parts.append({**part})


def _is_piece(part: dict[str, Json]) -> bool:
    return part.keys() <= {"text", "thought"} and isinstance(part.get("text"), str | _Pieces)


def _kind(part: dict[str, Json]) -> str:
    return json.dumps(part.get("thought", False))
