"""The reference page of the command line, generated from its help texts.

Regenerate it with `python -m tract.cli.reference > docs/cli.md`.
"""

from __future__ import annotations

from collections.abc import Iterator

import click

from tract.cli import EVERYWHERE, cli

INTRODUCTION = """\
# Command line

`tract` and `python -m tract` are the same. Data goes to stdout, messages go to stderr; `--json`
prints one ASCII document with stable keys. Colour is used only on a terminal, and not when
`NO_COLOR` is set. Control characters are escaped, so that no text can control the terminal;
`--json` has the exact text.

A DIALOG is an id or the beginning of one, a number from the list of `tract dialogs`, or words of
the title (case-insensitive): `tract log 3`, `tract show "release notes"`, `--dialog 5f0d6a3e`. An
exact id comes first. A name that means several dialogs is an error that lists them. Commands that
may create the dialog, such as `commit`, accept only its exact id. A database with one dialog needs
no name.

Every command accepts `--db`, `--dialog` and `--objects` before and after its own name.

Options take precedence over the environment (`TRACT_DB`, `TRACT_DIALOG`, `TRACT_OBJECTS`,
`TRACT_MODEL`), and the environment over the nearest `.tract` folder. `TRACT_TOKEN` is the token for
a server. Commands that only read create nothing.

Shell completion: `eval "$(_TRACT_COMPLETE=bash_source tract)"`; also `zsh_source` and
`fish_source`.

This page is generated from the help texts: `python -m tract.cli.reference > docs/cli.md`.
"""


def reference() -> str:
    parent = click.Context(cli, info_name="tract", terminal_width=88)
    sections = [INTRODUCTION, _section("tract", cli, parent)]
    sections += _sections("tract", cli, parent)
    return "\n".join(sections)


def _sections(path: str, group: click.Group, parent: click.Context) -> Iterator[str]:
    """The commands of a group, each followed by its subcommands."""
    for name in group.list_commands(parent):
        command = group.get_command(parent, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=parent, terminal_width=88)
        yield _section(f"{path} {name}", command, context)
        if isinstance(command, click.Group):
            yield from _sections(f"{path} {name}", command, context)


def _section(title: str, command: click.Command, context: click.Context) -> str:
    context.help_option_names = ["-h", "--help"]
    text = command.get_help(context).removesuffix(f"\n\n  {EVERYWHERE}")
    return f"## {title}\n\n```text\n{text}\n```\n"


if __name__ == "__main__":
    print(reference(), end="")
