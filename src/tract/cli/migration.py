"""The command that turns results into references."""

from __future__ import annotations

import sys
from typing import IO

import click

from tract.aio import (
    INLINE_TOKENS,
    MigrationReport,
    import_messages,
    migrate_results,
)
from tract.cli.commits import plain
from tract.cli.inputs import parse_json
from tract.cli.screen import dump, json_option, put, say
from tract.cli.target import Target
from tract.tract import Tract
from tract.view.sanitize import counted


@click.command("migrate-results")
@click.argument("file", type=click.File("rb"), required=False)
@click.option(
    "--inline-tokens",
    type=click.IntRange(min=0),
    metavar="N",
    help="Leave results of up to N tokens as they are.  [default: what is set for the dialog, "
    f"else {INLINE_TOKENS}]",
)
@json_option
@click.pass_obj
def migrate_results_command(
    target: Target, file: IO[bytes] | None, inline_tokens: int | None, as_json: bool
) -> None:
    """Show large results as references.

    They stay whole underneath. FILE is a history as JSON, - is what is piped in: messages in a
    provider's words or as LangChain dumps them. What is new in it is recorded first. The command
    can be stopped and run again at any time.
    """
    given = None if file is None else parse_json(file.read())
    with target.open() if file is None else target.open_any() as tract:
        before = tract.current_branch
        recorded = 0 if file is None else len(import_messages(tract, given))
        report = _migrate(tract, inline_tokens)
        if tract.current_branch != before:
            say(f"the history differs from the recorded one: now on branch {tract.current_branch}")
    if as_json:
        dump({"recorded": recorded, **plain(report)})
        return
    if file is not None:
        put(f"{counted(recorded, 'commit')} recorded")
    _print_report(report)


def _migrate(tract: Tract, inline_tokens: int | None) -> MigrationReport:
    """With a bar, if somebody is looking and there is something to do."""
    if not sys.stderr.isatty():
        return migrate_results(tract, inline_tokens=inline_tokens)
    bar = click.progressbar(length=0, label="results", file=sys.stderr)

    def show(done: int, total: int) -> None:
        bar.length = total
        bar.update(done - bar.pos)

    try:
        return migrate_results(tract, inline_tokens=inline_tokens, progress=show)
    finally:
        if bar.length:
            bar.render_finish()


def _print_report(report: MigrationReport) -> None:
    put(f"{counted(report.migrated, 'result')} of {report.results} now shown as references")
    for number, why in (
        (report.already, "shown in a form of their own already"),
        (report.small, "small enough, or to be kept"),
        (report.fixed, "pinned, or answers of get_tool_result"),
    ):
        if number:
            put(f"{number} left: {why}")
    if report.migrated:
        put(f"{report.tokens_before} tokens became {report.tokens_after}")
        say("`tract restore COMMIT` undoes it: " + ", ".join(c[:10] for c in report.commits))
