"""What a server does, described once: routes, parameters, results and documentation come from here.

Most operations are methods of `Tract`: their parameters and results are read off its signatures, so
neither can drift from it. The others are described by a struct. The server serves this table, the
client calls it, and the OpenAPI document prints it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from types import NoneType, UnionType
from typing import (
    Any,
    NamedTuple,
    Union,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import msgspec
from msgspec import UNSET, Struct, UnsetType

from tract.access import AuditEntry, Grant
from tract.context import CompiledContext
from tract.core.compression import PendingCompress
from tract.importers.writer import Imported
from tract.model import CommitInfo, DialogFacts, DialogInfo, Gist, Json, Message, Step, Toolset
from tract.session.handlers import PendingToolResult
from tract.storage.maintenance import Hit
from tract.tool_results import ToolResultMetadata, ToolResultReference
from tract.tract import Tract

READ, WRITE, ADMIN = "read", "write", "admin"
PAGE, MOST = 100, 1000
"""Items of a page, unless a request says another number, and the most that it may ask for."""

LONG = ("fsck", "gc", "forget", "delete_dialog", "import", "import_items", "backup")
"""Operations that may take minutes."""

LOCAL = ("self", "review", "on_progress", "on_text", "all_dialogs")
"""Parameters that make sense only in the process that calls, or that have an operation."""


class Operation(NamedTuple):
    """One thing that a server does."""

    name: str
    verb: str
    path: str
    """With names of parameters in braces; `{dialog}` is the dialog."""
    scope: str
    params: type[Struct]
    """The other parameters: in the query of a GET, else in the JSON body."""
    returns: Any
    """What the JSON of the answer is; None for an answer without content, or with other content."""
    doc: str
    example: Mapping[str, Json] = {}
    """Values for the parameters, as the documentation shows them."""
    is_paged: bool = False
    """Whether the answer is a page of a list, with a cursor for the next one."""
    media: str = "application/json"
    accepts: str = "application/json"
    """The media type of the body. If it is another one, the parameters are in the query."""
    commits: frozenset[str] = frozenset()
    """The parameters that name commits."""
    messages: frozenset[str] = frozenset()
    """The parameters that may be messages or calls in no provider's format."""

    @property
    def is_read(self) -> bool:
        return self.verb == "GET"

    @property
    def path_names(self) -> list[str]:
        return [part[1:-1] for part in self.path.split("/") if part.startswith("{")]


# From a signature to types of JSON


def argument_type(hint: Any) -> Any:
    """The type of an argument in JSON. A commit is named by its hash, and a word of an enum is a
    text."""
    args = get_args(hint)
    if get_origin(hint) in (Union, UnionType):
        kinds = [argument_type(arg) for arg in args]
        return _union([kind for kind in kinds if kind not in (CommitInfo, CompiledContext)])
    if hint is Message:
        return dict[str, Json]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return str
    if get_origin(hint) in (list, tuple, Sequence, Iterable):
        return list[argument_type(args[0])]  # type: ignore[misc]
    if get_origin(hint) is Mapping:
        return dict[str, argument_type(args[1])]  # type: ignore[misc]
    return hint


def _union(kinds: list[Any]) -> Any:
    if Any in kinds:
        return Any
    return Union[tuple(dict.fromkeys(kinds))]  # noqa: UP007 - there is no other way to join a list


def result_type(hint: Any) -> tuple[Any, bool]:
    """The type of a result in JSON, and whether it comes in pages."""
    if get_origin(hint) is Iterator:
        return get_args(hint)[0], True
    if get_origin(hint) in (Union, UnionType):
        kinds = [k for k in get_args(hint) if k not in (PendingCompress, PendingToolResult)]
        return _union(kinds), False
    if hint is Message:
        return dict[str, Json], False
    return (None if hint is NoneType else hint), False


def _parameters(method: Any) -> dict[str, tuple[Any, bool]]:
    """The parameters of a method: the type of each in JSON, and whether it must be there."""
    hints = get_type_hints(method)
    fields: dict[str, tuple[Any, bool]] = {}
    for name, parameter in inspect.signature(method).parameters.items():
        hint = hints.get(name)
        if name in LOCAL:
            continue
        if parameter.kind == inspect.Parameter.VAR_KEYWORD:
            options = get_args(hint)[0] if get_origin(hint) is Unpack else hint
            assert is_typeddict(options), name
            for option, kind in get_type_hints(options).items():
                fields[option] = argument_type(kind), False
        elif parameter.kind == inspect.Parameter.VAR_POSITIONAL:
            fields[name] = list[argument_type(hint)], False  # type: ignore[misc]
        else:
            fields[name] = argument_type(hint), parameter.default is inspect.Parameter.empty
    return fields


def _struct(name: str, fields: Mapping[str, tuple[Any, bool]]) -> type[Struct]:
    """A struct of these fields. One that is absent keeps the default of the method."""
    described: list[Any] = [
        (field, kind) if is_required else (field, Union[kind, UnsetType], UNSET)  # noqa: UP007
        for field, (kind, is_required) in fields.items()
    ]
    return msgspec.defstruct(name, described, kw_only=True, forbid_unknown_fields=True)


def _method(name: str, verb: str, path: str, scope: str = READ, /, **example: Json) -> Operation:
    """The operation that calls a method of `Tract`."""
    method = getattr(Tract, name)
    returns, is_paged = result_type(get_type_hints(method)["return"])
    in_path = {part[1:-1] for part in path.split("/") if part.startswith("{")}
    fields = {key: kind for key, kind in _parameters(method).items() if key not in in_path}
    if is_paged:
        fields |= _PAGED
    params = _struct(f"{name.title().replace('_', '')}Parameters", fields)
    doc = inspect.getdoc(method) or ""
    operation = Operation(name, verb, path, scope, params, returns, doc, example, is_paged)
    kinds = _kinds(method)
    return operation._replace(
        commits=frozenset(key for key, parts in kinds.items() if CommitInfo in parts) | _COMMITS,
        messages=frozenset(key for key, parts in kinds.items() if Message in parts) | _CALLS,
    )


_COMMITS, _CALLS = frozenset({"forms"}), frozenset({"call", "tool_calls"})
"""Parameters of which the types do not tell it."""


def _kinds(method: Any) -> dict[str, set[Any]]:
    """The types that the hint of each parameter is made of."""
    hints = dict(get_type_hints(method))
    for hint in list(hints.values()):
        if get_origin(hint) is Unpack:
            hints |= get_type_hints(get_args(hint)[0])
    return {name: set(_atoms(hint)) for name, hint in hints.items()}


def _atoms(hint: Any) -> Iterator[Any]:
    """The classes that a hint is made of."""
    if isinstance(hint, type) and not get_args(hint):
        yield hint
    for arg in get_args(hint):
        yield from _atoms(arg)


_PAGED: dict[str, tuple[Any, bool]] = {"cursor": (str, False), "limit": (int, False)}


# What is not a method of Tract


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


def _special(
    name: str,
    verb: str,
    path: str,
    scope: str,
    params: type[Struct],
    returns: Any,
    doc: str,
    /,
    *,
    is_paged: bool = False,
    media: str = "application/json",
    accepts: str = "application/json",
    **example: Json,
) -> Operation:
    kind = media, accepts
    return Operation(name, verb, path, scope, params, returns, doc, example, is_paged, *kind)


DIALOG = "/api/dialogs/{dialog}"
COMMIT = f"{DIALOG}/commits/{{commit}}"
RESULTS = f"{DIALOG}/tool-results"

_CALL = {"id": "call_1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
_USER = {"role": "user", "content": "Hi"}
_TOOL = {"name": "ls", "input_schema": {"type": "object", "properties": {}}}

SECTIONS: dict[str, tuple[Operation, ...]] = {
    "Dialogs": (
        _special(
            *("hello", "GET", "/api", READ, Nothing, Hello),
            "Say which version answers, and what the token may do.",
        ),
        _special(
            *("dialogs", "GET", "/api/dialogs", READ, DialogsParameters, DialogInfo),
            "List the dialogs that the token may use, by name. With `search`, those whose name, "
            "title, folder and model contain all of its words.",
            is_paged=True,
            search="orders",
        ),
        _special(
            *("dialog_info", "GET", DIALOG, READ, Nothing, DialogInfo),
            "Return one dialog with its totals.",
        ),
        _special(
            *("delete_dialog", "DELETE", DIALOG, ADMIN, Nothing, None),
            "Delete a dialog, with everything that no other dialog uses.",
        ),
        _special(
            *("position", "GET", f"{DIALOG}/position", READ, PositionParameters, Position),
            "Return the branch that is checked out and its newest commit.",
        ),
    ),
    "Messages": (
        _method(
            "commit", "POST", f"{DIALOG}/messages", WRITE, content={"role": "user", "content": "Hi"}
        ),
        _method("system", "POST", f"{DIALOG}/messages/system", WRITE, text="Be brief."),
        _method("user", "POST", f"{DIALOG}/messages/user", WRITE, text="What is in src?"),
        _method(
            "assistant", "POST", f"{DIALOG}/messages/assistant", WRITE, text="", tool_calls=[_CALL]
        ),
        _method(
            *("tool_result", "POST", RESULTS, WRITE),
            tool_call_id="call_1",
            name="ls",
            content="main.py\n",
        ),
        _method(
            *("record", "POST", f"{DIALOG}/record", WRITE),
            messages=[{"role": "user", "content": "What is in src?"}],
        ),
        _method(
            *("answer", "POST", f"{DIALOG}/answers", WRITE),
            call={"id": "call_2", "name": "get_tool_result", "arguments": {"id": "call_1"}},
        ),
        _special(
            *("push", "POST", f"{DIALOG}/commits", WRITE, PushParameters, CommitInfo),
            "Append a commit that a client has drafted, such as an answer of its own model. The "
            "server makes the commit itself, and checks it like any other.",
            operation="append",
            message={"role": "user", "content": "Hi"},
        ),
    ),
    "Changes": (
        _method("annotate", "POST", f"{DIALOG}/marks", WRITE, commit="HEAD", priority="pinned"),
        _method("restore", "POST", f"{DIALOG}/restore", WRITE, names=["HEAD"]),
        _method("reshape", "POST", f"{DIALOG}/reshape", WRITE, forms={"HEAD": "reference"}),
        _method("set_tools", "POST", f"{DIALOG}/tools", WRITE, tools=[_TOOL]),
        _method(
            "configure_results", "PUT", f"{DIALOG}/settings/results", WRITE, inline_tokens=2000
        ),
        _method(
            *("configure_tool_summarization", "PUT", f"{DIALOG}/settings/summaries", WRITE),
            auto_threshold=4000,
        ),
        _special(
            *("describe", "PUT", f"{DIALOG}/facts", WRITE, FactsParameters, None),
            "Note what a dialog is: what a list of dialogs shows of it.",
            facts={"title": "Tool results of a session"},
        ),
        _method(
            "summarize_tool_result", "POST", f"{RESULTS}/{{id}}/summary", WRITE, target_tokens=100
        ),
        _method("compress", "POST", f"{DIALOG}/compress", WRITE, content="The user asked for src."),
        _method(
            "compress_tool_calls", "POST", f"{DIALOG}/compress-tool-calls", WRITE, keep_recent=1
        ),
        _method("drop_failed_tool_turns", "POST", f"{DIALOG}/drop-failed-turns", WRITE),
    ),
    "Reading": (
        _special(
            *("log", "GET", f"{DIALOG}/log", READ, LogParameters, CommitInfo),
            "List the commits of the branch, newest first, without their contents.",
            is_paged=True,
            limit=20,
        ),
        _method("get_commit", "GET", COMMIT),
        _method("get_message", "GET", f"{COMMIT}/message"),
        _method("get_content", "GET", f"{COMMIT}/content"),
        _method("edit_history", "GET", f"{COMMIT}/versions"),
        _method("get_commit_tools", "GET", f"{COMMIT}/tools"),
        _special(
            *("context", "GET", f"{DIALOG}/context", READ, ContextParameters, Context),
            "Return what a model would be sent: a valid request of one provider, with its tools.",
            provider="anthropic",
        ),
        _special(
            *("export", "GET", f"{DIALOG}/export", READ, ExportParameters, None),
            "Return the dialog as a document: a provider's request, one chat message per line, or "
            "a transcript for people.",
            media="text/plain",
            format="markdown",
        ),
        _method("search", "GET", f"{DIALOG}/search", text="no space left"),
        _special(
            *("search_all", "GET", "/api/search", READ, SearchAllParameters, Hit),
            "Find the commits of all dialogs that the token may use whose content contains the "
            "text (case-insensitive), newest first.",
            is_paged=True,
            text="no space left",
        ),
        _special(
            *("steps", "GET", f"{DIALOG}/steps", READ, StepsParameters, Steps),
            "Return the commits from the first, or after a known one, to a head, for a client "
            "that compiles them itself.",
            head="HEAD",
        ),
        _special(
            *("payload", "GET", f"{COMMIT}/payload", READ, Nothing, None),
            "Return the content of a commit as its stored JSON, whose SHA-256 is the content hash.",
        ),
        _special(
            *("toolset", "GET", f"{COMMIT}/toolset", READ, Nothing, Toolset),
            "Return the toolset that was recorded with a commit.",
        ),
    ),
    "Results and tools": (
        _special(
            *("tool_results", "GET", RESULTS, READ, ResultsParameters, ToolResultMetadata),
            "Describe the tool results of the branch, oldest first, without reading them.",
            is_paged=True,
        ),
        _special(
            *("result", "GET", f"{RESULTS}/{{id}}", READ, ResultParameters, ToolResultResponse),
            "Return a tool result in full, or a part of it: `lines`, `grep`, `json_path`, or "
            "`offset` and `limit`, as a model would get it. The ETag is the content hash. `Range` "
            "selects bytes of the answer.",
            view="full",
        ),
        _special(
            *(
                "store_result",
                "PUT",
                f"{RESULTS}/{{id}}",
                WRITE,
                StoreParameters,
                ToolResultReference,
            ),
            "Store a result in full and show it as a reference. Its call is recorded too, unless "
            "the dialog has a call with this id that waits for a result.",
            tool_name="ls",
            arguments={"path": "src"},
            result="main.py\n",
        ),
        _method("get_tool_result", "GET", f"{RESULTS}/{{id}}/part", lines="1-20"),
        _method("list_tool_results", "GET", f"{DIALOG}/results"),
        _method("find_tool_results", "GET", f"{DIALOG}/find/results", name="ls"),
        _method("find_tool_calls", "GET", f"{DIALOG}/find/calls", name="ls"),
        _method("find_tool_turns", "GET", f"{DIALOG}/find/turns", name="ls"),
        _method("find_superseded", "GET", f"{DIALOG}/find/superseded"),
        _method("get_tools", "GET", f"{DIALOG}/tools"),
        _method("diff_tools", "GET", f"{DIALOG}/tools-diff", a="HEAD", b="HEAD"),
        _method("tool_history", "GET", f"{DIALOG}/tools/{{name}}"),
    ),
    "Branches": (
        _method("branches", "GET", f"{DIALOG}/branches"),
        _method("branch", "POST", f"{DIALOG}/branches", WRITE, name="try"),
        _method("delete_branch", "DELETE", f"{DIALOG}/branches/{{name}}", WRITE),
        _method("checkout", "POST", f"{DIALOG}/checkout", WRITE, name="main"),
    ),
    "Use": (
        _method("usages", "GET", f"{DIALOG}/usages"),
        _method("token_factor", "GET", f"{DIALOG}/token-factor"),
    ),
    "Events": (
        _special(
            *("events", "GET", f"{DIALOG}/events", READ, EventsParameters, None),
            "Send each new commit of the dialog as a server-sent event.",
            media="text/event-stream",
        ),
        _special(
            *("all_events", "GET", "/api/events", READ, Nothing, None),
            "Send each new commit of all dialogs that the token may use as a server-sent event.",
            media="text/event-stream",
        ),
    ),
    "Several requests in one transaction": (
        _special(
            *("begin", "POST", "/api/batches", WRITE, Nothing, Batch),
            "Begin a transaction. Requests with the header `Tract-Batch` belong to it.",
        ),
        _special(
            *("end", "POST", "/api/batches/{batch}", WRITE, Nothing, None),
            "Commit a transaction: all of its requests.",
        ),
        _special(
            *("abandon", "DELETE", "/api/batches/{batch}", WRITE, Nothing, None),
            "Roll a transaction back: none of its requests.",
        ),
    ),
    "The database": (
        _special(
            *("import", "POST", "/api/import", WRITE, ImportParameters, Imported),
            "Import a transcript, which is the body of the request, as dialogs. Importing it "
            "again adds only what is new.",
            accepts="application/octet-stream",
            name="session.jsonl",
        ),
        _special(
            *("import_items", "POST", "/api/import/items", WRITE, ItemsParameters, Imported),
            "Import what a client has read of a transcript, and of the files that belong to it. "
            "The body has one JSON object per line: an entry, a history, facts, an unknown record "
            "or a problem.",
            accepts="application/x-ndjson",
            path="/home/ada/session.jsonl",
            format="claude-code",
            own_name="session",
        ),
        _method("fsck", "POST", "/api/fsck", ADMIN),
        _method("gc", "POST", "/api/gc", ADMIN, dry_run=True),
        _method("forget", "POST", f"{DIALOG}/forget", ADMIN, commit="HEAD", dry_run=True),
        _special(
            *("backup", "GET", "/api/backup", ADMIN, Nothing, None),
            "Return a consistent copy of the database as a SQLite file.",
            media="application/vnd.sqlite3",
        ),
        _special(
            *("audit", "GET", "/api/audit", ADMIN, Paged, AuditEntry),
            "List what was written through the API, newest first: who, what, which commit.",
            is_paged=True,
        ),
        _special(
            *("grants", "GET", "/api/grants", ADMIN, Nothing, list[Grant]),
            "List the bearer tokens, without the tokens themselves.",
        ),
        _special(
            *("add_grant", "POST", "/api/grants", ADMIN, GrantParameters, NewGrant),
            "Make a bearer token. The answer is the only one that contains it.",
            name="ci",
            scope="write",
            dialogs=["ci/"],
        ),
        _special(
            *("revoke_grant", "DELETE", "/api/grants/{name}", ADMIN, Nothing, None),
            "Revoke a bearer token.",
        ),
    ),
}
"""The operations, as the documentation groups them."""

OPERATIONS = tuple(operation for section in SECTIONS.values() for operation in section)

BY_NAME = {operation.name: operation for operation in OPERATIONS}
