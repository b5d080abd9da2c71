"""What all clients over an SDK share: when the SDK is imported, how a request is sent, what errors
become."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from threading import Lock
from typing import Any, ClassVar, Self

from tract.context import CompiledContext
from tract.errors import InputError, LLMCallError
from tract.extras import missing_extra
from tract.llm.protocol import OnText
from tract.model import Json, readable
from tract.providers import PROVIDERS
from tract.providers.streams import live

Answer = dict[str, Json]

SHOWN = 300  # characters of a provider's message
# What JSON of another shape than a provider's makes our code and the SDKs' raise.
_MALFORMED = (AttributeError, LookupError, RuntimeError, TypeError, ValueError)


class SdkLLM:
    """A model behind a provider's SDK. Threads may share it."""

    provider: ClassVar[str]
    """The name of the provider whose format the API has."""
    package: ClassVar[str]
    """What is imported; also the name of the extra."""
    maker: ClassVar[str]
    """The SDK's class of clients."""
    path: ClassVar[str]
    """Where requests go, below the base URL."""
    usual_window: ClassVar[int]

    def __init__(
        self,
        model: str,
        *,
        window: int | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
        client: Any = None,
    ) -> None:
        self.model = model
        self.window = self.usual_window if window is None else window
        options = {
            "base_url": base_url,
            "api_key": api_key,
            "timeout": timeout,
            "max_retries": max_retries,
        }
        self._options = {name: value for name, value in options.items() if value is not None}
        self._client = client
        self._is_own = client is None
        self._lock = Lock()

    def __repr__(self) -> str:  # without the key
        return f"{type(self).__name__}({self.model!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. A client that the caller passed in stays open."""
        with self._lock:
            if self._is_own and self._client is not None:
                self._client.close()
                self._client = None  # a later call makes a new one

    def complete(
        self,
        context: CompiledContext,
        *,
        config: Mapping[str, Json] | None = None,
        on_text: OnText | None = None,
    ) -> Answer:
        if config and "stream" in config:
            raise InputError("config must not contain stream: pass on_text to stream the answer")
        params = {**self._settings(), **context.to_params(self.provider), **(config or {})}
        with self._translated():
            params = _sendable(params)
        headers = self._headers(context)
        if on_text is not None:
            return self._streamed(params, headers, on_text)
        with self._translated():
            return self._checked(self._post(params, headers))

    # What a provider decides

    def _settings(self) -> dict[str, Json]:
        """What a request has besides the context."""
        return {"model": self.model}

    def _headers(self, context: CompiledContext) -> dict[str, str]:
        """What the request needs besides the SDK's own headers."""
        return {}

    def _for_stream(self, params: dict[str, Json]) -> dict[str, Json]:
        """The same request, to be answered with a stream."""
        return {**params, "stream": True}

    def _failure_of(self, answer: Answer) -> str | None:
        """The error that an answer reports, if any."""
        return None

    def _made(self, sdk: Any) -> Any:
        """A client of the SDK, which looks up missing keys and addresses itself."""
        return getattr(sdk, self.maker)(**self._options)

    # The call

    def _post(self, params: dict[str, Json], headers: dict[str, str], **streaming: Any) -> Any:
        """Send through the SDK's `post`, which accepts any parameter and returns plain JSON."""
        options = {"headers": headers} if headers else {}
        client = self._sdk_client()
        return client.post(self.path, cast_to=object, body=params, options=options, **streaming)

    def _sdk_client(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = self._made(self._sdk())
            return self._client

    def _sdk(self) -> Any:
        try:
            return import_module(self.package)
        except ImportError as missing:
            raise missing_extra(type(self).__name__, self.package) from missing

    def _checked(self, answer: Any) -> Answer:
        if not isinstance(answer, dict):
            came = f": {answer}" if isinstance(answer, str) and answer.strip() else ""
            raise self._error(f"the body of the response is not a JSON object{came}")
        failure = self._failure_of(answer)
        if failure:
            raise self._error(failure)
        return answer

    def _streamed(
        self, params: dict[str, Json], headers: dict[str, str], on_text: OnText
    ) -> Answer:
        pieces = self._pieces(params, headers)
        try:
            while True:
                with self._translated():
                    try:
                        piece = next(pieces)
                    except StopIteration as end:
                        return self._checked(end.value)
                on_text(piece)  # not translated: what it raises is the caller's
        finally:
            pieces.close()

    def _pieces(
        self, params: dict[str, Json], headers: dict[str, str]
    ) -> Generator[str, None, Answer]:
        body = self._for_stream(params)
        kind = self._sdk().Stream[object]
        with self._post(body, headers, stream=True, stream_cls=kind) as stream:
            answer: Answer | None = yield from live(PROVIDERS[self.provider], stream)
        if answer is None:
            raise self._error("the stream ended before the answer did")
        return answer

    # Errors

    def _error(self, text: str) -> LLMCallError:
        """An error in one line, and never with the key."""
        line = " ".join(self._without_keys(text).split())
        shortened = line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"
        return LLMCallError(f"{self.model}: {shortened}")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        failures = self._failures()
        try:
            yield
        except failures as error:
            raise self._error(self._describe(error)) from error

    def _failures(self) -> tuple[type[Exception], ...]:
        sdk, http = self._sdk(), import_module("httpx2")
        return getattr(sdk, f"{self.maker}Error"), http.HTTPError, http.InvalidURL, *_MALFORMED

    def _describe(self, error: Exception) -> str:
        """An SDK's error: the status, and the provider's message."""
        status = getattr(error, "status_code", 0)
        text = _provider_message(getattr(error, "body", None)) or str(error)
        if isinstance(error, _MALFORMED):
            text = f"request or response cannot be read: {type(error).__name__}: {error}"
        elif error.__cause__ and not status:  # such as "connection refused"
            cause = str(error.__cause__)
            text = f"{text} {self._address()} {'' if cause in text else cause}"
        text = text or type(error).__name__
        return f"{status} {text}" if status >= 400 else text

    def _address(self) -> str:
        url = getattr(self._client, "base_url", None)
        return f"({url.scheme}://{url.netloc.decode('ascii')})" if url else ""

    def _without_keys(self, text: str) -> str:
        keys = [getattr(self._client, name, None) for name in ("api_key", "auth_token")]
        for key in (self._options.get("api_key"), *keys):
            if isinstance(key, str) and len(key) >= 8:  # shorter ones are words, not secrets
                text = text.replace(key, "[key]")
        return text


def _sendable(params: dict[str, Json]) -> dict[str, Json]:
    """The request without halves of surrogate pairs, which cannot be sent."""
    text = json.dumps(params, ensure_ascii=False)
    if text.isascii():
        return params
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.loads(text.encode("utf-8", "replace"))  # type: ignore[no-any-return]
    return params


def _provider_message(body: Any) -> str:
    """The message in the body of an error. Some SDKs return the full body, some its `error`."""
    if not isinstance(body, dict):
        return body if isinstance(body, str) else ""
    error = body.get("error")
    fields = error if isinstance(error, dict) else body
    parts = [fields.get(name) for name in ("type", "message")]
    return ": ".join(part for part in parts if isinstance(part, str)) or readable(body)
