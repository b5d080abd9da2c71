"""Several `tract serve` on one PostgreSQL: one is killed while many clients write."""

from __future__ import annotations

import json
import random
import threading
import time
from contextlib import ExitStack
from http.client import HTTPConnection, HTTPException
from typing import Any

import pytest

from tests.serving import serving_process
from tract import Tract
from tract.access import new_token, token_digest

DIALOGS = 4
SECONDS = 120


class Writer(threading.Thread):
    """Writes numbered messages, one after the other. What is not answered is sent again to another
    server, with the same key."""

    def __init__(self, number: int, addresses: list[str], token: str, messages: int) -> None:
        super().__init__(daemon=True)
        self.number, self.messages = number, messages
        self.dialog = f"d{number % DIALOGS}"
        self.commits: list[str] = []
        """The commits that were acknowledged."""
        self.repeated = 0
        self._addresses, self._token = addresses, token
        self._at = number % len(addresses)
        self._connection: HTTPConnection | None = None

    def text(self, message: int) -> str:
        return f"{message} of writer {self.number}"

    def run(self) -> None:
        for message in range(self.messages):
            self.commits.append(self._write(self.text(message), f"{self.number}-{message}"))
        if self._connection:
            self._connection.close()

    def _write(self, text: str, key: str) -> str:
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            try:
                status, answer = self._post(text, key)
            except (OSError, HTTPException):  # it was killed, perhaps after it had written this
                status, answer = 503, {}
            if status == 200:
                return str(answer["commit_hash"])
            assert status in (429, 500, 503), answer
            self.repeated += 1
            self._move()
        raise TimeoutError(key)

    def _post(self, text: str, key: str) -> tuple[int, Any]:
        if self._connection is None:
            self._connection = HTTPConnection(self._addresses[self._at], timeout=30)
        headers = {
            "authorization": f"Bearer {self._token}",
            "content-type": "application/json",
            "idempotency-key": key,
        }
        path = f"/api/dialogs/{self.dialog}/messages/user"
        self._connection.request("POST", path, json.dumps({"text": text}), headers)
        response = self._connection.getresponse()
        return response.status, json.loads(response.read())

    def _move(self) -> None:
        """Go to the next server."""
        if self._connection:
            self._connection.close()
        self._connection, self._at = None, (self._at + 1) % len(self._addresses)
        time.sleep(random.uniform(0.01, 0.1))


@pytest.mark.parametrize(
    ("servers", "writers", "messages"),
    [(2, 8, 6), pytest.param(3, 32, 40, marks=pytest.mark.long)],
    ids=["2-servers", "3-servers"],
)
def test_what_was_acknowledged_is_there_once(
    pg_url: str, servers: int, writers: int, messages: int
) -> None:
    token = new_token()
    with Tract.open(pg_url) as tract:
        tract.store.grants.add("writers", token_digest(token), "write")
    with ExitStack() as stack:
        running = [stack.enter_context(serving_process(pg_url)) for _ in range(servers)]
        addresses = [server.address() for server in running]
        crowd = [Writer(n, addresses, token, messages) for n in range(writers)]
        for writer in crowd:
            writer.start()
        while sum(len(writer.commits) for writer in crowd) < writers * messages // 3:
            time.sleep(0.01)
        running[0].process.kill()
        for writer in crowd:
            writer.join(SECONDS)
    assert sum(writer.repeated for writer in crowd) > 0
    check(pg_url, crowd)


def check(database: str, crowd: list[Writer]) -> None:
    """Each message is there once, in the order of its writer, as the commit that was answered."""
    with Tract.open(database) as tract:
        assert tract.fsck().ok
        for name in sorted({writer.dialog for writer in crowd}):
            dialog = tract.sibling(name)
            log = [info.commit_hash for info in dialog.log()][::-1]
            texts = {commit: dialog.get_message(commit).text for commit in log}
            own = [writer for writer in crowd if writer.dialog == name]
            assert len(log) == sum(writer.messages for writer in own)
            for writer in own:
                mine = [commit for commit in log if texts[commit].endswith(f" {writer.number}")]
                assert mine == writer.commits
                assert [texts[commit] for commit in mine] == [
                    writer.text(message) for message in range(writer.messages)
                ]
