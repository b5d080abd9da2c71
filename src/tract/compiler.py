"""Compile a branch into a context; the next compile reads only what is new."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from math import inf

from msgspec.structs import replace

from tract.content.blocks import whole_text
from tract.content.preview import gist_of, is_gist_of
from tract.context import CompiledContext, Seen, Transcript
from tract.core.chain import Chain, Place
from tract.core.forms import AS_THEY_ARE, BY_GIST, ResultView, Shown, for_summary, shown_items
from tract.core.toolsets import Offered
from tract.core.wording import (
    FORGOTTEN,
    GET_TOOL_RESULT_SCHEMA,
    SKIPPED,
    collapse,
    fetching_tokens,
    reference,
    reference_tokens,
    summary,
    truncate,
)
from tract.errors import CorruptError, ForgottenError
from tract.hashing import from_json
from tract.model import (
    EMPTY,
    Draft,
    Form,
    Gist,
    Head,
    Json,
    Message,
    Step,
    Text,
    ToolCall,
    Toolset,
    spoken,
    unpack_content,
)
from tract.providers import as_sent
from tract.providers.server_tools import without_thoughts
from tract.storage import Store
from tract.storage.driver import pages
from tract.storage.rows import INLINE_BELOW

MOST_FRESH = 1 << 20
"""Bytes of texts that are kept although no one may compile them."""


class Compiler:
    """The chain at one head, and its transcript. A later head extends both; any other head is read
    from the start."""

    as_sent = staticmethod(as_sent)
    without_thoughts = staticmethod(without_thoughts)

    def __init__(self, store: Store, count: Callable[[str], int], *, keeps: bool = True) -> None:
        """Unless it `keeps` them, large contents are loaded each time that they are needed."""
        self._store = store
        self._count = count
        self._fetching_tokens = cache(partial(fetching_tokens, count))
        self._keeps = keeps
        self._head = EMPTY
        self._chain = Chain()
        self._large: dict[bytes, Message] = {}
        self._fresh: dict[bytes, str] = {}  # large texts that were just written, by their commits
        self._fresh_size = 0
        self._made: dict[bytes, Gist] = {}  # gists that are not stored, by their commits
        self._transcript = Transcript()
        self._transcribed = 0
        self._erasures = store.erasures
        self._previous: Seen | None = None

    def remember(self, commit_hash: str, draft: Draft) -> None:
        """Keep a large text that was just written: the next compile need not read and decompress
        it. Half of a surrogate pair may come back as something else."""
        text, data = draft.message and draft.message.content, draft.payload or b""
        if type(text) is not str or len(data) <= INLINE_BELOW:
            return
        if text.isascii() or b"\\ud" not in data:
            if self._fresh_size > MOST_FRESH:  # nothing is compiled here
                self._forget_fresh()
            self._fresh[bytes.fromhex(commit_hash)] = text
            self._fresh_size += len(data)

    def _forget_fresh(self) -> None:
        self._fresh, self._fresh_size = {}, 0

    def is_current(self, head: Head) -> bool:
        """Whether it has the chain at this commit, and nothing was erased since it was read."""
        return head == self._head and self._erasures == self._store.erasures

    def chain(self, head: Head) -> Chain:
        """Return the history up to this commit."""
        if self._erasures != self._store.erasures:
            self._start_anew()
        if head != self._head:
            known = self._head if (self._head.id or 0) < (head.id or 0) else EMPTY
            steps = None if known == EMPTY else self._store.steps(head, known)
            if steps is None:
                self._start_anew()
                steps = self._store.steps(head) if head.id else []
            altered = self._chain.extend(steps or [])
            if altered < inf:  # the transcript before that message stays valid
                self._transcript = self._transcript.before(altered)
                self._transcribed = min(self._transcribed, self._chain.position(altered))
            self._head = head
        return self._chain

    def compile(
        self,
        head: Head,
        *,
        inline_tools: bool = False,
        view: ResultView = AS_THEY_ARE,
        fetches: bool = False,
        toolset: Toolset | None = None,
        following: Sequence[tuple[Message, int]] = (),
        is_seen: bool = True,
    ) -> CompiledContext:
        """Return the view at this commit. With `fetches`, the model can always fetch results, and
        else if the view shortens any, or did so once. `toolset` replaces the recorded one;
        `following` are messages after the history, each with its tokens. One that is not `is_seen`
        is not what the next one is compared with."""
        chain = self.chain(head)
        transcript = self._transcript
        if view == AS_THEY_ARE:
            self._transcribe(transcript, self._transcribed, view)
            self._transcribed = chain.count()
        else:
            transcript = Transcript()
            self._transcribe(transcript, 0, view)
        fetches = fetches or chain.is_lazy or transcript.is_lazy
        context = CompiledContext(
            transcript,
            Offered(toolset) if toolset else self._offered(transcript, inline_tools),
            [GET_TOOL_RESULT_SCHEMA] if fetches else [],
            [message for message, _ in following],
            sum(tokens for _, tokens in following),
            self._previous,
            chain,
            self._fetching_tokens,
        )
        if is_seen:
            self._previous = context.seen
        return context

    @property
    def fetching_tokens(self) -> int:
        """What it costs in a request that the model can fetch results."""
        return self._fetching_tokens()

    def stored(self, head: Head) -> CompiledContext:
        """Return all messages at this commit in full, in their newest versions."""
        chain = self.chain(head)
        places = [place for place in chain.places if not place.sources]
        steps = [place.shown for place in places]
        transcript, tokens = Transcript(), [step.token_count for step in steps]
        ids = [place.at for place in places]
        transcript.extend([self.message(step) for step in steps], steps, tokens, ids)
        return CompiledContext(transcript, Offered(self.toolset(chain.toolset)))

    def texts(self, places: Sequence[Place], *, whole: bool) -> list[tuple[Message, int]]:
        """Return the messages of the view at these places, with their tokens; a collapsed turn in
        more detail. With `whole`, return the stored messages, with the tokens of the view."""
        rendered = self.render([for_summary(place) for place in places])
        if not whole:
            return rendered
        return [(self.message(p.shown), n) for p, (_, n) in zip(places, rendered, strict=True)]

    def _transcribe(self, transcript: Transcript, start: int, view: ResultView) -> None:
        """Extend a transcript by the messages from a position on."""
        chain = self._chain
        if chain.is_plain and view == AS_THEY_ARE:  # the usual case, at every cold start
            steps = chain.appended_steps(start)
            large = self._large_messages(steps)
            messages = [
                large[step.hash] if step.data is None else _message(step, from_json(step.data))
                for step in steps
            ]
            tokens = [step.token_count for step in steps]
            transcript.extend(messages, steps, tokens, [step.id for step in steps])
            return
        items = shown_items(chain.places, start, view)
        rendered = self.render(items)
        outdated = chain.outdated_answers(items[0].place.at) if items else ()
        for number, item in enumerate(items if outdated else ()):
            if item.place.origin.id in outdated:
                before, size = rendered[number]
                rendered[number] = self._without_thoughts(before, size)
                if rendered[number][0] is not before:
                    transcript.thoughtless.append(len(transcript.messages) + number)
        transcript.extend(
            [message for message, _ in rendered],
            [item.place.shown for item in items],
            [tokens for _, tokens in rendered],
            [item.place.at for item in items],
            [item.shape.form for item in items],
            is_lazy=any(i.shape.form != Form.FULL and not i.shape.is_verbatim for i in items),
        )

    def render(
        self, items: Sequence[Shown], outdated: Collection[int] = ()
    ) -> list[tuple[Message, int]]:
        """Return the messages as they are shown, each with its tokens; outdated answers without
        their thoughts."""
        whole = [i.place for i in items if i.shape.form == Form.FULL and not i.is_left_out]
        short = [item for item in items if item.shape.form in BY_GIST and not item.is_left_out]
        if self._keeps:  # loads them together
            self._large_messages(place.shown for place in whole)
        messages = {place: self.message(place.shown) for place in whole}
        by_gist = self._render_by_gist(short, messages)
        sent: list[tuple[Message, int]] = []
        for item in items:
            message = messages.get(item.place)
            if message is not None:
                sent.append((message, item.place.shown.token_count))
            else:
                sent.append(by_gist.get(item.place) or self._render(item))
        if not outdated:
            return sent
        return [
            self._without_thoughts(*one) if item.place.origin.id in outdated else one
            for item, one in zip(items, sent, strict=True)
        ]

    def _without_thoughts(self, message: Message, tokens: int) -> tuple[Message, int]:
        left = without_thoughts(message)
        return (message, tokens) if left is message else (left, self._count(spoken(left)))

    def _render_by_gist(
        self, items: Sequence[Shown], messages: Mapping[Place, Message]
    ) -> dict[Place, tuple[Message, int]]:
        """Return results as references or summaries, each with its tokens, without forgotten ones.
        One page of gists is in memory at a time: the next one fits where the last one was."""
        rendered: dict[Place, tuple[Message, int]] = {}
        for page in pages(items):
            places = [item.place for item in page]
            calls = self.calls(places, messages)
            gists = self.gists(places, calls)
            for item in page:
                place, step, call = item.place, item.place.shown, calls.get(item.place)
                if place not in gists:  # forgotten
                    continue
                gist = gists[place]
                if item.shape.form == Form.SUMMARY:
                    text = summary(place, item.shape.text or gist.summary, call)
                    rendered[place] = self._result(step, text)
                else:
                    text = reference(place, gist, item.shape, call)
                    rendered[place] = self._result(step, text, reference_tokens(text, gist))
        return rendered

    def _render(self, item: Shown) -> tuple[Message, int]:
        """Return a message that is neither shown in full nor by its gist, and its tokens."""
        place, shape, step = item.place, item.shape, item.place.shown
        if item.is_left_out:
            return self._result(step, SKIPPED)
        if shape.form == Form.COLLAPSED:
            message = collapse(without_thoughts(self.message(step)), place)
            return message, self._count(message.text)
        if shape.is_verbatim:
            return self._result(step, shape.text or "")
        if shape.form == Form.TRUNCATED:
            text = truncate(whole_text(self.message(step)), place, shape)
            if text is None:
                return self.message(step), step.token_count
            return self._result(step, text)
        return self.message(step), step.token_count  # forgotten

    def _result(self, step: Step, text: str, tokens: int | None = None) -> tuple[Message, int]:
        """Return a result with another text."""
        result = Message("tool", text, step.tool_call_id, step.name, step.is_error, step.origin)
        return result, self._count(text) if tokens is None else tokens

    def calls(
        self, results: Collection[Place], messages: Mapping[Place, Message] | None = None
    ) -> dict[Place, ToolCall]:
        """Return the calls that these results answer, as they read now, without missing ones.
        `messages` are those that are loaded already."""
        turns = {place.call.origin.id: place.call for place in results if place.call}
        calls = self._noted_calls([place for place in results if place.call is None])
        for turn in turns.values():
            message = messages.get(turn) if messages else None
            answering = (message or self.message(turn.shown)).tool_calls
            for result, call in zip(turn.answers, answering, strict=True):
                if result:
                    calls[result] = call
        return calls

    def _noted_calls(self, results: Sequence[Place]) -> dict[Place, ToolCall]:
        """Return the calls of results that were recorded without them. A hook sees only results,
        and notes the arguments with them."""
        infos = self._store.infos([Head(place.shown.id, place.shown.hash) for place in results])
        return {
            place: ToolCall(place.label, info.name, info.metadata["arguments"])
            for place, info in zip(results, infos, strict=True)
            if info.name and "arguments" in info.metadata
        }

    def gists(self, results: Sequence[Place], calls: Mapping[Place, ToolCall]) -> dict[Place, Gist]:
        """Return the gists of results, without forgotten ones. One that is made now has tokens if
        the one that is stored with the same content has them."""
        stored = self._stored_gists(results)
        gists = self._gists_of(results, calls, stored)
        for place, gist in gists.items():
            first = None if gist.token_count else stored.get(place.shown.blob_id or 0)
            if first and first.token_count:
                count = self._count(gist.summary + gist.preview)
                gists[place] = replace(gist, token_count=count)
        return gists

    def failures(self, places: Sequence[Place]) -> list[Place]:
        """Return the results among these that are flagged as errors, or report one."""
        new = [place for place in places if not place.shown.is_error]
        gists = self._gists_of(new, self.calls(new), self._stored_gists(new))
        failed = {place for place, gist in gists.items() if gist.is_error}
        return [place for place in places if place.shown.is_error or place in failed]

    def _stored_gists(self, results: Iterable[Place]) -> dict[int, Gist]:
        return self._store.contents.gists([place.shown.blob_id or 0 for place in results])

    def _gists_of(
        self,
        results: Iterable[Place],
        calls: Mapping[Place, ToolCall],
        stored: Mapping[int, Gist],
    ) -> dict[Place, Gist]:
        """Return the gists of results. Several may have one content, and be of different calls:
        each has the one that would be stored if it had been written first. What is made is kept,
        because results that are listed are often shortened next."""
        gists: dict[Place, Gist] = {}
        new: list[Place] = []
        for place in results:
            step, call = place.shown, calls.get(place)
            for gist in (stored.get(step.blob_id or 0), self._made.get(step.hash)):
                if gist and is_gist_of(gist, call):
                    gists[place] = gist
                    break
            else:
                new.append(place)
        for place, message in self._load_all(new):
            gists[place] = gist_of(message.content, calls.get(place))
            if self._keeps:
                self._made[place.shown.hash] = gists[place]
        return gists

    def toolset(self, digest: bytes | None) -> Toolset | None:
        return None if digest is None else self._store.toolset(digest)

    def _offered(self, transcript: Transcript, inline: bool) -> Offered:
        """Return the tools in force; inline, the first tools and their later changes."""
        if not inline:
            return Offered(self.toolset(self._chain.toolset))
        base: Toolset | None = None
        later: dict[int, Toolset] = {}
        for step, digest in self._chain.toolset_changes():
            toolset = self._store.toolset(digest)
            if base is None or not base.tools:
                base = toolset
            else:
                first = bisect_left(transcript.places, step.id)
                roles = [step.role for step in transcript.steps[:first]]
                later[roles.count("assistant")] = toolset
        return Offered(base, later)

    def message(self, step: Step) -> Message:
        """Return the message of a commit; a fixed text if it was forgotten. Large messages are
        loaded once."""
        if step.data is not None:
            return _message(step, from_json(step.data))
        message = self._large.get(step.hash)
        if message is None:
            try:
                message = self.load(step)
            except ForgottenError:
                message = _tombstone(step)
            if self._keeps:
                self._large[step.hash] = message
        return message

    def _large_messages(self, steps: Iterable[Step]) -> dict[bytes, Message]:
        """Return the large messages among these, by their commits. New ones are loaded together."""
        large = [step for step in steps if step.data is None]
        messages = {s.hash: self._large[s.hash] for s in large if s.hash in self._large}
        new: dict[int, list[Step]] = {}
        for step in large:
            if step.hash in self._fresh:
                messages[step.hash] = _message(step, self._fresh[step.hash])
            elif step.hash not in messages:
                new.setdefault(step.blob_id or 0, []).append(step)
        self._forget_fresh()
        sizes = {blob_id: steps[0].byte_size for blob_id, steps in new.items()}
        for blob_id, content in self._store.contents.values(sizes) if sizes else ():
            for step in new.pop(blob_id):
                messages[step.hash] = _message(step, content)
        messages |= {step.hash: _tombstone(step) for steps in new.values() for step in steps}
        if self._keeps:
            self._large |= messages
        return messages

    def _load_all(self, places: Iterable[Place]) -> Iterator[tuple[Place, Message]]:
        """Load the messages of these, without forgotten ones, a page of large ones at a time."""
        large: dict[int, list[Place]] = {}
        for place in places:
            step = place.shown
            message = self.load(step) if step.data is not None else self._large.get(step.hash)
            if message is None:
                large.setdefault(step.blob_id or 0, []).append(place)
            elif message.content != FORGOTTEN:  # no text that is so short is stored by itself
                yield place, message
        sizes = {blob_id: having[0].shown.byte_size for blob_id, having in large.items()}
        for blob_id, content in self._store.contents.values(sizes) if sizes else ():
            for place in large[blob_id]:
                yield place, _message(place.shown, content)

    def load(self, step: Step) -> Message:
        """Return the message of a commit; raise ForgottenError if it was forgotten."""
        if step.data is not None:
            return _message(step, from_json(step.data))
        return _message(step, self._store.contents.value(step.blob_id or 0))

    def _start_anew(self) -> None:
        self._erasures = self._store.erasures
        self._chain, self._head, self._large, self._made = Chain(), EMPTY, {}, {}
        self._forget_fresh()
        self._transcript, self._transcribed = Transcript(), 0


def _message(step: Step, content: Json) -> Message:
    """The message of a commit with this content. Every cold start runs this once per message."""
    if type(content) is not str or step.calls:
        content = _unpacked(step, content)
    return Message(
        step.role or "", content, step.tool_call_id, step.name, step.is_error, step.origin
    )


def _unpacked(step: Step, packed: Json) -> Json:
    """The content, if it has the calls that are stored beside it."""
    content, calls = unpack_content(step.role or "", packed), []
    if isinstance(content, tuple):
        calls = [(block.id, block.name) for block in content if isinstance(block, ToolCall)]
    if calls != [*map(tuple, step.calls)]:  # lists, if a server sent them
        raise CorruptError(f"commit {step.hash.hex()}: its calls were altered")
    return content


def _tombstone(step: Step) -> Message:
    calls = [ToolCall(call_id, name) for call_id, name in step.calls]
    content = (Text(FORGOTTEN), *calls) if calls else FORGOTTEN
    return Message(step.role or "", content, step.tool_call_id, step.name, step.is_error)
