"""What is not an operation: who answers, the documentation, and an index that needs no scripts."""

from __future__ import annotations

from functools import cache
from html import escape
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from starlette.responses import FileResponse, HTMLResponse, Response

from tract.access import Grant
from tract.errors import NotFoundError
from tract.model import DialogInfo
from tract.remote import wire
from tract.remote.transport import quoted
from tract.remote.values import Batch, Hello
from tract.storage.titles import titled_dialogs
from tract.view.sanitize import one_line, visible
from tract.web.lanes import Lane, Lanes
from tract.web.openapi import openapi
from tract.web.problems import RefusedError

API = 1
SCRIPTS = {
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
    "favicon-32x32.png": "image/png",
}
"""The files of the documentation page that come from a package."""
MOST = 500
"""Dialogs and commits that the index shows."""


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


# The index

STYLE = """body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem;
  padding: 0 1rem; color: #1b1f24; background: #fff }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid #e4e7eb;
  vertical-align: top }
th { font-weight: 600; color: #57606a }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
td.content { overflow-wrap: anywhere }
tr.failed td { color: #b42318 }
a { color: #0b5cad }
@media (prefers-color-scheme: dark) {
  body { color: #d7dde4; background: #14181d }
  th, td { border-color: #2b323a }
  th { color: #9aa4b0 }
  tr.failed td { color: #f08a80 }
  a { color: #79b8ff }
}
"""


def style() -> Response:
    return Response(STYLE, media_type="text/css")


async def index(
    lanes: Lanes, grant: Grant, token: str, query: dict[str, str | list[str]]
) -> Response:
    """A list of dialogs, or the messages of one, as a page without scripts."""
    link = f"token={quoted(token)}"
    dialog = query.get("dialog")
    if not isinstance(dialog, str):
        infos = await lanes.upkeep.run(lambda: _dialogs(lanes.upkeep, grant))
        return _page("tract", _list(infos, link))
    lane = lanes.of(dialog)
    body = await lane.run(lambda: _messages(lane, grant, dialog, link))
    return _page(dialog, body)


def _dialogs(lane: Lane, grant: Grant) -> list[DialogInfo]:
    mine = [info for info in titled_dialogs(lane.store) if grant.covers(info.dialog)]
    return sorted(mine, key=lambda info: info.updated_at or info.created_at, reverse=True)


def _list(infos: list[DialogInfo], link: str) -> str:
    rows = "".join(
        f'<tr><td><a href="/?dialog={quoted(info.dialog)}&amp;{link}">{_text(info.dialog)}</a></td>'
        f"<td>{_text(info.facts.title or '')}</td>"
        f"{_numbers(info.commits, info.tokens, info.errors)}"
        f"<td>{info.updated_at or info.created_at:%Y-%m-%d %H:%M}</td></tr>"
        for info in infos[:MOST]
    )
    head = _heads(("dialog", "title", "commits", "tokens", "errors", "updated"))
    more = f"<p>{len(infos) - MOST} more</p>" if len(infos) > MOST else ""
    empty = "" if infos else "<p>No dialogs yet.</p>"
    links = '<p><a href="/docs">API documentation</a></p>'
    return f"<h1>Dialogs</h1><table><tr>{head}</tr>{rows}</table>{more}{empty}{links}"


def _messages(lane: Lane, grant: Grant, dialog: str, link: str) -> str:
    if not grant.covers(dialog) or not lane.store.dialogs.has(dialog):
        raise RefusedError(404, NotFoundError("no such dialog"))
    rows = []
    for info, _ in zip(lane.tract(dialog).log(), range(MOST), strict=False):
        what = info.role or str(info.operation)
        name = f" · {_text(info.name)}" if info.name else ""
        failed = " · failed" if info.is_error else ""
        row = "<tr class='failed'>" if info.is_error else "<tr>"
        rows.append(
            f"{row}<td><code>{info.commit_hash[:10]}</code></td><td>{_text(what)}{name}{failed}</td>"
            f"{_numbers(info.token_count)}<td class='content'>{_text(info.preview)}</td></tr>"
        )
    head = f"<tr>{_heads(('commit', 'what', 'tokens', 'content'))}</tr>"
    back = f'<p><a href="/?{link}">All dialogs</a></p>'
    return f"{back}<h1>{_text(dialog)}</h1><p>Newest first.</p><table>{head}{''.join(rows)}</table>"


def _heads(names: tuple[str, ...]) -> str:
    kinds = dict.fromkeys(("commits", "tokens", "errors"), " class='number'")
    return "".join(f"<th{kinds.get(name, '')}>{name}</th>" for name in names)


def _numbers(*numbers: int) -> str:
    return "".join(f"<td class='number'>{number:,}</td>" for number in numbers)


def _text(text: str) -> str:
    return escape(one_line(visible(text)))


def _page(title: str, body: str) -> Response:
    head = (
        f"<meta charset='utf-8'><title>{_text(title)}</title>"
        "<meta name='viewport' content='width=device-width'>"
        "<link rel='stylesheet' href='/index.css'>"
    )
    return HTMLResponse(
        f"<!doctype html><html lang='en'><head>{head}</head><body>{body}</body></html>",
        headers={"cache-control": "no-store"},
    )
