"""The command that finds messages: search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice

import click

from tract.cli.commits import plain
from tract.cli.inputs import json_option
from tract.cli.screen import (
    CYAN,
    DIM,
    RED,
    SHORT,
    Painted,
    Progress,
    dump_list,
    dump_or_put,
    put,
    say,
)
from tract.cli.since import parse_since, since_option
from tract.cli.target import Target, is_server
from tract.content.terms import Terms
from tract.errors import CorruptError
from tract.model import DialogInfo
from tract.storage import Store
from tract.storage.search import BEST, NEWEST, Hit, Search
from tract.tract import Tract
from tract.view.sanitize import counted

HITS = 20
"""Hits that are printed, unless the person wants more."""
MATCH = f"1;{RED}"
FOREVER = float("inf")


@click.command("search")
@click.argument("text", required=False)
@click.option("--here", is_flag=True, help="Search only this dialog.")
@click.option("--tool", metavar="NAME", help="Only results and calls of this tool.")
@click.option(
    "--role",
    type=click.Choice(["user", "assistant", "tool", "system"]),
    help="Only messages of this role.",
)
@since_option
@click.option(
    "--project",
    metavar="FOLDER",
    help="Search only dialogs that were imported from a folder with this in its path.",
)
@click.option("--errors", is_flag=True, help="Only results that are flagged as errors.")
@click.option("--rank", is_flag=True, help="Print the messages with most matches first.")
@click.option(
    "-n",
    "limit",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"At most N hits.  [default: {HITS}; with --json, all]",
)
@click.option(
    "--index",
    "switch",
    type=click.Choice(["on", "off", "status"]),
    help="Make the word index anew, drop it, or report on it.",
)
@json_option
@click.pass_obj
def search_command(
    target: Target,
    text: str | None,
    here: bool,
    tool: str | None,
    role: str | None,
    since: str | None,
    project: str | None,
    errors: bool,
    rank: bool,
    limit: int | None,
    switch: str | None,
    as_json: bool,
) -> None:
    """Search all dialogs, newest messages first.

    A message is found if it has all words of TEXT, also as parts of other words, in upper or lower
    case. A phrase in double quotes is one word: tract search '"no space left"'.
    """
    if (text is None) == (switch is None):
        raise click.UsageError("pass a TEXT to search for, or --index")
    with target.open() if here else target.open_any() as tract:
        if switch is not None:
            _set_index(tract, target, switch, as_json)
        if text is None:
            return
        moment = None if since is None else parse_since(since, datetime.now(UTC))
        hits = tract.search(
            text,
            all_dialogs=not here,
            tool=tool,
            role=role,
            since=moment,
            project=project,
            errors=errors,
            order=BEST if rank else NEWEST,
        )
        if as_json:
            dump_list(map(plain, islice(hits, limit)))
        else:
            others = [] if here else tract.dialogs()
            is_filtered = here or any((tool, role, since, project, errors))
            _print(hits, limit or HITS, text, others, is_filtered)
        _finish(hits)


def _print_titles(dialogs: Iterable[DialogInfo], text: str) -> bool:
    """Print the dialogs whose titles match. Returns whether there are any."""
    terms, count = Terms(text), 0
    for info in dialogs:
        if match := terms.match(info.facts.title or ""):
            marked = _highlighted(match.snippet, match.spans)
            put(info.dialog, Painted("  is titled ", DIM), *marked)
            count += 1
    return count > 0


def _print(
    hits: Iterator[Hit], limit: int, text: str, dialogs: Iterable[DialogInfo], is_filtered: bool
) -> None:
    dialog, seen = None, set[str]()
    for hit in islice(hits, limit):
        if hit.dialog != dialog:
            dialog = hit.dialog
            seen.add(dialog)
            put(dialog, Painted(f"  {hit.title}" if hit.title else "", DIM))
        put(*_line(hit))
    has_titles = _print_titles((info for info in dialogs if info.dialog not in seen), text)
    if not seen and not has_titles:
        say(f"no message has {text!r}{' with these filters' if is_filtered else ''}")
    elif next(hits, None) is not None:
        say(f"there are more hits: -n {2 * limit} prints {2 * limit} of them")


def _line(hit: Hit) -> Iterable[str | Painted]:
    yield "  "
    yield Painted(hit.commit_hash[:SHORT], DIM)
    yield Painted(f"  {hit.role:<9}", RED if hit.is_error else CYAN)
    yield f"  {hit.name}" if hit.name else ""
    yield Painted(f"  {hit.created_at:%Y-%m-%d %H:%M:%S}Z  ", DIM)
    yield from _highlighted(hit.snippet, hit.spans)


def _highlighted(line: str, spans: Iterable[tuple[int, int]]) -> Iterable[str | Painted]:
    last = 0
    for start, end in spans:
        yield line[last:start]
        yield Painted(line[start:end], MATCH)
        last = end
    yield line[last:]


def _finish(hits: Iterator[Hit]) -> None:
    """Say why a search was slow, and index what is not."""
    if note := getattr(hits, "note", None):  # of a search here, or on a server
        say(note)
    if isinstance(hits, Search):
        with suppress(CorruptError):  # the note says it
            _index_rest(hits.store)


def _index_rest(store: Store) -> None:
    if not store.words.backlog().size:
        return
    with Progress("indexing words", "content") as progress:
        store.words.catch_up(FOREVER, progress, wait=True)


def _set_index(tract: Tract, target: Target, switch: str, as_json: bool) -> None:
    if is_server(target.database()):
        raise click.UsageError("--index needs the database itself, not its server")
    store = tract.session.store
    if switch != "status":
        store.words.switch(switch == "on")
        _index_rest(store)
    state = store.words.backlog()
    rest = f"; {counted(state.size, 'content')} to be indexed" if state.size else ""
    line = f"the word index is {'on' if state.is_on else 'off'}{rest}"
    dump_or_put({"is_on": bool(state.is_on), "to_index": state.size}, line, as_json)
