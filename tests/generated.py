"""Histories without a database, made of a number: as many of them as a test wants, fast."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from random import Random
from typing import Any, NamedTuple, cast

from tests.strategies import ODD_IDS, ODD_TEXTS, PICTURES, THOUGHTS
from tests.toolkit import claude_tool, tool
from tract import CompiledContext, Form, Message, Priority, Shape, Text, ToolCall
from tract.compiler import Compiler
from tract.content.preview import gist_of
from tract.core import drafts
from tract.core.chain import Place
from tract.core.drafts import NO_DETAILS
from tract.core.forms import ResultView, is_fixed
from tract.hashing import from_json
from tract.model import EMPTY, Draft, Gist, Head, Step, Toolset
from tract.providers import PROVIDERS, toolsets
from tract.providers.requests import load
from tract.storage import Store
from tract.tokens import token_counter


def replacement(call_id: str, times: int = 1) -> str:
    """What an id is sent as that a provider does not accept, or has seen that often."""
    seed = f"{call_id}\0{times}".encode("utf-8", "surrogatepass")
    return "call_" + sha256(seed).hexdigest()[:24]


TOKENS = token_counter("chars/4")
FORMS = {
    "reference": Shape(Form.REFERENCE),
    "truncated": Shape(Form.TRUNCATED, 5),
    "summary": Shape(Form.SUMMARY, text="in short"),
    "collapsed": Shape(Form.COLLAPSED),
}
VIEWS = {
    "no results": ResultView(load=False),
    "a recent result": ResultView(load=False, keep_recent=1),
}
NAMES = ["run", "read", "grep", "a tool!", "a_tool_a96d5fdd", "x" * 90]
TOOLSETS = [
    toolsets.make(tools, TOKENS)
    for tools in (
        [],
        [claude_tool(name) for name in NAMES[2:]],
        [tool(name) for name in NAMES[:2]],
        [claude_tool("run", x="string"), claude_tool("read")],
    )
]
REPLACED = [replacement(call_id) for call_id in ODD_IDS]
"""Ids that others are replaced by."""
SAID = [text for text in ODD_TEXTS if len(text) < 100]
CONTENTS: list[Any] = [
    "",
    None,
    {"error": "it broke"},
    [1, {"a": "b" * 90}],
    [{"type": "text", "text": "t" * 90}, PICTURES[0].data],
    "\0\ud800",
    "a line\n" * 20,
]


@lru_cache(maxsize=4096)
def _gist(data: bytes) -> Gist:
    return gist_of(from_json(data))


class Noted(NamedTuple):
    """What a compiler reads of a commit whose result has no call."""

    name: str | None
    metadata: Mapping[str, Any]


class MemoryStore:
    """What a compiler reads of a store: steps, gists and toolsets."""

    erasures = 0

    def __init__(self) -> None:
        self.contents = self
        self._steps: list[Step] = []
        self._toolsets: dict[bytes, Toolset] = {}

    def add(self, draft: Draft) -> Head:
        """Write a commit behind the last one."""
        number, message, toolset = len(self._steps) + 1, draft.message, draft.toolset
        if toolset:
            self._toolsets[toolset.hash] = toolset
        digest = number.to_bytes(32, "big")
        step = Step(
            number,
            digest,
            str(draft.operation),
            toolset=toolset.hash if toolset else None,
            links=draft.links,
        )
        if message:
            step = Step(
                number,
                digest,
                str(draft.operation),
                message.role,
                number,
                draft.payload,
                draft.token_count,
                draft.token_source,
                toolset.hash if toolset else None,
                message.tool_call_id,
                message.name,
                message.is_error,
                message.origin,
                [[call.id, call.name] for call in message.tool_calls],
                links=draft.links,
                byte_size=len(draft.payload or b""),
            )
        self._steps.append(step)
        return Head(number, digest)

    def steps(self, head: Head, known: Head = EMPTY) -> list[Step]:
        return self._steps[known.id or 0 : head.id]

    def infos(self, heads: Sequence[Head]) -> list[Noted]:
        return [Noted(self._steps[(head.id or 0) - 1].name, {}) for head in heads]

    def gists(self, blobs: Sequence[int]) -> dict[int, Gist]:
        return {blob: _gist(self._steps[blob - 1].data or b"") for blob in blobs}

    def toolset(self, digest: bytes) -> Toolset:
        return self._toolsets[digest]


class History:
    """A dialog that is made of a number."""

    def __init__(self, number: int) -> None:
        self._random = Random(number)
        self._begin()
        self._calls = 0
        self._ids: list[str] = []
        self.pairs: dict[int, str] = {}
        """Calls whose result can be told by its text: those with an id of their own."""
        self.came_from: str | None = None
        """The provider in whose format the messages came; None for those of tract's own."""
        self._tell()
        if self._random.random() < 0.25:
            self._come_from(self._random.choice(list(PROVIDERS)))
        for _ in range(self._random.randrange(3)):
            self._change()

    def _begin(self) -> None:
        self._store = MemoryStore()
        self._compiler = Compiler(cast(Store, self._store), TOKENS.count)
        self._head = EMPTY

    def _come_from(self, provider: str) -> None:
        """The same history as a request to a provider, read again."""
        self.came_from = provider
        request = self._compile().to_params(provider)
        self._begin()
        for message in load(request, provider).messages:
            self._say(message)

    # What is said

    def _tell(self) -> None:
        chance = self._random
        if chance.random() < 0.5:
            self._say(Message("system", chance.choice(["Be brief.", "", "\n"])))
        for _ in range(chance.choice([1, 1, 2, 2, 2, 3])):
            if chance.random() < 0.3:
                self._add(drafts.offer(chance.choice(TOOLSETS), NO_DETAILS))
            if chance.random() < 0.8:
                self._say(Message("user", self._words()))
            self._turn()
            if chance.random() < 0.1:
                self._say(Message("system", "Be kind."))
        if chance.random() < 0.6:
            self._say(Message("user", "And?"))

    def _words(self) -> Any:
        chance = self._random
        if chance.random() < 0.7:
            return chance.choice(["look", "go on", *SAID])
        return (Text("see"), chance.choice(PICTURES))

    def _turn(self) -> None:
        """An answer, perhaps with calls whose results are missing, late, doubled or another's."""
        chance = self._random
        thoughts = chance.choices(THOUGHTS, k=chance.choice([0, 0, 1, 2]))
        calls = [self._call() for _ in range(chance.choice([0, 1, 1, 1, 2, 3]))]
        text = [Text(chance.choice(["so", *SAID]))] if chance.random() < 0.6 else []
        self._say(Message("assistant", (*thoughts, *text, *calls)))
        late = []
        for call in chance.sample(calls, len(calls)):
            answer = self._result(call)
            match chance.choice(["here"] * 6 + ["missing", "late", "twice", "another's"]):
                case "here":
                    self._say(answer)
                case "late":
                    late.append(answer)
                case "twice":
                    self._say(answer)
                    self._say(Message("tool", "again", call.id, call.name))
                case "another's":
                    self._say(Message("tool", "lost", chance.choice(ODD_IDS), call.name))
        if late:
            self._say(Message("assistant", "meanwhile"))
            for answer in late:
                self._say(answer)

    def _call(self) -> ToolCall:
        chance = self._random
        self._calls += 1
        own = f"call_{self._calls}_of_many"
        call_id = own if chance.random() < 0.6 else chance.choice([*ODD_IDS, *REPLACED])
        if chance.random() < 0.1 and self._ids:
            call_id = chance.choice(self._ids)  # an id that another call had
        self._ids.append(call_id)
        return ToolCall(call_id, chance.choice(NAMES), {"n": self._calls})

    def _result(self, call: ToolCall) -> Message:
        chance, number = self._random, call.arguments["n"]
        text = f"result {number}."
        if chance.random() < 0.4:
            return Message(
                "tool", chance.choice(CONTENTS), call.id, call.name, chance.random() < 0.2
            )
        if self._ids.count(call.id) == 1:
            self.pairs[number] = text
        return Message("tool", text, call.id, call.name)

    def _say(self, message: Message) -> None:
        self._add(drafts.append(message, NO_DETAILS, TOKENS))

    def _add(self, draft: Draft) -> None:
        self._head = self._store.add(draft)

    # What is changed

    @property
    def _visible(self) -> list[Place]:
        return [place for place in self._compiler.chain(self._head).places if not place.summary]

    def _change(self) -> None:
        chance = self._random
        if not self._visible:
            return
        place = chance.choice(self._visible)
        match chance.choice(["skip", "pin", "edit", "compress"]):
            case "skip" if not any(p.priority == Priority.PINNED for p in place.turn):
                self._add(drafts.prioritize([place], Priority.SKIP, NO_DETAILS))
            case "pin":
                self._add(drafts.prioritize([place], Priority.PINNED, NO_DETAILS))
            case "edit":
                self._edit(place)
            case "compress" if not any(p.summary for p in place.turn):
                self._add(drafts.compress(place.turn, "[Summary] it went on", NO_DETAILS, TOKENS))

    def _edit(self, place: Place) -> None:
        old = self._compiler.message(place.shown)
        content: Any = "in other words"
        if old.tool_calls and self._random.random() < 0.5:
            content = (Text(content), *old.tool_calls[1:])  # a call is gone
        new = Message(old.role, content, old.tool_call_id, old.name)
        self._add(drafts.edit(place, old, new, NO_DETAILS, TOKENS))

    # What is sent

    def contexts(self) -> Iterator[tuple[str, CompiledContext]]:
        """The history in all forms."""
        yield "full", self._compile()
        for name, view in VIEWS.items() if self._results else ():
            yield name, self._compile(view=view)
        inline = self._compile(inline_tools=True)
        if inline.has_changed_tools:
            yield "inline tools", inline
        for form, shape in FORMS.items():
            if results := self._results:
                self._add(drafts.reshape([(place, shape) for place in results], NO_DETAILS))
                yield form, self._compile()

    def _compile(self, **options: Any) -> CompiledContext:
        return self._compiler.compile(self._head, **options)

    @property
    def _results(self) -> list[Place]:
        """Those that can have a form."""
        return [p for p in self._visible if p.origin.role == "tool" and not is_fixed(p)]
