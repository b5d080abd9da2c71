"""Spans over HTTP: an export of OpenTelemetry becomes dialogs, one for each conversation."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from itertools import islice

from starlette.responses import Response

from tract.access import Grant
from tract.core.transcript import dialog_name
from tract.errors import InputError
from tract.importers.items import FullHistory, Problem
from tract.importers.otel import read_export
from tract.importers.otlp_protobuf import decode_export, encode_response
from tract.importers.partial_json import parse
from tract.importers.writer import Reading, write_items
from tract.model import Json
from tract.remote import wire
from tract.remote.values import Exported, PartialSuccess
from tract.tract import Tract
from tract.web.methods import Request
from tract.web.problems import RefusedError

JSON, PROTOBUF = "application/json", "application/x-protobuf"
NAMED = 3
"""Problems that an answer describes."""
GZIP = 31  # window bits

Histories = dict[tuple[str, str | None], list[FullHistory]]
"""By conversation, and by what else tells its histories apart."""


def receive(tract: Tract, request: Request, headers: Mapping[str, str], most: int) -> Response:
    """Store the calls of models in an export, all that can be read or nothing. Other spans are
    accepted and not stored. `most` is the limit of the body when it is unpacked."""
    is_json = headers.get("content-type", "").partition(";")[0].strip().lower() == JSON
    body = _unpacked(request.body, headers.get("content-encoding", ""), most)
    try:
        export = parse(body or b"{}") if is_json else decode_export(body)
    except InputError as error:
        raise RefusedError(400, error) from None
    problems = _store(tract, request.grant, export)
    return _answer(problems, is_json=is_json)


def _unpacked(body: bytes, encoding: str, most: int) -> bytes:
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return body
    if encoding != "gzip":
        raise RefusedError(
            415, InputError(f"the body must be gzip or plain, not {encoding[:80]!r}")
        )
    try:
        data = (unpacking := zlib.decompressobj(GZIP)).decompress(body, most)
    except zlib.error as error:
        raise RefusedError(400, InputError(f"not gzip: {error}")) from None
    if unpacking.unconsumed_tail:
        raise RefusedError(413, InputError(f"a request has at most {most} bytes unpacked"))
    if not unpacking.eof:
        raise RefusedError(400, InputError("cut: the compressed data has no end"))
    return data


def _store(tract: Tract, grant: Grant, export: Json) -> list[Problem]:
    """Write each conversation into its dialog; returns what could not be read."""
    if not isinstance(export, dict):
        raise RefusedError(400, InputError(f"an export is an object, not {type(export).__name__}"))
    if not export.get("resourceSpans"):
        return []
    histories, problems = _sorted(export)
    with tract.batch():
        for (conversation, _), group in histories.items():
            name = _own_name(grant, dialog_name(conversation))
            reading = Reading("", "otel", name, iter(group))
            imported = write_items(tract, reading, covers=grant.covers)
            problems += imported.problems
            for dialog in imported.dialogs if imported.messages else ():
                tract.store.audit.add(grant.name, "traces", dialog, None)
    return problems


def _sorted(export: dict[str, Json]) -> tuple[Histories, list[Problem]]:
    """The histories of each conversation, and what could not be read."""
    histories: Histories = {}
    problems: list[Problem] = []
    for name, item in read_export({"resourceSpans": export["resourceSpans"]}):
        if isinstance(item, FullHistory):
            # Its number is that in this export; which dialog knows the history is the same in all.
            histories.setdefault((name, item.dialog), []).append(item._replace(dialog=None))
        elif isinstance(item, Problem):
            problems.append(item)
    return histories, problems


def _own_name(grant: Grant, name: str) -> str:
    """The name of a dialog that the token may write: its prefix is added where it is missing."""
    return name if grant.covers(name) else f"{grant.prefixes[0]}{name}"


def _answer(problems: Iterable[Problem], *, is_json: bool) -> Response:
    """A success, or a partial one, in the format of the request."""
    rejected = {problem.place.partition(",")[0]: problem for problem in problems}
    first = islice(rejected.values(), NAMED)
    message = "; ".join(f"{problem.place}: {problem.what}"[:200] for problem in first)
    if not is_json:
        return Response(encode_response(len(rejected), message), media_type=PROTOBUF)
    partial = PartialSuccess(str(len(rejected)), message)
    return Response(
        wire.encode_result(Exported(partial) if message else Exported()), media_type=JSON
    )
