"""The open dialogs of a server process: one database, opened on first use."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from threading import Lock
from typing import Protocol

from tract.errors import DialogNotFoundError
from tract.mcp.binding import Binding
from tract.model import DialogInfo
from tract.tract import Tract

MOST = 32
"""Dialogs that stay open: what was read of them need not be read again."""


class Opener(Protocol):
    """Opens a dialog."""

    def __call__(self, dialog: str, *, create: bool = False) -> Tract:
        """Without `create`, a missing database or dialog is a NotFoundError. With it, the first
        commit creates the dialog."""


class OpenDialogs:
    """Dialogs of one database, for any number of threads."""

    def __init__(self, find: Callable[[], Tract], create: Callable[[], Tract]) -> None:
        """`find` opens an existing database, `create` opens any."""
        self._find = find
        self._create = create
        self._lock = Lock()
        self._root: Tract | None = None
        self._open: OrderedDict[str, Tract] = OrderedDict()

    def __call__(self, dialog: str, *, create: bool = False) -> Tract:
        with self._lock:
            root = self._opened(create)
            if not (create or root.store.dialogs.has(dialog)):
                raise DialogNotFoundError(f"no dialog {dialog!r:.100} in this database yet")
            return self._sibling(root, dialog)

    def infos(self) -> list[DialogInfo]:
        """All dialogs of the database."""
        with self._lock:
            root = self._opened(False)
        return root.dialogs()

    def close(self) -> None:
        with self._lock:
            if self._root is not None:
                self._root.close()
            self._root = None
            self._open.clear()

    def _opened(self, create: bool) -> Tract:
        if self._root is None:
            self._root = self._create() if create else self._find()
        return self._root

    def _sibling(self, root: Tract, dialog: str) -> Tract:
        tract = self._open.get(dialog)
        if tract is None or not _is_usable(tract):
            tract = self._open[dialog] = root.sibling(dialog)
        self._open.move_to_end(dialog)
        while len(self._open) > MOST:
            self._open.popitem(last=False)
        return tract


def _is_usable(tract: Tract) -> bool:
    try:
        tract.session.is_there()
    except DialogNotFoundError:  # deleted or renamed while it was open
        return False
    return True


class Scope:
    """The dialogs of one call."""

    def __init__(self, binding: Binding, open_dialog: Opener) -> None:
        self._binding = binding
        self._open = open_dialog

    def tracts(self) -> Iterator[Tract]:
        """The dialogs of the binding that exist."""
        yield from self._existing(self._binding.dialogs)

    def all_tracts(self) -> Iterator[Tract]:
        """Also those that are asked only for an id."""
        yield from self.tracts()
        yield from self._existing(self._binding.others())

    def tract(self, dialog: str) -> Tract:
        """A dialog of the binding. One that is not looks like one that does not exist."""
        if dialog not in self._binding.dialogs and dialog not in self._binding.others():
            raise DialogNotFoundError(f"no dialog {dialog!r:.100} in this database yet")
        return self._open(dialog)

    @property
    def names(self) -> str:
        return ", ".join(self._binding.dialogs)

    @property
    def writes(self) -> str | None:
        return self._binding.writes

    def tract_for_writing(self, dialog: str) -> Tract:
        return self._open(dialog, create=True)

    def _existing(self, names: Iterable[str]) -> Iterator[Tract]:
        for name in names:
            try:
                yield self._open(name)
            except DialogNotFoundError:
                continue
