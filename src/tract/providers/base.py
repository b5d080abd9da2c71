"""What describes an API. A new provider is one file with one such object, and one line in
`registry.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, ClassVar, NamedTuple, Protocol

from tract.model import Json, Message, ToolCall
from tract.providers.common import Dump, ToolNames
from tract.providers.functions import Function, Schema, no_parameters

Event = dict[str, Json]


class Answer(NamedTuple):
    """What a model answered, and the rest of its response."""

    message: Message
    usage: dict[str, Json] | None = None
    rest: dict[str, Json] | None = None


class Evidence(IntEnum):
    """How surely something belongs to a provider. The first of the strongest evidence decides."""

    MODEL = 1
    """The model's name: other APIs offer the same model."""
    SETTING = 2
    """A setting of the request: proxies pass them on."""
    ROLE = 3
    """A role, or a list of parts, that other APIs could have too."""
    CONTENT = 4
    """A key, a role or a part of a message that no other API has."""
    TOOL = 5
    """The format of a tool definition."""
    SYSTEM = 6
    """Where the system text stands: for another API it would be lost."""
    CALL = 7
    """A call, a result or an item that no other API can read."""


class Marks(NamedTuple):
    """By what a provider's requests and messages are detected."""

    roles: Mapping[str, Evidence] = {}
    keys: Mapping[str, Evidence] = {}
    """Keys of a message."""
    parts: Mapping[str, Evidence] = {}
    """Types of the parts of its content."""
    shape: Callable[[dict[str, Json]], Evidence | None] | None = None
    """What a message shows as a whole."""
    request_keys: Mapping[str, Evidence] = {}
    models: tuple[str, ...] = ()
    """How the names of its models begin."""
    paths: tuple[str, ...] = ()
    """How the addresses end that its requests are sent to."""


class UsageKeys(NamedTuple):
    """How a provider spells the counts of its usage."""

    read: tuple[str, ...] = ()
    cached: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    answered: tuple[str, ...] = ()
    thought: tuple[str, ...] = ()
    """Thinking that is counted beside the answer."""
    reasoned: tuple[str, ...] = ()
    """Thinking that is a part of the answer."""
    written_hour: tuple[str, ...] = ()
    """The part of what was written that the cache keeps for an hour."""
    searches: tuple[str, ...] = ()
    total: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    """Dicts with more counts."""
    apart: tuple[str, ...] = ()
    """Counts that are not included in what was read."""


class Assembler(Protocol):
    """Puts a response together from the events of its stream."""

    has_last_event: bool
    """Whether nothing follows the event that completes the response."""
    is_complete: bool

    def feed(self, event: Event) -> str:
        """Add an event. Returns the text that it adds to the answer."""

    def response(self) -> dict[str, Json]:
        """The response, as far as it has come."""


class Provider:
    """One API: how its requests, responses and streams are read and written."""

    name: ClassVar[str]
    history: ClassVar[str] = "messages"
    """The key of a request under which the messages stand."""
    accepts_text: ClassVar[bool] = False
    """Whether a text can stand there in place of a list."""
    system: ClassVar[tuple[str, ...]] = ()
    """Keys of a request under which a system text may stand."""
    marks: ClassVar[Marks] = Marks()

    # Requests and messages

    def load_history(self, history: Json, /) -> Iterable[Message]:
        """The messages of a request."""
        raise NotImplementedError

    def load_message(self, message: dict[str, Json], /) -> list[Message]:
        """One message, checked; several where it holds several tool results."""
        return list(self.load_history([message]))

    def reads_apart(self, before: Sequence[Json], following: Json, /) -> bool:
        """Whether what follows these messages can be read with just the last of them."""
        return True

    def load_system(self, system: Json, /) -> Message | None:
        """The system text of a request; None where it is none."""
        return None

    def owns_call(self, call: dict[str, Json]) -> bool:
        """Whether a tool call is in this provider's format."""
        return False

    def load_call(self, call: dict[str, Json], /) -> ToolCall:
        raise NotImplementedError

    def adopt(self, message: Message) -> Message:
        """A message of texts alone, which several APIs accept, as it came to this one too."""
        return message

    layers: ClassVar[tuple[str, ...]] = ()
    """The keys of `origin` by which a message shows that it came in this provider's format."""

    def original_content(self, message: Message, /) -> Json:
        """The content of such a message, as it came."""
        return message.text

    # Responses

    stop_key: ClassVar[str] = ""
    """Where a response has the reason why it ended."""
    cut_reasons: ClassVar[tuple[str, ...]] = ()
    """Reasons that mean: before its end."""
    usage_keys: ClassVar[UsageKeys] = UsageKeys()

    def is_response(self, body: dict[str, Json]) -> bool:
        raise NotImplementedError

    def load_response(self, response: dict[str, Json]) -> Answer:
        raise NotImplementedError

    def is_event(self, event: Event) -> bool:
        """Whether this is a piece of a streamed response."""
        return False

    assembler: ClassVar[type[Assembler]]

    # Dumps

    legal_id: ClassVar[str] = r"(?s).+"
    """The pattern of the call ids that it accepts."""
    tool_names: ClassVar[ToolNames | None] = None
    """The names of tools that it accepts; None if any name is legal."""
    betas: ClassVar[tuple[str, ...]] = ()
    """What a request needs whose tools change among the messages."""

    dump: ClassVar[type[Dump]]

    def request(
        self, sent: Any, tools: list[Schema], called: Sequence[str], first: Message | None
    ) -> dict[str, Json]:
        """A full request. `sent` is what a dump returned, `called` are the names of the tools that
        the messages call, `first` is the first message."""
        body = sent if isinstance(sent, dict) else {self.history: sent}
        return {**body, "tools": tools} if tools else dict(body)

    # Tools

    tool_keys: ClassVar[Mapping[str, str]] = {}
    refused_at_top: ClassVar[tuple[str, ...]] = ("anyOf", "oneOf", "allOf", "enum", "not")
    """Keywords that parameters may not have at their top level."""

    def tool_evidence(self, schema: Schema) -> int:
        return 0

    def declarations(self, schema: Schema) -> list[Schema]:
        return [schema]

    def known_tool(self, schema: Schema) -> Schema:
        """A definition in this provider's format, with the keys that the provider knows."""
        return schema

    def load_tool(self, declaration: Schema) -> Function | None:
        raise NotImplementedError

    def dump_tool(self, function: Function) -> Schema:
        raise NotImplementedError

    def declare(self, names: Iterable[str]) -> list[Schema]:
        """The least that declares tools of these names."""
        functions = [Function(name, None, {"parameters": no_parameters()}, {}) for name in names]
        return self.group_tools([self.dump_tool(function) for function in functions])

    def group_tools(self, tools: list[Schema]) -> list[Schema]:
        """The tools of a request as it wants them listed."""
        return tools

    def accepts_changes(self, *, only_additions: bool) -> bool:
        """Whether the tools can change among the messages."""
        return False

    def tool_changes(self, removed: Iterable[str], added: list[Schema]) -> list[Json]:
        """Blocks from which on the model has other tools."""
        return []
