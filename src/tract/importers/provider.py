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
    """Whether it is a list of messages, of which at most half are damaged."""
    if not isinstance(messages, list):
        return False
    sound = sum(map(_is_message, messages))
    # Where only the beginning of a file is known, the last one may be cut.
    is_cut = bool(messages) and isinstance(messages[-1], dict) and not _is_message(messages[-1])
    return sound > 0 and 2 * sound >= len(messages) - is_cut


def _is_message(message: Json) -> bool:
    return (
        isinstance(message, dict)
        and message.get("role") in tuple(CHAT_ROLES)
        and not {"content", "tool_calls", "function_call"}.isdisjoint(message)
    )


def has_strange_results(messages: Json) -> bool:
    """Whether results are in a format that is no provider's: their calls would not be known."""
    blocks = (block for message in dicts(messages) for block in dicts(message.get("content")))
    return any(block.get("type") == "tool_result" and "toolUseID" in block for block in blocks)


def is_gemini_history(contents: Json) -> bool:
    """Whether it is a list of contents, of which at most half are damaged."""
    if not isinstance(contents, list):
        return False
    sound = sum(isinstance(content.get("parts"), list) for content in dicts(contents))
    return sound > 0 and 2 * sound >= len(contents)


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
