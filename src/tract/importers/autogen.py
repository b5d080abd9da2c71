"""AutoGen: the saved state of a team or an agent, and lists of its messages.

Each agent of a team sees a history of its own, which is a dialog; so is the thread of the team.
"""

from __future__ import annotations

from collections.abc import Iterator

from tract.importers.coerce import as_dict
from tract.importers.items import Item
from tract.importers.message_files import (
    Conversation,
    is_file_of,
    read_conversation,
    read_file_of,
)
from tract.importers.provider import is_chat
from tract.importers.source import Source
from tract.model import Json
from tract.providers.frameworks.lists import claims

NAME = "autogen"

STATES = ("TeamState", "AssistantAgentState", "ChatAgentContainerState", "SocietyOfMindAgentState")
INNER = ("agent_state", "inner_team_state")
CONTEXT_DEPTH, THREAD_DEPTH = 6, 4
"""How deep the messages of an agent and those of a thread lie in the state of a team."""
SINGLE_DEPTH = 3
"""And those of an agent alone."""


def detect(source: Source) -> bool:
    if _is_state(source.peek):
        return any(claims(NAME, one.messages) for _, one in _histories(source.peek))
    return _is_result(source.peek) or is_file_of(NAME, source)


def _is_result(value: Json) -> bool:
    """Whether it is what a chat of the classic version returned."""
    fields = as_dict(value)
    return "chat_id" in fields and is_chat(fields.get("chat_history"))


def _is_state(value: Json) -> bool:
    return as_dict(value).get("type") in STATES and "version" in value


def read(source: Source) -> Iterator[Item]:
    if not _is_state(source.peek):
        yield from read_file_of(NAME, source)
        return
    is_team = "agent_states" in source.peek
    state, problems = source.document(CONTEXT_DEPTH if is_team else SINGLE_DEPTH)
    histories = list(_histories(state))
    if problems and is_team and histories and "message_thread" in histories[-1][1].about:
        histories = list(_histories(source.document(THREAD_DEPTH)[0]))
    yield from problems
    for number, (agent, one) in enumerate(histories):
        dialog = agent if number else None
        yield from read_conversation(NAME, one, dialog, f"{agent or 'agent'}, message {{}}")


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
