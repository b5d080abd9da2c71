"""Files over HTTP: a transcript to import, a copy of the database."""

from __future__ import annotations

import tempfile
from pathlib import Path, PurePosixPath, PureWindowsPath

from starlette.background import BackgroundTask
from starlette.responses import FileResponse, Response

from tract.errors import InputError
from tract.importers.writer import Imported, import_file
from tract.remote import wire
from tract.tract import Tract
from tract.web.methods import Request


def import_body(tract: Tract, request: Request) -> bytes:
    """Import a transcript, all of it or nothing. Every dialog in it must be one of the token's."""
    fields = request.fields
    name = PureWindowsPath(PurePosixPath(fields["name"]).name).name
    with tempfile.TemporaryDirectory(prefix="tract-") as folder, tract.batch():
        path = Path(folder, name or "transcript")
        try:
            path.write_bytes(request.body)
        except (OSError, ValueError):
            raise InputError(f"not a name for a file: {fields['name']!r:.80}") from None
        imported = import_file(tract, path, dialog=fields.get("dialog"))
        foreign = [dialog for dialog in imported.dialogs if not request.grant.covers(dialog)]
        if foreign:
            raise InputError(f"the token is not for dialog {foreign[0]!r:.80}")
        for dialog in imported.dialogs:
            tract.store.audit.add(request.grant.name, "import", dialog, None)
    return wire.encode_result(_named(imported, name))


def _named(imported: Imported, name: str) -> Imported:
    """Without the path of a file that is gone."""
    import msgspec

    return msgspec.structs.replace(imported, path=name)


def backup(tract: Tract) -> str:
    """A copy of the database in a temporary file."""
    folder = tempfile.mkdtemp(prefix="tract-")
    path = str(Path(folder, "backup.db"))
    tract.backup(path)
    return path


def download(path: str, media: str) -> Response:
    """A file that is deleted once it was sent."""

    def delete() -> None:
        Path(path).unlink(missing_ok=True)
        Path(path).parent.rmdir()

    return FileResponse(
        path, media_type=media, filename="tract-backup.db", background=BackgroundTask(delete)
    )
