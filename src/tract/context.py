"""What a model would be sent: the compiled history, and its dumps for the providers."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from threading import Lock
from typing import Any, NamedTuple, Protocol

from tract.core.chain import Chain
from tract.core.ordering import Arrangement
from tract.core.toolsets import Offered
from tract.model import Form, Json, Message, Step, Toolset
from tract.providers import anthropic, gemini, openai_chat, openai_responses
from tract.providers import tools as forms
from tract.providers.tool_names import LONGEST, legal_name, with_legal_name, with_legal_names
from tract.providers.toolsets import changes_of

ToolChanges = Mapping[int, list[Json]]
NOTHING_OFFERED = Offered(None)


class Dump(Protocol):
    """A provider's messages, made one by one, with notes on what it is not given as it was."""

    notes: list[str]

    def feed(self, message: Message) -> None: ...

    def finish(self, tail: Iterable[Message] = ()) -> Any: ...


TARGETS: dict[str, type[Dump]] = {
    forms.OPENAI: openai_chat.Dump,
    forms.ANTHROPIC: anthropic.Dump,
    forms.RESPONSES: openai_responses.Dump,
    forms.GEMINI: gemini.Dump,
}


class Transcript:
    """Compiled messages that only grow. Every context is a beginning of one, so that a turn costs
    what is new in it, not what is old."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.steps: list[Step] = []
        self.tokens: list[int] = []
        self.forms: list[Form] = []
        """What is shown of each message; an instruction or an answer is whole, or collapsed."""
        self.places: list[int] = []
        """For each message the key of the commit that was appended at its place."""
        self.is_lazy = False
        """Whether something in it is not shown whole."""
        self.thoughtless: list[int] = []
        """The answers that are shown without their thoughts."""
        self.token_count = 0
        self.token_sources: set[str] = set()
        self.called: dict[str, int] = {}
        """The tools that were called, each with the message that called it first."""
        self._lock = Lock()
        self._wires: dict[tuple[str, bool], _Wire] = {}

    def extend(
        self,
        messages: list[Message],
        steps: list[Step],
        tokens: list[int],
        places: list[int],
        forms: list[Form] | None = None,
    ) -> None:
        """Add messages; `forms` where not all of them are whole."""
        for place, step in enumerate(steps, len(self.steps)):
            for _, name in step.calls:
                self.called.setdefault(name, place)
        self.token_sources = self.token_sources | {step.token_source for step in steps}
        self.messages += messages
        self.steps += steps
        self.places += places
        self.tokens += tokens
        self.forms += forms or [Form.FULL] * len(steps)
        self.is_lazy = self.is_lazy or any(form != Form.FULL for form in forms or ())
        self.token_count += sum(tokens)

    def before(self, place: float) -> Transcript:
        """What stands before a place: itself, or a copy, since contexts share this one."""
        size = bisect_left(self.places, place)
        if size == len(self.places):
            return self
        beginning = Transcript()
        beginning.extend(
            self.messages[:size],
            self.steps[:size],
            self.tokens[:size],
            self.places[:size],
            self.forms[:size],
        )
        beginning.thoughtless = self.thoughtless[: bisect_left(self.thoughtless, size)]
        return beginning

    def dump(
        self,
        target: str,
        size: int,
        changes: ToolChanges | None = None,
        following: Sequence[Message] = (),
    ) -> tuple[Any, list[str]]:
        """The first messages for a provider with what follows them, and what had to be repaired."""
        with self._lock:
            key = target, bool(changes)
            wire = self._wires.get(key)
            if wire is None or not wire.goes_on(size, changes or {}):
                wire = _Wire(target)
            if size == len(self.messages):
                self._wires[key] = wire
            return wire.dump(self.messages, size, changes or {}, following)


class _Wire:
    """A dump that goes on where it stopped."""

    def __init__(self, target: str) -> None:
        self._fed = 0
        self._target = target
        self._kind = kind = TARGETS[target]
        self._arrangement = Arrangement()
        self._dump = kind()
        self._dumped = 0
        self._rewrites = 0
        self._changes: ToolChanges = {}

    def goes_on(self, size: int, changes: ToolChanges) -> bool:
        """Whether what was dumped is a beginning of what is asked for now."""
        return self._fed <= size and all(
            changes.get(place) == blocks for place, blocks in self._changes.items()
        )

    def dump(
        self,
        messages: list[Message],
        size: int,
        changes: ToolChanges,
        following: Sequence[Message],
    ) -> tuple[Any, list[str]]:
        arrangement = self._arrangement
        for message in messages[self._fed : size]:
            arrangement.feed(message)
        self._fed, self._changes = size, changes
        if arrangement.rewrites != self._rewrites:  # a late result changed what was dumped
            self._dump, self._dumped, self._rewrites = self._kind(), 0, arrangement.rewrites
        if isinstance(self._dump, anthropic.Dump | openai_responses.Dump):
            self._dump.tool_changes = changes
        for message in arrangement.messages[self._dumped :]:
            self._dump.feed(with_legal_names(message, self._target))
        self._dumped = len(arrangement.messages)
        tail, notes = arrangement.ending()
        sent = self._dump.finish(with_legal_names(m, self._target) for m in [*tail, *following])
        return sent, [*arrangement.notes, *notes, *self._dump.notes]


class Seen(NamedTuple):
    """What a compiled context showed."""

    transcript: Transcript
    size: int
    toolset: Toolset | None


class CompiledContext:
    """A history as a model would get it. The messages are shared between contexts: read only."""

    def __init__(
        self,
        transcript: Transcript,
        offered: Offered = NOTHING_OFFERED,
        extra: Sequence[dict[str, Json]] = (),
        following: Sequence[Message] = (),
        following_tokens: int = 0,
        previous: Seen | None = None,
        chain: Chain | None = None,
    ) -> None:
        """`extra` are tools that nobody recorded: those by which a model asks for results.
        `following` is what a user says next; it is not recorded yet. `previous` is what was
        compiled before this, `chain` the history that it was compiled of."""
        self._transcript = transcript
        self._offered = offered
        self._extra = list(extra)
        self._following = list(following)
        self._previous = previous
        self._chain = chain
        self.commit_count = len(transcript.messages)
        self._message_tokens = transcript.token_count + following_tokens
        self._token_sources = transcript.token_sources

    def __repr__(self) -> str:
        return (
            f"CompiledContext({self.commit_count} messages, "
            f"{self.token_count} tokens by {self.token_source or 'nothing'})"
        )

    @property
    def messages(self) -> list[Message]:
        return self._transcript.messages[: self.commit_count] + self._following

    @property
    def token_count(self) -> int:
        """The tokens of the messages and of the tools."""
        return self._message_tokens + self.tool_tokens

    @property
    def tool_tokens(self) -> int:
        return sum(tool.token_count for tool in self._offered.definitions)

    @property
    def token_source(self) -> str:
        """What counted the tokens; "mixed" where it was not always the same."""
        sources = self._token_sources | {t.token_source for t in self._offered.definitions}
        return "mixed" if len(sources) > 1 else "".join(sources)

    @property
    def steps(self) -> list[Step]:
        """For each message the commit whose content it shows, as it is kept."""
        return self._transcript.steps[: self.commit_count]

    @property
    def commit_hashes(self) -> list[str]:
        """For each message the commit whose content it shows."""
        return [step.hash.hex() for step in self.steps]

    @property
    def message_forms(self) -> list[Form]:
        """For each message what is shown of it."""
        return self._transcript.forms[: self.commit_count]

    @property
    def message_tokens(self) -> list[int]:
        """For each message the tokens of what is shown of it."""
        return self._transcript.tokens[: self.commit_count]

    @property
    def calls_before(self) -> list[int]:
        """For each message how many calls came before it in the whole history, whatever the view
        has left of them."""
        history = self._chain.appended() if self._chain else self.steps
        made = dict(zip((step.id for step in history), _running(history), strict=False))
        return [made.get(place, 0) for place in self._transcript.places[: self.commit_count]]

    @property
    def generation_configs(self) -> list[dict[str, Json] | None]:
        return [step.generation_config for step in self.steps]

    @property
    def seen(self) -> Seen:
        """What is compared with the next one."""
        return Seen(self._transcript, self.commit_count, self.toolset)

    @property
    def first_changed(self) -> int:
        """The first message that is not what it was in the view that was compiled before this one:
        what is before it, a provider may have cached. Other tools change all of them."""
        old = self._previous
        if old is None or old.toolset != self.toolset:
            return 0
        if old.transcript is self._transcript:
            return min(old.size, self.commit_count)
        pairs = zip(old.transcript.messages[: old.size], self.messages, strict=False)
        changed = (n for n, (was, now) in enumerate(pairs) if was is not now and was != now)
        return next(changed, min(old.size, len(self.messages)))

    @property
    def tools(self) -> list[dict[str, Json]]:
        """The definitions as they were given. With `tools="inline"` the first set: later changes
        stand among the messages."""
        given = self._offered.base.schemas if self._offered.base else []
        extra = self._beside(given)
        form = forms.form_of(given[0]) if given else forms.OPENAI
        target = form if form in forms.TARGETS else forms.ANTHROPIC
        return given + [forms.convert_tool(schema, target) for schema in extra]

    def _beside(self, schemas: list[dict[str, Json]]) -> list[dict[str, Json]]:
        """The tools by which a model asks for results, unless they are among these."""
        names = {forms.name_of(d) for schema in schemas for d in forms.declarations(schema)}
        return [schema for schema in self._extra if forms.name_of(schema) not in names]

    @property
    def toolset(self) -> Toolset | None:
        """The set in force at the end; None where none was ever recorded."""
        return self._offered.latest

    @property
    def tokens_by_tool(self) -> dict[str, int]:
        """What each tool costs in every request; inline, all of its versions together."""
        counts: Counter[str] = Counter()
        for tool in self._offered.definitions:
            counts[tool.name] += tool.token_count
        return dict(counts)

    @property
    def betas(self) -> list[str]:
        """What `to_anthropic_params` needs, for `client.beta.messages.create(betas=…)`."""
        return [anthropic.INLINE_TOOLS] if self._changes(forms.ANTHROPIC) else []

    @property
    def notes(self) -> list[str]:
        """What had to be repaired so that the providers take the messages, and what one of them
        is not shown."""
        return list(dict.fromkeys(note for target in TARGETS for note in self.notes_for(target)))

    def notes_for(self, provider: str, *, tools: bool = True) -> list[str]:
        """The same for one of them: `openai`, `anthropic`, `responses` or `gemini`; without
        `tools`, for the messages alone."""
        found: list[str] = []
        number = bisect_left(self._transcript.thoughtless, self.commit_count)
        if number:
            found.append(f"thoughts of {number} answers left out: what they followed has changed")
        found += self._dump(provider)[1]
        return found + self._offer(provider).notes if tools else found

    def to_dicts(self) -> list[dict[str, Json]]:
        """The messages as plain dicts: the chat form, which most libraries understand."""
        return self.to_openai()

    def to_openai(self) -> list[dict[str, Json]]:
        """Messages for Chat Completions. The list is yours, the dicts in it are shared with later
        contexts: copy one before you change it."""
        messages: list[dict[str, Json]] = self._dump(forms.OPENAI)[0]
        return messages

    def to_openai_params(self) -> dict[str, Json]:
        """`messages` for Chat Completions, and `tools` where there are any."""
        return {"messages": self.to_openai(), **_listed(self._offer(forms.OPENAI).tools)}

    def to_anthropic(self) -> dict[str, Json]:
        """`messages` for the Messages API, and `system` when there is such a text. The list is
        yours, the dicts in it are shared with later contexts: copy one before you change it."""
        params: dict[str, Json] = self._dump(forms.ANTHROPIC)[0]
        return params

    def to_anthropic_params(self) -> dict[str, Json]:
        """`system`, `messages` and `tools` for the Messages API, each where there is one. Calls
        without tools are refused there: if the tools were taken away, they are declared once more
        with a `tool_choice` that rules them out."""
        params, _ = self._dump(forms.ANTHROPIC, self._changes(forms.ANTHROPIC))
        offer = self._offer(forms.ANTHROPIC)
        if offer.tools:
            return anthropic.with_tools(params, offer.tools)
        if self.called:
            called = [legal_name(name, forms.ANTHROPIC) for name in self.called]
            declared = forms.minimal(called, forms.ANTHROPIC)
            return {**params, "tools": declared, "tool_choice": anthropic.NO_CHOICE}
        return dict(params)

    def to_responses(self) -> list[dict[str, Json]]:
        """`input` items for the Responses API, just those of the messages."""
        items: list[dict[str, Json]] = self._dump(forms.RESPONSES)[0]
        return items

    def to_responses_params(self) -> dict[str, Json]:
        """`input` items for the Responses API, `tools` where there are any, and `instructions`
        where the history came with such."""
        items, _ = self._dump(forms.RESPONSES, self._changes(forms.RESPONSES))
        params = openai_responses.with_instructions(self.messages, items)
        return {**params, **_listed(self._offer(forms.RESPONSES).tools)}

    def to_gemini(self) -> dict[str, Json]:
        """`contents` for Gemini, and `systemInstruction` when there is such a text. The list is
        yours, the dicts in it are shared with later contexts: copy one before you change it."""
        params: dict[str, Json] = self._dump(forms.GEMINI)[0]
        return params

    def to_gemini_params(self) -> dict[str, Json]:
        """`contents`, `systemInstruction` and `tools` for Gemini, each where there is one."""
        return {**self.to_gemini(), **_listed(self._offer(forms.GEMINI).tools)}

    @property
    def called(self) -> list[str]:
        """The tools that the messages call, in the order of their first calls."""
        return [
            name for name, place in self._transcript.called.items() if place < self.commit_count
        ]

    def _dump(self, target: str, changes: ToolChanges | None = None) -> tuple[Any, list[str]]:
        return self._transcript.dump(target, self.commit_count, changes, self._following)

    def _offer(self, target: str) -> forms.Offer:
        """The tools of a request. Where none were ever recorded, those that are called are declared
        with what can be known of them: some providers refuse a call of an undeclared tool."""
        offered = self._offered
        if offered.base is None:
            note = f"no tools were recorded; declared from the calls: {', '.join(self.called)}"
            known = {forms.name_of(schema) for schema in self._extra}
            called = [name for name in self.called if name not in known]
            found = forms.minimal(called, target) + forms.offered(self._extra, target).tools
            return _with_legal_names(forms.Offer(found, [note] if called else []), target)
        in_list = offered.base if self._is_told(target) else offered.latest
        schemas = in_list.schemas if in_list else []
        return _with_legal_names(forms.offered([*schemas, *self._beside(schemas)], target), target)

    def _is_told(self, target: str) -> bool:
        """Whether a provider can be told what became of its tools. Else it gets the latest set."""
        if target == forms.RESPONSES:  # it can be given tools, but none can be taken away
            return all(change.is_addition for change in changes_of(self._offered))
        return target == forms.ANTHROPIC

    def _changes(self, target: str) -> ToolChanges:
        """What a provider is told of later tools, by the number of the answer before which it
        stands."""
        if not self._is_told(target):
            return {}
        found: dict[int, list[Json]] = {}
        for change in changes_of(self._offered):
            added = _with_legal_names(forms.offered(change.added, target), target).tools
            removed = [legal_name(name, target) for name in change.removed]
            if target == forms.RESPONSES:
                found[change.answer] = openai_responses.added_tools(added)
            else:
                found[change.answer] = anthropic.tool_changes(removed, added)
        return {answer: blocks for answer, blocks in found.items() if blocks}


def _running(history: Iterable[Step]) -> Iterator[int]:
    """How many calls were made before each commit."""
    return accumulate((len(step.calls) for step in history), initial=0)


def context_of(messages: Sequence[Message], token_count: int = 0) -> CompiledContext:
    """A context of messages that no history has, and without tools."""
    transcript = Transcript()
    transcript.messages += messages
    transcript.token_count = token_count
    return CompiledContext(transcript)


def _with_legal_names(offer: forms.Offer, target: str) -> forms.Offer:
    """The tools as the provider takes their names, which is told."""
    tools = [with_legal_name(tool, target) for tool in offer.tools]
    names = [forms.name_of(tool) for tool in offer.tools if target in LONGEST]
    told = [(name, legal_name(name, target)) for name in names]
    notes = [f"{target} knows {name!r:.80} as {wire}" for name, wire in told if name != wire]
    return forms.Offer(tools, [*offer.notes, *notes])


def _listed(found: list[dict[str, Json]]) -> dict[str, Json]:
    return {"tools": found} if found else {}
