"""Replace messages of a session by summaries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import compress as where
from typing import TypedDict

from tract.core import compression, drafts, turns
from tract.core.chain import Chain
from tract.core.compression import CompressResult, FrozenPlan, PendingCompress, Plan
from tract.core.drafts import Details
from tract.core.outlines import outline
from tract.core.wording import summary_heading
from tract.errors import InputError
from tract.llm.summarizer import (
    TOOL_SUMMARIZE_SYSTEM,
    Progress,
    ProgressMeter,
    Task,
    default_prompt,
    section,
)
from tract.model import STRUCTURE, Message, Summary
from tract.session.answers import client_of
from tract.session.session import Commit, Session
from tract.session.summaries import check_remembered, provenance, summarizer

Texts = list[tuple[Message, int]]
"""The messages of a group, each with its tokens."""


class SummaryOptions(TypedDict, total=False):
    """The options that `Tract.compress` and `Tract.compress_tool_calls` share."""

    instructions: str | None
    system_prompt: str | None
    target_tokens: int | None
    on_progress: Progress | None


class CompressOptions(SummaryOptions, total=False):
    content: str | None
    preserve: Sequence[Commit]


class CompressToolsOptions(SummaryOptions, total=False):
    name: str | None
    preserve_answer: bool
    keep_recent: int


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
    """Summarize listed messages or a range, without committing it. See `Tract.compress`."""
    if commits is not None and (from_commit is not None or to_commit is not None):
        raise InputError("commits are listed, or lie between two commits, not both")

    def plan(chain: Chain) -> Plan:
        stays = session.places(chain, preserve)
        if commits is not None:
            return compression.plan_listed(chain, session.places(chain, commits), stays)
        first, last = (None if c is None else session.resolve(c) for c in (from_commit, to_commit))
        return compression.plan_range(chain, first, last, stays)

    frozen_plan, texts = _freeze(session, plan)
    if content is not None:
        summaries = [compression.by_caller(content, len(frozen_plan.groups))]
    else:
        frozen_plan, summaries = _summarize(session, frozen_plan, texts, task, on_progress)
    return PendingCompress(frozen_plan, summaries, partial(_write, session))


def compress_tool_calls(
    session: Session,
    commits: Sequence[Commit] | None,
    name: str | None,
    task: Task,
    preserve_answer: bool,
    keep_recent: int,
    on_progress: Progress | None,
) -> PendingCompress:
    """Summarize calls with their results, without committing it."""
    if commits is not None and keep_recent:
        raise InputError("keep_recent is for all turns, not for listed commits")
    task = task._replace(system_prompt=task.system_prompt or TOOL_SUMMARIZE_SYSTEM)

    def plan(chain: Chain) -> Plan:
        calls = turns.calls_of(chain.places, name)
        if commits is None:
            return compression.plan_turns(chain, calls, keep_recent, preserve_answer)
        listed = session.places(chain, commits)
        of_calls = None if name is None else calls
        return compression.plan_listed_turns(chain, listed, of_calls, preserve_answer)

    if session.llm is None:
        frozen_plan, summaries = _outline(session, *_freeze(session, plan, whole=True), task)
    else:
        frozen_plan, summaries = _summarize(session, *_freeze(session, plan), task, on_progress)
    return PendingCompress(frozen_plan, summaries, partial(_write, session))


def _freeze(
    session: Session, plan: Callable[[Chain], Plan], *, whole: bool = False
) -> tuple[FrozenPlan, list[Texts]]:
    """Return the plan, and the texts of its groups as the view has them, or as they are stored
    (`whole`)."""
    session.check_on_branch()
    with session.lock:
        groups, preserved = chosen = plan(session.chain())
        texts = [session.compiler.texts(group, whole=whole) for group in groups]
        blobs = [place.shown.blob_id or 0 for group in groups for place in group]
        frozen_plan = FrozenPlan(
            session.branch,
            chosen.looks,
            [place.shown.hash.hex() for place in preserved],
            [sum(tokens for _, tokens in group) for group in texts],
            [summary_heading(group) for group in groups],
            frozenset(session.store.contents.forgotten(blobs)),
        )
    return frozen_plan, texts


def _summarize(
    session: Session,
    plan: FrozenPlan,
    texts: Sequence[Texts],
    task: Task,
    on_progress: Progress | None,
) -> tuple[FrozenPlan, list[Summary]]:
    """Have the model summarize each group. A group whose summary is not shorter stays."""
    count, client = session.tokens.count, client_of(session)
    plan, can_shrink = plan.only_shorter([""] * len(texts), "the heading of a summary", count)
    made = _ask(session, list(where(texts, can_shrink)), task, on_progress)
    summaries = [summary.text for summary in made]
    plan, is_less = plan.only_shorter(summaries, f"the summary by {client.model}", count)
    return plan, list(where(made, is_less))


def _ask(
    session: Session, texts: Sequence[Texts], task: Task, on_progress: Progress | None
) -> list[Summary]:
    if not texts:
        return []
    total = sum(tokens for group in texts for _, tokens in group)
    model = summarizer(session, on_progress and ProgressMeter(total, on_progress).advance)
    summaries = []
    for messages in ([message for message, _ in group] for group in texts):
        prompt = task.system_prompt or default_prompt(messages)
        sections = [section(message) for message in messages]
        summaries.append(model.summarize(sections, task._replace(system_prompt=prompt)))
    return summaries


def _outline(
    session: Session, plan: FrozenPlan, texts: Sequence[Texts], task: Task
) -> tuple[FrozenPlan, list[Summary]]:
    """Describe each group without a model. A group whose description is not shorter stays."""
    count, target = session.tokens.count, task.target_tokens
    outlines = [outline([message for message, _ in group], target, count) for group in texts]
    plan, is_less = plan.only_shorter(outlines, "an outline", count)
    return plan, [Summary(text, STRUCTURE) for text in where(outlines, is_less)]


def _write(session: Session, plan: FrozenPlan, summaries: Sequence[Summary]) -> CompressResult:
    """Commit all summaries, or none."""
    if not summaries:
        return compression.result(plan, [], summaries)
    session.check_on_branch()
    with session.batch():
        _, head = session.lock_branch()
        session.check_branch(plan.branch)
        chain = session.chain(head)
        groups = compression.renew_plan(chain, plan).groups
        check_remembered(session, [p for group in groups for p in group], plan.forgotten)
        # A summary has the tools of the newest message that it replaces.
        newest = [max(group, key=lambda place: place.at).origin.id for group in groups]
        toolsets = map(session.compiler.toolset, chain.toolsets_at(newest))
        each = zip(groups, plan.headings, summaries, toolsets, strict=True)
        new = []  # all drafts, before the first is written
        for group, heading, summary, toolset in each:
            details = Details(metadata=provenance(summary), toolset=toolset)
            text = f"{heading}\n{summary.text}"
            new.append(drafts.compress(group, text, details, session.tokens))
        commits = [session.write_all([draft]) for draft in new]
    return compression.result(plan, commits, summaries)
