"""The command that shows a commit, a dialog, or the transcript of any agent."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import click

from tract.cli.commits import plain
from tract.cli.files import file_of, is_folder, is_transcript
from tract.cli.inputs import json_option
from tract.cli.pages import write_page
from tract.cli.prices import price_list, prices_option
from tract.cli.scenes import Scene, dialog_scene, file_scenes, with_titles
from tract.cli.screen import dump_list, has_colour, refuses_colour, say, write
from tract.cli.show_commit import dump_whole, print_whole
from tract.cli.site import Site, SiteLook, Source, database_sources, folder_sources
from tract.cli.target import Target, resolve, without_password
from tract.economy.prices import PriceList
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
    prices: str | None
    as_json: bool

    @property
    def about(self) -> str:
        return "What the model is sent." if self.sent else ""

    @property
    def price_list(self) -> PriceList:
        return price_list(self.prices)

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
@click.argument("name", required=False, metavar="[COMMIT|DIALOG|FILE|FOLDER]")
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
    type=click.Path(allow_dash=True),
    metavar="FILE|FOLDER/",
    help="Write one self-contained web page; - is stdout. A folder gets a page for each session of "
    "the FOLDER that is shown, or for each dialog of the database, and a list with a search.",
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
@prices_option
@json_option
@click.pass_context
def show_command(ctx: click.Context, /, **values: Any) -> None:
    """Show a commit with its full content, or a conversation.

    A COMMIT is shown alone; the default is HEAD. A DIALOG, or the transcript FILE of any agent
    (- is stdin), is shown as a conversation in which each call and its result share a colour. The
    file is not changed. With options but no name, shows the current dialog. A FOLDER of transcripts
    needs --html.
    """
    options = ShowOptions(**values)
    target: Target = ctx.obj
    name = options.name
    if options.html is not None and options.as_json:
        raise click.UsageError("--html or --json, not both")
    if options.html is not None and _is_site(options.html):
        _show_many(ctx, options)
        return
    if name is not None and is_transcript(name):
        _check_file(name, options)
        with file_of(name) as path:
            # Only JSON has the tokens of full messages, and counting them takes half of the time.
            count = token_counter().count if options.as_json else None
            prices = options.price_list
            _show(options, file_scenes(path, name, prices, count, sent=bool(options.sent)))
        return
    try:
        tract, is_commit = _open(target, name)
    except NotFoundError:
        if name is None or not is_folder(name):
            raise
        hint = "it is a folder: add --html OUT/ to write a page for each of its sessions"
        raise NotFoundError(f"no file {name!r:.200}; {hint}") from None
    with tract:
        if is_commit and not options.is_conversation:
            info = tract.get_commit(resolve(tract, name or "HEAD"))
            (dump_whole if options.as_json else print_whole)(tract, info)
        else:
            _show(options, [_database_scene(tract, name if is_commit else None, options)])


# Many conversations


def _is_site(out: str) -> bool:
    """Whether the pages go to a folder: it is one, or its name says so."""
    return out.endswith(("/", os.sep)) or is_folder(out)


def _show_many(ctx: click.Context, options: ShowOptions) -> None:
    """The sessions of a folder, or all dialogs of the database."""
    name, sent, target = options.name, bool(options.sent), ctx.obj
    if options.at is not None or (name is not None and not is_folder(name)):
        raise click.UsageError(f"--html {options.html} is a folder; expected a file for one page")
    if name is not None:
        _write_site(ctx, name, folder_sources(Path(name), options.price_list, sent=sent), options)
        return
    with target.open_any() as database:
        sources = database_sources(database, options.price_list, sent=sent)
        _write_site(ctx, without_password(target.database()), sources, options)


def _write_site(
    ctx: click.Context, title: str, sources: Iterable[Source], options: ShowOptions
) -> None:
    site_look = SiteLook(partial(_filtered, options), options.tools, options.about)
    site = Site(options.html or "", site_look, options.price_list)
    site.write(title, sources)
    if site.failures:
        ctx.exit(1)


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
        return dialog_scene(tract, options.price_list, options.at, sent=bool(options.sent))
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
    scenes = _filtered(options, scenes)
    if options.as_json:
        dump_list(map(_as_json, scenes))
    elif options.html is not None:
        write_page(options.html, scenes, options.tools, options.about)
    else:
        _write_lines(scenes, options)


def _filtered(options: ShowOptions, scenes: list[Scene]) -> list[Scene]:
    conditions = BlockFilter(frozenset(options.roles), options.grep, options.errors)
    if conditions == BlockFilter():
        return scenes
    # The facts are about the full conversation.
    return [s._replace(blocks=filter_blocks(s.blocks, conditions), facts=None) for s in scenes]


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
