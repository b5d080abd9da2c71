"""Commands about branches."""

from __future__ import annotations

from typing import Any

import click

from tract.cli.commits import Offers, summary
from tract.cli.inputs import json_option
from tract.cli.screen import CYAN, DIM, SHORT, Column, dump_list, dump_or_put, table
from tract.cli.target import Target, resolve, resolve_optional
from tract.tract import Tract


@click.command("branch")
@click.argument("name", required=False)
@click.option("--at", metavar="COMMIT|BRANCH", help="Start at this commit instead of HEAD.")
@click.option("-d", "--delete", metavar="NAME", help="Delete a branch; gc removes its commits.")
@json_option
@click.pass_obj
def branch_command(
    target: Target, name: str | None, at: str | None, delete: str | None, as_json: bool
) -> None:
    """List the branches, or create one without checking it out."""
    if (delete is not None and (name or at)) or (at and name is None):
        raise click.UsageError("pass NAME with an optional --at, or --delete, or nothing")
    if delete is not None:
        _delete(target, delete, as_json)
    elif name is not None:
        _create(target, name, at, as_json)
    else:
        with target.open() as tract:
            _list(tract, as_json)


def _list(tract: Tract, as_json: bool) -> None:
    branches = [_as_json(tract, name) for name in tract.branches()]
    if as_json:
        dump_list(branches)
        return
    rows = [_cells(tract, item["name"], item["head"], item["current"]) for item in branches]
    if tract.current_branch is None:
        rows.insert(0, _cells(tract, "(detached HEAD)", tract.head, True))
    table((Column(CYAN), Column(CYAN), Column(DIM), Column()), rows)


def _as_json(tract: Tract, name: str) -> dict[str, Any]:
    head = tract.branches()[name]
    return {"name": name, "head": head, "current": name == tract.current_branch}


def _cells(tract: Tract, name: str, head: str | None, current: bool) -> tuple[str, str, str, str]:
    text = summary(tract.get_commit(head), Offers(tract)) if head else ""
    return "*" if current else "", name, head[:SHORT] if head else "empty", text


def _short(head: str | None) -> str:
    return head[:SHORT] if head else "no commit"


def _create(target: Target, name: str, at: str | None, as_json: bool) -> None:
    with target.open_any() as tract:
        tract.branch(name, resolve_optional(tract, at))
        branch = _as_json(tract, name)
    dump_or_put(branch, f"branch {name} starts at {_short(branch['head'])}", as_json)


def _delete(target: Target, name: str, as_json: bool) -> None:
    with target.open() as tract:
        head = tract.branches().get(name)
        tract.delete_branch(name)
    text = f"deleted branch {name}, which was at {_short(head)}"
    dump_or_put({"deleted": name, "head": head}, text, as_json)


@click.command("checkout")
@click.argument("name", metavar="BRANCH|COMMIT")
@json_option
@click.pass_obj
def checkout_command(target: Target, name: str, as_json: bool) -> None:
    """Switch to a branch, or to an old commit (detached HEAD)."""
    with target.open() as tract:
        tract.checkout(resolve(tract, name))
        branch, head = tract.current_branch, tract.head
    text = f"on branch {branch}, at {_short(head)}"
    if branch is None:
        text = f"HEAD is detached at {_short(head)}; `tract branch NAME` creates a branch here"
    dump_or_put({"branch": branch, "head": head, "detached": branch is None}, text, as_json)
