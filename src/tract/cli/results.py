"""Commands about tool results: list them, read them, change how they are shown."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click

from tract.cli.commits import LEFT_OUT, SUMMARIZED, age, plain, print_commit, summaries_of
from tract.cli.inputs import dialog_argument, json_option, message_option
from tract.cli.screen import CYAN, DIM, NUMBER, Column, Painted, dump, dump_list, put, say, table
from tract.cli.target import Target, resolve
from tract.content.blocks import whole_text
from tract.content.text import size
from tract.core.forms import ToolResultInfo
from tract.core.turns import Superseded
from tract.errors import CommitNotFoundError, ResultNotFoundError
from tract.model import Form, Shape
from tract.tract import Tract
from tract.view.sanitize import counted, cut, one_line, several

COLUMNS = (Column(CYAN), Column(), NUMBER, NUMBER, Column(), Column(), Column(DIM))
WIDTH = 40
"""Columns for what was asked."""


# Lists


@click.command("results")
@dialog_argument
@click.option("--tool", metavar="NAME", help="Only results of this tool.")
@click.option("--superseded", is_flag=True, help="Only results that a later call made outdated.")
@json_option
@click.pass_obj
def results_command(
    target: Target, dialog: str | None, tool: str | None, superseded: bool, as_json: bool
) -> None:
    """List the tool results of the branch, oldest first.

    Shows for each what was asked, the ID, the full size in bytes and tokens, the form that the
    model sees, whether the result reports a failure, and its age.
    """
    with target.with_dialog(dialog).open() as tract:
        results = tract.list_tool_results()
        outdated = tract.find_superseded() if superseded else []
        is_hidden = any(info.form is None for info in results)
        summaries = summaries_of(tract) if is_hidden else {}
    matching = [info for info in results if tool in (None, info.tool)]
    if superseded:
        _show_superseded(matching, results, outdated, as_json)
    elif as_json:
        dump_list(map(plain, matching))
    else:
        _show(matching, summaries)
    if not matching:
        say(one_line(_no_results(results, tool)))


def _show(infos: Sequence[ToolResultInfo], summaries: Mapping[str, str]) -> None:
    now = datetime.now(UTC)
    table(
        COLUMNS,
        ((*_cells(info, summaries), info.status, age(info.created_at, now)) for info in infos),
    )
    if infos:
        reduced = sum(info.form != Form.FULL for info in infos)
        say(f"{_totals(infos)}; {reduced or 'none'} not shown in full")


def _cells(info: ToolResultInfo, summaries: Mapping[str, str]) -> tuple[str, str, str, str, str]:
    hidden = SUMMARIZED if info.commit_hash in summaries else LEFT_OUT
    form = info.form.value if info.form else hidden
    asked, tokens = cut(one_line(info.subject), WIDTH), f"{info.token_count} tok"
    return asked, info.id, size(info.byte_size), tokens, form


def _totals(infos: Sequence[ToolResultInfo]) -> str:
    tokens = counted(sum(info.token_count for info in infos), "token")
    return f"{counted(len(infos), 'result')}, {tokens}"


def _no_results(results: Sequence[ToolResultInfo], tool: str | None) -> str:
    if not results:
        return "no tool results on this branch; `tract commit --role tool` adds one"
    names = list(dict.fromkeys(info.tool or "(unnamed)" for info in results))
    return f"no results of {tool!r} on this branch; tools: {several(names)}"


def _show_superseded(
    matching: Sequence[ToolResultInfo],
    results: Sequence[ToolResultInfo],
    outdated: Sequence[Superseded],
    as_json: bool,
) -> None:
    ids = {info.commit_hash: info.id for info in results}
    reasons = {old.result.commit_hash: (ids[old.by.commit_hash], old.reason) for old in outdated}
    rows = [(i, *reasons[i.commit_hash]) for i in matching if i.commit_hash in reasons]
    if as_json:
        dump_list(plain(info) | {"by": by, "reason": reason} for info, by, reason in rows)
        return
    table(COLUMNS, ((*_cells(info, {}), f"by {by}", reason) for info, by, reason in rows))
    if rows:
        totals = _totals([info for info, _, _ in rows])
        say(f"{totals}; `tract reshape FORM ID…` shows less of them")
    elif matching:
        say("no result was made outdated by a later call")


# One


@click.command("result")
@click.argument("name", metavar="ID")
@click.option("--lines", metavar="A-B", help="Lines, counted from 1: 10-20, 10-, -5 (the last 5).")
@click.option("--grep", metavar="RE", help="Lines that match a regular expression.")
@click.option(
    "-C", "--context", type=click.IntRange(min=0), metavar="N", help="Lines around each match."
)
@click.option(
    "--json-path", metavar="PATH", help="A part of a JSON result, such as $.items[0].name."
)
@click.option("--offset", type=int, metavar="N", help="Start at this character; the first is 0.")
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", help="At most this many characters."
)
@click.option(
    "--raw", is_flag=True, help="Only the full text; unchanged bytes if stdout is not a terminal."
)
@json_option
@click.pass_obj
def result_command(target: Target, /, name: str, raw: bool, as_json: bool, **part: Any) -> None:
    """Show a tool result, or a part of it.

    Prints it as the model would fetch it: what the tool returned, or its newest edit, whatever
    form the model sees. ID is an ID from `tract results`, or a commit. Long results come in pages;
    the last line says how to continue.
    """
    query = {key: value for key, value in part.items() if value is not None}
    if raw and query:
        raise click.UsageError("--raw prints the full text and accepts no other selection")
    if "context" in query and "grep" not in query:
        raise click.UsageError("-C requires --grep")
    with target.open() as tract:
        info = find_result(tract, name)
        if raw:
            text = whole_text(tract.get_message(info.commit_hash))
        else:
            text = tract.get_tool_result(info.commit_hash, **query)
    if as_json:
        dump(plain(info) | {"text": text})
    elif raw and not sys.stdout.isatty():
        _write(text)
    else:
        put(*([text] if raw else _page(text)))


def find_result(tract: Tract, name: str) -> ToolResultInfo:
    """The result with this id, or of this commit."""
    (commit,) = _commits(tract, [name])
    return tract.list_tool_results(commit)[0]


def _commits(tract: Tract, names: Sequence[str]) -> list[str]:
    """The commits of ids. Each may also be a commit."""
    names = [resolve(tract, name) for name in names]
    try:
        return [info.commit_hash for info in tract.list_tool_results(*names)]
    except ResultNotFoundError:
        return [_commit(tract, name) for name in names]


def _commit(tract: Tract, name: str) -> str:
    try:
        return tract.list_tool_results(name)[0].commit_hash
    except ResultNotFoundError as error:
        try:
            return tract.get_commit(name).commit_hash
        except CommitNotFoundError:
            raise error from None


def _page(text: str) -> list[str | Painted]:
    """A page with its first line, which is not part of the result, dimmed."""
    label, newline, rest = text.partition("\n")
    return [Painted(label, DIM), newline, rest.removesuffix("\n")]


def _write(text: str) -> None:
    """The text unchanged. Bytes that are not UTF-8 are stored as lone surrogates."""
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # surrogates from the tool itself
        data = text.encode("utf-8", "surrogatepass")
    sys.stdout.flush()
    sys.stdout.buffer.write(data)


# Forms


@click.command("reshape")
@click.argument("form", type=click.Choice([form.value for form in Form]))
@click.argument("names", metavar="ID...", nargs=-1, required=True)
@click.option(
    "--tokens",
    type=click.IntRange(min=1),
    metavar="N",
    help="The length of a truncated result, or of the preview of a reference.",
)
@click.option("--text", metavar="TEXT", help="The text of a summary.")
@message_option
@json_option
@click.pass_obj
def reshape_command(
    target: Target,
    form: str,
    names: tuple[str, ...],
    tokens: int | None,
    text: str | None,
    message: str | None,
    as_json: bool,
) -> None:
    """Show less of tool results, or show them in full again.

    ID is an ID from `tract results`, or a commit. All results change in one commit, so the
    provider's cache is invalidated once; `tract restore` undoes it. The full results stay stored.
    """
    shape = _shape(Form(form), tokens, text)
    with target.open() as tract:
        shapes = dict.fromkeys(_commits(tract, names), shape)
        print_commit(tract, tract.reshape(shapes, message=message), as_json)


def _shape(form: Form, tokens: int | None, text: str | None) -> Shape:
    if tokens is not None and form not in (Form.TRUNCATED, Form.REFERENCE):
        raise click.UsageError(f"--tokens applies to truncated and reference, not to {form}")
    if text is not None and form != Form.SUMMARY:
        raise click.UsageError(f"--text applies to summary, not to {form}")
    return Shape(form, tokens, text)
