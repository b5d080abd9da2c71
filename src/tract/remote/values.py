"""What operations accept and return that is not a value of `Tract` already."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, Struct, UnsetType

from tract.access import Grant
from tract.model import DialogFacts, Gist, Json, Step


class Nothing(Struct, forbid_unknown_fields=True):
    """No parameters."""


class Paged(Struct, forbid_unknown_fields=True, kw_only=True):
    """A part of a list."""

    cursor: str | UnsetType = UNSET
    limit: int | UnsetType = UNSET


class ContextParameters(Struct, forbid_unknown_fields=True, kw_only=True):
    provider: str = "anthropic"
    """`anthropic`, `openai`, `responses` or `gemini`."""
    at: str | UnsetType = UNSET
    tools: str | UnsetType = UNSET
    load_tool_results: list[str] | UnsetType = UNSET
    """`true`, `false`, or the ids of results that are shown in full."""
    keep_recent: int | UnsetType = UNSET
    inline_under: int | UnsetType = UNSET
    stored: bool = False
    """Whether all messages are shown as stored: results in full, nothing skipped or summarized."""


class Context(Struct, frozen=True):
    """What a model would be sent."""

    provider: str
    request: dict[str, Json]
    token_count: int
    tool_tokens: int
    token_source: str
    commit_hashes: list[str]
    message_forms: list[str]
    message_tokens: list[int]
    notes: list[str]
    """What had to be repaired so that the provider accepts the messages."""


class ResultParameters(Struct, forbid_unknown_fields=True, kw_only=True):
    view: str = "full"
    """`full` (the result in its envelope), `raw` (the result alone), `metadata` or `preview`."""
    lines: str | UnsetType = UNSET
    grep: str | UnsetType = UNSET
    context: int | UnsetType = UNSET
    json_path: str | UnsetType = UNSET
    offset: int | UnsetType = UNSET
    limit: int | UnsetType = UNSET
    occurrence: int | UnsetType = UNSET
    """Which result with this id, counted from 1; by default the newest."""
    content: str | UnsetType = UNSET
    """The content hash that the result must have. The answer can then be cached for good."""


class ToolResultResponse(Struct, frozen=True, kw_only=True):
    """A tool result in full."""

    tool_call_id: str
    tool_name: str
    status: str
    dialog_id: str
    content_hash: str
    commit_hash: str
    size_bytes: int
    token_count: int
    result: Json


class StoreParameters(Struct, forbid_unknown_fields=True, kw_only=True):
    tool_name: str
    result: Json
    arguments: Json = {}
    is_error: bool = False


class ResultsParameters(Paged, kw_only=True):
    tool: str | UnsetType = UNSET
    status: str | UnsetType = UNSET
    """`success` or `error`."""
    form: str | UnsetType = UNSET
    superseded: bool = False
    """Whether to list only results that a later call has superseded."""


class Position(Struct, frozen=True):
    """Where a dialog stands, and what a client must know to read on."""

    branch: str
    detached: str | None
    head_id: int | None
    head: str | None
    exists: bool
    erasures: int
    result_settings: dict[str, Json] | None
    summarization: dict[str, Json] | None
    facts: dict[str, Json] | None = None


class PositionParameters(Struct, forbid_unknown_fields=True, kw_only=True):
    at: str | UnsetType = UNSET
    """A commit or a branch; by default what is checked out."""


class StepsParameters(Struct, forbid_unknown_fields=True, kw_only=True):
    head: str
    known: str | UnsetType = UNSET
    """The commit up to which the client has the chain."""


class Steps(Struct, frozen=True):
    """A part of a chain, for clients that compile it themselves."""

    steps: list[Step] | None
    """None if the head is not a descendant of the known commit: read from the beginning."""
    gists: dict[int, Gist] = {}
    """The stored previews of results, by the key of the content."""
    forgotten: list[int] = []
    """The contents that were forgotten."""
    next: str | None = None
    """The commit to pass as `known` for the rest."""


class DraftLink(Struct, frozen=True):
    kind: str
    target: str
    value: str | None = None


class PushParameters(Struct, forbid_unknown_fields=True, kw_only=True):
    """A commit that a client has drafted: an answer of its model, a summary, a decision."""

    operation: str
    message: dict[str, Json] | None = None
    links: list[DraftLink] = []
    note: str | None = None
    metadata: dict[str, Json] | None = None
    generation_config: dict[str, Json] | None = None
    usage: dict[str, Json] | None = None
    tools: list[Json] | None = None
    form: str | None = None


class Batch(Struct, frozen=True):
    """A transaction that stays open for further requests."""

    batch: str
    idle_seconds: float
    """The batch is rolled back if no request comes for that long."""


class Hello(Struct, frozen=True):
    """Who answers."""

    version: str
    api: int
    tokens: str
    """The counter for the tokens of new commits."""
    scope: str
    dialogs: list[str]
    """The prefixes of the dialogs that the token may use; none for all."""


class ExportParameters(Struct, forbid_unknown_fields=True, kw_only=True):
    format: str = "jsonl"
    """A provider's name, `jsonl` or `markdown`."""
    at: str | UnsetType = UNSET
    stored: bool = False


class ImportParameters(Struct, forbid_unknown_fields=True, kw_only=True):
    name: str
    """The name of the file."""
    dialog: str | UnsetType = UNSET
    """The name of the dialog; by default that of the session in the file, or of the file."""


class ItemsParameters(Struct, forbid_unknown_fields=True, kw_only=True):
    path: str
    """Where the file is, for the client."""
    format: str
    """The name of its format."""
    own_name: str
    """The name of the session in the file, or of the file."""
    dialog: str | UnsetType = UNSET
    """The name of the dialog; by default `own_name`."""


class PartialSuccess(Struct, frozen=True, rename="camel"):
    rejected_spans: str
    """How many could not be read; JSON has 64 bits as a text."""
    error_message: str


class Exported(Struct, frozen=True, rename="camel"):
    """The answer to an export of spans, as OTLP has it."""

    partial_success: PartialSuccess | UnsetType = UNSET
    """Only if something was rejected."""


class FactsParameters(Struct, forbid_unknown_fields=True, kw_only=True):
    facts: DialogFacts


class EventsParameters(Struct, forbid_unknown_fields=True, kw_only=True):
    after: str | UnsetType = UNSET
    """A commit: begin with what follows it. The header `Last-Event-ID` says the same."""


class DialogsParameters(Paged, kw_only=True):
    search: str | UnsetType = UNSET


class LogParameters(Paged, kw_only=True):
    at: str | UnsetType = UNSET
    """A commit or a branch to begin with, instead of the newest commit."""


class SearchAllParameters(Paged, kw_only=True):
    text: str
    tool: str | UnsetType = UNSET
    role: str | UnsetType = UNSET
    since: datetime | UnsetType = UNSET
    until: datetime | UnsetType = UNSET
    project: str | UnsetType = UNSET
    errors: bool | UnsetType = UNSET
    order: str | UnsetType = UNSET


class GrantParameters(Struct, forbid_unknown_fields=True, kw_only=True):
    name: str
    scope: str
    dialogs: list[str] = []
    """The prefixes of the dialogs that it may use; none for all."""
    digest: str | UnsetType = UNSET
    """The SHA-256 of a token that the client has made, in hexadecimal."""


class NewGrant(Struct, frozen=True):
    token: str | None
    """None for a token that the client has made."""
    grant: Grant
