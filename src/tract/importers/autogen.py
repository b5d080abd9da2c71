"""AutoGen: the saved state of a team or an agent, lists of its messages, and the SQLite file of the
classic version's logger, which has the requests and responses of each agent.

Each agent of a team sees a history of its own, which is a dialog; so is the thread of the team.
"""

from __future__ import annotations

from collections.abc import Iterator

from tract.importers.coerce import as_dict, as_text, as_time, json_or_none
from tract.importers.items import Exchange, Item, Problem, Unknown
from tract.importers.message_files import (
    Conversation,
    is_file_of,
    read_conversation,
    read_file_of,
)
from tract.importers.provider import is_chat, request_provider
from tract.importers.source import Source
from tract.importers.sqlite_files import Database, is_database, is_sqlite
from tract.model import Json
from tract.providers.detect import response_provider
from tract.providers.frameworks.lists import claims

NAME = "autogen"

LOG = "chat_completions"
STATES = ("TeamState", "AssistantAgentState", "ChatAgentContainerState", "SocietyOfMindAgentState")
LISTS = (
    "agent_states",
    "agent_states/*",
    "agent_state",
    "llm_context",
    "messages",
    "message_thread",
)
"""Where messages are in a state. Agents have the names that somebody gave them."""
INNER = ("agent_state", "inner_team_state")


def detect(source: Source) -> bool:
    if is_sqlite(source):
        return is_database(source, _is_log)
    if _is_state(source.peek):
        return any(claims(NAME, one.messages) for _, one in _histories(source.peek))
    return _is_result(source.peek) or is_file_of(NAME, source)


def _is_result(value: Json) -> bool:
    """Whether it is what a chat of the classic version returned."""
    fields = as_dict(value)
    return "chat_id" in fields and is_chat(fields.get("chat_history"))


def _is_log(database: Database) -> bool:
    columns = database.columns(LOG) if LOG in database.tables else frozenset()
    return {"invocation_id", "source_name", "request", "response", "start_time"} <= columns


def _is_state(value: Json) -> bool:
    return as_dict(value).get("type") in STATES and "version" in value


def read(source: Source) -> Iterator[Item]:
    if is_sqlite(source):
        with Database(source.path) as database:
            yield from _read_log(database)
        return
    if not _is_state(source.peek):
        yield from read_file_of(NAME, source)
        return
    state, problems = source.document(LISTS)
    yield from problems
    for number, (agent, one) in enumerate(_histories(state)):
        dialog = agent if number else None
        yield from read_conversation(NAME, one, dialog, f"{agent or 'agent'}, message {{}}")


def _read_log(database: Database) -> Iterator[Item]:
    """The calls of models, in order. Each has the full history of its agent."""
    agents: dict[Json, str | None] = {}
    for row in database.rows(f"SELECT * FROM {LOG} ORDER BY start_time, rowid"):
        place = f"call {row.get('id')}"
        request, response = (_json(row[name]) for name in ("request", "response"))
        if request_provider(request) != "openai":
            yield Problem(place, "not a request to a model")
            continue
        if response_provider(response) != "openai":  # an error, as a text
            yield Unknown(place, "response", row["response"])
            response = None
        name = as_text(row["source_name"])
        dialog = agents.setdefault(name, name if agents else None)
        time = as_time(row["start_time"])
        yield Exchange(
            provider="openai", request=request, response=response, dialog=dialog, time=time
        )


def _json(value: Json) -> Json:
    return json_or_none(value) if isinstance(value, str | bytes) else None


def _histories(state: Json, agent: str = "") -> Iterator[tuple[str, Conversation]]:
    """The messages of each agent, and of the team."""
    fields = as_dict(state)
    if not fields:
        return
    context = as_dict(fields.get("llm_context")).get("messages")
    if isinstance(context, list) and context:
        yield agent, Conversation(context)
    for key in INNER:
        yield from _histories(fields.get(key), agent)
    for name, inner in as_dict(fields.get("agent_states")).items():
        yield from _histories(inner, f"{agent}.{name}" if agent else name)
    thread = fields.get("message_thread")
    if isinstance(thread, list) and thread:
        yield agent or "thread", Conversation(thread, {"message_thread": True})
