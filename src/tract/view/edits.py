"""Edits: what a call changes in files, as the lines of a diff. Pure.

Only the arguments are known, not the file: a diff shows what the call replaces and what it writes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import NamedTuple

from tract.model import Json, readable
from tract.providers import parsed
from tract.view.diffs import ADDED, EditLine, all_lines, compare, hunk
from tract.view.patches import FileEdit, Patch, read_patch

PATHS = (
    *("file_path", "filePath", "path", "filepath", "file", "filename", "target_file"),
    *("notebook_path", "absolute_path", "relative_path", "relative_workspace_path", "uri"),
)
OLD_NEW = (
    *(("old_string", "new_string"), ("oldString", "newString"), ("old_str", "new_str")),
    *(("oldText", "newText"), ("old_text", "new_text"), ("old_content", "new_content")),
    *(("old", "new"), ("search", "replace"), ("oldCode", "newCode")),
)
LISTS = ("edits", "replacements", "changes")
WRITTEN = ("content", "file_text", "contents", "fileText", "new_source", "text", "file_content")
INSERTED = ("new_str", "insert_text", "newText", "new_string", "text", "content")
PATCHES = ("patch", "patchText", "patch_text", "diff", "input")
COMMANDS = ("command", "cmd", "script")
_APPLIES = re.compile(r"\bapply_?patch\b|\bgit apply\b|\bpatch\b", re.IGNORECASE)
_WRITERS = re.compile(r"write|create|save|new_?file|notebook_?edit", re.IGNORECASE)
_NO_WRITERS = re.compile(r"todo|stdin|task|issue|memory|comment", re.IGNORECASE)
_EVERYWHERE = ("replace_all", "replaceAll", "allow_multiple")


class Edits(NamedTuple):
    """What a call does to files."""

    files: tuple[FileEdit, ...]
    rest: dict[str, Json]
    """The arguments that the diffs do not show."""


Compare = Callable[[str, str], list[EditLine]]


def leave_out(_old: str, _new: str) -> list[EditLine]:
    """For those who only need the paths: comparing texts takes time."""
    return []


def file_edits(name: str, arguments: Json, comparing: Compare = compare) -> Edits | None:
    """The edits of a call of the tool `name`; None where it is not known to make any."""
    if isinstance(arguments, str):
        if arguments.lstrip()[:1] not in ("{", "["):
            patch = read_patch(arguments)
            return Edits(patch.files, _text_around(patch)) if patch else None
        arguments = parsed(arguments)
    if not isinstance(arguments, dict):
        return None
    return (
        _patch_field(arguments)
        or _several(arguments, comparing)
        or _insertion(arguments)
        or _replacement(arguments, comparing)
        or _written(name, arguments)
    )


def _text_around(patch: Patch) -> dict[str, Json]:
    return {"text": patch.around} if patch.around else {}


def changed_paths(edits: Iterable[Edits]) -> list[str]:
    """The files that edits change, each once, in order."""
    files = chain.from_iterable(edit.files for edit in edits)
    return list(dict.fromkeys(file.path for file in files if file.path))


# One replacement, or several


def _replacement(fields: Mapping[str, Json], comparing: Compare) -> Edits | None:
    path, keys = _first(fields, PATHS), _old_new(fields)
    if path is None or keys is None:
        return None
    lines = hunk("every occurrence" if _is_everywhere(fields) else "")
    lines += comparing(_text(fields, keys[0]), _text(fields, keys[1]))
    return _edits(fields, {path, *keys, *_EVERYWHERE}, _file(fields, path, "edit", lines))


def _several(fields: Mapping[str, Json], comparing: Compare) -> Edits | None:
    """A list of replacements, in one file or in several."""
    key = next((key for key in LISTS if _is_list_of_edits(fields.get(key))), None)
    if key is None:
        return None
    path = _first(fields, PATHS)
    files: dict[str, list[EditLine]] = {}
    parts: list[dict[str, Json]] = fields[key]
    for number, part in enumerate(parts, 1):
        own = _first(part, PATHS)
        name = part[own] if own else fields[path] if path else ""
        heading = f"edit {number} of {len(parts)}" if len(parts) > 1 else ""
        files.setdefault(name, []).extend(_part(part, own, heading, comparing))
    made = [FileEdit(name, "edit", tuple(lines)) for name, lines in files.items()]
    return _edits(fields, {key, path}, *made)


def _part(
    part: Mapping[str, Json], path: str | None, heading: str, comparing: Compare
) -> list[EditLine]:
    """One replacement of several, with everything that it says besides the texts."""
    old, new = _old_new(part) or ("", "")
    used = {path, old, new, *_EVERYWHERE}
    words = [heading, "every occurrence" if _is_everywhere(part) else ""]
    words += [f"{key}: {readable(value)}" for key, value in part.items() if key not in used]
    about = hunk(", ".join(filter(None, words)))
    return [*about, *comparing(_text(part, old), _text(part, new))]


def _is_list_of_edits(value: Json) -> bool:
    is_list = isinstance(value, list) and bool(value)
    return is_list and all(isinstance(part, dict) and _old_new(part) for part in value)


# A part, or a file in full


def _insertion(fields: Mapping[str, Json]) -> Edits | None:
    path, key = _first(fields, PATHS), _first(fields, INSERTED)
    line = next((name for name in ("insert_line", "insertLine") if name in fields), None)
    if path is None or key is None or line is None:
        return None
    lines = [*hunk(f"after line {fields[line]}"), *all_lines(ADDED, _text(fields, key))]
    return _edits(fields, {path, key, line}, _file(fields, path, "insert", lines))


def _written(name: str, fields: Mapping[str, Json]) -> Edits | None:
    """A file that is written in full."""
    is_writer = _WRITERS.search(name) and not _NO_WRITERS.search(name)
    is_writer = is_writer or fields.get("command") in ("create", "write")
    path, key = _first(fields, PATHS), _first(fields, WRITTEN)
    if not is_writer or path is None or key is None:
        return None
    lines = all_lines(ADDED, _text(fields, key))
    return _edits(fields, {path, key}, _file(fields, path, "write", lines))


# Arguments


def _first(fields: Mapping[str, Json], names: Iterable[str]) -> str | None:
    """The first of the names whose value is a text."""
    return next((name for name in names if isinstance(fields.get(name), str)), None)


def _old_new(fields: Mapping[str, Json]) -> tuple[str, str] | None:
    for keys in OLD_NEW:
        if all(isinstance(fields.get(key), str) for key in keys):
            return keys
    return None


def _is_everywhere(fields: Mapping[str, Json]) -> bool:
    return any(fields.get(key) is True for key in _EVERYWHERE)


def _text(fields: Mapping[str, Json], key: str) -> str:
    text = fields.get(key)
    return text if isinstance(text, str) else ""


def _file(
    fields: Mapping[str, Json], path: str, action: str, lines: Iterable[EditLine]
) -> FileEdit:
    return FileEdit(str(fields[path]), action, tuple(lines))


def _edits(fields: Mapping[str, Json], used: set[str | None], *files: FileEdit) -> Edits:
    return Edits(files, {key: value for key, value in fields.items() if key not in used})


# Patches


def _patch_field(fields: Mapping[str, Json]) -> Edits | None:
    """A patch in a field of its own, or applied by a command."""
    for key in (*PATCHES, *COMMANDS):
        words = fields.get(key)
        if words is None:
            continue
        parts = words if isinstance(words, list) else [words]
        text = max((part for part in parts if isinstance(part, str)), key=len, default="")
        patch = read_patch(text)
        others = [readable(part) for part in parts if part is not text]
        around = " ".join(filter(None, [*others, patch.around if patch else ""]))
        if patch and (key in PATCHES or _APPLIES.search(around)):
            rest = {name: value for name, value in fields.items() if name != key}
            return _with_path(patch.files, {**rest, key: around} if around else rest)
    return None


def _with_path(files: tuple[FileEdit, ...], rest: dict[str, Json]) -> Edits:
    """A patch for one file may be beside the path instead of naming it."""
    path = _first(rest, PATHS)
    if path is None or len(files) != 1 or files[0].path not in ("", rest[path]):
        return Edits(files, rest)
    others = {name: value for name, value in rest.items() if name != path}
    return Edits((files[0]._replace(path=str(rest[path])),), others)
