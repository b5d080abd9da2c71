"""Claude Code: a session as JSON lines, each of which names the one that it follows.

An answer is written block by block: lines with one `message.id` are one message, and the results of
its first calls may stand between them. Such an answer with its results is a turn here, which is
given when something else follows. Whatever follows any line of a turn follows the whole turn.

Left out, because neither a person, nor a model, nor a tool said it: titles (`summary`,
`custom-title`), snapshots of files, hooks, progress, permission modes, what the terminal told
(`system`), and what the program itself attaches (reminders, lists of skills and tools).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from tract.errors import InputError
from tract.importers.call_ids import CallIds, call_ids
from tract.importers.coerce import as_dict, as_list, as_text, as_time, load, without_nothing
from tract.importers.collect import of_lines
from tract.importers.items import Entry, Item
from tract.importers.source import Source
from tract.model import ROOT, Json, Message
from tract.providers import load_answer, load_message

NAME = "claude-code"
MAX_SPILLED = 64 * 1024 * 1024
MAX_WAITING = 100

_MARKS = (b'"parentUuid"', b'"isSidechain"', b'"sessionId"')
_SPILLED = re.compile(r"(?:[Oo]utput|[Rr]esult) (?:has been )?saved to:? ([^\n]+?\.(?:txt|json))\b")


def detect(source: Source) -> bool:
    if any("parentUuid" in line and "isSidechain" in line for line in source.head_records()):
        return True
    return source.head.startswith(b"{") and all(mark in source.head for mark in _MARKS)


def session(source: Source) -> str | None:
    """The session's id. What a sub-agent writes has that of the session that called it."""
    lines = [line for line in source.head_records() if "sessionId" in line]
    if any(line.get("isSidechain") is True for line in lines[:1]):
        return None
    return as_text((lines or [as_dict(source.peek)])[0].get("sessionId"))


def read(source: Source) -> Iterator[Item]:
    session = _Session(source.path)
    yield from of_lines(source, session.take)
    yield from session.finish()


class _Turn:
    """An answer that may still grow, with its results and with what was said meanwhile."""

    def __init__(self, answer_id: str | None, answer: Entry) -> None:
        self.answer_id = answer_id
        self.answer = answer
        self.calls = set(call_ids(answer.messages))
        self.rest: list[Entry] = []
        self._blocks = list(answer.messages[0].blocks)
        self._has_grown = False

    def grow(self, more: Entry) -> None:
        new = more.messages[0].blocks
        if list(new[: len(self._blocks)]) == self._blocks:  # the whole of it, once more
            self._blocks.clear()
        self._blocks += new
        self._has_grown = True
        self.answer = replace(
            self.answer,
            usage=more.usage or self.answer.usage,
            metadata={**(self.answer.metadata or {}), **(more.metadata or {})} or None,
        )
        self.calls.update(call_ids(more.messages))

    def entries(self) -> Iterator[Entry]:
        """The answer, and each of the others behind the one before it."""
        said = self.answer.messages[0]
        if self._has_grown:
            said = replace(said, content=tuple(self._blocks))
        yield replace(self.answer, messages=(said,))
        before = self.answer.key
        for entry in self.rest:
            yield replace(entry, parent=before)
            before = entry.key or before


class _Session:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._ids = CallIds()
        self._turns: dict[str | None, _Turn] = {}
        self._stands_for: dict[str, str | None] = {}
        """Of each line the entry that it is part of, or that it follows where it is none."""
        self._last: dict[str, str] = {}
        """The last entry of a turn, by the first."""
        self._sidechains: dict[str, str] = {}
        """Of each line aside from the main one the dialog."""
        self._begun: set[str | None] = set()
        self._tip: str | None = None
        """The first entry of what came last in the main dialog."""
        self._waiting: list[str] = []
        self._unheard: list[tuple[str, Json]] = []
        self._told = 0

    def take(self, line: dict[str, Json]) -> Iterator[Item]:
        uuid = as_text(line.get("uuid"))
        if uuid in self._stands_for:
            return  # a session that was resumed may repeat what it resumes
        if uuid is not None:  # stays so if the line is no message, or cannot be read
            self._stands_for[uuid] = self._before(line)
            if line.get("isSidechain") is True:
                self._sidechains[uuid] = self._sidechain(line, uuid)
        match line.get("type"):
            case "assistant":
                yield from self._answer(line)
            case "user":
                yield from self._said(line, _message(line))
            case "attachment":
                yield from self._attached(line)
            case "progress":
                yield from self._progress(as_dict(line.get("data")))
            case "queue-operation":
                self._queue(line)

    def finish(self) -> Iterator[Item]:
        for dialog in (*self._turns, None):
            yield from self._close(dialog)

    def _before(self, line: dict[str, Json]) -> str | None:
        """The entry that a line follows; nothing where that is not in the file."""
        before = as_text(line.get("parentUuid")) or as_text(line.get("logicalParentUuid"))
        return ROOT if before is None else self._stands_for.get(before)

    def _sidechain(self, line: dict[str, Json], uuid: str) -> str:
        before = as_text(line.get("parentUuid"))
        return as_text(line.get("agentId")) or self._sidechains.get(before or "") or uuid

    def _entry(self, line: dict[str, Json], messages: list[Message], agent: str | None) -> Entry:
        uuid = as_text(line.get("uuid"))
        return Entry(
            messages=tuple(map(self._ids.named, messages)),
            dialog=agent or self._sidechains.get(uuid or ""),
            key=uuid,
            time=as_time(line.get("timestamp")),
        )

    def _answer(self, line: dict[str, Json], agent: str | None = None) -> Iterator[Item]:
        given = _message(line)
        loaded = load(load_answer, {**given, "type": "message"})
        entry = replace(
            self._entry(line, [loaded.message], agent),
            usage=as_dict(loaded.usage) or None,
            model=as_text(given.get("model")),
            metadata=without_nothing(**{k: v for k, v in (loaded.rest or {}).items() if k in KEPT}),
        )
        turn, answer_id = self._turns.get(entry.dialog), as_text(given.get("id"))
        if turn and answer_id and turn.answer_id == answer_id:
            turn.grow(entry)
            self._belongs(entry, turn)
            return
        yield from self._close(entry.dialog)
        self._turns[entry.dialog] = _Turn(answer_id, self._placed(entry))

    def _said(
        self, line: dict[str, Json], given: dict[str, Json], agent: str | None = None
    ) -> Iterator[Item]:
        messages = load(load_message, given)
        entry = self._entry(line, [self._whole(message) for message in messages], agent)
        entry = replace(
            entry,
            metadata=_beyond(line.get("toolUseResult"), messages, entry.messages),
            compacts=line.get("isCompactSummary") is True,
        )
        if entry.dialog is None:
            self._heard(given.get("content"))
        turn = self._turns.get(entry.dialog)
        answered = {m.tool_call_id for m in entry.messages if m.role == "tool"}
        if turn and answered & turn.calls:
            turn.rest.append(entry)
            self._belongs(entry, turn)
            return
        yield from self._close(entry.dialog)
        # A result that comes late, or whose call is not here, goes to the end of its dialog.
        yield self._placed(entry, at_end=bool(answered))

    def _belongs(self, entry: Entry, turn: _Turn) -> None:
        if entry.key is not None and turn.answer.key is not None:
            self._stands_for[entry.key] = turn.answer.key

    def _placed(self, entry: Entry, *, at_end: bool = False) -> Entry:
        """The entry behind the one that it follows."""
        before = None if at_end else self._stands_for.get(entry.key or "")
        is_first = before == ROOT and entry.dialog not in self._begun
        if is_first or (before and self._sidechains.get(before) != entry.dialog):
            before = None
        self._begun.add(entry.dialog)
        if entry.key is not None:
            self._stands_for[entry.key] = entry.key
        if entry.dialog is None:
            self._tip = entry.key
        elif entry.key is not None:
            self._sidechains[entry.key] = entry.dialog
        return replace(entry, parent=self._last.get(before, before) if before else before)

    def _close(self, dialog: str | None) -> Iterator[Item]:
        turn = self._turns.pop(dialog, None)
        for entry in turn.entries() if turn else ():
            yield entry
            if turn and turn.answer.key is not None and entry.key is not None:
                self._last[turn.answer.key] = entry.key
        if dialog is None:
            yield from self._tell_unheard()

    def _progress(self, data: dict[str, Json]) -> Iterator[Item]:
        """What a sub-agent says is told as progress of the call that started it."""
        agent, line = as_text(data.get("agentId")), as_dict(data.get("message"))
        if agent is None or line.get("type") not in ("user", "assistant"):
            return
        uuid = as_text(line.get("uuid"))
        if uuid is not None and uuid in self._stands_for:
            return
        if line["type"] == "assistant":
            yield from self._answer(line, agent)
        else:
            yield from self._said(line, _message(line), agent)

    def _attached(self, line: dict[str, Json]) -> Iterator[Item]:
        """What a person gave along with a prompt, or said while the model was at work."""
        attachment = as_dict(line.get("attachment"))
        given: Json = None
        if attachment.get("type") == "queued_command":
            given = attachment.get("prompt")
        elif attachment.get("type") == "file":
            file = as_dict(as_dict(attachment.get("content")).get("file"))
            name, text = as_text(attachment.get("filename")), as_text(file.get("content"))
            given = text and f"{name or 'file'}:\n{text}"
        if given:
            yield from self._said(line, {"role": "user", "content": given})

    def _queue(self, line: dict[str, Json]) -> None:
        """A prompt that was typed while the model was at work. Taken from the queue it is a line of
        its own, but older versions told it to the model without writing one."""
        text = as_text(line.get("content"))
        match line.get("operation"):
            case "enqueue" if text:
                self._waiting = [*self._waiting[-MAX_WAITING:], text]
            case "remove" if self._waiting:
                self._unheard.append((self._waiting.pop(0), line.get("timestamp")))
            case "dequeue" if self._waiting:
                self._waiting.pop(0)  # a line of its own follows
            case "popAll":
                self._waiting.clear()  # it went back to where it was typed

    def _heard(self, content: Json) -> None:
        said = [content, *(as_dict(part).get("text") for part in as_list(content))]
        self._unheard = [waiting for waiting in self._unheard if waiting[0] not in said]
        self._waiting = [text for text in self._waiting if text not in said]

    def _tell_unheard(self) -> Iterator[Item]:
        for text, time in self._unheard:
            self._told += 1
            key, tip = f"queued-{self._told}", self._tip
            before = None if tip is None else self._last.get(tip, tip)
            said = (Message("user", text),)
            yield Entry(messages=said, key=key, parent=before, time=as_time(time))
            if tip is not None:
                self._last[tip] = key
        self._unheard.clear()

    def _whole(self, message: Message) -> Message:
        """A result whose text says that it was saved to a file, from that file if it is here."""
        if message.role != "tool" or not isinstance(message.content, str):
            return message
        found = _SPILLED.search(message.content)
        text = found and _spilled(self._path, found[1])
        return replace(message, content=text) if text else message


KEPT = frozenset({"id", "stop_reason", "stop_sequence"})
"""What of a response is kept as metadata."""


def _message(line: dict[str, Json]) -> dict[str, Json]:
    if not isinstance(line.get("message"), dict):
        raise InputError("a line of a person or a model needs a message")
    return as_dict(line["message"])


def _spilled(transcript: Path, name: str) -> str | None:
    """The text of a file next to the transcript. A transcript is no reason to read any other."""
    folder = transcript.parent
    given = Path(name)
    path = folder / transcript.stem / "tool-results" / given.name if given.is_absolute() else given
    try:
        path = (folder / path).resolve()
        if not path.is_relative_to(folder.resolve()) or path.stat().st_size > MAX_SPILLED:
            return None
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


def _beyond(
    result: Json, given: list[Message], kept: tuple[Message, ...]
) -> dict[str, Json] | None:
    """What the terminal knows of a result beyond what the model was told: what it printed, if that
    is more, and the sub-agent. The rest repeats the call or the files."""
    said = as_dict(result)
    told = "\n".join(message.text for message in given)
    shown = [m.content for m, k in zip(given, kept, strict=True) if m.content != k.content]
    return without_nothing(
        agent=as_text(said.get("agentId")),
        shown=shown[0] if shown else None,
        **{
            stream: text
            for stream in ("stdout", "stderr")
            if (text := as_text(said.get(stream))) and text.strip() not in told
        },
    )
