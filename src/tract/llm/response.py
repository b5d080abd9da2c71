"""What a model answered: parsing it, and what its usage says about the counting of tokens. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

import msgspec

from tract.errors import InputError, LLMAnswerError
from tract.model import CommitInfo, Json, Message, ToolCall
from tract.providers import Answer, input_tokens, is_cut, load_answer

COUNTED = "context_tokens"
"""Where the commit of an answer says how many tokens were counted in what the model was sent."""
RECENT = 20
POSSIBLE = 10**9
"""No model reads so many tokens: whoever says so has not counted."""


class ChatResponse(msgspec.Struct, frozen=True):
    """An answer of the model, and the commit that keeps it."""

    text: str
    tool_calls: list[ToolCall]
    usage: dict[str, Json] | None
    commit: CommitInfo
    is_cut: bool = False
    """Whether the answer ended at a limit, or by a filter."""


def parse(given: Any) -> Answer:
    """What a client returned, as an answer."""
    if isinstance(given, str):
        return Answer(Message("assistant", given))
    if isinstance(given, Message) and given.role == "assistant":
        return Answer(given)
    try:
        answer = load_answer(given)
    except InputError as error:
        raise LLMAnswerError(f"the model's answer cannot be understood: {error}") from error
    if not (answer.usage is None or isinstance(answer.usage, dict)):
        return answer._replace(usage=None)
    return answer


def response(answer: Answer, commit: CommitInfo) -> ChatResponse:
    message = answer.message
    calls = list(message.tool_calls)
    return ChatResponse(message.text, calls, answer.usage, commit, is_cut(answer))


def metadata(answer: Answer, counted: int, given: dict[str, Json] | None) -> dict[str, Json]:
    """What the commit of an answer says beside the answer."""
    rest = {"response": answer.rest} if answer.rest else {}
    return {**rest, COUNTED: counted, **(given or {})}


def token_factor(commits: Iterable[CommitInfo], model: str) -> float:
    """How many tokens a model really reads for each one that was counted, by its newest answers;
    1.0 where none tells."""
    told = (pair for commit in commits if model in _models(commit) for pair in _counts(commit))
    pairs = list(islice(told, RECENT))
    counted = sum(count for count, _ in pairs)
    return sum(read for _, read in pairs) / counted if counted else 1.0


def _models(commit: CommitInfo) -> tuple[Json, Json]:
    """The model that was asked, and the one that says to have answered."""
    response = commit.metadata.get("response")
    told = response.get("model") if isinstance(response, dict) else None
    return (commit.generation_config or {}).get("model"), told


def _counts(commit: CommitInfo) -> Iterable[tuple[int, int]]:
    counted, read = commit.metadata.get(COUNTED), input_tokens(commit.usage)
    if commit.role != "assistant" or type(counted) is not int or read is None:
        return
    if 0 < counted < POSSIBLE and 0 < read < POSSIBLE:
        yield counted, read
