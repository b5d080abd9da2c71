"""A tool result at a glance: its kind, a one-line summary, and its most useful lines. Pure.

A preview keeps lines as they are. `…` at the end of a line means that it continues, at the front
that it began earlier. A line such as `[… lines 10–1299 …]` stands for lines that were left out, and
every other line in such brackets says something about the text. Nothing is rephrased, and the
result depends only on the content, the call and the budget.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from tract.content.preview import finders
from tract.content.preview.body import Body, body_of
from tract.content.preview.evidence import Evidence, evidence_of
from tract.content.preview.excerpts import (
    Entry,
    Excerpt,
    Section,
    compose,
    entries_of,
    narrow_lines,
    render,
)
from tract.content.preview.lines import Finding, Item, head, tail
from tract.content.preview.verdict import has_failed, is_failure
from tract.content.text import cut, fit, summary_line
from tract.model import Gist, Json, ToolCall

__all__ = ["gist", "gist_of", "has_failed", "is_gist_of", "narrow"]

_WHOLE = (-2,)
"""The ranks of a preview that is all of the text."""


def gist(content: Json, *, call: ToolCall | None = None, budget: int = 1600) -> Gist:
    """The gist of a result, with a preview of at most `budget` characters. The call that it answers
    is evidence: a path or a command says what the text is."""
    return _gist(body_of(content), evidence_of(call), budget)


def gist_of(content: Json, call: ToolCall | None = None) -> Gist:
    """The gist as it is stored with a result: also whether the content reports a failure."""
    body, evidence = body_of(content), evidence_of(call)
    finding = finders.find_in(body, evidence)
    made = _gist(body, evidence, 1600, finding, is_failure(content, body, finding, evidence))
    return replace(made, made_for=evidence.key)


def is_gist_of(gist: Gist, call: ToolCall | None) -> bool:
    """Whether a gist that is stored with a content is true of a result of this call."""
    return not gist.made_for or gist.made_for == evidence_of(call).key


def narrow(gist: Gist, characters: int) -> str:
    """The preview for a smaller budget, made of what is stored: no content is read."""
    if len(gist.preview) <= characters:
        return gist.preview
    for budget, text in gist.narrowed:
        if budget == characters:
            return text
    if gist.ranks == _WHOLE:
        finding = finders.find_kind(gist.preview, gist.kind)
        return _excerpt(Body(gist.preview), finding, characters).text
    if not gist.ranks:
        return cut(gist.preview, characters)
    return narrow_lines(gist.preview, gist.ranks, characters)


def _gist(
    body: Body,
    evidence: Evidence,
    budget: int,
    finding: Finding | None = None,
    is_error: bool = False,
) -> Gist:
    inner = body.text[body.start : body.stop].rstrip("\n")
    if body.form == "binary" or not inner.strip():
        return _gist_without_text(body, budget, is_error)
    finding = finding or finders.find_in(body, evidence)
    is_shell = body.code is not None and finding.kind in ("text", "failure")
    kind = "shell" if is_shell else finding.kind
    summary = summary_line(_summary(body.code, kind, finding.summary))
    if kind != "binary" and len(body.full_text) <= budget:
        excerpt = _rank_all(body, finding) if body.label else Excerpt(body.full_text, _WHOLE)
    else:
        excerpt = _excerpt(body, finding, budget)
    return Gist(kind, summary or kind, excerpt.text, is_error, ranks=excerpt.ranks)


def _gist_without_text(body: Body, budget: int, is_error: bool) -> Gist:
    summary = summary_line(body.text.replace("[… ", "").replace(" …]", "").strip())
    text = body.full_text.rstrip()
    if body.form == "binary":
        return Gist("binary", summary or "binary", fit([text], budget), is_error)
    excerpt = Excerpt(text, _WHOLE)
    if len(text) > budget:
        excerpt = _excerpt(Body(text), finders.find_text_kind(text), budget)
    if body.code is not None:
        facts = ("shell", f"exit code {body.code}, no output")
    else:
        facts = ("text", summary or "empty")
    return Gist(*facts, excerpt.text, is_error, ranks=excerpt.ranks if text else ())


def _summary(code: int | None, kind: str, summary: str) -> str:
    if code is None:
        return summary
    if not code and kind != "shell":
        return summary
    fact = f"exit code {code}"
    summary = re.sub(
        rf"\A(?:failed: |(?:error: )?{fact}\b[:.,;\s]*)+", "", summary, count=1, flags=re.IGNORECASE
    )
    return f"{fact}: {summary}" if summary else fact


def _excerpt(body: Body, finding: Finding, budget: int) -> Excerpt:
    sections = _sections(body)
    if finding.by_path or finding.kind == "binary":
        sections[-1] = sections[-1]._replace(lines=0)
    return compose(sections, _entries(body, finding, budget), budget)


def _sections(body: Body) -> list[Section]:
    others = [Section(o.label, o.origin, o.text.count("\n") + 1) for o in body.others]
    return [*others, Section(body.label, body.origin, body.text.rstrip("\n").count("\n") + 1)]


def _entries(body: Body, finding: Finding, budget: int) -> list[Entry]:
    last = len(body.others)
    entries = entries_of(body.text.rstrip("\n"), _around(body, finding), budget, last)
    for index, other in enumerate(body.others):
        items = finders.find_text_kind(other.text).items
        entries = [
            *(entry._replace(rank=entry.rank * 2) for entry in entries),
            *(
                e._replace(rank=e.rank * 3 + 1)
                for e in entries_of(other.text, items, budget, index)
            ),
        ]
    return entries


def _rank_all(body: Body, finding: Finding) -> Excerpt:
    """All lines of a text that fits."""
    ranks = {(e.section, e.number): e.rank for e in reversed(_entries(body, finding, 1 << 30))}
    texts = [*(other.text for other in body.others), body.text.rstrip("\n")]
    entries = [
        Entry(ranks.get((index, number), 1 << 20), index, number, line)
        for index, text in enumerate(texts)
        for number, line in enumerate(text.split("\n"), 1)
    ]
    return render(_sections(body), entries)


def _around(body: Body, finding: Finding) -> Iterator[Item]:
    """What was found, and the lines about the command: the summary has the exit code."""
    for count, item in enumerate(finding.items):
        if count == 12:
            yield from _about(body)
        if isinstance(item, str):
            yield item
        else:  # the first line of the output may begin after a word such as `Stdout:`
            start = item[0] + body.start if item[0] else body.text.rfind("\n", 0, body.start) + 1
            yield start, item[1] + body.start
    yield from _about(body)


def _about(body: Body) -> list[Item]:
    text = body.text.rstrip("\n")
    before = text[: body.start].rstrip("\n")
    lines: list[Item] = [*head(before, 6)] if before.strip() else []
    if body.stop is not None:
        lines += tail(text, text.count("\n", body.stop + 1) + 1)
    return lines
