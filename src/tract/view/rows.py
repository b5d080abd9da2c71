"""Rows: a conversation as a page lists it, each message with its blocks in short form.

A call and its result are one entry, wherever the result came. What is long is cut and says so: the
page asks for it when somebody opens it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

import msgspec

from tract.content.blocks import whole_text
from tract.core.chain import Place
from tract.model import Form, Json
from tract.view.blocks import (
    OtherBlock,
    RuleBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolsBlock,
    ToolUseBlock,
    ViewBlock,
)
from tract.view.bodies import text_nodes
from tract.view.conversation import Conversation, ConversationRow, describe_changes
from tract.view.edits import file_edits
from tract.view.facts import may_change
from tract.view.lines import first_line, lines_of, verdict
from tract.view.moments import Moment
from tract.view.pairs import Pairs
from tract.view.palette import tag_of
from tract.view.prompts import dialog_title, prompt_title
from tract.view.sanitize import one_line, visible

LONGEST = 600
"""Characters of a text in a row; of a text as nodes, so many more."""
LONGEST_NODES = 6000
LARGE = 65_536
"""Bytes above which a result is not loaded for its row."""


class Result(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a row says about a tool result."""

    key: str
    commit: str = ""
    """Its newest version, where it was edited."""
    note: str = ""
    is_changed: bool = False
    """Whether there is something to undo."""
    form: Form = Form.FULL
    size: int = 0
    tokens: int = 0
    sent_tokens: int = 0
    is_error: bool = False
    verdict: str = ""
    """What an error says, in a line."""
    seconds: float | None = None
    sent: str | None = None
    """The beginning of what the model is sent, where that is not the result; empty for nothing."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A block of a message in short form."""

    kind: str
    """`text`, `thinking`, `call`, `result` or `other`."""
    block: int = 0
    """Its number in the message."""
    text: str = ""
    """A text up to its limit; of anything else, its first line."""
    size: int = 0
    """The characters of a text that was cut; 0 where all of it is here."""
    nodes: Json = None
    """The text as it is drawn, in nodes."""
    name: str = ""
    id: str = ""
    pair: int | None = None
    tag: str = ""
    added: int = 0
    removed: int = 0
    """Lines that a call adds to files, and removes."""
    result: Result | None = None


class Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message, or something that stands between messages."""

    key: str
    """The commit of the message; of anything else a name."""
    kind: str = "message"
    """`message`, `rule` or `tools`."""
    commit: str = ""
    """Its newest version, where it was edited; the commit of a rule."""
    role: str = ""
    note: str = ""
    is_changed: bool = False
    """Whether there is something to undo."""
    prompt: str = ""
    """The title of a prompt."""
    time: datetime | None = None
    seconds: float | None = None
    tokens: int = 0
    sent_tokens: int = 0
    cost: str = ""
    text: str = ""
    """Of a rule, or of the tools."""
    entries: Sequence[Entry] = ()
    sent: Sequence[Entry] | None = None
    """What the model is sent, where that is something else; empty for nothing."""


class Prompt(msgspec.Struct, frozen=True):
    """An item of the index: something that a person asked."""

    key: str
    title: str
    row: int
    calls: int = 0
    errors: int = 0
    """Of the calls up to the next prompt."""


class RowList:
    """The rows of a conversation, each made when it is asked for."""

    def __init__(
        self,
        conversation: Conversation,
        moment: Callable[[Place], Moment],
        cost: Callable[[Place], str],
    ) -> None:
        self.conversation = conversation
        self._history = conversation.history
        self._moment, self._cost = moment, cost
        self._pairs = Pairs(self._history.places)
        self._answered: dict[int, dict[int, Place]] = {}
        """The results of each message that calls, by the number of the call."""
        self.numbers: list[int] = []
        """The rows of the conversation that are rows here."""
        self._failed: frozenset[int] = frozenset()
        """Of the results that were asked for."""
        self._list()
        self._positions = {number: at for at, number in enumerate(self.numbers)}

    def _list(self) -> None:
        for number, row in enumerate(self.conversation.rows):
            call = self._call_of(row)
            if call is None or self.conversation.row_of(call[0].origin.id) is None:
                self.numbers.append(number)
            else:
                assert isinstance(row, Place)
                self._answered.setdefault(call[0].origin.id, {})[call[1]] = row

    def _call_of(self, row: ConversationRow) -> tuple[Place, int] | None:
        """The call that a result answers, unless it is a second answer to it."""
        if not isinstance(row, Place) or row.origin.role != "tool" or row.call is None:
            return None
        call = self._pairs.call_of(row)
        return (call.place, call.number) if call else None

    def __len__(self) -> int:
        return len(self.numbers)

    def find(self, commit: str) -> tuple[int, str] | None:
        """The row of a commit, of a change to it, or of the call that it answers, with the key of
        the message. A beginning of the hash will do."""
        for number, row in enumerate(self.conversation.rows):
            if isinstance(row, Place):
                hashes = {step.hash.hex() for step in (row.origin, row.shown, *row.changes)}
                if any(digest.startswith(commit) for digest in hashes):
                    return self._position_of(row, number), _key(row)
            elif row.commit and row.commit.startswith(commit):
                return self._positions[number], f"rule-{row.commit}"
        return None

    def find_call(self, call_id: str) -> tuple[int, str] | None:
        """The same for the newest call with this id."""
        for at in range(len(self.numbers) - 1, -1, -1):
            row = self._at(at)
            if isinstance(row, Place) and call_id in row.ids:
                return at, _key(row)
        return None

    def messages(self, at: int) -> list[tuple[Place, int]]:
        """The messages of a row, with their numbers in the conversation: the row's own, and the
        results of its calls."""
        row = self._at(at)
        if not isinstance(row, Place):
            return []
        results = self._answered.get(row.origin.id, {}).values()
        places = [row, *results]
        return [(p, self.conversation.row_of(p.origin.id) or 0) for p in places]

    def position(self, place: Place) -> int | None:
        """The row that shows a message."""
        number = self.conversation.row_of(place.origin.id)
        return None if number is None else self._position_of(place, number)

    def after(self, place: Place) -> int:
        """The row that a rule right after a message is."""
        return bisect_right(self.numbers, self.conversation.row_of(place.origin.id) or 0)

    def with_rules(self, at: int) -> int:
        """The first of the rows right before this one that are not messages, or else itself."""
        while at > 0 and not isinstance(self._at(at - 1), Place):
            at -= 1
        return at

    def _position_of(self, place: Place, number: int) -> int:
        if number in self._positions:
            return self._positions[number]
        call = self._call_of(place)
        assert call is not None
        return self._positions[self.conversation.row_of(call[0].origin.id) or 0]

    # Prompts

    def first_prompt(self) -> str | None:
        """The title of the first prompt."""
        return dialog_title(self._history)

    def prompts(self) -> list[Prompt]:
        """The index: each prompt with the calls and errors up to the next."""
        prompts: list[Prompt] = []
        calls = errors = 0
        for at, number in enumerate(self.numbers):
            row = self.conversation.rows[number]
            if not isinstance(row, Place):
                continue
            title = prompt_title(self._history, row)
            if title:
                prompts = _counted(prompts, calls, errors)
                prompts.append(Prompt(_key(row), one_line(title), at))
                calls = errors = 0
            calls += len(row.shown.calls)
            results = self._answered.get(row.origin.id, {}).values()
            errors += sum(result.shown.is_error for result in results)
        return _counted(prompts, calls, errors)

    # Rows

    def rows(self, start: int, stop: int, *, has_nodes: bool = False) -> Iterator[Row]:
        """Some rows; with nodes, their texts as they are drawn."""
        part = range(max(start, 0), min(stop, len(self)))
        shown = [row for at in part if isinstance(row := self._at(at), Place)]
        results = [r for place in shown for r in self._answered.get(place.origin.id, {}).values()]
        self._failed |= self._history.failures_among([*shown, *results])  # of all at once
        return (self._row(at, has_nodes) for at in part)

    def _at(self, at: int) -> ConversationRow:
        return self.conversation.rows[self.numbers[at]]

    def _row(self, at: int, has_nodes: bool) -> Row:
        row, number = self._at(at), self.numbers[at]
        if not isinstance(row, Place):
            return _between(row, number)
        return self._message(row, number, has_nodes)

    def _message(self, place: Place, number: int, has_nodes: bool) -> Row:
        is_summary = bool(place.sources)
        blocks = self._blocks(place, number, sent=is_summary)
        first = blocks[0] if blocks else ViewBlock(role=place.origin.role or "")
        entries = self._entries(place, blocks, has_nodes)
        sent = None
        if not is_summary and not self._is_sent_whole(place):
            sent = self._entries(place, self._blocks(place, number, sent=True), has_nodes)
        return Row(
            key=_key(place),
            commit=_version(place),
            role=place.origin.role or "",
            note=describe_changes(place),
            is_changed=_is_changed(place),
            prompt=one_line(prompt_title(self._history, place) or ""),
            time=first.time,
            seconds=first.seconds,
            tokens=place.shown.token_count,
            sent_tokens=self._history.weight(place),
            cost=self._cost(place) if place.origin.role == "assistant" else "",
            entries=entries,
            sent=sent,
        )

    def _is_sent_whole(self, place: Place) -> bool:
        """Whether the model is sent what is stored."""
        item = self._history.item(place)
        if item is None or item.is_left_out or self._history.has_lost_thoughts(place):
            return False
        return item.shape.form == Form.FULL or self._is_all_sent(place)

    def _is_all_sent(self, place: Place) -> bool:
        """Whether a form of a result is all of it, such as the beginning of a short one."""
        is_large = place.shown.byte_size > LARGE
        if is_large and self._history.weight(place) != place.shown.token_count:
            return False
        sent = self._history.sent(place)
        return sent is not None and sent.message == self._history.whole(place)

    def _blocks(self, place: Place, number: int, *, sent: bool) -> list[ViewBlock]:
        if place.origin.role == "tool" and not sent and place.shown.byte_size > LARGE:
            return self.conversation.unread(number)
        return self.conversation.blocks(number, sent=sent)

    def _entries(self, place: Place, blocks: Sequence[ViewBlock], has_nodes: bool) -> list[Entry]:
        results = self._answered.get(place.origin.id, {})
        first = self._pairs.number(place, 0)
        entries = []
        for number, block in enumerate(blocks):
            if isinstance(block, ToolUseBlock):
                index = -1 if block.pair is None else block.pair - first
                answer = results.get(index)
                result = self._result(answer) if answer else None
                entries.append(_call(number, block, result))
            elif isinstance(block, ToolResultBlock) and block.role != "tool":
                entries.append(_hosted(number, block, place))
            elif isinstance(block, ToolResultBlock):
                entries.append(_apart(number, block, self._result(place)))
            else:
                entries.append(_entry(number, block, has_nodes))
        return entries

    def _result(self, place: Place) -> Result:
        number = self.conversation.row_of(place.origin.id)
        assert number is not None
        [block] = self._blocks(place, number, sent=False) or [ToolResultBlock()]
        assert isinstance(block, ToolResultBlock)
        has_failed = block.is_error or place.origin.id in self._failed
        return Result(
            key=_key(place),
            commit=_version(place),
            note=block.note,
            is_changed=_is_changed(place),
            form=block.form,
            size=block.size,
            tokens=place.shown.token_count,
            sent_tokens=self._history.weight(place),
            is_error=has_failed,
            verdict=self._verdict(place, block) if has_failed else "",
            seconds=block.seconds,
            sent=None if self._is_sent_whole(place) else self._sent_text(place),
        )

    def _verdict(self, place: Place, block: ToolResultBlock) -> str:
        if block.text or not block.size:
            return verdict(block.text)
        number = self.conversation.row_of(place.origin.id) or 0
        [read] = self.conversation.blocks(number, sent=False)
        return verdict(getattr(read, "text", ""))

    def _sent_text(self, place: Place) -> str:
        sent = self._history.sent(place)
        return visible(whole_text(sent.message)[:LONGEST]) if sent else ""


def _key(place: Place) -> str:
    return place.origin.hash.hex()


def _version(place: Place) -> str:
    return "" if place.shown is place.origin else place.shown.hash.hex()


def _is_changed(place: Place) -> bool:
    return bool(place.changes or place.summary or place.sources)


def _counted(prompts: list[Prompt], calls: int, errors: int) -> list[Prompt]:
    if not prompts:
        return prompts
    return [*prompts[:-1], msgspec.structs.replace(prompts[-1], calls=calls, errors=errors)]


def _between(block: ViewBlock, number: int) -> Row:
    if isinstance(block, ToolsBlock):
        return Row(key=f"tools-{number}", kind="tools", text=_words(block))
    text = one_line(block.text) if isinstance(block, RuleBlock) else ""
    return Row(
        key=f"rule-{block.commit or 'frontier'}", kind="rule", commit=block.commit, text=text
    )


def _words(block: ToolsBlock) -> str:
    [line] = lines_of(block)
    return "".join(piece.text for piece in line).strip().removeprefix("[tools] ")


def _entry(number: int, block: ViewBlock, has_nodes: bool) -> Entry:
    match block:
        case TextBlock(text=text):
            is_drawn = has_nodes and len(text) <= LONGEST_NODES
            if is_drawn:
                return Entry(kind="text", block=number, nodes=text_nodes(block))
            size = len(text) if len(text) > LONGEST else 0
            return Entry(kind="text", block=number, text=visible(text[:LONGEST]), size=size)
        case ThinkingBlock(text=text):
            hint = first_line(text) or "(kept by the provider)"
            return Entry(kind="thinking", block=number, text=hint, size=len(text))
        case OtherBlock(kind=kind):
            return Entry(kind="other", block=number, text=one_line(kind))
    return Entry(kind="other", block=number)


def _call(number: int, block: ToolUseBlock, result: Result | None) -> Entry:
    edits = file_edits(block.tool_name, block.arguments) if may_change(block.tool_name) else None
    counts = [file.counts for file in edits.files] if edits else []
    return Entry(
        kind="call",
        block=number,
        text=one_line(block.detail),
        name=one_line(block.tool_name),
        id=block.tool_use_id,
        pair=block.pair,
        tag="" if block.pair is None else tag_of(block.pair),
        added=sum(added for added, _ in counts),
        removed=sum(removed for _, removed in counts),
        result=result,
    )


def _apart(number: int, block: ToolResultBlock, result: Result | None) -> Entry:
    return Entry(
        kind="result",
        block=number,
        text=one_line(block.detail),
        name=one_line(block.tool_name),
        id=block.tool_use_id,
        pair=block.pair,
        tag="" if block.pair is None else tag_of(block.pair),
        result=result,
    )


def _hosted(number: int, block: ToolResultBlock, place: Place) -> Entry:
    """The result of a tool that the provider ran, inside of an answer."""
    result = Result(
        key=_key(place),
        commit=_version(place),
        size=block.size,
        is_error=block.is_error,
        verdict=verdict(block.text) if block.is_error else "",
    )
    return _apart(number, block, result)
