"""The URLs of databases, and links to the page of a server."""

from __future__ import annotations

import re

from tract.errors import InputError

MEMORY = ":memory:"
_SQLITE = re.compile(r"sqlite(?:\+\w+)?:(.*)", re.DOTALL)


def without_scheme(place: str) -> str:
    """The path of a `sqlite:///` URL, as SQLAlchemy reads it: three slashes before a relative path,
    four before an absolute one. Everything else is returned unchanged."""
    url = _SQLITE.fullmatch(place)
    if url is None:
        return place
    rest = url[1]
    if rest in ("//", "///", f"///{MEMORY}"):
        return MEMORY
    if not rest.startswith("///"):
        raise InputError(f"{place!r:.80}: use sqlite:///PATH, or sqlite:////PATH from the root")
    path, question, _ = rest[3:].partition("?")
    if question:
        raise InputError(f"{place!r:.80}: options after ? are not supported")
    return path


def opening(name: str, place: object) -> str:
    """The call that opens a database with a class of this name. A URL may have a password."""
    if isinstance(place, str) and place.startswith(("http://", "https://")):
        return "tract.connect(url)"
    has_secret = isinstance(place, str) and "://" in place
    return f"{name}.open(url)" if has_secret else f'{name}.open("{place!s:.80}")'


def page_link(base: str, **fields: str | None) -> str:
    """The page of a server at a place. The fields are in the fragment, which no browser sends, so
    that no log has them. An id may have any character, also a lone surrogate."""
    from urllib.parse import quote  # few commands need it

    pairs = [
        f"{name}={quote(value, safe='', errors='surrogatepass')}"
        for name, value in fields.items()
        if value is not None
    ]
    return f"{base.rstrip('/')}/" + (f"#{'&'.join(pairs)}" if pairs else "")
