"""What the Anthropic Messages API refuses.

That thinking blocks come back byte for byte, and that `tools` stays the same while a server's tool
runs, cannot be seen in one request: whoever changes a history has to see to it.
"""

from __future__ import annotations

import re
from json.encoder import encode_basestring

from tract.model import Json
from tract.providers.validate import keys
from tract.providers.validate.violations import (
    Findings,
    Violation,
    as_list,
    as_map,
    as_text,
    is_blank,
    is_full,
    kind_of,
    maps_in,
    part_list,
    shown,
)

ORDER = "`tool_use` ids were found without `tool_result` blocks immediately after: "
PROVIDER_TEXTS = {
    "messages-empty": "messages: at least one message is required",
    "role-unknown": "messages: Unexpected role",
    "first-message-not-user": 'messages: first message must use the "user" role',
    "ends-with-assistant": "This model does not support assistant message prefill. "
    "The conversation must end with a user message.",
    "content-missing": "all messages must have non-empty content "
    "except for the optional final assistant message",
    "empty-text-block": "messages: text content blocks must be non-empty",
    "tool-use-without-result": ORDER,
    "text-after-tool-use": ORDER,
    "results-not-first": ORDER,
    "tool-result-without-use": "unexpected `tool_use_id` found in `tool_result` blocks: ",
    "duplicate-tool-result": "each tool_use must have a single result. "
    "Found multiple `tool_result` blocks with id: ",
    "tool-use-id-not-unique": "`tool_use` ids must be unique",
    "tool-use-id-illegal": "String should match pattern '^[a-zA-Z0-9_-]+$'",
    "tool-input-not-object": "Input should be a valid dictionary",
    "thinking-last": "The final block in an assistant message cannot be `thinking`.",
    "tool-loop-without-thinking": "Expected `thinking` or `redacted_thinking`, but found ",
    "server-result-without-use": "unexpected `tool_use_id` found in ",
    "too-many-breakpoints": "A maximum of 4 blocks with cache_control may be provided. Found ",
    "request-too-large": "Request exceeds the maximum size",
    "tools-not-declared": "Requests which have `tool_use` or `tool_result` blocks "
    "in their messages must define tools.",
    "tool-names-not-unique": "tools: Tool names must be unique.",
    "unknown-key": "Extra inputs are not permitted",
    "tool-name-illegal": "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
}

LEGAL_ID = re.compile(r"[a-zA-Z0-9_-]+")
LEGAL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?")
SEEN_TO_START_WITH_ASSISTANT = (4, 5)
FIRST_WITHOUT_PREFILL = (4, 6)
MAX_BREAKPOINTS = 4
MAX_BYTES = 32_000_000
THOUGHTS = {"thinking": ("thinking", "signature"), "redacted_thinking": ("data",)}
# `tool_reference` is what a client's own tool search returns.
RESULT_BLOCKS = ("text", "image", "document", "search_result", "tool_reference")
OTHER_APIS_BLOCKS = ("image_url", "input_text", "output_text", "input_image", "input_audio")
TOOL_CHANGES = {"tool_addition": "tool_definition", "tool_removal": "tool_reference"}


def violations(params: Json, *, is_request: bool) -> list[Violation]:
    """What is wrong with a request, or with its messages alone."""
    findings = Findings(PROVIDER_TEXTS)
    messages = part_list(params, "messages", findings, is_request=is_request)
    request = as_map(params)
    _tools(request.get("tools"), findings)
    _system(request.get("system"), findings)
    _Conversation(messages, request, findings).check(is_request=is_request)
    keys.anthropic(request, messages, findings)
    _limits(request, messages, findings)
    return findings.violations


class _Conversation:
    """The messages in their order: who speaks, and which calls wait for a result."""

    def __init__(self, messages: list[Json], request: dict[str, Json], findings: Findings) -> None:
        self._findings = findings
        self._request = request
        self._model = _version(request.get("model"))
        self._messages = [
            (path, message, as_text(message.get("role")))
            for path, message in maps_in(messages, "messages", findings, "not-a-message")
        ]
        self._spoken = [entry for entry in self._messages if entry[2] != "system"]
        self._ids: set[str] = set()
        self._server_ids: set[str] = set()
        self._open: dict[str, str] = {}  # calls of the message before, and where they stand
        self._server_works = False  # whether a server's tool of that message has no result yet

    def check(self, *, is_request: bool) -> None:
        self._start()
        self._system_messages()
        for number, (path, message, role) in enumerate(self._spoken):
            if role not in ("user", "assistant"):
                self._findings.add("role-unknown", f"{path}.role", f"role {shown(role)}")
            is_last = number == len(self._spoken) - 1
            self._message(path, message, role, may_be_empty=is_last and role == "assistant")
        self._close_calls()
        if is_request and self._spoken:
            self._end()

    def _start(self) -> None:
        """Documented, but a request to claude-haiku-4-5 that began with the assistant was
        answered: for this model and later ones it is no fault."""
        if not self._spoken or self._spoken[0][2] != "assistant":
            return
        if self._model is None or self._model < SEEN_TO_START_WITH_ASSISTANT:
            path = self._spoken[0][0]
            self._findings.add("first-message-not-user", path, "the assistant speaks first")

    def _end(self) -> None:
        path, _, role = self._spoken[-1]
        takes_prefill = self._model is not None and self._model < FIRST_WITHOUT_PREFILL
        # A turn that the server paused is sent back as it is, to be continued.
        if role == "assistant" and not takes_prefill and not self._server_works:
            self._findings.add("ends-with-assistant", path, "a request ends with the user")
        has_calls = any(
            kind_of(block) in ("tool_use", "tool_result")
            for _, message, _ in self._spoken
            for block in as_list(message.get("content"))
        )
        if has_calls and self._request and not self._request.get("tools"):
            self._findings.add("tools-not-declared", "tools", "there are calls, but no tools")
        if as_map(self._request.get("thinking")).get("type") == "enabled":
            self._thinking_in_loop()

    def _thinking_in_loop(self) -> None:
        """With thinking on, a loop that goes on keeps its thoughts. Not every step of it has some:
        most models think only before the first call."""
        steps: list[str] = []
        for path, message, role in reversed(self._spoken):
            blocks = as_list(message.get("content"))
            if role == "user" and not any(map(_is_result, blocks)):
                break
            if role == "assistant":
                steps.append(path)
                if kind_of(next(iter(blocks), None)) in THOUGHTS:
                    return
        if steps:
            place = f"{steps[-1]}.content[0]"
            self._findings.add(
                "tool-loop-without-thinking", place, "it does not begin with a thought"
            )

    def _message(
        self, path: str, message: dict[str, Json], role: str | None, *, may_be_empty: bool
    ) -> None:
        content = message.get("content")
        waiting, self._open = self._open, {}
        if isinstance(content, str):
            if content and is_blank(content):
                self._findings.add("empty-text-block", f"{path}.content", "nothing but white space")
        elif not isinstance(content, list | None):
            self._findings.add("content-not-blocks", f"{path}.content", f"it is {shown(content)}")
        if content is None or (content in ("", []) and not may_be_empty):
            self._findings.add("content-missing", f"{path}.content", "there is no content")
        blocks = list(maps_in(content, f"{path}.content", self._findings, "block-without-type"))
        self._results(blocks, waiting)
        if self._server_works and role == "user":
            self._only_results(blocks)
        self._server_works = False
        for place, block in blocks:
            self._block(place, block, role)
        if role == "assistant":
            self._answer(blocks)

    def _results(self, blocks: list[tuple[str, Json]], waiting: dict[str, str]) -> None:
        """Each call of the message before is answered here, once, before all else is said."""
        answered: set[str] = set()
        is_late = False
        for place, block in blocks:
            if not _is_result(block):
                is_late = True
                continue
            if is_late:
                self._findings.add("results-not-first", place, "it stands behind other content")
                is_late = False  # said once for all that follow
            call_id, where = as_text(block.get("tool_use_id")), f"{place}.tool_use_id"
            if call_id is None or call_id not in waiting:
                fault = f"no call {shown(block.get('tool_use_id'))} in the message before"
                self._findings.add("tool-result-without-use", where, fault)
            elif call_id in answered:
                self._findings.add("duplicate-tool-result", where, f"{shown(call_id)} has a result")
            else:
                answered.add(call_id)
        self._unanswered(waiting, answered)

    def _unanswered(self, waiting: dict[str, str], answered: set[str]) -> None:
        for call_id, place in waiting.items():
            if call_id not in answered:
                fault = f"{shown(call_id)} has no result in the next message"
                self._findings.add("tool-use-without-result", place, fault)

    def _close_calls(self) -> None:
        self._unanswered(self._open, set())

    def _only_results(self, blocks: list[tuple[str, Json]]) -> None:
        for place, block in blocks:
            if not _is_result(block):
                fault = "while a server's tool runs, only results may be sent"
                self._findings.add("content-while-server-tool-runs", place, fault)

    def _block(self, path: str, block: dict[str, Json], role: str | None) -> None:
        kind = kind_of(block)
        if kind is None:
            self._findings.add(
                "block-without-type", path, f"its type is {shown(block.get('type'))}"
            )
        elif kind == "text":
            if is_blank(block.get("text")):
                self._findings.add("empty-text-block", f"{path}.text", "it says nothing")
        elif kind == "tool_use":
            self._call(path, block, role)
        elif kind == "tool_result":
            if role != "user":
                self._findings.add("tool-result-by-assistant", path, "results are the user's")
            _result_content(f"{path}.content", block.get("content", ""), self._findings)
        elif kind in ("image", "document") and not isinstance(block.get("source"), dict):
            fault = f"the source is {shown(block.get('source'))}"
            self._findings.add("source-missing", f"{path}.source", fault)
        elif kind in THOUGHTS:
            self._thought(path, block, role, THOUGHTS[kind])
        elif kind in OTHER_APIS_BLOCKS:
            self._findings.add("block-of-another-api", f"{path}.type", f"{kind} is no block here")

    def _call(self, path: str, block: dict[str, Json], role: str | None) -> None:
        if role != "assistant":
            self._findings.add("tool-use-by-user", path, "calls are the assistant's")
        if not is_full(block.get("name")):
            self._findings.add("tool-use-without-name", f"{path}.name", "the call has no name")
        if not isinstance(block.get("input"), dict):
            fault = f"the input is {shown(block.get('input'))}"
            self._findings.add("tool-input-not-object", f"{path}.input", fault)
        call_id, where = as_text(block.get("id")), f"{path}.id"
        if call_id is None or not LEGAL_ID.fullmatch(call_id):
            self._findings.add("tool-use-id-illegal", where, f"id {shown(block.get('id'))}")
        if call_id is None:
            return
        if call_id in self._ids:
            self._findings.add("tool-use-id-not-unique", where, f"{shown(call_id)} is used before")
        self._ids.add(call_id)
        if role == "assistant":
            self._open[call_id] = where

    def _thought(
        self, path: str, block: dict[str, Json], role: str | None, needed: tuple[str, ...]
    ) -> None:
        if role != "assistant":
            self._findings.add("thinking-by-user", path, "thoughts are the assistant's")
        for key in needed:
            # The text of a thought is empty where the provider shows none; its signature never.
            if not isinstance(block.get(key), str) or (key != "thinking" and not block[key]):
                self._findings.add("thinking-incomplete", f"{path}.{key}", f"no {key}")

    def _answer(self, blocks: list[tuple[str, Json]]) -> None:
        """The order in an answer: nothing is said between a call and its result."""
        has_called = False
        running: set[str] = set()
        for place, block in blocks:
            kind = kind_of(block)
            if kind == "tool_use":
                has_called = True
            elif kind == "text" and has_called:
                # A server's call may stand there: such a request was answered.
                self._findings.add("text-after-tool-use", place, "a text stands behind a call")
                has_called = False  # said once
            self._server_block(place, block, kind, running)
        self._server_works = bool(running)
        if blocks and kind_of(blocks[-1][1]) in THOUGHTS:
            self._findings.add("thinking-last", blocks[-1][0], "the answer ends with a thought")

    def _server_block(
        self, path: str, block: dict[str, Json], kind: str | None, running: set[str]
    ) -> None:
        if kind in ("server_tool_use", "mcp_tool_use"):
            call_id = as_text(block.get("id"))
            if call_id is not None:
                self._server_ids.add(call_id)
                running.add(call_id)
        elif kind is not None and kind.endswith("_tool_result"):
            call_id = as_text(block.get("tool_use_id"))
            running.discard(call_id or "")
            if call_id not in self._server_ids:
                fault = f"no server's call {shown(block.get('tool_use_id'))} before it"
                self._findings.add("server-result-without-use", f"{path}.tool_use_id", fault)

    def _system_messages(self) -> None:
        """A system message among the others stands behind the user, before the assistant."""
        roles = [None, *(role for _, _, role in self._messages), "assistant"]
        for index, (path, message, role) in enumerate(self._messages):
            if role != "system":
                continue
            if roles[index] != "user" or roles[index + 2] != "assistant":
                fault = f"it stands between {shown(roles[index])} and {shown(roles[index + 2])}"
                self._findings.add("system-message-misplaced", path, fault)
            if not message.get("content") and "output_config" not in message:
                self._findings.add("content-missing", f"{path}.content", "there is no content")
            place = f"{path}.content"
            for where, block in maps_in(
                message.get("content"), place, self._findings, "block-without-type"
            ):
                _tool_change(where, block, self._findings)


def _is_result(block: Json) -> bool:
    return kind_of(block) == "tool_result"


def _version(model: Json) -> tuple[int, int] | None:
    match = VERSION.search(model) if isinstance(model, str) else None
    return (int(match[1]), int(match[2] or 0)) if match else None


def _result_content(path: str, content: Json, findings: Findings) -> None:
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        findings.add("tool-result-content", path, f"it is {shown(content)}")
    for place, block in maps_in(content, path, findings, "tool-result-content"):
        kind = kind_of(block)
        if kind not in RESULT_BLOCKS:
            findings.add("tool-result-content", f"{place}.type", f"{shown(kind)} in a result")
        elif kind == "text" and is_blank(block.get("text")):
            findings.add("empty-text-block", f"{place}.text", "it says nothing")


def _tool_change(path: str, block: dict[str, Json], findings: Findings) -> None:
    kind, tool = kind_of(block), as_map(block.get("tool"))
    if kind is None:
        findings.add("block-without-type", path, "it has no type")
    elif kind == "text":
        if is_blank(block.get("text")):
            findings.add("empty-text-block", f"{path}.text", "it says nothing")
    elif kind not in TOOL_CHANGES or TOOL_CHANGES[kind] != kind_of(tool):
        findings.add("not-a-tool-change", path, f"{shown(kind)} of {shown(tool.get('type'))}")
    elif kind == "tool_addition":
        _definition(f"{path}.tool.definition", tool.get("definition"), findings)


def _tools(tools: Json, findings: Findings) -> None:
    if not isinstance(tools, list | None):
        findings.add("tools-not-a-list", "tools", f"it is {shown(tools)}")
    names: set[str] = set()
    for path, tool in maps_in(tools, "tools", findings, "not-a-tool"):
        _definition(path, tool, findings)
        name = as_text(tool.get("name"))
        if name is None:
            continue
        if name in names:
            findings.add("tool-names-not-unique", f"{path}.name", f"{shown(name)} is used before")
        names.add(name)


def _definition(path: str, tool: Json, findings: Findings) -> None:
    fields = as_map(tool)
    kind = as_text(fields.get("type"))
    if kind == "mcp_toolset":  # the tools of a server have no one name
        return
    name = as_text(fields.get("name"))
    if name is None or not LEGAL_NAME.fullmatch(name):
        findings.add("tool-name-illegal", f"{path}.name", f"name {shown(fields.get('name'))}")
    schema = as_map(fields.get("input_schema"))
    if kind in (None, "custom") and schema.get("type") != "object":
        findings.add("input-schema-not-object", f"{path}.input_schema", "it describes no object")


def _system(system: Json, findings: Findings) -> None:
    if not isinstance(system, str | list | None):
        findings.add("system-not-text", "system", f"it is {shown(system)}")
    for path, block in maps_in(system, "system", findings, "system-not-text"):
        if kind_of(block) != "text":
            findings.add("system-not-text", f"{path}.type", f"{shown(block.get('type'))}")
        elif is_blank(block.get("text")):
            findings.add("empty-text-block", f"{path}.text", "it says nothing")


def _limits(request: dict[str, Json], messages: list[Json], findings: Findings) -> None:
    marks = _breakpoints(request, messages)
    if marks > MAX_BREAKPOINTS:
        findings.add("too-many-breakpoints", "messages", f"{marks} cache breakpoints")
    size = _size(request or messages)
    if size > MAX_BYTES:
        findings.add("request-too-large", "", f"{size} bytes")


def _breakpoints(request: dict[str, Json], messages: list[Json]) -> int:
    """How many blocks are marked. The arguments and schemas of tools are never searched."""
    contents = [as_map(message).get("content") for message in messages]
    blocks = [block for content in contents for block in as_list(content)]
    inner = [block for outer in blocks for block in as_list(as_map(outer).get("content"))]
    outer = [request, *as_list(request.get("tools")), *as_list(request.get("system"))]
    marked = (as_map(block).get("cache_control") for block in [*outer, *blocks, *inner])
    return sum(mark is not None for mark in marked)


def _size(value: Json) -> int:
    """The bytes of JSON without blanks, at any depth; numbers are counted as one byte each."""
    size, left = 0, [value]
    while left:
        value = left.pop()
        if isinstance(value, str):
            size += len(encode_basestring(value).encode("utf-8", "surrogatepass"))
        elif isinstance(value, dict):
            size += 2 * len(value) + 1
            left += value.keys()
            left += value.values()
        elif isinstance(value, list):
            size += len(value) + 1
            left += value
        else:
            size += 1
    return size
