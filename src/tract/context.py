"""What a model would be sent: the compiled history, and its dumps for the providers."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from threading import Lock
from typing import Any, NamedTuple

from tract.core.chain import Chain
from tract.core.pages import Pages
from tract.core.toolsets import Offered
from tract.core.wording import NO_MESSAGES
from tract.model import Form, Json, Message, Step, Toolset
from tract.providers import PROVIDERS, Provider
from tract.providers import provider as provider_named
from tract.providers.common import legal_name, with_legal_name
from tract.providers.dumps import GrowingDump, ToolChanges
from tract.providers.tools import (
    Offer,
    convert_tool,
    declarations,
    form_of,
    name_of,
    offered,
)
from tract.providers.toolsets import changes_of

NOTHING_OFFERED = Offered(None)


class Transcript:
    """Compiled messages that only grow. Every context is a beginning of one, so that a turn costs
    what is new in it, not what is old."""

    def __init__(self) -> None:
        self.messages: Pages[Message] = Pages()
        self.steps: Pages[Step] = Pages()
        self.tokens: Pages[int] = Pages()
        self.forms: Pages[Form] = Pages()
        """What is shown of each message; an instruction or an answer is full, or collapsed."""
        self.places: Pages[int] = Pages()
        """For each message the key of the commit that was appended at its place."""
        self.is_lazy = False
        """Whether something in it is not shown in full, and can be fetched."""
        self.thoughtless: list[int] = []
        """The answers that are shown without their thoughts."""
        self.token_count = 0
        self.token_sources: dict[str, int] = {}
        """What counted the tokens, each with the first message that it counted those of."""
        self.called: dict[str, int] = {}
        """The tools that were called, each with the message that called it first."""
        self._lock = Lock()
        self._dumps: dict[tuple[str, bool], GrowingDump] = {}

    def extend(
        self,
        messages: list[Message],
        steps: list[Step],
        tokens: list[int],
        places: list[int],
        forms: list[Form] | None = None,
        *,
        is_lazy: bool = False,
    ) -> None:
        """Add messages; `forms` where not all of them are whole, `is_lazy` if the model can fetch
        the rest."""
        for place, step in enumerate(steps, len(self.steps)):
            self.token_sources.setdefault(step.token_source, place)
            for _, name in step.calls:
                self.called.setdefault(name, place)
        self.messages += messages
        self.steps += steps
        self.places += places
        self.tokens += tokens
        self.forms += forms or [Form.FULL] * len(steps)
        self.is_lazy = self.is_lazy or is_lazy
        self.token_count += sum(tokens)

    def before(self, place: float) -> Transcript:
        """What stands before a place: itself, or a copy, since contexts share this one."""
        size = bisect_left(self.places, place)
        if size == len(self.places):
            return self
        beginning = Transcript()
        beginning.messages, beginning.steps = self.messages.before(size), self.steps.before(size)
        beginning.places, beginning.forms = self.places.before(size), self.forms.before(size)
        beginning.tokens = self.tokens.before(size)
        beginning.token_count = self.token_count - sum(self.tokens[size:])
        beginning.token_sources = _among(self.token_sources, size)
        beginning.called = _among(self.called, size)
        beginning.is_lazy = self.is_lazy
        beginning.thoughtless = self.thoughtless[: bisect_left(self.thoughtless, size)]
        with self._lock:
            beginning._dumps = {key: dump.before(size) for key, dump in self._dumps.items()}
        return beginning

    def dump(
        self,
        target: Provider,
        size: int,
        changes: ToolChanges | None = None,
        following: Sequence[Message] = (),
    ) -> tuple[Any, list[str]]:
        """The first messages for a provider with what follows them, and what had to be repaired."""
        with self._lock:
            key = target.name, bool(changes)
            if key not in self._dumps:
                self._dumps[key] = GrowingDump(target)
            return self._dumps[key].dump(self.messages, size, changes or {}, following)


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
        extra_tokens: Callable[[], int] = int,
    ) -> None:
        """`extra` are tools that nobody recorded: those by which a model asks for results.
        `extra_tokens` counts theirs: to load a vocabulary for them would be a large part of
        opening a history, and few ask.
        `following` is what a user says next; it is not recorded yet. `previous` is what was
        compiled before this, `chain` the history that it was compiled of."""
        self._transcript = transcript
        self._offered = offered
        self._extra = list(extra)
        self._following = list(following)
        self._previous = previous
        self._chain = chain
        self._extra_tokens = extra_tokens
        self.commit_count = len(transcript.messages)
        self._message_tokens = transcript.token_count + following_tokens

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
        return sum(self.tokens_by_tool.values())

    @property
    def token_source(self) -> str:
        """What counted the tokens; "mixed" where it was not always the same."""
        sources = {*_among(self._transcript.token_sources, self.commit_count)}
        sources |= {tool.token_source for tool in self._offered.definitions}
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
    def is_rewritten(self) -> bool:
        """Whether more than the forms of results differs from what was appended: messages were
        edited, skipped, summarized or collapsed, or answers lost their thoughts."""
        chain, transcript = self._chain, self._transcript
        if chain is None or chain.is_plain:
            return False
        appended = [step.id for step in chain.appended_steps()]
        is_same = appended == [step.id for step in self.steps]
        return not is_same or bool(transcript.thoughtless) or Form.COLLAPSED in self.message_forms

    @property
    def message_tokens(self) -> list[int]:
        """For each message the tokens of what is shown of it."""
        return self._transcript.tokens[: self.commit_count]

    @property
    def calls_before(self) -> list[int]:
        """For each message how many calls came before it in the full history."""
        history = self._chain.appended_steps() if self._chain else self.steps
        counts = accumulate((len(step.calls) for step in history), initial=0)
        made = dict(zip((step.id for step in history), counts, strict=False))
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
        """The definitions as they came. With `tools="inline"` the first set: later changes stand
        among the messages."""
        schemas = self._offered.base.schemas if self._offered.base else []
        form = form_of(schemas[0]) if schemas else "openai"
        target = form if form in PROVIDERS else "anthropic"
        return schemas + [convert_tool(schema, target) for schema in self._beside(schemas)]

    def _beside(self, schemas: list[dict[str, Json]]) -> list[dict[str, Json]]:
        """The tools by which a model asks for results, unless they are among these."""
        if not self._extra:
            return []
        names = {name_of(d) for schema in schemas for d in declarations(schema)}
        return [schema for schema in self._extra if name_of(schema) not in names]

    @property
    def toolset(self) -> Toolset | None:
        """The set in force at the end; None where none was ever recorded."""
        return [self._offered.base, *self._offered.later.values()][-1]

    @property
    def tokens_by_tool(self) -> dict[str, int]:
        """What each tool costs in every request; inline, all of its versions together."""
        counts: Counter[str] = Counter()
        for tool in self._offered.definitions:
            counts[tool.name] += tool.token_count
        return {**counts, **self._tokens_beside}

    @cached_property
    def _tokens_beside(self) -> dict[str, int]:
        """What the tools cost that nobody recorded."""
        beside = self._beside(self._offered.base.schemas if self._offered.base else [])
        return {name_of(schema): self._extra_tokens() for schema in beside}

    @property
    def has_changed_tools(self) -> bool:
        """Whether tools changed among the messages, which `tools="inline"` shows."""
        return bool(self._offered.later)

    @property
    def betas(self) -> list[str]:
        """What `to_anthropic_params` needs, for `client.beta.messages.create(betas=…)`."""
        needed = [known for known in PROVIDERS.values() if known.betas and self._changes(known)]
        return [beta for known in needed for beta in known.betas]

    @property
    def notes(self) -> list[str]:
        """What had to be repaired so that the providers accept the messages, and what one of them
        is not shown."""
        return list(dict.fromkeys(note for name in PROVIDERS for note in self.notes_for(name)))

    def notes_for(self, provider: str, *, tools: bool = True) -> list[str]:
        """The same for one provider: `openai`, `anthropic`, `responses` or `gemini`; without
        `tools`, for the messages alone."""
        target = provider_named(provider)
        sent, repairs = self._dump(target)
        messages = sent[target.history] if isinstance(sent, dict) else sent
        notes = [] if messages else [NO_MESSAGES]
        number = bisect_left(self._transcript.thoughtless, self.commit_count)
        if number:
            notes.append(f"thoughts of {number} answers left out: what they followed has changed")
        notes += repairs
        return notes + self._offer(target, self.called).notes if tools else notes

    def to_messages(self, provider: str) -> Any:
        """The messages for a provider by its name: what `to_openai` and the like return."""
        return self._dump(provider_named(provider))[0]

    def to_params(self, provider: str) -> dict[str, Json]:
        """The full request to a provider by its name: what `to_openai_params` and so on return."""
        target = PROVIDERS.get(provider) or provider_named(provider)
        changes = self._changes(target) if self._offered.later else None
        following = self._following
        sent, _ = self._transcript.dump(target, self.commit_count, changes, following)
        called = self.called
        messages = self._transcript.messages if self.commit_count else following
        first = messages[0] if messages else None
        tools = self._offer(target, called).tools
        called = list(dict.fromkeys(legal_name(name, target.tool_names) for name in called))
        return target.request(sent, tools, called, first)

    def to_dicts(self) -> list[dict[str, Json]]:
        """The messages as plain dicts in the chat form, which most libraries accept."""
        return self.to_openai()

    def to_openai(self) -> list[dict[str, Json]]:
        """Messages for Chat Completions. The list is yours, the dicts in it are shared with later
        contexts: copy one before you change it. A list of very many messages is of a subclass of
        `list`; a slice of it is a plain one."""
        messages: list[dict[str, Json]] = self.to_messages("openai")
        return messages

    def to_openai_params(self) -> dict[str, Json]:
        """`messages` for Chat Completions, and `tools` where there are any."""
        return self.to_params("openai")

    def to_anthropic(self) -> dict[str, Json]:
        """`messages` for the Messages API, and `system` when there is such a text. The dicts in
        the list are shared, as those of `to_openai`."""
        params: dict[str, Json] = self.to_messages("anthropic")
        return params

    def to_anthropic_params(self) -> dict[str, Json]:
        """`system`, `messages` and `tools` for the Messages API, each where there is one. Calls
        without tools are refused there: if the tools were taken away, they are declared once more
        with a `tool_choice` that rules them out."""
        return self.to_params("anthropic")

    def to_responses(self) -> list[dict[str, Json]]:
        """`input` items for the Responses API, just those of the messages."""
        items: list[dict[str, Json]] = self.to_messages("responses")
        return items

    def to_responses_params(self) -> dict[str, Json]:
        """`input` items for the Responses API, `tools` where there are any, and `instructions`
        where the history came with such."""
        return self.to_params("responses")

    def to_gemini(self) -> dict[str, Json]:
        """`contents` for Gemini, and `systemInstruction` when there is such a text. The dicts in
        the list are shared, as those of `to_openai`."""
        params: dict[str, Json] = self.to_messages("gemini")
        return params

    def to_gemini_params(self) -> dict[str, Json]:
        """`contents`, `systemInstruction` and `tools` for Gemini, each where there is one."""
        return self.to_params("gemini")

    @property
    def called(self) -> list[str]:
        """The tools that the messages call, in the order of their first calls."""
        return [*_among(self._transcript.called, self.commit_count)]

    def _dump(self, target: Provider) -> tuple[Any, list[str]]:
        return self._transcript.dump(target, self.commit_count, None, self._following)

    def _offer(self, target: Provider, called: list[str]) -> Offer:
        """The tools of a request. Where none were ever recorded, those that are called are declared
        with what can be known of them: some providers refuse a call of an undeclared tool."""
        base = self._offered.base
        if base is None:
            return self._declared(target, called)
        in_list = base if self._accepts_changes(target) else self.toolset
        schemas = in_list.schemas if in_list else []
        return _offer_of([*schemas, *self._beside(schemas)], target)

    def _declared(self, target: Provider, called: list[str]) -> Offer:
        """The tools that are called, and those by which a model asks for results."""
        extra = {name_of(schema) for schema in self._extra}
        names = [name for name in called if name not in extra]
        wires = [legal_name(name, target.tool_names) for name in names]
        tools = target.declare(dict.fromkeys(wires))
        if self._extra:
            tools += offered(self._extra, target.name).tools
        notes = _renamed(names, wires, target) if names != wires else []
        if names:
            listed = ", ".join(called)
            notes = [f"no tools were recorded; declared from the calls: {listed}", *notes]
        return Offer(tools, notes)

    def _accepts_changes(self, target: Provider) -> bool:
        """Whether a provider accepts changes of its tools. If not, it is sent the latest set."""
        changes = changes_of(self._offered) if self._offered.later else []
        return target.accepts_changes(only_additions=all(change.is_addition for change in changes))

    def _changes(self, target: Provider) -> ToolChanges:
        """The blocks on later tools, by the number of the answer before which they stand."""
        if not self._offered.later or not self._accepts_changes(target):
            return {}
        blocks: dict[int, list[Json]] = {}
        for change in changes_of(self._offered):
            added = _offer_of(change.added, target).tools
            removed = [legal_name(name, target.tool_names) for name in change.removed]
            blocks[change.answer] = target.tool_changes(removed, added)
        return {answer: content for answer, content in blocks.items() if content}


def _among(firsts: Mapping[str, int], size: int) -> dict[str, int]:
    """What comes first in one of that many messages."""
    return {name: place for name, place in firsts.items() if place < size}


def context_of(messages: Sequence[Message], token_count: int = 0) -> CompiledContext:
    """A context of messages that no history has, and without tools."""
    transcript = Transcript()
    transcript.messages += messages
    transcript.token_count = token_count
    return CompiledContext(transcript)


def _offer_of(schemas: Sequence[dict[str, Json]], target: Provider) -> Offer:
    """Tools with names that the provider accepts, and a note on each that is replaced."""
    declared = [declaration for schema in schemas for declaration in declarations(schema)]
    names = [name_of(declaration) for declaration in declared]
    wires = [legal_name(name, target.tool_names) for name in names]
    if names == wires:
        return offered(schemas, target.name)
    legal: dict[str, dict[str, Json]] = {}
    notes = _renamed(names, wires, target)
    for declaration, name, wire in zip(declared, names, wires, strict=True):
        if wire in legal:  # one that came back under the name that it was sent as
            notes.append(f"tool {name!r:.80} left out: {target.name} has another as {wire}")
        legal.setdefault(wire, with_legal_name(declaration, target.tool_names))
    offer = offered(list(legal.values()), target.name)
    return Offer(offer.tools, [*offer.notes, *notes])


def _renamed(names: list[str], wires: list[str], target: Provider) -> list[str]:
    """Notes on names that the provider does not accept."""
    pairs = zip(names, wires, strict=True)
    return [f"{target.name} knows {name!r:.80} as {wire}" for name, wire in pairs if name != wire]
