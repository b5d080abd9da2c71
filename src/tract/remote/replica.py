"""What a client has of a dialog: the chain as it was read, and contents as they are needed.

It stands where a session expects a store, so that histories are folded and compiled in the client
by the same code. It reads; whatever is written goes to the server.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from threading import RLock
from typing import Any

from tract.access import AuditEntry, Grant
from tract.errors import (
    BranchNotFoundError,
    CommitNotFoundError,
    DialogNotFoundError,
    ForgottenError,
    NotFoundError,
)
from tract.hashing import from_json, to_json
from tract.model import EMPTY, CommitInfo, DialogInfo, Gist, Head, Json, Step, Toolset
from tract.remote import wire
from tract.remote.operations import BY_NAME, MOST
from tract.remote.transport import AFTER, BATCH, BRANCH, Transport, quoted
from tract.remote.values import NewGrant, Position, Steps
from tract.session.session import MAIN
from tract.storage.store import CommitNotes, Stand


class Pages(Iterator[Any]):
    """The items of a list, page by page."""

    def __init__(self, read: Callable[[dict[str, str]], Json], returns: Any) -> None:
        self.note: str | None = None
        """What the server says about them, once it is known."""
        self._items = self._read(read, returns)

    def __next__(self) -> Any:
        return next(self._items)

    def _read(self, read: Callable[[dict[str, str]], Json], returns: Any) -> Iterator[Any]:
        cursor: dict[str, str] = {}
        while True:
            page = read(cursor)
            self.note = page.get("note") or self.note
            for item in page["items"]:
                yield wire.convert(item, returns)
            if page["next"] is None:
                return
            cursor = {"cursor": page["next"]}


class Transaction:
    """What the dialogs of a client share: a lock, and the batch that is open on the server."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.batches: list[str] = []
        """The open batches, one inside the other."""


class Replica:
    """One dialog of a server, as far as it was read."""

    def __init__(
        self, server: Transport, dialog: str, transaction: Transaction | None = None
    ) -> None:
        self._server = server
        self._dialog = dialog
        self._transaction = transaction or Transaction()
        self.driver = self
        self.erasures = 0
        self.written: str | None = None
        """The newest commit that was written here: a replica of the server must have it."""
        self.dialogs = RemoteDialogs(self)
        self.contents = RemoteContents(self)
        self.grants = RemoteGrants(server)
        self.audit = RemoteAudit(self)
        self._toolsets: dict[bytes, Toolset] = {}
        self._recorded: dict[bytes, bytes] = {}  # a commit of each toolset
        self._ids: dict[str, int] = {}

    def beside(self, dialog: str) -> Replica:
        """Another dialog of the same server, in the same transactions."""
        return Replica(self._server, dialog, self._transaction)

    @property
    def lane(self) -> Hashable:
        """Equal for all that share their transactions."""
        return self._transaction

    @property
    def lock(self) -> RLock:
        return self._transaction.lock

    @property
    def depth(self) -> int:
        """How many batches are open, one inside the other."""
        return len(self._transaction.batches)

    @property
    def headers(self) -> dict[str, str]:
        """Sent with every request: the batch that is open, and the newest write, if any."""
        batches = self._transaction.batches
        headers = {BATCH: batches[-1]} if batches else {}
        return headers if self.written is None else {**headers, AFTER: self.written}

    def enter(self, batch: str) -> None:
        self._transaction.batches.append(batch)

    def leave(self) -> None:
        self._transaction.batches.pop()

    def get(self, name: str, fields: Mapping[str, Any], headers: Mapping[str, str]) -> Json:
        """The answer to a GET about this dialog."""
        operation = BY_NAME[name]
        if "{dialog}" in operation.path:
            fields = {"dialog": self._dialog, **fields}
        return self._server.call(operation, fields, {**self.headers, **headers}).value

    def position(self, at: str | None = None, branch: str | None = None) -> Position:
        headers = {} if branch is None else {BRANCH: quoted(branch)}
        fields = {} if at is None else {"at": at}
        try:
            position: Position = wire.convert(self.get("position", fields, headers), Position)
        except DialogNotFoundError:  # the token is for other dialogs
            if at is not None:
                raise
            position = NOWHERE
        self.erasures = position.erasures
        self.dialogs.last = position
        return position

    def close(self) -> None:
        self._server.close()

    def read_erasures(self) -> int:
        return self.position().erasures

    def branch(self, dialog: str, name: str) -> Stand | None:
        del dialog
        try:
            position = self.position(branch=name)
        except BranchNotFoundError:
            return None
        return _stand(position) if position.exists else None

    def check_head(self, dialog: str, head: Head) -> Stand:
        del dialog
        return _stand(self.position(at=(head.hash or b"").hex()))

    def resolve(self, dialog: str, names: Sequence[str]) -> list[Head]:
        del dialog
        return [self._resolve(name) for name in names]

    def _resolve(self, name: str) -> Head:
        known = self._ids.get(name)
        if known is not None:
            return Head(known, bytes.fromhex(name))
        position = self.position(at=name)
        if not (position.head or "").startswith(name.strip().lower()):  # a branch has this name
            raise CommitNotFoundError(f"no commit {name[:80]} in this dialog")
        return _stand(position).head

    def info(self, commit: Head) -> CommitInfo:
        value = self.get("get_commit", {"commit": (commit.hash or b"").hex()}, {})
        info: CommitInfo = wire.convert(value, CommitInfo)
        return info

    def infos(self, commits: Sequence[Head]) -> list[CommitInfo]:
        return [self.info(commit) for commit in commits]

    def notes(self, commits: Sequence[Head]) -> list[CommitNotes]:
        return [
            CommitNotes(info.metadata, info.generation_config, info.usage, info.created_at)
            for info in self.infos(commits)
        ]

    def log(self, head_id: int | None) -> Iterator[CommitInfo]:
        """The log of what is checked out, newest first."""
        if head_id is not None:
            names = {head: name for name, head in self._ids.items()}
            yield from self.pages("log", {"at": names[head_id]} if head_id in names else {})

    def pages(
        self, name: str, fields: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> Pages:
        return Pages(
            lambda cursor: self.get(name, {**fields, **cursor}, headers or {}),
            BY_NAME[name].returns,
        )

    def steps(self, head: Head, known: Head = EMPTY) -> list[Step] | None:
        """The chain up to a commit, or what follows a known one; None if it does not follow it."""
        fields = {"head": (head.hash or b"").hex()}
        since = (known.hash or b"").hex()
        steps: list[Step] = []
        while True:
            page = wire.convert(
                self.get("steps", fields | ({"known": since} if since else {}), {}), Steps
            )
            if page.steps is None:
                return None
            steps += page.steps
            self._take(page)
            if page.next is None:
                return steps
            since = page.next

    def step(self, commit: Head) -> Step:
        """One commit, without those before it."""
        parent = self.info(commit).parent_hash
        [step] = self.steps(commit, EMPTY if parent is None else self._resolve(parent)) or []
        return step

    def has_result(self, dialog: str, call_id: str) -> bool:
        """Whether the dialog has a result with this id."""
        del dialog
        try:
            self.get("result", {"id": call_id, "view": "metadata"}, {})
        except NotFoundError:
            return False
        return True

    def _take(self, page: Steps) -> None:
        self.contents.take(page)
        for step in page.steps or []:
            self._ids[step.hash.hex()] = step.id
            if step.toolset:
                self._recorded.setdefault(step.toolset, step.hash)

    def toolset(self, digest: bytes) -> Toolset:
        if digest not in self._toolsets:
            commit = self._recorded[digest].hex()
            value = self.get("toolset", {"commit": commit}, {})
            self._toolsets[digest] = wire.convert(value, Toolset)
        return self._toolsets[digest]

    def metadata(self, commit: Head) -> None:
        """An edit keeps the metadata of its original; the server adds that."""

    def restore_tools(self, toolset: Toolset) -> None:
        """The server does that when it writes."""


class RemoteDialogs:
    """What a session asks of the dialogs of its store."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self.last: Position | None = None

    def has(self, name: str) -> bool:
        return self._replica.beside(name).position().exists

    def checked_out(self, name: str) -> tuple[str, Head | None] | None:
        """The branch, and the commit that is checked out instead; None without a dialog."""
        del name
        position = self.last or self._replica.position()
        if not position.exists:
            return None
        detached = None if position.detached is None else _stand(position).head
        return position.branch, detached

    def settings(self, name: str, kind: str) -> Json:
        del name
        return getattr(self.last or self._replica.position(), kind)

    def infos(self) -> list[DialogInfo]:
        return list(self._replica.pages("dialogs", {}))


class RemoteContents:
    """The contents of a dialog, by the keys that its steps have."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._commits: dict[int, str] = {}
        self._gists: dict[int, Gist] = {}
        self._forgotten: set[int] = set()

    def take(self, page: Steps) -> None:
        """Remember which commit has which content."""
        for step in page.steps or []:
            if step.blob_id is not None:
                self._commits[step.blob_id] = step.hash.hex()
                self._forgotten.discard(step.blob_id)
        self._gists |= page.gists
        self._forgotten |= set(page.forgotten)

    def read(self, blob_id: int) -> bytes:
        payload: bytes = self._replica.get("payload", {"commit": self._commits[blob_id]}, {})
        return payload

    def value(self, blob_id: int) -> Json:
        return from_json(self.read(blob_id))

    def values(self, sizes: Mapping[int, int]) -> Iterator[tuple[int, Json]]:
        """One by one, without forgotten ones."""
        for blob_id in sizes:
            with suppress(ForgottenError):
                yield blob_id, self.value(blob_id)

    def text(self, blob_id: int) -> None:
        """No content is read in parts here: the server does that."""

    def gists(self, blob_ids: Sequence[int]) -> dict[int, Gist]:
        return {key: self._gists[key] for key in blob_ids if key in self._gists}

    def add_gists(self, gists: Mapping[int, Gist]) -> None:
        """For this client alone."""
        self._gists |= gists

    def forgotten(self, blob_ids: Sequence[int]) -> set[int]:
        return self._forgotten & set(blob_ids)


class RemoteGrants:
    """The tokens of a server, for its administrator."""

    def __init__(self, server: Transport) -> None:
        self._server = server

    def all(self) -> list[Grant]:
        grants: list[Grant] = wire.convert(self._call("grants", {}), list[Grant])
        return grants

    def add(self, name: str, digest: bytes, scope: str, prefixes: Sequence[str] = ()) -> Grant:
        """A token with this SHA-256. The token itself stays here."""
        fields = {"name": name, "scope": scope, "dialogs": list(prefixes), "digest": digest.hex()}
        new: NewGrant = wire.convert(self._call("add_grant", fields), NewGrant)
        return new.grant

    def revoke(self, name: str) -> Grant:
        self._call("revoke_grant", {"name": name})
        return next(grant for grant in self.all() if grant.name == name)

    def _call(self, name: str, fields: Mapping[str, Any]) -> Json:
        return self._server.call(BY_NAME[name], fields).value


class RemoteAudit:
    """The audit log of a server, for its administrator."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica

    def entries(self, before: int | None = None, limit: int = 100) -> list[AuditEntry]:
        """The newest entries, or the newest that are older than the entry with this id."""
        fields: dict[str, Any] = {"limit": min(limit, MOST)}
        if before is not None:
            fields["cursor"] = str(before)
        return list(islice(self._replica.pages("audit", fields), limit))


NOWHERE = Position(MAIN, None, None, None, False, 0, None, None)
"""A dialog that does not exist for this client."""


def _stand(position: Position) -> Stand:
    if not position.exists:
        raise DialogNotFoundError("this dialog is gone")
    settings = position.result_settings
    digest = None if position.head is None else bytes.fromhex(position.head)
    return Stand(Head(position.head_id, digest), None if settings is None else to_json(settings))
