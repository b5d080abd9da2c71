"""The names of OpenTelemetry's conventions for generative AI, for spans that are read and for those
that are written. The conventions are still changing; this is the only place that spells them."""

from __future__ import annotations

OPERATION = "gen_ai.operation.name"
CHAT, EXECUTE_TOOL = "chat", "execute_tool"
MODEL_CALLS = (CHAT, "text_completion", "generate_content")
PROVIDER = "gen_ai.provider.name"
CONVERSATION = "gen_ai.conversation.id"
ERROR_TYPE = "error.type"
OTHER = "_OTHER"
"""What the conventions call a provider or an error that they do not know."""

REQUEST = "gen_ai.request."
REQUEST_MODEL = "gen_ai.request.model"
REQUEST_STREAM = "gen_ai.request.stream"
SETTINGS = {
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "top_k": "gen_ai.request.top_k",
    "max_tokens": "gen_ai.request.max_tokens",
    "max_completion_tokens": "gen_ai.request.max_tokens",
    "max_output_tokens": "gen_ai.request.max_tokens",
    "seed": "gen_ai.request.seed",
    "stop": "gen_ai.request.stop_sequences",
    "stop_sequences": "gen_ai.request.stop_sequences",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "presence_penalty": "gen_ai.request.presence_penalty",
}
"""Settings of requests as providers spell them, and their attributes."""

RESPONSE = "gen_ai.response."
RESPONSE_ID = "gen_ai.response.id"
RESPONSE_MODEL = "gen_ai.response.model"
FINISH_REASONS = "gen_ai.response.finish_reasons"

INPUT_TOKENS = "gen_ai.usage.input_tokens"
"""Of the full request: it includes what was read from a cache and written to it."""
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITTEN_TOKENS = "gen_ai.usage.cache_creation.input_tokens"
REASONING_TOKENS = "gen_ai.usage.reasoning.output_tokens"

SYSTEM_INSTRUCTIONS = "gen_ai.system_instructions"
INPUT = "gen_ai.input.messages"
OUTPUT = "gen_ai.output.messages"
TOOL_DEFINITIONS = "gen_ai.tool.definitions"

TOOL_NAME = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
TOOL_CALL_ID = "gen_ai.tool.call.id"
TOOL_RESULT = "gen_ai.tool.call.result"

CHOICE = "gen_ai.choice"
ROLES = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}
"""Events of a call, each with one message, as earlier versions had them."""
DETAILS = "gen_ai.client.inference.operation.details"

# What tract adds, for what the conventions have no name for.
RESHAPE, COMPRESS = "tract.reshape", "tract.compress"
COMMIT = "tract.commit"
FORM, FORMS = "tract.form", "tract.forms"
TARGETS = "tract.targets"
"""The commits that a reshape or a compression is about."""
TOKENS, TOKENS_BEFORE = "tract.tokens", "tract.tokens_before"
BYTES = "tract.bytes"
MADE_BY = "tract.made_by"
