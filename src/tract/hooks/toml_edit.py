"""One table of a TOML text, added and removed without touching the rest. Pure."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence

from tract.errors import InputError
from tract.model import Json

Path = tuple[str, ...]


def parse(text: str) -> dict[str, Json]:
    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise InputError(f"not TOML ({error})") from None


def put_table(text: str, path: Path, values: Mapping[str, Json], note: str) -> str:
    """Add a table to the end, after a comment. It must not exist."""
    parse(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"# {note}", f"[{'.'.join(path)}]", *(f"{k} = {_value(v)}" for k, v in values.items())]
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    changed = text + gap + newline.join(lines) + newline
    _check(changed, path, dict(values), text)
    return changed


def remove_table(text: str, path: Path, note: str) -> str:
    """Remove a table, the tables in it, and the comment before it."""
    expected = parse(text)
    if _pop(expected, path) is None:
        return text
    lines = text.splitlines(keepends=True)
    kept: list[str] = []
    is_inside, loose = False, list[str]()
    for line in lines:
        if line.lstrip().startswith("["):
            is_inside = _is_header(line, path)
            kept += loose
            loose = []
            if is_inside and kept and kept[-1].strip() == f"# {note}":
                kept.pop()
                if kept and not kept[-1].strip():
                    kept.pop()
        if not is_inside:
            kept.append(line)
        elif not line.strip() or line.lstrip().startswith("#"):
            loose.append(line)  # it may belong to what follows
        else:
            loose = []
    changed = "".join(kept + loose)
    if not _has(changed, expected):
        raise InputError(f"the table {'.'.join(path)} cannot be removed automatically")
    return changed


def _has(text: str, document: Json) -> bool:
    try:
        return bool(tomllib.loads(text) == document)
    except ValueError:
        return False


def _is_header(line: str, path: Path) -> bool:
    name = line.split("#", maxsplit=1)[0].strip().strip("[]").replace(" ", "").replace('"', "")
    return name == ".".join(path) or name.startswith(f"{'.'.join(path)}.")


def _check(text: str, path: Path, values: Json, before: str) -> None:
    """A table may be written in ways that cannot be added to at the end."""
    after = parse(text)
    if _pop(after, path) != values or after != parse(before):
        raise InputError(f"the table {'.'.join(path)} cannot be added automatically")


def _pop(document: dict[str, Json], path: Path) -> Json:
    """Take a table out, and the tables around it that are empty then."""
    *outer, last = path
    tables: list[dict[str, Json]] = [document]
    for key in outer:
        inner = tables[-1].get(key)
        if not isinstance(inner, dict):
            return None
        tables.append(inner)
    value = tables[-1].pop(last, None)
    for table, key in zip(reversed(tables[:-1]), reversed(outer), strict=True):
        if not table[key]:
            del table[key]
    return value


def _value(value: Json) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value)
