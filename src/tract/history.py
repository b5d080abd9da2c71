"""A branch as it was last read and compiled, so that a turn reads only what is new."""

from __future__ import annotations

from msgspec.structs import replace

from tract.chain import Chain
from tract.context import CompiledContext, Transcript
from tract.errors import CorruptError, ForgottenError
from tract.hashing import from_json
from tract.model import EMPTY, Head, Message, Step, Text, ToolCall, Toolset, unpack_content
from tract.shape import FORGOTTEN, SKIPPED
from tract.storage import Store
from tract.toolsets import Offered


class History:
    """The chain at one head and what was compiled of it. Another head that stems from this one
    extends both; any other is read anew."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._head = EMPTY
        self._chain = Chain()
        self._large: dict[bytes, Message] = {}
        self._transcript = Transcript()
        self._transcribed = 0

    def chain(self, head: Head) -> Chain:
        """The fold up to this commit."""
        if head != self._head:
            known = self._head if (self._head.id or 0) < (head.id or 0) else EMPTY
            steps = None if known == EMPTY else self._store.steps(head, known)
            if steps is None:
                self._start_anew()
                steps = self._store.steps(head) if head.id else []
            self._extend(steps or [])
            self._head = head
        return self._chain

    def compile(self, head: Head, *, inline_tools: bool = False) -> CompiledContext:
        chain = self.chain(head)
        steps = chain.shown(self._transcribed)
        load = self.load
        messages = [load(s) if s.data is not None else self.message(s) for s in steps]
        tokens = [step.token_count for step in steps]
        left_out = chain.stand_ins()
        for index, step in enumerate(steps if left_out else ()):
            if step.hash in left_out:
                messages[index] = replace(messages[index], content=SKIPPED)
                tokens[index] = len(SKIPPED) // 4
        self._transcript.extend(messages, steps, tokens)
        self._transcribed = chain.count()
        return CompiledContext(self._transcript, self._offered(inline_tools))

    def toolset(self, digest: bytes | None) -> Toolset | None:
        return None if digest is None else self._store.toolset(digest)

    def _offered(self, inline: bool) -> Offered:
        """The tools in force; inline, the first ones that there were, and what became of them."""
        if not inline:
            return Offered(self.toolset(self._chain.toolset))
        roles = [step.role for step in self._transcript.steps]
        base: Toolset | None = None
        later: dict[int, Toolset] = {}
        for place, digest in self._chain.toolset_changes():
            toolset = self._store.toolset(digest)
            if base is None or not base.tools:
                base = toolset
            else:
                later[roles[:place].count("assistant")] = toolset
        return Offered(base, later)

    def message(self, step: Step) -> Message:
        """What the commit says; a fixed text if it was forgotten. Large ones are loaded once."""
        if step.data is not None:
            return self.load(step)
        message = self._large.get(step.hash)
        if message is None:
            try:
                message = self.load(step)
            except ForgottenError:
                message = _tombstone(step)
            self._large[step.hash] = message
        return message

    def load(self, step: Step) -> Message:
        """What the commit says; an error if it was forgotten."""
        data = step.data if step.data is not None else self._store.content(step.blob_id or 0)
        content = from_json(data)
        if isinstance(content, list):
            content = unpack_content(step.role or "", content)
        message = Message(
            step.role or "", content, step.tool_call_id, step.name, step.is_error, step.origin
        )
        if (step.calls or isinstance(content, tuple)) and not _has_its_calls(message, step):
            raise CorruptError(f"commit {step.hash.hex()}: its calls were altered")
        return message

    def _start_anew(self) -> None:
        self._chain, self._head, self._large = Chain(), EMPTY, {}
        self._transcript, self._transcribed = Transcript(), 0

    def _extend(self, steps: list[Step]) -> None:
        if not self._chain.extend(steps):
            self._transcript, self._transcribed = Transcript(), 0


def _tombstone(step: Step) -> Message:
    calls = [ToolCall(call_id, name) for call_id, name in step.calls]
    content = (Text(FORGOTTEN), *calls) if calls else FORGOTTEN
    return Message(step.role or "", content, step.tool_call_id, step.name, step.is_error)


def _has_its_calls(message: Message, step: Step) -> bool:
    return [[call.id, call.name] for call in message.tool_calls] == list(step.calls)
