"""Commands about tool results: which there are, what they hold, in which form they are shown."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click

from tract.cli.commits import LEFT_OUT, SUMMED_UP, plain, print_commit, summed_up
from tract.cli.screen import (
    CYAN,
    DIM,
    Column,
    Painted,
    dump,
    dump_list,
    json_option,
    put,
    say,
    table,
)
from tract.cli.target import Target, named
from tract.content.blocks import whole_text
from tract.core.forms import ToolResultInfo
from tract.core.turns import Superseded
from tract.errors import CommitNotFoundError, ResultNotFoundError
from tract.model import Form, Shape
from tract.tract import Tract
from tract.view.sanitize import counted, one_line

SEVERAL = 5  # how many names a message lists
NUMBER = Column(right=True)
UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


# Lists


@click.command("results")
@click.option("--tool", metavar="NAME", help="Only those of one tool.")
@click.option("--superseded", is_flag=True, help="Only those that a later call has made old.")
@json_option
@click.pass_obj
def results_command(target: Target, tool: str | None, superseded: bool, as_json: bool) -> None:
    """List the tool results of the branch, oldest first.

    For each its tool, the id to ask for it, its size and tokens as a whole, the form in which
    the model sees it, whether it tells of a failure, and its age.
    """
    with target.open() as tract:
        listed = tract.list_tool_results()
        found = tract.find_superseded() if superseded else []
        hidden = any(info.form is None for info in listed)
        under = summed_up(tract) if hidden else {}
    wanted = [info for info in listed if tool in (None, info.tool)]
    if superseded:
        _show_superseded(wanted, listed, found, as_json)
    elif as_json:
        dump_list(map(plain, wanted))
    else:
        _show(wanted, under)
    if not wanted:
        say(one_line(_none(listed, tool)))


def _show(infos: Sequence[ToolResultInfo], under: Mapping[str, str]) -> None:
    now = datetime.now(UTC)
    columns = (Column(CYAN), Column(), NUMBER, NUMBER, Column(), Column(), Column(DIM))
    table(columns, ((*_cells(info, under), info.status, _age(info, now)) for info in infos))
    if infos:
        say(_account(infos))


def _cells(info: ToolResultInfo, under: Mapping[str, str]) -> tuple[str, str, str, str, str]:
    size, tokens = _size(info.byte_size), f"{info.token_count} tok"
    return info.tool or "", info.id, size, tokens, _form(info, under)


def _form(info: ToolResultInfo, under: Mapping[str, str]) -> str:
    if info.commit_hash in under:
        return SUMMED_UP
    return info.form.value if info.form else LEFT_OUT


def _size(size: int) -> str:
    """Bytes in three digits or so."""
    for limit, unit in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")):
        if size >= limit:
            return (
                f"{size / limit:.3g} {unit}" if size < 1000 * limit else f"{size // limit} {unit}"
            )
    return f"{size} B"


def _age(info: ToolResultInfo, now: datetime) -> str:
    seconds = (now - info.created_at).total_seconds() if info.created_at else 0
    for length, unit in UNITS:
        if seconds >= length:
            return f"{int(seconds // length)} {unit}"
    return "just now"


def _account(infos: Sequence[ToolResultInfo]) -> str:
    tokens = counted(sum(info.token_count for info in infos), "token")
    reduced = sum(info.form != Form.FULL for info in infos)
    return f"{counted(len(infos), 'result')}, {tokens}; {reduced or 'none'} not shown whole"


def _none(listed: Sequence[ToolResultInfo], tool: str | None) -> str:
    if not listed:
        return "no tool results on this branch: `tract commit --role tool` adds one"
    names = list(dict.fromkeys(info.tool or "no named tool" for info in listed))
    more = f" and {len(names) - SEVERAL} more" if len(names) > SEVERAL else ""
    known = ", ".join(names[:SEVERAL]) + more
    return f"no results of {tool!r} on this branch; there are some of {known}"


# Made old


def _show_superseded(
    wanted: Sequence[ToolResultInfo],
    listed: Sequence[ToolResultInfo],
    found: Sequence[Superseded],
    as_json: bool,
) -> None:
    by_commit = {info.commit_hash: info for info in listed}
    made_old = {old.result.commit_hash: old for old in found}
    old = [(info, made_old[info.commit_hash]) for info in wanted if info.commit_hash in made_old]
    rows = [(info, by_commit[one.by.commit_hash].id, one.reason) for info, one in old]
    if as_json:
        dump_list(plain(info) | {"by": by, "reason": reason} for info, by, reason in rows)
        return
    columns = (Column(CYAN), Column(), NUMBER, NUMBER, Column(), Column(), Column(DIM))
    table(columns, ((*_cells(info, {}), f"by {by}", reason) for info, by, reason in rows))
    if wanted:
        say(_superseded_account([info for info, _, _ in rows]))


def _superseded_account(old: Sequence[ToolResultInfo]) -> str:
    if not old:
        return "no result was made old by a later call"
    tokens = counted(sum(info.token_count for info in old), "token")
    return f"{counted(len(old), 'result')}, {tokens}: `tract reshape FORM ID…` shows less of them"


# One


@click.command("result")
@click.argument("name", metavar="ID")
@click.option("--lines", metavar="A-B", help="These lines, from 1 on: 10-20, 10-, -5 (the last).")
@click.option("--grep", metavar="RE", help="The lines in which a regular expression is found.")
@click.option(
    "-C", "--context", type=click.IntRange(min=0), metavar="N", help="Lines around each hit."
)
@click.option("--json-path", metavar="PATH", help="A part of a JSON result, as $.items[0].name.")
@click.option("--offset", type=int, metavar="N", help="From this character on; the first is 0.")
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", help="At most so many characters."
)
@click.option(
    "--raw", is_flag=True, help="The whole text and nothing else; byte by byte, if not to a screen."
)
@json_option
@click.pass_obj
def result_command(target: Target, /, name: str, raw: bool, as_json: bool, **part: Any) -> None:
    """Show a tool result, or a part of it, as a model gets it.

    ID is what `tract results` shows, or a commit. It is what the tool returned, or the newest
    edit of it, whatever form the model sees. Long answers come in pages; the last line says how
    to go on.
    """
    given = {key: value for key, value in part.items() if value is not None}
    if raw and given:
        raise click.UsageError("--raw is the whole text: give no part of it")
    if "context" in given and "grep" not in given:
        raise click.UsageError("-C goes with --grep")
    with target.open() as tract:
        info = found(tract, name)
        text = _whole(tract, info) if raw else tract.get_tool_result(info.commit_hash, **given)
    if as_json:
        dump(plain(info) | {"text": text})
    elif raw and not sys.stdout.isatty():
        _write(text)
    else:
        put(*([text] if raw else _page(text)))


def found(tract: Tract, name: str) -> ToolResultInfo:
    """The result that an id or a commit names."""
    (commit,) = _commits(tract, [name])
    return tract.list_tool_results(commit)[0]


def _commits(tract: Tract, names: Sequence[str]) -> list[str]:
    """The commits of ids. Where one is no id it may name a commit, as everywhere else."""
    names = [named(tract, name) for name in names]
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


def _whole(tract: Tract, info: ToolResultInfo) -> str:
    return whole_text(tract.get_message(info.commit_hash))


def _page(text: str) -> list[str | Painted]:
    """A page with its first line, which is ours, told apart."""
    label, newline, rest = text.partition("\n")
    return [Painted(label, DIM), newline, rest.removesuffix("\n")]


def _write(text: str) -> None:
    """The text as it came. What was piped in and is no UTF-8 was kept as lone surrogates."""
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a tool's own surrogates
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
    help="How much of it is shown, truncated or as a preview.",
)
@click.option("--text", metavar="TEXT", help="What a summary says.")
@click.option("-m", "--message", help="A note that goes with the commit.")
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
    """Show less of tool results, or all of them again.

    An ID is what `tract results` shows, or a commit. All of them change in one commit, so that
    the provider's cache is missed once; `tract restore` undoes it. The results stay whole.
    """
    shape = _shape(Form(form), tokens, text)
    with target.open() as tract:
        shapes = dict.fromkeys(_commits(tract, names), shape)
        print_commit(tract, tract.reshape(shapes, message=message), as_json)


def _shape(form: Form, tokens: int | None, text: str | None) -> Shape:
    if tokens is not None and form not in (Form.TRUNCATED, Form.REFERENCE):
        raise click.UsageError(f"--tokens goes with truncated and reference, not with {form}")
    if text is not None and form != Form.SUMMARY:
        raise click.UsageError(f"--text goes with summary, not with {form}")
    return Shape(form, tokens, text)
