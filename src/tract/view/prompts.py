"""Prompts: what a person asked for, without what programs write in the name of the user."""

from __future__ import annotations

import re

from tract.core.chain import Place
from tract.core.titles import title_of
from tract.view.history import History

MOST = 50  # messages of the user in which the first prompt is looked for
_MACHINE_MADE = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-|[0-9a-f]{16}", re.IGNORECASE)


def prompt_title(history: History, place: Place) -> str | None:
    """The title of a prompt; None for every other message."""
    is_by_user = place.origin.role == "user" and not place.sources
    return title_of(history.whole(place).text) if is_by_user else None


def dialog_title(history: History) -> str | None:
    """The title of the first prompt."""
    by_user = [place for place in history.places if place.origin.role == "user"]
    titles = (prompt_title(history, place) for place in by_user[:MOST])
    return next(filter(None, titles), None)


def dialog_label(name: str, title: str | None) -> str:
    """What to call a dialog. A name that a program made up says nothing beside a title."""
    if not title or title == name:
        return name
    return title if _MACHINE_MADE.search(name) else f"{name}: {title}"
