"""The command that lists and deletes dialogs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

import click
import msgspec

from tract.cli.commits import plain, utc
from tract.cli.inputs import json_option, yes_option
from tract.cli.screen import CYAN, DIM, Column, ask, dump_list, dump_or_put, say, table
from tract.cli.target import Target
from tract.errors import DialogNotFoundError
from tract.model import DialogInfo
from tract.tract import Tract
from tract.view.sanitize import counted


class _Field(NamedTuple):
    """A column of the list. It is left out where no dialog has a value for it."""

    name: str
    column: Column
    text: Callable[[DialogInfo], str]


def _number(name: str, rank: int) -> _Field:
    return _Field(name, Column(right=True, rank=rank), lambda info: str(getattr(info, name)))


def _minute(time: datetime | None) -> str:
    return f"{time:%Y-%m-%d %H:%MZ}" if time else ""


FIELDS = (
    _Field("dialog", Column(CYAN), lambda info: info.dialog),
    _number("commits", 4),
    _number("tokens", 5),
    _number("bytes", 9),
    _number("errors", 8),
    _number("branches", 10),
    _Field("branch", Column(rank=11), lambda info: info.branch),
    _Field("updated", Column(DIM, rank=12), lambda info: utc(info.updated_at)),
    _Field("started", Column(rank=1), lambda info: _minute(info.facts.started)),
    _Field("ended", Column(rank=7), lambda info: _minute(info.facts.ended)),
    _Field(
        "cost",
        Column(right=True, rank=2),
        lambda info: "" if info.facts.cost is None else f"${info.facts.cost:,.2f}",
    ),
    _Field("model", Column(rank=3), lambda info: info.facts.model or ""),
    _Field("folder", Column(DIM, rank=6), lambda info: info.facts.folder or ""),
    _Field("title", Column(), lambda info: info.facts.title or ""),
)


@click.command("dialogs")
@click.option(
    "--search",
    metavar="WORDS",
    default="",
    help="Only dialogs whose name, title, folder and model contain all words (case-insensitive).",
)
@click.option("--delete", metavar="NAME", help="Delete a dialog and all of its commits.")
@yes_option
@json_option
@click.pass_obj
def dialogs_command(
    target: Target, search: str, delete: str | None, yes: bool, as_json: bool
) -> None:
    """List the dialogs of the database, with their sizes.

    Imported dialogs also have a title, the folder and the model that the agent worked with, the
    time of the session and its cost, as far as the transcript has them. On a narrow terminal some
    columns are left out; --json has all.
    """
    with target.open_any() as tract:
        if delete is not None:
            _delete(tract, delete, yes, as_json)
        elif as_json:
            dump_list(map(_as_json, tract.dialogs(search)))
        else:
            _print_dialogs(tract.dialogs(search), search)


def _as_json(info: DialogInfo) -> dict[str, Any]:
    """With all facts, also those that are not known."""
    facts = plain(msgspec.structs.asdict(info.facts))
    return {**plain(info), "facts": facts}


def _delete(tract: Tract, name: str, yes: bool, as_json: bool) -> None:
    dialog = next((info for info in tract.dialogs() if info.dialog == name), None)
    if dialog is None:
        raise DialogNotFoundError(f"no dialog {name!r} in this database")
    commits = counted(dialog.commits, "commit")
    ask(
        f"Permanently delete dialog {name} with {commits}?",
        f"this would permanently delete {commits}",
        yes=yes,
    )
    tract.delete_dialog(name)
    report = {"deleted": name, "commits": dialog.commits}
    dump_or_put(report, f"deleted dialog {name} with {commits}", as_json)


def _print_dialogs(dialogs: list[DialogInfo], search: str) -> None:
    if not dialogs:
        nothing = "no dialogs yet; the first commit creates one"
        say(f"no dialog has the words {search!r}" if search else nothing)
        return
    shown = [field for field in FIELDS if any(map(field.text, dialogs))]
    rows = [[field.text(info) for field in shown] for info in dialogs]
    table([field.column for field in shown], [[field.name.upper() for field in shown], *rows])
