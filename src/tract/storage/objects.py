"""Large contents in an object store: S3 or what speaks like it, a folder, or memory.

An object is the JSON of one content, named by its SHA-256, in a folder of its database.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from tract.errors import CorruptError, InputError, ObjectStoreError
from tract.extras import missing_extra

if TYPE_CHECKING:
    from obstore.store import BackoffConfig, ClientConfig, ObjectStore, RetryConfig

OBJECT_BYTES = 1 << 20
"""A content with more bytes of JSON than this is an object, unless the caller says otherwise."""
TIMEOUT = 10.0
"""Seconds that a request may wait for the next byte of its answer."""
PARTS = 4
"""Parts of 5 MiB of a large object that are sent at the same time."""
RECENT = 64
"""Uploads that are remembered until their commits."""
_NAME = re.compile(r"[0-9a-f]{64}")
_OPTIONS = ("endpoint", "region", "access_key_id", "secret_access_key", "timeout")
_processes: set[int] = set()
"""The process that has used an object store. Its threads are not in a child that it forks."""


class Listed(NamedTuple):
    """An object in a listing."""

    digest: bytes
    size: int
    last_modified: datetime


class Objects:
    """The objects of one database. Every request ends within a bounded time."""

    def __init__(self, url: str, folder: str) -> None:
        """Opens no connection: a database can be read while its object store is away."""
        self.place, self._store = _open(url)
        """Where the objects are, without secrets."""
        self._folder = folder
        self._recent: tuple[bytes, ...] = ()  # a thread that loses this race uploads once more

    def put(self, digest: bytes, data: bytes) -> None:
        """Write an object, or write it again. It is there in full, or not at all."""
        import obstore

        with self._reporting("write"):
            obstore.put(self._store, self._key(digest), data, max_concurrency=PARTS)
        self._recent = (*self._recent[-RECENT:], digest)

    def ensure(self, digest: bytes, data: bytes) -> None:
        """Write an object, unless this process has just written it and it is still there."""
        if digest not in self._recent or self._size(digest) != len(data):
            self.put(digest, data)

    def has(self, digest: bytes) -> bool:
        return self._size(digest) is not None

    def read(self, digest: bytes) -> bytes:
        """The full object, not verified."""
        import obstore

        with self._reporting("read", digest):
            return bytes(obstore.get(self._store, self._key(digest)).bytes())

    def read_range(self, digest: bytes, start: int, end: int) -> bytes:
        """A part of an object, not verified; shorter if the object is."""
        import obstore

        try:
            with self._reporting("read", digest):
                return bytes(
                    obstore.get_range(self._store, self._key(digest), start=start, end=end)
                )
        except ObjectStoreError:
            size = self._size(digest)  # a store may refuse to read after the end
            if size is not None and size < end:
                raise CorruptError(
                    f"object {digest.hex()} in {self.place} has lost its end: it has {size} bytes"
                ) from None
            raise

    def delete(self, digests: Sequence[bytes]) -> None:
        """Delete objects, whether or not they are there."""
        import obstore

        keys = [self._key(digest) for digest in digests]
        with self._reporting("delete"):
            try:
                obstore.delete(self._store, keys)
            except FileNotFoundError:  # a folder says so, and stops there
                for key in keys:
                    with suppress(FileNotFoundError):
                        obstore.delete(self._store, key)

    def __iter__(self) -> Iterator[Listed]:
        """The objects of this database, a page at a time."""
        import obstore

        with self._reporting("list"):
            for page in obstore.list(self._store, prefix=self._folder):
                for meta in page:
                    name = meta["path"].rpartition("/")[2]
                    if _NAME.fullmatch(name):
                        yield Listed(bytes.fromhex(name), meta["size"], meta["last_modified"])

    def _size(self, digest: bytes) -> int | None:
        """The bytes of an object; None if it is not there."""
        import obstore

        try:
            with self._reporting("read", digest):
                return obstore.head(self._store, self._key(digest))["size"]
        except CorruptError:
            return None

    def _key(self, digest: bytes) -> str:
        return f"{self._folder}/{digest.hex()}"

    @contextmanager
    def _reporting(self, action: str, digest: bytes = b"") -> Iterator[None]:
        from obstore.exceptions import BaseError

        _processes.add(os.getpid())
        if len(_processes) > 1:  # it would wait forever for threads that are not there
            raise ObjectStoreError(
                f"{self.place} cannot be used in a forked process: start processes with spawn"
            )
        try:
            yield
        except (BaseError, OSError) as error:
            fact = _fact(error)
            if digest and isinstance(error, FileNotFoundError) and "NoSuchBucket" not in fact:
                raise CorruptError(f"object {digest.hex()} is missing in {self.place}") from None
            raise ObjectStoreError(
                f"the object store {self.place} failed to {action}: {fact}"
            ) from None


def _fact(error: Exception) -> str:
    """The first line of an error, with the code of the server; the rest is for its developers."""
    text = str(error)
    code = re.search(r"<Code>(\w+)</Code>", text)
    first = text.partition("\n")[0].partition("<?xml")[0].strip().rstrip(":")
    return f"{first} ({code[1]})" if code else first


def _open(url: str) -> tuple[str, ObjectStore]:
    """The place of a URL, without secrets, and the store there."""
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    place = f"{parts.scheme}://{parts.hostname or ''}{parts.path.rstrip('/')}"
    if parts.scheme not in ("s3", "file", "memory"):
        raise InputError(f"an object store is s3://BUCKET/PREFIX or file:///FOLDER, not {place!r}")
    if parts.username or parts.password:
        raise InputError(f"{place}: pass keys as AWS_… variables or as options of the URL")
    options = _options(place, parts.query)
    if parts.scheme != "s3" and options:
        raise InputError(f"{place} has no option {next(iter(options))!r}")
    try:
        from obstore.exceptions import BaseError
        from obstore.store import from_url
    except ImportError:
        raise missing_extra("an object store", "s3") from None
    try:
        if parts.scheme == "memory":
            return place, from_url("memory:///")
        if parts.scheme == "file":
            return place, from_url(place, mkdir=True)
        wait = float(options.pop("timeout", TIMEOUT))
        return place, from_url(
            place, client_options=_client(wait, options), retry_config=_retry(wait), **options
        )
    except (BaseError, OSError, ValueError) as error:
        raise InputError(f"{place} is not an object store: {_fact(error)}") from None


def _options(place: str, query: str) -> dict[str, Any]:
    from urllib.parse import parse_qsl

    options: dict[str, Any] = dict(parse_qsl(query, keep_blank_values=True))
    for name in options:
        if name not in _OPTIONS:
            known = ", ".join(_OPTIONS)
            raise InputError(f"{place}: unknown option {name!r:.80}; expected one of {known}")
    if "timeout" in options and not re.fullmatch(r"\d{1,4}(\.\d+)?", options["timeout"]):
        raise InputError(f"{place}: timeout must be a number of seconds")
    return options


def _client(wait: float, options: dict[str, Any]) -> ClientConfig:
    is_plain = options.get("endpoint", "").startswith("http://")
    config: ClientConfig = {
        "connect_timeout": timedelta(seconds=min(wait, 3)),
        "read_timeout": timedelta(seconds=wait),
        "timeout": timedelta(seconds=6 * wait),
    }
    return {**config, "allow_http": True} if is_plain else config


def _retry(wait: float) -> RetryConfig:
    pause = timedelta(seconds=0.1)
    backoff: BackoffConfig = {"init_backoff": pause, "max_backoff": 10 * pause}
    return {"max_retries": 2, "retry_timeout": timedelta(seconds=wait), "backoff": backoff}
