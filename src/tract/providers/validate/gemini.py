"""What the Gemini API refuses. Keys may be written in camel case or with underscores.

That a signature stands on the part it came with can be seen only in part: where one is, where none
is, and whether it can be one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from tract.model import Json
from tract.providers.validate import keys
from tract.providers.validate.violations import (
    Findings,
    Violation,
    as_map,
    as_text,
    is_full,
    maps_in,
    part_list,
    shown,
)

PROVIDER_TEXTS = {
    "contents-empty": "GenerateContentRequest.contents: contents is not specified",
    "role-unknown": "Please use a valid role: user, model.",
    "parts-missing": "contents.parts must not be empty.",
    "part-without-data": "required oneof field 'data' must have one initialized field",
    "function-call-misplaced": "Please ensure that function call turn comes immediately after a "
    "user turn or after a function response turn.",
    "function-response-misplaced": "Please ensure that function response turn comes immediately "
    "after a function call turn.",
    "function-call-without-response": "Please ensure that the number of function response parts "
    "is equal to the number of function call parts of the function call turn.",
    "response-count-differs": "Please ensure that the number of function response parts "
    "is equal to the number of function call parts of the function call turn.",
    "function-name-illegal": "Invalid function name. Must start with a letter or an underscore. "
    "Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), "
    "with a maximum length of 64.",
    "unknown-key": "Invalid JSON payload received. Unknown name ",
    "thought-signature-missing": "Function call is missing a thought_signature in functionCall "
    "parts.",
    "thought-signature-illegal": "Invalid value at 'contents[].parts[].thought_signature' "
    "(TYPE_BYTES), Base64 decoding failed",
}

NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
SIGNATURE = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
NEEDS_SIGNATURES = re.compile(r"gemini-(?:[3-9]|[1-9]\d)")
UNDERSCORED = {
    "functionDeclarations": "function_declarations",
    "functionCall": "function_call",
    "functionResponse": "function_response",
    "thoughtSignature": "thought_signature",
}
NO_DATA = frozenset(
    {"thought", "thoughtSignature", "thought_signature", "videoMetadata", "video_metadata"}
)


def _check_name(name: Json, path: str, findings: Findings) -> None:
    if not is_full(name):
        findings.add("function-without-name", path, "it has no name")
    elif not NAME.fullmatch(str(name)):
        findings.add("function-name-illegal", path, f"it is {shown(name)}")


def violations(params: Json, *, is_request: bool) -> list[Violation]:
    """What is wrong with a request, or with its contents alone."""
    findings = Findings(PROVIDER_TEXTS)
    contents = part_list(params, "contents", findings, is_request=is_request)
    turns = [
        _Turn(path, content, findings)
        for path, content in maps_in(contents, "contents", findings, "not-a-content")
    ]
    for before, turn in zip([None, *turns], turns, strict=False):
        turn.check_parts()
        _order(before, turn, findings)
    if turns and turns[-1].made_calls:
        _without_response(turns[-1], findings)
    model = as_map(params).get("model")
    if is_request and isinstance(model, str) and NEEDS_SIGNATURES.search(model):
        _signatures(turns, findings)
    for path, declaration in _declarations(as_map(params).get("tools")):
        _check_name(as_map(declaration).get("name"), f"{path}.name", findings)
    keys.gemini(as_map(params), contents, findings)
    return findings.violations


def _declarations(tools: Json) -> Iterator[tuple[str, Json]]:
    for number, tool in enumerate(tools if isinstance(tools, list) else ()):
        declarations = _get(tool, "functionDeclarations")
        for at, declaration in enumerate(declarations if isinstance(declarations, list) else ()):
            yield f"tools[{number}].functionDeclarations[{at}]", declaration


def _get(value: Json, key: str) -> Json:
    """The value of a key in either way of writing it."""
    fields = as_map(value)
    return fields[key] if key in fields else fields.get(UNDERSCORED[key])


class _Turn:
    """One content: who speaks, what is called in it and what is returned."""

    def __init__(self, path: str, content: dict[str, Json], findings: Findings) -> None:
        self.path = path
        self.role = as_text(content.get("role"))
        self._findings = findings
        if self.role not in ("user", "model", "function") and content.get("role") is not None:
            findings.add("role-unknown", f"{path}.role", f"role {shown(content['role'])}")
        if not isinstance(content.get("parts"), list) or not content["parts"]:
            findings.add("parts-missing", f"{path}.parts", "there are none")
        self.parts = list(maps_in(content.get("parts"), f"{path}.parts", findings, "not-a-part"))
        self.calls = self._with("functionCall")
        self.responses = self._with("functionResponse")

    def _with(self, key: str) -> list[tuple[str, Json, Json]]:
        values = ((path, part, _get(part, key)) for path, part in self.parts)
        return [(f"{path}.{key}", part, value) for path, part, value in values if value is not None]

    @property
    def made_calls(self) -> list[tuple[str, Json, Json]]:
        """The calls that want a response: those of the model."""
        return self.calls if self.role == "model" else []

    @property
    def is_question(self) -> bool:
        """Whether the user says something new: a turn of thought begins here."""
        return self.role != "model" and not self.responses

    def check_parts(self) -> None:
        for path, part in self.parts:
            if not part.keys() - NO_DATA:
                self._findings.add("part-without-data", path, "there is nothing in it")
            self._signature(path, part)
        for path, _, call in self.calls:
            if self.role != "model":
                self._findings.add("function-call-by-user", path, "calls are the model's")
            self._function(path, call, "args")
        for path, _, response in self.responses:
            if self.role == "model":
                self._findings.add("function-response-by-model", path, "responses are the user's")
            self._function(path, response, "response")

    def _function(self, path: str, value: Json, key: str) -> None:
        _check_name(as_map(value).get("name"), f"{path}.name", self._findings)
        inner = as_map(value).get(key)
        if not isinstance(inner, dict) and (inner is not None or key == "response"):
            self._findings.add(f"{key}-not-object", f"{path}.{key}", f"it is {shown(inner)}")

    def _signature(self, path: str, part: dict[str, Json]) -> None:
        signature = _get(part, "thoughtSignature")
        if signature is None:
            return
        where = f"{path}.thoughtSignature"
        if self.role != "model":
            self._findings.add("thought-signature-misplaced", where, "signatures are the model's")
        if not isinstance(signature, str) or not SIGNATURE.fullmatch(signature):
            self._findings.add("thought-signature-illegal", where, f"it is {shown(signature)}")


def _order(before: _Turn | None, turn: _Turn, findings: Findings) -> None:
    """A turn of calls follows the user, and the turn behind it holds the responses."""
    if turn.made_calls and (before is None or before.role == "model"):
        findings.add("function-call-misplaced", turn.path, "it does not follow the user")
    called = before.made_calls if before is not None else []
    if turn.responses and not called:
        findings.add("function-response-misplaced", turn.path, "no calls stand right before it")
    elif called and before is not None and not turn.responses:
        _without_response(before, findings)
    elif len(called) != len(turn.responses):
        fault = f"{len(turn.responses)} responses to {len(called)} calls"
        findings.add("response-count-differs", turn.path, fault)
    elif called:
        _pairs(called, turn.responses, findings)


def _without_response(turn: _Turn, findings: Findings) -> None:
    fault = f"{len(turn.calls)} calls without a response turn behind them"
    findings.add("function-call-without-response", turn.path, fault)


def _pairs(
    calls: list[tuple[str, Json, Json]],
    responses: list[tuple[str, Json, Json]],
    findings: Findings,
) -> None:
    """Each response names a call: by its id where all have one, else by its name alone."""
    called = [as_map(call) for _, _, call in calls]
    ids = {call["id"]: call.get("name") for call in called if is_full(call.get("id"))}
    has_ids = len(ids) == len(calls)
    left = Counter(as_text(call.get("name")) for call in called)
    for path, _, response in responses:
        call_id, name = as_text(as_map(response).get("id")), as_text(as_map(response).get("name"))
        if has_ids and call_id is not None and call_id not in ids:
            findings.add("response-id-unknown", f"{path}.id", f"no call {shown(call_id)} is open")
            continue
        if has_ids and call_id is not None:
            is_known = ids.pop(call_id) == name
        else:
            is_known = left[name] > 0
        left[name] -= 1
        if not is_known:
            fault = f"no call of {shown(name)} is open"
            findings.add("response-name-unknown", f"{path}.name", fault)


def _signatures(turns: list[_Turn], findings: Findings) -> None:
    """Newer models want a signature on the first call of each step since the last question."""
    for turn in reversed(turns):
        if turn.is_question:
            return
        if turn.calls:
            path, part, _ = turn.calls[0]
            if _get(part, "thoughtSignature") is None:
                findings.add("thought-signature-missing", path, "the first call has no signature")
