"""Fewer tokens of tool results in a list of messages: long ones are cut, old ones collapsed. Pure.

The messages are plain dicts as they are sent, Anthropic Messages or OpenAI Chat Completions, each
known by its shape. What is given is never changed; what stays as it was is shared with the input.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, groupby, takewhile
from types import NoneType
from typing import Any, NamedTuple, TypeAlias

import msgspec

from tract.errors import InputError

Wire: TypeAlias = dict[str, Any]
"""A message or a block, as a provider has it."""

MARKER = "\n[truncated]"
TEMPLATE = "[Tool: {name} | Result summarized — call {id}]"
ERROR = " | error"

_CHARACTERS_PER_TOKEN = 4
_FIELD = re.compile(r"\{(name|id|N|error)\}")
_PLACES = {"name": "{0}", "id": "{1}", "N": "{2}", "error": "{3}"}


class CompressorConfig(msgspec.Struct, frozen=True):
    """What is to be done. A limit that is None does nothing.

    `template` is the line that stands for a collapsed call. `{name}` and `{id}` are those of the
    call; `{N}` is the number of assistant messages since, which changes with every turn and so
    costs the provider's cache; `{error}` is where a failure is told, else at the end of the line.
    """

    max_tool_result_tokens: int | None = None
    collapse_after_turns: int | None = None
    template: str = TEMPLATE

    def __post_init__(self) -> None:
        _check_limit("max_tool_result_tokens", self.max_tool_result_tokens)
        _check_limit("collapse_after_turns", self.collapse_after_turns)
        _check_template(self.template)


def _check_limit(name: str, limit: Any) -> None:
    if limit is None:
        return
    if type(limit) is not int or limit < 0:  # True is no number of tokens
        raise InputError(f"{name} is None or a whole number from 0, not {limit!r}")


def _check_template(template: Any) -> None:
    # Made of fields alone it could come out empty, and providers refuse an empty text.
    if not isinstance(template, str) or not _FIELD.sub("", template).strip():
        raise InputError(f"a template is a text with words of its own, not {template!r}")


def compress_messages(messages: Sequence[Wire], config: CompressorConfig) -> list[Wire]:
    """The messages with every long result cut, and with the old calls collapsed. What is collapsed
    need not be cut before, so that comes first."""
    left = collapse_tool_chains(messages, config)
    limit = config.max_tool_result_tokens
    return left if limit is None else [_with_cut_results(message, limit) for message in left]


# --- cutting -------------------------------------------------------------------------------


def compress_tool_result(block: Wire, config: CompressorConfig) -> Wire:
    """The result with its text cut to the limit; a new dict, with all other keys as they were.

    Takes an Anthropic `tool_result` block or an OpenAI message of the role `tool`. The texts of a
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
    if role is None or role == "assistant":
        return message
    content = message.get("content")
    if not isinstance(content, list):
        return message
    blocks = [_with_cut_content(block, limit) for block in content]
    # Quick, because most are the same objects, and a cut text differs in length.
    return message if blocks == content else {**message, "content": blocks}


def _role(message: Any) -> Any:
    return message.get("role") if isinstance(message, dict) else None


def _kind(block: Any) -> Any:
    return block.get("type") if isinstance(block, dict) else None


def _with_cut_content(block: Wire, limit: int) -> Wire:
    if _kind(block) != "tool_result" and _role(block) != "tool":
        return block
    content = block.get("content")
    shorter = _cut_content(content, limit)
    return block if shorter is content else {**block, "content": shorter}


def _cut_content(content: Any, limit: int) -> Any:
    room = limit * _CHARACTERS_PER_TOKEN
    if isinstance(content, str):
        return _cut(content, room) if len(content) // _CHARACTERS_PER_TOKEN > limit else content
    if not isinstance(content, list):
        return content
    size = sum(len(block["text"]) for block in content if _is_text(block))
    return _cut_blocks(content, room) if size // _CHARACTERS_PER_TOKEN > limit else content


def _is_text(block: Any) -> bool:
    return _kind(block) == "text" and isinstance(block.get("text"), str)


def _cut_blocks(blocks: list[Any], room: int) -> list[Any]:
    """The blocks with each run of neighbouring texts cut as if it were one text."""
    out: list[Any] = []
    for is_text, group in groupby(blocks, _is_text):
        run = list(group)
        if not is_text:
            out += run
            continue
        texts = [block["text"] for block in run]
        kept = _cut_texts(texts, room)
        # What is behind the cut goes: providers refuse an empty text.
        out += [
            block if text is block["text"] else {**block, "text": text}
            for block, text in zip(run, kept, strict=False)
        ]
        room = max(room - sum(map(len, texts)), 0)
    return out


def _cut_texts(texts: list[str], room: int) -> list[str]:
    """As many of the texts as there is room for, and the marker; all if that is not shorter."""
    kept: list[str] = []
    for text in texts:
        if len(text) > room:
            kept.append(_marked(text, room))
            break
        kept.append(text)
        room -= len(text)
    return kept if sum(map(len, kept)) < sum(map(len, texts)) else texts


def _cut(text: str, room: int) -> str:
    marked = _marked(text, room)
    return marked if len(marked) < len(text) else text


def _marked(text: str, end: int) -> str:
    return text if text.endswith(MARKER) else text[: _boundary(text, end)] + MARKER


# --- graphemes -----------------------------------------------------------------------------

# Where Unicode's rules differ between versions or need tables, two characters are taken to belong
# together: the cut then comes a little earlier, never through what is seen as one.

_is_pair = re.compile("[\ud800-\udbff][\udc00-\udfff]").fullmatch
_is_flag_half = re.compile("[\U0001f1e6-\U0001f1ff]").fullmatch
_MARKS = frozenset({"Mn", "Mc", "Me"})
_VIRAMA = 9

# Joiners, marks that Unicode files as letters, skin tones, tags.
_FOLLOWS = "\u200c\u200d\u0e33\u0eb3\uff9e\uff9f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"
# The zero-width joiner, and the signs that are written around the next character.
_LEADS = (
    "\u200d\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u0d4e\U000110bd\U000110cd\U000111c2\U000111c3"
    "\U0001193f\U00011941\U00011a3a\U00011a84-\U00011a89\U00011d46\U00011f02"
)
_INITIAL = "\u1100-\u115f\ua960-\ua97c"
_SYLLABLE = "\uac00-\ud7a3"
_LATER = "\u1160-\u11ff\ud7b0-\ud7fb"
_are_one = re.compile(
    f"\r\n|.[{_FOLLOWS}]|[{_LEADS}]."
    f"|[{_INITIAL}][{_INITIAL}{_SYLLABLE}]|[{_INITIAL}{_SYLLABLE}{_LATER}][{_LATER}]",
    re.DOTALL,
).fullmatch


def _boundary(text: str, end: int) -> int:
    """The last place up to `end` that is not inside a grapheme."""
    while 0 < end < len(text) and _is_inside(text, end):
        end -= 1
    return end


def _is_inside(text: str, place: int) -> bool:
    pair = text[place - 1 : place + 1]
    if pair.isascii():
        return pair == "\r\n"
    if _is_pair(pair):
        return True
    left, right = _left_of(text, place), _right_of(text, place)
    if _is_flag_half(left) and _is_flag_half(right):
        return _flag_halves_before(text, place) % 2 == 1
    return bool(
        unicodedata.category(right) in _MARKS
        or unicodedata.combining(left) == _VIRAMA
        or _are_one(left + right)
    )


def _left_of(text: str, place: int) -> str:
    pair = text[max(place - 2, 0) : place]
    return _whole(pair) if _is_pair(pair) else pair[-1:]


def _right_of(text: str, place: int) -> str:
    pair = text[place : place + 2]
    return _whole(pair) if _is_pair(pair) else pair[:1]


def _whole(pair: str) -> str:
    return pair.encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def _flag_halves_before(text: str, place: int) -> int:
    halves = 0
    while _is_flag_half(_left_of(text, place)):
        place -= 2 if _is_pair(text[max(place - 2, 0) : place]) else 1
        halves += 1
    return halves


# --- collapsing ----------------------------------------------------------------------------


def collapse_tool_chains(messages: Sequence[Wire], config: CompressorConfig) -> list[Wire]:
    """The messages with a line of text in the place of each old call and its result.

    Old are those with more than `collapse_after_turns` assistant messages behind them. What was
    said beside a call or a result stays. Parallel calls collapse together or not at all, and so
    does a tool loop with thinking in it, because no provider takes a part of one. Calls and
    results that do not answer each other exactly stay as they are.
    """
    messages = list(messages)
    if config.collapse_after_turns is None:
        return messages
    turns = _collapsing(messages, config.collapse_after_turns)
    return _joined(_rewritten(messages, turns, config.template))


class _Reading(NamedTuple):
    """What matters of the messages here, by their places."""

    roles: list[Any]
    calls: dict[int, dict[str, str]]  # names by id
    unclear: set[int]  # a call cannot be told from the others, or has no name
    results: dict[int, list[Wire]]
    thinking: set[int]
    odd: set[int]  # something in it has to stay as and where it is


class _Turn(NamedTuple):
    """A message with calls, and directly behind it one result for each of them."""

    start: int
    stop: int
    names: dict[str, str]  # by the id of the call
    results: list[Wire]
    later: int  # assistant messages behind it


def _collapsing(messages: list[Wire], limit: int) -> list[_Turn]:
    reading = _read(messages)
    turns = _turns(messages, reading)
    needed = _needed(reading, turns)
    fixed = needed | reading.odd | reading.results.keys()
    old = [
        turn
        for turn in turns
        if turn.later > limit and turn.start not in fixed and _can_go(turn, reading.roles)
    ]
    held = _held(messages, reading, {turn.start for turn in old})
    return [turn for turn in old if turn.start not in held]


# --- reading messages ----------------------------------------------------------------------

# Tuples, because the type of an odd block may be a list, and no set can be asked for that.
_THINKING = ("thinking", "redacted_thinking")
_SAID = ("text", "refusal")
_SHOWN = ("text", "image", "image_url", "document", "search_result")
_REASONING_KEYS = frozenset(
    {"reasoning_content", "reasoning", "reasoning_details", "thinking_blocks"}
)


def _read(messages: list[Wire]) -> _Reading:
    reading = _Reading([], {}, set(), {}, set(), set())
    for place, message in enumerate(messages):
        role = _role(message)
        reading.roles.append(role)
        if role == "tool":
            reading.results[place] = [message]
        elif role is not None:
            content = message.get("content")
            if isinstance(content, list):
                for block in content:
                    _read_block(place, block, reading)
            elif content is not None and not isinstance(content, str):
                reading.odd.add(place)
            _read_keys(place, message, reading)
    return reading


def _read_block(place: int, block: Any, reading: _Reading) -> None:
    kind = _kind(block)
    if kind == "tool_use":
        _read_call(place, block.get("id"), block.get("name"), reading)
        if not _is_own_call(block):
            reading.odd.add(place)
    elif kind == "tool_result":
        reading.results.setdefault(place, []).append(block)
    elif kind in _THINKING:
        reading.thinking.add(place)
    elif not _is_text(block) and kind != "refusal":
        reading.odd.add(place)


def _read_call(place: int, call_id: Any, name: Any, reading: _Reading) -> None:
    names = reading.calls.setdefault(place, {})
    if not isinstance(call_id, str):
        reading.unclear.add(place)
        return
    if not call_id or call_id in names or not isinstance(name, str) or not name:
        reading.unclear.add(place)
    names[call_id] = name


def _is_own_call(use: Wire) -> bool:
    """Whether the model made it; what a server-side tool calls is part of that tool's run."""
    caller = use.get("caller")
    return not isinstance(caller, dict) or caller.get("type") == "direct"


def _read_keys(place: int, message: Wire, reading: _Reading) -> None:
    chat = message.get("tool_calls")
    if chat:
        for call in chat if isinstance(chat, list) else [chat]:
            _read_call(place, *_chat_call(call), reading)
    if message.get("function_call"):  # the old way of calling, without ids
        _read_call(place, None, None, reading)
    if message.get("audio") or message.get("refusal"):
        reading.odd.add(place)
    if not _REASONING_KEYS.isdisjoint(message) and any(map(message.get, _REASONING_KEYS)):
        reading.thinking.add(place)


def _chat_call(call: Any) -> tuple[Any, Any]:
    if not isinstance(call, dict):
        return None, None
    function = call.get("function") or call.get("custom")
    return call.get("id"), function.get("name") if isinstance(function, dict) else None


def _answered_id(result: Wire) -> str | None:
    value = result.get("tool_call_id" if result.get("role") == "tool" else "tool_use_id")
    return value if isinstance(value, str) else None


def _can_go(turn: _Turn, roles: list[Any]) -> bool:
    # Where the user's results go, a change of tools would no longer stand behind the user.
    if roles[turn.start + 1] == "user" and roles[turn.stop : turn.stop + 1] == ["system"]:
        return False
    return all(map(_is_plain_result, turn.results))


def _is_plain_result(result: Wire) -> bool:
    """Not so are those that define tools, and whatever nobody knows yet."""
    content = result.get("content", "")
    if not isinstance(content, list):
        return isinstance(content, str)
    return all(_kind(block) in _SHOWN for block in content)


def _has_failed(result: Wire) -> bool:
    if "is_error" in result or result.get("role") != "tool":
        return result.get("is_error") is True
    # A chat has no flag for it: the failure is said in words.
    content = result.get("content")
    if isinstance(content, list):
        content = next((block["text"] for block in content if _is_text(block)), "")
    return isinstance(content, str) and content[:7].lower() == "error: "


# --- choosing turns ------------------------------------------------------------------------


def _turns(messages: list[Wire], reading: _Reading) -> list[_Turn]:
    spoken = list(accumulate((role == "assistant" for role in reading.roles), initial=0))
    turns = []
    for start, names in reading.calls.items():
        if start not in reading.unclear and reading.roles[start] == "assistant":
            results, stop = _results_behind(start, messages, reading)
            if _is_answered(names, results):
                turns.append(_Turn(start, stop, names, results, spoken[-1] - spoken[stop]))
    return turns


def _results_behind(start: int, messages: list[Wire], reading: _Reading) -> tuple[list[Wire], int]:
    """The results directly behind the calls, and where they end."""
    roles, stop = reading.roles, start + 1
    if not messages[start].get("tool_calls"):
        is_user = stop < len(roles) and roles[stop] == "user"
        return (reading.results.get(stop, []), stop + 1) if is_user else ([], stop)
    while stop < len(roles) and roles[stop] == "tool":
        stop += 1
    return messages[start + 1 : stop], stop


def _is_answered(names: dict[str, str], results: list[Wire]) -> bool:
    """Whether each call has one result, in any order."""
    ids = list(map(_answered_id, results))
    return len(ids) == len(names) and (ids == list(names) or set(ids) == names.keys())


def _needed(reading: _Reading, turns: list[_Turn]) -> set[int]:
    """Starts of the turns next behind a loose call, or next before a loose result, with its id.

    A late result may be meant for a call that was answered already, and ids are used again;
    without such a turn it would lose the last thing that it could belong to.
    """
    taken = {place for turn in turns for place in range(turn.start, turn.stop)}
    asked = [(place, i) for place in reading.calls.keys() - taken for i in reading.calls[place]]
    answered = [
        (place, _answered_id(result))
        for place in reading.results.keys() - taken
        for result in reading.results[place]
    ]
    starts = _starts_by_id(turns, [call_id for _, call_id in chain(asked, answered)])
    behind = [_nearest(starts[call_id], place, 0) for place, call_id in asked]
    before = [_nearest(starts[call_id], place, -1) for place, call_id in answered]
    return set(chain.from_iterable(behind + before))


def _nearest(starts: list[int], place: int, step: int) -> list[int]:
    """The first start behind a place (step 0) or the last one before it (step -1), if any."""
    number = bisect(starts, place) + step
    return starts[number : number + 1]  # [-1:0] is empty, as is what lies behind the end


def _starts_by_id(turns: list[_Turn], ids: Iterable[str | None]) -> dict[str | None, list[int]]:
    starts: dict[str | None, list[int]] = {call_id: [] for call_id in ids}
    for turn in turns if starts else ():
        for call_id in starts.keys() & turn.names.keys():
            starts[call_id].append(turn.start)
    return starts


def _held(messages: list[Wire], reading: _Reading, going: set[int]) -> set[int]:
    """Those of the going that are in a tool loop with thinking, of which another call stays."""
    if not reading.thinking:
        return set()
    prompts = (_is_prompt(place, message, reading) for place, message in enumerate(messages))
    loops = list(accumulate(prompts, initial=0))
    thinking = {loops[place] for place in reading.thinking}
    staying = {loops[place] for place in reading.calls.keys() - going}
    held = thinking & staying
    return {place for place in going if loops[place] in held}


def _is_prompt(place: int, message: Wire, reading: _Reading) -> bool:
    """Whether the user says something here, which ends a tool loop."""
    results = reading.results.get(place)
    return reading.roles[place] == "user" and (
        not results or len(results) < len(message["content"])
    )


# --- rewriting -----------------------------------------------------------------------------


def _rewritten(
    messages: list[Wire], turns: list[_Turn], template: str
) -> Iterator[tuple[Wire, bool]]:
    """The messages as they will be, each with whether it is a collapsed call."""
    line = _line_format(template)
    place = 0
    for turn in turns:
        for message in messages[place : turn.start]:
            yield message, False
        yield _without_calls(messages[turn.start], _summary(turn, line)), True
        answer = messages[turn.start + 1]
        if answer["role"] == "user" and len(answer["content"]) > len(turn.results):
            yield _without_results(answer), False
        place = turn.stop
    for message in messages[place:]:
        yield message, False


def _line_format(template: str) -> str:
    """The template for `str.format`, where any other brace is just a brace."""
    if "{error}" not in template:
        template = template[:-1] + "{error}]" if template.endswith("]") else template + "{error}"
    pieces = _FIELD.split(template)
    pieces[::2] = [piece.replace("{", "{{").replace("}", "}}") for piece in pieces[::2]]
    pieces[1::2] = [_PLACES[field] for field in pieces[1::2]]
    return "".join(pieces)


def _summary(turn: _Turn, line: str) -> str:
    failed = {_answered_id(result) for result in turn.results if _has_failed(result)}
    return "\n".join(
        [
            line.format(name, call_id, turn.later, ERROR if call_id in failed else "")
            for call_id, name in turn.names.items()
        ]
    )


def _without_calls(message: Wire, summary: str) -> Wire:
    """What was said beside the calls, then the summary. Thinking goes with the calls it led to."""
    content = message.get("content")
    if isinstance(content, list):
        said = [block for block in content if block.get("type") in _SAID]
        content = [*said, _text_block(summary)]
    else:
        content = f"{content}\n{summary}" if content else summary
    spoken = {**message, "content": content}
    spoken.pop("tool_calls", None)
    if not _REASONING_KEYS.isdisjoint(spoken):
        spoken = {key: value for key, value in spoken.items() if key not in _REASONING_KEYS}
    return spoken


def _text_block(text: str) -> Wire:
    return {"type": "text", "text": text}


def _without_results(message: Wire) -> Wire:
    rest = [block for block in message["content"] if _kind(block) != "tool_result"]
    return {**message, "content": rest}


def _joined(messages: Iterable[tuple[Wire, bool]]) -> list[Wire]:
    """The messages, with a collapsed call and the assistant messages beside it as one."""
    out: list[Wire] = []
    group: list[Wire] = []
    was_collapsed = False
    for message, is_collapsed in messages:
        is_beside = was_collapsed or (is_collapsed and group and not _has_calls(group[-1]))
        if not (is_beside and _is_spoken(group[-1]) and _is_spoken(message)):
            out += _fused(group)
            group = []
        group.append(message)
        was_collapsed = is_collapsed
    return [*out, *_fused(group)]


def _has_calls(message: Any) -> bool:
    return 0 in _read([message]).calls


def _is_spoken(message: Any) -> bool:
    return (
        _role(message) == "assistant"
        and isinstance(message.get("content"), (str, list, NoneType))
        and not (message.get("audio") or message.get("refusal"))
    )


def _fused(group: list[Wire]) -> list[Wire]:
    """The messages of a group as one."""
    if len(group) < 2:
        return group
    fused: Wire = {}
    for message in group:
        fused |= message
    fused["content"] = _concatenated([message.get("content") for message in group])
    return [fused]


def _concatenated(contents: list[Any]) -> Any:
    if not any(isinstance(content, list) for content in contents):
        return "\n".join(filter(None, contents))
    return _thinking_first([_as_blocks(content) for content in contents])


def _as_blocks(content: Any) -> list[Any]:
    if isinstance(content, list):
        return content
    return [_text_block(content)] if content else []


def _thinking_first(contents: list[list[Any]]) -> list[Any]:
    """All blocks. A message that has thinking has to begin with it."""
    for number, blocks in enumerate(contents):
        lead = list(takewhile(_is_thinking, blocks))
        if lead:
            rest = [*contents[:number], blocks[len(lead) :], *contents[number + 1 :]]
            return [*lead, *chain.from_iterable(rest)]
    return list(chain.from_iterable(contents))


def _is_thinking(block: Any) -> bool:
    return _kind(block) in _THINKING
