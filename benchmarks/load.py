"""Servers as processes, and a client that costs little: the bytes of its requests are made before,
and of an answer it reads only the status and the length."""

from __future__ import annotations

import json
import os
import re
import selectors
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from benchmarks.measure import ROOT

Requests = Iterator[bytes]


class Server:
    """A process that prints one line of JSON with its `url` and `token`, and serves."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, *arguments]
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
        assert self._process.stdout
        hello = json.loads(self._process.stdout.readline())
        self.url: str = hello["url"]
        self.port = urlsplit(self.url).port or 80
        self.token: str = hello["token"]

    def request(self, verb: str, path: str, value: Any = None, key: str | None = None) -> bytes:
        """The bytes of a request."""
        head = f"{verb} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
        head += f"Authorization: Bearer {self.token}\r\nAccept: */*\r\n"
        if key is not None:
            head += f"Idempotency-Key: {key}\r\n"
        body = b"" if value is None else json.dumps(value).encode("ascii")
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return head.encode("ascii") + b"\r\n" + body

    def cpu_seconds(self) -> float:
        """How long it has computed. Linux only."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def start_peak(self) -> int:
        """Let the peak of the memory start anew; the bytes in use now. Linux only."""
        Path(f"/proc/{self._process.pid}/clear_refs").write_text("5")
        return self._memory("VmRSS")

    def peak(self) -> int:
        """The most bytes that were in use."""
        return self._memory("VmHWM")

    def _memory(self, field: str) -> int:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        match = re.search(rf"^{field}:\s+(\d+) kB", status, re.MULTILINE)
        assert match
        return int(match[1]) * 1024

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.communicate()


class Connection:
    """A connection that is kept for the next request."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head = b""
        self._missing: int | None = None

    def ask(self, request: bytes) -> None:
        """Send a request, and wait until its answer is complete."""
        self.send(request)
        while not self.receive():
            pass

    def send(self, request: bytes) -> None:
        self._head, self._missing = b"", None
        self.socket.sendall(request)

    def receive(self) -> bool:
        """Read what has come; whether the answer is complete."""
        data = self.socket.recv(1 << 18)
        if not data:
            raise RuntimeError("the server has closed the connection")
        if self._missing is None:
            self._head += data
            end = self._head.find(b"\r\n\r\n")
            if end < 0:
                return False
            self._missing = _length(self._head[:end]) - (len(self._head) - end - 4)
        else:
            self._missing -= len(data)
        return self._missing <= 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.socket.close()


def _length(head: bytes) -> int:
    if not head.startswith(b"HTTP/1.1 20"):
        raise RuntimeError(f"the server has answered {head[:400]!r}")
    return int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])


class Load:
    """Several clients at once, each with a connection and the requests that it sends in turn."""

    def __init__(self, clients: Sequence[tuple[int, Requests]]) -> None:
        """The port and the requests of each."""
        self._clients = [(Connection(port), requests) for port, requests in clients]

    def run(self, seconds: float) -> tuple[float, list[list[float]]]:
        """For so many seconds, or until no requests are left. Returns the seconds that it took, and
        those of each answer by client."""
        selector = selectors.DefaultSelector()
        took: list[list[float]] = [[] for _ in self._clients]
        sent = [0.0] * len(took)
        start = perf_counter()
        for number, (connection, requests) in enumerate(self._clients):
            selector.register(connection.socket, selectors.EVENT_READ, number)
            sent[number] = perf_counter()
            connection.send(next(requests))
        while selector.get_map():
            for key, _ in selector.select():
                number = int(key.data)
                connection, requests = self._clients[number]
                if not connection.receive():
                    continue
                now = perf_counter()
                took[number].append(now - sent[number])
                request = next(requests, None) if now - start < seconds else None
                if request is None:
                    selector.unregister(connection.socket)
                    continue
                sent[number] = perf_counter()
                connection.send(request)
        selector.close()
        return perf_counter() - start, took

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for connection, _ in self._clients:
            connection.socket.close()
