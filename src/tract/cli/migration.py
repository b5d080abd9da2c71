"""The command that shows large results as references."""

from __future__ import annotations

import sys

import click

from tract.cli.commits import plain
from tract.cli.files import parse_json, read_file
from tract.cli.inputs import json_option
from tract.cli.messages import report_new_branch
from tract.cli.screen import dump, put, say
from tract.cli.target import Target
from tract.tool_results import INLINE_TOKENS, MigrationReport, import_messages, migrate_results
from tract.tract import Tract
from tract.view.sanitize import counted


@click.command("migrate-results")
@click.argument("file", required=False)
@click.option(
    "--inline-tokens",
    type=click.IntRange(min=0),
    metavar="N",
    help="Leave results of up to N tokens unchanged.  [default: the setting of the dialog, "
    f"else {INLINE_TOKENS}]",
)
@json_option
@click.pass_obj
def migrate_results_command(
    target: Target, file: str | None, inline_tokens: int | None, as_json: bool
) -> None:
    """Show large results as references.

    The full results stay stored. FILE is a history as JSON (- is stdin): messages in a provider's
    format or as dumped by LangChain; its new part is recorded first. The command can be
    interrupted and run again at any time.
    """
    history = None if file is None else parse_json(read_file(file))
    with target.open() if file is None else target.open_any() as tract:
        before = tract.current_branch
        recorded = 0 if file is None else len(import_messages(tract, history))
        report = _migrate(tract, inline_tokens)
        if tract.current_branch != before:
            report_new_branch(tract)
    if as_json:
        dump({"recorded": recorded, **plain(report)})
        return
    if file is not None:
        put(f"{counted(recorded, 'commit')} recorded")
    _print_report(report)


def _migrate(tract: Tract, inline_tokens: int | None) -> MigrationReport:
    """With a progress bar on a terminal."""
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
    for number, reason in (
        (report.already, "already shown in another form"),
        (report.small, "small enough, or set to stay in full"),
        (report.fixed, "pinned, or answers of get_tool_result"),
    ):
        if number:
            put(f"{number} unchanged: {reason}")
    if report.migrated:
        put(f"{report.tokens_before} tokens became {report.tokens_after}")
        say("undo with `tract restore COMMIT`: " + ", ".join(c[:10] for c in report.commits))
