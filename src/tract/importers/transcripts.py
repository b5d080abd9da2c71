"""Files as transcripts: read completely, written nowhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tract import importers
from tract.core.drafts import Details
from tract.core.entries import FullHistory, Problem, position
from tract.core.transcript import Transcript
from tract.errors import InputError
from tract.importers.items import Exchange
from tract.model import Json, Toolset
from tract.providers import as_sent, load_answer, requests, toolsets
from tract.providers.call_ids import original_id
from tract.providers.server_tools import without_thoughts
from tract.tokens import token_counter

TOKENS = token_counter("chars/4")  # nobody sees the tokens of tools in a file


class _Rules:
    """What the tree of a transcript has to ask providers."""

    without_thoughts = staticmethod(without_thoughts)
    original_id = staticmethod(original_id)
    as_sent = staticmethod(as_sent)

    def toolset(self, tools: list[dict[str, Json]]) -> Toolset:
        return toolsets.make(tools, TOKENS)


RULES = _Rules()


def read_transcript(path: Path, count: Callable[[str], int] | None = None) -> Transcript:
    """All conversations in a file of any known format. Without `count` no tokens are counted."""
    source = importers.open_source(path)
    importer = importers.importer_of(source)
    transcript = Transcript(importers.session_of(importer, source) or path.stem, RULES, count)
    for item in importer.read(source):
        transcript.add(_load(item) if isinstance(item, Exchange) else item)
    return transcript


def _load(exchange: Exchange) -> FullHistory | Problem:
    try:
        return load_exchange(exchange)
    except InputError as error:
        return Problem(position(exchange), str(error))


def load_exchange(exchange: Exchange) -> FullHistory:
    """A request and its answer, free of the provider's format."""
    # The importer has inserted what came before, as far as the file has it.
    request = {k: v for k, v in exchange.request.items() if k != "previous_response_id"}
    loaded = requests.load(request, exchange.provider)
    if exchange.response is None:
        return FullHistory(loaded.messages, loaded.tools, dialog=exchange.dialog)
    answer = load_answer(exchange.response)
    metadata: dict[str, Json] = {"response": answer.rest} if answer.rest else {}
    if exchange.time:
        metadata["time"] = exchange.time.isoformat()
    details = Details(None, metadata or None, loaded.config or None, answer.usage)
    messages = [*loaded.messages, answer.message]
    return FullHistory(messages, loaded.tools, True, details, exchange.dialog)
