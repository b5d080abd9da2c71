"""The command that lists and deletes dialogs."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import click
import msgspec

from tract.cli.commits import age, plain
from tract.cli.inputs import json_option, yes_option
from tract.cli.screen import CYAN, DIM, Column, ask, dump_list, dump_or_put, say, table
from tract.cli.selection import NO_DIALOGS, last_use, listed, short_ids
from tract.cli.target import Target
from tract.errors import DialogNotFoundError
from tract.model import DialogFacts, DialogInfo
from tract.tract import Tract
from tract.view.sanitize import counted


class Row(NamedTuple):
    """A dialog of the list, with its number and the id as it is shown."""

    number: int
    short: str
    info: DialogInfo

    @property
    def facts(self) -> DialogFacts:
        return self.info.facts


class _Field(NamedTuple):
    """A column of the list. It is left out where no dialog has a value for it."""

    name: str
    column: Column
    text: Callable[[Row], str]


def _count(name: str, rank: int) -> _Field:
    return _Field(
        name, Column(right=True, rank=rank), lambda row: str(getattr(row.info, name) or "")
    )


def _age(row: Row) -> str:
    return age(last_use(row.info), datetime.now(UTC))


def _project(row: Row) -> str:
    return re.split(r"[/\\]", (row.facts.folder or "").rstrip("/\\"))[-1]


def _branches(row: Row) -> str:
    return str(row.info.branches) if row.info.branches > 1 else ""


FIELDS = (
    _Field("#", Column(right=True), lambda row: str(row.number)),
    _Field("title", Column(is_cut=True), lambda row: row.facts.title or ""),
    _Field("age", Column(DIM, right=True, rank=1), _age),
    _Field("project", Column(rank=2), _project),
    _Field("model", Column(rank=5), lambda row: row.facts.model or ""),
    _Field(
        "cost",
        Column(right=True, rank=4),
        lambda row: "" if row.facts.cost is None else f"${row.facts.cost:,.2f}",
    ),
    _count("commits", 6),
    _count("tokens", 7),
    _count("errors", 8),
    _Field("branches", Column(right=True, rank=9), _branches),
    _Field("dialog", Column(CYAN, rank=3), lambda row: row.short),
)


@click.command("dialogs")
@click.option(
    "--search",
    metavar="WORDS",
    default="",
    help="Only dialogs whose name, title, folder and model contain all words (case-insensitive).",
)
@click.option("-n", "limit", type=click.IntRange(min=1), metavar="N", help="At most N dialogs.")
@click.option("--delete", metavar="NAME", help="Delete a dialog and all of its commits.")
@yes_option
@json_option
@click.pass_obj
def dialogs_command(
    target: Target, search: str, limit: int | None, delete: str | None, yes: bool, as_json: bool
) -> None:
    """List the dialogs of the database, newest first.

    The number, the shortened id or words of the title name a dialog in other commands: `tract log
    3`. The title is the first prompt, unless the agent wrote one. Imported dialogs also have the
    folder and the model that the agent worked with and the cost, as far as the transcript has
    them. On a narrow terminal some columns are left out; --json has all.
    """
    with target.open_any() as tract:
        if delete is not None:
            _delete(tract, delete, yes, as_json)
            return
        rows = _rows(tract.dialogs())
    words = search.split()
    matching = [row for row in rows if row.info.has(words)]
    if as_json:
        dump_list(map(_as_json, matching[:limit]))
    else:
        _print_rows(matching[:limit])
    if not matching:
        say(f"no dialog has the words {search!r}" if rows else NO_DIALOGS)
    elif len(matching) > len(matching[:limit]):
        say(f"the first {limit} of {len(matching)} dialogs")


def _rows(dialogs: list[DialogInfo]) -> list[Row]:
    short = short_ids([info.dialog for info in dialogs])
    return [Row(n, short[info.dialog], info) for n, info in enumerate(listed(dialogs), 1)]


def _as_json(row: Row) -> dict[str, Any]:
    """With all facts, also those that are not known."""
    facts = plain(msgspec.structs.asdict(row.facts))
    return {"number": row.number, **plain(row.info), "facts": facts}


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


def _print_rows(rows: list[Row]) -> None:
    shown = [field for field in FIELDS if any(map(field.text, rows))]
    cells = [[field.text(row) for field in shown] for row in rows]
    if rows:
        table([field.column for field in shown], [[field.name.upper() for field in shown], *cells])
