"""Errors as answers: one table from the tree of errors to HTTP. Pure."""

from __future__ import annotations

from tract.errors import (
    AccessError,
    AmbiguousPrefixError,
    BusyError,
    ConflictError,
    CorruptError,
    DiskError,
    DiskFullError,
    ForgottenError,
    InputError,
    LLMError,
    MissingExtraError,
    NoLLMError,
    NotFoundError,
    ReadOnlyError,
    SchemaError,
    ScrubError,
    StorageError,
    TractError,
)
from tract.hashing import checked_json

STATUS: tuple[tuple[type[TractError], int], ...] = (
    (NoLLMError, 422),
    (LLMError, 502),
    (InputError, 422),
    (AmbiguousPrefixError, 409),
    (NotFoundError, 404),
    (ConflictError, 409),
    (ForgottenError, 410),
    (AccessError, 403),
    (BusyError, 503),
    (ReadOnlyError, 503),
    (DiskFullError, 507),
    (MissingExtraError, 501),
    (CorruptError, 500),
    (SchemaError, 500),
    (DiskError, 500),
    (ScrubError, 500),
    (StorageError, 503),  # the database or the object store is away
    (TractError, 500),
)
"""The first kind that fits decides."""

MEDIA = "application/problem+json"
RETRY_SECONDS = 1


class RefusedError(Exception):
    """An answer that is an error, with a status of its own."""

    def __init__(self, status: int, error: TractError, **headers: str) -> None:
        super().__init__(str(error))
        self.status = status
        self.error = error
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def status_of(error: TractError) -> int:
    return next(status for kind, status in STATUS if isinstance(error, kind))


def problem(error: TractError, status: int | None = None) -> tuple[int, bytes]:
    """The status and the body of an error (RFC 9457). The type names the class."""
    status = status_of(error) if status is None else status
    kind = type(error).__name__
    document = {
        "type": f"urn:tract:{kind}",
        "title": (type(error).__doc__ or kind).split("\n")[0].split(". ")[0].rstrip("."),
        "status": status,
        "detail": str(error),
    }
    return status, checked_json(document).encode("ascii")
