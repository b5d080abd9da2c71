"""Summaries in the place of messages of a session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import compress as where

from tract.core import compression, drafts, turns
from tract.core.chain import Chain, Place
from tract.core.compression import CompressResult, FrozenPlan, PendingCompress, Plan
from tract.core.drafts import Details
from tract.core.wording import summary_heading
from tract.errors import InputError
from tract.llm.summarizer import (
    STRUCTURE,
    TOOL_SUMMARIZE_SYSTEM,
    Progress,
    ProgressMeter,
    Task,
    default_prompt,
    outline,
    section,
)
from tract.model import Draft, Message, Summary, Toolset
from tract.session.session import Commit, Session
from tract.session.summaries import check_remembered, provenance, summarizer

Texts = list[tuple[Message, int]]
"""What a group of messages says, each with its tokens."""


def compress(
    session: Session,
    commits: Sequence[Commit] | None,
    from_commit: Commit | None,
    to_commit: Commit | None,
    content: str | None,
    task: Task,
    preserve: Sequence[Commit],
    on_progress: Progress | None,
) -> PendingCompress:
    """Summaries of listed messages or of a range, by the caller or by the model, not committed
    yet."""
    if commits is not None and (from_commit is not None or to_commit is not None):
        raise InputError("commits are listed, or lie between two commits, not both")

    def plan(chain: Chain) -> Plan:
        kept = session.places(chain, preserve)
        if commits is not None:
            return compression.plan_listed(chain, session.places(chain, commits), kept)
        first, last = (None if c is None else session.resolve(c) for c in (from_commit, to_commit))
        return compression.plan_range(chain, first, last, kept)

    frozen, texts = _frozen(session, plan)
    if content is not None:
        made = [compression.by_caller(content, len(frozen.groups))]
    else:
        made = _summaries(session, texts, task, on_progress)
    return PendingCompress(frozen, made, partial(_write, session))


def compress_tool_calls(
    session: Session,
    commits: Sequence[Commit] | None,
    name: str | None,
    task: Task,
    preserve_answer: bool,
    keep_recent: int,
    on_progress: Progress | None,
) -> PendingCompress:
    """Summaries of calls and their results, not committed yet."""
    if commits is not None and keep_recent:
        raise InputError("keep_recent is for turns that are found, not for commits listed")
    task = task._replace(system_prompt=task.system_prompt or TOOL_SUMMARIZE_SYSTEM)

    def plan(chain: Chain) -> Plan:
        calls = turns.calls_of(chain.places, name)
        if commits is None:
            return compression.plan_turns(chain, calls, keep_recent, preserve_answer)
        listed = session.places(chain, commits)
        of_calls = None if name is None else calls
        return compression.plan_listed_turns(chain, listed, of_calls, preserve_answer)

    if session.llm is None:
        frozen, made = _outlines(session, *_frozen(session, plan, whole=True), task)
    else:
        frozen, texts = _frozen(session, plan)
        made = _summaries(session, texts, task, on_progress)
    return PendingCompress(frozen, made, partial(_write, session))


def _frozen(
    session: Session, plan: Callable[[Chain], Plan], *, whole: bool = False
) -> tuple[FrozenPlan, list[Texts]]:
    """What is to be compressed, and what it says now, or the `whole` behind that."""
    session.check_on_branch()
    with session.lock:
        groups, preserved = made = plan(session.chain())
        texts = [session.compiler.texts(group, whole=whole) for group in groups]
        blobs = [place.shown.blob_id or 0 for group in groups for place in group]
        frozen = FrozenPlan(
            session.branch,
            made.looks,
            [place.shown.hash.hex() for place in preserved],
            [sum(tokens for _, tokens in group) for group in texts],
            [summary_heading(group) for group in groups],
            frozenset(session.store.contents.forgotten(blobs)),
        )
    return frozen, texts


def _summaries(
    session: Session, texts: Sequence[Texts], task: Task, on_progress: Progress | None
) -> list[Summary]:
    """What the model makes of each group."""
    if not texts:
        return []
    total = sum(tokens for group in texts for _, tokens in group)
    model = summarizer(session, on_progress and ProgressMeter(total, on_progress).advance)
    made = []
    for messages in ([message for message, _ in group] for group in texts):
        prompt = task.system_prompt or default_prompt(messages)
        sections = [section(message) for message in messages]
        made.append(model.summarize(sections, task._replace(system_prompt=prompt)))
    return made


def _outlines(
    session: Session, plan: FrozenPlan, texts: Sequence[Texts], task: Task
) -> tuple[FrozenPlan, list[Summary]]:
    """What can be said of each group without a model. A group of which no less can be said stays
    as it is."""
    count, target = session.tokens.count, task.target_tokens
    outlines = [outline([message for message, _ in group], target, count) for group in texts]
    each = zip(plan.headings, outlines, plan.sizes, strict=True)
    is_less = [count(f"{heading}\n{text}") < size for heading, text, size in each]
    made = [Summary(text, STRUCTURE) for text in where(outlines, is_less)]
    return plan.only(is_less), made


def _write(session: Session, plan: FrozenPlan, made: Sequence[Summary]) -> CompressResult:
    """Commit all summaries or none, each in the place of its group."""
    if not made:
        return compression.result(plan, [], made)
    session.check_on_branch()
    with session.batch():
        _, head = session.lock_branch()
        session.check_branch(plan.branch)
        chain = session.chain(head)
        groups = compression.renew_plan(chain, plan).groups
        check_remembered(session, [p for group in groups for p in group], plan.forgotten)
        # A summary has the tools of the newest message that it stands for.
        newest = [max(group, key=lambda place: place.at).origin.id for group in groups]
        toolsets = map(session.compiler.toolset, chain.toolsets_at(newest))
        each = zip(groups, plan.headings, made, toolsets, strict=True)
        made_drafts = [_draft(session, *one) for one in each]  # all, before the first is written
        commits = [session.write_all([draft]) for draft in made_drafts]
    return compression.result(plan, commits, made)


def _draft(
    session: Session,
    group: Sequence[Place],
    heading: str,
    summary: Summary,
    toolset: Toolset | None,
) -> Draft:
    details = Details(None, provenance(summary), toolset=toolset)
    text = f"{heading}\n{summary.text}"
    return drafts.compress(group, text, details, session.tokens)
