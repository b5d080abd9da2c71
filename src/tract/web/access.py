"""Who may ask: the host, the origin, the token and its scope, and how often."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from hmac import compare_digest
from urllib.parse import urlsplit

from tract.access import STARTUP, Grant, token_digest
from tract.errors import AccessError, BusyError
from tract.web.lanes import Lane
from tract.web.problems import RefusedError

FRESH_SECONDS = 2.0
"""How long a token that was looked up is known: a revoked one works no longer than that."""
KNOWN_TOKENS = 10_000

HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; img-src 'self' data:; "
    "script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}
"""Sent with every answer."""


class Hosts:
    """The names by which the server is reached. A page of another site cannot use them: a browser
    says in Host and Origin where a request goes and where it comes from."""

    def __init__(self, names: frozenset[str]) -> None:
        """Names with ports, as in a Host header, lower-case."""
        self._names = names

    def check(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Refuse any other name. A header that is sent twice counts twice: programs in between may
        have looked at either."""
        has_host = False
        for name, value in headers:
            if name == b"host":
                has_host = True
                self._check_host(value.decode("latin-1"))
            elif name == b"origin" and not self._is_own(origin := value.decode("latin-1")):
                raise RefusedError(403, AccessError(f"requests from {origin[:100]!r} are refused"))
            elif name == b"sec-fetch-site" and value not in (b"same-origin", b"none"):
                raise RefusedError(403, AccessError("requests from other sites are refused"))
        if not has_host:
            self._check_host("")

    def _check_host(self, host: str) -> None:
        if host.lower() not in self._names:
            raise RefusedError(421, AccessError(f"this server is not {host[:100]!r}"))

    def _is_own(self, origin: str) -> bool:
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.scheme in ("http", "https") and parts.netloc.lower() in self._names


class Tokens:
    """The tokens that the server accepts: the one of this start, and those in the database."""

    def __init__(self, startup: str | None, lane: Lane) -> None:
        """The lane must be one on which nothing takes long."""
        self._startup = None if startup is None else token_digest(startup)
        self._lane = lane
        self._known: dict[bytes, tuple[Grant | None, float]] = {}
        self._used: set[str] = set()

    async def grant(self, token: str | None) -> Grant:
        """What a token allows; refused if it is missing, unknown or revoked."""
        digest = token_digest(token or "")
        if self._startup is not None and compare_digest(digest, self._startup):
            return ALL
        grant = await self._find(digest)
        if grant is None:
            fact = "a bearer token is needed; this one is missing, unknown or revoked"
            raise RefusedError(401, AccessError(fact), www_authenticate="Bearer")
        self._used.add(grant.name)
        return grant

    def forget(self) -> None:
        """Look all tokens up again: one of them was changed."""
        self._known.clear()

    async def store_uses(self, lane: Lane) -> None:
        """Store which tokens were used. No request waits for that, and none that reads writes."""
        names, self._used = self._used, set()
        for name in names:
            await lane.run(partial(_touch, lane, name))

    async def _find(self, digest: bytes) -> Grant | None:
        known = self._known.get(digest)
        if known is not None and known[1] > time.monotonic():
            return known[0]
        grant = await self._lane.run(lambda: self._lane.store.grants.find(digest))
        if len(self._known) >= KNOWN_TOKENS:
            self._known.clear()
        self._known[digest] = grant, time.monotonic() + FRESH_SECONDS
        return grant


def _touch(lane: Lane, name: str) -> None:
    lane.store.grants.touch(name)


ALL = Grant(STARTUP, "admin", (), datetime(2026, 1, 1, tzinfo=UTC))
"""What the token of the start-up allows: everything."""


def bearer(headers: Mapping[str, str]) -> str | None:
    """The token of a request."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


class Rates:
    """How many requests each token may make: so many a second, and a burst of them."""

    def __init__(self, per_second: float) -> None:
        self._per_second = per_second
        self._burst = per_second * 2
        self._left: dict[str, tuple[float, float]] = {}

    def check(self, who: str) -> None:
        if not self._per_second:
            return
        now = time.monotonic()
        left, at = self._left.get(who, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._per_second)
        if left < 1:
            raise RefusedError(429, BusyError("too many requests"), retry_after="1")
        self._left[who] = left - 1, now
