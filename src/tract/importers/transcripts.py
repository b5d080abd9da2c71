"""Files as transcripts: read completely, written nowhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec.structs import replace

from tract import importers
from tract.core.entries import Entry, Facts, FullHistory, Problem, Unknown, position
from tract.core.transcript import MemoryThread, Transcript, dialog_name
from tract.errors import InputError
from tract.importers.facts import ConversationFacts
from tract.importers.items import Exchange, Item
from tract.importers.source import UNFORESEEN, Source, readable
from tract.model import Json, Toolset
from tract.providers import as_sent, requests, toolsets
from tract.providers.call_ids import original_id
from tract.providers.damage import load_sound, sift_answer, sift_tools
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


def read_transcript(
    path: Path, count: Callable[[str], int] | None = None, facts: ConversationFacts | None = None
) -> Transcript[MemoryThread]:
    """All conversations in a file of any known format. Without `count` no tokens are counted;
    `facts` receives what is known about each conversation."""
    source = Source(path)
    importer = importers.importer_of(source)
    name = dialog_name(importers.session_of(importer, source) or path.stem)
    transcript = Transcript(name, lambda name: MemoryThread(name, RULES, count))
    for item in read_items(importer, source):
        if facts:
            facts.take(item)
        if not isinstance(item, Facts):
            transcript.add(item)
    return transcript


def read_items(
    importer: importers.Importer, source: Source, *, only_usage: bool = False
) -> Iterator[Entry | FullHistory | Problem | Unknown | Facts]:
    """What is in a file, free of the provider's format. With `only_usage` messages may be missing:
    what answers have used is there."""
    items = importers.usages_in(importer, source) if only_usage else importer.read(source)
    for item in _until_unforeseen(items, source.path):
        try:
            if isinstance(item, Exchange):
                yield from load_exchange(item)
            elif isinstance(item, Entry) and item.tools is not None:
                tools, damage = sift_tools(item.tools)
                yield from (Problem(place, what) for place, what in damage)
                yield replace(item, tools=tools or None)
            else:
                yield item
        except InputError as error:
            yield Problem(position(item), str(error))


def _until_unforeseen(items: Iterator[Item], path: Path) -> Iterator[Item]:
    """A mistake in an importer must not cost the other files of a folder."""
    try:
        with readable(path):
            yield from items
    except InputError:  # the file is refused
        raise
    except UNFORESEEN as error:
        yield Problem("the rest of the file", f"not understood: {type(error).__name__}: {error}")


def load_exchange(exchange: Exchange) -> Iterator[FullHistory | Problem]:
    """A request and its answer, free of the provider's format. What cannot be read of them costs
    only itself."""
    # The importer has inserted what came before, as far as the file has it.
    request = {k: v for k, v in exchange.request.items() if k != "previous_response_id"}
    loaded, damage = load_sound(request, exchange.provider)
    for place, what in damage:
        yield Problem(place, what)
    metadata: dict[str, Json] = {"time": exchange.time.isoformat()} if exchange.time else {}
    try:
        history = requests.full_history(loaded, exchange.response, metadata)
    except InputError:
        response, damage = sift_answer(exchange.response)
        yield from (Problem(f"response{place}", what) for place, what in damage)
        history = requests.full_history(loaded, response, metadata)
    if history.messages:
        yield history._replace(dialog=exchange.dialog)
