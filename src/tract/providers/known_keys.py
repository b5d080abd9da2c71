"""The keys that each API knows. Any other stays in the store and is not sent: it would be refused.

Written from the vendors' typed requests. A type that is not listed goes back to its provider with
all of its keys: providers add types all the time.
"""

from __future__ import annotations

from collections.abc import Mapping

from tract.model import Json

Keys = Mapping[str, frozenset[str]]


def _keys(table: str, *everywhere: str) -> Keys:
    """The keys by type: each line has a type, or several of them, and its keys."""
    lines = (line.partition(":") for line in table.strip().splitlines())
    return {
        kind: frozenset({*keys.split(), *everywhere})
        for kinds, _, keys in lines
        for kind in kinds.split()
    }


ANTHROPIC_MESSAGES = _keys(
    """
    user assistant: role content
    system: role content clear_at output_config
    """
)
ANTHROPIC_BLOCKS = _keys(
    """
    text: text citations cache_control
    image: source transformations cache_control
    document: source title context citations cache_control
    search_result: source title content citations cache_control
    thinking: thinking signature
    redacted_thinking: data
    tool_use: id name input caller toolset_name cache_control
    tool_result: tool_use_id content is_error toolset_name cache_control
    tool_reference: tool_name cache_control
    server_tool_use: id name input caller cache_control
    mcp_tool_use: id name input server_name cache_control
    mcp_tool_result: tool_use_id content is_error cache_control
    web_search_tool_result web_fetch_tool_result: tool_use_id content caller cache_control
    code_execution_tool_result tool_search_tool_result: tool_use_id content cache_control
    bash_code_execution_tool_result advisor_tool_result: tool_use_id content cache_control
    text_editor_code_execution_tool_result: tool_use_id content cache_control
    container_upload: file_id cache_control
    compaction: content encrypted_content signature tool_changes cache_control
    browser_state: state_changes tabs cache_control
    tool_addition tool_removal: tool cache_control
    """,
    "type",
)
ANTHROPIC_TOOL = frozenset(
    {"type", "name", "description", "input_schema", "strict", "cache_control", "defer_loading"}
    | {"allowed_callers", "eager_input_streaming", "input_examples"}
)

CHAT_MESSAGES = _keys(
    """
    system developer user: role content name
    tool: role content name tool_call_id
    assistant: role content name tool_calls function_call refusal audio annotations
    """
)
CHAT_THOUGHTS = frozenset({"reasoning_content", "reasoning", "reasoning_details"})
"""Not OpenAI's. Other servers of this API want the thoughts back that led to a call."""
CHAT_PARTS = _keys(
    """
    text: text
    image_url: image_url
    input_audio: input_audio
    file: file
    refusal: refusal
    """,
    *("type", "prompt_cache_breakpoint", "cache_control"),
)
CHAT_AROUND = frozenset({"id", "type", "extra_content"})
"""The keys of a call, beside its type. With `extra_content`, Gemini's servers of this API keep the
signature of a thought."""
CHAT_TOOL_AROUND = frozenset({"type", "cache_control"})
CHAT_TOOL_INSIDE = _keys(
    """
    function: name description parameters strict
    custom: name description format
    """
)

RESPONSES_ITEMS = _keys(
    """
    message: role content status phase
    reasoning: summary content encrypted_content status
    function_call: call_id name arguments status namespace caller async
    custom_tool_call: call_id name input status namespace caller async
    function_call_output: call_id output status name namespace caller
    custom_tool_call_output: call_id output status name caller
    item_reference:
    computer_call: call_id action actions pending_safety_checks status
    computer_call_output: call_id output acknowledged_safety_checks status
    shell_call: call_id action environment status caller
    shell_call_output: call_id output max_output_length status caller
    local_shell_call: call_id action status
    local_shell_call_output: call_id output status
    apply_patch_call: call_id operation status caller
    apply_patch_call_output: call_id output status caller
    tool_search_call: call_id arguments execution status
    tool_search_output: call_id tools execution status
    file_search_call: queries results status
    web_search_call: action status
    code_interpreter_call: code container_id outputs status
    image_generation_call: action background error output_format quality result revised_prompt \
size status svg_usage
    mcp_list_tools: server_label tools error
    mcp_approval_request: server_label name arguments
    mcp_approval_response: approval_request_id approve reason
    mcp_call: server_label name arguments output error status approval_request_id
    additional_tools: role tools
    compaction: encrypted_content
    """,
    *("type", "id"),
)
RESPONSES_PARTS = _keys(
    """
    input_text: text prompt_cache_breakpoint
    input_image: image_url file_id detail prompt_cache_breakpoint
    input_file: file_id file_url file_data filename detail prompt_cache_breakpoint
    output_text: text annotations logprobs
    refusal: refusal
    """,
    "type",
)
RESPONSES_TOOLS = _keys(
    """
    function: name description parameters strict output_schema defer_loading
    custom: name description format defer_loading
    """,
    *("type", "allowed_callers", "async"),
)


def _both_cases(*names: str) -> frozenset[str]:
    """Gemini knows each key in camel case, and with underscores."""
    snake = ("".join(f"_{c.lower()}" if c.isupper() else c for c in name) for name in names)
    return frozenset({*names, *snake})


GEMINI_CONTENT = frozenset({"role", "parts"})
GEMINI_DATA = _both_cases(
    *("text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode"),
    *("codeExecutionResult", "toolCall", "toolResponse"),
)
"""What a part may hold: its key is its type."""
GEMINI_PART = GEMINI_DATA | _both_cases(
    *("thought", "thoughtSignature", "videoMetadata", "partMetadata", "mediaResolution")
)
GEMINI_CALL = _both_cases("id", "name", "args", "partialArgs", "willContinue")
GEMINI_RESPONSE = _both_cases("id", "name", "response", "parts", "willContinue", "scheduling")
GEMINI_DECLARATION = _both_cases(
    *("name", "description", "behavior", "parameters", "parametersJsonSchema"),
    *("response", "responseJsonSchema"),
)

MCP_TOOL = frozenset(
    {"type", "name", "description", "inputSchema", "outputSchema", "annotations", "title"}
    | {"icons", "execution", "_meta"}
)


FRAMEWORK_PARTS = {
    "tool-call": "toolCallId",
    "tool-result": "toolCallId",
    "tool-approval-request": "approvalId",
    "tool-approval-response": "approvalId",
    "redacted-reasoning": "data",
    "image": "image",
    "file": "mediaType",
}
"""Parts of a message of the AI SDK, each with a key that no provider's part of that type has."""


def is_framework_part(part: dict[str, Json]) -> bool:
    """Whether no provider knows such a part."""
    kind = part.get("type")
    return isinstance(kind, str) and kind in FRAMEWORK_PARTS and FRAMEWORK_PARTS[kind] in part
