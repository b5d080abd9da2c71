"""What a page compares: requests in parts, two of them side by side, and the graph of commits."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any, NamedTuple

from tract.content.blocks import bytes_of
from tract.context import CompiledContext
from tract.core.place import mark_text
from tract.errors import InputError
from tract.model import CommitInfo, Head
from tract.providers import PROVIDERS
from tract.providers.usage import usage_of
from tract.remote.views import (
    Body,
    CacheRead,
    ComparedPair,
    Comparison,
    GraphItem,
    RequestView,
    UnitHead,
)
from tract.tract import Tract
from tract.view.blocks import ToolResultBlock
from tract.view.bodies import diff_nodes
from tract.view.comparison import align, difference, tool_words, totals
from tract.view.graph import GraphRow, graph_rows, merge_logs
from tract.view.lines import SHORT, first_line
from tract.view.sanitize import one_line
from tract.view.units import TextUnit, message_units, request_units, unfolded
from tract.web.methods import Page, Request, commit_name, page
from tract.web.reading import limit_of
from tract.web.views import begin_of, body_lines

KEPT = 4
"""Compiled requests that stay in memory: a page opens them part by part."""
LOOKED_AT = 4000
"""Characters of a part that are looked at for what it is about."""
_BREAKPOINT = re.compile(r'"cache_control"|"cachePoint"')
_TELLING = re.compile(
    r'"(?:text|content|description|arguments|output|input)": (?:"((?:[^"\\]|\\.){1,200})|\S)'
)
"""What a part of a request is about, more than its first line is."""
_NAME = re.compile(r'"name": "([^"]{1,200})')


class Compiled(NamedTuple):
    """What was compiled at a commit, in parts."""

    context: CompiledContext
    units: list[TextUnit]
    notes: list[str]


class Contrasts:
    """Answers what a page compares. Each method runs on the dialog's lane."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[object, ...], Compiled] = OrderedDict()
        self._lock = Lock()  # lanes share this

    def _compiled(self, tract: Tract, at: str | None, provider: str | None) -> Compiled:
        """What a model is sent at a commit: as a request, or as messages for people."""
        if provider not in (None, *PROVIDERS):
            raise InputError(
                f"unknown provider {provider!r:.80}; expected one of {', '.join(PROVIDERS)}"
            )
        session = tract.session
        head = session.head(at)
        key = tract.dialog, head, session.settings.is_lazy, tract.store.erasures, provider
        with self._lock:
            kept = self._kept.pop(key, None)
        if kept is None:
            kept = _compile(tract, head, provider)
        with self._lock:
            self._kept[key] = kept
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return kept

    # One request

    def view_request(self, tract: Tract, request: Request) -> RequestView:
        """A request in parts, each in short form."""
        fields = request.fields
        at = point(tract, fields.get("at"))
        context, units, notes = self._compiled(tract, at, fields["provider"])
        return RequestView(
            provider=fields["provider"],
            at=at or tract.head,
            tokens=context.token_count,
            tool_tokens=context.tool_tokens,
            notes=notes,
            units=[_head(unit) for unit in units],
            cache=_cache(tract, fields.get("at"), units),
        )

    def view_unit(self, tract: Tract, request: Request) -> Body:
        """A part of a request in full."""
        fields = request.fields
        units = self._compiled(tract, point(tract, fields.get("at")), fields["provider"]).units
        block = ToolResultBlock(text=_unit(units, fields["unit"]).text)
        return body_lines(block, begin_of(fields))

    # Two of them

    def view_comparison(self, tract: Tract, request: Request) -> Comparison:
        """How two moments differ, as requests or as messages."""
        old, new = self._both(tract, request)
        pairs = [
            ComparedPair(pair.kind, _label(old, new, pair.old, pair.new), pair.old, pair.new)
            for pair in align(old.units, new.units)
        ]
        return Comparison(
            old=totals(old.context),
            new=totals(new.context),
            tools=tool_words(old.context, new.context),
            pairs=pairs,
        )

    def view_difference(self, tract: Tract, request: Request) -> Body:
        """The lines of two parts that differ."""
        old, new = self._both(tract, request)
        fields = request.fields
        before, after = (
            unfolded(_unit(one.units, fields[name]).text) if name in fields else ""
            for one, name in ((old, "old_unit"), (new, "new_unit"))
        )
        return Body(nodes=diff_nodes(difference(before, after)))

    def _both(self, tract: Tract, request: Request) -> tuple[Compiled, Compiled]:
        fields = request.fields
        old, new = (
            self._compiled(tract, point(tract, fields[name]), fields.get("provider"))
            for name in ("old", "new")
        )
        return old, new

    # The graph

    def view_graph(self, tract: Tract, request: Request) -> Page:
        """The commits of all branches, newest first, with the lines between them."""
        store, first = tract.store, tract.session.branch
        heads = store.branches(tract.dialog).values()
        commits = merge_logs(store.keyed_log(head.id) for head in heads if head.id)
        rows = graph_rows(commits, tract.branches(), first)
        return page(map(_item, rows), request.fields.get("cursor"), limit_of(request))


def point(tract: Tract, name: str | None) -> str | None:
    """A commit by its name. `HASH^` is the one before it, which an answer was given to."""
    if name is None or not name.endswith("^"):
        commit: str | None = commit_name(tract, name)
        return commit
    parent = tract.get_commit(commit_name(tract, name[:-1])).parent_hash
    if parent is None:
        raise InputError(f"{name[:-1]!r:.80} is the first commit: there is nothing before it")
    return parent


def _compile(tract: Tract, head: Head, provider: str | None) -> Compiled:
    """On an instance of its own, so that what the dialog has open stays where it is."""
    other = tract.sibling(tract.dialog)
    other.session.branch, other.session.detached = tract.session.branch, tract.session.detached
    context = other.compile(head.hash.hex() if head.hash else None)
    if provider is None:
        return Compiled(context, message_units(context), [])
    units = request_units(context.to_params(provider))
    return Compiled(context, units, [one_line(note) for note in context.notes_for(provider)])


def _unit(units: list[TextUnit], number: int) -> TextUnit:
    if not 0 <= number < len(units):
        raise InputError(f"this request has {len(units)} parts; there is no number {number}")
    return units[number]


def _head(unit: TextUnit) -> UnitHead:
    words = _subject(unit.text) or unit.text
    is_breakpoint = _BREAKPOINT.search(unit.text) is not None
    return UnitHead(unit.label, bytes_of(unit.text), first_line(words), is_breakpoint)


def _subject(text: str) -> str:
    """The first text of a part; else the name of what is called."""
    texts = (one[1] for one in _TELLING.finditer(text, 0, LOOKED_AT))
    names = (one[1] for one in _NAME.finditer(text, 0, LOOKED_AT))
    subject = next(filter(None, texts), None) or next(names, "")
    return subject.replace("\\n", " ").replace('\\"', '"')


def _label(old: Compiled, new: Compiled, at_old: int | None, at_new: int | None) -> str:
    if at_new is not None:
        return new.units[at_new].label
    return old.units[at_old or 0].label


def _cache(tract: Tract, at: str | None, units: list[TextUnit]) -> CacheRead | None:
    """How far the provider read from its cache, for the request that an answer was given to."""
    if at is None or not at.endswith("^"):
        return None
    recorded = tract.get_commit(commit_name(tract, at[:-1])).usage
    usage = usage_of(recorded) if recorded else None
    if usage is None or not usage.sent:
        return None
    # Parts have no counts of their own, so their sizes tell how far it reaches.
    left = sum(len(unit.text) for unit in units) * usage.cached / usage.sent
    for number, unit in enumerate(units):
        left -= len(unit.text)
        if left < 0:
            return CacheRead(usage.cached, usage.sent, number)
    return CacheRead(usage.cached, usage.sent, len(units))


def _item(row: GraphRow) -> GraphItem:
    commit: CommitInfo = row.commit
    name = f" {one_line(commit.name)}" if commit.name else ""
    is_append = commit.operation == "append"
    what = f"{commit.role}{name}" if is_append else str(commit.operation)
    return GraphItem(
        commit=commit.commit_hash,
        what=what,
        text=one_line(commit.message or commit.preview or _marks(commit)),
        time=commit.created_at,
        tokens=commit.token_count,
        column=row.column,
        lines=list(row.lines),
        branches=list(row.branches),
    )


def _marks(commit: CommitInfo) -> str:
    texts = [mark_text(mark.kind, mark.value, mark.target[:SHORT]) for mark in commit.marks]
    return ", ".join(texts) or ("sets the tools" if commit.toolset_hash else "")


READING: dict[str, Callable[[Contrasts, Tract, Request], Any]] = {
    "view_request": Contrasts.view_request,
    "view_unit": Contrasts.view_unit,
    "view_comparison": Contrasts.view_comparison,
    "view_difference": Contrasts.view_difference,
    "view_graph": Contrasts.view_graph,
}
