"""aider: the chat history that it keeps as Markdown, all runs in one file. A run is a dialog.

Lines of a person begin with `#### `, those of aider with `> `, and both end with two blanks;
anything else is an answer. Left out, because no model reads it: what aider says, its commands
(except those that ask the model), and blank prompts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from tract.importers.coerce import drop_empty
from tract.importers.items import Entry, Facts, Item, Problem
from tract.importers.source import Source
from tract.model import Json, Message

NAME = "aider"

_RUN = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*")
_MODEL = re.compile(r"(?:Main model|Model): (\S+)")
_TOKENS = re.compile(r"Tokens: (.+?)\.(?: Cost: .*?\$([\d.]+) session\.)?\s*$")
_EXACT = re.compile(r"(\d+) sent, (\d+) received")
_ASKING = re.compile(r"/(?:ask|code|architect|context)\s+(.*)", re.DOTALL)
_PERSON, _AIDER, _END = "#### ", "> ", "  \n"
BLANK = "<blank>"


def detect(source: Source) -> bool:
    beginning = source.head[:1000].decode("utf-8", "replace").lstrip()
    return _RUN.match(beginning.partition("\n")[0]) is not None


def read(source: Source) -> Iterator[Item]:
    chat = _Chat()
    with source.open() as file:
        for number, data in enumerate(file, 1):
            line = data.decode("utf-8", "replace").replace("\r\n", "\n")
            if line.endswith("\n"):
                yield from chat.take(line)
            else:
                yield Problem(f"line {number}", "cut: the line has no end")
    yield from chat.finish()


class _Chat:
    """The messages of a file, line by line. A message is complete when something follows it."""

    def __init__(self) -> None:
        self._dialogs: set[str | None] = set()
        self._dialog: str | None = None
        self._model: str | None = None
        self._started: datetime | None = None
        self._prompt: list[str] = []
        self._answer: list[str] = []
        self._is_ended = False
        """Whether the answer is complete; what it cost may follow."""
        self._about: dict[str, Json] = {}

    def take(self, line: str) -> Iterator[Item]:
        run = _RUN.fullmatch(line)
        if run:
            yield from self._flush()
            self._begin(run[1])
        elif line.startswith(_PERSON) and line.endswith(_END):
            if self._answer:
                yield from self._flush()
            self._prompt.append(line.removeprefix(_PERSON).removesuffix(_END))
        elif line.startswith(_AIDER) and line.endswith(_END):
            yield from self._flush_prompt()
            yield from self._hear(line.removeprefix(_AIDER).removesuffix(_END))
        elif line.strip() or self._answer:
            yield from self._flush_prompt()
            if self._is_ended and line.strip():
                yield from self._flush()
            self._answer += [] if self._is_ended else [line]
        elif self._prompt:
            yield from self._flush_prompt()

    def finish(self) -> Iterator[Item]:
        if self._is_ended:
            yield from self._flush()
        elif self._prompt or "".join(self._answer).strip():
            yield Problem("end of file", "the last message may be cut: nothing follows it")

    def _begin(self, time: str) -> None:
        self._dialog = time if self._dialogs else None
        self._started = datetime.fromisoformat(time).astimezone(UTC)  # it is in local time
        self._model = None

    def _hear(self, text: str) -> Iterator[Item]:
        """What aider says: the model, or what an answer cost; after an answer, that it is over."""
        self._is_ended = self._is_ended or bool("".join(self._answer).strip())
        if model := _MODEL.match(text):
            self._model = model[1]
        elif tokens := _TOKENS.match(text):
            exact = _EXACT.fullmatch(tokens[1])
            if exact:
                self._about["usage"] = {
                    "input_tokens": int(exact[1]),
                    "output_tokens": int(exact[2]),
                }
            self._about["metadata"] = {"tokens": tokens[1]}
            if tokens[2]:
                yield Facts(dialog=self._dialog, cost=float(tokens[2]))

    def _flush(self) -> Iterator[Item]:
        yield from self._flush_prompt()
        text = "".join(self._answer).strip("\n")
        if text.strip():
            about: dict[str, Json] = {"model": self._model, **self._about}
            yield from self._entry(Message("assistant", text), **about)
        self._answer, self._about, self._is_ended = [], {}, False

    def _flush_prompt(self) -> Iterator[Item]:
        prompt, self._prompt = "\n".join(self._prompt), []
        asking = _ASKING.fullmatch(prompt)
        if asking or (prompt and prompt != BLANK and not prompt.startswith(("/", "!"))):
            command = drop_empty(command=prompt.partition(" ")[0]) if asking else None
            text = asking[1] if asking else prompt
            yield from self._entry(Message("user", text), metadata=command)

    def _entry(self, message: Message, **about: Json) -> Iterator[Item]:
        if self._dialog not in self._dialogs:
            self._dialogs.add(self._dialog)
            yield Facts(dialog=self._dialog, started=self._started, model=self._model)
        yield Entry(messages=(message,), dialog=self._dialog, **about)
