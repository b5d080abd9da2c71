"""What the OpenAI Responses API refuses.

Whether a call once came with a reasoning item cannot be seen in one request: whoever drops such an
item drops the `id` of the call with it. Requests with a call that has an `id`, and no reasoning
before it, were answered.
"""

from __future__ import annotations

from tract.model import Json
from tract.providers.validate import keys
from tract.providers.validate.violations import (
    Findings,
    Violation,
    as_map,
    as_text,
    is_full,
    kind_of,
    maps_in,
    part_list,
    shown,
)

PROVIDER_TEXTS = {
    "input-empty": "Invalid 'input': empty array.",
    "function-call-without-output": "No tool output found for function call ",
    "output-without-call": "No tool call found for function call output with call_id ",
    "call-id-too-long": "Invalid 'input[].call_id': string too long. "
    "Expected a string with maximum length 64",
    "function-call-id-prefix": "Invalid 'input[].id': expected an ID that begins with 'fc'.",
    "reasoning-without-following-item": "Item of type 'reasoning' was provided "
    "without its required following item.",
    "arguments-not-string": "Invalid type for 'input[].arguments': expected a string",
    "unknown-key": "Unknown parameter: ",
    "part-of-other-role": "Invalid value: ",
    "part-of-another-api": "Invalid value: ",
    "role-unknown": "Invalid value: ",
}

ROLES = ("system", "developer", "user", "assistant")
CALLS = {"function_call": "arguments", "custom_tool_call": "input", "computer_call": None}
OUTPUTS = tuple(f"{kind}_output" for kind in CALLS)
ASSISTANT_PARTS = ("output_text", "refusal")
OTHER_APIS_PARTS = ("text", "image_url", "tool_use", "tool_result", "thinking")
MAX_ID = 64


def violations(params: Json, *, is_request: bool) -> list[Violation]:
    """What is wrong with a request, or with its input alone."""
    findings = Findings(PROVIDER_TEXTS)
    items = part_list(params, "input", findings, is_request=is_request, may_be_text=True)
    request = as_map(params)
    # The server may hold the calls that are answered here, and nothing is seen of those.
    is_continued = any(request.get(key) for key in ("previous_response_id", "conversation"))
    _Items(findings, is_continued=is_continued).check(items)
    keys.openai_responses(request, items, findings)
    return findings.violations


class _Items:
    """The items in their order, and which calls wait for an output."""

    def __init__(self, findings: Findings, *, is_continued: bool) -> None:
        self._findings = findings
        self._is_continued = is_continued
        self._waiting: dict[str, str] = {}
        self._answered: set[str] = set()
        self._references = 0  # items that the server knows; each may be a call
        self._thought: str | None = None  # a reasoning item behind which nothing stands yet

    def check(self, items: list[Json]) -> None:
        for path, item in maps_in(items, "input", self._findings, "not-an-item"):
            kind = kind_of(item)
            if kind is None and ("type" in item or "role" not in item):
                fault = f"its type is {shown(item.get('type'))}"
                self._findings.add("item-without-type", path, fault)
            self._item(path, item, kind or "message")
        self._end_thought()
        for call_id, place in self._waiting.items():
            fault = f"{shown(call_id)} has no output"
            self._findings.add("function-call-without-output", place, fault)

    def _item(self, path: str, item: dict[str, Json], kind: str) -> None:
        if kind in OUTPUTS or (kind == "message" and item.get("role") != "assistant"):
            self._end_thought()
        if kind == "reasoning":
            if not (is_full(item.get("id")) or is_full(item.get("encrypted_content"))):
                fault = "the server cannot find it, and nothing of it was sent"
                self._findings.add("reasoning-lost", path, fault)
            # One without an id is not looked up by the server: such histories went on.
            self._thought = path if is_full(item.get("id")) else None
            return
        self._thought = None
        if kind in CALLS:
            self._call(path, item, kind)
        elif kind in OUTPUTS:
            self._output(path, item, kind)
        elif kind == "item_reference":
            self._references += is_full(item.get("id"))
        elif kind == "message":
            self._message(path, item)
        elif kind == "additional_tools" and not item.get("tools"):
            self._findings.add("no-additional-tools", f"{path}.tools", "there are none to add")

    def _end_thought(self) -> None:
        if self._thought is not None:
            fault = "what was thought of is not there"
            self._findings.add("reasoning-without-following-item", self._thought, fault)
        self._thought = None

    def _call(self, path: str, item: dict[str, Json], kind: str) -> None:
        call_id, key = self._call_id(path, item), CALLS[kind]
        if call_id is not None:
            if call_id in self._waiting:
                fault = f"{shown(call_id)} waits for its output already"
                self._findings.add("call-id-not-unique", f"{path}.call_id", fault)
            self._waiting[call_id] = f"{path}.call_id"
            self._answered.discard(call_id)
        if key is None:
            return
        if not is_full(item.get("name")):
            self._findings.add("call-without-name", f"{path}.name", "the call has no name")
        if not isinstance(item.get(key), str):
            fault = f"it is {shown(item.get(key))}"
            self._findings.add(f"{key}-not-string", f"{path}.{key}", fault)
        item_id = item.get("id")
        has_own = item_id is None or (isinstance(item_id, str) and item_id.startswith("fc"))
        if kind == "function_call" and not has_own:
            self._findings.add("function-call-id-prefix", f"{path}.id", f"id {shown(item_id)}")

    def _call_id(self, path: str, item: dict[str, Json]) -> str | None:
        call_id, where = as_text(item.get("call_id")), f"{path}.call_id"
        if not call_id:
            self._findings.add("call-id-missing", where, f"it is {shown(item.get('call_id'))}")
            return None
        if len(call_id) > MAX_ID:
            self._findings.add("call-id-too-long", where, f"{len(call_id)} characters")
        return call_id

    def _output(self, path: str, item: dict[str, Json], kind: str) -> None:
        call_id = self._call_id(path, item)
        if call_id is not None:
            self._pair(f"{path}.call_id", call_id)
        if kind != "computer_call_output" and not isinstance(item.get("output"), str | list):
            fault = f"it is {shown(item.get('output'))}"
            self._findings.add("output-not-text", f"{path}.output", fault)

    def _pair(self, where: str, call_id: str) -> None:
        if self._waiting.pop(call_id, None) is not None:
            self._answered.add(call_id)
        elif call_id in self._answered:
            self._findings.add("duplicate-output", where, f"{shown(call_id)} has an output")
        elif self._references:
            self._references -= 1
        elif not self._is_continued:
            fault = f"no call {shown(call_id)} stands before it"
            self._findings.add("output-without-call", where, fault)

    def _message(self, path: str, item: dict[str, Json]) -> None:
        role, content = as_text(item.get("role")), item.get("content")
        if role not in ROLES:
            fault = f"role {shown(item.get('role'))}"
            self._findings.add("role-unknown", f"{path}.role", fault)
        if not isinstance(content, str | list):
            self._findings.add("content-missing", f"{path}.content", f"it is {shown(content)}")
        for place, part in maps_in(content, f"{path}.content", self._findings, "part-without-type"):
            self._part(place, part, role)

    def _part(self, path: str, part: dict[str, Json], role: str | None) -> None:
        kind = kind_of(part)
        if kind is None:
            fault = f"its type is {shown(part.get('type'))}"
            self._findings.add("part-without-type", path, fault)
        elif kind in OTHER_APIS_PARTS:
            self._findings.add("part-of-another-api", f"{path}.type", f"{kind} is no part here")
        elif (role == "assistant" and kind.startswith("input_")) or (
            role != "assistant" and kind in ASSISTANT_PARTS
        ):
            self._findings.add("part-of-other-role", f"{path}.type", f"{kind} by {shown(role)}")
