"""One commit with its full content and everything known about it."""

from __future__ import annotations

from collections.abc import Iterator

from tract.cli.commits import Forms, Offers, kind, mark_text, plain, summaries_of, utc
from tract.cli.screen import DIM, SHORT, YELLOW, Painted, dump, put
from tract.errors import ForgottenError
from tract.model import CommitInfo, CommitOperation, Message, Raw, Text, ToolCall, readable
from tract.tract import Tract
from tract.view.lines import pretty
from tract.view.sanitize import counted, one_line

MOST_SOURCES = 20  # how many commits of a summary are listed


def print_whole(tract: Tract, info: CommitInfo) -> None:
    """The commit and its full content, for people."""
    message, forgotten = _message(tract, info)
    for label, value in _facts(tract, info):
        style = YELLOW if label == "commit" else ""
        put(Painted(f"{label:<9}", DIM), Painted(one_line(value), style))
    if message is not None:
        put("\n" + "\n".join(_paragraphs(message)))
    if forgotten:
        put("\n[forgotten]")


def dump_whole(tract: Tract, info: CommitInfo) -> None:
    """The same as JSON, with the tools that the model had."""
    message, forgotten = _message(tract, info)
    content = tract.get_content(info) if message else None
    calls = plain(message.tool_calls) if message else []
    tools = tract.get_commit_tools(info) if info.toolset_hash else None
    fields = {"content": content, "tool_calls": calls, "forgotten": forgotten, "tools": tools}
    dump(plain(info) | fields)


def _message(tract: Tract, info: CommitInfo) -> tuple[Message | None, bool]:
    """The message, unless the commit is a mark; and whether it was forgotten."""
    try:
        return tract.get_message(info) if info.content_hash else None, False
    except ForgottenError:
        return None, True


def _facts(tract: Tract, info: CommitInfo) -> Iterator[tuple[str, str]]:
    offers = Offers(tract)
    yield "commit", info.commit_hash
    yield "parent", info.parent_hash or "none"
    yield "kind", kind(info)
    if info.tool_call_id is not None:
        yield "call", info.tool_call_id
    if info.name is not None:
        yield "name", info.name
    if info.role == "tool":
        yield "form", Forms(tract).word(info)
    yield from _links(tract, info)
    for mark in info.marks:
        yield "mark", mark_text(mark)
    if info.toolset_hash is not None:
        yield "tools", f"{info.toolset_hash[:SHORT]}  {offers.number(info)}"
    if change := offers.change(info):
        yield "change", change
    yield "time", utc(info.created_at)
    if info.content_hash:
        yield "size", f"{counted(info.token_count, 'token')}, {counted(info.byte_size, 'byte')}"
        yield "content", info.content_hash
    if info.message is not None:
        yield "message", info.message
    author = {"made_by": _made_by(info)}
    printed = {"tool_call_id": info.tool_call_id, "name": info.name, "summary": author}.items()
    metadata = {key: value for key, value in info.metadata.items() if (key, value) not in printed}
    notes = {"metadata": metadata, "config": info.generation_config, "usage": info.usage}
    for label, value in notes.items():
        if value:
            yield label, readable(value)


def _links(tract: Tract, info: CommitInfo) -> Iterator[tuple[str, str]]:
    """What the commit replaces, and what replaces it."""
    label = "edits" if info.operation == CommitOperation.EDIT else "replaces"
    for target in info.replaces[:MOST_SOURCES]:
        yield label, target
    if len(info.replaces) > MOST_SOURCES:
        yield label, f"{len(info.replaces) - MOST_SOURCES} more (--json lists them)"
    if made_by := _made_by(info):
        yield "made by", made_by
    name = info.commit_hash
    summary = summaries_of(tract).get(name) if info.content_hash else None
    if summary:
        yield "hidden", f"replaced by summary {summary}"


def _made_by(info: CommitInfo) -> str | None:
    """Who wrote a summary."""
    about = info.metadata.get("summary")
    return str(about["made_by"]) if isinstance(about, dict) and "made_by" in about else None


def _paragraphs(message: Message) -> Iterator[str]:
    """The full content for people."""
    if not isinstance(message.content, tuple):
        yield pretty(message.content)
        return
    for block in message.content:
        match block:
            case Text(text):
                yield text
            case ToolCall(id, name, arguments):
                yield f"→ {name}({readable(arguments)})  [{id}]"
            case Raw(_, data):
                yield pretty(data)
