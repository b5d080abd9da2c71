"""The conversations that recorded exchanges belong to."""

from __future__ import annotations

from hashlib import sha256

from msgspec.structs import replace

from tract.errors import InputError
from tract.importers.coerce import as_dict, as_text, dicts, ensure_storable
from tract.importers.items import Exchange, Problem
from tract.importers.provider import opening
from tract.model import Json

KEPT_RESPONSES = 1000
"""How many answers are remembered for requests that only name them."""


def check_exchange(exchange: Exchange, place: str) -> Exchange | Problem:
    """The exchange, if it can be stored."""
    try:
        ensure_storable([exchange.request, exchange.response])
    except InputError as error:
        return Problem(place, str(error))
    return exchange


class Conversations:
    """Which conversation each exchange of a file belongs to, and what earlier exchanges contain
    that later ones only name."""

    def __init__(self) -> None:
        self._names: dict[bytes, str | None] = {}
        self._items: dict[str, Json] = {}
        self._histories: dict[str, tuple[list[Json], str | None]] = {}

    def place(self, exchange: Exchange) -> Exchange:
        """The exchange with its full history, in its dialog."""
        if exchange.provider != "responses":
            return replace(exchange, dialog=self._name(exchange))
        request, dialog = self._continue(exchange)
        self._remember(request, exchange.response, dialog)
        return replace(exchange, request=request, dialog=dialog)

    def _name(self, exchange: Exchange) -> str | None:
        """None for the first conversation, a number for each other one."""
        start = opening(exchange.provider, exchange.request).encode("utf-8", "surrogatepass")
        number = len(self._names) + 1
        return self._names.setdefault(sha256(start).digest(), str(number) if number > 1 else None)

    def _continue(self, exchange: Exchange) -> tuple[dict[str, Json], str | None]:
        """The request with its full history, and its dialog."""
        previous = exchange.request.get("previous_response_id")
        known = self._histories.get(previous) if isinstance(previous, str) else None
        request = self._resolve(exchange.request)
        if known is None:
            return request, self._name(exchange)
        history, dialog = known
        rest = {key: value for key, value in request.items() if key != "previous_response_id"}
        return {**rest, "input": [*history, *_items(request)]}, dialog

    def _resolve(self, request: dict[str, Json]) -> dict[str, Json]:
        """The request with the items that it only refers to."""
        items = request.get("input")
        if not isinstance(items, list):
            return request
        return {**request, "input": [self._item(item) for item in items]}

    def _item(self, item: Json) -> Json:
        if as_dict(item).get("type") != "item_reference":
            return item
        return self._items.get(str(item.get("id")), item)

    def _remember(self, request: dict[str, Json], response: Json, dialog: str | None) -> None:
        output = as_dict(response).get("output")
        if not isinstance(output, list):
            return
        for item in dicts(output):
            if isinstance(item.get("id"), str):
                self._items[item["id"]] = item
        name = as_text(as_dict(response).get("id"))
        if name:
            self._histories[name] = ([*_items(request), *output], dialog)
        for kept in (self._items, self._histories):
            while len(kept) > KEPT_RESPONSES:
                del kept[next(iter(kept))]


def _items(request: dict[str, Json]) -> list[Json]:
    items = request.get("input")
    if isinstance(items, str):
        return [{"role": "user", "content": items}]
    return items if isinstance(items, list) else []
