"""OpenAI models, and all that speak like them: Chat Completions and Responses."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import ClassVar

from tract.context import CompiledContext
from tract.llm.sdk import Answer, Event, SdkLLM
from tract.model import Json, readable

# Said in full wherever they are said; many servers say them again in every piece.
_WHOLE = frozenset({"role", "id", "type", "name", "finish_reason"})


class OpenAILLM(SdkLLM):
    """A model of Chat Completions. What is not given is found by the `openai` package, in
    `OPENAI_API_KEY`, `OPENAI_BASE_URL` and its other variables."""

    package: ClassVar = "openai"
    maker: ClassVar = "OpenAI"
    path: ClassVar = "/chat/completions"
    usual_window: ClassVar = 128_000

    def _params(self, context: CompiledContext) -> dict[str, Json]:
        return {"model": self.model, **context.to_openai_params()}

    def _for_stream(self, params: dict[str, Json]) -> dict[str, Json]:
        # Without being asked, a stream does not say what it used.
        return {"stream_options": {"include_usage": True}, **params, "stream": True}

    def _failure_of(self, answer: Answer) -> str | None:
        return _error_of(answer)

    def _assembled(self, events: Iterator[Event]) -> Generator[str, None, Answer]:
        answer: Answer = {}
        choice = _Choice()
        for event in events:
            about = {name: v for name, v in event.items() if name != "choices" and v is not None}
            answer.update(about)
            for given in event.get("choices") or []:
                text = choice.feed(given) if not given.get("index") else ""
                if text:
                    yield text
        if not choice.finish_reason:
            raise self._broken_off()
        return {**answer, "object": "chat.completion", "choices": [choice.whole()]}


class ResponsesLLM(SdkLLM):
    """A model of the Responses API, which is asked to keep nothing. What is not given is found by
    the `openai` package, in `OPENAI_API_KEY`, `OPENAI_BASE_URL` and its other variables."""

    package: ClassVar = "openai"
    maker: ClassVar = "OpenAI"
    path: ClassVar = "/responses"
    usual_window: ClassVar = 400_000

    def _params(self, context: CompiledContext) -> dict[str, Json]:
        return {"model": self.model, "store": False, **context.to_responses_params()}

    def _failure_of(self, answer: Answer) -> str | None:
        error, status = _error_of(answer), answer.get("status")
        if error or status in (None, "completed", "incomplete"):
            return error
        return f"the response is {status}, not completed"

    def _assembled(self, events: Iterator[Event]) -> Generator[str, None, Answer]:
        done: dict[int, Json] = {}
        for event in events:
            match event["type"]:
                case "response.output_text.delta" if event["delta"]:
                    yield event["delta"]
                case "response.output_item.done":
                    done[event["output_index"]] = event["item"]
                case "response.completed" | "response.incomplete" | "response.failed":
                    answer: Answer = event["response"]
                    # Some servers leave the output out here, having sent each item.
                    output = answer.get("output") or [done[place] for place in sorted(done)]
                    return {**answer, "output": output}
                case "error":
                    raise self._error(_error_of({"error": event}) or "")
        raise self._broken_off()


def _error_of(answer: Answer) -> str | None:
    error = answer.get("error")
    if not isinstance(error, dict):
        return readable(error) if error else None
    said = [error.get(name) for name in ("code", "message")]
    return ": ".join(str(part) for part in said if part) or readable(error)


class _Choice:
    """A streamed choice. Its calls come in pieces, which belong together by their index."""

    def __init__(self) -> None:
        self._about: dict[str, Json] = {}
        self._message: dict[str, Json] = {"role": "assistant", "content": None}
        self._calls: list[dict[str, Json]] = []
        self._latest: dict[int | None, dict[str, Json]] = {}

    @property
    def finish_reason(self) -> str | None:
        return self._about.get("finish_reason")

    def feed(self, given: dict[str, Json]) -> str:
        """Add a piece. Returns what it adds to the text of the answer."""
        delta = dict(given.get("delta") or {})
        for piece in delta.pop("tool_calls", None) or []:
            self._feed_call(piece)
        _grow(self._message, delta)
        _grow(self._about, {name: v for name, v in given.items() if name not in ("delta", "index")})
        return delta.get("content") or ""

    def _feed_call(self, piece: dict[str, Json]) -> None:
        index = piece.get("index")
        call = self._latest.get(index)
        # Some servers give all calls the same index, or none: then the ids tell them apart.
        if call is None or (piece.get("id") and piece["id"] != call.get("id")):
            call = self._latest[index] = {}
            self._calls.append(call)
        _grow(call, {name: value for name, value in piece.items() if name != "index"})

    def whole(self) -> dict[str, Json]:
        calls = {"tool_calls": self._calls} if self._calls else {}
        return {"index": 0, "message": {**self._message, **calls}, **self._about}


def _grow(whole: dict[str, Json], piece: dict[str, Json]) -> None:
    for name, value in piece.items():
        known = whole.get(name)
        if not known:
            whole[name] = known if value is None else value
        elif isinstance(known, dict) and isinstance(value, dict):
            _grow(known, value)
        elif name not in _WHOLE and value is not None:
            whole[name] = known + value  # texts and lists
