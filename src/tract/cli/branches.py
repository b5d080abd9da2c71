"""Commands about branches."""

from __future__ import annotations

from typing import Any

import click

from tract.cli.commits import Offers, summary
from tract.cli.screen import CYAN, DIM, SHORT, Column, dump, dump_list, json_option, put, table
from tract.cli.target import Target, named
from tract.tract import Tract


@click.command("branch")
@click.argument("name", required=False)
@click.option("--at", metavar="COMMIT|BRANCH", help="Start it there, not at HEAD.")
@click.option("-d", "--delete", metavar="NAME", help="Delete a branch; gc takes its commits later.")
@json_option
@click.pass_obj
def branch_command(
    target: Target, name: str | None, at: str | None, delete: str | None, as_json: bool
) -> None:
    """List the branches, or start a new one without going there."""
    if (delete is not None and (name or at)) or (at and name is None):
        raise click.UsageError("give a NAME, perhaps with --at, or --delete, or nothing")
    if delete is not None:
        _delete(target, delete, as_json)
    elif name is not None:
        _create(target, name, at, as_json)
    else:
        with target.open() as tract:
            _list(tract, as_json)


def _list(tract: Tract, as_json: bool) -> None:
    branches = [_described(tract, name) for name in tract.branches()]
    if as_json:
        dump_list(branches)
        return
    rows = [_row(tract, item["name"], item["head"], item["current"]) for item in branches]
    if tract.current_branch is None:
        rows.insert(0, _row(tract, "(an old commit)", tract.head, True))
    table((Column(CYAN), Column(CYAN), Column(DIM), Column()), rows)


def _described(tract: Tract, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "head": tract.branches()[name],
        "current": name == tract.current_branch,
    }


def _row(tract: Tract, name: str, head: str | None, current: bool) -> tuple[str, str, str, str]:
    said = summary(tract.get_commit(head), Offers(tract)) if head else ""
    return "*" if current else "", name, head[:SHORT] if head else "empty", said


def _create(target: Target, name: str, at: str | None, as_json: bool) -> None:
    with target.open_any() as tract:
        tract.branch(name, None if at is None else named(tract, at))
        if as_json:
            dump(_described(tract, name))
        else:
            head = tract.branches()[name]
            put(f"branch {name} starts at {head[:SHORT] if head else 'no commit'}")


def _delete(target: Target, name: str, as_json: bool) -> None:
    with target.open() as tract:
        head = tract.branches().get(name)
        tract.delete_branch(name)
        if as_json:
            dump({"deleted": name, "head": head})
        else:
            put(f"deleted branch {name}, which was at {head[:SHORT] if head else 'no commit'}")


@click.command("checkout")
@click.argument("name", metavar="BRANCH|COMMIT")
@json_option
@click.pass_obj
def checkout_command(target: Target, name: str, as_json: bool) -> None:
    """Go to a branch, or to an old commit to look around."""
    with target.open() as tract:
        tract.checkout(named(tract, name))
        branch, head = tract.current_branch, tract.head
        if as_json:
            dump({"branch": branch, "head": head, "detached": branch is None})
        elif branch is None:
            put(f"at {(head or '')[:SHORT]}, on no branch: `tract branch NAME` starts one here")
        else:
            put(f"on branch {branch}, at {head[:SHORT] if head else 'no commit'}")
