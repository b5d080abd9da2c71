"""The command that serves a database over HTTP."""

from __future__ import annotations

import logging
import sys
from typing import Any

import click

from tract.cli.inputs import json_option
from tract.cli.notes import noted
from tract.cli.prices import prices_option
from tract.cli.screen import dump, put, say
from tract.cli.signals import ended_in_order
from tract.cli.target import Target, is_server, without_password
from tract.errors import InputError


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8000, show_default=True, help="0 chooses a free port.")
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="HOST",
    help="Another name of this server, as in a Host header. May be repeated.",
)
@click.option("--read-db", metavar="URL", help="A replica of the database, to read from.")
@click.option("--lanes", type=click.IntRange(min=1), metavar="N", help="Database connections.")
@click.option(
    "--max-body",
    type=click.IntRange(min=1),
    default=256,
    show_default=True,
    metavar="MB",
    help="The largest request.",
)
@click.option(
    "--rate",
    type=click.FloatRange(min=0),
    default=1000,
    show_default=True,
    metavar="N",
    help="Requests a second of one token; 0 for any number.",
)
@prices_option
@click.option("--relaxed", is_flag=True, help="Do not wait for the disk; see Tract.open.")
@click.option("--quiet", is_flag=True, help="Do not log requests.")
@json_option
@click.pass_obj
def serve_command(target: Target, /, as_json: bool, quiet: bool, **options: Any) -> None:
    """Serve the database over HTTP.

    On this machine alone, prints a link with a token for this start. For any other address, make
    tokens with `tract token add` first. With --json, prints one line with the url and the token.
    """
    from tract.web.server import Settings, prepare

    if not quiet:
        _log_requests()
    database = target.database()
    if is_server(database):
        raise InputError(f"a server cannot serve another one: {without_password(database)}")
    server = prepare(settings_of(Settings, target, options))
    with ended_in_order(), noted(database, server.url, server.token):
        if as_json:
            dump({"url": server.url, "token": server.token, "db": without_password(database)})
        else:
            put(server.link)
            say(f"serving {without_password(database)}; stop with Ctrl-C")
        sys.stdout.flush()
        server.run()


def _log_requests() -> None:
    """Write the server's own lines to stderr; other packages log nothing."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger("tract.web")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)


def settings_of(kind: Any, target: Target, options: dict[str, Any]) -> Any:
    from tract.cli.prices import price_list
    from tract.web.intake import Limits

    limits = Limits(body_bytes=options["max_body"] * 1_000_000, requests_per_second=options["rate"])
    return kind(
        target.database(),
        host=options["host"],
        port=options["port"],
        names=options["names"],
        durability="relaxed" if options["relaxed"] else "full",
        objects=target.objects,
        replica=options["read_db"],
        lanes=options["lanes"],
        limits=limits,
        prices=price_list(options["prices"]),
    )
