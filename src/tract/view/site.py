"""The list of many sessions, each with a page of its own: one HTML page with a search. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from html import escape
from typing import NamedTuple

from tract.content.text import counted
from tract.view.facts import Facts, fact_words, short_paths
from tract.view.html import STYLE, read_asset, start
from tract.view.lines import Styled
from tract.view.markup import span
from tract.view.sanitize import one_line

SCRIPT = read_asset("site.js")
SECTION = 50
LONGEST_NAME = 60


class Session(NamedTuple):
    """A page of the site."""

    page: str
    """The name of its file."""
    source: str
    """Where it comes from: a file below the folder, or a dialog."""
    facts: Sequence[Facts]
    """Those of each conversation on the page, the main one first."""


def page_name(source: str) -> str:
    """The name of the page of a source: readable, safe everywhere, and the same every time."""
    last = re.split(r"[/\\]", source)[-1]
    legible = re.sub(r"[^A-Za-z0-9._-]+", "-", last)[:LONGEST_NAME].strip("-._")
    digest = sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{legible}-{digest}.html" if legible else f"{digest}.html"


def index_page(
    title: str, sessions: Iterable[Session], sums: Iterable[tuple[str, str]], notes: Iterable[str]
) -> Iterator[str]:
    """The list, newest first. `sums` are over all of them; `notes` say what is missing."""
    rows = sorted(sessions, key=_newest)
    by_dialog = {facts.dialog: row.page for row in rows for facts in row.facts[:1]}
    yield start(title, STYLE, SCRIPT)
    yield f"<header>\n<h1>{_text(title)}</h1>\n"
    yield '<dl class="facts">\n'
    yield from (f"<div><dt>{_text(k)}</dt><dd>{_text(v)}</dd></div>\n" for k, v in sums)
    yield "</dl>\n"
    yield from (f'<p class="about">{_text(note)}</p>\n' for note in notes)
    yield '</header>\n<nav class="bar" aria-label="Search"><div>\n'
    yield '<label>Search <input type="search" id="search" hidden></label>\n'
    yield '<span id="count" role="status" class="dim"></span>\n</div></nav>\n'
    yield '<div class="columns"><main>\n'
    for number in range(0, len(rows), SECTION):
        yield '<section class="sessions">\n'
        for row in rows[number : number + SECTION]:
            yield from _session(row, by_dialog)
        yield "</section>\n"
    yield f"</main></div>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"


def _newest(row: Session) -> tuple[float, str]:
    started = row.facts[0].started if row.facts else None
    return (-started.timestamp() if started else 0.0, row.source)


def _session(row: Session, pages: dict[str, str]) -> Iterator[str]:
    main, others = (row.facts[0], row.facts[1:]) if row.facts else (Facts(dialog=row.source), ())
    yield '<article class="session">\n'
    yield f'<h2><a href="{escape(row.page)}">{_text(main.label)}</a></h2>\n'
    more = [counted(len(others), "more conversation")] if others else []
    yield f"<p>{_text(' · '.join([*fact_words(main), *more]))}</p>\n"
    parent = pages.get(main.parent)
    if parent and parent != row.page:
        yield f'<p class="dim">started by <a href="{escape(parent)}">{_text(main.parent)}</a></p>\n'
    folder = f" · {main.folder}" if main.folder else ""
    yield f'<p class="dim">{_text(row.source + folder)}</p>\n'
    yield from _list("prompt", [p.title for facts in row.facts for p in facts.prompts])
    yield from _list("changed file", [file for facts in row.facts for file in short_paths(facts)])
    yield "</article>\n"


def _list(noun: str, items: Sequence[str]) -> Iterator[str]:
    if items:
        yield f"<details><summary>{counted(len(items), noun)}</summary><ul>\n"
        yield from (f"<li>{_text(item)}</li>\n" for item in items)
        yield "</ul></details>\n"


def _text(text: str) -> str:
    return span(Styled(one_line(text)))
