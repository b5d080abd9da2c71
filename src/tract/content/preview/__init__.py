"""A tool result at a glance: its kind, a one-line summary, and its most useful lines. Pure.

A preview keeps lines as they are. `…` at the end of a line means that it continues, at the front
that it began earlier, and a line such as `[… 120 lines …]` stands for lines that were left out.
Nothing is rephrased, and the result depends only on the content and the budget.
"""

from __future__ import annotations

import msgspec

from tract.content.preview import documents, printed, structure
from tract.content.preview.body import Body, body_of
from tract.content.preview.lines import Finding, edges_and_errors, excerpt, key_line, scan_of
from tract.content.preview.verdict import has_failed
from tract.content.text import cut, fit, summary_line
from tract.model import Gist, Json, ToolCall

__all__ = ["gist", "gist_of", "has_failed", "narrow"]


def gist(content: Json, *, call: ToolCall | None = None, budget: int = 1600) -> Gist:
    """The gist of a result, with a preview of at most `budget` characters. The call that it answers
    is evidence: a path or a command says what the text is."""
    body = body_of(content)
    inner = body.text[body.start : body.stop].rstrip("\n")
    if body.form == "binary" or not inner.strip():
        return _gist_without_text(body, budget)
    finding = _find(inner, body.form)
    is_shell = body.form == "shell" or (body.code is not None and finding.kind == "text")
    kind = "shell" if is_shell else finding.kind
    fits = kind != "binary" and len(body.text) <= budget
    preview = body.text if fits else _preview(body, inner, finding, budget)
    summary = summary_line(_summary(body.code, kind, finding.summary, inner))
    return Gist(kind, summary or kind, preview)


def gist_of(content: Json, call: ToolCall | None = None) -> Gist:
    """The gist as it is stored with a result: also whether the content reports a failure."""
    return msgspec.structs.replace(gist(content, call=call), is_error=has_failed(content, call))


def narrow(gist: Gist, characters: int) -> str:
    """The preview for a smaller budget, made of what is stored: no content is read."""
    return cut(gist.preview, characters)


def _gist_without_text(body: Body, budget: int) -> Gist:
    summary = summary_line(body.text.replace("[… ", "").replace(" …]", "").strip())
    preview = fit([body.text.rstrip()], budget)
    if body.form == "binary":
        return Gist("binary", summary or "binary", preview)
    if body.code is not None:
        return Gist("shell", f"exit code {body.code}, no output", preview)
    return Gist("text", summary or "empty", preview)


def _find(text: str, form: str) -> Finding:
    finding = structure.find(text, form) or documents.find_binary(text)
    if finding is not None:
        return finding
    scan = scan_of(text)
    finding = next(filter(None, (finder(scan) for finder in _FINDERS)), None)
    return finding or documents.find_text(scan)


# A diff and a test run may hold anything else, and so may a numbered file.
_FINDERS = (
    printed.find_diff,
    printed.find_test,
    documents.find_numbered,
    printed.find_log,
    printed.find_crash,
    printed.find_grep,
    documents.find_html,
    printed.find_listing,
    documents.find_table,
    documents.find_markdown,
    documents.find_source,
)


def _summary(code: int | None, kind: str, summary: str, inner: str) -> str:
    if kind == "shell" and code:
        summary = key_line(inner)
    return f"exit code {code}: {summary}" if code or (code == 0 and kind == "shell") else summary


def _preview(body: Body, inner: str, finding: Finding, budget: int) -> str:
    before = _brief(body.text[: body.start], budget // 3)
    after = _brief(body.text[body.stop :] if body.stop is not None else "", budget // 6)
    room = budget - sum(len(part) + 1 for part in (before, after) if part)
    kept = finding.preview(room) if finding.preview else excerpt(inner, finding.spans, room)
    return fit([part for part in (before, kept, after) if part], budget)


def _brief(text: str, room: int) -> str:
    text = text.strip("\n")
    return text if len(text) <= room else excerpt(text, edges_and_errors(scan_of(text)), room)
