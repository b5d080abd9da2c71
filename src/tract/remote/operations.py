"""What a server does, described once: routes, parameters, results and documentation come from here.

Most operations are methods of `Tract`: their parameters and results are read off its signatures, so
neither can drift from it. The others are described by a struct. The server serves this table, the
client calls it, and the OpenAPI document prints it.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple, get_type_hints

from msgspec import Struct

from tract.access import AuditEntry, Grant
from tract.economy.listing import DialogDetails, DialogRow
from tract.economy.requests import Chart
from tract.economy.tools import ToolsAt
from tract.importers.writer import Imported
from tract.model import CommitInfo, DialogInfo, Json, Message, Toolset
from tract.remote.signatures import kinds_of, parameters, result_type, struct
from tract.remote.values import (
    Batch,
    Context,
    ContextParameters,
    DialogsParameters,
    EventsParameters,
    Exported,
    ExportParameters,
    FactsParameters,
    GrantParameters,
    Hello,
    ImportParameters,
    ItemsParameters,
    LogParameters,
    NewGrant,
    Nothing,
    Paged,
    Position,
    PositionParameters,
    PushParameters,
    ResultParameters,
    ResultsParameters,
    SearchAllParameters,
    Steps,
    StepsParameters,
    StoreParameters,
    ToolResultResponse,
)
from tract.remote.views import (
    Body,
    BodyParameters,
    ChartParameters,
    Comparison,
    ComparisonParameters,
    DetailsParameters,
    DifferenceParameters,
    FindParameters,
    Found,
    GraphItem,
    GraphParameters,
    PageFacts,
    PictureParameters,
    Preview,
    PreviewParameters,
    RequestParameters,
    RequestView,
    RewordParameters,
    Rows,
    RowsParameters,
    TextParameters,
    ToolsParameters,
    TreeParameters,
    UnitParameters,
    View,
    ViewFactsParameters,
    ViewParameters,
    WholeText,
)
from tract.storage.search import Hit
from tract.tool_results import ToolResultMetadata, ToolResultReference
from tract.tract import Tract
from tract.view.json_tree import JsonBranch

READ, WRITE, ADMIN = "read", "write", "admin"
PAGE, MOST = 100, 1000
"""Items of a page, unless a request says another number, and the most that it may ask for."""

LONG = ("fsck", "gc", "forget", "delete_dialog", "import", "import_items", "traces", "backup")
"""Operations that may take minutes."""


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
    also_accepts: tuple[str, ...] = ()
    """Other media types that the same body may have."""
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


def _method(name: str, verb: str, path: str, scope: str = READ, /, **example: Json) -> Operation:
    """The operation that calls a method of `Tract`."""
    method = getattr(Tract, name)
    returns, is_paged = result_type(get_type_hints(method)["return"])
    in_path = {part[1:-1] for part in path.split("/") if part.startswith("{")}
    fields = {key: kind for key, kind in parameters(method).items() if key not in in_path}
    if is_paged:
        fields |= _PAGED
    params = struct(f"{name.title().replace('_', '')}Parameters", fields)
    doc = inspect.getdoc(method) or ""
    operation = Operation(name, verb, path, scope, params, returns, doc, example, is_paged)
    kinds = kinds_of(method)
    return operation._replace(
        commits=frozenset(key for key, parts in kinds.items() if CommitInfo in parts) | _COMMITS,
        messages=frozenset(key for key, parts in kinds.items() if Message in parts) | _CALLS,
    )


_COMMITS, _CALLS = frozenset({"forms"}), frozenset({"call", "tool_calls"})
"""Parameters of which the types do not tell it."""


_PAGED: dict[str, tuple[Any, bool]] = {"cursor": (str, False), "limit": (int, False)}


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
    also_accepts: tuple[str, ...] = (),
    **example: Json,
) -> Operation:
    kind = media, accepts, also_accepts
    return Operation(name, verb, path, scope, params, returns, doc, example, is_paged, *kind)


DIALOG = "/api/dialogs/{dialog}"
COMMIT = f"{DIALOG}/commits/{{commit}}"
RESULTS = f"{DIALOG}/tool-results"

_CALL = {"id": "call_1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
_USER = {"role": "user", "content": "Hi"}
_HASH = "0" * 64
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
            "Find the commits of all dialogs that the token may use whose content has all words of "
            "the text, newest first. The parameters are those of a search in one dialog.",
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
            "Describe the tool results of the branch, oldest first, without their contents.",
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
    "Views": (
        _special(
            *("view_dialogs", "GET", "/api/view/dialogs", READ, Paged, DialogRow),
            "List the dialogs that the token may use as a page shows them, newest first.",
            is_paged=True,
        ),
        _special(
            *("view_details", "GET", "/api/view/details", READ),
            *(DetailsParameters, list[DialogDetails]),
            "Return what takes longer to read of some dialogs: their messages, models and costs.",
            dialog=["work"],
        ),
        _special(
            *("view_page", "GET", f"{DIALOG}/view", READ, ViewParameters, View),
            "Return what a page first shows of a dialog: its branches, and the rows around a "
            "place. A row is a message with its blocks in short form.",
        ),
        _special(
            *("view_rows", "GET", f"{DIALOG}/view/rows", READ, RowsParameters, Rows),
            "Return further rows, or the first that differ from those of a page, with the index of "
            "prompts.",
        ),
        _special(
            *("view_facts", "GET", f"{DIALOG}/view/facts", READ, ViewFactsParameters, PageFacts),
            "Return what a dialog is about: times, models, costs, files, tools, sub-agents.",
        ),
        _special(
            *("view_chart", "GET", f"{DIALOG}/view/chart", READ, ChartParameters, Chart),
            "Return what each request to the model consisted of, and what it cost.",
        ),
        _special(
            *("view_tools", "GET", f"{DIALOG}/view/tools", READ, ToolsParameters, ToolsAt),
            "Return the tools that are in force at a message: their cost, how they changed, and "
            "which of them are never called.",
        ),
        _special(
            *("view_body", "GET", f"{DIALOG}/view/body", READ, BodyParameters, Body),
            "Return what a block of a message contains, ready to be drawn; a long text in parts.",
            commit=_HASH,
        ),
        _special(
            *("view_text", "GET", f"{DIALOG}/view/text", READ, TextParameters, WholeText),
            "Return the text of a block as it was written.",
            commit=_HASH,
        ),
        _special(
            *("view_picture", "GET", f"{DIALOG}/view/picture", READ, PictureParameters, None),
            "Return an image of a block.",
            media="image/*",
            commit=_HASH,
        ),
        _special(
            *("view_find", "GET", f"{DIALOG}/view/find", READ, FindParameters, Found),
            "Find a text in the rows of a dialog, also in what is folded; case-insensitive. Looks "
            "at as many rows as a moment allows.",
            text="error",
        ),
        _special(
            *("view_tree", "GET", f"{DIALOG}/view/tree", READ, TreeParameters, JsonBranch),
            "Return a part of the JSON of a block: the children of one value.",
            commit=_HASH,
        ),
        _special(
            *(
                "view_request",
                "GET",
                f"{DIALOG}/view/request",
                READ,
                RequestParameters,
                RequestView,
            ),
            "Return a request to a provider in parts, each in short form, with what was repaired "
            "and what the provider read from its cache.",
        ),
        _special(
            *("view_unit", "GET", f"{DIALOG}/view/unit", READ, UnitParameters, Body),
            "Return one part of a request in full.",
            unit=0,
        ),
        _special(
            *("view_comparison", "GET", f"{DIALOG}/view/comparison", READ),
            *(ComparisonParameters, Comparison),
            "Compare two commits or branches: their requests, or their messages.",
            old="HEAD",
            new="HEAD",
        ),
        _special(
            *("view_difference", "GET", f"{DIALOG}/view/difference", READ),
            *(DifferenceParameters, Body),
            "Return the lines in which two parts of a comparison differ.",
            old="HEAD",
            new="HEAD",
            new_unit=0,
        ),
        _special(
            *("view_graph", "GET", f"{DIALOG}/view/graph", READ, GraphParameters, GraphItem),
            "List the commits of all branches, newest first, with the lines between them.",
            is_paged=True,
        ),
        _special(
            *("reword", "POST", f"{DIALOG}/reword", WRITE, RewordParameters, CommitInfo),
            "Edit one block of a message as a text. What was JSON must stay valid JSON.",
            commit=_HASH,
            text="What is in src?",
        ),
        _special(
            *("preview_change", "POST", f"{DIALOG}/preview", WRITE, PreviewParameters, Preview),
            "Say what a change would do to the tokens of a request. Nothing is written.",
            operation="reshape",
            arguments={"forms": {"HEAD": "reference"}},
        ),
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
            accepts="application/octet-stream",
            path="/home/ada/session.jsonl",
            format="claude-code",
            own_name="session",
        ),
        _special(
            *("traces", "POST", "/v1/traces", WRITE, Nothing, Exported),
            "Import the model calls in an OTLP export of spans, which is the body of the request, "
            "as dialogs. Each conversation is one. Other spans are accepted and not stored; the "
            "answer says which could not be read.",
            accepts="application/x-protobuf",
            also_accepts=("application/json",),
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
