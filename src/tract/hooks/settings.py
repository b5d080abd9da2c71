"""Files of settings with what tract adds to them: as texts, and written with a backup."""

from __future__ import annotations

import json
import os
import re
import shlex
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tract.errors import InputError
from tract.hooks import json_edit, toml_edit
from tract.hooks.plans import (
    Change,
    Entry,
    OwnFile,
    Settings,
    is_own_command,
    is_own_server,
    is_rule,
)
from tract.model import Json

BACKUP = ".tract-backup"
_WORDS = re.compile(r"COMMAND = (\[.*\])")
OWN_FOLDERS = ("hooks", "plugin")
"""Folders that setup may have created for a file of its own."""


class Edit(NamedTuple):
    """A file before and after a change; None where there is none."""

    file: Path
    before: bytes | None
    after: bytes | None
    backup: Path | None = None
    """Where a copy of the former file is, or will be."""

    @property
    def is_change(self) -> bool:
        return self.before != self.after


def note(client: str) -> str:
    """The comment before what is added, where a format has comments."""
    return f"Written by `tract setup {client}`; `tract setup {client} --undo` removes it."


# What a file holds


def has(change: Change, client: str) -> bool:
    """Whether a file has all that setup adds to it, with whatever options."""
    data = _read(change.file)
    if data is None or isinstance(change, OwnFile):
        return data is not None
    _, text = _split(_text(change.file, data))
    return all(_installed(change, entry, text, client) for entry in change.entries)


def installed_commands(change: Change, client: str) -> list[str]:
    """The command lines of the hook that a file has."""
    data = _read(change.file)
    if data is None or (isinstance(change, Settings) and change.format == "toml"):
        return []
    _, text = _split(_text(change.file, data))
    if isinstance(change, Settings):
        groups: Json = [_installed(change, entry, text, client) for entry in change.entries]
    elif change.file.suffix == ".js":
        match = _WORDS.search(text)
        groups = shlex.join(json.loads(match[1])) if match else None
    else:
        groups = json_edit.parse(text)
    return _commands(groups, client)


def _commands(value: Json, client: str) -> list[str]:
    if isinstance(value, str):
        return [value] if is_own_command(value, client) else []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [command for one in inner for command in _commands(one, client)]


def _installed(change: Settings, entry: Entry, text: str, client: str) -> list[Json]:
    """The values of an entry that a file has from an earlier setup."""
    document = (toml_edit if change.format == "toml" else json_edit).parse(text)
    value = json_edit.value_at(document, entry.keys)
    if not entry.is_element:
        return [value] if is_own_server(value) else []
    elements = value if isinstance(value, list) else []
    return [element for element in elements if _is_own(element, entry, client)]


def _is_own(element: Json, entry: Entry, client: str) -> bool:
    """Whether an element of a list is this entry, with whatever options."""
    return element == entry.value if is_rule(entry) else is_own_command(element, client)


# Texts


def added(change: Settings, text: str, client: str) -> str:
    """The text with all entries. What an earlier setup wrote is replaced."""
    if all(_installed(change, entry, text, client) == [entry.value] for entry in change.entries):
        return text
    text = removed(change, text, client, text)
    for entry in change.entries:
        text = _add(change, entry, text, client)
    return text


def _add(change: Settings, entry: Entry, text: str, client: str) -> str:
    if entry.is_element:
        return json_edit.append(text, entry.keys, entry.value)
    toml = change.format == "toml"
    document = (toml_edit if toml else json_edit).parse(text)
    if json_edit.value_at(document, entry.keys) is not None:
        name = ".".join(entry.keys)
        raise InputError(f"{name} exists and does not start tract: remove or rename it first")
    if not toml:
        return json_edit.put(text, entry.keys, entry.value)
    assert isinstance(entry.value, dict)
    return toml_edit.put_table(text, entry.keys, entry.value, note(client))


def removed(change: Settings, text: str, client: str, before: str) -> str:
    """The text without the entries. A list or object that is empty then is removed too, unless the
    former text has it."""
    for entry in change.entries:
        if change.format == "toml":
            if _installed(change, entry, text, client):
                text = toml_edit.remove_table(text, entry.keys, note(client))
            continue
        if entry.is_element:
            is_own = partial(_is_own, entry=entry, client=client)
            text = json_edit.remove_elements(text, entry.keys, is_own)
            text = _without_empty(text, entry.keys, before)
        elif _installed(change, entry, text, client):
            text = json_edit.remove_key(text, entry.keys)
            text = _without_empty(text, entry.keys[:-1], before)
    return text


def _without_empty(text: str, keys: json_edit.Path, before: str) -> str:
    while keys and json_edit.value_at(json_edit.parse(text), keys) in ({}, []):
        if json_edit.value_at(json_edit.parse(before), keys) is not None:
            break
        text, keys = json_edit.remove_key(text, keys), keys[:-1]
    return text


# Edits of files


def setup_edit(change: Change, client: str) -> Edit:
    """The edit that adds the entries of a change."""
    data = _read(change.file)
    if isinstance(change, OwnFile):
        return Edit(change.file, data, change.text.encode())
    mark, text = _split(_text(change.file, data or b""))
    start = text if data is not None and (text or change.format == "toml") else _empty(change)
    try:
        after = added(change, start, client)
    except InputError as error:
        raise InputError(f"{change.file}: {error}; add this yourself:\n{snippet(change)}") from None
    is_first = data is not None and not any(  # a person may have the rules already
        _installed(change, entry, start, client) for entry in change.entries if not is_rule(entry)
    )
    backup = _backup(change.file) if is_first else None
    return Edit(change.file, data, (mark + after).encode(), backup)


def undo_edit(change: Change, client: str) -> Edit:
    """The edit that removes the entries. Where nothing else has changed since the setup, the file
    is again what it was, byte by byte."""
    data, backup = _read(change.file), _read(_backup(change.file))
    if data is None:
        return Edit(change.file, None, None)
    if isinstance(change, OwnFile):
        return Edit(change.file, data, None)
    mark, text = _split(_text(change.file, data))
    former = None if backup is None else _split(_text(change.file, backup))[1]
    try:
        installed = _as_installed(change, text, client)
        if not installed.entries:
            return Edit(change.file, data, data)
        if backup is not None and _adds_up(installed, former or _empty(change), text, client):
            return Edit(change.file, data, backup, _backup(change.file))
        after = removed(installed, text, client, former or _empty(change))
    except InputError as error:
        raise InputError(f"{change.file}: {error}; remove the entries of tract yourself") from None
    if backup is None and after.strip() in ("", "{}"):
        return Edit(change.file, data, None)
    return Edit(change.file, data, (mark + after).encode())


def _adds_up(installed: Settings, former: str, text: str, client: str) -> bool:
    try:
        return added(installed, former, client) == text
    except InputError:
        return False


def _as_installed(change: Settings, text: str, client: str) -> Settings:
    """The change with the values that the file has: setup may have had other options."""
    entries = (
        entry._replace(value=value)
        for entry in change.entries
        for value in _installed(change, entry, text, client)
    )
    return change._replace(entries=tuple(entries))


def snippet(change: Settings) -> str:
    """What a person can paste."""
    lines = []
    for entry in change.entries:
        if change.format == "toml":
            assert isinstance(entry.value, dict)
            lines.append(toml_edit.put_table("", entry.keys, entry.value, "tract").rstrip())
            continue
        value: Json = [entry.value] if entry.is_element else entry.value
        for key in reversed(entry.keys):
            value = {key: value}
        lines.append(json.dumps(value, indent=2, ensure_ascii=False))
    return "\n".join(lines)


def write(edit: Edit) -> None:
    """Write a file at once, as a whole. A link stays a link."""
    file = edit.file.resolve()
    if edit.after is None:
        file.unlink(missing_ok=True)
        if file.parent.name in OWN_FOLDERS:
            with suppress(OSError):  # one that is not empty stays
                file.parent.rmdir()
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    if edit.backup is not None and edit.after != _read(edit.backup):
        _replace(edit.backup, edit.before or b"", file)
    _replace(file, edit.after, file)
    if edit.backup is not None and edit.after == _read(edit.backup):
        edit.backup.unlink()


def _replace(file: Path, data: bytes, like: Path) -> None:
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        mode = like.stat().st_mode & 0o777 if like.exists() else 0o600
        Path(name).chmod(mode)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _backup(file: Path) -> Path:
    real = file.resolve()
    return real.with_name(real.name + BACKUP)


def _read(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None


def _text(file: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{file}: not UTF-8") from None


def _split(text: str) -> tuple[str, str]:
    """The byte order mark that some editors write, and the rest."""
    return ("\ufeff", text[1:]) if text.startswith("\ufeff") else ("", text)


def _empty(change: Settings) -> str:
    return "" if change.format == "toml" else "{}\n"
