"""LangChain's messages, in each of the three ways in which it dumps them."""

from __future__ import annotations

from collections.abc import Iterator

from tract.errors import InputError
from tract.importers.call_ids import CallIds
from tract.importers.coerce import as_dict, as_text, dicts, ensure_storable, require_dict
from tract.importers.items import Entry, Item
from tract.importers.source import attempt
from tract.model import Json, Message
from tract.providers import load_message
from tract.providers.frameworks import load_dump, unwrap

KINDS = ("human", "ai", "system", "tool", "function", "chat", "developer")
BESIDE = ("artifact", "additional_kwargs", "response_metadata")
"""Kept as metadata: thoughts, and the parts of a result that were not for the model."""


def is_dumped(message: dict[str, Json]) -> bool:
    kind, body = unwrap(message)
    if kind not in KINDS or "content" not in body:
        return False
    # Other programs have lines of the type `system` too.
    own = kind in ("human", "ai") or body is not message
    return own or "additional_kwargs" in body or "response_metadata" in body


class DumpedMessages:
    """The messages of one conversation, in order."""

    def __init__(self, dialog: str | None = None) -> None:
        self._dialog = dialog
        self._ids = CallIds()

    def read(self, messages: list[Json], place: str = "message {}") -> Iterator[Item]:
        for number, message in enumerate(messages, 1):
            yield from attempt(place.format(number), self._entry, message)

    def _entry(self, value: Json) -> Iterator[Item]:
        dump = require_dict(value, "a message is a dict")
        kind, body = unwrap(ensure_storable(dump))
        messages = [self._ids.assign(message) for message in _load(dump, kind, body)]
        about = as_dict(body.get("response_metadata"))
        usage = body.get("usage_metadata") or about.get("usage") or about.get("token_usage")
        yield Entry(
            messages=tuple(messages),
            dialog=self._dialog,
            usage=usage if isinstance(usage, dict) else None,
            model=as_text(about.get("model_name")) or as_text(about.get("model")),
            metadata={key: body[key] for key in BESIDE if body.get(key)} or None,
        )


def _load(dump: dict[str, Json], kind: str | None, body: dict[str, Json]) -> list[Message]:
    name = as_text(body.get("name"))
    if kind in ("chat", "developer"):
        role = as_text(body.get("role")) or kind
        return load_message({"role": role, "content": body.get("content")})
    if kind == "function":
        return [Message("tool", body.get("content"), "", name)]
    if kind == "tool":
        _check_names(body)
    (loaded,) = load_dump([_with_all_calls(body) if kind == "ai" else dump])
    if isinstance(loaded, Message):
        return [loaded]
    if "role" not in loaded:
        raise InputError(f"not a message: {kind or dump.get('type')!r:.200}")
    return load_message(loaded | ({"name": name} if name and kind in ("human", "system") else {}))


def _check_names(body: dict[str, Json]) -> None:
    for key in ("tool_call_id", "name"):
        if not (body.get(key) is None or isinstance(body[key], str)):
            raise InputError(f"{key} is a text, not {type(body[key]).__name__}")


def _with_all_calls(body: dict[str, Json]) -> dict[str, Json]:
    """An answer with all of its calls in one list: those with valid arguments, those with invalid
    ones, and old ones in the provider's format."""
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
