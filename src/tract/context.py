"""What a model would be sent: the compiled history, and its dumps for the providers."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
from typing import Any, Protocol

from tract.formats import anthropic, openai_chat
from tract.model import Json, Message, Step
from tract.shape import Arrangement


class Dump(Protocol):
    """A provider's messages, made one by one, with notes on what it is not given as it was."""

    notes: list[str]

    def feed(self, message: Message) -> None: ...

    def finish(self, tail: Iterable[Message] = ()) -> Any: ...


DUMPS: tuple[type[Dump], ...] = (openai_chat.Dump, anthropic.Dump)


class Transcript:
    """Compiled messages that only grow. Every context is a beginning of one, so that a turn costs
    what is new in it, not what is old."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.steps: list[Step] = []
        self.token_count = 0
        self.token_source = ""
        self._lock = Lock()
        self._wires: dict[type[Dump], _Wire] = {}

    def extend(self, messages: list[Message], steps: list[Step], tokens: list[int]) -> None:
        sources = {step.token_source for step in steps}
        if self.steps:
            sources.add(self.token_source)
        self.messages += messages
        self.steps += steps
        self.token_count += sum(tokens)
        if sources:
            self.token_source = sources.pop() if len(sources) == 1 else "mixed"

    def dump(self, kind: type[Dump], size: int) -> tuple[Any, list[str]]:
        """The first messages for a provider, and what had to be repaired in them."""
        with self._lock:
            wire = self._wires.get(kind)
            if wire is None or wire.fed > size:
                wire = _Wire(kind)
            if size == len(self.messages):
                self._wires[kind] = wire
            return wire.dump(self.messages, size)


class _Wire:
    """A dump that goes on where it stopped."""

    def __init__(self, kind: type[Dump]) -> None:
        self.fed = 0
        self._kind = kind
        self._arrangement = Arrangement()
        self._dump = kind()
        self._dumped = 0
        self._rewrites = 0

    def dump(self, messages: list[Message], size: int) -> tuple[Any, list[str]]:
        arrangement = self._arrangement
        for message in messages[self.fed : size]:
            arrangement.feed(message)
        self.fed = size
        if arrangement.rewrites != self._rewrites:  # a late result changed what was dumped
            self._dump, self._dumped, self._rewrites = self._kind(), 0, arrangement.rewrites
        for message in arrangement.messages[self._dumped :]:
            self._dump.feed(message)
        self._dumped = len(arrangement.messages)
        tail, notes = arrangement.ending()
        return self._dump.finish(tail), [*arrangement.notes, *notes, *self._dump.notes]


class CompiledContext:
    """A history as a model would get it. The messages are shared between contexts: read only."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self.commit_count = len(transcript.messages)
        self.token_count = transcript.token_count
        self.token_source = transcript.token_source

    def __repr__(self) -> str:
        return (
            f"CompiledContext({self.commit_count} messages, "
            f"{self.token_count} tokens by {self.token_source or 'nothing'})"
        )

    @property
    def messages(self) -> list[Message]:
        return self._transcript.messages[: self.commit_count]

    @property
    def commit_hashes(self) -> list[str]:
        """For each message the commit whose content it shows."""
        return [step.hash.hex() for step in self._transcript.steps[: self.commit_count]]

    @property
    def generation_configs(self) -> list[dict[str, Json] | None]:
        return [step.generation_config for step in self._transcript.steps[: self.commit_count]]

    @property
    def tools(self) -> list[dict[str, Json]]:
        return []

    @property
    def notes(self) -> list[str]:
        """What had to be repaired so that the providers take the messages, and what one of them
        is not shown."""
        dumps = (self._transcript.dump(kind, self.commit_count) for kind in DUMPS)
        return list(dict.fromkeys(note for _, notes in dumps for note in notes))

    def to_dicts(self) -> list[dict[str, Json]]:
        """The messages as plain dicts: the chat form, which most libraries understand."""
        return self.to_openai()

    def to_openai(self) -> list[dict[str, Json]]:
        """Messages for Chat Completions. The list is yours, the dicts in it are shared with later
        contexts: copy one before you change it."""
        messages, _ = self._transcript.dump(openai_chat.Dump, self.commit_count)
        return messages  # type: ignore[no-any-return]

    def to_anthropic(self) -> dict[str, Json]:
        """`messages` for the Messages API, and `system` when there is such a text. The list is
        yours, the dicts in it are shared with later contexts: copy one before you change it."""
        params, _ = self._transcript.dump(anthropic.Dump, self.commit_count)
        return params  # type: ignore[no-any-return]
