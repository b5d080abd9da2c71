"""Summaries of single results of a session, and other decisions about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from tract.core import compression, drafts
from tract.core.chain import Place
from tract.core.compression import SummarizedResult
from tract.core.drafts import Details
from tract.core.outlines import glimpse
from tract.core.wording import summary as summary_text
from tract.errors import ConflictError
from tract.llm.summarizer import (
    TOOL_SUMMARIZE_SYSTEM,
    OnRead,
    Summarizer,
    Task,
    section,
)
from tract.model import (
    STRUCTURE,
    CommitInfo,
    Draft,
    Form,
    Head,
    Json,
    Message,
    Priority,
    Shape,
    Summary,
)
from tract.providers.call_ids import find_result
from tract.session import results
from tract.session.answers import client_of, token_factor
from tract.session.session import Session


class Outcome(NamedTuple):
    """A decision about a result: edit it, change its form, or skip it."""

    text: str | None = None
    shape: Shape | None = None
    is_rejected: bool = False
    note: str | None = None
    metadata: dict[str, Json] | None = None


UNCHANGED = Outcome()


def as_outcome(summary: Summary) -> Outcome:
    """Decide to show a summary instead of the result."""
    return Outcome(shape=Shape(Form.SUMMARY, text=summary.text), metadata=provenance(summary))


def provenance(summary: Summary) -> dict[str, Json]:
    """Return the metadata of a commit with this summary."""
    usage = {"usage": summary.usage} if summary.usage else {}
    return {"summary": {"made_by": summary.made_by, **usage}}


def summarize_tool_result(
    session: Session, name: str, instructions: str | None, target_tokens: int | None, dry_run: bool
) -> SummarizedResult:
    """See `Tract.summarize_tool_result`."""
    with session.lock:
        place = find_result(session.chain().places, name)
        drafts.check_reshapable(place)
        commit, branch, changes = session.infos([place])[0], session.branch, len(place.changes)
        [(_, before)] = session.compiler.texts([place], whole=False)
        call = session.compiler.calls([place]).get(place)
    summary = summary_of(session, commit.commit_hash, instructions, target_tokens)
    if isinstance(summary, str):
        return SummarizedResult(None, None, before, before, note=summary)
    after = session.tokens.count(summary_text(place, summary.text, call))
    result = SummarizedResult(summary.text, summary.made_by, before, after, note=summary.note)
    if dry_run:
        return result
    return replace(result, commit=carry_out(session, commit, branch, changes, as_outcome(summary)))


def summary_of(
    session: Session,
    commit: str,
    instructions: str | None,
    target_tokens: int | None,
    on_read: OnRead | None = None,
) -> Summary | str:
    """Summarize a result. If no summary is shorter, return the reason why the result stays."""
    task = Task(TOOL_SUMMARIZE_SYSTEM, instructions, target_tokens).checked()
    with session.lock:
        place = session.chain().place(session.resolve(commit))
        [(_, shown)] = session.compiler.texts([place], whole=False)
        result = session.compiler.load(place.shown)
        turn = [session.compiler.message(place.call.shown)] if place.call else []
        call = session.compiler.calls([place]).get(place)
    count = session.tokens.count

    def unused(text: str, what: str, before: int) -> str:
        size = count(summary_text(place, text, call))
        return compression.why_unused("the result", before, what, size)

    if session.llm is None:
        summary = Summary(glimpse(result.content, target_tokens, count, call), STRUCTURE)
        return unused(summary.text, "a preview", shown) or summary
    full = place.shown.token_count  # a model may say more than a reference does
    if reason := unused("", "the frame of a summary", full):  # no model need be asked
        return reason
    sections = [section(message) for message in (*turn, result)]
    summary = summarizer(session, on_read).summarize(sections, task)
    return unused(summary.text, f"the summary by {summary.made_by}", full) or summary


def summarizer(session: Session, on_read: OnRead | None = None) -> Summarizer:
    client = client_of(session)
    return Summarizer(client, session.tokens, token_factor(session, client.model), on_read)


def check_remembered(
    session: Session, places: Sequence[Place], known: frozenset[int] = frozenset()
) -> None:
    """Refuse a summary of something that was forgotten while the summary was made."""
    if session.store.contents.forgotten([place.shown.blob_id or 0 for place in places]) - known:
        raise ConflictError("a message to be summarized was erased in the meantime")


def carry_out(
    session: Session, commit: CommitInfo, branch: str, changes: int, outcome: Outcome
) -> CommitInfo | None:
    """Write a decision about a result, unless the result was changed meanwhile."""
    if outcome == UNCHANGED:
        return None
    details = Details(outcome.note, outcome.metadata)

    def make(head: Head) -> Draft:
        session.check_branch(branch)
        place = session.chain(head).place(session.resolve(commit))
        if len(place.changes) != changes or place.summary:
            raise ConflictError(f"result {commit.commit_hash} was changed in the meantime")
        check_remembered(session, [place])
        if outcome.shape:
            return results.reshape(session, [(place, outcome.shape)], details)
        if outcome.is_rejected:
            return drafts.prioritize([place], Priority.SKIP, details)
        edit = Message("tool", outcome.text, commit.tool_call_id)
        return session.edit(head, commit, edit, replace(details, metadata=None))

    return session.write(make)
