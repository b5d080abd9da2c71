"""A branch as it was last read and compiled, so that a turn reads only what is new."""

from __future__ import annotations

from tract.chain import Chain
from tract.context import CompiledContext, Transcript
from tract.errors import CorruptError, ForgottenError
from tract.hashing import from_json
from tract.model import EMPTY, Head, Message, Step, Text, ToolCall, unpack_content
from tract.shape import FORGOTTEN, SKIPPED
from tract.storage import Store


class History:
    """The chain at one head and what was compiled of it. Another head that stems from this one
    extends both; any other is read anew."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._head = EMPTY
        self._chain = Chain()
        self._messages: dict[bytes, Message] = {}
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

    def compile(self, head: Head) -> CompiledContext:
        chain = self.chain(head)
        shown = list(chain.shown(self._transcribed))
        self._transcript.extend(
            [
                _with_content(s, SKIPPED) if is_stand_in else self.message(s)
                for s, is_stand_in in shown
            ],
            [step for step, _ in shown],
            [len(SKIPPED) // 4 if is_stand_in else s.token_count for s, is_stand_in in shown],
        )
        self._transcribed = len(chain.places)
        return CompiledContext(self._transcript)

    def message(self, step: Step) -> Message:
        """What the commit says, loaded once; a fixed text if it was forgotten."""
        message = self._messages.get(step.hash)
        if message is None:
            try:
                message = self.load(step)
            except ForgottenError:
                message = _tombstone(step)
            self._messages[step.hash] = message
        return message

    def load(self, step: Step) -> Message:
        """What the commit says; an error if it was forgotten."""
        data = step.data if step.data is not None else self._store.content(step.blob_id or 0)
        content = unpack_content(step.role or "", from_json(data))
        message = _with_content(step, content)
        if (step.calls or isinstance(content, tuple)) and not _has_its_calls(message, step):
            raise CorruptError(f"commit {step.hash.hex()}: its calls were altered")
        return message

    def _start_anew(self) -> None:
        self._chain, self._head, self._messages = Chain(), EMPTY, {}
        self._transcript, self._transcribed = Transcript(), 0

    def _extend(self, steps: list[Step]) -> None:
        if not self._chain.extend(steps):
            self._transcript, self._transcribed = Transcript(), 0


def _tombstone(step: Step) -> Message:
    calls = [ToolCall(call_id, name) for call_id, name in step.calls]
    return _with_content(step, (Text(FORGOTTEN), *calls) if calls else FORGOTTEN)


def _has_its_calls(message: Message, step: Step) -> bool:
    return [[call.id, call.name] for call in message.tool_calls] == list(step.calls)


def _with_content(step: Step, content: object) -> Message:
    return Message(
        step.role or "", content, step.tool_call_id, step.name, step.is_error, step.origin
    )
