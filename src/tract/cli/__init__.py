"""The command `tract`: global options, lazily loaded commands, exit codes.

0 ok · 1 failure · 2 usage · 3 not found · 4 conflict · 5 access refused · 130 interrupted
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from io import TextIOWrapper
from typing import Any, NoReturn

import click
from click.core import ParameterSource
from click.exceptions import NoSuchCommand

from tract.cli.screen import say
from tract.cli.target import Target
from tract.errors import AccessError, ConflictError, InputError, NotFoundError, TractError
from tract.urls import without_scheme
from tract.view.sanitize import one_line

INTERRUPTED = 130

COMMANDS = {
    "init": "database",
    "commit": "messages",
    "edit": "messages",
    "pin": "messages",
    "skip": "messages",
    "restore": "messages",
    "log": "history",
    "show": "show",
    "tui": "tui",
    "open": "open",
    "search": "search",
    "compile": "history",
    "import": "imports",
    "export": "exports",
    "validate": "exports",
    "tools": "tools",
    "results": "results",
    "result": "results",
    "reshape": "results",
    "summarize": "summaries",
    "compress": "summaries",
    "migrate-results": "migration",
    "mcp": "mcp",
    "branch": "branches",
    "checkout": "branches",
    "fsck": "database",
    "gc": "database",
    "backup": "database",
    "forget": "database",
    "dialogs": "dialogs",
    "cost": "cost",
    "serve": "serve",
    "token": "token",
    "audit": "token",
    "hook": "hook",
    "setup": "setup",
    "doctor": "doctor",
    "demo": "demo",
}
"""The commands in the order of the help, each with its module."""

OTHER_WORDS = {
    "add": "commit",
    "browse": "open",
    "cat": "show",
    "check": "fsck",
    "delete": "dialogs --delete",
    "find": "search",
    "grep": "search",
    "history": "log",
    "list": "dialogs",
    "ls": "dialogs",
    "record": "commit",
    "sessions": "dialogs",
    "status": "log",
    "undo": "restore",
    "verify": "fsck",
    "view": "show",
}
"""What commands are called in other programs."""

TARGET = "target_"
"""The names of these options begin so, because commands have a parameter `dialog`."""
EVERYWHERE = "Also accepts --db, --dialog and --objects: see `tract --help`."


def _fail(error: TractError | OSError) -> int:
    """Report what went wrong on one line; returns the exit code."""
    fact = str(error)
    if isinstance(error, OSError) and error.strerror:
        path = f"{os.fsdecode(error.filename)}: " if error.filename is not None else ""
        fact = path + error.strerror
    say(one_line(f"tract: {fact}"))
    for note in getattr(error, "__notes__", ()):  # candidates, one on each line
        say(note)
    match error:
        case InputError():
            return 2
        case NotFoundError():
            return 3
        case ConflictError():
            return 4
        case AccessError():
            return 5
    return 1


def _no_command(name: str) -> str:
    from difflib import get_close_matches  # only this error needs it

    near = [OTHER_WORDS[name]] if name in OTHER_WORDS else get_close_matches(name, COMMANDS, n=1)
    return " ".join([f"No such command {name!r}.", *(f"Did you mean {word!r}?" for word in near)])


class NearChoice(click.Choice[str]):
    """A choice whose error names the nearest word."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        from difflib import get_close_matches  # only this error needs it

        near = get_close_matches(str(value), map(str, self.choices), n=1)
        text = super().get_invalid_choice_message(value, ctx)
        return " ".join([text, *(f"Did you mean {word!r}?" for word in near)])


class LazyGroup(click.Group):
    """Loads the module of a command when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"tract.cli.{COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        _add_options(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except NoSuchCommand as error:
            raise NoSuchCommand(
                error.command_name, _no_command(error.command_name), ctx=ctx
            ) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader stopped reading
            _drop_output()
            ctx.exit(0)
        except (TractError, OSError) as error:
            ctx.exit(_fail(error))


def _add_options(command: click.Command) -> None:
    """Accept the options of the database after the command too, and after each of its parts; and
    name the nearest choice where another word was passed."""
    names = {name for param in command.params for name in param.opts}
    command.params += [
        click.Option(
            [f"{TARGET}{option.name}", *option.opts],
            metavar=option.metavar,
            hidden=True,
            expose_value=False,
            callback=_override,
        )
        for option in cli.params
        if option.name in Target._fields and not names.intersection(option.opts)
    ]
    for param in command.params:
        if type(param.type) is click.Choice:
            param.type = NearChoice(param.type.choices, param.type.case_sensitive)
    command.epilog = command.epilog or EVERYWHERE
    for part in command.commands.values() if isinstance(command, click.Group) else ():
        _add_options(part)


def _override(ctx: click.Context, option: click.Parameter, value: str | None) -> None:
    if value is not None and isinstance(ctx.obj, Target):
        name = (option.name or "").removeprefix(TARGET)
        ctx.obj = ctx.obj.with_option(name, without_scheme(value) if name == "db" else value)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 88},
    epilog="Exit codes: 0 ok, 1 failure, 2 usage, 3 not found, 4 conflict, 5 access refused, "
    "130 interrupted.",
)
@click.option(
    "--db",
    envvar="TRACT_DB",
    metavar="PATH|URL",
    help="The database: a SQLite file, postgresql://…, or the https://… of a server, with "
    "$TRACT_TOKEN.  [default: $TRACT_DB, else "
    ".tract/tract.db in this folder or the nearest one above]",
)
@click.option(
    "--dialog",
    envvar="TRACT_DIALOG",
    metavar="DIALOG",
    help='The dialog in the database.  [default: $TRACT_DIALOG, else "default", else the only one]',
)
@click.option(
    "--objects",
    envvar="TRACT_OBJECTS",
    metavar="URL",
    help="The object store for large contents: s3://BUCKET/PREFIX.  [default: $TRACT_OBJECTS, else "
    "none]",
)
@click.version_option(package_name="tract-context", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context, db: str | None, dialog: str | None, objects: str | None) -> None:
    """Version control for the context of LLM agents.

    A COMMIT is a hash, the beginning of a hash, or HEAD. A DIALOG is an id or its beginning, a
    number from the list of `tract dialogs`, or words of the title; a command that may create the
    dialog accepts only its exact id. --db, --dialog and --objects can also stand after the command.
    """
    names = [name for name in ("db", "dialog", "objects") if _is_option(ctx, name)]
    db = None if db is None else without_scheme(db)
    ctx.obj = Target(db, dialog, objects, frozenset(names))


def _is_option(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) == ParameterSource.COMMANDLINE


def main() -> NoReturn:
    if sys.stdout is None or sys.stderr is None:  # closed by the parent process
        nowhere = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - open until exit
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # the terminal may not be UTF-8
    sys.exit(_run())


def _run() -> int:
    """Run a command and flush its output while a failure can still be reported."""
    try:
        code = _invoke()
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        return 0
    except OSError as error:
        _drop_output()
        return _fail(error)
    return code


def _invoke() -> int:
    try:
        return cli.main(prog_name="tract", standalone_mode=False) or 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        return INTERRUPTED


def _drop_output() -> None:
    """Discard what the interpreter flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
