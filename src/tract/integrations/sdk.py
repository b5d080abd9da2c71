"""Clients of the Anthropic and the OpenAI SDK, recorded."""

from __future__ import annotations

from typing import Any, TypeVar

from tract.errors import InputError
from tract.integrations.recorder import Recorder
from tract.integrations.settings import Results, configure
from tract.tract import Tract

Client = TypeVar("Client")


def record_client(client: Client, t: Tract, *, results: Results | None = None) -> Client:
    """Return the same client of the `anthropic` or `openai` SDK, sync or async, whose requests and
    answers are recorded in a dialog. The client that was passed in stays unrecorded.

    With `results`, each request is sent as the dialog shows it: long results as references, and
    `get_tool_result` among the tools. The caller answers its calls with `t.as_tool()`. `results`
    has the arguments of `configure_results`, or is its `inline_tokens`; `{}` leaves the settings of
    the dialog.

    A failure to record never fails a request. It is logged and added to `t.handler_errors`.
    """
    if not isinstance(t, Tract):
        raise InputError(f"a client is recorded in a Tract, not in {type(t).__name__}")
    http_client = _recorded(client, Recorder(t, is_shaping=results is not None))
    configure(t, results)
    return client.copy(http_client=http_client)  # type: ignore[attr-defined, no-any-return]


def _recorded(client: Any, recorder: Recorder) -> Any:
    """The HTTP client of an SDK's client, recorded. The SDKs have no public name for it."""
    sender = getattr(client, "__dict__", {}).get("_client")
    try:
        import httpx2

        from tract.integrations.sdk_http import RecordedAsyncClient, RecordedClient
    except ImportError:  # then it is no client of these SDKs
        sender = None
    else:
        if isinstance(sender, httpx2.Client):
            return RecordedClient(sender, recorder)
        if isinstance(sender, httpx2.AsyncClient):
            return RecordedAsyncClient(sender, recorder)
    kind = f"{type(client).__module__}.{type(client).__name__}"
    raise InputError(f"not a client of the anthropic or openai SDK that sends with httpx2: {kind}")
