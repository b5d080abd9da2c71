"""The files of the page: plain scripts and styles, read once, compressed and named by content."""

from __future__ import annotations

import gzip
import re
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import NamedTuple

from starlette.responses import Response

from tract.errors import NotFoundError
from tract.view.html import read_asset
from tract.view.palette import PALETTE
from tract.web.intake import Headers
from tract.web.problems import RefusedError
from tract.web.results import is_known

FOLDER = "static"
START = "index.html"
MEDIA = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Nothing from elsewhere, nothing inline, and no text that becomes markup."""


_GZIP = re.compile(r"(?:^|,)\s*gzip\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:$|,)))", re.IGNORECASE)
"""Named, and not with the weight 0."""


class Asset(NamedTuple):
    media: str
    plain: bytes
    packed: bytes
    etag: str


@cache
def assets() -> dict[str, Asset]:
    """All files of the page by their names."""
    folder = files("tract.web").joinpath(FOLDER)
    texts = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    texts["base.css"] = read_asset("base.css").encode()
    texts["pairs.css"] = _pair_colours().encode()
    return {name: _asset(name, data) for name, data in texts.items()}


def _asset(name: str, data: bytes) -> Asset:
    etag = sha256(data).hexdigest()[:20]
    media = MEDIA[name.rpartition(".")[2]]
    return Asset(media, data, gzip.compress(data, 9, mtime=0), etag)


def _pair_colours() -> str:
    """The colours of pairs are the same in the terminal and on pages."""
    return "".join(f".p{number} {{ --pair: {c.web} }}\n" for number, c in enumerate(PALETTE))


def respond(name: str, headers: Headers) -> Response:
    """A file of the page. It is asked for each time, and sent if it has changed."""
    asset = assets().get(name)
    if asset is None:
        raise RefusedError(404, NotFoundError("no such page"))
    own = {
        "cache-control": "no-cache",
        "content-security-policy": POLICY,
        "etag": f'"{asset.etag}"',
        "vary": "accept-encoding",
    }
    if is_known(headers, asset.etag):
        return Response(status_code=304, headers=own)
    if accepts_gzip(headers):
        own["content-encoding"] = "gzip"
        return Response(asset.packed, media_type=asset.media, headers=own)
    return Response(asset.plain, media_type=asset.media, headers=own)


def accepts_gzip(headers: Headers) -> bool:
    return _GZIP.search(headers.get("accept-encoding", "")) is not None
