"""The stores that `bench peers` compares: each holds the messages of one conversation in a file.

A store is measured with its own messages (`native`), which are made beforehand, and writes them
the way its documentation shows. All but the ones of tract and of the plain driver are other
people's programs.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from benchmarks.measure import connect, settings_of
from tract import Tract

Wire = dict[str, Any]
"""A message of OpenAI's Chat Completions."""
CONVERSATION = "c"


class Store(ABC):
    """One conversation in one file. `extend` returns when the messages are as safe as this store
    makes them."""

    name: ClassVar[str]
    packages: ClassVar[tuple[str, ...]] = ()
    copies_history: ClassVar[bool] = False
    """Whether each write stores the full history again: then it is measured less often."""

    def __init__(self, path: Path, conversation: str = CONVERSATION) -> None:
        self.path = path
        self.conversation = conversation
        self.open()

    @classmethod
    def missing(cls) -> list[str]:
        return [package for package in cls.packages if version_of(package) is None]

    @staticmethod
    def native(message: Wire) -> Any:
        """The message as this store accepts it."""
        return message

    @abstractmethod
    def open(self) -> None: ...

    @abstractmethod
    def extend(self, messages: Sequence[Any]) -> None:
        """Write messages in one step."""

    def fill(self, messages: Sequence[Any]) -> None:
        """Write a history fast: how it got there is not measured."""
        self.extend(messages)

    @abstractmethod
    def messages(self) -> list[Any]: ...

    @abstractmethod
    def fork(self, name: str) -> None:
        """Start a second conversation that continues from here."""

    @abstractmethod
    def settings(self) -> str:
        """How it writes: what its own connection answers."""

    @abstractmethod
    def close(self) -> None: ...


def version_of(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def sqlite_settings(connection: Any) -> str:
    mode, level = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "synchronous")
    )
    return f"{mode.upper()}, synchronous={('OFF', 'NORMAL', 'FULL', 'EXTRA')[level]}"


# tract


class TractStore(Store):
    name = "tract"
    durability: ClassVar[str] = "full"

    def open(self) -> None:
        self.t = Tract.open(self.path, dialog=self.conversation, durability=self.durability)

    def extend(self, messages: Sequence[Any]) -> None:
        with self.t.batch():
            for message in messages:
                write(self.t, message)

    def messages(self) -> list[Any]:
        return self.t.compile().to_openai()

    def fork(self, name: str) -> None:
        self.t.branch(name)

    def settings(self) -> str:
        return sqlite_settings(self.t.session.store.driver.connection)

    def close(self) -> None:
        self.t.close()


def write(t: Tract, message: Wire) -> None:
    role = message["role"]
    if role == "tool":
        t.tool_result(message["tool_call_id"], message["name"], message["content"])
    elif role == "assistant":
        t.assistant(message["content"] or "", tool_calls=message.get("tool_calls"))
    else:
        t.user(message["content"])


# Plain ways


class RawStore(Store):
    """The plain driver, with the binding and the settings of tract."""

    name = "raw"
    schema = (
        "CREATE TABLE IF NOT EXISTS messages"
        " (id INTEGER PRIMARY KEY, conversation TEXT, message TEXT)",
        "CREATE INDEX IF NOT EXISTS places ON messages (conversation, id)",
        "CREATE TABLE IF NOT EXISTS forks (name TEXT PRIMARY KEY, last INTEGER)",
    )

    def open(self) -> None:
        self.connection = connect(self.path, _settings_of_tract())
        for sql in self.schema:
            self.connection.execute(sql)

    def extend(self, messages: Sequence[Any]) -> None:
        rows = [(self.conversation, json.dumps(message)) for message in messages]
        self.connection.execute("BEGIN IMMEDIATE")
        sql = "INSERT INTO messages (conversation, message) VALUES (?, ?)"
        self.connection.executemany(sql, rows)
        self.connection.execute("COMMIT")

    def messages(self) -> list[Any]:
        sql = "SELECT message FROM messages WHERE conversation = ? ORDER BY id"
        rows = self.connection.execute(sql, (self.conversation,)).fetchall()
        return [json.loads(message) for (message,) in rows]

    def fork(self, name: str) -> None:
        """A row that names the last message that is shared."""
        sql = "INSERT INTO forks SELECT ?, max(id) FROM messages WHERE conversation = ?"
        self.connection.execute(sql, (name, self.conversation))

    def settings(self) -> str:
        return sqlite_settings(self.connection)

    def close(self) -> None:
        self.connection.close()


@cache
def _settings_of_tract() -> list[str]:
    with TemporaryDirectory() as folder, Tract.open(Path(folder, "t.db")) as t:
        return settings_of(t.session.store.driver.connection)


class JsonLines(Store):
    """One line for each message, fsync after each write, a file for each conversation."""

    name = "jsonl"

    def open(self) -> None:
        self.file = self.file_of(self.conversation).open("a+", encoding="utf-8")

    def file_of(self, conversation: str) -> Path:
        self.path.mkdir(exist_ok=True)
        return self.path / conversation

    def extend(self, messages: Sequence[Any]) -> None:
        self.file.writelines(json.dumps(message) + "\n" for message in messages)
        self.file.flush()
        os.fsync(self.file.fileno())

    def messages(self) -> list[Any]:
        self.file.seek(0)
        return [json.loads(line) for line in self.file]

    def fork(self, name: str) -> None:
        copy = self.file_of(name)
        shutil.copyfile(self.file_of(self.conversation), copy)
        with copy.open("rb+") as file:
            os.fsync(file.fileno())

    def settings(self) -> str:
        return "fsync after each write"

    def close(self) -> None:
        self.file.close()


# Other people's programs


class AgentsSession(Store):
    """openai-agents, SQLiteSession."""

    name = "openai_agents"
    packages = ("openai-agents",)

    def open(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.session: Any = self.new_session()

    def new_session(self) -> Any:
        from agents import SQLiteSession

        return SQLiteSession(self.conversation, self.path)

    @staticmethod
    def native(message: Wire) -> Any:
        """An item of the Responses API."""
        if message["role"] == "tool":
            output = {"call_id": message["tool_call_id"], "output": message["content"]}
            return {"type": "function_call_output", **output}
        if message.get("tool_calls"):
            (call,) = message["tool_calls"]
            return {"type": "function_call", "call_id": call["id"], **call["function"]}
        return {"role": message["role"], "content": message["content"]}

    def extend(self, messages: Sequence[Any]) -> None:
        self.loop.run_until_complete(self.session.add_items(list(messages)))

    def messages(self) -> list[Any]:
        items: list[Any] = self.loop.run_until_complete(self.session.get_items())
        return items

    def fork(self, name: str) -> None:
        """It has no forks: a new session gets all items."""
        items = self.messages()
        other = type(self)(self.path, name)
        other.extend(items)
        other.close()

    def settings(self) -> str:
        with self.session._locked_connection() as connection:
            return sqlite_settings(connection)

    def close(self) -> None:
        self.session.close()
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()


class AdvancedSession(AgentsSession):
    """openai-agents, AdvancedSQLiteSession."""

    name = "openai_advanced"

    def new_session(self) -> Any:
        from agents.extensions.memory import AdvancedSQLiteSession

        options: Any = {"session_id": self.conversation, "db_path": self.path}
        return AdvancedSQLiteSession(create_tables=True, **options)

    def fork(self, name: str) -> None:
        """From its last user message."""
        turns = self.loop.run_until_complete(self.session.get_conversation_turns())
        last = turns[-1]["turn"]
        self.loop.run_until_complete(self.session.create_branch_from_turn(last, name))

    def list(self) -> dict[int, Any]:
        turns: dict[int, Any] = self.loop.run_until_complete(
            self.session.get_conversation_by_turns()
        )
        return turns


class LangGraph(Store):
    """langgraph with its SQLite checkpointer. Each write is a step of a running graph, with
    `durability="sync"`: the next step waits for the checkpoint."""

    name = "langgraph"
    packages = ("langgraph", "langgraph-checkpoint-sqlite")
    copies_history = True

    @staticmethod
    def native(message: Wire) -> Any:
        from langchain_core.messages import convert_to_messages

        return convert_to_messages([message])[0]

    @staticmethod
    def channel() -> Any:
        from langgraph.graph.message import add_messages

        return add_messages

    def open(self) -> None:
        import sqlite3
        from typing import Annotated, TypedDict

        from langgraph.checkpoint.sqlite import SqliteSaver
        from langgraph.graph import StateGraph

        self.connection = sqlite3.connect(self.path, check_same_thread=False)
        typed_dict: Any = TypedDict
        state = typed_dict("State", {"messages": Annotated[list[Any], self.channel()]})
        builder: Any = StateGraph(state)
        builder.add_node("agent", lambda state: {"messages": self.waiting})
        builder.add_edge("__start__", "agent")
        builder.add_edge("agent", "agent")
        self.graph = builder.compile(checkpointer=SqliteSaver(self.connection))
        self.config: Any = {"configurable": {"thread_id": self.conversation}}
        self.waiting: list[Any] = []
        self.steps: Iterator[Any] | None = None

    def extend(self, messages: Sequence[Any]) -> None:
        self.waiting = list(messages)
        if self.steps is None:
            options: Any = {"durability": "sync", "stream_mode": "updates"}
            limit = self.config | {"recursion_limit": 10_000_000}
            self.steps = self.graph.stream({"messages": []}, limit, **options)
        next(self.steps)

    def fill(self, messages: Sequence[Any]) -> None:
        self.graph.update_state(self.config, {"messages": list(messages)}, as_node="agent")

    def messages(self) -> list[Any]:
        values: dict[str, list[Any]] = self.graph.get_state(self.config).values
        return values["messages"]

    def fork(self, name: str) -> None:
        """One more checkpoint after an older one is a fork of its thread."""
        at = self.graph.get_state(self.config).config
        self.graph.update_state(at, {"messages": []}, as_node="agent")

    def settings(self) -> str:
        self.graph.get_state(self.config)
        return sqlite_settings(self.connection)

    def close(self) -> None:
        self.steps = None
        self.connection.close()


class DeltaLangGraph(LangGraph):
    """langgraph with a channel that stores what is added, and a snapshot now and then."""

    name = "langgraph_delta"
    copies_history = False

    @classmethod
    def missing(cls) -> list[str]:
        try:
            cls.channel()
        except ImportError:
            return [*super().missing(), "langgraph.channels.delta"]
        return super().missing()

    @staticmethod
    def channel() -> Any:
        from langgraph.channels.delta import DeltaChannel
        from langgraph.graph.message import _messages_delta_reducer

        reducer: Any = _messages_delta_reducer
        return DeltaChannel(reducer)


class LogStore(Store):
    """llm, the store of its logs."""

    name = "llm"
    packages = ("llm",)

    def open(self) -> None:
        import sqlite_utils
        from llm import logs

        store: Any = logs.LogStore
        self.database = sqlite_utils.Database(self.path)
        self.logs = store(self.database)
        self.logs.ensure_thread(self.conversation)

    @staticmethod
    def native(message: Wire) -> Any:
        from llm.parts import Message, TextPart, ToolCallPart, ToolResultPart

        part: Any
        if message["role"] == "tool":
            call_id, name = message["tool_call_id"], message["name"]
            part = ToolResultPart(name=name, output=message["content"], tool_call_id=call_id)
        elif message.get("tool_calls"):
            (call,) = message["tool_calls"]
            function = call["function"]
            arguments = json.loads(function["arguments"])
            part = ToolCallPart(function["name"], arguments, call["id"])
        else:
            part = TextPart(message["content"])
        return Message(role=message["role"], parts=[part])

    def extend(self, messages: Sequence[Any]) -> None:
        self.logs.append(self.conversation, messages)

    def fill(self, messages: Sequence[Any]) -> None:
        with self.database.atomic():
            self.logs.append(self.conversation, messages)

    def messages(self) -> list[Any]:
        messages: list[Any] = self.logs.thread_messages(self.conversation)
        return messages

    def fork(self, name: str) -> None:
        self.logs.fork(self.logs.thread_tip(self.conversation), name)

    def settings(self) -> str:
        return sqlite_settings(self.database.conn)

    def close(self) -> None:
        with closing(self.database.conn):
            pass


STORES: tuple[type[Store], ...] = (
    TractStore,
    RawStore,
    JsonLines,
    AgentsSession,
    AdvancedSession,
    LangGraph,
    DeltaLangGraph,
    LogStore,
)
