"""What has to hold after any operation."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.pages import PageRows, all_rows, check_rows, sheet_of, timeless
from tests.properties.model import Model, in_force, toolset
from tests.properties.operations import VERBATIM
from tests.properties.world import TOKENS, World, side_branch
from tests.rules import faults
from tests.validity import violations
from tract import CompiledContext, Form, Message, Shape, Text, Tract
from tract.content.blocks import whole_text
from tract.core import drafts
from tract.core.drafts import Details
from tract.errors import CompressError, EditError
from tract.providers import PROVIDERS, toolsets
from tract.providers.server_tools import without_thoughts

Check = Callable[[World, Tract], None]
CHECKS: dict[str, Check] = {}
WEIGHTS: dict[str, int] = {}


def check(weight: int) -> Callable[[Check], Check]:
    def add(function: Check) -> Check:
        CHECKS[function.__name__] = function
        WEIGHTS[function.__name__] = weight
        return function

    return add


def sent(context: CompiledContext) -> dict[str, str]:
    """The bytes for each provider, with the notes and the counts."""
    shown = {name: json.dumps(context.to_params(name)) for name in PROVIDERS}
    for name in PROVIDERS:
        shown[f"notes for {name}"] = "\n".join(context.notes_for(name))
    shown["tokens"] = str([context.token_count, context.message_tokens, context.tokens_by_tool])
    shown["forms"] = str(context.message_forms)
    shown["commits"] = str(context.commit_hashes)
    shown["tools"] = json.dumps(context.tools)
    return shown


def same(a: dict[str, str], b: dict[str, str], what: str) -> None:
    for key, value in a.items():
        assert value == b[key], f"{what}: {key}\n{value}\n{b[key]}"


@check(10)
def valid(world: World, t: Tract) -> None:
    context = t.compile()
    accepted(context, "now")


def accepted(context: CompiledContext, what: str) -> None:
    """By the validators, and by the rules that were written a second time for the tests."""
    refused = violations(context)
    assert not refused, f"{what}: {refused}"
    if context.messages:
        for provider in PROVIDERS:
            wrong = faults(context.to_params(provider), provider)
            assert not wrong, f"{what}: {provider}: {wrong}"


@check(3)
def valid_views(world: World, t: Tract) -> None:
    """Also what is shown as references or in full, and with tools among the messages."""
    accepted(t.compile(load_tool_results=False), "references")
    accepted(t.compile(load_tool_results=True, tools="inline"), "in full, inline")
    accepted(t.stored(), "stored")


@check(10)
def incremental(world: World, t: Tract) -> None:
    """An instance that was open all the time shows what one shows that is opened for it."""
    with world.fresh(t) as fresh:
        same(sent(t.compile()), sent(fresh.compile()), "fresh")
        same(sent(t.compile(tools="inline")), sent(fresh.compile(tools="inline")), "inline")
        turns = [[turn.all_hashes for turn in each.find_tool_turns()] for each in (t, fresh)]
        assert turns[0] == turns[1], f"turns: {turns}"
        results = [each.list_tool_results() for each in (t, fresh)]
        assert results[0] == results[1], f"results: {results}"


@check(4)
def others(world: World, t: Tract) -> None:
    """Every other instance too, whenever it read last."""
    for other in world.instances():
        if other.dialog == t.dialog:
            world.align(other, t)
            same(sent(t.compile()), sent(other.compile()), "another instance")


@check(3)
def recorded(world: World, t: Tract) -> None:
    """What is sent is known."""
    for provider in PROVIDERS:
        _nothing_new(t, t.compile().to_messages(provider), provider)


@check(3)
def recorded_request(world: World, t: Tract) -> None:
    """With its tools too."""
    for provider in PROVIDERS:
        _nothing_new(t, t.compile().to_params(provider), provider)


def _nothing_new(t: Tract, history: Any, what: str) -> None:
    if t.current_branch is None or not t.compile().messages:
        return
    before = t.head, t.branches(), t.current_branch
    new = [(info.operation, info.role, info.preview) for info in t.record(history)]
    assert not new, f"{what}: {new}"
    assert (t.head, t.branches(), t.current_branch) == before, f"{what}: another branch"


@check(4)
def as_in_the_model(world: World, t: Tract) -> None:
    """What is shown where is what a plain fold makes of the log."""
    log, context = world.log(t), t.compile(load_tool_results=True)
    if any(info.content_hash in world.forgotten for info in log):
        return
    view = Model(log, world.messages).view()
    names = [[name for name, _ in view], context.commit_hashes]
    assert names[0] == names[1], f"commits:\n{names[0]}\n{names[1]}"
    for (name, expected), message in zip(view, context.messages, strict=True):
        pair = without_thoughts(expected), without_thoughts(message)
        assert pair[0] == pair[1], f"{name}:\n{pair[0]}\n{pair[1]}"
    none = toolsets.make([], t.tokens).hash.hex()
    active = context.toolset.hash.hex() if context.toolset else None
    assert active == toolset(log, none), f"tools {active}"


@check(3)
def undone_alone(world: World, t: Tract) -> None:
    """Each summary can be undone alone, or the error names the one call that works."""
    if t.current_branch is None:
        return
    for info in in_force(world.log(t)):
        if info.operation != "compress":
            continue
        with side_branch(t):
            try:
                t.restore(info)
            except EditError as error:
                t.restore(*dict.fromkeys(re.findall(r"\b[0-9a-f]{64}\b", str(error))))
            assert info not in in_force(world.log(t)), "still in force"
            accepted(t.compile(), "undone")


@check(2)
def all_undone(world: World, t: Tract) -> None:
    """Without its changes, a history is what the plain appends make."""
    log = world.log(t)
    changes = in_force(log)
    if t.current_branch is None or not changes:
        return
    if any(info.content_hash in world.forgotten for info in log):
        return
    with side_branch(t), Tract.open(tokens=TOKENS) as plain:
        t.restore(*changes)
        with plain.batch():
            for info in log:
                if info.operation == "append":
                    shape = t.session.store.step(t.session.resolve(info)).shape
                    append(plain, world.messages[info.commit_hash], shape)
        after, first = t.compile(), plain.compile()
        # An answer to what was changed at the time loses its thoughts when that is undone.
        spoken = [
            [unlabelled(str(without_thoughts(message))) for message in context.messages]
            for context in (after, first)
        ]
        assert spoken[0] == spoken[1], f"messages:\n{spoken[0]}\n{spoken[1]}"
        if any("thoughts of" in note for note in after.notes):
            return
        for provider in PROVIDERS:
            texts = [unlabelled(json.dumps(c.to_messages(provider))) for c in (after, first)]
            assert texts[0] == texts[1], f"{provider}:\n{texts[0]}\n{texts[1]}"


def append(plain: Tract, message: Message, shape: Shape | None) -> None:
    """As it is: without looking for the call that it may answer."""
    draft = drafts.append(message, Details(shape=shape), plain.tokens)
    plain.session.write(lambda _: draft)


def unlabelled(text: str) -> str:
    """Without labels that are made of the hash of a commit."""
    return re.sub(r"result-[0-9a-f]{12}", "result-", text)


@check(2)
def read_place_by_place(world: World, t: Tract) -> None:
    """A snapshot sends what is compiled, also one that was extended."""
    snapshot, context = world.snapshot(t), t.compile()
    items = [item for item in map(snapshot.sent, snapshot.places) if item]
    messages = [item.message for item in items]
    assert messages == context.messages, f"messages:\n{messages}\n{context.messages}"
    assert [item.form for item in items] == context.message_forms, "forms"
    assert [item.tokens for item in items] == context.message_tokens, "tokens"
    whole = [snapshot.whole(place) for place in snapshot.places if not place.sources]
    assert whole == t.stored().messages, "stored"


@check(2)
def on_a_page(world: World, t: Tract) -> None:
    """Every message is in one row, also on a page that reads only what is new to it."""
    sheet = world.sheets.sheet(t)
    check_rows(sheet)
    page = world.pages.setdefault((t.dialog, t.store.erasures), PageRows())
    page.catch_up(sheet)
    with world.fresh(t) as fresh:
        rows = all_rows(sheet_of(fresh))
    for number, (old, new) in enumerate(zip(page.rows, rows, strict=True)):
        # After an import, times of commits do not count any more.
        pair = timeless(old), timeless(new)
        assert pair[0] == pair[1], f"row {number}:\n{pair[0]}\n{pair[1]}"


@check(2)
def said(world: World, t: Tract) -> None:
    """What user and assistant say in the view is in the requests, whatever the forms of results;
    and none of those lets the assistant speak last."""
    context = t.compile()
    blocks = [
        block
        for info in map(t.get_commit, context.commit_hashes)
        if info.role in ("user", "assistant") and info.content_hash not in world.forgotten
        for block in t.get_message(info).blocks
    ]
    texts = [b.text for b in blocks if isinstance(b, Text) and b.text.strip()]
    for provider in ("openai", "anthropic"):
        strings = "\n".join(_strings(context.to_messages(provider)))
        lost = [text for text in texts if text not in strings]
        assert not lost, f"lost for {provider}: {lost}"
    last = [c.to_openai()[-1:] for c in (context, t.compile(load_tool_results=True))]
    ends = [[message["role"] == "assistant" for message in messages] for messages in last]
    assert ends[0] == ends[1], f"the assistant speaks last: {last}"


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for inner in value.values():
                yield from _strings(inner)
        case list():
            for inner in value:
                yield from _strings(inner)


SIGN = re.compile(r'get_tool_result\(id=("(?:[^"\\]|\\.)*")\) for the full result\]')
PAGE = 7000


@check(2)
def fetched(world: World, t: Tract) -> None:
    """What is not shown in full can be fetched in full, by what is shown of it."""
    for context in (t.compile(), t.compile(load_tool_results=False)):
        each = zip(context.commit_hashes, context.messages, context.message_forms, strict=True)
        for commit, message, form in each:
            if message.role != "tool" or t.get_commit(commit).content_hash in world.forgotten:
                continue
            whole, shown = whole_text(t.get_message(commit)), whole_text(message)
            if form == Form.TRUNCATED and shown != VERBATIM:
                assert len(shown) <= len(whole), f"longer: {shown}"
            labels = SIGN.findall(shown) if form not in (Form.FULL, Form.TRUNCATED) else []
            if labels:
                text = pages(t, json.loads(labels[-1]))
                assert text == whole, f"fetched {labels[-1]}:\n{text}\n{whole}"


def pages(t: Tract, label: str) -> str:
    """A full result, page by page, as a model would get it."""
    parts: list[str] = []
    offset = 0
    while True:
        answer = t.get_tool_result(label, offset=offset, limit=PAGE)
        head, _, rest = answer.partition("\n")
        assert "preview only" not in head, head
        sign = f"\n[more: call again with offset={offset + PAGE}, limit={PAGE}]"
        if not rest.endswith(sign):
            return "".join([*parts, rest])
        parts.append(rest.removesuffix(sign))
        offset += PAGE


@check(2)
def turns_can_be_compressed(world: World, t: Tract) -> None:
    """Whatever `find_tool_turns` returns, and each other result alone, unless it is pinned."""
    if t.current_branch is None:
        return
    turns = [turn.all_hashes for turn in t.find_tool_turns()]
    inside = {name for names in turns for name in names}
    strays = [[info.commit_hash] for info in t.find_tool_results()]
    for names in [*turns, *(names for names in strays if names[0] not in inside)]:
        try:
            t.compress(names, content="S", review=True)
        except CompressError as error:
            if "pinned" not in str(error):
                raise


@check(1)
def kept(world: World, t: Tract) -> None:
    """What was committed is there, unchanged, on every branch."""
    log = [info.commit_hash for info in t.log()]
    chain = world.chain(t.dialog, t.head)
    assert log == chain, f"log:\n{log}\n{chain}"
    names = {name for head in t.branches().values() for name in world.chain(t.dialog, head)}
    for info in map(t.get_commit, sorted(names.union(chain))):
        known = world.infos[t.dialog, info.commit_hash]
        assert info == known, f"commit {info} {known}"
        if info.role is not None and info.content_hash not in world.forgotten:
            assert t.get_message(info) == world.messages[info.commit_hash], "message"


@check(1)
def sound(world: World, t: Tract) -> None:
    problems = t.fsck().problems
    assert not problems, f"{problems}"


EACH_STEP = [name for name in CHECKS if name != "others"]
"""An instance that read after each step would never read several changes at once."""
