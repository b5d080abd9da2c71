"""Commands that replace messages and results with summaries."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, NamedTuple

import click

from tract.cli.commits import plain, print_commit, print_commits
from tract.cli.files import read_stdin
from tract.cli.inputs import json_option
from tract.cli.results import find_result
from tract.cli.screen import SHORT, Progress, dump, put, say
from tract.cli.target import Target, resolve, resolve_optional
from tract.core.compression import GIVEN, CompressResult, PendingCompress, SummarizedResult
from tract.core.forms import ToolResultInfo
from tract.errors import NoLLMError
from tract.llm import LLMClient, connect
from tract.model import STRUCTURE
from tract.tract import Tract
from tract.view.sanitize import counted, one_line

TOKENS = click.IntRange(min=1)
AUTHORS = {GIVEN: "as given", STRUCTURE: "made without a model"}

instructions_option = click.option(
    "--instructions", metavar="TEXT", help="What the model should keep or leave out."
)
target_option = click.option(
    "--target-tokens", type=TOKENS, metavar="N", help="The approximate length of a summary."
)
model_option = click.option(
    "--model",
    envvar="TRACT_MODEL",
    metavar="PROVIDER:NAME",
    help="The model that writes it: anthropic:…, openai:… or responses:…  [default: $TRACT_MODEL]",
)
dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Only report the tokens before and after; call no model."
)


class _Rollback(Exception):  # noqa: N818 - nothing went wrong
    """Ends a batch without keeping anything of it."""


# Messages


class CompressOptions(NamedTuple):
    """What to compress, and how."""

    commits: tuple[str, ...]
    first: str | None
    last: str | None
    tools: bool
    tool: str | None
    keep_recent: int | None
    content: str | None
    instructions: str | None
    target_tokens: int | None
    preserve: tuple[str, ...]


@click.command("compress")
@click.argument("commits", metavar="[COMMIT]...", nargs=-1)
@click.option("--from", "first", metavar="COMMIT", help="The first message.")
@click.option("--to", "last", metavar="COMMIT", help="The last message.")
@click.option("--tools", is_flag=True, help="Only tool calls and their results.")
@click.option("--tool", metavar="NAME", help="With --tools: only turns that call this tool.")
@click.option(
    "--keep-recent",
    type=click.IntRange(min=0),
    metavar="N",
    help="With --tools: leave out the newest N turns.",
)
@click.option("--content", metavar="TEXT", help="The summary itself; - is stdin.")
@instructions_option
@target_option
@click.option(
    "--preserve", multiple=True, metavar="COMMIT", help="Keep this message; can be repeated."
)
@model_option
@dry_run_option
@json_option
@click.pass_obj
def compress_command(
    target: Target, /, model: str | None, dry_run: bool, as_json: bool, **options: Any
) -> None:
    """Replace messages with a summary.

    Compresses the named messages, a range, or everything except instructions. Pinned messages
    stay, with one summary for each group between them. A model writes the summary, or you do with
    --content; with --tools and no model, it lists the calls and describes their results. Nothing
    is lost: `tract restore` undoes it.
    """
    chosen = CompressOptions(**options)
    _check(chosen)
    with target.open() as tract, _connect(model if chosen.content is None else None) as client:
        if dry_run:
            report = _forecast(tract, chosen, client)
        else:
            tract.llm = client
            with Progress(_progress_label(client)) as progress:
                result = _plan(tract, chosen, progress).approve()
            report = _compress_report(result, dry_run=False)
            if not as_json:
                print_commits(tract, result.summaries)
    if as_json:
        dump(report)
    commits = [summary["commit_hash"] for summary in report["summaries"]]
    _say(_compress_text(report), commits, dry_run)


def _check(options: CompressOptions) -> None:
    """Which options exclude each other. The library checks the rest."""
    others = (options.first, options.last, options.content, *options.preserve)
    if options.tools and any(value is not None for value in others):
        raise click.UsageError(
            "--tools selects the messages itself; it excludes --from, --to, --preserve, --content"
        )
    if options.commits and options.keep_recent is not None:
        raise click.UsageError("--keep-recent cannot be combined with named commits")
    if not options.tools and (options.tool or options.keep_recent is not None):
        raise click.UsageError("--tool and --keep-recent require --tools")
    if options.content is not None and (options.instructions or options.target_tokens):
        raise click.UsageError("--content is the summary; it excludes options for a model")


def _plan(
    tract: Tract, options: CompressOptions, progress: Progress | None = None
) -> PendingCompress:
    commits = [resolve(tract, commit) for commit in options.commits] or None
    if options.tools:
        return tract.compress_tool_calls(
            commits,
            name=options.tool,
            instructions=options.instructions,
            target_tokens=options.target_tokens,
            keep_recent=options.keep_recent or 0,
            review=True,
            on_progress=progress,
        )
    try:
        return tract.compress(
            commits,
            resolve_optional(tract, options.first),
            resolve_optional(tract, options.last),
            content=read_stdin() if options.content == "-" else options.content,
            instructions=options.instructions,
            target_tokens=options.target_tokens,
            preserve=[resolve(tract, commit) for commit in options.preserve],
            review=True,
            on_progress=progress,
        )
    except NoLLMError:
        raise NoLLMError(
            "no model to write a summary: name one with --model or TRACT_MODEL, "
            "write it yourself with --content, or compress only --tools"
        ) from None


def _forecast(tract: Tract, options: CompressOptions, client: LLMClient | None) -> dict[str, Any]:
    """The report of a dry run. It is exact where no model is needed."""
    tract.llm = _SilentModel(client.model) if client else None
    pending = _plan(tract, options)
    if client is None:
        return _compress_report(_rehearse(tract, pending), dry_run=True)
    size = options.target_tokens
    most = size * len(pending.summaries) if size else None
    return {
        "tokens_before": pending.tokens_before,
        "tokens_after": most and min(most, pending.tokens_before),
        "sources": pending.sources,
        "summaries": [],
        "preserved": pending.preserved,
        "notes": pending.notes,
        "made_by": client.model,
        "groups": len(pending.summaries),
        "exact": False,
        "dry_run": True,
    }


def _rehearse(tract: Tract, pending: PendingCompress) -> CompressResult:
    """The result of a compression that is rolled back."""
    with suppress(_Rollback), tract.batch():
        result = pending.approve()
        raise _Rollback
    return result


def _compress_report(result: CompressResult, *, dry_run: bool) -> dict[str, Any]:
    summaries = [] if dry_run else plain(result.summaries)
    about = {"groups": len(result.summaries), "exact": True, "dry_run": dry_run}
    return {**plain(result), "summaries": summaries, **about}


def _compress_text(report: dict[str, Any]) -> str:
    notes = "; ".join(report["notes"])
    if not report["sources"]:
        return f"nothing to compress: {notes or 'there are no calls with all of their results'}"
    verb = "would compress" if report["dry_run"] else "compressed"
    messages = counted(len(report["sources"]), "message")
    into = f" into {report['groups']} summaries" if report["groups"] > 1 else ""
    preserved = len(report["preserved"])
    kept = f"; {counted(preserved, 'message')} preserved" if preserved else ""
    return "; ".join(filter(None, (f"{verb} {messages}{into}: {_sizes(report)}{kept}", notes)))


# Results


@click.command("summarize")
@click.argument("name", metavar="ID")
@instructions_option
@target_option
@model_option
@dry_run_option
@json_option
@click.pass_obj
def summarize_command(
    target: Target,
    name: str,
    instructions: str | None,
    target_tokens: int | None,
    model: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Show a stored tool result as a summary.

    ID is an ID from `tract results`, or a commit. A model writes the summary; without a model, it
    describes the result if that is shorter. The full result stays stored and can be fetched.
    """
    with target.open() as tract, _connect(model) as client:
        info = find_result(tract, name)
        if client and dry_run:
            report = _summary_forecast(info, client, target_tokens)
        else:
            tract.llm = client
            with Progress(_progress_label(client)):
                result = tract.summarize_tool_result(
                    info.commit_hash,
                    instructions=instructions,
                    target_tokens=target_tokens,
                    dry_run=dry_run,
                )
            report = plain(result) | {"id": info.id, "exact": True, "dry_run": dry_run}
            _show(tract, result, as_json)
    if as_json:
        dump(report)
    commit = report["commit"]
    _say(_summary_text(report), [commit["commit_hash"]] if commit else [], dry_run)


def _summary_forecast(
    info: ToolResultInfo, client: LLMClient, target_tokens: int | None
) -> dict[str, Any]:
    before = info.token_count
    return {
        "text": None,
        "made_by": client.model,
        "tokens_before": before,
        "tokens_after": target_tokens and min(target_tokens, before),
        "commit": None,
        "note": None,
        "id": info.id,
        "exact": False,
        "dry_run": True,
    }


def _show(tract: Tract, result: SummarizedResult, as_json: bool) -> None:
    if as_json or result.text is None:
        return
    if result.commit:
        print_commit(tract, result.commit, as_json=False)
    else:
        put(result.text)


def _summary_text(report: dict[str, Any]) -> str:
    note = report["note"]
    if report["made_by"] is None:
        return f"{report['id']} is unchanged: {note}"
    verb = "would summarize" if report["dry_run"] else "summarized"
    return f"{verb} {report['id']}: {_sizes(report)}" + f"; {note}" * bool(note)


# Both


class _SilentModel:
    """Stands in for a model that is not called; its text does not matter."""

    window = 1 << 60

    def __init__(self, model: str) -> None:
        self.model = model

    def complete(self, *_: object, **__: object) -> str:
        return "…"


def _connect(model: str | None) -> AbstractContextManager[LLMClient | None]:
    return connect(model) if model else nullcontext()


def _progress_label(client: LLMClient | None) -> str:
    return f"asking {client.model}" if client else ""


def _sizes(report: dict[str, Any]) -> str:
    """`5312 → 412 tokens (8%), made by claude`; `~` where the number is an estimate."""
    before, after, author = report["tokens_before"], report["tokens_after"], report["made_by"]
    size = "?" if after is None else f"{'' if report['exact'] else '~'}{after}"
    share = f" ({after / before:.0%})" if after is not None and before else ""
    return f"{before} → {size} tokens{share}, {AUTHORS.get(author, f'made by {author}')}"


def _say(text: str, commits: list[str], dry_run: bool) -> None:
    say(one_line(text))
    if commits:
        say(f"undo with `tract restore {' '.join(commit[:SHORT] for commit in commits)}`")
    elif dry_run:
        say("dry run: nothing was written")
