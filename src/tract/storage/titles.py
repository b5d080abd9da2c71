"""Titles of dialogs that have none: the first thing that a person asked."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tract.content.needle import texts
from tract.core.titles import title_of
from tract.errors import CorruptError, ForgottenError
from tract.hashing import from_json
from tract.model import DialogInfo, Head
from tract.storage.rows import stored_name
from tract.storage.store import Store

FIRST = 20
"""How many commits of a dialog are looked at: a prompt comes early, if there is one."""


def titled_dialogs(store: Store) -> list[DialogInfo]:
    """All dialogs. A title that is not stored is read from the dialog."""
    return list(each_titled_dialog(store))


def each_titled_dialog(store: Store) -> Iterator[DialogInfo]:
    """The same, one by one. A title that was read is remembered until anything is erased, so that a
    list which is looked at again and again costs little, and a title goes with its prompt."""
    erasures = store.dialogs.changes.erasures or store.read_erasures()
    known, store.first_prompts = store.first_prompts, {}
    for info in store.dialogs.infos():
        if not info.facts.title and info.commits:
            key = erasures, info.dialog, info.created_at
            title = known.get(key) or _first_prompt(store, info.dialog)
            if title:
                store.first_prompts[key] = title
                info = replace(info, facts=replace(info.facts, title=title))
        yield info


def _first_prompt(store: Store, dialog: str) -> str | None:
    for commit_id, digest in store.driver.run(_PROMPTS, (stored_name(dialog), FIRST)):
        try:
            step = store.step(Head(commit_id, digest))
            data, contents = step.data, store.contents
            content = contents.value(step.blob_id or 0) if data is None else from_json(data)
        except (ForgottenError, CorruptError):  # a list of dialogs needs no title to be one
            continue
        title = next(filter(None, map(title_of, texts(content))), None)
        if title:
            return title
    return None


# The index of commits is by dialog and has their ids: only the first rows are read.
_PROMPTS = """
SELECT id, hash FROM commits WHERE role = 'user' AND operation = 'append' AND id IN (
    SELECT c.id FROM commits c JOIN dialogs d ON d.id = c.dialog_id
    WHERE d.name = ? ORDER BY c.id LIMIT ?) ORDER BY id"""
