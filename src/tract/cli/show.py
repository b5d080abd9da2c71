"""The command that shows: a commit, a dialog, or a transcript that somebody else's agent wrote."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple

import click

from tract.cli.commits import plain
from tract.cli.imports import report_faults
from tract.cli.screen import dump_list, has_colour, json_option, refuses_colour, say, write
from tract.cli.show_commit import dump_whole, print_whole
from tract.cli.target import Target, named
from tract.cli.transcripts import file_of, is_transcript
from tract.core.transcript import Thread
from tract.errors import CommitNotFoundError, DialogNotFoundError, InputError, NotFoundError
from tract.importers.transcripts import read_transcript
from tract.model import ROLES
from tract.tokens import token_counter
from tract.tract import Tract
from tract.view import ansi
from tract.view.blocks import Block, TitleBlock, format_messages, format_request
from tract.view.conversation import Conversation
from tract.view.filter import Choice, chosen
from tract.view.lines import FULL, HIDDEN, TOOLS, Look, can_be_hidden, written

PIECE = 500  # so many lines are written at once


class Scene(NamedTuple):
    """A branch of a dialog, or what it does not share with those before."""

    dialog: str
    branch: str
    blocks: Iterable[Block]


class Asked(NamedTuple):
    """What a person wants to see."""

    name: str | None
    at: str | None
    sent: bool | None
    choice: Choice
    tools: str | None
    html: str | None
    color: str
    pager: bool
    as_json: bool

    @property
    def is_conversation(self) -> bool:
        """Whether something was said that one commit by itself has not."""
        wants = (self.at, self.tools, self.html, self.pager)
        return self.sent is not None or self.choice != Choice() or any(wants)


@click.command("show")
@click.argument("name", required=False, metavar="[COMMIT|DIALOG|FILE]")
@click.option(
    "--tools",
    type=click.Choice(TOOLS),
    help="Calls and results whole, one line for each, or none but errors.  [default: full]",
)
@click.option(
    "--role",
    "roles",
    type=click.Choice(ROLES),
    multiple=True,
    help="Only what this role says; may be given more than once.",
)
@click.option("--grep", metavar="REGEX", help="Only what has this in it.")
@click.option("--errors", is_flag=True, help="Only results that failed, with their calls.")
@click.option(
    "--sent/--stored",
    default=None,
    help="What the model is sent, or all that is kept, whole.  [default: stored]",
)
@click.option("--at", metavar="COMMIT|BRANCH", help="The dialog as it was there.")
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
    help="Colour pairs of calls and results. Where colour is not wanted, short names like a1 "
    "tell them.",
)
@click.option("--pager", is_flag=True, help="Through $PAGER, such as less, on a terminal.")
@json_option
@click.pass_obj
def show_command(
    target: Target,
    name: str | None,
    tools: str | None,
    roles: tuple[str, ...],
    grep: str | None,
    errors: bool,
    sent: bool | None,
    at: str | None,
    html: str | None,
    color: str,
    pager: bool,
    as_json: bool,
) -> None:
    """Show a commit with its whole content, or a conversation.

    A COMMIT is shown alone, HEAD by default. A DIALOG, or a transcript FILE of any agent (- is
    stdin), is shown as a conversation: each call with its result in one colour. The file is only
    read. Without a name, but with an option beside --color and --json, this dialog is shown.
    """
    choice = Choice(frozenset(roles), _pattern(grep), errors)
    asked = Asked(name, at, sent, choice, tools, html, color, pager, as_json)
    if html is not None and as_json:
        raise click.UsageError("--html or --json, not both")
    if name is not None and is_transcript(name):
        _check_file(name, asked)
        with file_of(name) as path:
            _show(asked, _of_file(path, asked))
        return
    tract, is_commit = _opened(target, name)
    with tract:
        if is_commit and not asked.is_conversation:
            info = tract.get_commit(named(tract, name or "HEAD"))
            (dump_whole if as_json else print_whole)(tract, info)
        elif is_commit and name is not None:
            _show(asked, [_of_commit(tract, name, asked)])
        else:
            _show(asked, [_of_dialog(tract, asked)])


def _pattern(grep: str | None) -> re.Pattern[str] | None:
    try:
        return None if grep is None else re.compile(grep)
    except re.error as error:
        raise click.UsageError(f"--grep is a regular expression: {error}") from None


# What is meant


def _check_file(name: str, asked: Asked) -> None:
    """Refuse what a file does not have, and a page in the place of the transcript."""
    if asked.at is not None:
        raise click.UsageError("--at is for dialogs, not for files")
    if asked.html is not None and Path(asked.html).resolve() == Path(name).resolve():
        raise click.UsageError(f"--html {asked.html} is the transcript itself")


def _opened(target: Target, name: str | None) -> tuple[Tract, bool]:
    """The dialog that is meant, and whether a commit of it is."""
    try:
        found = target.found()
    except NotFoundError as error:
        if name is None:
            raise
        raise NotFoundError(f"no file {name!r:.200}; and {error}") from None
    try:
        tract = Tract.open(found, dialog=target.dialog, create=False)
    except DialogNotFoundError:
        if name is None:
            raise
        return Tract.open(found, dialog=name, create=False), False
    try:
        is_commit = name is None or _names_commit(tract, name)
    except BaseException:
        tract.close()
        raise
    if name is None or is_commit:
        return tract, True
    tract.close()
    return Tract.open(found, dialog=name, create=False), False


def _names_commit(tract: Tract, name: str) -> bool:
    """Whether it is a commit or a branch; an error where it is no dialog either."""
    try:
        tract.get_commit(named(tract, name))
    except CommitNotFoundError as error:
        if any(info.dialog == name for info in tract.dialogs()):
            return False
        raise CommitNotFoundError(f"{error}, and no dialog or file has that name") from None
    return True


# What there is to see


def _of_dialog(tract: Tract, asked: Asked) -> Scene:
    conversation = Conversation(tract.read(asked.at))
    blocks = _blocks(conversation, range(len(conversation.rows)), bool(asked.sent))
    return Scene(tract.dialog, tract.current_branch or "", blocks)


def _of_commit(tract: Tract, name: str, asked: Asked) -> Scene:
    conversation = Conversation(tract.read(asked.at))
    info = tract.get_commit(named(tract, name))
    row = conversation.row_at(info.commit_hash)
    if row is None:  # an older version, or on another branch
        blocks: Iterable[Block] = format_messages([tract.get_message(info)])
    else:
        blocks = _blocks(conversation, [row], bool(asked.sent))
    return Scene(tract.dialog, tract.current_branch or "", blocks)


def _of_file(path: Path, asked: Asked) -> list[Scene]:
    """The conversations of a file of a known format, else a malformed request."""
    # Only JSON has the tokens of full messages, and counting them takes half of the time.
    count = token_counter().count if asked.as_json else None
    try:
        transcript = read_transcript(path, count)
    except InputError:
        scenes = _of_request(path)
        if not scenes:
            raise
        return scenes
    report_faults(asked.name or "", transcript.problems, transcript.repairs())
    threads = transcript.threads.values()
    scenes = [scene for thread in threads for scene in _of_thread(thread, bool(asked.sent))]
    scenes = scenes or _of_request(path)
    if not scenes:
        raise InputError(f"{path.name}: it contains no message that can be shown")
    return scenes


def _of_request(path: Path) -> list[Scene]:
    """A request that no provider would accept, if the file is one."""
    try:
        request = json.loads(path.read_bytes())
        return [Scene(path.stem, "", format_request(request))]
    except (ValueError, RecursionError, InputError):
        return []


def _of_thread(thread: Thread, sent: bool) -> Iterator[Scene]:
    """All branches of a conversation. What branches share is shown once."""
    seen: set[int] = set()
    for branch in sorted(thread.branches, key=lambda name: (name != thread.branch, name)):
        conversation = Conversation(thread.read(branch))
        rows = list(_unseen(conversation, seen))
        seen.update(place.origin.id for place in conversation.history.places)
        if rows:
            yield Scene(thread.name, branch, _blocks(conversation, rows, sent))


def _unseen(conversation: Conversation, seen: set[int]) -> Iterator[int]:
    """The rows from the first message on that no other branch had."""
    has_begun = not seen
    for number, row in enumerate(conversation.rows):
        if not isinstance(row, Block):
            is_new = row.origin.id not in seen
            has_begun = has_begun or is_new
            if not is_new:
                continue
        if has_begun:
            yield number


def _blocks(conversation: Conversation, rows: Iterable[int], sent: bool) -> Iterator[Block]:
    return (block for row in rows for block in conversation.blocks(row, sent=sent))


# How it is shown


def _show(asked: Asked, scenes: list[Scene]) -> None:
    scenes = [s._replace(blocks=chosen(s.blocks, asked.choice)) for s in scenes]
    if asked.as_json:
        dump_list(map(_plain, scenes))
    elif asked.html is not None:
        _write_page(asked.html, scenes, asked)
    else:
        _write_lines(scenes, asked)


def _plain(scene: Scene) -> dict[str, Any]:
    return {**scene._asdict(), "blocks": [plain(block) for block in scene.blocks]}


def _write_lines(scenes: list[Scene], asked: Asked) -> None:
    is_coloured = asked.color == "always" or (asked.color == "auto" and has_colour())
    has_tags = not is_coloured and (asked.color == "never" or refuses_colour())
    paint = ansi.painted if is_coloured else ansi.plain
    look = Look(asked.tools or FULL, has_tags=has_tags)
    pieces = _pieces(map(paint, written(_joined(scenes), look)))
    first = next(pieces, None)
    if first is None:
        say("nothing to show")
    elif asked.pager:
        with click.get_pager_file(color=is_coloured) as file:
            file.writelines(chain([first], pieces))
    else:
        for piece in chain([first], pieces):
            write(piece)


def _pieces(lines: Iterator[str]) -> Iterator[str]:
    """Many lines at once: to write each by itself would take longer than to make it."""
    while piece := list(islice(lines, PIECE)):
        yield "\n".join(piece) + "\n"


def _joined(scenes: list[Scene]) -> Iterator[Block]:
    """All scenes; where there are several, each under its name."""
    for scene in scenes:
        if len(scenes) > 1:
            yield TitleBlock(text=f"{scene.dialog} · {scene.branch}")
        yield from scene.blocks


def _write_page(path: str, scenes: list[Scene], asked: Asked) -> None:
    from tract.view.html import page

    blocks: Iterable[Block] = _joined(scenes)
    if asked.tools == HIDDEN:  # what is not wanted is not in the page at all
        blocks = (block for block in blocks if not can_be_hidden(block))
    title = scenes[0].dialog if scenes else "nothing"
    about = "What the model is sent." if asked.sent else ""
    pieces = page(title, blocks, about=about, tools=asked.tools or FULL)
    target = Path(path).resolve()
    if path == "-":
        for piece in pieces:
            write(piece)
    elif target.exists() and not target.is_file():  # a pipe or a device
        with target.open("w", encoding="utf-8") as file:
            file.writelines(pieces)
    else:
        try:
            _write_whole(target, pieces)
        except OSError as error:  # of a file whose name nobody knows
            raise OSError(error.errno, error.strerror, path) from None
        say(f"wrote {path}")


def _write_whole(path: Path, pieces: Iterable[str]) -> None:
    """A page is there whole, or not at all."""
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
    """Which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
