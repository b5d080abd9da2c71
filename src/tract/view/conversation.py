"""A conversation: the blocks of a dialog in order, each made when it is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from tract.content.blocks import size_of
from tract.core.chain import Place
from tract.core.wording import GET_TOOL_RESULT
from tract.model import Form, Message, Priority, Toolset
from tract.providers.toolsets import diff
from tract.view.blocks import (
    MessageFacts,
    RuleBlock,
    Scribe,
    ToolResultBlock,
    ToolsBlock,
    ViewBlock,
    tools_blocks,
)
from tract.view.history import History
from tract.view.lines import SHORT
from tract.view.moments import Moment, seconds_between
from tract.view.rewrites import epochs, frontier

ConversationRow = Place | ViewBlock
"""A message, or something that stands between messages."""


def format_dialog(history: History, *, sent: bool = False) -> Iterator[ViewBlock]:
    """The blocks of a dialog: everything stored or, with `sent`, what the model is sent."""
    conversation = Conversation(history)
    for number in range(len(conversation.rows)):
        yield from conversation.blocks(number, sent=sent)


class Conversation:
    """A dialog as people read it: messages and, between them, tools, epochs and the frontier."""

    def __init__(self, history: History, moment: Callable[[Place], Moment] | None = None) -> None:
        """`moment` says when each message came, where that is known."""
        self.history = history
        self._moment = moment
        self._scribe = Scribe(history.places, history.whole)
        self.rows = _rows(history)
        self._row_of = {
            row.origin.id: number for number, row in enumerate(self.rows) if isinstance(row, Place)
        }

    def row_of(self, message: int) -> int | None:
        """The row of the message that the commit with this key appended."""
        return self._row_of.get(message)

    def turn(self, number: int) -> list[int]:
        """The rows of a call and its results, from any of them."""
        row = self.rows[number]
        members = row.turn if isinstance(row, Place) else []
        return [self._row_of[place.origin.id] for place in members] or [number]

    def row_at(self, commit: str) -> int | None:
        """The row of a commit, or of an edit."""
        digest = bytes.fromhex(commit)
        for number, row in enumerate(self.rows):
            if isinstance(row, Place) and digest in (row.origin.hash, *_edits(row)):
                return number
        return None

    def blocks(self, number: int, *, sent: bool) -> list[ViewBlock]:
        """The blocks of a row. A collapsed result is still listed."""
        row = self.rows[number]
        if isinstance(row, ToolsBlock) and sent and self.history.fetches:
            return [replace(row, names=tuple(dict.fromkeys((*row.names, GET_TOOL_RESULT))))]
        if isinstance(row, ViewBlock):
            return [row]
        return self._sent(row, number) if sent else self._stored(row, number)

    def unread(self, number: int) -> list[ViewBlock]:
        """The block of a result without its content, which may be large."""
        row = self.rows[number]
        assert isinstance(row, Place)
        step = row.shown
        message = Message("tool", "", step.tool_call_id, step.name, step.is_error)
        [block] = self._stored(row, number, message)
        assert isinstance(block, ToolResultBlock)
        return [replace(block, size=step.byte_size)]

    def _stored(self, place: Place, number: int, message: Message | None = None) -> list[ViewBlock]:
        if place.sources:
            return []
        whole = message or self.history.whole(place)
        if self.history.chain.is_plain:  # the usual case in a file
            step = place.origin
            facts = MessageFacts(number, step.hash.hex(), tokens=step.token_count)
            return self._scribe.blocks(place, whole, self._timed(place, facts))
        form = self._form(place)
        tokens = 0 if form == Form.FULL else self.history.weight(place)
        facts = self._timed(place, _facts(place, number, form, None, tokens))
        return self._scribe.blocks(place, whole, facts)

    def _sent(self, place: Place, number: int) -> list[ViewBlock]:
        form, step = self._form(place), place.shown
        sent = self.history.sent(place)
        if sent is None and form != Form.COLLAPSED:
            return []
        is_left_out = sent is not None and sent.is_left_out
        is_whole = (form == Form.FULL and not is_left_out) or step.role != "tool"
        size = None if is_whole else size_of(self.history.whole(place))
        facts = _facts(place, number, form, size, sent.tokens if sent else 0)
        gone = Message("tool", "", step.tool_call_id, step.name, step.is_error)
        message = sent.message if sent else gone
        return self._scribe.blocks(place, message, self._timed(place, facts))

    def _timed(self, place: Place, facts: MessageFacts) -> MessageFacts:
        """With the time, and how long it took: a result since its call, an answer since the message
        before."""
        time = self._moment(place).time if self._moment else None
        if time is None or self._moment is None:
            return facts
        before = place.call or (self._before(place) if place.origin.role == "assistant" else None)
        start = self._moment(before).time if before else None
        return facts._replace(time=time, seconds=seconds_between(start, time))

    def _before(self, place: Place) -> Place | None:
        row = self._row_of[place.origin.id]
        rows = (self.rows[number] for number in range(row - 1, -1, -1))
        return next((before for before in rows if isinstance(before, Place)), None)

    def _form(self, place: Place) -> Form:
        item = self.history.item(place)
        if item is not None:
            return item.shape.form
        return Form.COLLAPSED if self.history.is_collapsed(place) else Form.FULL


def _edits(place: Place) -> list[bytes]:
    """The versions of a message after its first."""
    return [step.hash for step in place.changes if step.operation == "edit"]


def _facts(place: Place, number: int, form: Form, size: int | None, sent: int) -> MessageFacts:
    """Without a size, the message is shown in full."""
    step, note = place.shown, describe_changes(place)
    return MessageFacts(number, step.hash.hex(), note, form, size, step.token_count, sent)


def describe_changes(place: Place) -> str:
    """What was done to a message, for its head."""
    if place.summary:
        commit = place.summary.origin.hash.hex()[:SHORT]
        return f"summarized by {commit}" if commit else "summarized"
    if place.sources:
        return f"summary of {len(place.sources)} messages"
    words = ["skipped"] if place.is_left_out or place.is_skipped_result else []
    words += ["pinned"] if place.priority == Priority.PINNED else []
    words += ["edited"] if place.shown is not place.origin else []
    return ", ".join(words)


def _rows(history: History) -> list[ConversationRow]:
    """The messages, and before each what happened since the previous one."""
    between = sorted([*_tools(history), *_epochs(history)], key=lambda entry: -entry[0])
    last = None if history.chain.is_plain else frontier(history)
    rows: list[ConversationRow] = []
    for number, place in enumerate(history.places):
        while between and between[-1][0] < place.origin.id and not place.sources:
            rows.append(between.pop()[1])
        rows.append(place)
        if number == last and number + 1 < len(history.places):
            rows.append(RuleBlock(text="rewritten up to here"))
    return [*rows, *(block for _, block in reversed(between))]


def _tools(history: History) -> Iterator[tuple[int, ViewBlock]]:
    """The toolsets, each with the key of the commit before the one that offered it."""
    before: Toolset | None = None
    for step, toolset in history.toolsets:
        change = diff(before, toolset) if before else None
        for block in tools_blocks(toolset.schemas, change):
            yield step.id - 1, block
        before = toolset


def _epochs(history: History) -> Iterator[tuple[int, ViewBlock]]:
    rewrites = [] if history.chain.is_plain else epochs(history.chain)
    for number, epoch in enumerate(rewrites, 1):
        commit = epoch.step.hash.hex()
        undone = " (undone)" if epoch.is_undone else ""
        words = [f"epoch {number}", commit[:SHORT], f"{epoch.words}{undone}"]
        text = " · ".join(filter(None, words))  # a file has no commits
        yield epoch.step.id, RuleBlock(text=text, commit=commit)
