"""What is not an operation: who answers, and the documentation."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from starlette.responses import FileResponse, HTMLResponse, Response

from tract.access import Grant
from tract.errors import NotFoundError
from tract.remote import wire
from tract.remote.values import Batch, Hello
from tract.web.openapi import openapi
from tract.web.problems import RefusedError

API = 1
SCRIPTS = {
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
    "favicon-32x32.png": "image/png",
}
"""The files of the documentation page that come from a package."""


def hello(grant: Grant, counter: str) -> bytes:
    prefixes = list(grant.prefixes)
    return wire.encode_result(Hello(version("tract-context"), API, counter, grant.scope, prefixes))


def begun(batch: str, idle_seconds: float) -> bytes:
    return wire.encode_result(Batch(batch, idle_seconds))


def openapi_document() -> bytes:
    return openapi()


# Documentation

DOCS = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>tract API</title>
<link rel="icon" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css"></head>
<body><div id="page"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script></body></html>
"""
START = """SwaggerUIBundle({
  url: "/openapi.json", dom_id: "#page", deepLinking: true, validatorUrl: null,
});
"""


def docs(raw_path: bytes) -> Response:
    """The documentation page and its files; nothing is loaded from elsewhere."""
    name = raw_path.decode("ascii", "replace").removeprefix("/docs").strip("/")
    if not name:
        return HTMLResponse(DOCS, headers=_DOCS_POLICY)
    if name == "start.js":
        return Response(START, media_type="text/javascript")
    if name in SCRIPTS and (folder := _scripts()) is not None:
        return FileResponse(folder / name, media_type=SCRIPTS[name])
    raise RefusedError(404, NotFoundError("no such page"))


@cache
def _scripts() -> Path | None:
    """Where the package keeps its files. It is not imported."""
    spec = find_spec("swagger_ui")
    return Path(spec.origin).parent / "static" if spec and spec.origin else None


_DOCS_POLICY = {
    # The page sets styles on its elements, and its icons are data.
    "content-security-policy": "default-src 'none'; script-src 'self'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}
