"""Which provider a recorded request or response belongs to, and whether it is one at all."""

from __future__ import annotations

from tract.importers.coerce import dicts
from tract.model import Json
from tract.providers import PROVIDERS
from tract.providers.detect import detect

CHAT_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
NO_ANSWER = ("embed", "moderation", "tts", "rerank")
"""Parts of names of models that have an input too, and no answer to it."""


def request_provider(body: Json, url: str = "") -> str | None:
    """The provider that a request is written for; None where it is no request for a model's
    answer."""
    name = detect(body, url)
    if name is None:
        return None
    history = body[PROVIDERS[name].history]
    match PROVIDERS[name].history:
        case "messages":
            is_history = is_chat(history)
        case "contents":
            is_history = isinstance(history, str) or is_gemini_history(history)
        case _:
            is_history = isinstance(history, str) or bool(dicts(history))
    return name if is_history and _is_for_answer(name, body, url) else None


def _is_for_answer(name: str, body: dict[str, Json], url: str) -> bool:
    """Embeddings, moderations and speech have an input too."""
    if "input" not in body:
        return True
    if url:
        return url.partition("?")[0].endswith(PROVIDERS[name].marks.paths)
    model = str(body.get("model"))
    return not any(other in model for other in NO_ANSWER)


def is_chat(messages: Json) -> bool:
    """Whether it is a list of messages, each with a role."""
    if not isinstance(messages, list) or not messages:
        return False
    *before, last = messages
    is_cut = bool(before) and isinstance(last, dict)  # where only the beginning of a file is known
    return all(map(_is_message, before)) and (is_cut or _is_message(last))


def without_cut(messages: list[Json]) -> list[Json]:
    """The messages, without a last one that is cut before its role."""
    return messages if _is_message(messages[-1]) else messages[:-1]


def _is_message(message: Json) -> bool:
    return (
        isinstance(message, dict)
        and message.get("role") in tuple(CHAT_ROLES)
        and not {"content", "tool_calls", "function_call"}.isdisjoint(message)
    )


def is_gemini_history(contents: Json) -> bool:
    return bool(dicts(contents)) and all(
        isinstance(content, dict) and isinstance(content.get("parts"), list) for content in contents
    )


def opening(provider: str, request: dict[str, Json]) -> str:
    """The first thing that a history says besides its instructions: what makes two requests belong
    to one conversation. Instructions contain the time, and change."""
    history = request.get(PROVIDERS[provider].history)
    if isinstance(history, str):
        return f"{provider}\n{history}"
    messages = [m for m in dicts(history) if m.get("role") not in ("system", "developer")]
    first = messages[0] if messages else {}
    content = first.get("content", first.get("parts"))
    parts = [{"text": content}] if isinstance(content, str) else dicts(content)
    # The texts alone: cache marks come and go.
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
    return "\n".join([provider, *texts])
