"""Scenes: the conversations that a command shows, each with its facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from tract.cli.imports import report_faults
from tract.core.chain import Place
from tract.core.transcript import Branch, MemoryThread, Transcript
from tract.economy.facts import known_facts
from tract.economy.prices import PriceList
from tract.errors import InputError
from tract.importers.facts import ConversationFacts
from tract.importers.partial_json import parse
from tract.importers.source import Source
from tract.importers.transcripts import read_transcript
from tract.model import AnswerUsage, DialogFacts, Json
from tract.tract import Tract
from tract.view.blocks import FactsBlock, TitleBlock, ViewBlock, format_request
from tract.view.conversation import Conversation
from tract.view.facts import Facts, fact_lines, facts_of
from tract.view.moments import Moment, moment_of

NOTHING = DialogFacts()


class Scene(NamedTuple):
    """A branch of a dialog, or the part that it does not share with the branches before."""

    dialog: str
    branch: str
    blocks: Iterable[ViewBlock]
    facts: Callable[[], Facts] | None = None
    """What it is about; None for a part of a conversation."""
    answers: Sequence[AnswerUsage] = ()
    """What was used for all branches of the conversation; the first of its scenes has it."""


def with_titles(scenes: list[Scene]) -> Iterator[ViewBlock]:
    """The blocks of all scenes, each under its facts; where there are several, under a title."""
    for scene in scenes:
        if len(scenes) > 1:
            yield TitleBlock(text=f"{scene.dialog} · {scene.branch}")
        if scene.facts:
            yield FactsBlock(lines=tuple(fact_lines(scene.facts())))
        yield from scene.blocks


# Of a database


def dialog_scene(
    tract: Tract, prices: PriceList, at: str | None = None, *, sent: bool = False
) -> Scene:
    """A dialog at a commit."""
    infos = {info.commit_hash: info for info in tract.log()}
    dialogs = (info.facts for info in tract.dialogs() if info.dialog == tract.dialog)
    known = next(dialogs, DialogFacts())

    def moment(place: Place) -> Moment:
        info = infos.get(place.origin.hash.hex())
        if info is None:
            return Moment()
        # An imported message was committed long after it came.
        committed = None if known.source else info.created_at
        return moment_of(info.metadata, info.generation_config, info.usage, committed)

    conversation = Conversation(tract.read(at), moment)
    rows = range(len(conversation.rows))
    dialog, branch = tract.dialog, tract.current_branch or ""

    answers = list(tract.usages())

    def facts() -> Facts:
        about = known_facts(dialog, branch, known, answers, prices)
        return facts_of(conversation, rows, moment, about)

    return Scene(dialog, branch, _blocks(conversation, rows, sent), facts, answers)


# Of a file


def file_scenes(
    path: Path,
    name: str,
    prices: PriceList,
    count: Callable[[str], int] | None = None,
    *,
    sent: bool = False,
    reports_repairs: bool = True,
) -> list[Scene]:
    """The conversations in a file of a known format, or else a malformed request. `name` is what
    the person calls the file."""
    known = ConversationFacts()
    try:
        transcript = read_transcript(path, count, known)
    except InputError:
        scenes = _request_scenes(path)
        if not scenes:
            raise
        return scenes
    repairs = transcript.repairs() if reports_repairs else []
    report_faults(name, transcript.problems, transcript.unknown, repairs)
    by_thread = _facts_by_thread(transcript, known)
    scenes = [
        scene
        for thread in transcript.threads.values()
        for scene in _thread_scenes(thread, by_thread.get(thread.name, NOTHING), prices, sent)
    ]
    scenes = scenes or _request_scenes(path)
    if not scenes:
        raise InputError(f"{path.name}: it contains no message that can be shown")
    return scenes


def _facts_by_thread(
    transcript: Transcript[MemoryThread], known: ConversationFacts
) -> dict[str, DialogFacts]:
    threads = {dialog: transcript.thread_of(dialog) for dialog in known.dialogs()}
    names = {dialog: thread.name for dialog, thread in threads.items() if thread}
    return {
        name: replace(facts, parent=names.get(facts.parent or None) if has_parent else None)
        for dialog, name in names.items()
        for facts in [known.of(dialog)]
        for has_parent in [facts.parent is not None]
    }


_MESSAGE_KEYS = {"role", "from", "type", "content", "parts", "tool_calls"}


def _request_scenes(path: Path) -> list[Scene]:
    """A request that no provider would accept, if the file is one."""
    try:
        request = parse(Source(path).data())
        has_messages = not isinstance(request, list) or any(map(_is_message, request))
        return [Scene(path.stem, "", format_request(request))] if has_messages else []
    except (ValueError, RecursionError):  # InputErrors too
        return []


def _is_message(value: Json) -> bool:
    """Whether anything of it can be shown as a message."""
    return isinstance(value, dict) and not _MESSAGE_KEYS.isdisjoint(value)


def _thread_scenes(
    thread: MemoryThread, known: DialogFacts, prices: PriceList, sent: bool
) -> Iterator[Scene]:
    """All branches of a conversation. What branches share is shown once."""
    seen: set[int] = set()
    for branch in sorted(thread.branches, key=lambda name: (name != thread.branch, name)):
        history = thread.read(branch)
        conversation = Conversation(history, partial(_moment, history))
        rows = _new_rows(conversation, seen)
        answers = [] if seen else list(_answers(thread))
        facts = partial(_thread_facts, thread, branch, rows, NOTHING if seen else known, answers)
        seen.update(place.origin.id for place in history.places)
        if rows:
            blocks = _blocks(conversation, rows, sent)
            yield Scene(thread.name, branch, blocks, partial(facts, prices), answers)


def _thread_facts(
    thread: MemoryThread,
    branch: str,
    rows: list[int],
    known: DialogFacts,
    answers: list[AnswerUsage],
    prices: PriceList,
) -> Facts:
    history = thread.read(branch)
    about = known_facts(thread.name, branch, known, answers, prices)
    return facts_of(Conversation(history), rows, partial(_moment, history), about)


def _answers(thread: MemoryThread) -> Iterator[AnswerUsage]:
    """What the answers of all branches have used."""
    for node in thread.nodes:
        draft = node.draft
        if draft.usage:
            moment = moment_of(draft.metadata, draft.generation_config, draft.usage)
            name = (draft.metadata or {}).get("id")
            model = (draft.generation_config or {}).get("model")
            is_named = isinstance(name, str)
            yield AnswerUsage(model, draft.usage, moment.time, name if is_named else None)


def _moment(history: Branch, place: Place) -> Moment:
    details = history.details(place)
    return moment_of(details.metadata, details.generation_config, details.usage)


def _new_rows(conversation: Conversation, seen: set[int]) -> list[int]:
    """The rows from the first message that no other branch has."""
    if not seen:
        return list(range(len(conversation.rows)))
    numbers: list[int] = []
    has_begun = False
    for number, row in enumerate(conversation.rows):
        is_new = not isinstance(row, ViewBlock) and row.origin.id not in seen
        has_begun = has_begun or is_new
        if is_new or (has_begun and isinstance(row, ViewBlock)):
            numbers.append(number)
    return numbers


def _blocks(conversation: Conversation, rows: Iterable[int], sent: bool) -> Iterator[ViewBlock]:
    """The blocks of rows. A summary is shown besides the messages that it replaces."""
    for number in rows:
        row = conversation.rows[number]
        is_summary = isinstance(row, Place) and bool(row.sources)
        yield from conversation.blocks(number, sent=sent or is_summary)
