"""A plugin for the `llm` command: its logs become dialogs, and its models read stored results.

`llm tract import` imports the logs once, and `llm tract follow` goes on. The other commands are
those of `tract`, on the database of the plugin. Every start of `llm` loads this module, so it
imports the rest of tract only when a command or a tool runs.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from tract.core.fetching import fetch_tool
from tract.errors import ResultNotFoundError
from tract.extras import missing_extra

try:
    import llm
except ImportError as error:
    raise missing_extra("the plugin for llm", "llm") from error

VARIABLE = "TRACT_DB"
HELP = f"""Read conversations as dialogs of tract, with their tool results.

The database is ${VARIABLE}, or else tract.db beside the logs. `llm tract COMMAND --help` lists the
options of a command."""
COMMANDS = {
    "dialogs": "List the conversations, newest first.",
    "show": "Show a conversation.",
    "search": "Search all conversations.",
    "results": "List the tool results of a conversation.",
    "result": "Show a tool result, or a part of it.",
    "tui": "Read, search and edit conversations.",
    "open": "Open the conversations in a browser.",
}
"""Commands of tract, with what each does here."""


@llm.hookimpl
def register_commands(cli: click.Group) -> None:
    cli.add_command(_group())


@llm.hookimpl
def register_tools(register: Callable[..., None]) -> None:
    register(fetch_tool(_read))
    register(TractDialog)


class TractDialog(llm.Toolbox):  # type: ignore[no-untyped-call]
    """Reads the tool results of one dialog. Without `db`, the dialog is one that was imported."""

    def __init__(self, dialog: str, db: str | None = None) -> None:
        from tract.tract import Tract

        tract = Tract.open(db or _database(), dialog=dialog, create=False)
        self.add_tool(tract.as_tool())


def _read(name: str, **part: Any) -> str:
    """A part of a result, from the newest dialog that has one with this id."""
    from tract.tract import Tract

    for dialog in _dialogs():
        with Tract.open(_database(), dialog=dialog) as tract, suppress(ResultNotFoundError):
            return tract.get_tool_result(name, **part)
    raise ResultNotFoundError(
        f"no dialog has a result {name!r:.80}; `llm tract import` adds new ones"
    )


def _dialogs() -> list[str]:
    """The newest first."""
    from tract.tract import Tract

    if "://" not in _database() and not Path(_database()).exists():
        return []
    with Tract.open(_database()) as tract:
        infos = tract.dialogs()
    infos.sort(key=lambda info: info.updated_at or info.created_at, reverse=True)
    return [info.dialog for info in infos]


def _database() -> str:
    """Beside the logs, unless the variable names another one."""
    return os.environ.get(VARIABLE) or str(_folder() / "tract.db")


def _logs() -> str:
    return str(_folder() / "logs.db")


def _folder() -> Path:
    folder: Path = llm.user_dir()  # type: ignore[no-untyped-call]
    return folder


# Commands


def _group() -> click.Group:
    group = click.Group("tract", help=HELP)
    group.add_command(_command("import", "Import the logs.", [_logs()]))
    followed = ["--watch", _logs()]
    group.add_command(_command("import", "Import what is added to the logs.", followed, "follow"))
    for name, text in COMMANDS.items():
        group.add_command(_command(name, text))
    return group


def _command(name: str, text: str, last: list[str] | None = None, alias: str = "") -> click.Command:
    """A command of tract. Options and arguments are passed on."""

    def run(arguments: tuple[str, ...]) -> None:
        os.environ[VARIABLE] = _database()
        sys.argv = ["tract", name, *arguments, *(last or [])]
        runpy.run_module("tract", run_name="__main__")

    return click.Command(
        alias or name,
        callback=run,
        params=[click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)],
        help=text,
        context_settings={"ignore_unknown_options": True},
        add_help_option=False,
    )
