"""Names of dialogs and branches: which are free, and how one is replaced."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from itertools import count

from tract.model import MAX_NAME, Head
from tract.storage.dialogs import DIALOG_COLUMNS, DialogRow
from tract.storage.driver import Driver
from tract.storage.rows import branch_checksum, text_sum


def unique_name(name: str, taken: Container[str]) -> str:
    """The name, cut if it is too long, and with a number if it is taken."""
    short = name[:MAX_NAME].rstrip()
    return short if short not in taken else free_name(short, taken)


def free_name(name: str, taken: Container[str]) -> str:
    """The name with the next number."""
    ends = (f"-{number}" for number in count(2))
    names = (f"{base_name(name)[: MAX_NAME - len(end)]}{end}" for end in ends)
    return next(name for name in names if name not in taken)


def base_name(name: str) -> str:
    """The name without a number, as `free_name` adds it."""
    return re.sub(r"-\d+$", "", name)


def rename(driver: Driver, dialog_id: int, dialog: str, branches: Mapping[str, str]) -> bool:
    """Give a dialog and some of its branches other names, all of them as stored. Their checksums
    cover the names: only a row that is verified gets a new one, and one that was altered stays
    wrong. Returns whether all were verified."""
    [(old, *columns, checksum)] = driver.run(_DIALOG, (dialog_id,))
    row = DialogRow(*columns)
    is_whole: bool = text_sum(old, *row) == checksum
    row = row._replace(branch=branches.get(row.branch, row.branch))
    values = dialog, row.branch, text_sum(dialog, *row) if is_whole else checksum, dialog_id
    driver.run("UPDATE dialogs SET name = ?, branch = ?, checksum = ? WHERE id = ?", values)
    for name, *pointer, own in driver.run(_BRANCHES, (dialog_id,)):
        target, renamed = Head(*pointer), branches.get(name, name)
        if branch_checksum(old, name, target) == own:
            own = branch_checksum(dialog, renamed, target)
        else:
            is_whole = False
        driver.run(_RENAME_BRANCH, (renamed, own, dialog_id, name))
    return is_whole


_DIALOG = f"SELECT name, {DIALOG_COLUMNS}, checksum FROM dialogs WHERE id = ?"

_BRANCHES = "SELECT name, head_id, commit_hash, checksum FROM branches WHERE dialog_id = ?"

_RENAME_BRANCH = "UPDATE branches SET name = ?, checksum = ? WHERE dialog_id = ? AND name = ?"
