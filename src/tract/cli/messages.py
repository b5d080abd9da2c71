"""Commands that add a commit."""

from __future__ import annotations

import sys
from typing import Any

import click

from tract.cli.commits import plain, print_commit, print_commits
from tract.cli.files import parse_json, read_file, read_stdin
from tract.cli.inputs import json_option, message_option
from tract.cli.screen import dump_list, say
from tract.cli.target import Target, resolve
from tract.errors import EditError
from tract.model import ROLES, Form, Message, Priority
from tract.tract import Tract

commit_argument = click.argument("commit")
text_argument = click.argument("text", required=False)


def parse_metadata(
    ctx: click.Context, param: click.Parameter, text: str | None
) -> dict[str, Any] | None:
    if text is None:
        return None
    value = parse_json(text)
    if not isinstance(value, dict):
        raise click.BadParameter("expected a JSON object")
    return value


metadata_option = click.option(
    "--metadata",
    metavar="JSON",
    callback=parse_metadata,
    help="A JSON object to store with the commit.",
)


@click.command("commit")
@text_argument
@click.option(
    "--role",
    type=click.Choice(ROLES),
    default="user",
    show_default=True,
    help="Who wrote the message.",
)
@click.option("--call-id", metavar="ID", help="The call that this tool result answers.")
@click.option("--name", metavar="TOOL", help="The tool that returned it.")
@click.option("--error", "is_error", is_flag=True, help="The tool failed.")
@click.option(
    "--form",
    type=click.Choice([form.value for form in Form]),
    help="What the model sees of a tool result.",
)
@message_option
@metadata_option
@click.option(
    "--file",
    metavar="FILE",
    help="A JSON file: one provider message, or a history or request whose new part is added.",
)
@json_option
@click.pass_obj
def commit_command(
    target: Target,
    text: str | None,
    role: str,
    call_id: str | None,
    name: str | None,
    is_error: bool,
    form: str | None,
    message: str | None,
    metadata: dict[str, Any] | None,
    file: str | None,
    as_json: bool,
) -> None:
    """Add a message: TEXT, or stdin."""
    if file is not None:
        if text or role != "user" or call_id or name or is_error:
            raise click.UsageError("--file already has the text, role, call and name")
        about = {"message": message, "metadata": metadata, "form": form}
        _commit_file(target, file, about, as_json)
        return
    if (role == "tool") != (call_id is not None) or (role != "tool" and (is_error or form)):
        raise click.UsageError(
            "--role tool requires --call-id; other roles accept neither it nor --error or --form"
        )
    content = Message(role, _text_or_stdin(text), call_id, name, is_error)
    with target.open_any() as tract:
        commit = tract.commit(content, message=message, metadata=metadata, form=form)
        print_commit(tract, commit, as_json)


@click.command("edit")
@commit_argument
@text_argument
@message_option
@metadata_option
@json_option
@click.pass_obj
def edit_command(
    target: Target,
    commit: str,
    text: str | None,
    message: str | None,
    metadata: dict[str, Any] | None,
    as_json: bool,
) -> None:
    """Replace a message with TEXT, or with stdin."""
    with target.open() as tract:
        old = tract.get_commit(resolve(tract, commit))
        if old.role is None:
            raise EditError(f"commit {old.commit_hash} is a mark without text")
        new = Message(old.role, _text_or_stdin(text), old.tool_call_id)
        print_commit(
            tract, tract.commit(new, edit=old, message=message, metadata=metadata), as_json
        )


@click.command("pin")
@commit_argument
@message_option
@json_option
@click.pass_obj
def pin_command(target: Target, commit: str, message: str | None, as_json: bool) -> None:
    """Keep a message in the context, in full."""
    _annotate(target, commit, Priority.PINNED, message, as_json)


@click.command("skip")
@commit_argument
@message_option
@json_option
@click.pass_obj
def skip_command(target: Target, commit: str, message: str | None, as_json: bool) -> None:
    """Remove a message from the context; the history keeps it."""
    _annotate(target, commit, Priority.SKIP, message, as_json)


@click.command("restore")
@click.argument("commits", metavar="COMMIT...", nargs=-1, required=True)
@message_option
@json_option
@click.pass_obj
def restore_command(
    target: Target, commits: tuple[str, ...], message: str | None, as_json: bool
) -> None:
    """Undo edits, pins, skips, summaries and other changes.

    Given a message, undoes every change made to it, in one commit.
    """
    with target.open() as tract:
        undone = tract.restore(*(resolve(tract, commit) for commit in commits), message=message)
        print_commit(tract, undone, as_json)


def _annotate(
    target: Target, commit: str, priority: Priority, message: str | None, as_json: bool
) -> None:
    with target.open() as tract:
        print_commit(
            tract, tract.annotate(resolve(tract, commit), priority, message=message), as_json
        )


def _text_or_stdin(text: str | None) -> str:
    if text is not None and text != "-":
        return text
    if text is None and sys.stdin.isatty():
        raise click.UsageError("no text: pass it as an argument, or pipe it in")
    piped = read_stdin()
    if text is None and not piped:
        raise click.UsageError("no text: stdin is empty; pass - to accept that")
    return piped


def _commit_file(target: Target, file: str, about: dict[str, Any], as_json: bool) -> None:
    content = parse_json(read_file(file))
    is_history = isinstance(content, list) or (isinstance(content, dict) and "messages" in content)
    if is_history and any(value is not None for value in about.values()):
        raise click.UsageError("--message, --metadata and --form require a single message")
    with target.open_any() as tract:
        if is_history:
            _record(tract, content, as_json)
        else:
            print_commit(tract, tract.commit(content, **about), as_json)


def _record(tract: Tract, history: list[Any] | dict[str, Any], as_json: bool) -> None:
    before = tract.current_branch
    new = tract.record(history)
    if as_json:
        dump_list(map(plain, new))
    else:
        print_commits(tract, new)
    if not new:
        say("nothing new")
    if tract.current_branch != before:
        report_new_branch(tract)


def report_new_branch(tract: Tract) -> None:
    say(f"this history differs from the recorded one; now on new branch {tract.current_branch}")
