"""Results as resources: `tract://{dialog}/results/{id}`, with names percent-encoded."""

from __future__ import annotations

import re
from itertools import groupby
from typing import NamedTuple
from urllib.parse import quote, unquote

from tract.content.blocks import whole_text
from tract.content.reader import StringReader, TextReader
from tract.content.text import counted, printable
from tract.core.wording import GET_TOOL_RESULT
from tract.errors import InputError
from tract.mcp.answers import entries_of
from tract.mcp.dialogs import Scope
from tract.providers.call_ids import find_result
from tract.session import listing
from tract.session.results import stored_text

SCHEME = "tract://"
TEMPLATE = "tract://{dialog}/results/{id}"
_URI = re.compile(r"tract://(?P<dialog>[^/]+)/results/(?P<id>[^/]+)")
PAGE = 100
MOST_CHARS = 1_000_000
"""Characters of a result that a resource has."""


class ResultResource(NamedTuple):
    uri: str
    name: str
    description: str
    size: int


def uri_of(dialog: str, result_id: str) -> str:
    return f"{SCHEME}{_quoted(dialog)}/results/{_quoted(result_id)}"


def names_in(uri: str) -> tuple[str, str]:
    """The dialog and the id of a resource."""
    match = _URI.fullmatch(uri)
    if match is None:
        raise InputError(f"not a resource of tract: {uri!r:.200}; expected {TEMPLATE}")
    return _unquoted(match["dialog"]), _unquoted(match["id"])


def _quoted(name: str) -> str:
    return quote(name, safe="", errors="surrogatepass")


def _unquoted(name: str) -> str:
    try:
        return unquote(name, errors="surrogatepass")
    except UnicodeDecodeError:
        raise InputError(f"not percent-encoded UTF-8: {name!r:.200}") from None


def list_resources(scope: Scope, cursor: str | None) -> tuple[list[ResultResource], str | None]:
    """A page of results, newest first in each dialog, and the cursor of the next page. A result
    that is stored meanwhile may show one twice, and hides none."""
    start = _start(cursor)
    entries = entries_of(scope, None)
    page = entries[start : start + PAGE]
    following = str(start + PAGE) if start + PAGE < len(entries) else None
    resources: list[ResultResource] = []
    for tract, group in groupby(page, key=lambda entry: entry.tract):
        for result in listing.describe(tract.session, [entry.place for entry in group]):
            name = f"{result.tool or 'a tool'} {result.id}"
            uri = uri_of(tract.dialog, result.id)
            resources.append(
                ResultResource(uri, printable(name, 200), result.subject, result.byte_size)
            )
    return resources, following


def _start(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) <= 15):
        raise InputError(f"not a cursor: {cursor!r:.80}")
    return int(cursor)


def read_resource(scope: Scope, uri: str) -> str:
    """The full text of a result. A longer one than the bound ends with a line that says so."""
    dialog, result_id = names_in(uri)
    session = scope.tract(dialog).session
    with session.lock:
        place = find_result(session.chain().places, result_id)
        reader: TextReader | None = stored_text(session, place)
        if reader is None:
            reader = StringReader(whole_text(session.compiler.load(place.shown)))
        text = reader.read(0, MOST_CHARS)
    if len(text) == reader.size:
        return text
    how = f'{GET_TOOL_RESULT}(id="{place.label}", offset={MOST_CHARS})'
    rest = counted(reader.size - len(text), "character")
    return f"{text}\n[{rest} not shown; call {how} for the next]"
