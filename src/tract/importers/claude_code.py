"""Claude Code: a session as JSON lines, each of which names the one that it follows.

An answer is written block by block: lines with the same `message.id` are one message, and the
results of its first calls may stand between them. Such an answer with its results is a turn here,
which is yielded when something else follows. A line that follows any line of a turn follows the
full turn.

Newer versions also write what they sent: see `claude_requests`. The messages are then those of the
requests. Lines of a user are held until the next request or answer shows whether they were sent.

Left out, because no person, model or tool wrote it: the kinds of lines in `NOISE`, and attachments
of the program (reminders, lists of skills and tools), unless a request has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from tract.core.titles import title_of
from tract.errors import InputError
from tract.importers.blocks import load_sound
from tract.importers.call_ids import CallIds
from tract.importers.claude_queue import PromptQueue
from tract.importers.claude_requests import Held, Requests
from tract.importers.claude_spills import unspilled
from tract.importers.coerce import (
    as_dict,
    as_list,
    as_text,
    as_time,
    drop_empty,
    text_of,
)
from tract.importers.items import Entry, Facts, Item, Problem, Unknown
from tract.importers.source import Source, read_records
from tract.model import ROOT, Form, Json, Message, Shape, readable
from tract.providers import load_answer, load_message

NAME = "claude-code"

LAST_WITHOUT_REQUESTS = (2, 1, 197)
"""The newest version that is known to write none."""
NOISE = frozenset(
    {
        *("system", "file-history-snapshot", "hook", "permission-mode", "mode"),  # of the screen
        *("last-prompt", "tools-used", "atis-latch", "agent-name", "agent-setting"),
        *("summary",),  # of another session, which this one continues
        *("pr-link", "tag", "speculation-accept", "worktree-state", "content-replacement"),
    }
)
TITLES = {"ai-title": "aiTitle", "custom-title": "customTitle"}

_MARKS = (b'"parentUuid"', b'"isSidechain"', b'"sessionId"')


def detect(source: Source) -> bool:
    if any("parts" in as_dict(line.get("message")) for line in source.head_records()):
        return False  # qwen-code
    if any(str(line.get("sessionId")).startswith("session-") for line in source.head_records()):
        return False  # iFlow CLI
    if any("parentUuid" in line and "isSidechain" in line for line in source.head_records()):
        return True
    return source.head.startswith(b"{") and all(mark in source.head for mark in _MARKS)


def session(source: Source) -> str | None:
    """The id of the session. A sub-agent's file has the id of the session that called it."""
    lines = [line for line in source.head_records() if "sessionId" in line]
    first = (lines or [as_dict(source.peek)])[0]
    agent, name = _agent(source), as_text(first.get("sessionId"))
    if agent is not None:
        return f"{name}/{agent}"
    return None if first.get("isSidechain") is True else name


def _agent(source: Source) -> str | None:
    """The sub-agent whose file it is."""
    first = next((line for line in source.head_records() if "isSidechain" in line), {})
    return as_text(first.get("agentId")) if first.get("isSidechain") is True else None


def read(source: Source) -> Iterator[Item]:
    agent = _agent(source)
    if agent is not None:
        yield _facts_of_agent(source)
    session = _Session(source, agent)
    yield from read_records(source, session.take)
    yield from session.finish()


def usages(source: Source) -> Iterator[Item]:
    """The answers without their messages, also those of sub-agents inside of the file. An answer
    that is written block by block is several entries with the same id."""
    answers = _Usages(_agent(source))
    return read_records(source, answers.take, answers.wants)


class _Usages:
    def __init__(self, agent: str | None) -> None:
        self._agent = agent
        self._has_folder = self._has_title = False

    def wants(self, line: bytes) -> bool:
        """Whether a line matters: most bytes are results, which are not even parsed."""
        if not (self._has_folder and self._has_title):
            return bool(line.strip())
        return b'"usage"' in line or b'-title"' in line or b'"cost-state"' in line

    def take(self, place: str, line: dict[str, Json]) -> Iterator[Item]:
        kind, folder = line.get("type"), as_text(line.get("cwd"))
        if folder and not self._has_folder:
            self._has_folder = True
            yield Facts(folder=folder)
        if kind == "progress":
            line = as_dict(as_dict(line.get("data")).get("message"))
            kind = line.get("type") if line.get("type") == "assistant" else None
        match kind:
            case "assistant":
                yield _usage(line, _message(line))
            case "user" if not self._has_title:
                yield from self._prompt(line)
            case "cost-state":
                yield from _cost(line)
            case str() if kind in TITLES:
                yield Facts(title=as_text(line.get(TITLES[kind])))

    def _prompt(self, line: dict[str, Json]) -> Iterator[Item]:
        """The first prompt, which gives the session its title."""
        if line.get("isSidechain") is True and self._agent is None:
            return
        content = _message(line).get("content")
        texts = (as_text(as_dict(block).get("text")) for block in as_list(content))
        text = content if isinstance(content, str) else "\n".join(filter(None, texts))
        if title_of(text):
            self._has_title = True
            yield Entry(messages=(Message("user", text),))


def _usage(line: dict[str, Json], message: dict[str, Json]) -> Entry:
    return Entry(
        messages=(),
        time=as_time(line.get("timestamp")),
        usage=as_dict(message.get("usage")) or None,
        model=as_text(message.get("model")),
        metadata=drop_empty(id=as_text(message.get("id")) or as_text(line.get("uuid"))),
    )


def _facts_of_agent(source: Source) -> Facts:
    """A file beside that of a sub-agent names the call that started it."""
    first = next((line for line in source.head_records() if "sessionId" in line), {})
    name = as_text(first.get("sessionId"))
    try:
        fields = as_dict(Source(source.path.with_suffix(".meta.json")).peek)
    except InputError:
        fields = {}
    parent = as_text(fields.get("parentAgentId"))
    return Facts(
        title=as_text(fields.get("description")),
        parent=f"{name}/{parent}" if parent else name,
        call_id=as_text(fields.get("toolUseId")),
    )


class _Turn:
    """An answer that may still grow, with its results and the messages between them."""

    def __init__(self, answer_id: str | None, answer: Entry, line: dict[str, Json]) -> None:
        self.answer_id = answer_id
        self.answer = answer
        self.request = line.get("requestRef")
        self.calls = {call.id for call in answer.messages[0].tool_calls}
        self.rest: list[Entry] = []
        self.content = as_list(_message(line).get("content"))
        """The blocks as they came."""
        self._blocks = list(answer.messages[0].blocks)
        self._has_grown = False

    def grow(self, more: Entry, line: dict[str, Json]) -> None:
        new, content = more.messages[0].blocks, as_list(_message(line).get("content"))
        if list(new[: len(self._blocks)]) == self._blocks:  # the full answer, once more
            self._blocks.clear()
            self.content = []
        self._blocks += new
        self.content = self.content + content
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
    def __init__(self, source: Source, agent: str | None) -> None:
        self._source, self._agent = source, agent
        self._ids = CallIds()
        self._turns: dict[str | None, _Turn] = {}
        self._held: dict[str | None, list[Held]] = {}
        """Lines of a user that no request or answer has followed yet."""
        self._missed: dict[str | None, list[Held]] = {}
        """Those that the last request did not have."""
        self._requests: dict[str | None, Requests] = {}
        self._recorded: set[str | None] = set()
        """The dialogs with a request."""
        self._is_indexed = False
        self._records_requests = False
        self._place_of_line = ""
        self._parents: dict[str, str | None] = {}
        """The line that each line follows."""
        self._in_progress: set[str | None] = set()
        """The lines of sub-agents that are inside of others."""
        self._keys: dict[str, str] = {}
        """The entry of each line that has one."""
        self._last: dict[str, str] = {}
        """The last entry of a turn, by the first."""
        self._sidechains: dict[str, str] = {}
        """The dialog of each line that is not in the main one."""
        self._dialogs: set[str | None] = set()
        """Those with an entry."""
        self._folders: set[str | None] = set()
        self._tip: str | None = None
        """The first entry of the last turn of the main dialog."""
        self._queue = PromptQueue()
        self._taken_count = 0

    def take(self, place: str, line: dict[str, Json]) -> Iterator[Item]:
        uuid, kind = as_text(line.get("uuid")), line.get("type")
        self._place_of_line = place
        if uuid in self._parents:
            return  # a resumed session may repeat lines
        if uuid is not None:
            before = as_text(line.get("parentUuid")) or as_text(line.get("logicalParentUuid"))
            self._parents[uuid] = before
            if line.get("isSidechain") is True:
                self._set_sidechain(line, uuid)
            self._records_requests = self._records_requests or _records_requests(line)
            yield from self._folder(line, uuid)
        match kind:
            case "assistant":
                yield from self._answer(line)
            case "user":
                yield from self._user(line, _message(line))
            case "attachment":
                yield from self._attachment(line)
            case "progress":
                yield from self._progress(as_dict(line.get("data")))
            case "queue-operation":
                self._queue.change(line)
            case "api-request" | "api-request-shape" | "api-request-blob":
                yield from self._request(place, line)
            case "cost-state":
                yield from _cost(line)
            case str() if kind in TITLES:
                yield Facts(title=as_text(line.get(TITLES[kind])))
            case None:
                raise InputError("a line needs a type")
            case _ if readable(kind) not in NOISE:
                yield Unknown(place, readable(kind), line, self._sidechains.get(uuid or ""))

    def finish(self) -> Iterator[Item]:
        yield from self._leave_out_unsent()
        for dialog in (*self._missed, *self._turns, *self._held, None):
            yield from self._put_all(self._missed.pop(dialog, []))
            turn = self._turns.get(dialog)
            yield from self._settle(dialog, turn.request if turn else None)
            yield from self._close(dialog)
            yield from self._put_all(self._held.pop(dialog, []))
            yield from self._close(dialog)

    def _leave_out_unsent(self) -> Iterator[Item]:
        """A history begins with the system text of its first request, also after a compaction.
        Before that is written, the prompts cannot be placed."""
        held, is_new = self._held.get(None, []), not self._turns and not self._dialogs
        start = len(held)
        if is_new and self._records_requests:
            start = 0
        elif None in self._recorded:
            unplaced = (n for n, one in enumerate(held) if one.is_note or one.entries[0].compacts)
            start = next(unplaced, start)
        for one in held[start:]:
            yield Problem(one.place, "left out: its request is not in the file yet")
        del held[start:]

    def _folder(self, line: dict[str, Json], uuid: str) -> Iterator[Item]:
        dialog, folder = self._sidechains.get(uuid), as_text(line.get("cwd"))
        if folder and dialog not in self._folders:
            self._folders.add(dialog)
            yield Facts(dialog=dialog, folder=folder, parent=None if dialog is None else "")

    def _set_sidechain(self, line: dict[str, Json], uuid: str) -> None:
        """A sub-agent is a dialog of its own, unless the file has nothing else."""
        before, agent = as_text(line.get("parentUuid")), as_text(line.get("agentId"))
        if agent is None or agent != self._agent:
            self._sidechains[uuid] = agent or self._sidechains.get(before or "") or uuid

    def _before(self, uuid: str) -> str | None:
        """The entry that a line follows; None if it is not in the file."""
        before: str | None = uuid
        seen: set[str | None] = set()
        while before in self._parents and before not in seen:
            seen.add(before)
            before = self._parents[before]
            if before is None:
                return ROOT
            if before in self._keys:
                return self._keys[before]
        return None

    def _entry(self, line: dict[str, Json], messages: list[Message], agent: str | None) -> Entry:
        uuid = as_text(line.get("uuid"))
        return Entry(
            messages=tuple(map(self._ids.assign, messages)),
            dialog=agent or self._sidechains.get(uuid or ""),
            key=uuid,
            time=as_time(line.get("timestamp")),
        )

    # Answers

    def _answer(self, line: dict[str, Json], agent: str | None = None) -> Iterator[Item]:
        message = _message(line)
        fields = {**message, "type": "message"}
        loaded, damage = load_sound(self._place_of_line, load_answer, fields)
        yield from damage
        if damage and not loaded.message.blocks:
            return
        entry = replace(
            self._entry(line, [loaded.message], agent),
            usage=as_dict(loaded.usage) or None,
            model=as_text(message.get("model")),
            metadata=drop_empty(**{k: v for k, v in (loaded.rest or {}).items() if k in KEPT}),
        )
        dialog, answer_id = entry.dialog, as_text(message.get("id"))
        yield from self._settle(dialog, line.get("requestRef"))
        turn = self._turns.get(dialog)
        if turn and answer_id and turn.answer_id == answer_id:
            turn.grow(entry, line)
            self._belongs(entry.key, turn.answer.key)
            return
        yield from self._close(dialog)
        self._turns[dialog] = _Turn(answer_id, self._placed(entry, line), line)

    def _placed(self, entry: Entry, line: dict[str, Json]) -> Entry:
        """An answer after its request, or else after the line that it follows."""
        requests = self._requests.get(entry.dialog)
        end = requests.end(line.get("requestRef")) if requests else None
        if requests is None or end is None:
            return self._place(entry)
        self._note(entry)
        config = requests.params(line.get("requestRef"))
        return replace(entry, parent=end, generation_config=config or None)

    def _settle(self, dialog: str | None, request: Json) -> Iterator[Item]:
        """Before an answer whose request is not known, the lines of a user stand where they are."""
        requests = self._requests.get(dialog)
        if requests is None or requests.end(request) is None:
            yield from self._put_all(self._held.pop(dialog, []))

    def _belongs(self, uuid: str | None, key: str | None) -> None:
        if uuid is not None and key is not None:
            self._keys[uuid] = key

    def _close(self, dialog: str | None) -> Iterator[Item]:
        turn = self._turns.pop(dialog, None)
        for entry in turn.entries() if turn else ():
            yield entry
            if turn and turn.answer.key is not None and entry.key is not None:
                self._last[turn.answer.key] = entry.key
        if turn and turn.answer.key is not None and dialog in self._requests:
            self._requests[dialog].add_answer(turn.answer.key, turn.request, turn.content)
        if dialog is None:
            yield from self._yield_taken()

    # Users and tools

    def _user(
        self,
        line: dict[str, Json],
        message: dict[str, Json],
        agent: str | None = None,
        *,
        is_note: bool = False,
    ) -> Iterator[Item]:
        messages, damage = load_sound(self._place_of_line, load_message, message)
        yield from damage
        messages = [one for one in messages if one.content or not damage]
        if not messages:
            return
        entry = self._entry(line, messages, agent)
        entries = [self._kept(one, line, entry) for one in entry.messages]
        if agent := as_text(as_dict(line.get("toolUseResult")).get("agentId")):
            call_id = next((m.tool_call_id for m in messages if m.tool_call_id), None)
            yield Facts(dialog=agent, parent=entry.dialog or "", call_id=call_id)
        content = message.get("content")
        if entry.dialog is None:
            self._queue.drop(content)
        held = Held(content, entries, entry.key, self._place_of_line, is_note)
        self._held.setdefault(entry.dialog, []).append(held)

    def _kept(self, message: Message, line: dict[str, Json], entry: Entry) -> Entry:
        """A message of a line with what is known beside it."""
        full = unspilled(self._source.path, message)
        shape = None if full is message else Shape(Form.TRUNCATED, text=message.text)
        return replace(
            entry,
            messages=(full,),
            shape=shape,
            metadata=_unsent(line.get("toolUseResult"), full.text),
            compacts=line.get("isCompactSummary") is True,
        )

    def _put_all(self, held: list[Held]) -> Iterator[Item]:
        for one in held:
            yield from self._put(one)

    def _put(self, held: Held) -> Iterator[Item]:
        """A line of a user where it stands. Only the last of its entries has a key."""
        first, *_, last = (held.entries[0], *held.entries)
        entries = [*(replace(entry, key=None) for entry in held.entries[:-1]), last]
        answered = {entry.messages[0].tool_call_id for entry in entries} - {None}
        turn = self._turns.get(first.dialog)
        if turn and answered & turn.calls:
            turn.rest += entries
            self._belongs(held.uuid, turn.answer.key)
            return
        yield from self._close(first.dialog)
        # A late result, or one without a call, goes to the end of its dialog.
        placed = self._place(last, at_end=bool(answered))
        for number, entry in enumerate(entries):
            yield replace(entry, parent=placed.parent if number == 0 else None)

    def _place(self, entry: Entry, *, at_end: bool = False) -> Entry:
        """The entry with its parent."""
        before = None if at_end or entry.key is None else self._before(entry.key)
        is_first = before == ROOT and entry.dialog not in self._dialogs
        if is_first or (before and self._sidechains.get(before) != entry.dialog):
            before = None
        self._note(entry)
        return replace(entry, parent=self._last.get(before, before) if before else before)

    def _note(self, entry: Entry) -> None:
        """Remember where an entry is."""
        self._dialogs.add(entry.dialog)
        self._belongs(entry.key, entry.key)
        if entry.dialog is None:
            self._tip = entry.key
        elif entry.key is not None:
            self._sidechains[entry.key] = entry.dialog

    # Requests

    def _request(self, place: str, line: dict[str, Json]) -> Iterator[Item]:
        agent = as_text(line.get("agentId"))
        dialog = None if agent == self._agent else agent
        requests = self._requests.setdefault(dialog, Requests(dialog, self._ids))
        match line["type"]:
            case "api-request-shape":
                requests.take_shape(line)
            case "api-request-blob":
                yield from requests.take_blob(place, line)
            case _:
                yield from self._close(dialog)
                held = [*self._missed.get(dialog, []), *self._held.get(dialog, [])]
                requests.add_held(held)
                if requests.lacks(line) and not self._is_indexed:
                    self._is_indexed = True
                    lines = (r for r in self._source.records() if isinstance(r, tuple))
                    requests.add_file(as_dict(record[1]) for record in lines)
                if requests.lacks(line):
                    yield Problem(place, "a message of this request is not in the file")
                yield from self._sent(requests, line, dialog, list(requests.entries(line, held)))

    def _sent(
        self, requests: Requests, line: dict[str, Json], dialog: str | None, new: list[Entry]
    ) -> Iterator[Item]:
        missed, held = self._missed.pop(dialog, []), self._held.get(dialog, [])
        if dialog not in self._recorded and dialog in self._dialogs:
            yield from self._put_all(held)  # a fork: its lines stand for themselves up to here
        self._recorded.add(dialog)
        tail, end = requests.tail(line), requests.end(line.get("id")) or ROOT
        yield from self._put_all([one for one in missed if not tail.has(one)])
        yield from new
        for one in (*missed, *held):
            if tail.has(one):
                self._belongs(one.uuid, end)
        self._missed[dialog] = [one for one in held if not (one.is_note or tail.has(one))]
        self._held.pop(dialog, None)
        self._dialogs.add(dialog)
        if dialog is None:
            self._tip = end
            self._queue.drop_sent(tail.has_text)

    # Beside the conversation

    def _progress(self, data: dict[str, Json]) -> Iterator[Item]:
        """Messages of a sub-agent are progress of the call that started it."""
        agent, line = as_text(data.get("agentId")), as_dict(data.get("message"))
        if agent is None or line.get("type") not in ("user", "assistant"):
            return
        uuid = as_text(line.get("uuid"))
        if uuid is not None and (uuid in self._parents or uuid in self._in_progress):
            return
        self._in_progress.add(uuid)
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
            is_note = attachment["type"] == "file" and "rendered" in line
            yield from self._user(line, {"role": "user", "content": content}, is_note=is_note)

    def _yield_taken(self) -> Iterator[Item]:
        for text, time in self._queue.take():
            self._taken_count += 1
            key, tip = f"queued-{self._taken_count}", self._tip
            before = None if tip is None else self._last.get(tip, tip)
            yield Entry(messages=(Message("user", text),), key=key, parent=before, time=time)
            if tip is not None:
                self._last[tip] = key


KEPT = frozenset({"id", "stop_reason", "stop_sequence"})
"""The keys of a response that are kept as metadata."""


def _records_requests(line: dict[str, Json]) -> bool:
    """Whether the version that wrote a line also writes its requests."""
    numbers = re.findall(r"\d+", text_of(line.get("version")))
    return tuple(map(int, numbers[:3])) > LAST_WITHOUT_REQUESTS


def _message(line: dict[str, Json]) -> dict[str, Json]:
    if not isinstance(line.get("message"), dict):
        raise InputError("a line of a person or a model needs a message")
    return as_dict(line["message"])


def _unsent(result: Json, text: str) -> dict[str, Json] | None:
    """What the terminal knows of a result and the model does not: more output, and the sub-agent.
    The rest repeats the call or the files."""
    fields = as_dict(result)
    streams = {stream: as_text(fields.get(stream)) for stream in ("stdout", "stderr")}
    return drop_empty(
        agent=as_text(fields.get("agentId")),
        **{stream: out for stream, out in streams.items() if out and out.strip() not in text},
    )


def _cost(line: dict[str, Json]) -> Iterator[Item]:
    cost = line.get("totalCostUSD")
    if isinstance(cost, int | float) and not isinstance(cost, bool):
        yield Facts(cost=float(cost))
