"""Keys that an API does not know, and refuses. The lists are those of the vendors' typed requests.

A block, part, item or tool of an unknown type is not judged: providers add types all the time. What
stands inside a known key is not judged either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tract.model import Json
from tract.providers.validate.violations import Findings, as_list, as_map, as_text, kind_of

Table = dict[str, frozenset[str]]


def _table(shared: str = "", **kinds: str) -> Table:
    """For each type its keys, and those that all of them have."""
    return {kind: frozenset(f"{shared} {keys}".split()) for kind, keys in kinds.items()}


# Anthropic

ROLES = _table("role content", user="", assistant="", system="clear_at output_config")
BLOCKS = _table(
    "type cache_control",
    text="text citations",
    image="source transformations",
    document="source title context citations",
    search_result="source title content citations",
    tool_use="id name input caller toolset_name",
    tool_result="tool_use_id content is_error toolset_name",
    tool_reference="tool_name",
    server_tool_use="id name input caller",
    web_search_tool_result="tool_use_id content caller",
    web_fetch_tool_result="tool_use_id content caller",
    code_execution_tool_result="tool_use_id content",
    bash_code_execution_tool_result="tool_use_id content",
    text_editor_code_execution_tool_result="tool_use_id content",
    tool_search_tool_result="tool_use_id content",
    advisor_tool_result="tool_use_id content",
    mcp_tool_use="id name input server_name",
    mcp_tool_result="tool_use_id content is_error",
    container_upload="file_id",
    compaction="content encrypted_content signature tool_changes",
    browser_state="state_changes tabs",
    tool_addition="tool",
    tool_removal="tool",
) | _table("type", thinking="thinking signature", redacted_thinking="data")
TOOL = frozenset(
    {"type", "name", "description", "input_schema", "cache_control", "strict", "defer_loading"}
    | {"allowed_callers", "eager_input_streaming", "input_examples"}
)


def anthropic(request: dict[str, Json], messages: list[Json], findings: Findings) -> None:
    for path, message in _maps(messages, "messages"):
        _check(path, message, ROLES.get(as_text(message.get("role")) or ""), findings)
        for place, block in _maps(message.get("content"), f"{path}.content"):
            _by_type(place, block, BLOCKS, findings)
            if kind_of(block) == "tool_result":
                for inner, part in _maps(block.get("content"), f"{place}.content"):
                    _by_type(inner, part, BLOCKS, findings)
            added = as_map(as_map(block.get("tool")).get("definition"))
            _anthropic_tool(f"{place}.tool.definition", added, findings)
    for path, block in _maps(request.get("system"), "system"):
        _by_type(path, block, BLOCKS, findings)
    for path, tool in _maps(request.get("tools"), "tools"):
        _anthropic_tool(path, tool, findings)


def _anthropic_tool(path: str, tool: dict[str, Json], findings: Findings) -> None:
    if tool.get("type") in (None, "custom"):  # the provider's own tools have other types
        _check(path, tool, TOOL, findings)


# Chat Completions. OpenAI's keys, and those that other servers of this API document: they want
# their thoughts back with the calls that followed (DeepSeek, OpenRouter), and know breakpoints.

SPOKEN = "role content name tool_calls"
MESSAGES = _table(
    SPOKEN,
    system="",
    developer="",
    user="",
    assistant="function_call refusal audio annotations "
    "reasoning_content reasoning reasoning_details",
    tool="tool_call_id",
    function="",
)
PARTS = _table(
    "type prompt_cache_breakpoint cache_control",
    text="text",
    image_url="image_url",
    input_audio="input_audio",
    file="file",
    refusal="refusal",
)
CALLS = _table("id type extra_content", function="function", custom="custom")
CALLED = _table("name", function="arguments", custom="input")
DECLARED = _table("name description", function="parameters strict", custom="format")


def openai_chat(request: dict[str, Json], messages: list[Json], findings: Findings) -> None:
    for path, message in _maps(messages, "messages"):
        _check(path, message, MESSAGES.get(as_text(message.get("role")) or ""), findings)
        for place, part in _maps(message.get("content"), f"{path}.content"):
            _by_type(place, part, PARTS, findings)
        for place, call in _maps(message.get("tool_calls"), f"{path}.tool_calls"):
            _by_type(place, call, CALLS, findings)
            _inside(place, call, CALLED, findings)
    for path, tool in _maps(request.get("tools"), "tools"):
        kind = kind_of(tool) or ""
        if kind in DECLARED:
            _check(path, tool, {"type", "cache_control", kind}, findings)
            _inside(path, tool, DECLARED, findings)


# Responses

ITEMS = _table(
    "type id",
    message="role content status phase",
    reasoning="summary content encrypted_content status",
    function_call="call_id name arguments status namespace caller async",
    function_call_output="call_id output status name namespace caller",
    custom_tool_call="call_id name input status namespace caller async",
    custom_tool_call_output="call_id output status name caller",
    item_reference="",
    computer_call="call_id action actions pending_safety_checks status",
    computer_call_output="call_id output acknowledged_safety_checks status",
    shell_call="call_id action environment status caller",
    shell_call_output="call_id output max_output_length status caller",
    local_shell_call="call_id action status",
    local_shell_call_output="call_id output status",
    apply_patch_call="call_id operation status caller",
    apply_patch_call_output="call_id output status caller",
    tool_search_call="call_id arguments execution status",
    tool_search_output="call_id tools execution status",
    file_search_call="queries results status",
    web_search_call="action status",
    code_interpreter_call="code container_id outputs status",
    image_generation_call="action background error output_format quality result revised_prompt "
    "size status svg_usage",
    mcp_list_tools="server_label tools error",
    mcp_approval_request="server_label name arguments",
    mcp_approval_response="approval_request_id approve reason",
    mcp_call="server_label name arguments output error status approval_request_id",
    additional_tools="role tools",
    compaction="encrypted_content",
)
ITEM_PARTS = _table(
    "type prompt_cache_breakpoint",
    input_text="text",
    input_image="image_url file_id detail",
    input_file="file_id file_url file_data filename detail",
) | _table("type", output_text="text annotations logprobs", refusal="refusal")
FUNCTIONS = _table(
    "type name description defer_loading allowed_callers async",
    function="parameters strict output_schema",
    custom="format",
)


def openai_responses(request: dict[str, Json], items: list[Json], findings: Findings) -> None:
    for path, item in _maps(items, "input"):
        kind = kind_of(item) or ("message" if "role" in item else "item_reference")
        _check(path, item, ITEMS.get(kind), findings)
        for key in ("content", "output"):
            for place, part in _maps(item.get(key), f"{path}.{key}"):
                _by_type(place, part, ITEM_PARTS, findings)
        if kind == "additional_tools":
            _declared(item.get("tools"), f"{path}.tools", findings)
    _declared(request.get("tools"), "tools", findings)


def _declared(tools: Json, path: str, findings: Findings) -> None:
    for place, tool in _maps(tools, path):
        _by_type(place, tool, FUNCTIONS, findings)


# Gemini. Keys in camel case or with underscores.

CONTENT = frozenset({"role", "parts"})
DATA = (
    *("text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode"),
    *("codeExecutionResult", "toolCall", "toolResponse"),
)
AROUND = ("thought", "thoughtSignature", "videoMetadata", "partMetadata", "mediaResolution")
FUNCTION = {
    "functionCall": frozenset({"id", "name", "args", "partialArgs", "willContinue"}),
    "functionResponse": frozenset(
        {"id", "name", "response", "parts", "willContinue", "scheduling"}
    ),
}
DECLARATION = frozenset(
    {"name", "description", "behavior", "parameters", "parametersJsonSchema"}
    | {"response", "responseJsonSchema"}
)


def gemini(request: dict[str, Json], contents: list[Json], findings: Findings) -> None:
    for path, content in _maps(contents, "contents"):
        _check(path, content, CONTENT, findings)
        _gemini_parts(content, path, findings)
    for key in ("systemInstruction", "system_instruction"):
        system = as_map(request.get(key))
        _check(key, system, CONTENT, findings)
        _gemini_parts(system, key, findings)
    for path, tool in _maps(request.get("tools"), "tools"):
        for key, value in tool.items():
            if _camel(key) == "functionDeclarations":
                for place, declared in _maps(value, f"{path}.{key}"):
                    _check(place, declared, DECLARATION, findings, is_gemini=True)


def _gemini_parts(content: dict[str, Json], path: str, findings: Findings) -> None:
    for place, part in _maps(content.get("parts"), f"{path}.parts"):
        keys = {_camel(key) for key in part}
        if keys.isdisjoint(DATA):
            continue  # of an unknown type
        _check(place, part, frozenset({*DATA, *AROUND}), findings, is_gemini=True)
        for key, value in part.items():
            _check(
                f"{place}.{key}", as_map(value), FUNCTION.get(_camel(key)), findings, is_gemini=True
            )


def _camel(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(word.capitalize() for word in rest)


# All


def _maps(values: Json, path: str) -> Iterator[tuple[str, dict[str, Json]]]:
    for index, value in enumerate(as_list(values)):
        if isinstance(value, dict):
            yield f"{path}[{index}]", value


def _by_type(path: str, fields: dict[str, Json], table: Table, findings: Findings) -> None:
    _check(path, fields, table.get(kind_of(fields) or ""), findings)


def _inside(path: str, fields: dict[str, Json], table: Table, findings: Findings) -> None:
    """What stands under the key that is named as the type."""
    kind = kind_of(fields) or ""
    _check(f"{path}.{kind}", as_map(fields.get(kind)), table.get(kind), findings)


def _check(
    path: str,
    fields: dict[str, Json],
    allowed: Iterable[str] | None,
    findings: Findings,
    *,
    is_gemini: bool = False,
) -> None:
    if allowed is None:
        return
    for key in fields:
        if (_camel(key) if is_gemini else key) not in allowed:
            findings.add("unknown-key", f"{path}.{key}", f"no key {key!r:.80} is known here")
