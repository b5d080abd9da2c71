"""What a page keeps of a dialog, and what has to hold for its rows."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tract import Tract
from tract.core.chain import Place
from tract.economy.prices import NO_PRICES
from tract.model import Message
from tract.view.history import History
from tract.view.rows import Entry, Result, Row
from tract.web.sheets import Sheet, Sheets


def sheet_of(tract: Tract, at: str | None = None) -> Sheet:
    """The dialog, read anew."""
    return Sheets(NO_PRICES).sheet(tract, at)


def all_rows(sheet: Sheet, *, has_nodes: bool = False) -> list[Row]:
    return list(sheet.rows.rows(0, len(sheet.rows), has_nodes=has_nodes))


class PageRows:
    """The rows that a page has, and how it brings them up to date."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._head: str | None = None

    def catch_up(self, sheet: Sheet) -> None:
        start = sheet.first_news(self._head or "0")
        assert 0 <= start <= len(self.rows)
        self.rows[start:] = sheet.rows.rows(start, len(sheet.rows))
        self._head = sheet.head


def check_rows(sheet: Sheet) -> None:
    """Every message is in one row, with its own results, and what is sent of it."""
    rows, places = all_rows(sheet), {key(place): place for place in sheet.snapshot.places}
    keys = [row.key for row in rows]
    assert len(set(keys)) == len(keys), "two rows with one key"
    shown = [message for row in rows if row.kind == "message" for message in messages_of(row)]
    assert sorted(shown) == sorted(places), "a message is missing, or in two rows"
    for number, row in enumerate(rows):
        inside = [key(place) for place, _ in sheet.rows.messages(number)]
        assert sorted(inside) == sorted(messages_of(row) if row.kind == "message" else [])
        if row.kind == "message":
            _check_row(sheet.snapshot, places, row)
        for name in inside:
            assert sheet.rows.find(name) == (number, name)
            assert sheet.rows.position(places[name]) == number
    assert all(prompt.key == rows[prompt.row].key for prompt in sheet.rows.prompts())


def key(place: Place) -> str:
    return place.origin.hash.hex()


def messages_of(row: Row) -> list[str]:
    """The row's own message, and the results of its calls."""
    return [row.key, *(r.key for r in results_of(row.entries) if r.key != row.key)]


def results_of(entries: Sequence[Entry]) -> list[Result]:
    return [entry.result for entry in entries if entry.result]


def _check_row(history: History, places: dict[str, Place], row: Row) -> None:
    place = places[row.key]
    if not place.sources:  # of a summary, only what is sent is shown
        _check_sent(history, place, None if row.sent is None else bool(row.sent))
    for entry in (*row.entries, *(row.sent or ())):
        if entry.kind == "call" and entry.result:
            answer = places[entry.result.key]
            assert answer.call is place, "a result at the call of another message"
            assert answer.origin.tool_call_id == entry.id, "a result at another call"
        if entry.result and entry.result.key != row.key:
            sent = entry.result.sent
            _check_sent(history, places[entry.result.key], None if sent is None else bool(sent))
    assert row.tokens == place.shown.token_count
    assert row.sent_tokens == history.weight(place)


def _check_sent(history: History, place: Place, is_something: bool | None) -> None:
    """What is said to be sent: None for what is stored, False for nothing."""
    sent = _sent(history, place)
    if is_something is None:
        assert sent == history.whole(place), "it is sent differently, and the row does not say so"
    elif is_something:
        assert sent is not None, "it is not sent"
        assert sent != history.whole(place), "it is sent as it is stored"
    else:
        assert sent is None or not sent.content, "it is sent"


def _sent(history: History, place: Place) -> Message | None:
    sent = history.sent(place)
    return sent.message if sent else None


def timeless(row: Row) -> Row:
    """A row without the times in it."""
    entries, sent = row.entries, row.sent
    return replace(
        row,
        time=None,
        seconds=None,
        entries=list(map(_timeless, entries)),
        sent=None if sent is None else list(map(_timeless, sent)),
    )


def _timeless(entry: Entry) -> Entry:
    return replace(entry, result=replace(entry.result, seconds=None)) if entry.result else entry
