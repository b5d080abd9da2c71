"""Requests of other agents, read as far as possible. Nothing here is sent on."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tract.errors import InputError
from tract.model import Block, Json, Message, Raw, Text
from tract.providers.common import ANY
from tract.providers.frameworks.lists import load_any
from tract.providers.frameworks.marks import foreign_content
from tract.providers.registry import PROVIDERS
from tract.providers.requests import Loaded, load, load_message, provider_of
from tract.providers.server_tools import hosted, is_odd, word

Piece = Block | Message
ROLES = {
    "model": "assistant",
    "developer": "system",
    "human": "user",
    "gpt": "assistant",
    "observation": "tool",
    "function": "tool",
}
CONTENT_KEYS = ("content", "parts", "value")


def salvage(request: Json) -> Loaded:
    """A request, or just its messages. What is odd in it stays as it is, in blocks of its own."""
    try:
        loaded = load_any(request).loaded
    except InputError:
        loaded = _in_pieces(request)
    messages = [one for message in loaded.messages for one in _with_odd_calls(message)]
    return loaded._replace(messages=messages)


def _in_pieces(request: Json) -> Loaded:
    owner = PROVIDERS[provider_of(request)]
    fields = request if isinstance(request, dict) else {owner.history: request}
    messages: list[Message] = []
    for system in filter(None, map(fields.get, owner.system)):
        around = system if isinstance(system, dict) and "parts" in system else {"content": system}
        messages += _in_parts({**around, "role": "system"})
    for item in _listed(fields[owner.history]):
        messages += _messages(item, owner.name)
    tools = [tool for tool in _listed(fields.get("tools")) if isinstance(tool, dict)]
    return Loaded(messages, tools, {}, owner.name)


def _messages(item: Json, provider: str) -> list[Message]:
    try:
        is_foreign = isinstance(item, dict) and foreign_content(item)
        return _in_parts(item) if is_foreign else load([item], provider).messages
    except InputError:
        return _in_parts(item)


def _in_parts(item: Json) -> list[Message]:
    """What can be read of a message, and the rest as it is."""
    if not isinstance(item, dict) or ("type" in item and "role" not in item):
        return _arranged(Message("assistant" if isinstance(item, dict) else "user"), _read([item]))
    role = word(item.get("role")) or word(item.get("from")) or "user"
    role = ROLES.get(role, role)
    content = next((item[key] for key in CONTENT_KEYS if key in item), None)
    if role == "tool":
        name = word(item.get("name"))
        return [Message("tool", content, word(item.get("tool_call_id")) or name, name)]
    calls = [*_listed(item.get("tool_calls")), *_listed(item.get("function_call"))]
    pieces = [] if content is None and calls else _read(content)
    return _arranged(Message(role), [*pieces, *map(_call, calls)])


def _call(call: Json) -> Block:
    """A call beside the content. The old format had a name in the place of an id."""
    if not isinstance(call, dict):
        return Raw(ANY, call)
    inner = next((call[key] for key in ("function", "custom") if key in call), None)
    fields = {**call, **inner} if isinstance(inner, dict) else call
    return Raw(ANY, {"id": fields.get("name"), **fields, "type": "function"})


def _read(content: Json) -> list[Piece]:
    return [piece for part in _listed(content) for piece in _read_part(part)]


def _read_part(part: Json) -> list[Piece]:
    if isinstance(part, str):
        return [Text(part)]
    if not isinstance(part, dict):
        return [Raw(ANY, part)]
    try:
        messages = load_message({"role": "user", "content" if "type" in part else "parts": [part]})
    except InputError:
        return [Raw(ANY, part)]
    return [piece for m in messages for piece in ([m] if m.role == "tool" else m.blocks)]


def _arranged(around: Message, pieces: Sequence[Piece]) -> list[Message]:
    """The blocks as one message, and each result in it as one of its own: a user's before it, as
    they answer what came before, and others behind it."""
    blocks = tuple(piece for piece in pieces if not isinstance(piece, Message))
    results = [piece for piece in pieces if isinstance(piece, Message)]
    rest = [replace(around, content=blocks)] if blocks or not results else []
    return [*results, *rest] if around.role == "user" else [*rest, *results]


def _with_odd_calls(message: Message) -> list[Message]:
    """Calls and results also where their provider has none, or writes them differently."""
    if message.role == "tool":
        return _results_in(message)
    if not any(map(is_odd, message.blocks)):
        return [message]
    return _arranged(message, [piece for block in message.blocks for piece in _lifted(block)])


def _results_in(message: Message) -> list[Message]:
    """Several results that came as one, each by itself."""
    content: Json = message.content
    parts = content if isinstance(content, list) else []
    raws = [Raw(ANY, part) for part in parts]
    results = [result for raw in raws if is_odd(raw) and (result := hosted(raw).result)]
    return results if results and len(results) == len(parts) else [message]


def _lifted(block: Block) -> list[Piece]:
    return [p for p in hosted(block) if p] if isinstance(block, Raw) and is_odd(block) else [block]


def _listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [] if value is None else [value]
