"""What puts a streamed response together: one class for each provider's events.

The same classes serve live streams and recorded ones: fields that are missing or of another type
are skipped, and what was cut stays as far as it has come.
"""

from __future__ import annotations

from tract.hashing import json_or_text
from tract.model import Json
from tract.providers.base import Event
from tract.providers.common import dict_or_empty, dicts

WHOLE = frozenset({"id", "type", "role", "name", "finish_reason"})
"""What comes in one piece; some servers repeat it with every piece of the rest."""


class Pieces(list[str]):
    """A text that is still coming. Joined once, at the end: there may be very many pieces."""


def join_pieces(value: Json) -> Json:
    """The value with its pieces as texts."""
    if isinstance(value, Pieces):
        return "".join(value)
    if isinstance(value, dict):
        return {key: join_pieces(inner) for key, inner in value.items()}
    return [join_pieces(inner) for inner in value] if isinstance(value, list) else value


def _add(into: dict[str, Json], key: str, value: Json) -> None:
    """A piece of a text is added to the text; anything else is its newest value."""
    before = into.get(key)
    if isinstance(value, str) and isinstance(before, Pieces):
        before.append(value)
    elif isinstance(value, str) and isinstance(before, str):
        into[key] = Pieces([before, value])
    elif value is not None or key not in into:
        into[key] = value


def _add_all(into: dict[str, Json], fields: dict[str, Json]) -> None:
    """Add each field: texts and lists grow, dicts grow field by field."""
    for key, value in fields.items():
        before = into.get(key)
        if key in WHOLE:
            into[key] = before or value
        elif isinstance(value, dict):
            inner = into[key] = before if isinstance(before, dict) else {}
            _add_all(inner, value)
        elif isinstance(value, list) and type(before) is list:
            into[key] = [*before, *value]
        else:
            _add(into, key, value)


def _number(event: Event, key: str = "index") -> int:
    """Which block, choice or item an event is about."""
    index = event.get(key)
    return index if isinstance(index, int) else 0


def _in_order(numbered: dict[int, dict[str, Json]]) -> list[Json]:
    return [numbered[number] for number in sorted(numbered)]


class MessageAssembler:
    """Anthropic: the events of one message."""

    has_last_event = True
    is_complete = False

    def __init__(self) -> None:
        self._message: dict[str, Json] = {}
        self._blocks: dict[int, dict[str, Json]] = {}
        self._inputs: dict[int, list[str]] = {}

    def feed(self, event: Event) -> str:
        index = _number(event)
        match event.get("type"):
            case "message_start":
                self._message = {**dict_or_empty(event.get("message"))}
            case "content_block_start":
                self._blocks[index] = {**dict_or_empty(event.get("content_block"))}
            case "content_block_delta":
                return self._grow(index, dict_or_empty(event.get("delta")))
            case "message_delta":
                self._end(event)
            case "message_stop":
                self.is_complete = True
        return ""

    def _grow(self, index: int, delta: dict[str, Json]) -> str:
        block = self._blocks.setdefault(index, {})
        kind = delta.get("type")
        if kind == "input_json_delta":
            # The first piece is empty, and the only one of a call without arguments.
            if delta.get("partial_json"):
                self._inputs.setdefault(index, []).append(str(delta["partial_json"]))
        elif kind == "citations_delta":
            if not isinstance(block.get("citations"), list):
                block["citations"] = []
            block["citations"].append(delta.get("citation"))
        else:  # text, thinking, signature, and whatever else grows as a text
            for key, value in delta.items():
                if key != "type":
                    _add(block, key, value)
        return str(delta.get("text") or "") if kind == "text_delta" else ""

    def _end(self, event: Event) -> None:
        counts = dict_or_empty(event.get("usage")).items()
        usage = {key: value for key, value in counts if value is not None}
        usage = {**dict_or_empty(self._message.get("usage")), **usage}
        rest = {k: v for k, v in event.items() if k not in ("type", "delta", "usage")}
        self._message |= dict_or_empty(event.get("delta")) | rest
        if usage:
            self._message["usage"] = usage

    def response(self) -> dict[str, Json]:
        for index, texts in self._inputs.items():
            self._blocks[index]["input"] = json_or_text("".join(texts))  # a text where it was cut
        return {**self._message, "content": _in_order(self._blocks)}


class ChatAssembler:
    """OpenAI Chat Completions, and all servers that imitate it: chunks of choices."""

    has_last_event = False  # the usage comes behind the end of the answer
    is_complete = False

    def __init__(self) -> None:
        self._response: dict[str, Json] = {}
        self._choices: dict[int, dict[str, Json]] = {}
        self._calls: dict[tuple[int, int | None], dict[str, Json]] = {}
        self._by_delta: set[int] = set()  # choices whose deltas say something

    def feed(self, event: Event) -> str:
        for key, value in event.items():
            if key != "choices" and (value is not None or key not in self._response):
                self._response[key] = value
        return "".join([self._grow(piece) for piece in dicts(event.get("choices"))])

    def _grow(self, piece: dict[str, Json]) -> str:
        """Add to a choice. Returns the text that it adds to the first one."""
        index = _number(piece)
        start: dict[str, Json] = {"index": index, "message": {"role": "assistant"}}
        choice = self._choices.setdefault(index, start)
        delta = self._delta(index, piece)
        for call in dicts(delta.pop("tool_calls", None)):
            self._add_call(index, choice["message"], call)
        _add_all(choice["message"], delta)
        about = {k: v for k, v in piece.items() if k not in ("index", "delta", "message")}
        _add_all(choice, about)
        if index:
            return ""
        self.is_complete = bool(choice.get("finish_reason"))
        text = delta.get("content")
        return text if isinstance(text, str) else ""

    def _delta(self, index: int, piece: dict[str, Json]) -> dict[str, Json]:
        """What a chunk adds. Some servers send a message in the place of the delta, or both."""
        delta = piece.get("delta")
        if any(value for key, value in dict_or_empty(delta).items() if key != "role"):
            self._by_delta.add(index)
        elif delta is None or index not in self._by_delta:
            delta = piece.get("message") or delta
        return {**dict_or_empty(delta)}

    def _add_call(self, choice: int, message: dict[str, Json], piece: dict[str, Json]) -> None:
        index = piece.get("index")
        key = choice, index if isinstance(index, int) else None
        call = self._calls.get(key)
        # Some servers give all calls the same index, or none: then the ids tell them apart.
        if call is None or (piece.get("id") and piece["id"] != call.get("id")):
            call = self._calls[key] = {}
            message.setdefault("tool_calls", []).append(call)
        _add_all(call, {name: value for name, value in piece.items() if name != "index"})

    def response(self) -> dict[str, Json]:
        for choice in self._choices.values():
            choice["message"].setdefault("content", None)
        choices = _in_order(self._choices)
        return {**self._response, "object": "chat.completion", "choices": choices}


class ResponseAssembler:
    """OpenAI Responses. The last event has the full response. Where the stream was cut, or where a
    server leaves the output out of the last event, it is put together from the items."""

    has_last_event = True
    LAST = ("response.completed", "response.incomplete", "response.failed")

    def __init__(self) -> None:
        self.is_complete = False
        self._response: dict[str, Json] = {}
        self._items: dict[int, dict[str, Json]] = {}

    def feed(self, event: Event) -> str:
        kind, index = event.get("type"), _number(event, "output_index")
        text = event.get("delta")
        if isinstance(event.get("response"), dict):
            self._response = event["response"]
            self.is_complete = kind in self.LAST
        elif kind in ("response.output_item.added", "response.output_item.done"):
            self._items[index] = {**dict_or_empty(event.get("item"))}
        elif kind == "response.output_text.delta" and isinstance(text, str):
            self._add_text(index, text)
            return text
        elif kind == "response.function_call_arguments.delta" and index in self._items:
            _add(self._items[index], "arguments", str(text or ""))
        elif kind == "error":
            self._response = {**self._response, "error": self._response.get("error") or event}
            self.is_complete = True
        return ""

    def _add_text(self, index: int, text: str) -> None:
        """As one part: only what was cut is put together like this."""
        if index not in self._items:
            return
        parts = dicts(self._items[index].get("content"))
        if not parts:
            parts = self._items[index]["content"] = [{"type": "output_text", "text": ""}]
        _add(parts[-1], "text", text)

    def response(self) -> dict[str, Json]:
        if self._response.get("output"):
            return self._response
        return {"object": "response", **self._response, "output": _in_order(self._items)}


class ContentAssembler:
    """Gemini: each event is a response with more parts of the same contents."""

    has_last_event = False

    def __init__(self) -> None:
        self.is_complete = False
        self._response: dict[str, Json] = {}
        self._candidates: dict[int, dict[str, Json]] = {}

    def feed(self, event: Event) -> str:
        self._response |= event
        return "".join([self._grow(piece) for piece in dicts(event.get("candidates"))])

    def _grow(self, piece: dict[str, Json]) -> str:
        """Add to a candidate. Returns the text that it adds to the first one."""
        index, content = _number(piece), dict_or_empty(piece.get("content"))
        candidate = self._candidates.setdefault(index, {"content": {"parts": []}})
        parts, new = candidate["content"]["parts"], dicts(content.get("parts"))
        for part in new:
            self._add_part(parts, part)
        candidate |= piece | {"content": {**candidate["content"], **content, "parts": parts}}
        if index:
            return ""
        self.is_complete = bool(candidate.get("finishReason"))
        texts = [part.get("text") for part in new if not part.get("thought")]
        return "".join(text for text in texts if isinstance(text, str))

    @staticmethod
    def _add_part(parts: list[Json], part: dict[str, Json]) -> None:
        """Pieces of a text are one text. What carries a signature stays as it came."""
        last = parts[-1] if parts else {}
        are_pieces = _is_piece(part) and _is_piece(last)
        if are_pieces and part.get("thought", False) == last.get("thought", False):
            _add(last, "text", part["text"])
        else:
            parts.append({**part})

    def response(self) -> dict[str, Json]:
        return {**self._response, "candidates": _in_order(self._candidates)}


def _is_piece(part: dict[str, Json]) -> bool:
    return part.keys() <= {"text", "thought"} and isinstance(part.get("text"), str | Pieces)
