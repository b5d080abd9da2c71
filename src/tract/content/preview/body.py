"""The text of a result, apart from what is only about the command."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import msgspec

from tract.content.blocks import is_blocks
from tract.content.preview.pictures import decoded_head, facts_of
from tract.content.text import mark, size, summary_line
from tract.model import Json, readable

PARSED = 4_000_000
"""A longer text is not parsed; only its head and tail are read."""


class Output(NamedTuple):
    """A field that has another text of the same command."""

    label: str
    origin: str | None
    text: str


class Body(NamedTuple):
    """The text of a result. The parts before `start` and from `stop` on are about the command."""

    text: str
    form: str = "text"
    """`text`, `json`, `shell` or `binary`, as far as the value shows it."""
    start: int = 0
    stop: int | None = None
    code: int | None = None
    label: str = ""
    """The line before the text, where it is a part of the result."""
    origin: str | None = ""
    """The path of the text; empty if it is all of the result, None if no path leads to it."""
    others: tuple[Output, ...] = ()

    @property
    def full_text(self) -> str:
        """Everything that can be shown."""
        parts = [part for other in self.others for part in (other.label, other.text)]
        return "\n".join((*parts, *filter(None, [self.label]), self.text))


def body_of(content: Json) -> Body:
    if isinstance(content, str):
        fields = object_in(content)
        return (_open_envelope(fields) if fields is not None else None) or _unwrap(content)
    if content is None:
        return Body("")
    if isinstance(content, list | tuple) and are_blocks(content):
        return _body_of_list(content)
    body = _open_envelope(content) if isinstance(content, dict) else None
    return body or Body(_as_json(content), "json")


def _body_of_list(blocks: Sequence[dict[str, Json]]) -> Body:
    """Blocks are shown as their text, if the model is shown that too, and as JSON otherwise."""
    if not is_blocks(list(blocks)):
        body = _body_of_blocks(blocks)
        return body if body.form == "binary" else body._replace(label=_label("", " "), origin=None)
    text = block_text(blocks[0]) if len(blocks) == 1 else None
    return _body_of_blocks(blocks) if text is None else body_of(text)


def _as_json(value: Json) -> str:
    try:
        return readable(value)
    except (RecursionError, ValueError):
        return mark("JSON that cannot be written")


def object_in(text: str) -> dict[str, Json] | None:
    """The object that a text is the JSON of."""
    if not text[:100].lstrip().startswith("{") or len(text) > PARSED:
        return None
    try:
        value = _parse(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _parse(text: str) -> Json:
    """The fast parser refuses what some programs write: NaN, or half of a surrogate pair."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return json.loads(text)


# --- objects ---------------------------------------------------------------------------------

_OUTPUTS = ("stderr", "stdout", "output")
_EXITS = ("exit_code", "exitCode", "exit_status", "exitStatus", "returncode", "return_code")


def _open_envelope(fields: dict[str, Json], path: str = "$", depth: int = 3) -> Body | None:
    """The text inside an object that is little more than an envelope for it."""
    code = exit_field(fields)
    outputs = {key: fields[key] for key in _OUTPUTS if isinstance(fields.get(key), str)}
    if code is not None and outputs:
        return _body_of_command(code, outputs, path)
    if len(fields) == 1 and depth:
        ((key, only),) = fields.items()
        if isinstance(only, dict):
            return _open_envelope(only, _join(path, key), depth - 1)
    return _dominant(fields, path) if len(fields) <= 12 else None


def _join(path: str, key: str) -> str:
    """The path of a field; what is no plain name makes it one that `_origin` refuses."""
    return f"{path}.{key}" if key.isidentifier() and len(key) < 40 else f"{path} "


def _origin(path: str) -> str | None:
    return None if " " in path else path


def _label(facts: str, path: str) -> str:
    where = f"{path}:" if " " not in path else "text:"
    return mark(f"{facts}; {where}" if facts else where)


def exit_field(fields: dict[str, Json]) -> int | None:
    metadata = fields.get("metadata")
    printed = "stdout" in fields or "stderr" in fields
    holders = [(fields, (*_EXITS, "code", "status") if printed else _EXITS)]
    holders += [(metadata, _EXITS)] if isinstance(metadata, dict) else []
    codes = (_as_code(holder.get(key)) for holder, keys in holders for key in keys)
    return next((code for code in codes if code is not None), None)


def _as_code(value: Json) -> int | None:
    if isinstance(value, str) and len(value) < 6 and value.isascii() and value.isdigit():
        return int(value)
    number = isinstance(value, int) and not isinstance(value, bool)
    return value if number and abs(value) < 1 << 63 else None


def _body_of_command(code: int, outputs: dict[str, str], path: str) -> Body:
    texts = {key: text.rstrip("\n") for key, text in outputs.items() if text.strip()}
    facts = [f"exit code {code}", *[""] * len(texts)]
    parts = [
        Output(_label(fact, _join(path, key)), _origin(_join(path, key)), text)
        for fact, (key, text) in zip(facts, texts.items(), strict=False)
    ]
    if not parts:
        return Body(mark(facts[0]), "shell", len(facts[0]) + 6, None, code)
    *others, last = parts
    return Body(last.text, "shell", 0, None, code, last.label, last.origin, tuple(others))


def _dominant(fields: dict[str, Json], path: str) -> Body | None:
    """The one field that has nearly all of the text, if it has lines; the others become a label."""
    candidates = [key for key, value in fields.items() if _has_lines(value)]
    if not candidates:
        return None
    sizes = {key: len(_as_json(value)) for key, value in fields.items()}
    key = max(candidates, key=sizes.__getitem__)
    rest = {name: value for name, value in fields.items() if name != key and value != fields[key]}
    if sum(sizes[name] for name in rest) > 400 + sizes[key] // 10:
        return None
    text = fields[key]
    where = _join(path, key)
    if isinstance(text, str):
        body = _unwrap(text)
    else:
        body = _body_of_blocks(text)
        where += "[0].text" if len(text) == 1 and isinstance(text[0].get("text"), str) else " "
    if body.form == "binary":
        return body
    facts = summary_line(_as_json(rest)[1:-1]) if rest else ""
    return body._replace(label=_label(facts, where), origin=_origin(where))


def _has_lines(value: Json) -> bool:
    if isinstance(value, str):
        return "\n" in value.strip()
    return isinstance(value, list) and are_blocks(value)


# --- blocks ----------------------------------------------------------------------------------

_BLOCK = re.compile(
    r"(?:\w{1,20}_)?(?:text|image|audio|video|file|document|resource|media)(?:_\w{1,10})?"
)
_TYPE_KEYS = ("media_type", "mimeType", "mime_type", "mediaType", "content_type")


def are_blocks(values: Sequence[Json]) -> bool:
    """Whether a list is made of providers' text and image blocks."""
    return bool(values) and all(
        isinstance(value, dict)
        and isinstance(value.get("type"), str)
        and len(value["type"]) < 40
        and _BLOCK.fullmatch(value["type"])
        for value in values
    )


def _body_of_blocks(blocks: Sequence[dict[str, Json]]) -> Body:
    texts = [block_text(block) for block in blocks]
    if len(texts) == 1 and texts[0] is not None:
        return _unwrap(texts[0])
    pairs = zip(blocks, texts, strict=True)
    joined = "\n".join(mark(_media(block)) if text is None else text for block, text in pairs)
    return Body(joined, "binary") if all(text is None for text in texts) else _unwrap(joined)


def block_text(block: dict[str, Json]) -> str | None:
    for holder in (block, block.get("resource"), block.get("source")):
        if isinstance(holder, dict):
            has_data = holder.get("type") == "text" and holder is not block
            text = holder.get("data" if has_data else "text")
            if isinstance(text, str):
                return text
    return None


def _media(block: dict[str, Json]) -> str:
    """Type and size of an image or a document, never its data."""
    facts = dict(_leaves(block))
    data = max(facts.values(), key=len)
    kind = next((facts[key] for key in _TYPE_KEYS if key in facts), block["type"])
    if data.startswith("data:"):
        return data_url(data)
    if len(data) > 100 and is_base64(data):
        pixels = facts_of(decoded_head(data[:60_000]))
        return summary_line(f"{kind:.80}, {size(decoded_size(data))}{pixels}")
    return summary_line(f"{kind:.40} {data if data not in (kind, block['type']) else ''}")


def _leaves(value: Json, name: str = "", depth: int = 4) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict) and depth:
        for key, child in islice(value.items(), 40):
            yield from _leaves(child, str(key), depth - 1)


# --- encoded data ----------------------------------------------------------------------------

_BASE64 = re.compile(r"[A-Za-z0-9+/_\-\r\n]{100,}+={0,2}+\s*+")
DATA_URL = re.compile(r"data:([\w.+-]{1,60}/[\w.+-]{1,60})?(?:;[\w=.-]{1,80}){0,4},")


def is_base64(text: str) -> bool:
    """Letters, digits and few marks only, mixed unlike words."""
    if _BASE64.fullmatch(text, 0, PARSED) is None:  # most texts have a space early
        return False
    start = text[:400]
    return any(map(str.isdigit, start)) and sum(map(str.isupper, start)) * 12 > len(start)


def decoded_size(data: str) -> int:
    return (len(data) - data.count("\n") - data.count("\r")) * 3 // 4 - data[-4:].count("=")


def data_url(url: str) -> str:
    """Type and size."""
    head = DATA_URL.match(url)
    kind, start = (head[1], head.end()) if head else (None, 0)
    length = len(url) - start
    return f"{kind or 'data'}, {size(length * 3 // 4 if ';base64' in url[:start] else length)}"


# --- text around an output -------------------------------------------------------------------

_EXIT = re.compile(
    r"\n[ \t]{0,4}[<\[(]?"
    r"(?:(?:[Tt]he )?(?:[Cc]ommand|[Pp]rocess|[Pp]rogram|[Ss]cript|[Ss]hell|[Tt]ask|[Jj]ob"
    r"|ELIFECYCLE|shellId: \S{1,40})[\w ]{0,24}? )?"
    r"(?:[Ee]xit(?:ed)?|EXIT|[Ff]inished|[Cc]ompleted|[Ff]ailed|[Tt]erminated|[Rr]eturned)"
    r"(?: with)?(?: exit)?[ _-]?(?:[Cc]ode|CODE|[Ss]tatus|STATUS)(?: is| of| was|:| =|=)? ?"
    r"(-?\d{1,10})(?: \([^()\n]{0,40}\))?[.\])>]{0,3}[ \t\r]*(?=\n|\Z)"
)
_OUTPUT = re.compile(r"\n(?:Output|OUTPUT|output|Stdout|STDOUT|stdout):[ \t\r]*\n")
_FIELD = re.compile(r"\n[A-Z][\w ]{1,30}: ?\S")
_AROUND = 400  # characters at most, and six lines


_REPORT = re.compile(
    r"(?:[A-Z][\w ]{1,30}: [^\n]{0,2000}\n){1,3}(?:Stdout|STDOUT|stdout|Output): ?(?=[^\n])"
)
_NOTHING = re.compile(r"(?:\n[A-Z][\w ]{1,30}: \((?:empty|none)\))+\Z")


def _unwrap(text: str) -> Body:
    """A text apart from the lines about the command, mostly its exit code."""
    body = _cut_exit(text)
    report = _REPORT.match(text) if body.stop is not None else None
    if report is None or report.end() > (body.stop or 0):
        return body
    nothing = _NOTHING.search(text, report.end(), body.stop or 0)
    return body._replace(start=report.end(), stop=nothing.start() if nothing else body.stop)


def _cut_exit(text: str) -> Body:
    head = "\n" + text[:_AROUND]
    output = _OUTPUT.search(head)
    if output and head.count("\n", 0, output.start()) < 6 and _FIELD.match(head):
        code = _EXIT.search(head, 0, output.start() + 1)
        return Body(text, start=output.end() - 1, code=int(code[1]) if code else None)
    first = _EXIT.search(head)
    if first and not head[: first.start()].strip():
        return Body(text, start=min(first.end(), len(text)), code=int(first[1]))
    stop = len(text.rstrip())
    matches = list(_EXIT.finditer(text, max(0, stop - _AROUND), stop))
    if not matches or text.count("\n", matches[-1].end(), stop) >= 6:
        return Body(text)
    last = matches[-1]
    inside = "\nFAIL" in text[last.end() :]  # a line that Go prints between its own
    return Body(text, stop=None if inside else last.start(), code=int(last[1]))
