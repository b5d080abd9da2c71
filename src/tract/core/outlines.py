"""Summaries without a model: what was asked, what came of it, and the lines that matter. Pure.

Every result keeps its line as long as there is room for it, failures first. What is left of the
room is shared by need, again with failures first, and the order stays that of the messages.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from typing import NamedTuple

from tract.content.preview import gist, has_failed
from tract.content.text import counted, mark, one_line, summary_line
from tract.core.pairing import OpenCalls
from tract.core.subjects import subject, tool_label
from tract.model import Json, Message, ToolCall

Count = Callable[[str], int]

CHARACTERS_PER_TOKEN = 4
DEFAULT_TOKENS = 150
"""For each result, unless a caller sets a target."""
PREVIEW_TOKENS = 400
"""The most that a result is shown of, unless it has the room of more."""
HEADING = "Results; text after │ is quoted:"
QUOTE = "│ "
LONGEST_TEXT = 200
LEAST_ASKED = 12
LEAST_PREVIEW = 40
"""Characters. Less than that says nothing."""
WIDTHS = (
    *((200, 200), (120, 200), (80, 200), (50, 120), (50, 80)),
    *((36, 80), (24, 80), (24, 60), (16, 60), (16, 40)),
)
"""How long the lines of results and of failures are; shorter ones if not all of them fit."""
NARROW = (24, 120)
"""Where some are left out, so that the failures are told whole."""
CORRECTIONS = 5


def glimpse(
    content: Json, target_tokens: int | None, count: Count, call: ToolCall | None = None
) -> str:
    """Describe one result: its verdict, then the lines most worth seeing."""
    target = target_tokens or DEFAULT_TOKENS
    summary = gist(content, call=call, budget=LEAST_PREVIEW).summary

    def make(characters: int) -> str:
        verdict = one_line(summary, max(characters, 1))
        room = max(0, characters - len(verdict) - 1)
        preview = gist(content, call=call, budget=room).preview if room >= LEAST_PREVIEW else ""
        lines = (verdict,) if preview.strip() == verdict else (verdict, preview)
        return "\n".join(filter(None, lines))

    return _fit(make, CHARACTERS_PER_TOKEN * target, target, count)


def outline(messages: Sequence[Message], target_tokens: int | None, count: Count) -> str:
    """List what was asked and what came of it, with the lines of results most worth seeing."""
    results = max(1, sum(message.role == "tool" for message in messages))
    target = target_tokens or results * DEFAULT_TOKENS
    budget = CHARACTERS_PER_TOKEN * max(PREVIEW_TOKENS, 2 * target // results)
    items = list(_items(messages, budget))
    needs = [count("\n".join(item.preview(item.length))) for item in items]
    failed = sum(need for item, need in zip(items, needs, strict=True) if item.has_failed)
    reserve = min(failed, target // 3)  # what failures say goes before long lines
    for left, widths in [
        *((target - reserve, w) for w in WIDTHS[:3]),
        *((target, w) for w in WIDTHS),
    ]:
        lines = [item.line(widths[item.has_failed]) for item in items]
        if count("\n".join([HEADING, *lines])) <= left:
            return _with_previews(items, lines, needs, target, count)
    return _some_lines(items, [item.line(NARROW[item.has_failed]) for item in items], target, count)


class _Item(NamedTuple):
    """A text, a call without a result, or a result."""

    what: str
    verdict: str = ""
    has_failed: bool = False
    length: int = 0
    """Characters of a full preview."""
    look: Callable[[int], str] = str
    """Makes a preview of so many characters."""
    call: ToolCall | None = None

    def line(self, width: int) -> str:
        if not self.verdict:
            return one_line(self.what, width)
        failed = ", failed" * self.has_failed
        room = max(width // 2, width - len(self.verdict))
        what = one_line(self.what, room)
        if self.call and len(what) < len(self.what):  # a path keeps its end
            what = one_line(subject(self.call, max(LEAST_ASKED, room - len(self.call.name))), room)
        verdict = _shorten(self.verdict, max(width // 2, width - len(what)))
        return f"→ {what}{failed} {QUOTE}{verdict}"

    def preview(self, characters: int) -> list[str]:
        """The lines most worth seeing, without the verdict."""
        if characters < min(self.length, LEAST_PREVIEW) or not self.length:
            return []
        lines = [line for line in self.look(characters).split("\n") if line.strip()]
        if all(line.startswith("[…") for line in lines):  # nothing but gaps
            return []
        if len(lines) == 1 and lines[0].startswith(self.verdict.removesuffix("…")):
            return []
        return [QUOTE + line for line in lines if line.strip() != self.verdict]


def _shorten(verdict: str, width: int) -> str:
    """The beginning of a verdict; of a failed run how many tests failed, and the first of them."""
    facts, _, names = verdict.rpartition(": ")
    if len(verdict) <= width or "tests: " not in facts:
        return one_line(verdict, width)
    name = names.split(", ")[0].rpartition("::")[2]
    short = f"{facts.partition(',')[0]} … {name}"
    return short if len(short) <= width else one_line(name, width)


def _items(messages: Sequence[Message], budget: int) -> Iterator[_Item]:
    """The results, in the order of the messages, and what was said between."""
    calls = _calls(messages)
    answered = {id(call) for call in calls if call}
    for message, call in zip(messages, calls, strict=True):
        if message.role == "tool":
            yield _result(message, call, budget)
            continue
        if message.text.strip():
            yield _Item(one_line(message.text[: 4 * LONGEST_TEXT], LONGEST_TEXT))
        for unanswered in (c for c in message.tool_calls if id(c) not in answered):
            yield _Item(f"→ {subject(unanswered)}, no result")


def _calls(messages: Sequence[Message]) -> list[ToolCall | None]:
    """For each message the call that it answers."""
    waiting: OpenCalls[ToolCall] = OpenCalls()
    answered: list[ToolCall | None] = []
    for message in messages:
        waiting.ask([(call.id, call) for call in message.tool_calls])
        is_result = message.role == "tool"
        answered.append(waiting.answer(message.tool_call_id or "") if is_result else None)
    return answered


def _result(message: Message, call: ToolCall | None, budget: int) -> _Item:
    def look(characters: int) -> str:
        return gist(message.content, call=call, budget=characters).preview

    whole = gist(message.content, call=call, budget=budget)
    what = subject(call) if call else tool_label(message.name or "a tool")
    failed = message.is_error or has_failed(message.content, call)
    verdict = summary_line(whole.summary) or whole.kind
    return _Item(what, verdict, failed, len(whole.preview), look, call)


def _with_previews(
    items: Sequence[_Item], lines: Sequence[str], needs: Sequence[int], target: int, count: Count
) -> str:
    """All lines, and as much of the previews as fits."""
    room = target - count("\n".join([HEADING, *lines]))

    def make(room: int) -> str:
        text = [HEADING]
        shares = _shares(needs, [item.has_failed for item in items], room)
        for item, line, need, share in zip(items, lines, needs, shares, strict=True):
            text += [line, *item.preview(item.length * share // need if need else 0)]
        return "\n".join(text)

    return _fit(make, room, target, count)


def _shares(needs: Sequence[int], is_first: Sequence[bool], room: int) -> list[int]:
    """How much each gets: those that come first what they need, the others what is left."""
    shares = [0] * len(needs)
    for turn in (True, False):
        waiting = [number for number, first in enumerate(is_first) if first == turn]
        waiting.sort(key=lambda number: needs[number])
        for position, number in enumerate(waiting):  # who needs little leaves more to the others
            shares[number] = min(needs[number], max(0, room) // (len(waiting) - position))
            room -= shares[number]
    return shares


def _some_lines(items: Sequence[_Item], lines: Sequence[str], target: int, count: Count) -> str:
    """As many lines as fit: those of failures, then the newest, and how many are left out."""
    keys = [(item.has_failed, bool(item.verdict), n) for n, item in enumerate(items)]
    order = [number for *_, number in sorted(keys, reverse=True)]
    kept: list[int] = []
    room = target - count(HEADING)
    for number in order:
        room -= count(lines[number]) + 1
        if room < 0:
            break
        kept.append(number)
    while kept and count(text := _gapped(lines, kept)) > target:
        kept.pop()
    if kept:
        return text
    first = lines[order[0]] if order else HEADING
    return _fit(lambda characters: one_line(first, max(characters, 1)), len(first), target, count)


def _gapped(lines: Sequence[str], kept: Container[int]) -> str:
    text, left_out = [HEADING], 0
    for number, line in enumerate(lines):
        if number not in kept:
            left_out += 1
            continue
        if left_out:
            text.append(mark(counted(left_out, "entry")))
        text.append(line)
        left_out = 0
    if left_out:
        text.append(mark(counted(left_out, "entry")))
    return "\n".join(text)


def _fit(make: Callable[[int], str], size: int, target: int, count: Count) -> str:
    """Make a text of at most `target` tokens. How much that allows depends on the text, so the
    first attempts are corrected by their counts."""
    text = make(size)
    for _ in range(CORRECTIONS):
        tokens = count(text)
        if tokens <= target or size <= 0:
            break
        size = min(size * target // tokens, size - 1)
        text = make(size)
    while count(text) > target and size > 0:
        text = make(size := size // 2)
    while count(text) > target and len(text) > 1:
        text = text[: len(text) // 2]
    return text
