"""LangChain's messages, in each of the three ways in which it dumps them."""

from __future__ import annotations

from collections.abc import Iterator

from tract.errors import InputError
from tract.importers.call_ids import CallIds
from tract.importers.coerce import as_dict, as_text, dicts, sound
from tract.importers.collect import tried
from tract.importers.items import Entry, Item
from tract.model import Json, Message
from tract.providers import load_message
from tract.providers.frameworks import load_dump

KINDS = ("human", "ai", "system", "tool", "function", "chat", "developer")
BESIDE = ("artifact", "additional_kwargs", "response_metadata")
"""What is kept of a message besides what it says: thoughts stand there, and what a tool returned
that was not for the model."""


def is_dumped(message: dict[str, Json]) -> bool:
    kind, body = unwrapped(message)
    if kind not in KINDS or "content" not in body:
        return False
    # Other programs have lines of the type `system` too.
    own = kind in ("human", "ai") or body is not message
    return own or "additional_kwargs" in body or "response_metadata" in body


def unwrapped(message: dict[str, Json]) -> tuple[str | None, dict[str, Json]]:
    """The kind of a message and what it says, from any of the three ways to dump it."""
    kind, body = message.get("type"), message
    if kind == "constructor":
        path, body = message.get("id"), as_dict(message.get("kwargs"))
        kind = path[-1] if isinstance(path, list) and path else None
    elif isinstance(message.get("data"), dict):
        body = message["data"]
    if not isinstance(kind, str) or kind == "message" or "role" in message:
        return None, body
    return kind.removesuffix("Chunk").removesuffix("Message").lower(), body


class Dumped:
    """Messages of one conversation, in their order."""

    def __init__(self, dialog: str | None = None) -> None:
        self._dialog = dialog
        self._ids = CallIds()

    def read(self, messages: list[Json], place: str = "message {}") -> Iterator[Item]:
        for number, given in enumerate(messages, 1):
            yield from tried(place.format(number), self._entry, given)

    def _entry(self, given: Json) -> Iterator[Item]:
        if not isinstance(given, dict):
            raise InputError(f"a message is a dict, not {type(given).__name__}")
        kind, body = unwrapped(sound(given))
        loaded = [self._ids.named(message) for message in _load(given, kind, body)]
        about = as_dict(body.get("response_metadata"))
        usage = body.get("usage_metadata") or about.get("usage") or about.get("token_usage")
        yield Entry(
            messages=tuple(loaded),
            dialog=self._dialog,
            usage=usage if isinstance(usage, dict) else None,
            model=as_text(about.get("model_name")) or as_text(about.get("model")),
            metadata={key: body[key] for key in BESIDE if body.get(key)} or None,
        )


def _load(given: dict[str, Json], kind: str | None, body: dict[str, Json]) -> list[Message]:
    name = as_text(body.get("name"))
    if kind in ("chat", "developer"):
        role = as_text(body.get("role")) or kind
        return load_message({"role": role, "content": body.get("content")})
    if kind == "function":
        return [Message("tool", body.get("content"), "", name)]
    if kind == "tool":
        _check_names(body)
    (loaded,) = load_dump([_with_all_calls(body) if kind == "ai" else given])
    if isinstance(loaded, Message):
        return [loaded]
    if "role" not in loaded:
        raise InputError(f"not a message: {kind or given.get('type')!r:.200}")
    return load_message(loaded | ({"name": name} if name and kind in ("human", "system") else {}))


def _check_names(body: dict[str, Json]) -> None:
    for key in ("tool_call_id", "name"):
        if not (body.get(key) is None or isinstance(body[key], str)):
            raise InputError(f"{key} is a text, not {type(body[key]).__name__}")


def _with_all_calls(body: dict[str, Json]) -> dict[str, Json]:
    """An answer with its calls in one place. Those with arguments that are no JSON stand apart,
    and old ones stand as the provider sent them."""
    beside = as_dict(body.get("additional_kwargs"))
    calls = [*dicts(body.get("tool_calls")), *dicts(body.get("invalid_tool_calls"))]
    if not calls:
        calls = dicts(beside.get("tool_calls"))
    if not calls and isinstance(beside.get("function_call"), dict):
        calls = [{"id": "", "function": beside["function_call"]}]
    for call in calls:
        if not all(isinstance(call.get(key) or "", str) for key in ("id", "name")):
            raise InputError("ids and names of calls are texts")
    content = body.get("content")
    if not (content is None or isinstance(content, str | list)):
        raise InputError(f"content is a text or a list, not {type(content).__name__}")
    return {"type": "ai", "content": content, "tool_calls": calls}
