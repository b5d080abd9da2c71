"""Claude models, through the Messages API."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from typing import Any, ClassVar

from tract.context import CompiledContext
from tract.llm.sdk import Answer, Event, SdkLLM
from tract.model import Json


class AnthropicLLM(SdkLLM):
    """A model of the Messages API. What is not given is found by the `anthropic` package, in
    `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL` and its other variables and files."""

    package: ClassVar = "anthropic"
    maker: ClassVar = "Anthropic"
    path: ClassVar = "/v1/messages"
    usual_window: ClassVar = 200_000

    def __init__(
        self,
        model: str,
        *,
        max_tokens: int = 8192,
        window: int | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
        client: Any = None,
    ) -> None:
        super().__init__(
            model,
            window=window,
            base_url=base_url,
            api_key=api_key,
            timeout=timeout,
            max_retries=max_retries,
            client=client,
        )
        self.max_tokens = max_tokens

    def _params(self, context: CompiledContext) -> dict[str, Json]:
        limits = {"model": self.model, "max_tokens": self.max_tokens}
        return {**limits, **context.to_anthropic_params()}

    def _headers(self, context: CompiledContext) -> dict[str, str]:
        return {"anthropic-beta": ",".join(context.betas)} if context.betas else {}

    def _made(self, sdk: Any) -> Any:
        client = super()._made(sdk)
        names = {name.lower() for name in client.default_headers}
        if client.credentials is None and not names & {"authorization", "x-api-key"}:
            client.close()
            raise self._error("no key: set ANTHROPIC_API_KEY, or give api_key=")
        return client

    def _assembled(self, events: Iterator[Event]) -> Generator[str, None, Answer]:
        answer: Answer = {}
        arguments: dict[int, str] = {}  # by the number of the block, as far as they have come
        for event in events:
            match event["type"]:
                case "message_start":
                    answer = event["message"]
                case "content_block_start":
                    answer["content"].append(event["content_block"])
                case "content_block_delta":
                    text = _grow(answer["content"], event, arguments)
                    if text:
                        yield text
                case "content_block_stop":
                    _close(answer["content"], event["index"], arguments)
                case "message_delta":
                    answer.update(event["delta"])
                    counted = event.get("usage") or {}
                    known = {name: value for name, value in counted.items() if value is not None}
                    answer["usage"] = {**answer.get("usage", {}), **known}
                case "message_stop":
                    return answer
        raise self._broken_off()


def _grow(content: list[Json], event: Event, arguments: dict[int, str]) -> str:
    """Add a delta to its block. Returns what it adds to the text of the answer."""
    index, delta = event["index"], event["delta"]
    block = content[index]
    match delta["type"]:
        case "input_json_delta":
            arguments[index] = arguments.get(index, "") + delta["partial_json"]
        case "citations_delta":
            block["citations"] = [*(block.get("citations") or []), delta["citation"]]
        case _:  # text, thinking, signature, and whatever else grows as a text
            for name, value in delta.items():
                if name != "type":
                    is_text = isinstance(value, str)
                    block[name] = (block.get(name) or "") + value if is_text else value
    return str(delta["text"]) if delta["type"] == "text_delta" else ""


def _close(content: list[Json], index: int, arguments: dict[int, str]) -> None:
    if arguments.get(index):
        content[index]["input"] = json.loads(arguments[index])
