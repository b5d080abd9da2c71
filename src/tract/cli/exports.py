"""Commands that export a dialog, and that validate requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import click

from tract.cli.commits import plain
from tract.cli.files import parse_json, read_file
from tract.cli.inputs import at_option, dialog_argument, json_option
from tract.cli.screen import dump, put, say, write
from tract.cli.target import Target, resolve_optional
from tract.context import CompiledContext
from tract.errors import InputError
from tract.importers.partial_json import check_weight
from tract.model import Json
from tract.providers import PROVIDERS
from tract.providers.detect import detect
from tract.providers.validate import Violation, validate
from tract.view.export import FORMATS, JSONL, MARKDOWN, document, markdown
from tract.view.sanitize import counted, json_text, one_line

MOST_NOTES = 10  # how many are printed


# Export


@click.command("export")
@dialog_argument
@click.option(
    "--format",
    "kind",
    type=click.Choice(FORMATS),
    required=True,
    help="A provider's request; one chat message per line; or a transcript for people.",
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write to FILE instead of stdout.",
)
@at_option
@click.option(
    "--stored",
    is_flag=True,
    help="Everything that is stored: results in full, nothing skipped or summarized.",
)
@json_option
@click.pass_obj
def export_command(
    target: Target,
    dialog: str | None,
    kind: str,
    output: str | None,
    at: str | None,
    stored: bool,
    as_json: bool,
) -> None:
    """Print a dialog as a provider's request, or as a transcript.

    Prints what a model would be sent: the full request with its tools, as one JSON document.
    Repairs, and parts that the provider does not support, are reported on stderr. With --json,
    prints one object that also has these notes.
    """
    with target.with_dialog(dialog).open() as tract:
        commit = resolve_optional(tract, at)
        context = tract.stored(commit) if stored else tract.compile(commit)
        name = tract.dialog
    notes = [] if kind == MARKDOWN else _notes(context, kind)
    text = _document(context, name, kind, notes) if as_json else document(context, name, kind)
    if output is None:
        write(text)
    else:
        Path(output).write_text(text, "utf-8", newline="\n")
    where = f" written to {output}" if output is not None else ""
    say(one_line(f"{counted(context.commit_count, 'message')}{where}"))
    for note in notes[:MOST_NOTES]:
        say(one_line(f"note: {note}"))
    if len(notes) > MOST_NOTES:
        say(f"{counted(len(notes) - MOST_NOTES, 'more note')} (--json lists them)")


def _document(context: CompiledContext, name: str, kind: str, notes: list[str]) -> str:
    fields: dict[str, Any] = {"dialog": name, "format": kind}
    if kind == MARKDOWN:
        fields["text"] = markdown(name, context.messages)
    elif kind == JSONL:
        fields["messages"] = context.to_openai()
    else:
        fields["params"] = context.to_params(kind)
    return json_text({**fields, "notes": notes}) + "\n"


def _notes(context: CompiledContext, kind: str) -> list[str]:
    """What had to be changed for this format."""
    if kind == JSONL:
        return list(dict.fromkeys(context.notes_for("openai", tools=False)))
    return list(dict.fromkeys(context.notes_for(kind)))


# Validate


MAX_LINES = 500_000


class _Verdict(NamedTuple):
    """One request or history of a file, and what is wrong with it."""

    place: str
    provider: str | None
    violations: list[Violation]


@click.command("validate")
@click.argument("file")
@click.option(
    "--provider",
    type=click.Choice(tuple(PROVIDERS)),
    help="Whose rules to apply.  [default: detected automatically]",
)
@click.option(
    "--request",
    "is_request",
    is_flag=True,
    help="Also check rules that apply only when sending, e.g. that the last message is the user's.",
)
@json_option
@click.pass_context
def validate_command(
    ctx: click.Context, file: str, provider: str | None, is_request: bool, as_json: bool
) -> None:
    """Report what a provider would reject.

    FILE (- is stdin) is a request or a list of messages as JSON, or JSON lines: messages, or one
    request per line. Prints one line per violation: `path: rule: message`. Exits with 1 if there
    is any. No provider is contacted.
    """
    verdicts = [
        _Verdict(place, provider or detect(value), validate(value, provider, is_request=is_request))
        for place, value in _documents(read_file(file))
    ]
    violations = sum(len(verdict.violations) for verdict in verdicts)
    if as_json:
        dump({"ok": not violations, "judged": [plain(one._asdict()) for one in verdicts]})
    else:
        for place, violation in ((v.place, one) for v in verdicts for one in v.violations):
            where = " ".join(filter(None, (place, violation.path))) or "all"
            put(one_line(f"{where}: {violation.rule}: {violation.message}"))
    providers = ", ".join(sorted({verdict.provider or "unknown" for verdict in verdicts}))
    result = counted(violations, "violation") if violations else "ok"
    say(f"{result} (rules: {providers})" if verdicts else "the file is empty")
    if violations:
        ctx.exit(1)


def _documents(data: bytes) -> list[tuple[str, Json]]:
    """The requests and histories in a file, each with its position."""
    if data.count(b"\n") > MAX_LINES:
        raise InputError(f"more than {MAX_LINES} lines")
    check_weight(data)
    lines = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    if len(lines) < 2 or not _is_json(lines[0][1]):
        value = parse_json(data)
        return [("", value if _is_document(value) else [value])]
    values = [(f"line {number}", _line(number, line)) for number, line in lines]
    if any(_is_document(value) for _, value in values):
        return values
    return [("", [value for _, value in values])]


def _is_json(line: bytes) -> bool:
    try:
        parse_json(line)
    except InputError:
        return False
    return True


def _line(number: int, line: bytes) -> Json:
    try:
        return parse_json(line)
    except InputError as error:
        raise InputError(f"line {number}: {error}") from None


def _is_document(value: Json) -> bool:
    """Whether it is a request or a history, not a single message."""
    if not isinstance(value, dict):
        return True
    is_message = bool({"role", "type", "parts"} & value.keys())
    return not is_message or "messages" in value or "contents" in value
