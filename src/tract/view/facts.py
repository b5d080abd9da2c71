"""Facts: what a conversation is about, for the top of a screen or page. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

import msgspec
from msgspec.structs import replace

from tract.content.text import counted
from tract.core.chain import Place
from tract.core.titles import title_of
from tract.model import Message
from tract.view.conversation import Conversation
from tract.view.edits import file_edits, leave_out
from tract.view.moments import Moment, day_and_clock, duration
from tract.view.sanitize import several

_MAY_CHANGE = re.compile(
    r"edit|write|patch|replace|create|insert|shell|exec|bash|command|apply", re.IGNORECASE
)


class Prompt(msgspec.Struct, frozen=True):
    """Something that a person asked."""

    title: str
    message: int
    """The number of its message, as blocks have it."""
    commit: str = ""
    time: datetime | None = None


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a conversation is about, as far as known."""

    dialog: str
    branch: str = ""
    title: str = ""
    """The title that the source has, or else the first prompt."""
    folder: str = ""
    parent: str = ""
    """The dialog that started this one, if it is that of a sub-agent."""
    started: datetime | None = None
    ended: datetime | None = None
    models: tuple[str, ...] = ()
    """The most used first."""
    messages: int = 0
    calls: int = 0
    errors: int = 0
    """Results that are flagged as errors."""
    tokens: str = ""
    """What was sent and answered, as providers reported it."""
    cost: str = ""
    files: tuple[str, ...] = ()
    """The files that calls changed."""
    prompts: tuple[Prompt, ...] = ()

    @property
    def label(self) -> str:
        """What to call the conversation."""
        return self.title or self.dialog


def facts_of(
    conversation: Conversation, rows: Iterable[int], moment: Callable[[Place], Moment], known: Facts
) -> Facts:
    """What some rows of a conversation show, beside what is known about it."""
    history = conversation.history
    numbered = [(n, row) for n in rows if isinstance(row := conversation.rows[n], Place)]
    messages = [(n, place) for n, place in numbered if not place.sources]
    prompts = tuple(_prompts(messages, history.whole, moment))
    moments = [moment(place) for _, place in messages]
    times = sorted(moment.time for moment in moments if moment.time)
    models = Counter(moment.model for moment in moments if moment.model)
    return replace(
        known,
        title=known.title or (prompts[0].title if prompts else ""),
        started=times[0] if times else known.started,
        ended=times[-1] if times else known.ended,
        models=tuple(model for model, _ in models.most_common()) or known.models,
        messages=len(messages),
        calls=sum(len(place.shown.calls) for _, place in messages),
        # Looking for errors that are not flagged would read every result before the first line.
        errors=sum(place.shown.is_error for _, place in messages),
        files=tuple(_changed_files((place for _, place in messages), history.whole)),
        prompts=prompts,
    )


def _prompts(
    messages: Iterable[tuple[int, Place]],
    whole: Callable[[Place], Message],
    moment: Callable[[Place], Moment],
) -> Iterator[Prompt]:
    for number, place in messages:
        title = title_of(whole(place).text) if place.origin.role == "user" else None
        if title:
            yield Prompt(title, number, place.shown.hash.hex(), moment(place).time)


def _changed_files(places: Iterable[Place], whole: Callable[[Place], Message]) -> dict[str, None]:
    """Each once, in order. Only calls of tools that may change files are looked at."""
    files: dict[str, None] = {}
    for place in places:
        if any(may_change(name) for _, name in place.shown.calls):
            for call in whole(place).tool_calls:
                edits = file_edits(call.name, call.arguments, leave_out)
                files |= dict.fromkeys(file.path for file in edits.files) if edits else {}
    files.pop("", None)
    return files


def may_change(tool: str) -> bool:
    """Whether calls of a tool may change files, by its name."""
    return _MAY_CHANGE.search(tool) is not None


def fact_lines(facts: Facts) -> list[str]:
    """The title, then what is known, in lines that fit a screen of 80 columns in most cases."""
    files = f"{counted(len(facts.files), 'file')} changed: {several(short_paths(facts))}"
    return [facts.label, *fact_words(facts), *([files] if facts.files else [])]


def fact_words(facts: Facts) -> list[str]:
    """When and by whom; then the numbers."""
    start = day_and_clock(facts.started) if facts.started else ""
    took = (facts.ended - facts.started).total_seconds() if facts.ended and facts.started else 0
    when = ", ".join(filter(None, [start, duration(took) if took >= 1 else ""]))
    numbers = [
        counted(facts.messages, "message"),
        counted(len(facts.prompts), "prompt") if facts.prompts else "",
        counted(facts.calls, "call") if facts.calls else "",
        f"{facts.errors} failed" if facts.errors else "",
    ]
    amounts = [", ".join(filter(None, numbers)), facts.tokens and f"{facts.tokens} tokens"]
    parts = [(when, several(facts.models)), (*amounts, facts.cost)]
    return [line for part in parts if (line := " · ".join(filter(None, part)))]


def short_paths(facts: Facts) -> list[str]:
    """The changed files, without the folder that the agent worked in."""
    folder = facts.folder.rstrip("/") + "/" if facts.folder else ""
    return [path.removeprefix(folder) or path for path in facts.files]


def fact_pairs(facts: Facts) -> Iterator[tuple[str, str]]:
    """What is known, each with its name."""
    if facts.started:
        yield "Started", day_and_clock(facts.started)
        seconds = (facts.ended - facts.started).total_seconds() if facts.ended else 0
        if seconds >= 1:
            yield "Duration", duration(seconds)
    if facts.models:
        yield "Model" if len(facts.models) == 1 else "Models", ", ".join(facts.models)
    yield "Messages", str(facts.messages)
    if facts.calls:
        failed = f", {facts.errors} failed" if facts.errors else ""
        yield "Calls", f"{facts.calls}{failed}"
    if facts.tokens:
        yield "Tokens", facts.tokens
    if facts.cost:
        yield "Cost", facts.cost
    if facts.folder:
        yield "Folder", facts.folder
    if facts.parent:
        yield "Started by", facts.parent
