"""The tools of the server, as models read them. Pure."""

from __future__ import annotations

from typing import NamedTuple

from tract.core.wording import GET_TOOL_RESULT, GET_TOOL_RESULT_SCHEMA, spellings
from tract.model import Json

SEARCH = "search_tool_results"
LIST = "list_tool_results"
STORE = "store_tool_result"

INSTRUCTIONS = (
    "The tool results of this conversation are stored here in full, also those that are shown only "
    f"in part. Call {GET_TOOL_RESULT} to read one, {SEARCH} to find one by its text."
)


class ToolSchema(NamedTuple):
    name: str
    description: str
    input_schema: dict[str, Json]
    is_read_only: bool = True


def _text(description: str) -> dict[str, Json]:
    return {"type": "string", "description": description}


def _number(description: str) -> dict[str, Json]:
    return {"type": "integer", "description": description}


def _object(required: list[str], **properties: Json) -> dict[str, Json]:
    return {"type": "object", "properties": properties, "required": required}


_TOOL = _text("Only results of this tool.")
_OFFSET = _number("Results to skip, from the newest.")

SCHEMAS = (
    ToolSchema(
        GET_TOOL_RESULT,
        GET_TOOL_RESULT_SCHEMA["description"],
        GET_TOOL_RESULT_SCHEMA["input_schema"],
    ),
    ToolSchema(
        SEARCH,
        "Find tool results of this conversation that contain a text, newest first. Returns the id, "
        "the tool, the call, the size and the first matching line of each. Answers of these tools "
        "are not searched.",
        _object(
            ["query"],
            query=_text("The text. Upper and lower case count as equal."),
            tool=_TOOL,
            limit=_number("Maximum number of matching results; 10 by default, at most 50."),
            offset=_OFFSET,
        ),
    ),
    ToolSchema(
        LIST,
        "List the tool results of this conversation, newest first: the id, the tool, the call, "
        "the status, the size and the time of each.",
        _object(
            [],
            tool=_TOOL,
            status={"type": "string", "enum": ["success", "error"], "description": "Only these."},
            limit=_number("Maximum number of results; 20 by default, at most 100."),
            offset=_OFFSET,
        ),
    ),
    ToolSchema(
        STORE,
        "Store a long text or JSON in full, to read parts later. Returns an id and a preview.",
        _object(
            ["tool_name", "content"],
            tool_name=_text("The tool that returned it, or another name for it."),
            content=_text("The text, or JSON as a text."),
            id=_text("The id to store it by; by default, one is made."),
            arguments={
                "type": "object",
                "description": "The arguments that the tool was called with.",
            },
        ),
        is_read_only=False,
    ),
)

OWN_ANSWERS = frozenset().union(*(spellings(schema.name) for schema in SCHEMAS))
"""The names of results that only repeat what others have."""
