"""Sessions of the OpenAI Agents SDK: its SQLite file, or a list of items as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from tract.errors import InputError
from tract.importers.call_ids import CallIds
from tract.importers.coerce import as_dict, as_time, dicts, ensure_storable, json_or_none
from tract.importers.items import Entry, Item, Problem
from tract.importers.source import Source, read_values
from tract.importers.sqlite_files import Database, Record, is_database, is_sqlite
from tract.model import Json
from tract.providers.damage import sift_message
from tract.providers.frameworks.marks import marked
from tract.providers.responses_items import load_items

NAME = "openai-agents"

TABLE = "agent_messages"
ITEMS = frozenset(
    {"function_call", "function_call_output", "reasoning", "item_reference", "web_search_call"}
    | {"file_search_call", "computer_call", "computer_call_output", "mcp_call", "mcp_list_tools"}
    | {"custom_tool_call", "custom_tool_call_output", "local_shell_call", "code_interpreter_call"}
)
PARTS = frozenset({"input_text", "output_text", "input_image", "input_file", "refusal"})


def detect(source: Source) -> bool:
    if is_sqlite(source):
        return is_database(source, lambda database: TABLE in database.tables)
    value = source.peek
    items = dicts(value if isinstance(value, list) else as_dict(value).get("items"))
    sound = sum(isinstance(item.get("type"), str) or "role" in item for item in items)
    if 2 * sound <= len(items) or marked(items):  # a damaged item does not decide
        return False
    return any(map(_is_item, items))


def _is_item(item: dict[str, Json]) -> bool:
    parts = dicts(item.get("content"))
    return item.get("type") in tuple(ITEMS) or (
        "role" in item and any(part.get("type") in tuple(PARTS) for part in parts)
    )


def read(source: Source) -> Iterator[Item]:
    if is_sqlite(source):
        with Database(source.path) as database:
            is_alone = next(database.rows(_SESSIONS))["count"] == 1
            for session, rows in groupby(database.rows(_ROWS), key=lambda row: row["session_id"]):
                yield from _read_items(map(_place, rows), None if is_alone else str(session))
        return
    yield from read_values(source, _items, ("items",))


def _items(place: str, value: Json) -> Iterator[Item]:
    items = value if isinstance(value, list) else as_dict(value).get("items")
    if not isinstance(items, list):
        yield Problem(place, "no items")
        return
    places = ((f"item {number}", item, None) for number, item in enumerate(items, 1))
    yield from _read_items(places, None)


Placed = tuple[str, Json, Json]
"""The position of an item, the item, and its time."""

_ROWS = f"SELECT session_id, id, message_data, created_at FROM {TABLE} ORDER BY session_id, id"
_SESSIONS = f"SELECT count(DISTINCT session_id) AS count FROM {TABLE}"


def _place(row: Record) -> Placed:
    data = row["message_data"]
    item = json_or_none(data) if isinstance(data, str | bytes) else None
    return f"row {row['id']}", item, row["created_at"]


def _read_items(rows: Iterator[Placed], dialog: str | None) -> Iterator[Item]:
    """Consecutive items of the assistant are one entry, with the time of the first."""
    items: list[Json] = []
    times: list[Json] = []
    is_going_on = False
    for place, value, created in rows:
        item, problems = _sound(place, value)
        yield from problems
        if item is None:
            continue
        (message,) = load_items([item])
        is_answer = message.role == "assistant"
        if not (is_answer and is_going_on):
            times.append(created)
        is_going_on = is_answer
        items.append(item)
    ids = CallIds()
    for message, time in zip(load_items(items), times, strict=True):
        yield Entry(messages=(ids.assign(message),), dialog=dialog, time=as_time(time))


def _sound(place: str, item: Json) -> tuple[Json, list[Problem]]:
    """An item without the blocks that cannot be read; None if nothing of it can."""
    try:
        list(load_items([ensure_storable(item)]))
        return item, []
    except InputError as error:
        if not isinstance(item, dict):
            return None, [Problem(place, str(error))]
    sound, damage = sift_message(item, "responses")
    return sound, [Problem(f"{place}{where}", what) for where, what in damage]
