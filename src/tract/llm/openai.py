"""OpenAI models, and all servers with the same APIs: Chat Completions and Responses."""

from __future__ import annotations

from typing import ClassVar

from tract.llm.sdk import Answer, SdkLLM
from tract.model import Json, readable


class OpenAILLM(SdkLLM):
    """A model of Chat Completions. The `openai` package reads missing options from
    `OPENAI_API_KEY`, `OPENAI_BASE_URL` and its other variables."""

    provider: ClassVar = "openai"
    package: ClassVar = "openai"
    maker: ClassVar = "OpenAI"
    path: ClassVar = "/chat/completions"
    usual_window: ClassVar = 128_000

    def _for_stream(self, params: dict[str, Json]) -> dict[str, Json]:
        # Without this option, a stream does not report its usage.
        return {"stream_options": {"include_usage": True}, **params, "stream": True}

    def _failure_of(self, answer: Answer) -> str | None:
        return _error_of(answer)


class ResponsesLLM(SdkLLM):
    """A model of the Responses API, which is asked to store nothing. The `openai` package reads
    missing options from `OPENAI_API_KEY`, `OPENAI_BASE_URL` and its other variables."""

    provider: ClassVar = "responses"
    package: ClassVar = "openai"
    maker: ClassVar = "OpenAI"
    path: ClassVar = "/responses"
    usual_window: ClassVar = 400_000

    def _settings(self) -> dict[str, Json]:
        return {"model": self.model, "store": False}

    def _failure_of(self, answer: Answer) -> str | None:
        error, status = _error_of(answer), answer.get("status")
        if error or status in (None, "completed", "incomplete"):
            return error
        return f"the response is {status}, not completed"


def _error_of(answer: Answer) -> str | None:
    error = answer.get("error")
    if not isinstance(error, dict):
        return readable(error) if error else None
    parts = [error.get(name) for name in ("code", "message")]
    return ": ".join(str(part) for part in parts if part) or readable(error)
