"""The texts that models read in place of messages and results. Pure.

They are part of every later request: short, literal, and never dependent on how long ago something
was sent, so that a request keeps the bytes that a provider has cached.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from tract.content.blocks import bytes_of
from tract.content.preview import narrow
from tract.content.text import counted, cut
from tract.core.place import FULL, Place
from tract.core.subjects import entitle, subject, tool_label
from tract.model import Block, Form, Gist, Json, Message, Shape, Step, Text, ToolCall, readable

GET_TOOL_RESULT = "get_tool_result"
GET_TOOL_RESULT_SCHEMA: dict[str, Json] = {
    "name": GET_TOOL_RESULT,
    "description": (
        "Read a tool result of this conversation that is shown only in part, or not at all. Pass "
        "its id, and optionally which part to read: lines, grep, json_path, or offset and limit. "
        "A long answer is split into pages; its last line says how to get the next page."
    ),
    "input_schema": {
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "The id shown with the result."},
            "lines": {
                "type": "string",
                "description": 'Line numbers from 1: "10-20", "10-", or "-5" for the last 5.',
            },
            "grep": {
                "type": "string",
                "description": "Regular expression. Returns the lines that match.",
            },
            "context": {"type": "integer", "description": "Lines to show around each match."},
            "json_path": {
                "type": "string",
                "description": "Path such as $.items[0].name or $.items[?@.size > 3].",
            },
            "offset": {"type": "integer", "description": "First character to return, from 0."},
            "limit": {"type": "integer", "description": "Maximum number of characters."},
        },
        "required": ["id"],
    },
}
"""One constant, so that the tools of a request stay the same from turn to turn."""

MCP_SERVER = "tract"
"""The name of tract's MCP server in the settings of a client."""


def spellings(tool: str) -> frozenset[str]:
    """What models call a tool of tract: one of their own, or through MCP in each client."""
    return frozenset(
        (
            tool,  # also Codex, which has the server in a namespace beside the name
            f"mcp__{MCP_SERVER}__{tool}",  # Claude Code, qwen
            f"mcp_{MCP_SERVER}_{tool}",  # Gemini CLI
            f"{MCP_SERVER}_{tool}",  # opencode
            f"{MCP_SERVER}-{tool}",  # Copilot
        )
    )


FETCHES = spellings(GET_TOOL_RESULT)


def is_fetch(name: str | None) -> bool:
    """Whether a tool of this name fetches results. Its answers are always shown in full. A tool
    whose name merely ends the same is not one."""
    return name in FETCHES


def fetching_tokens(count: Callable[[str], int]) -> int:
    return count(readable(GET_TOOL_RESULT_SCHEMA))


# What stands for messages that are missing

START = "[The beginning of this conversation is not shown.]"
SKIPPED = "[This result was left out.]"
FORGOTTEN = "[This content was forgotten.]"
ERASED = "[forgotten]"
"""What stands for a text that was erased from inside another one."""
NO_MESSAGES = "the history has no messages to send; the provider refuses an empty request"
NO_RESULT = "[No result was recorded for this call.]"
CLOSINGS = (NO_RESULT, f"Error: {NO_RESULT}")
"""What providers are sent for it: those that have no flag for errors get a word."""


def no_result(call: ToolCall) -> Message:
    return Message("tool", NO_RESULT, tool_call_id=call.id, name=call.name, is_error=True)


def quote(result: Message) -> Message:
    """A result whose call is missing, as a user message that is recognisable as tool text."""
    what = f"Result of {result.name}" if result.name else "Tool result"
    return Message("user", f"[{what} for an unknown call {result.tool_call_id!r}:]\n{result.text}")


def former_quote(result: Message) -> Message:
    """What earlier versions sent, for `record()`."""
    tool = result.name or "a tool"
    head = f"[A result of {tool} that no open call {result.tool_call_id!r} waited for:]"
    return Message("user", f"{head}\n{result.text}")


# What stands for a result

DEFAULT_TOKENS = 400
CHARACTERS_PER_TOKEN = 4
FRAME_TOKENS, FRAME_CHARACTERS = 60, 170
"""Of a reference, beside what was asked, the verdict and the preview."""
LEAST_BYTES = 600
"""A shorter result is shown in full: beside its frame, a reference of it would say nothing."""
PREVIEW = "preview only"
LINE_ENDS = 3  # with the bracket
UNLIMITED = 1 << 30
LONGEST_CHARACTER = 4
"""Bytes that a character has at most, in UTF-8."""


class CollapsedLine(NamedTuple):
    """What stands for a call and its result."""

    answered: str
    open: str
    failed: str
    """What `{error}` stands for."""


COLLAPSED = CollapsedLine(
    "[Called {what} ({id}){error}; result not shown]", "[Called {what}]", "; failed"
)
BY_NAME = CollapsedLine(
    "[Called {name} ({id}){error}; result not shown]", "[Called {name}]", "; failed"
)
"""With the tool alone, for plain lists of messages."""
FORMERLY_COLLAPSED = (
    BY_NAME,
    CollapsedLine(
        "[Tool: {name} | Result summarized — call {id}{error}]", "[Tool: {name}]", " | error"
    ),
)
"""What earlier versions sent. Agents keep histories with it, and `record()` must recognise it."""


def how_to_fetch(place: Place) -> str:
    """The call that returns a full result. Every form has it, and `record()` knows forms by it:
    it must never change."""
    return _fetch(place.label)


def _fetch(label: str) -> str:
    return f'{GET_TOOL_RESULT}(id="{label}")'


def spell_fetch(text: str, place: Place, tool: str) -> str:
    """A form with the fetching tool as a program spells it, for models that call it there. The last
    line names it; the preview before may quote anything."""
    before, call, after = text.rpartition(how_to_fetch(place))
    return f"{before}{tool}{call.removeprefix(GET_TOOL_RESULT)}{after}" if call else text


def pays(step: Step) -> bool:
    """Whether a result is long enough for a reference: that is at most two thirds as long. A
    content that is not loaded is long, even if it says little as a text: it has pictures."""
    return step.data is None or step.byte_size >= LEAST_BYTES


def reference(place: Place, gist: Gist, shape: Shape = FULL, call: ToolCall | None = None) -> str:
    """What the model sees instead of a result: what was asked, what came of it, and a preview."""
    first, last, room = _frame(place, gist, call)
    preview = _fit(lambda limit: narrow(gist, limit), _characters(shape), room)
    if _says_nothing(preview, gist):
        preview, last = "", last.replace(PREVIEW, "not shown", 1)
    return "\n".join(filter(None, (first, preview, last)))


def with_narrowed(gist: Gist, place: Place, shape: Shape, call: ToolCall | None) -> Gist:
    """The gist with the smaller previews that a reference in this shape shows: to make one takes as
    long as to show twenty references. A reference that has other room makes its own."""
    if shape.form != Form.REFERENCE:
        return gist
    made: dict[int, str] = {}

    def note(limit: int) -> str:
        made[limit] = narrow(gist, limit)
        return made[limit]

    _fit(note, _characters(shape), _frame(place, gist, call)[-1])
    smaller = [(limit, text) for limit, text in made.items() if text != gist.preview]
    return replace(gist, narrowed=tuple(smaller)) if smaller else gist


def _frame(place: Place, gist: Gist, call: ToolCall | None) -> tuple[str, str, int]:
    """The first and the last line of a reference, and how many bytes are left for a preview."""
    step, label = place.shown, place.label
    status = "error" if step.is_error or gist.is_error else "success"
    about = f" · {label} · {status} · {step.byte_size} bytes · {step.token_count} tokens]"
    last = f"[{PREVIEW}; call {_fetch(label)} for the full result]"
    room = _room(step) - bytes_of(about) - bytes_of(last) - LINE_ENDS
    title = entitle(what_of(step, call), gist.summary)
    if _exceeds(title, room):
        title = _fit(lambda limit: title[: limit - 1] + "…", len(title), room)
    return f"[{title}{about}", last, room - bytes_of(title)


def _says_nothing(preview: str, gist: Gist) -> bool:
    """Whether a preview only repeats the verdict, or has only gaps."""
    text = preview.strip()
    if "\n" not in text and text.removeprefix("[… ").removesuffix(" …]") == gist.summary:
        return True
    return _GAPS.fullmatch(text) is not None


_GAPS = re.compile(r"(?:(?:\[… lines .*)?\n)*(?:\[… lines .*)?")


def former_reference(place: Place, gist: Gist, shape: Shape) -> str:
    """What earlier versions sent. Agents keep transcripts with it."""
    step = place.shown
    what = f"result of {step.name}" if step.name else "tool result"
    status = "error" if step.is_error or gist.is_error else "success"
    about = f"{place.label} · {status} · {step.byte_size} bytes · {step.token_count} tokens"
    preview = cut(gist.preview, _characters(shape))
    summary = "" if preview.strip() == gist.summary else gist.summary
    rest = f"[preview only; call {how_to_fetch(place)} for the full result]"
    return "\n".join(filter(None, (f"[{what} · {about}]", summary, preview, rest)))


def what_of(step: Step, call: ToolCall | None) -> str:
    """What a result is of: what was asked, or just the tool if the call is not known."""
    if call is not None:
        return subject(call)
    return f"result of {tool_label(step.name)}" if step.name else "tool result"


def _room(step: Step) -> int:
    """How many bytes a reference may have. Pictures are not counted as text."""
    return step.byte_size * 2 // 3 if step.byte_size >= LEAST_BYTES else UNLIMITED


def _fit(make: Callable[[int], str], characters: int, room: int) -> str:
    """A text of at most that many characters, and bytes."""
    text = make(characters := max(0, min(characters, room)))
    while _exceeds(text, room) and characters > 0:  # not ASCII
        text = make(characters := characters * room // bytes_of(text))
    return text


def _exceeds(text: str, room: int) -> bool:
    """Whether a text has more bytes than that. Most are too short for it, and are not encoded."""
    return len(text) > room // LONGEST_CHARACTER and bytes_of(text) > room


def reference_tokens(text: str, gist: Gist) -> int | None:
    """About how many tokens a reference has, if those of the gist were counted when the result was
    written: counting all of them anew would be most of the work of opening a long history."""
    if not gist.token_count:
        return None
    length = max(0, len(text) - FRAME_CHARACTERS)
    return FRAME_TOKENS + gist.token_count * length // (len(gist.summary) + len(gist.preview))


def preview_of(gist: Gist, shape: Shape) -> str:
    return narrow(gist, _characters(shape))


def truncate(text: str, place: Place, shape: Shape) -> str | None:
    """The beginning of a text; None where that would not be shorter."""
    limit = _characters(shape)
    tail = f"\n[truncated; call {how_to_fetch(place)} for the full result]"
    return None if len(text) <= limit + len(tail) else cut(text, limit) + tail


def _characters(shape: Shape) -> int:
    return CHARACTERS_PER_TOKEN * (DEFAULT_TOKENS if shape.tokens is None else shape.tokens)


def summary(place: Place, text: str, call: ToolCall | None = None) -> str:
    """A summary of a result, and how to get the full result."""
    what = subject(call) if call else f"the {what_of(place.shown, None)}"
    return f"[summary of {what}; call {how_to_fetch(place)} for the full result]\n{text}"


def collapse(message: Message, call: Place, line: CollapsedLine = COLLAPSED) -> Message:
    """An assistant message with a line in place of each call and its result. The caller leaves out
    the thoughts: no provider accepts them without the calls that they led to."""
    results = iter(call.answers)
    blocks: list[Block] = []
    for block in message.blocks:
        if not isinstance(block, ToolCall):
            blocks.append(block)
            continue
        result = next(results, None)
        called = {"name": block.name, "what": subject(block)}
        text = line.open.format(**called)  # an edit has changed the calls, or some wait
        if result:
            error = line.failed if result.shown.is_error else ""
            text = line.answered.format(**called, id=result.label, error=error)
        blocks.append(Text(text))
    return Message(message.role, tuple(blocks), name=message.name)


# The heading of a summary of messages

NAMED_RESULTS = 8
"""So many results are named in a summary; the rest is counted."""


def summary_heading(group: Sequence[Place]) -> str:
    """What a summary of messages stands for, and how to get the results among them."""
    under = [p for place in group for p in (place, *place.everything_under)]
    messages = sum(not place.sources for place in under)
    heading = f"Summary of {counted(messages, 'earlier message')}"
    results = [place for place in under if place.origin.role == "tool"]
    if results:
        names = [p.label + f" ({p.shown.name})" * bool(p.shown.name) for p in results]
        if len(names) > NAMED_RESULTS:
            names[NAMED_RESULTS:] = [f"{len(results) - NAMED_RESULTS} more"]
        heading += f'; call {GET_TOOL_RESULT}(id="…") for the full result of {", ".join(names)}'
    return f"[{heading}]"
