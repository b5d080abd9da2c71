"""One open dialog of a server. Reading is done here, by the code of any session; writing there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, cast
from urllib.parse import unquote

import msgspec

from tract.errors import TractError
from tract.llm import LLMClient
from tract.model import CommitInfo, Draft, Head
from tract.remote import wire
from tract.remote.operations import BY_NAME, Operation
from tract.remote.replica import Pages, Replica
from tract.remote.transport import BRANCH, COMMIT, NEWEST, RESULTS, Reply, Transport, quoted
from tract.remote.values import Batch
from tract.session.session import Commit, MakeDraft, New, Session, announce, withhold
from tract.storage import Store
from tract.storage.store import check_wanted
from tract.tokens import TokenCounter


class RemoteSession(Session):
    """One open dialog of a server. Threads may share it."""

    def __init__(
        self,
        server: Transport,
        dialog: str,
        *,
        tokens: TokenCounter,
        llm: LLMClient | None = None,
        queue: list[New] | None = None,
        replica: Replica | None = None,
    ) -> None:
        """The `replica` of a sibling, which shares its transactions."""
        self.server = server
        self.replica = Replica(server, dialog) if replica is None else replica.beside(dialog)
        super().__init__(cast(Store, self.replica), dialog, tokens=tokens, llm=llm, queue=queue)

    def sibling(self, dialog: str) -> RemoteSession:
        """Open another dialog of the same server."""
        return RemoteSession(
            self.server,
            dialog,
            tokens=self.tokens,
            llm=self.llm,
            queue=self._queue,
            replica=self.replica,
        )

    # Calling

    def call(
        self, operation: Operation, fields: Mapping[str, Any], content: bytes | None = None
    ) -> Any:
        """Carry out an operation on this dialog, and return its value."""
        with self.lock:
            reply = self._request(operation, fields, content)
            new = self._committed()
        announce(new)  # without the lock: a handler has its own thread, and may use the dialog
        if operation.returns is None:
            return reply.value or None
        return wire.convert(reply.value, operation.returns)

    def pages(self, operation: Operation, fields: Mapping[str, Any]) -> Pages:
        """The items of a list, page by page."""
        return self.replica.pages(operation.name, fields, self.headers())

    def headers(self) -> dict[str, str]:
        """What the server has to know of this session: what is checked out here."""
        headers = {**self.replica.headers, BRANCH: quoted(self.branch)}
        if self.detached:
            headers[COMMIT] = (self.detached.hash or b"").hex()
        return headers | {RESULTS: "1" if self.listener or self.observer else "0"}

    def _request(
        self, operation: Operation, fields: Mapping[str, Any], content: bytes | None = None
    ) -> Reply:
        if not operation.is_read and operation.name not in ("end", "abandon"):
            check_wanted()
        fields = {**fields, "dialog": self.dialog} if "{dialog}" in operation.path else fields
        reply = self.server.call(operation, fields, self.headers(), content=content)
        if BRANCH in reply.headers:
            self._move(unquote(reply.headers[BRANCH]), reply.headers.get(COMMIT))
        if not operation.is_read:
            self.replica.written = _commit_of(reply.value)
        if not operation.is_read:
            self._notice_commits(reply)
        return reply

    def _notice_commits(self, reply: Reply) -> None:
        """Queue what the server has committed: results by their hashes, anything else as it is in
        the answer."""
        results = reply.headers.get(RESULTS, "").split()
        for name in results:
            info = self.replica.info(Head(None, bytes.fromhex(name)))
            self._queue.append(New(self, info, bool(self.listener)))
        if self.observer:
            commits = [wire.convert(value, CommitInfo) for value in _commits_in(reply.value)]
            others = [info for info in commits if info.commit_hash not in results]
            self._queue.extend(New(self, info, is_pending=False) for info in others)

    def _move(self, branch: str, detached: str | None) -> None:
        """Check out here what the server has checked out."""
        self.branch = branch
        self.detached = None if detached is None else self.resolve(detached)

    def _committed(self) -> list[New]:
        """The commits that no one was called with yet; none inside a batch."""
        if self.replica.depth:
            return []
        results, self._queue[:] = self._queue[:], []
        return results

    # Writing

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Make several commits in one transaction of the server: all of them, or none."""
        with self.lock:
            before = self.branch, self.detached, self.settings, self.listener
            queue = self._queue[:]
            batch: Batch = wire.convert(self._request(BY_NAME["begin"], {}).value, Batch)
            self.replica.enter(batch.batch)
            try:
                yield
                self._request(BY_NAME["end"], {"batch": batch.batch})
            except BaseException:
                self.branch, self.detached, self.settings, self.listener = before
                self._queue[:] = queue
                with suppress(TractError):  # it may have ended already
                    self._request(BY_NAME["abandon"], {"batch": batch.batch})
                raise
            finally:
                self.replica.leave()
            new = self._committed()
        announce(new)

    def write(self, make: MakeDraft, parent: Commit | None = None) -> CommitInfo:
        """Write what this process has drafted: an answer, a summary, a decision."""
        assert parent is None, "nothing that is drafted here has a parent"
        self.check_on_branch()
        with self.batch():
            _, head = self.lock_branch()
            return self._push(make(head))

    def _push(self, draft: Draft) -> CommitInfo:
        reply = self._request(BY_NAME["push"], wire.pack_draft(draft))
        info: CommitInfo = wire.convert(reply.value, CommitInfo)
        return info

    def write_all(self, drafts: Sequence[Draft], parent: Commit | None = None) -> CommitInfo:
        """Write one commit after another, and return the last."""
        with self.batch():
            return [self.write(_same(draft), parent) for draft in drafts][-1]

    def lock_branch(self) -> tuple[int, Head]:
        """The head of the branch. Inside a batch of the server, no one else can move it."""
        return 0, self.head()

    def configure(self, kind: str, settings: msgspec.Struct) -> None:
        """Note what the dialog is. The other kinds have methods of `Tract`."""
        assert kind == "facts", kind
        self.call(BY_NAME["describe"], {"facts": settings})

    def withhold(self, commit: CommitInfo) -> None:
        """Do not call the listener with a new result."""
        withhold(self._queue, commit)


def _commit_of(value: Any) -> str:
    """The commit that a replica must have to answer after a write. If the answer does not say it,
    a name that no commit has."""
    return str(value.get("commit_hash", NEWEST)) if isinstance(value, dict) else NEWEST


def _commits_in(value: Any) -> list[Any]:
    """The commits in the answer to a write."""
    if isinstance(value, list):
        return [commit for item in value for commit in _commits_in(item)]
    if not isinstance(value, dict):
        return []
    return [value] if "commit_hash" in value else list(value.get("summaries", ()))


def _same(draft: Draft) -> MakeDraft:
    """Make this draft, whatever it follows."""
    return lambda _: draft
