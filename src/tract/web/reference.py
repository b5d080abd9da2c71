"""The reference page of the API, generated from the tables that the server uses.

Regenerate it with `python -m tract.web.reference > docs/api.md`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable

import msgspec

from tract.remote.operations import DIALOG, SECTIONS, Operation
from tract.web.openapi import openapi
from tract.web.problems import STATUS

INTRODUCTION = """\
# API

Every request that a server (`tract serve`) answers. [Server](server.md) explains them by example.
`/openapi.json` has the same with all types and examples, and `/docs` shows it as a page.

- `…` stands for `/api/dialogs/{dialog}`.
- Values in a path are percent-encoded, also a slash (`%2F`).
- Parameters of a GET are in its query; a list is a parameter that is repeated. Those of other
  requests are the JSON object in the body, except for imports. An unknown parameter is rejected.
- A commit is a hash or a prefix of one; in a path or a body also `HEAD`. `id` is the id of a tool
  call.
- **Bold** parameters are required. A list in pages also has `cursor` and `limit`, and returns
  `items` and `next`.

This page is generated: `python -m tract.web.reference > docs/api.md`.
"""
ERRORS = """\
## Errors

The first error that fits decides; one that is not listed has the status of its parent in
[the tree](errors.md).

| status | meaning | errors |
|---|---|---|
"""
HEADING = "| request | scope | does | parameters |\n|---|---|---|---|\n"


def reference() -> str:
    sections = [_section(title, operations) for title, operations in SECTIONS.items()]
    return "\n".join([INTRODUCTION, *sections, _errors()])


def _section(title: str, operations: Iterable[Operation]) -> str:
    return f"## {title}\n\n{HEADING}{''.join(map(_row, operations))}"


def _row(operation: Operation) -> str:
    request = f"`{operation.verb} {operation.path.replace(DIALOG, '…', 1)}`"
    cells = request, operation.scope, _does(operation), _parameters(operation)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _does(operation: Operation) -> str:
    sentence = operation.doc.replace("\n", " ").partition(". ")[0].rstrip(".")
    return f"{sentence}{' (in pages)' if operation.is_paged else ''}"


def _parameters(operation: Operation) -> str:
    fields = msgspec.structs.fields(operation.params)
    hidden = ("cursor", "limit") if operation.is_paged else ()
    return ", ".join(
        f"**`{field.name}`**" if field.required else f"`{field.name}`"
        for field in fields
        if field.name not in hidden
    )


def _errors() -> str:
    kinds: dict[int, list[str]] = {}
    for kind, status in STATUS:
        kinds.setdefault(status, []).append(f"`{kind.__name__}`")
    rows = "".join(
        f"| {status} | {text} | {', '.join(kinds.get(status, ()))} |\n"
        for status, text in sorted(_failures().items())
    )
    return ERRORS + rows


def _failures() -> dict[int, str]:
    """What each status means, as the OpenAPI document says."""
    paths = json.loads(openapi())["paths"].values()
    entries = [entry for path in paths for entry in path.values()]
    answers = [answer for entry in entries for answer in entry["responses"].items()]
    return {int(status): answer["description"] for status, answer in answers if int(status) >= 400}


if __name__ == "__main__":
    sys.stdout.write(reference())
