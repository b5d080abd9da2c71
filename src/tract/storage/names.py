"""Other names for a dialog and its branches. The checksums of both cover the names."""

from __future__ import annotations

from collections.abc import Container, Mapping
from itertools import count

from tract.model import MAX_NAME, Head
from tract.storage.driver import Driver
from tract.storage.rows import branch_checksum, text_sum


def free_name(name: str, taken: Container[str]) -> str:
    """The name, or the name with the first number that makes it new; cut if it is too long."""
    ends = ("" if number == 1 else f"-{number}" for number in count(1))
    names = (name[: MAX_NAME - len(end)].rstrip() + end for end in ends)
    return next(name for name in names if name not in taken)


def rename(driver: Driver, dialog_id: int, dialog: str, branches: Mapping[str, str]) -> bool:
    """Give a dialog and some of its branches other names, all of them as stored. A row that was
    altered stays wrong: only one that is verified gets a checksum for its new name. Returns whether
    all were verified."""
    [(old, branch, *head, checksum)] = driver.run(_DIALOG, (dialog_id,))
    is_whole: bool = text_sum(old, branch, *head) == checksum
    new = dialog, branches.get(branch, branch)
    values = *new, text_sum(*new, *head) if is_whole else checksum, dialog_id
    driver.run("UPDATE dialogs SET name = ?, branch = ?, checksum = ? WHERE id = ?", values)
    for name, *pointer, own in driver.run(_BRANCHES, (dialog_id,)):
        target, renamed = Head(*pointer), branches.get(name, name)
        if branch_checksum(old, name, target) == own:
            own = branch_checksum(dialog, renamed, target)
        else:
            is_whole = False
        driver.run(_RENAME_BRANCH, (renamed, own, dialog_id, name))
    return is_whole


_DIALOG = "SELECT name, branch, detached_id, detached_hash, checksum FROM dialogs WHERE id = ?"

_BRANCHES = "SELECT name, head_id, commit_hash, checksum FROM branches WHERE dialog_id = ?"

_RENAME_BRANCH = "UPDATE branches SET name = ?, checksum = ? WHERE dialog_id = ? AND name = ?"
