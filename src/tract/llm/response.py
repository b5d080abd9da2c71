"""A model's response: parsing it, and calibrating token counts by its usage. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import msgspec

from tract.errors import InputError, LLMAnswerError
from tract.model import AnswerUsage, CommitInfo, Json, Message, ToolCall
from tract.providers import Answer, input_tokens, is_cut, load_answer
from tract.reprs import SHORT, brief, size, some

COUNTED = "context_tokens"
"""The metadata key for the number of tokens we counted in the request."""
RECENT = 20
POSSIBLE = 10**9
"""No model reads this many tokens, so such a number was not counted."""


class ChatResponse(msgspec.Struct, frozen=True):
    """A model's answer, and the commit that stores it."""

    text: str
    tool_calls: list[ToolCall]
    usage: dict[str, Json] | None
    commit: CommitInfo
    is_cut: bool = False
    """Whether a limit or a filter ended the answer early."""

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return brief(
            self,
            size(self.text),
            some(len(self.tool_calls), "call"),
            self.commit.commit_hash[:SHORT],
            "cut" if self.is_cut else None,
        )


def parse(response: Any) -> Answer:
    """Parse what a client returned: a text, a message, or a provider's response."""
    if isinstance(response, str):
        return Answer(Message("assistant", response))
    if isinstance(response, Message) and response.role == "assistant":
        return Answer(response)
    try:
        answer = load_answer(response)
    except InputError as error:
        raise LLMAnswerError(f"cannot parse the model's answer: {error}") from error
    if not (answer.usage is None or isinstance(answer.usage, dict)):
        return answer._replace(usage=None)
    return answer


def response(answer: Answer, commit: CommitInfo) -> ChatResponse:
    message = answer.message
    calls = list(message.tool_calls)
    return ChatResponse(message.text, calls, answer.usage, commit, is_cut(answer))


def metadata(answer: Answer, counted: int, extra: dict[str, Json] | None) -> dict[str, Json]:
    """The metadata of an answer's commit: the rest of the response, our count, the caller's own."""
    rest = {"response": answer.rest} if answer.rest else {}
    return {**rest, COUNTED: counted, **(extra or {})}


def answer_usage(commit: CommitInfo) -> AnswerUsage:
    """What the commit of an answer records about its use. An importer keeps the time and the id of
    the source, and `chat` the rest of the response."""
    config, about = commit.generation_config or {}, commit.metadata
    rest = about.get("response")
    return AnswerUsage(
        _text(config.get("model")),
        commit.usage or {},
        _time(about.get("time")) or commit.created_at,
        _text(about.get("id")) or (_text(rest.get("id")) if isinstance(rest, dict) else None),
    )


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _time(value: Json) -> datetime | None:
    try:
        time = datetime.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def token_factor(commits: Iterable[CommitInfo], model: str) -> float:
    """How many tokens a model really reads for each token counted here, by the usage of its newest
    answers; 1.0 if none reports usage."""
    counts = (pair for commit in commits if model in _models(commit) for pair in _counts(commit))
    pairs = list(islice(counts, RECENT))
    counted = sum(count for count, _ in pairs)
    return sum(read for _, read in pairs) / counted if counted else 1.0


def _models(commit: CommitInfo) -> tuple[Json, Json]:
    """The model that was asked, and the model named in the response."""
    response = commit.metadata.get("response")
    answered_by = response.get("model") if isinstance(response, dict) else None
    return (commit.generation_config or {}).get("model"), answered_by


def _counts(commit: CommitInfo) -> Iterable[tuple[int, int]]:
    counted, read = commit.metadata.get(COUNTED), input_tokens(commit.usage)
    if commit.role != "assistant" or type(counted) is not int or read is None:
        return
    if 0 < counted < POSSIBLE and 0 < read < POSSIBLE:
        yield counted, read
