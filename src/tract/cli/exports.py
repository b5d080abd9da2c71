"""Commands that hand a dialog on, and that judge what is to be sent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import click

from tract.cli.commits import plain
from tract.cli.inputs import parse_json
from tract.cli.screen import (
    dump,
    json_option,
    json_text,
    put,
    say,
    write,
)
from tract.cli.target import Target, named
from tract.context import CompiledContext
from tract.model import Json, Message, Raw, Text, ToolCall
from tract.providers import PROVIDERS, parsed
from tract.providers.detect import detect
from tract.providers.validate import Violation, validate
from tract.view.sanitize import counted, one_line, visible

JSONL, MARKDOWN = "jsonl", "markdown"
FORMATS = (*PROVIDERS, JSONL, MARKDOWN)
NOTES = 10  # how many are told
MAX_TEXT = 1000  # characters of a text in a block that nobody reads, such as an image


# Export


@click.command("export")
@click.argument("dialog", required=False)
@click.option(
    "--format",
    "kind",
    type=click.Choice(FORMATS),
    required=True,
    help="Whose request; or one chat message per line; or a transcript to read.",
)
@click.option(
    "--output", type=click.Path(dir_okay=False), metavar="FILE", help="Write it there, not here."
)
@click.option("--at", metavar="COMMIT|BRANCH", help="As it was there, not as it is now.")
@click.option(
    "--stored",
    is_flag=True,
    help="All that is stored: results whole, nothing skipped or summed up.",
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
    """Print a dialog for a provider, or to be read.

    It is what a model would be sent: the whole request with its tools, as one JSON document. What
    had to be repaired for that, or cannot be said to this provider, is told on stderr. With --json
    it comes in one object with the notes.
    """
    target = target._replace(dialog=dialog or target.dialog)
    with target.open() as tract:
        where = None if at is None else named(tract, at)
        context = tract.stored(where) if stored else tract.compile(where)
        name = tract.dialog
    notes = [] if kind == MARKDOWN else _notes(context, kind)
    text = _document(context, name, kind, notes) if as_json else _text(context, name, kind)
    if output is None:
        write(text)
    else:
        Path(output).write_text(text, "utf-8", newline="\n")
    _say_notes(context, notes, output)


def _text(context: CompiledContext, name: str, kind: str) -> str:
    if kind == MARKDOWN:
        return markdown(name, context.messages)
    if kind == JSONL:
        return "".join(json_text(message) + "\n" for message in context.to_openai())
    return json_text(context.to_params(kind), indent=2) + "\n"


def _document(context: CompiledContext, name: str, kind: str, notes: list[str]) -> str:
    said: Any
    if kind == MARKDOWN:
        said = {"text": markdown(name, context.messages)}
    elif kind == JSONL:
        said = {"messages": context.to_openai()}
    else:
        said = {"params": context.to_params(kind)}
    about = {"dialog": name, "format": kind}
    return json_text({**about, **said, "notes": notes}) + "\n"


def _notes(context: CompiledContext, kind: str) -> list[str]:
    """What had to be done for this format."""
    if kind == JSONL:
        return list(dict.fromkeys(context.notes_for("openai", tools=False)))
    return list(dict.fromkeys(context.notes_for(kind)))


def _say_notes(context: CompiledContext, notes: list[str], output: str | None) -> None:
    where = f" written to {output}" if output is not None else ""
    say(one_line(f"{counted(context.commit_count, 'message')}{where}"))
    for note in notes[:NOTES]:
        say(one_line(f"note: {note}"))
    if len(notes) > NOTES:
        say(f"{counted(len(notes) - NOTES, 'more note')} (--json has them)")


# Markdown


def markdown(name: str, messages: list[Message]) -> str:
    """A transcript to read. What was said is quoted and what tools were given or returned is
    fenced, so that nothing in it can pass for a part of the transcript itself. Controls are
    spelled out."""
    parts = [f"# {code(name)}"]
    for message in messages:
        parts += _paragraphs(message)
    return "\n\n".join(parts) + "\n"


def _paragraphs(message: Message) -> Iterator[str]:
    if message.role == "tool":
        failed = ", failed" if message.is_error else ""
        yield f"## result of {code(message.name or 'a tool')} {code(message.tool_call_id)}{failed}"
        yield _fenced(message.content)
        return
    by = f" {code(message.name)}" if message.name else ""
    yield f"## {message.role}{by}"
    for block in message.blocks:
        match block:
            case Text(text):
                if text.strip():
                    yield _quoted(text)
            case ToolCall(id, called, arguments):
                yield f"calls {code(called)} {code(id)}"
                yield _fenced(parsed(arguments) if isinstance(arguments, str) else arguments)
            case Raw(_, data):
                yield _fenced(_shortened(data))


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" if line else ">" for line in visible(text).split("\n"))


def _fenced(value: Json) -> str:
    """A block that ends where we end it: with more backticks than there are anywhere in it."""
    is_text = isinstance(value, str)
    text = visible(value if is_text else json.dumps(value, ensure_ascii=False, indent=2))
    fence = "`" * max(3, _longest_run(text) + 1)
    end = "" if text.endswith("\n") else "\n"
    return f"{fence}{'text' if is_text else 'json'}\n{text}{end}{fence}"


def code(text: str | None) -> str:
    """A name in one line, as it is."""
    shown = one_line(text or "") or " "
    ticks = "`" * (_longest_run(shown) + 1)
    pad = " " if shown[0] == "`" or shown[-1] == "`" else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def _shortened(value: Json) -> Json:
    """A block with the texts cut that are for machines: pictures, signatures."""
    if isinstance(value, str) and len(value) > MAX_TEXT:
        return f"{value[:MAX_TEXT]}… ({len(value)} characters)"
    if isinstance(value, dict):
        return {key: _shortened(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_shortened(inner) for inner in value]
    return value


# Validate


class _Judged(NamedTuple):
    """One request or history of a file, and what is wrong with it."""

    place: str
    provider: str | None
    violations: list[Violation]


@click.command("validate")
@click.argument("file", type=click.File("rb"))
@click.option(
    "--provider",
    type=click.Choice(tuple(PROVIDERS)),
    help="Whose rules.  [default: whose words it is in]",
)
@click.option(
    "--request",
    "is_request",
    is_flag=True,
    help="It is to be sent now: what holds only for a request holds too, such as that it may have "
    "to end with the user.",
)
@json_option
@click.pass_context
def validate_command(
    ctx: click.Context, file: IO[bytes], provider: str | None, is_request: bool, as_json: bool
) -> None:
    """Tell what a provider would refuse.

    FILE is a request or a list of messages as JSON, or JSON lines: messages, or requests each for
    itself; - is what is piped in. Each violation is one line, `path: rule: message`. The exit code
    is 1 if there is one. No provider is asked.
    """
    judged = [
        _Judged(place, provider or detect(given), validate(given, provider, is_request=is_request))
        for place, given in _given(file.read())
    ]
    found = sum(len(one.violations) for one in judged)
    if as_json:
        dump({"ok": not found, "judged": [plain(one._asdict()) for one in judged]})
    else:
        for one in judged:
            _put_violations(one)
    providers = sorted({one.provider or "nobody known" for one in judged})
    words = counted(found, "violation") if found else "ok"
    say(f"{words}, by the rules of {', '.join(providers)}" if judged else "there is nothing in it")
    if found:
        ctx.exit(1)


def _put_violations(judged: _Judged) -> None:
    for violation in judged.violations:
        where = " ".join(filter(None, (judged.place, violation.path))) or "all"
        put(one_line(f"{where}: {violation.rule}: {violation.message}"))


def _given(data: bytes) -> list[tuple[str, Json]]:
    """What is in a file, with its places: one document, or one for each line."""
    lines = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    if len(lines) < 2 or not _is_json(lines[0][1]):
        value = parse_json(data)
        return [("", value if _is_whole(value) else [value])]
    values = [(f"line {number}", _line(number, line)) for number, line in lines]
    if any(_is_whole(value) for _, value in values):
        return values
    return [("", [value for _, value in values])]


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _line(number: int, line: bytes) -> Json:
    try:
        return parse_json(line)
    except click.BadParameter as error:
        raise click.BadParameter(f"line {number}: {error.message}") from None


def _is_whole(value: Json) -> bool:
    """Whether it is a request or a history, and not one of its messages."""
    if not isinstance(value, dict):
        return True
    is_message = bool({"role", "type", "parts"} & value.keys())
    return not is_message or "messages" in value or "contents" in value
