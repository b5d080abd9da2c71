"""Claude Code: a session as JSON lines, each of which names the one that it follows.

An answer is written block by block: lines with the same `message.id` are one message, and the
results of its first calls may stand between them. Such an answer with its results is a turn here,
which is yielded when something else follows. A line that follows any line of a turn follows the
full turn.

Left out, because no person, model or tool wrote it: titles (`summary`, `custom-title`), snapshots
of files, hooks, progress, permission modes, terminal output (`system`), and attachments of the
program (reminders, lists of skills and tools).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from tract.errors import InputError
from tract.importers.call_ids import CallIds
from tract.importers.coerce import as_dict, as_list, as_text, as_time, drop_empty, load
from tract.importers.items import Entry, Item
from tract.importers.source import Source, read_lines
from tract.model import ROOT, Json, Message
from tract.providers import load_answer, load_message

NAME = "claude-code"
MAX_SPILLED = 64 * 1024 * 1024
MAX_WAITING = 100

_MARKS = (b'"parentUuid"', b'"isSidechain"', b'"sessionId"')
_SPILLED = re.compile(  # begins with a literal, which is found several times as fast
    r" saved to(?:(?<=[Oo]utput saved to)|(?<=[Rr]esult saved to)"
    r"|(?<=[Oo]utput has been saved to)|(?<=[Rr]esult has been saved to))"
    r":? ([^\n]+?\.(?:txt|json))\b"
)


def detect(source: Source) -> bool:
    if any("parts" in as_dict(line.get("message")) for line in source.head_records()):
        return False  # qwen-code
    if any("parentUuid" in line and "isSidechain" in line for line in source.head_records()):
        return True
    return source.head.startswith(b"{") and all(mark in source.head for mark in _MARKS)


def session(source: Source) -> str | None:
    """The id of the session. A sub-agent's file has the id of the session that called it."""
    lines = [line for line in source.head_records() if "sessionId" in line]
    if any(line.get("isSidechain") is True for line in lines[:1]):
        return None
    return as_text((lines or [as_dict(source.peek)])[0].get("sessionId"))


def read(source: Source) -> Iterator[Item]:
    session = _Session(source.path)
    yield from read_lines(source, session.take)
    yield from session.finish()


class _Turn:
    """An answer that may still grow, with its results and the messages between them."""

    def __init__(self, answer_id: str | None, answer: Entry) -> None:
        self.answer_id = answer_id
        self.answer = answer
        self.calls = {call.id for call in answer.messages[0].tool_calls}
        self.rest: list[Entry] = []
        self._blocks = list(answer.messages[0].blocks)
        self._has_grown = False

    def grow(self, more: Entry) -> None:
        new = more.messages[0].blocks
        if list(new[: len(self._blocks)]) == self._blocks:  # the full answer, once more
            self._blocks.clear()
        self._blocks += new
        self._has_grown = True
        self.answer = replace(
            self.answer,
            usage=more.usage or self.answer.usage,
            metadata={**(self.answer.metadata or {}), **(more.metadata or {})} or None,
        )
        self.calls.update(call.id for call in more.messages[0].tool_calls)

    def entries(self) -> Iterator[Entry]:
        """The answer, then each other entry after the previous one."""
        message = self.answer.messages[0]
        if self._has_grown:
            message = replace(message, content=tuple(self._blocks))
        yield replace(self.answer, messages=(message,))
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
        """For each line its entry, or the entry that it follows if it has none."""
        self._last: dict[str, str] = {}
        """The last entry of a turn, by the first."""
        self._sidechains: dict[str, str] = {}
        """The dialog of each line that is not in the main one."""
        self._dialogs: set[str | None] = set()
        """Those with an entry."""
        self._tip: str | None = None
        """The first entry of the last turn of the main dialog."""
        self._queue: list[str] = []
        self._taken: list[tuple[str, Json]] = []
        """Prompts that left the queue without a line of their own, with their times."""
        self._taken_count = 0

    def take(self, line: dict[str, Json]) -> Iterator[Item]:
        uuid = as_text(line.get("uuid"))
        if uuid in self._stands_for:
            return  # a resumed session may repeat lines
        if uuid is not None:  # stays so if the line has no message, or cannot be read
            self._stands_for[uuid] = self._before(line)
            if line.get("isSidechain") is True:
                self._sidechains[uuid] = self._sidechain(line, uuid)
        match line.get("type"):
            case "assistant":
                yield from self._answer(line)
            case "user":
                yield from self._user(line, _message(line))
            case "attachment":
                yield from self._attachment(line)
            case "progress":
                yield from self._progress(as_dict(line.get("data")))
            case "queue-operation":
                self._change_queue(line)

    def finish(self) -> Iterator[Item]:
        for dialog in (*self._turns, None):
            yield from self._close(dialog)

    def _before(self, line: dict[str, Json]) -> str | None:
        """The entry that a line follows; None if it is not in the file."""
        before = as_text(line.get("parentUuid")) or as_text(line.get("logicalParentUuid"))
        return ROOT if before is None else self._stands_for.get(before)

    def _sidechain(self, line: dict[str, Json], uuid: str) -> str:
        before = as_text(line.get("parentUuid"))
        return as_text(line.get("agentId")) or self._sidechains.get(before or "") or uuid

    def _entry(self, line: dict[str, Json], messages: list[Message], agent: str | None) -> Entry:
        uuid = as_text(line.get("uuid"))
        return Entry(
            messages=tuple(map(self._ids.assign, messages)),
            dialog=agent or self._sidechains.get(uuid or ""),
            key=uuid,
            time=as_time(line.get("timestamp")),
        )

    def _answer(self, line: dict[str, Json], agent: str | None = None) -> Iterator[Item]:
        message = _message(line)
        loaded = load(load_answer, {**message, "type": "message"})
        entry = replace(
            self._entry(line, [loaded.message], agent),
            usage=as_dict(loaded.usage) or None,
            model=as_text(message.get("model")),
            metadata=drop_empty(**{k: v for k, v in (loaded.rest or {}).items() if k in KEPT}),
        )
        turn, answer_id = self._turns.get(entry.dialog), as_text(message.get("id"))
        if turn and answer_id and turn.answer_id == answer_id:
            turn.grow(entry)
            self._belongs(entry, turn)
            return
        yield from self._close(entry.dialog)
        self._turns[entry.dialog] = _Turn(answer_id, self._place(entry))

    def _user(
        self, line: dict[str, Json], message: dict[str, Json], agent: str | None = None
    ) -> Iterator[Item]:
        messages = load(load_message, message)
        entry = self._entry(line, [self._unspill(message) for message in messages], agent)
        entry = replace(
            entry,
            metadata=_unsent(line.get("toolUseResult"), messages, entry.messages),
            compacts=line.get("isCompactSummary") is True,
        )
        if entry.dialog is None:
            self._drop_queued(message.get("content"))
        turn = self._turns.get(entry.dialog)
        answered = {m.tool_call_id for m in entry.messages if m.role == "tool"}
        if turn and answered & turn.calls:
            turn.rest.append(entry)
            self._belongs(entry, turn)
            return
        yield from self._close(entry.dialog)
        # A late result, or one without a call, goes to the end of its dialog.
        yield self._place(entry, at_end=bool(answered))

    def _belongs(self, entry: Entry, turn: _Turn) -> None:
        if entry.key is not None and turn.answer.key is not None:
            self._stands_for[entry.key] = turn.answer.key

    def _place(self, entry: Entry, *, at_end: bool = False) -> Entry:
        """The entry with its parent."""
        before = None if at_end else self._stands_for.get(entry.key or "")
        is_first = before == ROOT and entry.dialog not in self._dialogs
        if is_first or (before and self._sidechains.get(before) != entry.dialog):
            before = None
        self._dialogs.add(entry.dialog)
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
            yield from self._yield_taken()

    def _progress(self, data: dict[str, Json]) -> Iterator[Item]:
        """Messages of a sub-agent are progress of the call that started it."""
        agent, line = as_text(data.get("agentId")), as_dict(data.get("message"))
        if agent is None or line.get("type") not in ("user", "assistant"):
            return
        uuid = as_text(line.get("uuid"))
        if uuid is not None and uuid in self._stands_for:
            return
        if line["type"] == "assistant":
            yield from self._answer(line, agent)
        else:
            yield from self._user(line, _message(line), agent)

    def _attachment(self, line: dict[str, Json]) -> Iterator[Item]:
        """A file that a person attached, or a prompt typed while the model was working."""
        attachment = as_dict(line.get("attachment"))
        content: Json = None
        if attachment.get("type") == "queued_command":
            content = attachment.get("prompt")
        elif attachment.get("type") == "file":
            file = as_dict(as_dict(attachment.get("content")).get("file"))
            name, text = as_text(attachment.get("filename")), as_text(file.get("content"))
            content = text and f"{name or 'file'}:\n{text}"
        if content:
            yield from self._user(line, {"role": "user", "content": content})

    def _change_queue(self, line: dict[str, Json]) -> None:
        """Prompts typed while the model was working. One that is taken from the queue has a line of
        its own, but older versions sent it to the model without writing one."""
        text = as_text(line.get("content"))
        match line.get("operation"):
            case "enqueue" if text:
                self._queue = [*self._queue[-MAX_WAITING:], text]
            case "remove" if self._queue:
                self._taken.append((self._queue.pop(0), line.get("timestamp")))
            case "dequeue" if self._queue:
                self._queue.pop(0)  # a line of its own follows
            case "popAll":
                self._queue.clear()  # back into the input field

    def _drop_queued(self, content: Json) -> None:
        texts = [content, *(as_dict(part).get("text") for part in as_list(content))]
        self._taken = [prompt for prompt in self._taken if prompt[0] not in texts]
        self._queue = [text for text in self._queue if text not in texts]

    def _yield_taken(self) -> Iterator[Item]:
        for text, time in self._taken:
            self._taken_count += 1
            key, tip = f"queued-{self._taken_count}", self._tip
            before = None if tip is None else self._last.get(tip, tip)
            messages = (Message("user", text),)
            yield Entry(messages=messages, key=key, parent=before, time=as_time(time))
            if tip is not None:
                self._last[tip] = key
        self._taken.clear()

    def _unspill(self, message: Message) -> Message:
        """A result that was saved to a file, read from that file if it is there."""
        if message.role != "tool" or not isinstance(message.content, str):
            return message
        match = _SPILLED.search(message.content)
        text = match and _read_spilled(self._path, match[1])
        return replace(message, content=text) if text else message


KEPT = frozenset({"id", "stop_reason", "stop_sequence"})
"""The keys of a response that are kept as metadata."""


def _message(line: dict[str, Json]) -> dict[str, Json]:
    if not isinstance(line.get("message"), dict):
        raise InputError("a line of a person or a model needs a message")
    return as_dict(line["message"])


def _read_spilled(transcript: Path, name: str) -> str | None:
    """The text of a file next to the transcript. A transcript must not name any other file."""
    folder, path = transcript.parent, Path(name)
    if path.is_absolute():
        path = folder / transcript.stem / "tool-results" / path.name
    try:
        path = (folder / path).resolve()
        if not path.is_relative_to(folder.resolve()) or path.stat().st_size > MAX_SPILLED:
            return None
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


def _unsent(result: Json, sent: list[Message], kept: tuple[Message, ...]) -> dict[str, Json] | None:
    """What the terminal knows of a result and the model does not: more output, and the sub-agent.
    The rest repeats the call or the files."""
    fields = as_dict(result)
    text = "\n".join(message.text for message in sent)
    shown = [s.content for s, k in zip(sent, kept, strict=True) if s.content != k.content]
    streams = {stream: as_text(fields.get(stream)) for stream in ("stdout", "stderr")}
    return drop_empty(
        agent=as_text(fields.get("agentId")),
        shown=shown[0] if shown else None,
        **{stream: out for stream, out in streams.items() if out and out.strip() not in text},
    )
