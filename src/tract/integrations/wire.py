"""Requests of the APIs, as they go over the wire: which API one is for, and the same request with
results in another form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from tract.core.wording import GET_TOOL_RESULT
from tract.integrations.mirror import Shown
from tract.model import Json
from tract.providers import PROVIDERS
from tract.providers.tools import declarations, name_of
from tract.providers.toolsets import GET_TOOL_RESULT_TOOL

Body = dict[str, Json]
PATHS = {"/messages": "anthropic", "/chat/completions": "openai", "/responses": "responses"}
"""The providers by how the path of a request ends."""
PREVIOUS = "previous_response_id"


def provider_at(path: str) -> str | None:
    """Whose requests go to this path; None if they ask for no answer of a model."""
    return next((name for end, name in PATHS.items() if path.endswith(end)), None)


def history_of(body: Body, provider: str) -> list[Json]:
    """The messages or items of a request."""
    history = body.get(PROVIDERS[provider].history)
    return [{"role": "user", "content": history}] if isinstance(history, str) else history or []


def continues(history: list[Json], before: list[Json]) -> bool:
    """Whether a history starts with an earlier one. The marks for a cache may have moved."""
    if len(history) < len(before):
        return False
    pairs = zip(before, history, strict=False)
    return all(a == b or _without_marks(a) == _without_marks(b) for a, b in pairs)


def _without_marks(value: Json) -> Json:
    """A message without marks for a cache. One that had none may have been a plain text."""
    if isinstance(value, list):
        return [_without_marks(item) for item in value]
    if not isinstance(value, dict):
        return value
    fields = {key: _without_marks(item) for key, item in value.items() if key != "cache_control"}
    if isinstance(fields.get("content"), str):
        fields["content"] = [{"type": "text", "text": fields["content"]}]
    return fields


def reshaped(body: Body, provider: str, shown: Shown) -> Body:
    """The request with what the model should see. Where more than results differs, it is made of
    the context, unless the provider itself has the beginning."""
    if shown.is_rewritten and body.get(PREVIOUS) is None:
        kept = {key: value for key, value in body.items() if key not in PROVIDERS[provider].system}
        return {**kept, **shown.context.to_params(provider)}
    if shown.results:
        history = history_of(body, provider)
        is_tail = body.get(PREVIOUS) is not None
        first = _results_before(history, provider, shown) if is_tail else Counter[str]()
        shaped = _with_forms(history, provider, shown, first)
        body = {**body, PROVIDERS[provider].history: shaped}
    return _with_fetch_tool(body, provider) if shown.results or body.get("tools") else body


def _with_fetch_tool(body: Body, provider: str) -> Body:
    tools = body.get("tools") or []
    names = {name_of(declared) for tool in tools for declared in declarations(tool)}
    if GET_TOOL_RESULT in names:
        return body
    return {**body, "tools": [*tools, GET_TOOL_RESULT_TOOL[provider]]}


def _with_forms(
    history: list[Json], provider: str, shown: Shown, first: Counter[str]
) -> list[Json]:
    """The history with results in their forms; `first` counts results that come before it."""
    results, numbers, key = _RESULTS[provider], first.copy(), _CONTENTS[provider]

    def shape(item: Json) -> Json:
        forms = []
        for call_id, result in results(item):
            form = shown.results.get((call_id, numbers[call_id]))
            numbers[call_id] += 1
            if form is not None:
                forms.append((result, {**result, key: form.text}))
        return _replaced(item, forms) if forms else item

    return [shape(item) for item in history]


def _replaced(item: Json, forms: list[tuple[Json, Json]]) -> Json:
    """A copy of a message or item: its results are blocks of it, or it is one itself."""
    by_identity = {id(result): form for result, form in forms}
    if id(item) in by_identity:
        return by_identity[id(item)]
    return {**item, "content": [by_identity.get(id(block), block) for block in item["content"]]}


def _results_before(history: list[Json], provider: str, shown: Shown) -> Counter[str]:
    """How many results of each id the provider has already."""
    recorded = (message for message in shown.context.messages if message.role == "tool")
    numbers = Counter(message.tool_call_id or "" for message in recorded)
    numbers.subtract(call_id for item in history for call_id, _ in _RESULTS[provider](item))
    return numbers


# Where the results are: each with the id of its call


def _anthropic_results(message: Any) -> Iterator[tuple[str, Json]]:
    content = message.get("content")
    for block in content if isinstance(content, list) else ():
        if block.get("type") == "tool_result":
            yield block["tool_use_id"], block


def _chat_results(message: Any) -> Iterator[tuple[str, Json]]:
    if message.get("role") == "tool":
        yield message["tool_call_id"], message


def _responses_results(item: Any) -> Iterator[tuple[str, Json]]:
    if item.get("type") in ("function_call_output", "custom_tool_call_output"):
        yield item["call_id"], item


_RESULTS: dict[str, Callable[[Any], Iterator[tuple[str, Json]]]] = {
    "anthropic": _anthropic_results,
    "openai": _chat_results,
    "responses": _responses_results,
}
_CONTENTS = {"anthropic": "content", "openai": "content", "responses": "output"}
"""The key of a result under which its content is."""
