"""The command that opens the page of a server in a browser."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, NamedTuple

import click

from tract.cli.files import STDIN, is_folder, is_transcript
from tract.cli.inputs import json_option
from tract.cli.screen import dump, dump_or_put, say
from tract.cli.target import Target, is_server, resolve, without_password
from tract.errors import InputError, NotFoundError
from tract.urls import page_link
from tract.view.sanitize import one_line

if TYPE_CHECKING:
    from tract.tract import Tract

TEXT_BROWSERS = {"www-browser", "links", "elinks", "lynx", "w3m"}
"""They run no scripts, so they cannot show the page."""
BROWSE = "import sys, webbrowser; webbrowser.open(sys.argv[1])"


class OpenOptions(NamedTuple):
    name: str | None
    at: str | None
    is_link_only: bool
    as_json: bool


class Address(NamedTuple):
    """Where a server is."""

    url: str
    token: str | None
    is_started: bool = False


class Destination(NamedTuple):
    """What its page shows; without a dialog, the list of them."""

    dialog: str | None = None
    at: str | None = None


@click.command("open")
@click.argument("name", required=False, metavar="[DIALOG|FILE|FOLDER]")
@click.option("--at", metavar="COMMIT|BRANCH", help="The dialog at this commit.")
@click.option("--no-browser", "is_link_only", is_flag=True, help="Only print the link.")
@click.option("--stop", "is_stop", is_flag=True, help="Stop the server of the database.")
@json_option
@click.pass_obj
def open_command(target: Target, /, is_stop: bool, **values: object) -> None:
    """Open the database, a DIALOG or a transcript in a browser.

    Starts a server for the database unless one runs on this machine. It keeps running in the
    background; `tract open --stop` stops it. Prints the link, whose token allows everything.

    The transcript FILE of any agent (- is stdin), or a FOLDER of them, is shown from memory until
    interrupted; nothing is imported. With --json, prints one line with the url, the token, the
    link, and whether a server was started.
    """
    options = OpenOptions(**values)  # type: ignore[arg-type]
    name = options.name
    if is_stop:
        _stop(target, options)
    elif name is not None and (is_transcript(name) or is_folder(name)):
        _open_file(name, options)
    else:
        _open_database(target.with_dialog(name), options)


def _stop(target: Target, options: OpenOptions) -> None:
    from tract.cli import servers

    if options.name is not None or options.at is not None:
        raise click.UsageError("--stop applies to the server of the database, not to a DIALOG")
    database = target.database()
    if is_server(database):
        raise InputError("a server is stopped where it runs")
    note = servers.stop(database)
    say(f"stopped the server of {without_password(database)}")
    if options.as_json:
        dump({"url": note.url, "pid": note.pid})


# A database


def _open_database(target: Target, options: OpenOptions) -> None:
    has_dialog = target.dialog is not None or options.at is not None
    with _open_tract(target, options, has_dialog=has_dialog) as tract:
        remote = _remote(tract) if is_server(target.database()) else None
        goal = Destination()
        if has_dialog:
            goal = Destination(tract.dialog, _commit(tract, options.at))
    _present(remote or _local(target), goal, options)


def _open_tract(target: Target, options: OpenOptions, *, has_dialog: bool) -> Tract:
    """The dialog, or any one of a database that exists."""
    try:
        return target.open() if has_dialog else target.open_any()
    except NotFoundError as error:
        if options.name is None:
            raise
        fact = type(error)(f"no file {options.name!r:.200}; and {error}")
        for line in getattr(error, "__notes__", ()):
            fact.add_note(line)
        raise fact from None


def _commit(tract: Tract, at: str | None) -> str | None:
    """A commit by its full hash; a branch by its name, which follows it."""
    if at is None:
        return None
    digest = tract.get_commit(resolve(tract, at)).commit_hash
    return digest if at == "HEAD" or digest.startswith(at.lower()) else at


def _remote(tract: Tract) -> Address:
    from tract.remote.tract import RemoteTract

    assert isinstance(tract, RemoteTract)
    server = tract.session.server
    return Address(server.url, server.token)


def _local(target: Target) -> Address:
    """The server on this machine, which is started if there is none."""
    from importlib.metadata import version

    from tract.cli import servers

    database = target.database()
    server = servers.find_or_start(database, target.objects)
    own = version("tract-context")
    if server.is_new:
        say(f"started a server for {without_password(database)}; stop it with {_how(target)}")
    elif server.version != own:
        fact = f"the server has version {server.version} of tract, and this is {own}"
        say(one_line(f"{fact}; end the old one with {_how(target)}"))
    return Address(server.note.url, server.note.token, server.is_new)


def _how(target: Target) -> str:
    db = target.db if "db" in target.options else None
    option = f" --db {shlex.quote(without_password(db))}" if db else ""
    return f"`tract{option} open --stop`"


# Files


def _open_file(name: str, options: OpenOptions) -> None:
    """Serve a database that lasts as long as this command."""
    from tract.cli.prices import price_list
    from tract.cli.signals import ended_in_order
    from tract.cli.transcripts import in_scratch
    from tract.web.server import Settings, prepare  # fails before a long file is read

    if options.at is not None:
        raise click.UsageError("--at applies to dialogs, not to files")
    with ended_in_order(), in_scratch(name) as scratch:
        prices = price_list(None)
        server = prepare(Settings(scratch.database, port=0, durability="relaxed", prices=prices))
        shown = "stdin" if name == STDIN else name
        say(one_line(f"showing {shown} from memory; nothing is imported; stop with Ctrl-C"))
        address = Address(server.url, server.token, is_started=True)
        _present(address, Destination(scratch.dialog), options)
        server.run()


# The browser


def _present(address: Address, goal: Destination, options: OpenOptions) -> None:
    link = page_link(address.url, dialog=goal.dialog, at=goal.at, token=address.token)
    facts = {"url": address.url, "token": address.token, "link": link}
    dump_or_put(facts | {"started": address.is_started}, link, options.as_json)
    sys.stdout.flush()
    if not options.is_link_only and not _browse(link):
        say("there is no browser here; open the link in one")


def _browse(link: str) -> bool:
    """Open a link, if there is a browser. A process of its own does it: some browsers are waited
    for, some write to the terminal, and none may keep a reader of our output waiting."""
    import subprocess
    import webbrowser

    try:
        if getattr(webbrowser.get(), "name", "") in TEXT_BROWSERS:
            return False
    except webbrowser.Error:
        return False
    subprocess.Popen(
        [sys.executable, "-P", "-c", BROWSE, link],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    return True
