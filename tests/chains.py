"""Chains that are built by hand, and random ones with summaries."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from hypothesis import strategies as st

from tests.strategies import ChainBuilder
from tract.core.chain import Chain
from tract.errors import EditError
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
