"""Which dialog a person means: by id, by number in the list, by the beginning of the id, or by
words of the title. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from tract.errors import DialogNotFoundError, InputError, TractError
from tract.model import DialogInfo
from tract.view.sanitize import counted, cut, one_line

MOST_CANDIDATES = 8
LONGEST_TITLE = 60
SIZES = (8, 13, 18, 23, 36)
"""How much of each part of an id is shown: 8 characters, and where a UUID has its hyphens."""
NO_DIALOGS = "no dialogs yet; `tract commit TEXT` or `tract import PATH` creates one"
HOW = "name one by its number, id or title: `tract dialogs` lists them"


def listed(dialogs: Iterable[DialogInfo]) -> list[DialogInfo]:
    """The dialogs in the order of the list, in which they are numbered from 1: the one that was
    used last comes first."""
    return sorted(dialogs, key=last_use, reverse=True)


def last_use(info: DialogInfo) -> datetime:
    """An imported dialog was used when its agent ended, not when it was imported."""
    return info.facts.ended or info.updated_at or info.created_at


def select(name: str, dialogs: Sequence[DialogInfo]) -> DialogInfo:
    """The dialog that a name means; `dialogs` are in the order of the list."""
    for matches in (_exact, _numbered, _shortened, _beginning, _titled):
        if hits := matches(name, dialogs):
            return _only(name, hits, dialogs)
    raise _unknown(name, dialogs)


def select_only(dialogs: Sequence[DialogInfo]) -> DialogInfo:
    """The dialog that is meant where none is named: the only one, apart from its sub-agents."""
    if not dialogs:
        raise DialogNotFoundError(NO_DIALOGS)
    roots = _roots(dialogs)
    if len(roots) == 1:
        return roots[0]
    count = counted(len(dialogs), "dialog")
    error = DialogNotFoundError(f"which of {count}? None is called 'default'; {HOW}")
    raise _with_lines(error, roots, dialogs)


# Ways to name a dialog


def _exact(name: str, dialogs: Sequence[DialogInfo]) -> list[DialogInfo]:
    return [info for info in dialogs if info.dialog == name]


def _numbered(name: str, dialogs: Sequence[DialogInfo]) -> Sequence[DialogInfo]:
    number = int(name) if _is_number(name) else 0
    return dialogs[number - 1 : number] if number else ()


def _shortened(name: str, dialogs: Sequence[DialogInfo]) -> list[DialogInfo]:
    """What the list shows of an id means that id, even if others begin so too."""
    short = short_ids([info.dialog for info in dialogs])
    return [info for info in dialogs if short[info.dialog] == name]


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdecimal() and len(name) < 10


def _beginning(name: str, dialogs: Sequence[DialogInfo]) -> list[DialogInfo]:
    """Those whose id begins with it, or each part of whose id begins with the part of it."""
    parts = name.casefold().split("/")
    return [info for info in dialogs if name and _begins(info.dialog.casefold(), parts)]


def _begins(dialog: str, parts: Sequence[str]) -> bool:
    own = dialog.split("/")
    has_parts = len(own) == len(parts) and all(map(str.startswith, own, parts))
    return has_parts or dialog.startswith("/".join(parts))


def _titled(name: str, dialogs: Sequence[DialogInfo]) -> list[DialogInfo]:
    """Those whose title is the text; or else has all of its words, or the id does. A number is no
    word: one that is too high must not mean any other dialog."""
    if _is_number(name):
        return []
    text = " ".join(name.casefold().split())
    same = [info for info in dialogs if _title(info).casefold() == text]
    return same or [info for info in dialogs if _has(info, text.split())]


def _has(info: DialogInfo, words: Sequence[str]) -> bool:
    text = f"{_title(info)}\n{info.dialog}".casefold()
    return bool(words) and all(word in text for word in words)


def _title(info: DialogInfo) -> str:
    return " ".join((info.facts.title or "").split())


def _only(name: str, hits: Sequence[DialogInfo], dialogs: Sequence[DialogInfo]) -> DialogInfo:
    roots = _roots(hits)
    if len(roots) == 1:
        return roots[0]
    error = InputError(f"{name!r:.80} means {len(roots)} dialogs; use the number or the id of one")
    raise _with_lines(error, roots, dialogs)


def _roots(dialogs: Sequence[DialogInfo]) -> list[DialogInfo]:
    """Without those that sub-agents of the others wrote, or that hold their results."""
    names = {info.dialog for info in dialogs}
    return [info for info in dialogs if not _is_below(info, names)]


def _is_below(info: DialogInfo, names: set[str]) -> bool:
    return not names.isdisjoint([info.facts.parent, *_paths(info.dialog)[:-1]])


# Errors


def _unknown(name: str, dialogs: Sequence[DialogInfo]) -> TractError:
    error = DialogNotFoundError(f"no dialog {name!r:.80} in this database")
    near = _near(name, dialogs)
    if near:
        error = DialogNotFoundError(f"{error}; did you mean one of these?")
        return _with_lines(error, near, dialogs)
    rest = f"; `tract dialogs` lists its {len(dialogs)}" if dialogs else "; it has none yet"
    return DialogNotFoundError(f"{error}{rest}")


def _near(name: str, dialogs: Sequence[DialogInfo]) -> list[DialogInfo]:
    """Those with a similar id, or with similar words in their titles."""
    from difflib import get_close_matches  # only errors need it

    words = {word for info in dialogs for word in _words(info)}
    wanted = name.casefold().split() or [name]
    close = {word: set(get_close_matches(word, words, n=5, cutoff=0.75)) for word in wanted}
    return [info for info in dialogs if all(close[word] & _words(info) for word in wanted)]


def _words(info: DialogInfo) -> set[str]:
    return {info.dialog.casefold(), *_title(info).casefold().split()}


def _with_lines(
    error: TractError, some: Sequence[DialogInfo], dialogs: Sequence[DialogInfo]
) -> TractError:
    """The error with a line for each candidate."""
    numbers = {info.dialog: number for number, info in enumerate(dialogs, 1)}
    short = short_ids([info.dialog for info in dialogs])
    shown = some[:MOST_CANDIDATES]
    titles = [cut(one_line(_title(info)), LONGEST_TITLE) for info in shown]
    number_width = max(len(str(numbers[info.dialog])) for info in shown)
    title_width = max(map(len, titles))
    for info, title in zip(shown, titles, strict=True):
        name = one_line(short[info.dialog])
        space = "  " if title_width else ""
        number = f"{numbers[info.dialog]:>{number_width}}"
        error.add_note(f"  {number}  {title:<{title_width}}{space}{name}")
    if len(some) > len(shown):
        error.add_note(f"  … {len(some) - len(shown)} more")
    return error


# Ids


def short_ids(dialogs: Sequence[str]) -> dict[str, str]:
    """Each id with the shortest form of it that means no other dialog."""
    paths = {path for dialog in dialogs for path in _paths(dialog)}
    short: dict[str, str] = {}
    for size in SIZES:
        uses = Counter(_cut_parts(path, size) for path in paths)
        for dialog in dialogs:
            form = _cut_parts(dialog, size)
            if dialog not in short and uses[form] == 1:
                short[dialog] = form
    return {dialog: short.get(dialog, dialog) for dialog in dialogs}


def _paths(dialog: str) -> list[str]:
    """`a`, `a/b` and `a/b/c` of `a/b/c`."""
    parts = dialog.split("/")
    return ["/".join(parts[:number]) for number in range(1, len(parts) + 1)]


def _cut_parts(dialog: str, size: int) -> str:
    """Parts that are only a little longer are left whole: what a person chose stays legible."""
    return "/".join(part if len(part) < 20 else part[:size] for part in dialog.split("/"))
