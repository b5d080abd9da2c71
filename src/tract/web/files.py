"""Files over HTTP: a transcript to import, a copy of the database."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import BinaryIO

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from tract.errors import InputError
from tract.importers.writer import Reading, read_file, write_items
from tract.remote import wire
from tract.remote.items import unpack_lines
from tract.session.session import check_name
from tract.tract import Tract
from tract.web.methods import Request

PIECE = 1 << 20


def import_body(tract: Tract, request: Request) -> bytes:
    """Import a transcript, all of it or nothing. Every dialog in it must be one of the token's."""
    fields = request.fields
    name = PureWindowsPath(PurePosixPath(fields["name"]).name).name
    with tempfile.TemporaryDirectory(prefix="tract-") as folder:
        path = Path(folder, name or "transcript")
        try:
            path.write_bytes(request.body)
        except (OSError, ValueError):
            raise InputError(f"not a name for a file: {fields['name']!r:.80}") from None
        # Without the path of a file that is gone.
        return _write(tract, request, read_file(path)._replace(path=name))


def import_items(tract: Tract, request: Request) -> bytes:
    """Import what a client has read of a transcript, likewise."""
    fields = request.fields
    for kind in ("own_name", "dialog"):
        if kind in fields:
            check_name("dialog", fields[kind])
    items = unpack_lines(request.body)
    reading = Reading(fields["path"], fields["format"], fields["own_name"], items)
    return _write(tract, request, reading)


def _write(tract: Tract, request: Request, reading: Reading) -> bytes:
    with tract.batch():
        dialog, covers = request.fields.get("dialog"), request.grant.covers
        imported = write_items(tract, reading, dialog=dialog, covers=covers)
        for name in imported.dialogs:
            tract.store.audit.add(request.grant.name, "import", name, None)
    return wire.encode_result(imported)


def backup(tract: Tract) -> BinaryIO:
    """A copy of the database, open and without a name: it is gone once it is closed."""
    with tempfile.TemporaryDirectory(prefix="tract-") as folder:
        path = Path(folder, "backup.db")
        tract.backup(path)
        return path.open("rb")


class Download(StreamingResponse):
    """A file in pieces, closed when it was sent or the client went away."""

    def __init__(self, file: BinaryIO, media: str) -> None:
        name = {"content-disposition": 'attachment; filename="tract-backup.db"'}
        super().__init__(_pieces(file), media_type=media, headers=name)
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._file:
            await super().__call__(scope, receive, send)


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read(PIECE):
        yield piece
