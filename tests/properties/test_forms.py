"""Random histories with results in random forms: what is sent stays valid, nothing is lost, and
every original can be fetched by what is shown of it."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.forms import IMAGE, dialogs, more_ids, requests, shapes
from tests.validity import violations
from tract import CompiledContext, Form, Message, Priority, Shape, Text, ToolCall, Tract
from tract.content.blocks import whole_text

PAGE = 700

# Histories


views: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "load_tool_results": st.none() | st.booleans() | st.lists(more_ids, max_size=2),
        "keep_recent": st.integers(0, 3),
        "inline_under": st.sampled_from([0, 5, 10**6]),
    },
)


def a_view(t: Tract, data: st.DataObject) -> dict[str, Any]:
    """A view that loads only results that are there."""
    view = data.draw(views)
    if isinstance(view.get("load_tool_results"), list):
        known = {info.tool_call_id for info in t.find_tool_results()}
        view["load_tool_results"] = [name for name in view["load_tool_results"] if name in known]
    return view


def written(t: Tract, dialog: list[Message], data: st.DataObject) -> None:
    """Some results are born in a form."""
    with t.batch():
        for message in dialog:
            form = data.draw(st.none() | shapes) if message.role == "tool" else None
            t.commit(message, form=form)


def reshape(t: Tract, data: st.DataObject) -> dict[str, Shape]:
    """Other forms for some results."""
    results = [info.commit_hash for info in t.find_tool_results()]
    chosen = data.draw(st.lists(st.sampled_from(results), unique=True)) if results else []
    given = {commit: data.draw(shapes) for commit in chosen}
    if given:
        t.reshape(given)
    return given


def annotate(t: Tract, data: st.DataObject) -> None:
    """Marks on the first and the last result, after which nothing is reshaped any more."""
    results = t.find_tool_results()
    for result in (results[0], results[-1]) if results else ():
        t.annotate(result, data.draw(st.sampled_from(Priority)))


# What has to hold


def spoken(dialog: list[Message]) -> list[str]:
    """All that user and assistant said, without what is empty."""
    texts = (
        block.text
        for message in dialog
        if message.role in ("user", "assistant")
        for block in message.blocks
        if isinstance(block, Text)
    )
    return [text for text in texts if text.strip()]


def ends(context: CompiledContext) -> bool:
    """Whether the assistant speaks last: a collapsed turn must not make it so."""
    return bool(context.to_openai()[-1]["role"] == "assistant")


def lost(context: CompiledContext, dialog: list[Message]) -> list[str]:
    """Texts that are not in the requests any more, in their order."""
    missing = []
    for request in (context.to_openai(), context.to_anthropic()):
        strings = list(_strings(request))
        missing += [text for text in spoken(dialog) if not any(text in each for each in strings)]
    return missing


def _strings(value: Any) -> Any:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


class Sign(NamedTuple):
    """What a model sees of results that are not shown whole."""

    label: str
    is_error: bool


ASKED = re.compile(r'get_tool_result\(id=("(?:[^"\\]|\\.)*")\)')
COLLAPSED = re.compile(r"^\[Called \w+ \((\S+?)\)(; failed)?; result not shown\]$")


def signs(context: CompiledContext) -> list[Sign]:
    found = []
    for message in context.messages:
        for block in message.blocks:
            line = COLLAPSED.match(block.text) if isinstance(block, Text) else None
            if line:
                found.append(Sign(line[1], line[2] is not None))
        if message.role == "tool" and isinstance(message.content, str):
            asked = ASKED.findall(message.content)
            found += [Sign(json.loads(asked[-1]), message.is_error)] if asked else []
    return found


def fetched(t: Tract, label: str) -> str:
    """A whole result, page by page, as a model would get it."""
    pages, offset = [], 0
    while True:
        answer = t.get_tool_result(label, offset=offset, limit=PAGE)
        head, _, rest = answer.partition("\n")
        assert "preview only" not in head
        more = rest.rpartition("\n[more: call again with offset=")
        is_last = f"[more: call again with offset={offset + PAGE}, limit={PAGE}]" not in rest[PAGE:]
        pages.append(rest if is_last else more[0])
        if is_last:
            return "".join(pages)
        assert len(pages[-1]) == PAGE
        offset += PAGE


def originals(t: Tract) -> list[tuple[str, str, bool]]:
    """Each result as it was given, by its commit, with its error flag."""
    return [
        (info.commit_hash, whole_text(t.get_message(info)), info.is_error)
        for info in t.find_tool_results()
    ]


# The properties


@settings(max_examples=60)
@given(dialogs, st.data())
def test_every_view_is_valid_and_loses_nothing(dialog: list[Message], data: st.DataObject) -> None:
    with Tract.open() as t:
        written(t, dialog, data)
        for change in (reshape, annotate, None):
            for view in ({}, a_view(t, data)):
                context = t.compile(**view)
                assert violations(context) == []
                assert lost(context, dialog) == []
                assert ends(context) == ends(t.compile(load_tool_results=True))
            if change:
                change(t, data)
        assert t.fsck().ok


@settings(max_examples=40)
@given(dialogs, st.data())
def test_twice_is_once(dialog: list[Message], data: st.DataObject) -> None:
    with Tract.open() as t:
        written(t, dialog, data)
        first = reshape(t, data)
        view = a_view(t, data)
        once = requests(t.compile(**view))
        assert requests(t.compile(**view)) == once
        if first:
            t.reshape(first)
            assert requests(t.compile(**view)) == once


@settings(max_examples=40)
@given(dialogs, st.data())
def test_undoing_a_reshape_brings_every_byte_back(
    dialog: list[Message], data: st.DataObject
) -> None:
    with Tract.open() as t:
        written(t, dialog, data)
        before = t.compile()
        told = [before.to_openai(), before.to_anthropic()]
        if reshape(t, data):
            t.restore(t.head or "")
        after = t.compile()
        assert [after.to_openai(), after.to_anthropic()] == told


mostly_collapsed = st.sampled_from([*[Form.COLLAPSED] * 4, Form.REFERENCE, None])
"""Only a turn that collapses changes what was shown before it was over."""


@settings(max_examples=60)
@given(dialogs, st.data())
def test_a_view_that_grows_is_the_view_at_once(dialog: list[Message], data: st.DataObject) -> None:
    """What is kept from one compile to the next is what would be made anew."""
    with Tract.open() as t:
        for message in dialog:
            form = data.draw(mostly_collapsed) if message.role == "tool" else None
            t.commit(message, form=form)
            if data.draw(st.integers(0, 3)):
                assert requests(t.compile()) == requests(t.compile(at=t.head))
        reshape(t, data)
        assert requests(t.compile()) == requests(t.compile(at=t.head))


@settings(max_examples=60)
@given(dialogs, st.data())
def test_every_original_is_fetched_by_what_is_shown_of_it(
    dialog: list[Message], data: st.DataObject
) -> None:
    with Tract.open() as t:
        written(t, dialog, data)
        reshape(t, data)
        context = t.compile(**a_view(t, data))
        texts = {commit: (text, is_error) for commit, text, is_error in originals(t)}
        shown = signs(context)
        assert len({sign.label for sign in shown}) == len(shown)
        answers = sorted((fetched(t, sign.label), sign.is_error) for sign in shown)
        hidden = sorted(texts[commit] for commit in commits_not_whole(t, context))
        assert answers == hidden


def commits_not_whole(t: Tract, context: CompiledContext) -> list[str]:
    """The results of which the model does not see all."""
    whole = {
        commit
        for commit, message in zip(context.commit_hashes, context.messages, strict=True)
        if message.role == "tool" and message == t.get_message(commit)
    }
    return [info.commit_hash for info in t.find_tool_results() if info.commit_hash not in whole]


@settings(max_examples=40)
@given(dialogs, st.data())
def test_fetching_never_yields_a_reference(dialog: list[Message], data: st.DataObject) -> None:
    """Also not when everything else is one."""
    with Tract.open() as t:
        t.configure_results(inline_tokens=0)
        written(t, dialog, data)
        given_contents = [message.content for message in dialog if message.role == "tool"]
        for sign in signs(t.compile(load_tool_results=False))[:3]:
            t.assistant("", tool_calls=[ToolCall("g", "get_tool_result", {"id": sign.label})])
            t.answer(ToolCall("g", "get_tool_result", {"id": sign.label}))
            for load in (None, False):
                answer = t.compile(load_tool_results=load).messages[-1]
                if isinstance(answer.content, str):
                    assert answer.content == t.get_tool_result(sign.label)
                else:  # a picture cannot be told
                    assert IMAGE in answer.content
                    assert answer.content in given_contents
        assert violations(t.compile()) == []


@settings(max_examples=40)
@given(dialogs, st.data())
def test_truncated_results_are_never_longer(dialog: list[Message], data: st.DataObject) -> None:
    with Tract.open() as t:
        with t.batch():
            for message in dialog:
                t.commit(message)
        results = t.find_tool_results()
        if results:
            shape = Shape(Form.TRUNCATED, data.draw(st.integers(0, 40)))
            t.reshape({info.commit_hash: shape for info in results})
        context = t.compile()
        for commit, message in zip(context.commit_hashes, context.messages, strict=True):
            if message.role == "tool":
                given_one = t.get_message(commit)
                assert len(whole_text(message)) <= len(whole_text(given_one))
                assert message.is_error == given_one.is_error
