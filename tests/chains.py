"""Chains that are built by hand, and random ones with summaries."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from hypothesis import strategies as st

from tests.strategies import ChainBuilder
from tract.core.chain import Chain
from tract.core.compression import plan_listed
from tract.errors import CompressError, EditError
from tract.model import Head, Priority


def fold(build: ChainBuilder) -> Chain:
    return Chain(build.steps)


def head(step: Any) -> Head:
    return Head(step.id, step.hash)


class Builder(ChainBuilder):
    """Writes summaries too."""

    def compress(self, *sources: Head, tools: bytes | None = None) -> Head:
        links = [self._link("replaces", source) for source in sources]
        return self._add("compress", "user", (), None, links, tools)


@st.composite
def chains_with_summaries(draw: st.DrawFn, *, checked: bool = True) -> Builder:
    """Random messages, edits, marks, summaries of neighbours and undone changes, as the facade
    would write them; unless `checked`, with undone changes that it would refuse."""
    build = Builder()
    for _ in range(draw(st.integers(1, 18))):
        kind = draw(st.sampled_from(["say", "say", "edit", "mark", "compress", "undo"]))
        visible = [head(place.shown) for place in fold(build).places if not place.is_hidden]
        done = [head(step) for step in build.steps if step.operation != "append"]
        if kind == "edit" and visible:
            build.edit(draw(st.sampled_from(visible)))
        elif kind == "mark" and visible:
            build.mark(draw(st.sampled_from(visible)), draw(st.sampled_from(Priority)))
        elif kind == "compress" and visible:
            start = draw(st.integers(0, len(visible) - 1))
            build.compress(*visible[start : start + draw(st.integers(1, 3))])
        elif kind == "undo" and done and not checked:
            build.void(draw(st.sampled_from(done)))
        elif kind == "undo" and done:
            with suppress(EditError):
                build.void(*map(head, fold(build).changes([draw(st.sampled_from(done))])))
        else:
            build.append()
    return build


KINDS = ["say", "call", "result", "result", "edit", "mark", "form", "compress", "compress", "undo"]


@st.composite
def chains_with_everything(draw: st.DrawFn) -> Builder:
    """Messages, calls and results in any order, edits that add calls or take them away, marks,
    forms, summaries of any selection and undone changes, as the facade would write them."""
    build = Builder()
    for _ in range(draw(st.integers(1, 20))):
        kind = draw(st.sampled_from(KINDS))
        chain = fold(build)
        visible = [place for place in chain.places if not place.is_hidden]
        results = [place for place in visible if place.origin.role == "tool"]
        ids = tuple(draw(st.lists(st.sampled_from("aab"), max_size=2)))
        if kind == "edit" and visible:
            place = draw(st.sampled_from(visible))
            is_answer = place.origin.role == "assistant"
            build.edit(head(place.shown), calls=ids if is_answer else ())
        elif kind == "mark" and visible:
            place = draw(st.sampled_from(visible))
            build.mark(head(place.shown), draw(st.sampled_from(Priority)))
        elif kind == "form" and results:
            form = draw(st.sampled_from(["collapsed", "collapsed", "full"]))
            build.reshape(head(draw(st.sampled_from(results)).shown), form)
        elif kind == "compress" and visible:
            chosen = draw(st.lists(st.sampled_from(visible), min_size=1, max_size=3, unique=True))
            whole = {member for place in chosen for member in place.turn}
            with suppress(CompressError):
                for group in plan_listed(chain, list(whole), ()).groups:
                    build.compress(*(head(place.shown) for place in group))
        elif kind == "undo" and build.steps:
            undo_as_named(build, head(draw(st.sampled_from(build.steps))))
        elif kind == "call":
            build.append("assistant", calls=ids)
        elif kind == "result":
            build.append(answers=draw(st.sampled_from("aab")))
        else:
            build.append()
    return build


def undo_as_named(build: Builder, *commits: Head) -> None:
    """Undo commits, by the call that the error names where these cannot be undone alone."""
    heads = {step.hash.hex(): head(step) for step in build.steps}
    try:
        changes = fold(build).changes(commits)
    except EditError as error:
        named = re.findall(r'"(\w{64})"', str(error))
        if not named:
            return  # already undone, or never changed
        changes = fold(build).changes([heads[name] for name in named])
    build.void(*map(head, changes))
