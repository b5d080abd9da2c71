"""The command that shows a commit, a dialog, or the transcript of any agent."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import click

from tract.cli.commits import plain
from tract.cli.files import file_of
from tract.cli.inputs import json_option
from tract.cli.pages import write_page
from tract.cli.scenes import Scene, dialog_scene, file_scenes, with_titles
from tract.cli.screen import dump_list, has_colour, refuses_colour, say, write
from tract.cli.show_commit import dump_whole, print_whole
from tract.cli.target import Target, resolve
from tract.cli.transcripts import is_transcript
from tract.errors import CommitNotFoundError, DialogNotFoundError, InputError, NotFoundError
from tract.model import ROLES
from tract.tokens import token_counter
from tract.tract import Tract
from tract.view import ansi
from tract.view.blocks import ViewBlock, format_messages
from tract.view.conversation import Conversation
from tract.view.filter import BlockFilter, filter_blocks
from tract.view.lines import FULL, TOOLS, Look, format_lines
from tract.view.turns import with_results

LINES_PER_WRITE = 500


class ShowOptions(NamedTuple):
    """What to show, and how."""

    name: str | None
    tools: str | None
    roles: tuple[str, ...]
    grep: re.Pattern[str] | None
    errors: bool
    sent: bool | None
    at: str | None
    html: str | None
    color: str
    pager: bool
    as_json: bool

    @property
    def is_conversation(self) -> bool:
        """Whether an option applies to conversations only, not to a single commit."""
        options = (self.tools, self.roles, self.errors, self.at, self.html, self.pager)
        return self.sent is not None or self.grep is not None or any(options)


def _pattern(_: click.Context, __: click.Parameter, grep: str | None) -> re.Pattern[str] | None:
    try:
        return None if grep is None else re.compile(grep)
    except re.error as error:
        raise click.UsageError(f"--grep is not a valid regular expression: {error}") from None


@click.command("show")
@click.argument("name", required=False, metavar="[COMMIT|DIALOG|FILE]")
@click.option(
    "--tools",
    type=click.Choice(TOOLS),
    help="Show calls and results in full, as one line each, or only errors.  [default: full; on a "
    "page, one line that unfolds]",
)
@click.option(
    "--role",
    "roles",
    type=click.Choice(ROLES),
    multiple=True,
    help="Only messages of this role; can be repeated.",
)
@click.option(
    "--grep",
    metavar="REGEX",
    callback=_pattern,
    help="Only what matches a regular expression.",
)
@click.option("--errors", is_flag=True, help="Only failed results and their calls.")
@click.option(
    "--sent/--stored",
    default=None,
    help="What the model is sent, or everything stored, in full.  [default: stored]",
)
@click.option("--at", metavar="COMMIT|BRANCH", help="The dialog at this commit.")
@click.option(
    "--html",
    type=click.Path(dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Write one self-contained web page; - is stdout.",
)
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Show each call and its result in one colour. Without colour, short tags like a1 mark "
    "the pairs.",
)
@click.option("--pager", is_flag=True, help="Page the output with $PAGER, such as less.")
@json_option
@click.pass_obj
def show_command(target: Target, /, **values: Any) -> None:
    """Show a commit with its full content, or a conversation.

    A COMMIT is shown alone; the default is HEAD. A DIALOG, or the transcript FILE of any agent
    (- is stdin), is shown as a conversation in which each call and its result share a colour. The
    file is not changed. With options but no name, shows the current dialog.
    """
    options = ShowOptions(**values)
    name = options.name
    if options.html is not None and options.as_json:
        raise click.UsageError("--html or --json, not both")
    if name is not None and is_transcript(name):
        _check_file(name, options)
        with file_of(name) as path:
            # Only JSON has the tokens of full messages, and counting them takes half of the time.
            count = token_counter().count if options.as_json else None
            _show(options, file_scenes(path, name, count, sent=bool(options.sent)))
        return
    tract, is_commit = _open(target, name)
    with tract:
        if is_commit and not options.is_conversation:
            info = tract.get_commit(resolve(tract, name or "HEAD"))
            (dump_whole if options.as_json else print_whole)(tract, info)
        else:
            _show(options, [_database_scene(tract, name if is_commit else None, options)])


# What the name refers to


def _check_file(name: str, options: ShowOptions) -> None:
    """Refuse options that files do not support, and overwriting the transcript."""
    if options.at is not None:
        raise click.UsageError("--at applies to dialogs, not to files")
    if options.html is not None and Path(options.html).resolve() == Path(name).resolve():
        raise click.UsageError(f"--html {options.html} would overwrite the transcript")


def _open(target: Target, name: str | None) -> tuple[Tract, bool]:
    """The dialog, and whether the name refers to one of its commits."""
    if name is None:
        return target.open(), True
    try:
        target.database()
    except NotFoundError as error:
        raise NotFoundError(f"no file {name!r:.200}; and {error}") from None
    try:
        tract = target.open()
    except DialogNotFoundError:
        if target.dialog is not None:
            raise
        return target.with_dialog(name).open(), False
    try:
        tract.get_commit(resolve(tract, name))
    except CommitNotFoundError as error:
        tract.close()
        return _open_dialog(target, name, error), False
    except BaseException:
        tract.close()
        raise
    return tract, True


def _open_dialog(target: Target, name: str, no_commit: CommitNotFoundError) -> Tract:
    """The dialog that a name refers to which is not that of a commit."""
    try:
        return target._replace(dialog=name).open()
    except DialogNotFoundError as error:
        fact = CommitNotFoundError(f"{no_commit}, and no dialog or file has that name")
        for note in getattr(error, "__notes__", ()):
            fact.add_note(note)
        raise fact from None
    except InputError as error:
        raise error if getattr(error, "__notes__", ()) else no_commit from None


# Scenes


def _database_scene(tract: Tract, commit: str | None, options: ShowOptions) -> Scene:
    """A commit, or the dialog."""
    if commit is None:
        return dialog_scene(tract, options.at, sent=bool(options.sent))
    conversation = Conversation(tract.read(options.at))
    info = tract.get_commit(resolve(tract, commit))
    row = conversation.row_at(info.commit_hash)
    if row is None:  # an older version, or on another branch
        blocks: Iterable[ViewBlock] = format_messages([tract.get_message(info)])
    else:
        blocks = conversation.blocks(row, sent=bool(options.sent))
    return Scene(tract.dialog, tract.current_branch or "", blocks)


# Output


def _show(options: ShowOptions, scenes: list[Scene]) -> None:
    conditions = BlockFilter(frozenset(options.roles), options.grep, options.errors)
    if conditions != BlockFilter():  # the facts are about the full conversation
        scenes = [s._replace(facts=None) for s in scenes]
    scenes = [s._replace(blocks=filter_blocks(s.blocks, conditions)) for s in scenes]
    if options.as_json:
        dump_list(map(_as_json, scenes))
    elif options.html is not None:
        about = "What the model is sent." if options.sent else ""
        write_page(options.html, scenes, options.tools, about)
    else:
        _write_lines(scenes, options)


def _as_json(scene: Scene) -> dict[str, Any]:
    blocks = [plain(block) for block in scene.blocks]
    facts = plain(scene.facts()) if scene.facts else None
    return {"dialog": scene.dialog, "branch": scene.branch, "blocks": blocks, "facts": facts}


def _write_lines(scenes: list[Scene], options: ShowOptions) -> None:
    is_coloured = options.color == "always" or (options.color == "auto" and has_colour())
    has_tags = not is_coloured and (options.color == "never" or refuses_colour())
    paint = ansi.paint if is_coloured else ansi.plain
    look = Look(options.tools or FULL, has_tags=has_tags, has_bars=True)
    lines = map(paint, format_lines(with_results(with_titles(scenes)), look))
    # Many lines at a time: writing each one alone takes longer than making it.
    pieces = iter(lambda: "".join(f"{line}\n" for line in islice(lines, LINES_PER_WRITE)), "")
    first = next(pieces, None)
    if first is None:
        say("nothing to show")
    elif options.pager:
        with click.get_pager_file(color=is_coloured) as file:
            file.writelines(chain([first], pieces))
    else:
        for piece in chain([first], pieces):
            write(piece)
