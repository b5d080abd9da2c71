"""Commands that put summaries in the place of messages and results."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, NamedTuple

import click

from tract.cli.commits import plain, print_commit, print_commits
from tract.cli.inputs import piped
from tract.cli.results import found
from tract.cli.screen import (
    SHORT,
    Progress,
    dump,
    json_option,
    put,
    say,
)
from tract.cli.target import Target, named
from tract.core.compression import GIVEN, CompressResult, PendingCompress, SummarizedResult
from tract.core.forms import ToolResultInfo
from tract.errors import NoLLMError
from tract.llm import LLMClient, connect
from tract.llm.summarizer import STRUCTURE
from tract.tract import Tract
from tract.view.sanitize import counted, one_line

TOKENS = click.IntRange(min=1)
MADE = {GIVEN: "as given", STRUCTURE: "made without a model"}

instructions_option = click.option(
    "--instructions", metavar="TEXT", help="What the model is to keep, or to leave out."
)
target_option = click.option(
    "--target-tokens", type=TOKENS, metavar="N", help="About how long a summary should be."
)
model_option = click.option(
    "--model",
    envvar="TRACT_MODEL",
    metavar="PROVIDER:NAME",
    help="Who writes it: anthropic:…, openai:… or responses:…  [default: $TRACT_MODEL]",
)
dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Only tell the tokens before and after; ask no model."
)


class _Undone(Exception):  # noqa: N818 - nothing went wrong
    """Ends a batch of which nothing is to stay."""


# Messages


class Wanted(NamedTuple):
    """What is to be compressed, and how."""

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
@click.option("--from", "first", metavar="COMMIT", help="From this one on.")
@click.option("--to", "last", metavar="COMMIT", help="Up to this one.")
@click.option("--tools", is_flag=True, help="Only calls of tools with their results.")
@click.option("--tool", metavar="NAME", help="With --tools: only turns that call this one.")
@click.option(
    "--keep-recent",
    type=click.IntRange(min=0),
    metavar="N",
    help="With --tools: not the newest N turns.",
)
@click.option("--content", metavar="TEXT", help="The summary; - is what is piped in.")
@instructions_option
@target_option
@click.option("--preserve", multiple=True, metavar="COMMIT", help="Stays; may be given often.")
@model_option
@dry_run_option
@json_option
@click.pass_obj
def compress_command(
    target: Target, /, model: str | None, dry_run: bool, as_json: bool, **given: Any
) -> None:
    """Put a summary in the place of messages.

    Of those that are named, of a range, or of all but instructions. What is pinned stays, with
    one summary for each group of neighbours between. A model writes it, or you do with --content;
    with --tools and without a model it tells what was called and what the results look like.
    Nothing is lost: `tract restore` brings it all back.
    """
    wanted = Wanted(**given)
    _check(wanted)
    with target.open() as tract, _connected(model if wanted.content is None else None) as client:
        if dry_run:
            told = _foreseen(tract, wanted, client)
        else:
            tract.llm = client
            with Progress(_asking(client)) as progress:
                result = _pending(tract, wanted, progress).approve()
            told = _compressed(result, is_done=True)
            if not as_json:
                print_commits(tract, result.summaries)
    if as_json:
        dump(told)
    _say(_account(told), [summary["commit_hash"] for summary in told["summaries"]], dry_run)


def _check(wanted: Wanted) -> None:
    """What goes together. The rest is the library's to say."""
    others = (wanted.first, wanted.last, wanted.content, *wanted.preserve)
    if wanted.tools and any(given is not None for given in others):
        raise click.UsageError("--tools finds its own: no --from, --to, --preserve or --content")
    if wanted.commits and wanted.keep_recent is not None:
        raise click.UsageError("--keep-recent is for calls that are found, not for named commits")
    if not wanted.tools and (wanted.tool or wanted.keep_recent is not None):
        raise click.UsageError("--tool and --keep-recent go with --tools")
    if wanted.content is not None and (wanted.instructions or wanted.target_tokens):
        raise click.UsageError("--content is the summary: there is nothing to tell a model")


def _pending(tract: Tract, wanted: Wanted, progress: Progress | None = None) -> PendingCompress:
    listed = [named(tract, commit) for commit in wanted.commits] or None
    if wanted.tools:
        return tract.compress_tool_calls(
            listed,
            name=wanted.tool,
            instructions=wanted.instructions,
            target_tokens=wanted.target_tokens,
            keep_recent=wanted.keep_recent or 0,
            review=True,
            on_progress=progress,
        )
    try:
        return tract.compress(
            listed,
            None if wanted.first is None else named(tract, wanted.first),
            None if wanted.last is None else named(tract, wanted.last),
            content=piped() if wanted.content == "-" else wanted.content,
            instructions=wanted.instructions,
            target_tokens=wanted.target_tokens,
            preserve=[named(tract, commit) for commit in wanted.preserve],
            review=True,
            on_progress=progress,
        )
    except NoLLMError:
        raise NoLLMError(
            "no model to write a summary: name one with --model or TRACT_MODEL, "
            "write it yourself with --content, or compress only --tools"
        ) from None


def _foreseen(tract: Tract, wanted: Wanted, client: LLMClient | None) -> dict[str, Any]:
    """What would come of it: exactly, where no model is needed for that."""
    tract.llm = Unasked(client.model) if client else None
    pending = _pending(tract, wanted)
    if client is None:
        return _compressed(_tried(tract, pending), is_done=False)
    size = wanted.target_tokens
    most = size * len(pending.summaries) if size else None
    return {
        "tokens_before": pending.tokens_before,
        "tokens_after": most and min(most, pending.tokens_before),
        "sources": pending.sources,
        "summaries": [],
        "preserved": pending.preserved,
        "made_by": client.model,
        "groups": len(pending.summaries),
        "exact": False,
        "dry_run": True,
    }


def _tried(tract: Tract, pending: PendingCompress) -> CompressResult:
    """What comes of it. Nothing of that stays."""
    with suppress(_Undone), tract.batch():
        result = pending.approve()
        raise _Undone
    return result


def _compressed(result: CompressResult, *, is_done: bool) -> dict[str, Any]:
    summaries = plain(result.summaries) if is_done else []
    about = {"groups": len(result.summaries), "exact": True, "dry_run": not is_done}
    return {**plain(result), "summaries": summaries, **about}


def _account(told: dict[str, Any]) -> str:
    if not told["sources"]:
        return "nothing to compress: no calls with results of which less could be said"
    done = "would compress" if told["dry_run"] else "compressed"
    into = f" into {told['groups']} summaries" if told["groups"] > 1 else ""
    stays = f"; {counted(len(told['preserved']), 'message')} preserved" if told["preserved"] else ""
    return f"{done} {counted(len(told['sources']), 'message')}{into}: {_sizes(told)}{stays}"


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
    """Show a summary of a tool result that is there already.

    ID is what `tract results` shows, or a commit. A model writes the summary; without one it tells
    what the result looks like, where that is shorter. The whole stays, and can still be fetched.
    """
    with target.open() as tract, _connected(model) as client:
        info = found(tract, name)
        if client and dry_run:
            told = _unasked(info, client, target_tokens)
        else:
            tract.llm = client
            with Progress(_asking(client)):
                result = tract.summarize_tool_result(
                    info.commit_hash,
                    instructions=instructions,
                    target_tokens=target_tokens,
                    dry_run=dry_run,
                )
            told = plain(result) | {"id": info.id, "exact": True, "dry_run": dry_run}
            _show(tract, result, as_json)
    if as_json:
        dump(told)
    _say(_summarized(told), told["commit"] and [told["commit"]["commit_hash"]], dry_run)


def _unasked(info: ToolResultInfo, client: LLMClient, target_tokens: int | None) -> dict[str, Any]:
    before = info.token_count
    return {
        "text": None,
        "made_by": client.model,
        "tokens_before": before,
        "tokens_after": target_tokens and min(target_tokens, before),
        "commit": None,
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


def _summarized(told: dict[str, Any]) -> str:
    if told["made_by"] is None:
        tokens = counted(told["tokens_before"], "token")
        return f"{told['id']} is left as it is: nothing shorter can be said of its {tokens}"
    done = "would summarize" if told["dry_run"] else "summarized"
    return f"{done} {told['id']}: {_sizes(told)}"


# Both


class Unasked:
    """Stands for a model that is not to be asked: what it says is of no matter."""

    window = 1 << 60

    def __init__(self, model: str) -> None:
        self.model = model

    def complete(self, *_: object, **__: object) -> str:
        return "…"


def _connected(model: str | None) -> AbstractContextManager[LLMClient | None]:
    return connect(model) if model else nullcontext()


def _asking(client: LLMClient | None) -> str:
    return f"asking {client.model}" if client else ""


def _sizes(told: dict[str, Any]) -> str:
    """`5312 → 412 tokens (8%), made by claude`; `~` where only the model could tell."""
    before, after, who = told["tokens_before"], told["tokens_after"], told["made_by"]
    about = "" if told["exact"] else "~"
    size = "?" if after is None else f"{about}{after}"
    share = f" ({after / before:.0%})" if after is not None and before else ""
    return f"{before} → {size} tokens{share}, {MADE.get(who, f'made by {who}')}"


def _say(account: str, commits: list[str] | None, dry_run: bool) -> None:
    say(one_line(account))
    if commits:
        say(f"`tract restore {' '.join(commit[:SHORT] for commit in commits)}` undoes it")
    elif dry_run:
        say("dry run: nothing was written")
