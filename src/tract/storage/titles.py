"""Titles of dialogs that have none: the first thing that a person asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from tract.content.needle import texts
from tract.core.titles import title_of
from tract.errors import CorruptError
from tract.hashing import Json, from_json
from tract.model import DialogInfo, Head
from tract.storage.driver import marks, pages
from tract.storage.rows import stored_name
from tract.storage.store import Store

FIRST = 20
"""How many commits of a dialog are looked at: a prompt comes early, if there is one."""


def titled_dialogs(store: Store) -> list[DialogInfo]:
    """All dialogs. A title that is not stored is read from the dialog."""
    return list(each_titled_dialog(store))


def each_titled_dialog(store: Store) -> Iterator[DialogInfo]:
    """The same, a page at a time. A title that was read is remembered until anything is erased, so
    that a list which is looked at again and again costs little, and a title goes with its
    prompt."""
    erasures = store.dialogs.changes.erasures or store.read_erasures()
    known, store.first_prompts = store.first_prompts, {}
    for page in pages(store.dialogs.infos()):
        untitled = [info for info in page if not info.facts.title and info.commits]
        keys = {info.dialog: (erasures, info.dialog, info.created_at) for info in untitled}
        titles = {name: known[key] for name, key in keys.items() if key in known}
        titles |= _first_prompts(store, [name for name in keys if name not in titles])
        store.first_prompts |= {keys[name]: title for name, title in titles.items()}
        for info in page:
            title = titles.get(info.dialog)
            yield replace(info, facts=replace(info.facts, title=title)) if title else info


def _first_prompts(store: Store, dialogs: Sequence[str]) -> dict[str, str]:
    """The titles of those that have a prompt: of all their first prompts that which can be one."""
    titles: dict[str, str] = {}
    names = {stored_name(dialog): dialog for dialog in dialogs}
    for number in range(FIRST):
        if not names:
            break
        heads = _prompts(store, list(names), number)
        read = _titles(store, list(heads.values()))
        names = {name: names[name] for name in heads}
        titles |= {names.pop(name): read[head] for name, head in heads.items() if head in read}
    return titles


def _prompts(store: Store, names: Sequence[str], number: int) -> dict[str, Head]:
    """One of the first prompts of each of these dialogs, counted from 0, if it has that many."""
    sql = f"WITH {_PROMPTS} IN {marks(names)}) {_OF_COMMITS}"
    return {name: Head(*head) for name, *head in store.driver.run(sql, (FIRST, number, *names))}


def _titles(store: Store, commits: Sequence[Head]) -> dict[Head, str]:
    """The titles that these prompts make, without what was forgotten or is damaged: a list of
    dialogs needs no titles to be one."""
    try:
        return {commit: title for commit, title in _each_title(store, commits) if title}
    except CorruptError:
        if len(commits) == 1:
            return {}
        each = [_titles(store, [commit]) for commit in commits]
        return {commit: title for one in each for commit, title in one.items()}


def _each_title(store: Store, commits: Sequence[Head]) -> Iterator[tuple[Head, str | None]]:
    """Prompts may be long, so few of them are in memory at a time."""
    large: dict[int, list[Head]] = {}
    sizes: dict[int, int] = {}
    for commit, step in zip(commits, store.steps_at(commits), strict=True):
        if step.data is not None:
            yield commit, _title(from_json(step.data))
        else:
            blob_id = step.blob_id or 0
            large.setdefault(blob_id, []).append(commit)
            sizes[blob_id] = step.byte_size
    for blob_id, content in store.contents.values(sizes):
        title = _title(content)
        yield from ((commit, title) for commit in large[blob_id])


def _title(content: Json) -> str | None:
    return next(filter(None, map(title_of, texts(content))), None)


# The index by dialog does not have the commits in the order of their keys. + rules out to read all
# commits in that order until those of the dialog come.
_PROMPTS = """
prompts (dialog_id, name, commit_id) AS MATERIALIZED (SELECT d.id, d.name, (
    SELECT p.id FROM commits p WHERE p.role = 'user' AND p.operation = 'append' AND p.id IN (
        SELECT f.id FROM commits f WHERE f.dialog_id = d.id ORDER BY +f.id LIMIT ?)
    ORDER BY p.id LIMIT 1 OFFSET ?) FROM dialogs d WHERE d.name"""

_OF_COMMITS = """
SELECT p.name, c.id, c.hash FROM prompts p
JOIN commits c ON c.id = p.commit_id AND +c.dialog_id = p.dialog_id"""
