"""What follows from an output without standing in it: counts, sizes, and where a line is."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any


def facts_of(content: Any) -> Iterator[str]:
    """Of the text, and of each text within a JSON document."""
    for text in _texts(content):
        yield from _of_text(text)
    if not isinstance(content, str):
        yield from _of_json(content, "")


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        for value in content.values():
            yield from _texts(value)
    elif isinstance(content, list):
        for item in content:
            yield from _texts(item)


def _of_text(text: str) -> Iterator[str]:
    for body in {text, _without_envelope(text)}:
        lines = body.splitlines()
        yield f"{len(lines)} lines, {len(body)} characters, {len(body) / 1000:.0f} KB"
        yield from (f"{place}: {line}" for place, line in enumerate(lines, 1))
    lines = text.splitlines()
    yield from _of_history(lines)
    yield from _of_folders(lines)
    yield from _of_messages(lines)
    if "\0" in text or "\ufffd" in text:
        yield "binary"
    if max(map(len, lines), default=0) > 2_000:
        yield "minified: long lines"
    yield from _of_records(text, lines)
    yield from _of_table(lines)
    yield from _of_paths(lines)
    yield from _of_diff(lines)
    yield from _of_images(text)


# What agents put around a text.
_ENVELOPES = re.compile(
    r"\A(?:Chunk ID: .*\n)?(?:Exit code:? \d+\n)?(?:Wall time: .*\n)?"
    r"(?:Process exited .*\n)?(?:Original token count: .*\n)?(?:Total output lines: .*\n)?(?:Output:\n)?"
    r"(?:<returncode>\d+</returncode>\n<output>\n)?|</output>\Z|\n\n<system-reminder>[\s\S]*\Z"
)


def _without_envelope(text: str) -> str:
    return _ENVELOPES.sub("", text)


def _of_history(lines: list[str]) -> Iterator[str]:
    commits = sum(
        bool(re.match(r"commit [0-9a-f]{40}|[*| ]*\* [0-9a-f]{7} ", line)) for line in lines
    )
    headings = sum(bool(re.match(r"(?:\s*\d+→)?#+ ", line)) for line in lines)
    documents = 1 + sum(line.lstrip(" 0123456789→") == "---" for line in lines)
    tables = sum(line.startswith("CREATE TABLE") for line in lines)
    rows = sum(bool(re.match(r"[│|] +[^ ]", line)) for line in lines) - 1
    yield f"{commits} commits, {headings} headings, {documents} documents"
    ruled = [place for place, line in enumerate(lines) if re.fullmatch(r"-+(?:[ +]+-+)+ *", line)]
    under = [sum(map(bool, lines[place + 1 :])) for place in ruled]
    yield f"{tables} tables, {rows} rows, {', '.join(f'{amount} rows' for amount in under)}"


def _of_messages(lines: list[str]) -> Iterator[str]:
    """Of logs and compilers."""
    for word in ("ERROR", "WARNING", r"error TS\d+:", r"RECORD \d+"):
        amount = sum(bool(re.search(rf"\b{word}", line)) for line in lines)
        yield f"{amount} {word.split()[0].lower()}s"


def _of_folders(lines: list[str]) -> Iterator[str]:
    """Of `ls -R` and `ls -l`."""
    heads = [place for place, line in enumerate(lines) if re.fullmatch(r"[\w./-]+:", line)]
    yield f"{len(heads)} folders, {len(heads)} directories"
    for start, stop in pairwise([*heads, len(lines)]):
        yield f"{lines[start]} {sum(map(bool, lines[start + 1 : stop]))} entries"
    entries = [line for line in lines if re.match(r"[-dl][-rwx]{9} ", line)]
    files = sum(line.startswith("-") for line in entries)
    folders = sum(line.startswith("d") and not re.search(r" \.\.?$", line) for line in entries)
    yield f"{files} files, {folders} folders, {files + folders} entries, {len(entries)} entries"


def _of_records(text: str, lines: list[str]) -> Iterator[str]:
    try:
        yield from _of_json(json.loads(text[_json_start(text) :]), "")
    except ValueError:
        objects = [line for line in lines if line.startswith("{") and line.endswith("}")]
        yield f"{len(objects)} records, {len(objects)} objects, {len(objects)} lines"
        yield from _counts_of_fields(objects)


def _json_start(text: str) -> int:
    match = re.search(r"^[\[{]", text, re.MULTILINE)
    return match.start() if match else 0


def _counts_of_fields(lines: list[str]) -> Iterator[str]:
    values: Counter[str] = Counter()
    for line in lines:
        try:
            fields = json.loads(line)
        except ValueError:
            continue
        values.update(f"{key} {value}" for key, value in fields.items() if _is_short(value))
    yield from (f"{name}: {amount} records" for name, amount in values.most_common(200))


def _is_short(value: Any) -> bool:
    return isinstance(value, str | int | bool) and len(str(value)) < 40


def _of_json(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, list):
        yield f"{path}: {len(value)} items, {len(value)} entries"
        for place, item in enumerate(value[:50]):
            yield from _of_json(item, f"{path}[{place}]")
    elif isinstance(value, dict):
        yield f"{path}: {len(value)} keys: {', '.join(value)}"
        for key, item in value.items():
            yield from _of_json(item, f"{path}.{key}")


def _of_table(lines: list[str]) -> Iterator[str]:
    for delimiter in ",\t|;":
        widths = Counter(line.count(delimiter) + 1 for line in lines if delimiter in line)
        if widths:
            columns, amount = widths.most_common(1)[0]
            yield f"{amount - 1} rows, {amount} rows, {columns} columns"


def _of_paths(lines: list[str]) -> Iterator[str]:
    """Matches per file, entries per folder."""
    hits = [m for m in (re.match(r"([^\s:]+):(\d+)[:-]", line) for line in lines) if m]
    files = Counter(match[1] for match in hits)
    yield f"{len(hits)} matches in {len(files)} files"
    yield from (f"{path}: {amount} matches" for path, amount in files.items())
    paths = [line for line in lines if re.fullmatch(r"[\w./@+-]+", line) and "/" in line]
    yield f"{len(paths)} paths, {len(paths)} files"
    for depth in range(1, 7):
        folders = Counter("/".join(path.split("/")[:depth]) for path in paths)
        yield from (f"{folder}/: {amount} files" for folder, amount in folders.items())
    endings = Counter(path.rpartition(".")[2] for path in paths)
    yield from (f".{ending}: {amount} files" for ending, amount in endings.items())


def _of_diff(lines: list[str]) -> Iterator[str]:
    heads = [
        place for place, line in enumerate(lines) if re.match(r"(?:Stdout: )?diff --git", line)
    ]
    yield f"{len(heads)} files changed"
    for start, stop in pairwise([*heads, len(lines)]):
        added = sum(line.startswith("+") and line[:3] != "+++" for line in lines[start:stop])
        removed = sum(line.startswith("-") and line[:3] != "---" for line in lines[start:stop])
        yield f"{start + 1}: {lines[start].split(' b/')[-1]} +{added} -{removed}"


def _of_images(text: str) -> Iterator[str]:
    for match in re.finditer(r"iVBOR[\w+/=]{20,}", text):
        data = b64decode(match[0] + "=" * (-len(match[0]) % 4))
        wide, high = (int.from_bytes(data[start : start + 4]) for start in (16, 20))
        yield f"PNG, {wide}x{high}, {wide} × {high}, {len(data)} bytes, {len(data) / 1000:.0f} KB"
