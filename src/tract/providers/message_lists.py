"""Shorter tool results in plain message lists: long results are cut, old calls collapsed. Pure.

The messages are dicts as they are sent, Anthropic Messages or OpenAI Chat Completions, detected by
their shape. The input is never changed; messages that stay as they are are shared with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, groupby, takewhile
from types import NoneType
from typing import Any, NamedTuple, TypeAlias

import msgspec

from tract.content.text import cut
from tract.core.wording import BY_NAME, CHARACTERS_PER_TOKEN
from tract.errors import InputError

Wire: TypeAlias = dict[str, Any]
"""A message or a block, as a provider has it."""

MARKER = "\n[truncated]"
TEMPLATE, ERROR = BY_NAME.answered, BY_NAME.failed

_FIELD = re.compile(r"\{(name|id|N|error)\}")


class CompressorConfig(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """What to shorten. A limit that is None does nothing.

    `template` is the line that stands for a collapsed call. `{name}` and `{id}` are those of the
    call; `{N}` is the number of assistant messages since, which changes with every turn and so
    costs the provider's cache; `{error}` is where a failure is reported, else at the end of the
    line.
    """

    max_tool_result_tokens: int | None = None
    collapse_after_turns: int | None = None
    template: str = TEMPLATE

    def __post_init__(self) -> None:
        for name in ("max_tool_result_tokens", "collapse_after_turns"):
            limit = getattr(self, name)
            if limit is not None and (type(limit) is not int or limit < 0):  # nor True
                raise InputError(f"{name} must be None or an integer of at least 0, not {limit!r}")
        # A line of fields alone could come out empty, and providers refuse an empty text.
        template: Any = self.template
        if not isinstance(template, str) or not _FIELD.sub("", template).strip():
            raise InputError(f"template must contain text beside its fields, not {template!r}")


def compress_messages(messages: Sequence[Wire], config: CompressorConfig) -> list[Wire]:
    """The messages with every long result cut, and with the old calls collapsed. Collapsing comes
    first: its results need not be cut."""
    collapsed = collapse_tool_chains(messages, config)
    limit = config.max_tool_result_tokens
    return collapsed if limit is None else [_with_cut_results(m, limit) for m in collapsed]


# --- cutting -------------------------------------------------------------------------------


def compress_tool_result(block: Wire, config: CompressorConfig) -> Wire:
    """The result with its text cut to the limit; a new dict, with all other keys as they were.

    Accepts an Anthropic `tool_result` block or an OpenAI message of the role `tool`. The texts of a
    list share the limit; the other blocks stay, in order.
    """
    limit = config.max_tool_result_tokens
    if not isinstance(block, dict):
        return block
    return dict(block if limit is None else _with_cut_content(block, limit))


def _with_cut_results(message: Wire, limit: int) -> Wire:
    role = _role(message)
    if role == "tool":
        return _with_cut_content(message, limit)
    content = None if role is None or role == "assistant" else message.get("content")
    if not isinstance(content, list):
        return message
    blocks = [_with_cut_content(block, limit) for block in content]
    # Quick, because most are the same objects, and a cut text differs in length.
    return message if blocks == content else {**message, "content": blocks}


def _with_cut_content(block: Wire, limit: int) -> Wire:
    if _kind(block) != "tool_result" and _role(block) != "tool":
        return block
    content = block.get("content")
    room = limit * CHARACTERS_PER_TOKEN
    if sum(map(len, _texts_of(content))) < room + CHARACTERS_PER_TOKEN:
        return block
    shorter: Any = content
    if isinstance(content, list):
        shorter = _cut_blocks(content, room)
    elif isinstance(content, str):
        shorter = _cut_texts([content], room)[0]
    return block if shorter is content else {**block, "content": shorter}


def _texts_of(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [b["text"] for b in content if _is_text(b)] if isinstance(content, list) else []


def _cut_blocks(blocks: list[Any], room: int) -> list[Any]:
    """The blocks with each run of neighbouring texts cut as if it were one text."""
    out: list[Any] = []
    for is_text, group in groupby(blocks, _is_text):
        run = list(group)
        if is_text:
            whole = _texts_of(run)
            # Blocks behind the cut go: providers refuse an empty text.
            kept = zip(run, _cut_texts(whole, room), strict=False)
            run = [b if text is b["text"] else {**b, "text": text} for b, text in kept]
            room = max(room - sum(map(len, whole)), 0)
        out += run
    return out


def _cut_texts(whole: list[str], room: int) -> list[str]:
    """As many of the texts as there is room for, and the marker; all if that is not shorter."""
    kept: list[str] = []
    for text in whole:
        if len(text) > room:
            kept.append(text if text.endswith(MARKER) else cut(text, room) + MARKER)
            break
        kept.append(text)
        room -= len(text)
    return kept if sum(map(len, kept)) < sum(map(len, whole)) else whole


# --- collapsing ----------------------------------------------------------------------------


def collapse_tool_chains(messages: Sequence[Wire], config: CompressorConfig) -> list[Wire]:
    """The messages with a line of text in place of each old call and its result.

    Old are those with more than `collapse_after_turns` assistant messages behind them. Texts beside
    a call or a result stay. Parallel calls collapse together or not at all, and so does a tool loop
    with thinking in it, because no provider accepts a part of one. Calls and results that do not
    answer each other exactly stay as they are.
    """
    messages = list(messages)
    if config.collapse_after_turns is None:
        return messages
    turns = _old_turns(messages, config.collapse_after_turns)
    return _joined(_rewritten(messages, turns, config.template))


# Tuples, because the type of an odd block may be a list, and no set can be asked for that.
_THINKING = ("thinking", "redacted_thinking")
_SPOKEN = ("text", "refusal")
_SHOWN = ("text", "image", "image_url", "document", "search_result")
_REASONING_KEYS = frozenset(
    {"reasoning_content", "reasoning", "reasoning_details", "thinking_blocks"}
)
_OF_CALLS = _REASONING_KEYS | {"tool_calls"}


class _Entry(NamedTuple):
    """What matters of a message here."""

    role: Any = None
    calls: Sequence[tuple[Any, Any]] = ()  # id and name of each
    results: Sequence[Wire] = ()
    has_thinking: bool = False
    is_fixed: bool = False  # something in it has to stay as and where it is

    @property
    def names(self) -> dict[str, str] | None:
        """The names of the calls by id, if each has an id of its own and a name."""
        for call_id, name in self.calls:
            if not (call_id and name and isinstance(call_id, str) and isinstance(name, str)):
                return None
        names = dict(self.calls)
        return names if len(names) == len(self.calls) else None


class _Turn(NamedTuple):
    """A message with calls, and directly behind it one result for each of them."""

    start: int
    stop: int
    names: dict[str, str]  # by the id of the call
    results: Sequence[Wire]
    later: int  # assistant messages behind it


def _entry(message: Any) -> _Entry:
    role = _role(message)
    if role is None or role == "tool":
        return _Entry(role, results=[message] if role else ())
    content, chat = message.get("content"), message.get("tool_calls") or []
    calls = [_chat_call(call) for call in (chat if isinstance(chat, list) else [chat])]
    if message.get("function_call"):  # the old way of calling, without ids
        calls.append((None, None))
    results: list[Wire] = []
    has_thinking = not _REASONING_KEYS.isdisjoint(message)
    has_thinking = has_thinking and any(map(message.get, _REASONING_KEYS))
    is_fixed = bool(message.get("audio") or message.get("refusal"))
    if isinstance(content, list):
        for block in content:
            kind = _kind(block)
            if kind == "tool_use":
                calls.append((block.get("id"), block.get("name")))
            elif kind == "tool_result":
                results.append(block)
            has_thinking = has_thinking or kind in _THINKING
            is_fixed = is_fixed or not _is_known(block)
    elif content is not None and not isinstance(content, str):
        is_fixed = True
    return _Entry(role, calls, results, has_thinking, is_fixed)


def _chat_call(call: Any) -> tuple[Any, Any]:
    if not isinstance(call, dict):
        return None, None
    function = call.get("function") or call.get("custom")
    return call.get("id"), function.get("name") if isinstance(function, dict) else None


def _is_known(block: Any) -> bool:
    """A text, a thought or a call of the model; what a server tool calls is part of its run."""
    kind = _kind(block)
    if kind == "tool_use":
        caller = block.get("caller")
        return not isinstance(caller, dict) or caller.get("type") == "direct"
    if kind == "text":
        return isinstance(block.get("text"), str)
    return kind == "refusal" or kind in _THINKING


def _role(message: Any) -> Any:
    return message.get("role") if isinstance(message, dict) else None


def _kind(block: Any) -> Any:
    return block.get("type") if isinstance(block, dict) else None


def _is_text(block: Any) -> bool:
    return _kind(block) == "text" and isinstance(block.get("text"), str)


def _is_thinking(block: Any) -> bool:
    return _kind(block) in _THINKING


def _answered_id(result: Wire) -> str | None:
    value = result.get("tool_call_id" if result.get("role") == "tool" else "tool_use_id")
    return value if isinstance(value, str) else None


# --- choosing turns ------------------------------------------------------------------------


def _old_turns(messages: list[Wire], limit: int) -> list[_Turn]:
    entries = list(map(_entry, messages))
    turns = list(_turns(messages, entries))
    needed = _needed(entries, turns)
    old = [
        turn
        for turn in turns
        if turn.later > limit
        and turn.start not in needed
        and not entries[turn.start].is_fixed
        and _can_go(turn, entries)
    ]
    held = _held(messages, entries, {turn.start for turn in old})
    return [turn for turn in old if turn.start not in held]


def _turns(messages: list[Wire], entries: list[_Entry]) -> Iterator[_Turn]:
    spoken = list(accumulate((entry.role == "assistant" for entry in entries), initial=0))
    for start, entry in enumerate(entries):
        names = entry.names if entry.role == "assistant" else None
        if names:
            stop = start + 1
            if messages[start].get("tool_calls"):
                while stop < len(entries) and entries[stop].role == "tool":
                    stop += 1
            elif stop < len(entries) and entries[stop].role == "user":
                stop += 1
            results = [r for behind in entries[start + 1 : stop] for r in behind.results]
            ids = set(map(_answered_id, results))
            if len(results) == len(names) and ids == names.keys():
                yield _Turn(start, stop, names, results, spoken[-1] - spoken[stop])


def _needed(entries: list[_Entry], turns: list[_Turn]) -> set[int]:
    """Starts of the turns next behind a loose call, or next before a loose result, with its id.

    A late result may be meant for a call that was answered already, and ids are used again; without
    such a turn it would lose the last thing that it could belong to.
    """
    needed: set[int] = set()
    asked: set[Any] = set()
    latest: dict[Any, int] = {}
    by_start = {turn.start: turn for turn in turns}
    end = 0  # of the last turn
    for at, entry in enumerate(entries):
        if turn := by_start.get(at):
            if not asked.isdisjoint(turn.names):
                needed.add(at)
                asked -= turn.names.keys()
            latest.update(dict.fromkeys(turn.names, at))
            end = turn.stop
        elif at >= end:
            ids = map(_answered_id, entry.results)
            needed |= {latest[call_id] for call_id in ids if call_id in latest}
            asked |= {call_id for call_id, _ in entry.calls if isinstance(call_id, str)}
    return needed


def _can_go(turn: _Turn, entries: list[_Entry]) -> bool:
    # Without the user's results, a change of tools would no longer stand behind the user.
    after = entries[turn.stop].role if turn.stop < len(entries) else None
    if after == "system" and entries[turn.start + 1].role == "user":
        return False
    return all(map(_is_plain_result, turn.results))


def _is_plain_result(result: Wire) -> bool:
    """False for results that define tools, and for content that nobody knows yet."""
    content = result.get("content", "")
    if not isinstance(content, list):
        return isinstance(content, str)
    return all(_kind(block) in _SHOWN for block in content)


def _held(messages: list[Wire], entries: list[_Entry], going: set[int]) -> set[int]:
    """Those of the going that are in a tool loop with thinking, of which another call stays."""
    prompts = (
        # The user says something, which ends a tool loop.
        entry.role == "user" and (not entry.results or len(entry.results) < len(message["content"]))
        for message, entry in zip(messages, entries, strict=True)
    )
    loops = list(accumulate(prompts, initial=0))
    thinking = {loops[at] for at, entry in enumerate(entries) if entry.has_thinking}
    staying = {loops[at] for at, entry in enumerate(entries) if entry.calls and at not in going}
    return {at for at in going if loops[at] in thinking & staying}


# --- rewriting -----------------------------------------------------------------------------


def _rewritten(
    messages: list[Wire], turns: list[_Turn], template: str
) -> Iterator[tuple[Wire, bool]]:
    """The messages as they will be, each with whether it is a collapsed call."""
    if "{error}" not in template:
        template = template[:-1] + "{error}]" if template.endswith("]") else template + "{error}"
    at = 0
    for turn in turns:
        yield from ((message, False) for message in messages[at : turn.start])
        yield _without_calls(messages[turn.start], _lines(turn, template)), True
        answer = messages[turn.start + 1]
        if answer["role"] == "user" and len(answer["content"]) > len(turn.results):
            rest = [block for block in answer["content"] if _kind(block) != "tool_result"]
            yield {**answer, "content": rest}, False
        at = turn.stop
    yield from ((message, False) for message in messages[at:])


def _lines(turn: _Turn, template: str) -> str:
    failed = [_answered_id(result) for result in turn.results if _has_failed(result)]
    later, lines = str(turn.later), []
    for call_id, name in turn.names.items():
        error = ERROR if call_id in failed else ""
        fields = {"name": name, "id": call_id, "N": later, "error": error}
        lines.append(_fill(template, fields))
    return "\n".join(lines)


def _fill(template: str, fields: dict[str, str]) -> str:
    return _FIELD.sub(lambda match: fields[match[1]], template)


def _has_failed(result: Wire) -> bool:
    if "is_error" in result or result.get("role") != "tool":
        return result.get("is_error") is True
    # A chat has no flag for it: the text says so.
    content = result.get("content")
    if isinstance(content, list):
        content = next((block["text"] for block in content if _is_text(block)), "")
    return isinstance(content, str) and content[:7].lower() == "error: "


def _without_calls(message: Wire, lines: str) -> Wire:
    """The texts beside the calls, then the lines. Thinking goes with the calls it led to."""
    content = message.get("content")
    if isinstance(content, list):
        spoken = [block for block in content if block.get("type") in _SPOKEN]
        content = [*spoken, {"type": "text", "text": lines}]
    else:
        content = f"{content}\n{lines}" if content else lines
    rest = {key: value for key, value in message.items() if key not in _OF_CALLS}
    return {**rest, "content": content}


def _joined(messages: Iterable[tuple[Wire, bool]]) -> list[Wire]:
    """The messages, with a collapsed call and the assistant messages beside it as one."""
    out: list[Wire] = []
    group: list[Wire] = []
    was_collapsed = False
    for message, is_collapsed in messages:
        is_beside = was_collapsed or (is_collapsed and group and not _entry(group[-1]).calls)
        if not (is_beside and _is_spoken(group[-1]) and _is_spoken(message)):
            out += _fused(group)
            group = []
        group.append(message)
        was_collapsed = is_collapsed
    return [*out, *_fused(group)]


def _is_spoken(message: Any) -> bool:
    return (
        _role(message) == "assistant"
        and isinstance(message.get("content"), str | list | NoneType)
        and not (message.get("audio") or message.get("refusal"))
    )


def _fused(group: list[Wire]) -> list[Wire]:
    """The messages of a group as one."""
    if len(group) < 2:
        return group
    contents = [message.get("content") for message in group]
    keys = chain.from_iterable(message.items() for message in group)
    return [{**dict(keys), "content": _concatenated(contents)}]


def _concatenated(contents: list[Any]) -> Any:
    """Texts, or blocks: a message that has thinking has to begin with it."""
    if not any(isinstance(content, list) for content in contents):
        return "\n".join(filter(None, contents))
    parts = [
        content if isinstance(content, list) else [{"type": "text", "text": content}]
        for content in contents
        if content
    ]
    thinking = next(filter(None, (list(takewhile(_is_thinking, part)) for part in parts)), [])
    rest = list(chain.from_iterable(parts))
    for block in thinking:
        rest.remove(block)
    return [*thinking, *rest]
