"""Erasing from what a server stores beside histories: tokens, the audit log, receipts.

A receipt is deleted as a whole. A token whose dialogs are named by an erased text is revoked: two
texts that were erased look the same, and a token must not reach dialogs that were never its own.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping

from tract.content.needle import Needle
from tract.errors import CorruptError
from tract.hashing import checked_json, escape
from tract.model import Json, Trace
from tract.storage import audit, grants, receipts
from tract.storage.codec import DAMAGE
from tract.storage.copies import Phrases, shared
from tract.storage.grants import GrantRow
from tract.storage.names import unique_name
from tract.storage.receipts import ReceiptRow
from tract.storage.rows import now, stored_json, text_sum, unescape
from tract.storage.store import Store

_HASH = re.compile(r"[0-9a-f]{64}")


class Redaction:
    """One erasure, inside a transaction."""

    def __init__(self, store: Store) -> None:
        self.erased: list[Trace] = []
        self.damage: dict[Trace, None] = {}
        """What was altered before. It is not sealed again."""
        self._store, self._run = store, store.driver.run
        self._names: dict[str, str] = {}

    def erase_text(
        self, needle: Needle, dialogs: Mapping[str, str], commits: Collection[str]
    ) -> None:
        """Erase a text. Some dialogs have new names, and of some commits something was erased."""
        self._redact_grants(needle)
        self._redact_audit(needle, dialogs)
        self.erase_receipts(commits, needle.count_json)

    def erase_receipts(self, commits: Collection[str], count: Callable[[Json], int]) -> None:
        """Delete the receipts that name one of these commits, of which they may show something,
        and those that have a text."""
        hits = 0
        for *columns, checksum in list(self._store.receipts.rows()):
            row = ReceiptRow(*columns)
            text = _decoded(row.response)
            if not _is_whole(receipts.verified, (*columns, checksum)):
                self.damage[Trace(place="damaged receipt")] = None
            is_named = not set(commits).isdisjoint(_HASH.findall(text))
            if number := count([_text(row.who), _parsed(text)]) or int(is_named):
                self._store.receipts.delete(row)
                hits += number
        if hits:
            self.erased.append(Trace(place="receipts, which are deleted", count=hits))

    def copies(self, phrases: Phrases) -> Iterator[Trace]:
        """The places that have lines of an erased content in a name."""
        for _, name, _, _, prefixes, *_ in self._run(_GRANTS):
            if count := shared(phrases, [_text(name), _json(prefixes)]):
                yield Trace(place=f"token {_text(name)}", count=count)
        for _, _, who, _, dialog, *_ in self._store.audit.rows():
            if count := shared(phrases, [_text(who), _text(dialog)]):
                yield Trace(_text(dialog), None, "audit log", count)

    def _redact_grants(self, needle: Needle) -> None:
        rows = [(row[0], GrantRow(*row[1:-1]), row[-1]) for row in self._run(_GRANTS)]
        taken = {_text(row.name) for _, row, _ in rows}
        for key, row, checksum in rows:
            is_whole = _is_whole(grants.verified, (*row, checksum))
            name, prefixes = _text(row.name), _json(row.prefixes)
            in_name, in_prefixes = needle.count(name), needle.count_json(prefixes)
            if not is_whole:
                self.damage[Trace(place=f"damaged token {needle.redact(name)}")] = None
            if in_name:
                self._names[name] = unique_name(needle.redact(name), taken)
                taken.add(self._names[name])
                row = row._replace(name=escape(self._names[name]))
                self.erased.append(Trace(place="name of a token", count=in_name))
            if in_prefixes:
                left = checked_json(needle.redact_json(prefixes))
                row = row._replace(prefixes=left, revoked_at=row.revoked_at or now())
                place = f"dialogs of token {_text(row.name)}, which is revoked"
                self.erased.append(Trace(place=place, count=in_prefixes))
            if in_name or in_prefixes:
                total = text_sum(*row) if is_whole else checksum
                self._run(_SET_GRANT, (row.name, row.prefixes, row.revoked_at, total, key))

    def _redact_audit(self, needle: Needle, dialogs: Mapping[str, str]) -> None:
        counts: Counter[str] = Counter()
        for *columns, checksum in list(self._store.audit.rows()):
            row = audit.AuditRow(*columns)
            is_whole = _is_whole(audit.verified, (*columns, checksum))
            if not is_whole:
                self.damage[Trace(place=f"damaged entry {row.id} of the audit log")] = None
            who, dialog = _text(row.who), _text(row.dialog)
            new = dialogs.get(dialog) or needle.redact(dialog)
            if count := needle.count(who) + needle.count(dialog):
                left = escape(self._names.get(who) or needle.redact(who)), escape(new)
                sealed = text_sum(*row._replace(who=left[0], dialog=left[1])[1:])
                self._run(_SET_ENTRY, (*left, sealed if is_whole else checksum, row.id))
                counts[new] += count
        self.erased += [Trace(dialog, None, "audit log", n) for dialog, n in counts.items()]


def _is_whole(verified: Callable[[tuple[object, ...]], object], row: tuple[object, ...]) -> bool:
    try:
        verified(row)
    except (CorruptError, *DAMAGE):
        return False
    return True


def _text(stored: str) -> str:
    """A stored name, or what is there instead if it is damaged."""
    try:
        return unescape(stored)
    except (CorruptError, *DAMAGE):
        return str(stored)


def _json(stored: str) -> Json:
    try:
        return stored_json(stored)
    except (CorruptError, *DAMAGE):
        return str(stored)


def _decoded(response: object) -> str:
    return response.decode("utf-8", "replace") if isinstance(response, bytes) else str(response)


def _parsed(text: str) -> Json:
    """The value of JSON; anything else is a text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


_GRANTS = f"SELECT id, {grants.COLUMNS}, checksum FROM grants ORDER BY id"

_SET_GRANT = "UPDATE grants SET name = ?, prefixes = ?, revoked_at = ?, checksum = ? WHERE id = ?"

_SET_ENTRY = "UPDATE audit SET who = ?, dialog = ?, checksum = ? WHERE id = ?"
