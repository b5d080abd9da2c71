"""Hypothesis strategies for what histories are made of, with all that real ones bring along."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from tract.model import Head, Link, Message, Raw, Step, Text, ToolCall


def paired(text: str) -> str:
    """JSON has one spelling for a character beyond the BMP and for its two surrogates in a row."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


# Lone surrogates and NUL are text too: tools print whatever they find.
texts = st.text(st.characters(exclude_categories=()), max_size=20).map(paired)
said = texts.filter(lambda text: bool(text.strip()))
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
json_values: st.SearchStrategy[Any] = st.recursive(
    scalars | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
json_objects = st.dictionaries(texts, json_values, max_size=3)

NASTY_IDS = ["a", "b", "", "functions.Bash:0", "é x", "x" * 60, "\ud800", "\ud801"]
call_ids = st.sampled_from(NASTY_IDS)
names = st.sampled_from(["grep", "read", "run"])
arguments = json_objects | st.sampled_from(["", "{}", '{ "b":1, "a" : 2}', "{broken", "[1]"])
calls = st.builds(ToolCall, call_ids, names, arguments)


@st.composite
def spoken(draw: st.DrawFn) -> Message:
    role = draw(st.sampled_from(["user", "assistant", "assistant", "system"]))
    if role != "assistant":
        return Message(role, draw(texts))
    made = draw(st.lists(calls, max_size=3))
    text = draw(texts)
    return Message(role, (Text(text), *made) if made else text)


results = st.builds(
    Message,
    st.just("tool"),
    texts | json_values,
    call_ids,
    st.none() | names,
    st.booleans(),
)

messages = spoken() | results
histories = st.lists(messages, max_size=12)
"""Anything in any order: open calls, strays, late and doubled results, reused ids."""


@st.composite
def tidy_histories(draw: st.DrawFn) -> list[Message]:
    """A history that every provider takes as it is: a user first, each call answered at once."""
    history = [Message("user", draw(said))]
    for turn in range(draw(st.integers(0, 4))):
        made = [
            ToolCall(f"call_{turn}_{number}", draw(names), draw(json_objects))
            for number in range(draw(st.integers(0, 3)))
        ]
        text = draw(said)
        history.append(Message("assistant", (Text(text), *made) if made else text))
        answered = draw(st.permutations(made))
        history += [Message("tool", draw(texts), call.id, call.name) for call in answered]
        history.append(Message("user", draw(said)))
    return history


# Messages in a provider's own words, with keys that nobody models.

UNKNOWN_KEYS = ["x_unknown_trace", "zz_unknown_to_all"]
unknown_keys = st.dictionaries(st.sampled_from(UNKNOWN_KEYS), json_values, max_size=2)


def known(value: Any) -> Any:
    """What came with unknown keys, as it is sent: without them. Blocks of an unknown type keep
    theirs."""
    if isinstance(value, list):
        return [known(item) for item in value]
    if not isinstance(value, dict) or value.get("type") == "from_next_year":
        return value
    return {key: known(inner) for key, inner in value.items() if key not in UNKNOWN_KEYS}


@st.composite
def shuffled(draw: st.DrawFn, fields: dict[str, Any]) -> dict[str, Any]:
    """The dict with some unknown keys and its keys in some order."""
    items = list({**draw(unknown_keys), **fields}.items())
    return dict(draw(st.permutations(items)))


ANTHROPIC_BLOCKS: list[dict[str, Any]] = [
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QQ"}},
    {"type": "document", "source": {"type": "text", "data": "d"}, "title": None},
    {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
    {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"q": "x"}},
    {"type": "from_next_year", "payload": [1, {"deep": None}]},
]
anthropic_texts: st.SearchStrategy[dict[str, Any]] = st.builds(
    lambda text: {"type": "text", "text": text}, said
)


WHOSE = {"thinking": "assistant", "server_tool_use": "assistant"}
"""Who alone may say these."""


@st.composite
def anthropic_blocks(draw: st.DrawFn, role: str) -> dict[str, Any]:
    """A block that the user or the assistant may say, other than calls and results."""
    sayable = [block for block in ANTHROPIC_BLOCKS if WHOSE.get(block["type"], role) == role]
    return draw(shuffled(draw(st.sampled_from(sayable) | anthropic_texts)))


@st.composite
def anthropic_messages(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A whole, valid conversation for the Messages API."""
    conversation = [draw(_anthropic_said("user"))]
    for turn in range(draw(st.integers(0, 3))):
        ids = [f"toolu_{turn}_{number}" for number in range(draw(st.integers(0, 2)))]
        uses = [
            draw(
                shuffled({"type": "tool_use", "id": i, "name": "run", "input": draw(json_objects)})
            )
            for i in ids
        ]
        before = draw(st.lists(anthropic_blocks("assistant"), min_size=1, max_size=2))
        runs = [block for block in before if block["type"] == "server_tool_use"]
        if not uses:  # a server's tool that runs is waited for, and no thought comes last
            before = [block for block in before if block not in runs]
        content = [*before, *(uses or [draw(shuffled(draw(anthropic_texts)))])]
        conversation.append(draw(shuffled({"role": "assistant", "content": content})))
        if uses:
            answers = [draw(_anthropic_result(i)) for i in draw(st.permutations(ids))]
            more = [] if runs else draw(st.lists(anthropic_blocks("user"), max_size=1))
            conversation.append(draw(shuffled({"role": "user", "content": [*answers, *more]})))
        else:
            conversation.append(draw(_anthropic_said("user")))
    return conversation


@st.composite
def _anthropic_said(draw: st.DrawFn, role: str) -> dict[str, Any]:
    content = draw(said | st.lists(anthropic_blocks(role), min_size=1, max_size=3))
    return draw(shuffled({"role": role, "content": content}))


@st.composite
def _anthropic_result(draw: st.DrawFn, call_id: str) -> dict[str, Any]:
    content = draw(texts | st.lists(anthropic_texts, min_size=1, max_size=2))
    fields: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    if draw(st.booleans()):
        fields["is_error"] = draw(st.booleans())
    return draw(shuffled(fields))


@st.composite
def openai_messages(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A whole, valid conversation for Chat Completions."""
    conversation = [draw(_openai_said(draw(st.sampled_from(["system", "developer", "user"]))))]
    for turn in range(draw(st.integers(0, 3))):
        conversation.append(draw(_openai_said("user")))
        ids = [f"call_{turn}_{number}" for number in range(draw(st.integers(0, 2)))]
        if not ids:
            conversation.append(draw(_openai_said("assistant")))
            continue
        asked = {
            "role": "assistant",
            "content": draw(st.none() | texts),
            "tool_calls": [draw(_openai_call(i)) for i in ids],
        }
        conversation.append(draw(shuffled(asked)))
        conversation += [draw(_openai_result(i)) for i in draw(st.permutations(ids))]
    return conversation


@st.composite
def _openai_said(draw: st.DrawFn, role: str) -> dict[str, Any]:
    part = st.builds(lambda text: {"type": "text", "text": text}, texts)
    image = st.just({"type": "image_url", "image_url": {"url": "data:,", "detail": "low"}})
    parts = st.lists(part | image if role == "user" else part, min_size=1, max_size=2)
    fields: dict[str, Any] = {"role": role, "content": draw(texts | parts)}
    if draw(st.booleans()):
        fields["name"] = "ann"
    if role == "assistant":
        fields |= draw(
            st.sampled_from([{}, {"refusal": None}, {"refusal": None, "annotations": []}])
        )
    return draw(shuffled(fields))


@st.composite
def _openai_call(draw: st.DrawFn, call_id: str) -> dict[str, Any]:
    function = draw(shuffled({"name": draw(names), "arguments": draw(texts)}))
    return draw(shuffled({"id": call_id, "type": "function", "function": function}))


@st.composite
def _openai_result(draw: st.DrawFn, call_id: str) -> dict[str, Any]:
    part = st.builds(lambda text: {"type": "text", "text": text}, texts)
    content = draw(texts | st.lists(part, min_size=1, max_size=2))
    fields: dict[str, Any] = {"role": "tool", "tool_call_id": call_id, "content": content}
    if draw(st.booleans()):
        fields["name"] = "run"
    return draw(shuffled(fields))


# Chains by hand, without a database.


class ChainBuilder:
    """Writes the steps that a database would give back, numbered from 1."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def append(
        self,
        role: str = "user",
        *,
        calls: tuple[str, ...] = (),
        answers: str | None = None,
        tools: bytes | None = None,
        **about: Any,
    ) -> Head:
        """`about` is what else the step has: its name, its form, its tokens."""
        role = "tool" if answers is not None else "assistant" if calls else role
        return self._add("append", role, calls, answers, tools=tools, **about)

    def edit(
        self, target: Head, *, calls: tuple[str, ...] = (), tools: bytes | None = None
    ) -> Head:
        old = self.steps[(target.id or 0) - 1]
        links = [self._link("replaces", target)]
        return self._add("edit", old.role, calls, old.tool_call_id, links, tools)

    def summarize(self, tools: bytes) -> Head:
        """A commit that stands for older ones; what it replaces does not matter here."""
        return self._add("compress", None, (), None, tools=tools)

    def offer(self, tools: bytes) -> Head:
        return self._add("mark", None, (), None, tools=tools)

    def mark(self, target: Head, priority: str) -> Head:
        return self._add("mark", None, (), None, [self._link("priority", target, priority)])

    def reshape(self, target: Head, form: str) -> Head:
        return self._add("mark", None, (), None, [self._link("form", target, form)])

    def void(self, *targets: Head, tools: bytes | None = None) -> Head:
        links = [self._link("void", each) for each in targets]
        return self._add("mark", None, (), None, links, tools)

    def _link(self, kind: str, target: Head, value: str | None = None) -> Link:
        assert target.id is not None
        assert target.hash is not None
        return Link(kind, target.id, target.hash, value)

    def _add(
        self,
        operation: str,
        role: str | None,
        calls: tuple[str, ...],
        answers: str | None,
        links: list[Link] | None = None,
        tools: bytes | None = None,
        **about: Any,
    ) -> Head:
        number = len(self.steps) + 1
        digest = number.to_bytes(32, "big")
        step = Step(
            id=number,
            hash=digest,
            operation=operation,
            role=role,
            tool_call_id=answers,
            name=None,
            is_error=False,
            origin=None,
            calls=[[call, "run"] for call in calls],
            generation_config=None,
            blob_id=number if role else None,
            data=f'"content {number}"'.encode() if role else None,
            token_count=1,
            token_source="test",
            byte_size=9_999,
            toolset=tools,
            links=tuple(links or ()),
        )
        self.steps.append(replace(step, **about))
        return Head(number, digest)


# Histories with everything that goes wrong in real ones, in four providers' words.

LONG_ID = "call_" + "x" * 1500
ODD_IDS = [*NASTY_IDS, LONG_ID, LONG_ID + "y", "a b", "a.b", "工具", "toolu_1", "call_1"]
ODD_TEXTS = ["", " ", "\n", "\0", "\ud800", "😀" * 9, '{"a": 1}', "<tool_call>", "x\n" * 600]
ODD_TEXTS += ["[No result was recorded for this call.]", "ERROR a.py:3: it broke\n" * 90]
odd_texts = st.sampled_from(ODD_TEXTS) | texts
odd_results = odd_texts | st.sampled_from(
    [
        None,
        {"error": "it broke"},
        [1, {"a": "b" * 900}],
        [{"type": "text", "text": "t" * 900}, ANTHROPIC_BLOCKS[0]],
        [ANTHROPIC_BLOCKS[0]],
    ]
)
PICTURES = [
    Raw("anthropic", ANTHROPIC_BLOCKS[0]),
    Raw("openai", {"type": "image_url", "image_url": {"url": "data:image/png;base64,QQ=="}}),
    Raw("gemini", {"inlineData": {"mimeType": "image/png", "data": "QQ=="}}),
]
THOUGHTS = [
    Raw("anthropic", ANTHROPIC_BLOCKS[2]),
    Raw("anthropic", {"type": "redacted_thinking", "data": "x"}),
    Raw("responses", {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}),
    Raw("gemini", {"text": "hm", "thought": True, "thoughtSignature": "c2ln"}),
]


@st.composite
def odd_turns(draw: st.DrawFn) -> list[Message]:
    """A question, and perhaps calls whose results are missing, late, doubled or somebody else's."""
    ids = draw(st.just(["functions.Bash:0"]) | st.lists(st.sampled_from(ODD_IDS), max_size=3))
    calls = [ToolCall(i, draw(names), draw(arguments)) for i in ids]
    thoughts = draw(st.lists(st.sampled_from(THOUGHTS), max_size=2))
    words = draw(odd_texts)
    pictures = draw(st.lists(st.sampled_from(PICTURES), max_size=1))
    out = [
        Message("user", (Text(draw(odd_texts)), *pictures)),
        Message("assistant", (*thoughts, Text(words), *calls)),
    ]
    late = []
    for call in draw(st.permutations(calls)):
        answer = Message("tool", draw(odd_results), call.id, call.name, draw(st.booleans()))
        match draw(st.sampled_from(["here", "here", "here", "missing", "late", "twice", "other"])):
            case "here":
                out.append(answer)
            case "late":
                late.append(answer)
            case "twice":
                out += [answer, replace(answer, content=draw(odd_results))]
            case "other":
                out.append(replace(answer, tool_call_id=draw(st.sampled_from(ODD_IDS))))
    return [*out, *([Message("assistant", "meanwhile")] if late else []), *late]


odd_histories = st.lists(odd_turns(), min_size=1, max_size=3).map(
    lambda turns: [message for turn in turns for message in turn]
)
