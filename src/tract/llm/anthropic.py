"""Claude models, through the Messages API."""

from __future__ import annotations

from typing import Any, ClassVar

from tract.context import CompiledContext
from tract.llm.sdk import SdkLLM
from tract.model import Json


class AnthropicLLM(SdkLLM):
    """A model of the Messages API. The `anthropic` package reads missing options from
    `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL` and its other variables and files."""

    provider: ClassVar = "anthropic"
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

    def _settings(self) -> dict[str, Json]:
        return {"model": self.model, "max_tokens": self.max_tokens}

    def _headers(self, context: CompiledContext) -> dict[str, str]:
        betas = context.betas
        return {"anthropic-beta": ",".join(betas)} if betas else {}

    def _made(self, sdk: Any) -> Any:
        client = super()._made(sdk)
        names = {name.lower() for name in client.default_headers}
        if client.credentials is None and not names & {"authorization", "x-api-key"}:
            client.close()
            raise self._error("no key: set ANTHROPIC_API_KEY, or pass api_key=")
        return client
