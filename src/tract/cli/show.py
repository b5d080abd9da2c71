"""The command that shows a commit, a dialog, or the transcript of any agent."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple

import click

from tract.cli.commits import plain
from tract.cli.files import file_of
from tract.cli.imports import report_faults
from tract.cli.inputs import json_option
from tract.cli.screen import dump_list, has_colour, refuses_colour, say, write
from tract.cli.show_commit import dump_whole, print_whole
from tract.cli.target import Target, resolve
from tract.cli.transcripts import is_transcript
from tract.core.transcript import MemoryThread
from tract.errors import (
    CommitNotFoundError,
    DialogNotFoundError,
    InputError,
    NotFoundError,
)
from tract.importers.partial_json import parse
from tract.importers.source import Source
from tract.importers.transcripts import read_transcript
from tract.model import ROLES, Json
from tract.tokens import token_counter
from tract.tract import Tract
from tract.view import ansi
from tract.view.blocks import TitleBlock, ViewBlock, format_messages, format_request
from tract.view.conversation import Conversation
from tract.view.filter import BlockFilter, filter_blocks
from tract.view.lines import FULL, HIDDEN, TOOLS, Look, can_be_hidden, format_lines

LINES_PER_WRITE = 500


class Scene(NamedTuple):
    """A branch of a dialog, or the part that it does not share with the branches before."""

    dialog: str
    branch: str
    blocks: Iterable[ViewBlock]


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
    help="Show calls and results in full, as one line each, or only errors.  [default: full]",
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
            _show(options, _file_scenes(path, options))
        return
    tract, is_commit = _open(target, name)
    with tract:
        if is_commit and not options.is_conversation:
            info = tract.get_commit(resolve(tract, name or "HEAD"))
            (dump_whole if options.as_json else print_whole)(tract, info)
        else:
            blocks = _database_blocks(tract, name if is_commit else None, options)
            _show(options, [Scene(tract.dialog, tract.current_branch or "", blocks)])


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


def _database_blocks(tract: Tract, commit: str | None, options: ShowOptions) -> Iterable[ViewBlock]:
    """The blocks of a commit, or of the dialog."""
    conversation = Conversation(tract.read(options.at))
    if commit is None:
        return _blocks(conversation, range(len(conversation.rows)), bool(options.sent))
    info = tract.get_commit(resolve(tract, commit))
    row = conversation.row_at(info.commit_hash)
    if row is None:  # an older version, or on another branch
        return format_messages([tract.get_message(info)])
    return _blocks(conversation, [row], bool(options.sent))


_MESSAGE_KEYS = {"role", "from", "type", "content", "parts", "tool_calls"}


def _file_scenes(path: Path, options: ShowOptions) -> list[Scene]:
    """The conversations in a file of a known format, or else a malformed request."""
    # Only JSON has the tokens of full messages, and counting them takes half of the time.
    count = token_counter().count if options.as_json else None
    try:
        transcript = read_transcript(path, count)
    except InputError:
        scenes = _request_scenes(path)
        if not scenes:
            raise
        return scenes
    faults = transcript.problems, transcript.unknown, transcript.repairs()
    report_faults(options.name or "", *faults)
    threads = transcript.threads.values()
    scenes = [scene for thread in threads for scene in _thread_scenes(thread, bool(options.sent))]
    scenes = scenes or _request_scenes(path)
    if not scenes:
        raise InputError(f"{path.name}: it contains no message that can be shown")
    return scenes


def _request_scenes(path: Path) -> list[Scene]:
    """A request that no provider would accept, if the file is one."""
    try:
        request = parse(Source(path).data())
        has_messages = not isinstance(request, list) or any(map(_is_message, request))
        return [Scene(path.stem, "", format_request(request))] if has_messages else []
    except (ValueError, RecursionError):  # InputErrors too
        return []


def _is_message(value: Json) -> bool:
    """Whether anything of it can be shown as a message."""
    return isinstance(value, dict) and not _MESSAGE_KEYS.isdisjoint(value)


def _thread_scenes(thread: MemoryThread, sent: bool) -> Iterator[Scene]:
    """All branches of a conversation. What branches share is shown once."""
    seen: set[int] = set()
    for branch in sorted(thread.branches, key=lambda name: (name != thread.branch, name)):
        conversation = Conversation(thread.read(branch))
        rows = _new_rows(conversation, seen)
        seen.update(place.origin.id for place in conversation.history.places)
        if rows:
            yield Scene(thread.name, branch, _blocks(conversation, rows, sent))


def _new_rows(conversation: Conversation, seen: set[int]) -> list[int]:
    """The rows from the first message that no other branch has."""
    if not seen:
        return list(range(len(conversation.rows)))
    numbers: list[int] = []
    has_begun = False
    for number, row in enumerate(conversation.rows):
        is_new = not isinstance(row, ViewBlock) and row.origin.id not in seen
        has_begun = has_begun or is_new
        if is_new or (has_begun and isinstance(row, ViewBlock)):
            numbers.append(number)
    return numbers


def _blocks(conversation: Conversation, rows: Iterable[int], sent: bool) -> Iterator[ViewBlock]:
    return (block for row in rows for block in conversation.blocks(row, sent=sent))


# Output


def _show(options: ShowOptions, scenes: list[Scene]) -> None:
    conditions = BlockFilter(frozenset(options.roles), options.grep, options.errors)
    scenes = [s._replace(blocks=filter_blocks(s.blocks, conditions)) for s in scenes]
    if options.as_json:
        dump_list(map(_as_json, scenes))
    elif options.html is not None:
        _write_page(options.html, scenes, options)
    else:
        _write_lines(scenes, options)


def _as_json(scene: Scene) -> dict[str, Any]:
    return {**scene._asdict(), "blocks": [plain(block) for block in scene.blocks]}


def _write_lines(scenes: list[Scene], options: ShowOptions) -> None:
    is_coloured = options.color == "always" or (options.color == "auto" and has_colour())
    has_tags = not is_coloured and (options.color == "never" or refuses_colour())
    paint = ansi.paint if is_coloured else ansi.plain
    look = Look(options.tools or FULL, has_tags=has_tags)
    lines = map(paint, format_lines(_with_titles(scenes), look))
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


def _with_titles(scenes: list[Scene]) -> Iterator[ViewBlock]:
    """The blocks of all scenes; where there are several, each has a title."""
    if len(scenes) == 1:
        return iter(scenes[0].blocks)
    titles = [TitleBlock(text=f"{scene.dialog} · {scene.branch}") for scene in scenes]
    parts = zip(titles, scenes, strict=True)
    return chain.from_iterable(chain([title], scene.blocks) for title, scene in parts)


def _write_page(path: str, scenes: list[Scene], options: ShowOptions) -> None:
    from tract.view.html import page

    blocks: Iterable[ViewBlock] = _with_titles(scenes)
    if options.tools == HIDDEN:  # hidden blocks are not part of the page at all
        blocks = (block for block in blocks if not can_be_hidden(block))
    title = scenes[0].dialog if scenes else "nothing"
    about = "What the model is sent." if options.sent else ""
    pieces = page(title, blocks, about=about, tools=options.tools or FULL)
    target = Path(path).resolve()
    if path == "-":
        for piece in pieces:
            write(piece)
    elif target.exists() and not target.is_file():  # a pipe or a device
        with target.open("w", encoding="utf-8") as file:
            file.writelines(pieces)
    else:
        try:
            _write_atomically(target, pieces)
        except OSError as error:  # it names the temporary file
            raise OSError(error.errno, error.strerror, path) from None
        say(f"wrote {path}")


def _write_atomically(path: Path, pieces: Iterable[str]) -> None:
    """Write the complete page, or nothing."""
    mode = path.stat().st_mode if path.exists() else 0o666 & ~_umask()
    with NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
        scratch = Path(file.name)
        try:
            file.writelines(pieces)
            scratch.chmod(mode)
            scratch.replace(path)
        finally:
            scratch.unlink(missing_ok=True)


def _umask() -> int:
    """It can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
