"""Power cuts: what a process wrote is recorded; what a disk may have of it later is made up.

A disk has everything that was synced. Of what was written since, it has any part, sector by sector.
Names of files, new or gone, come in their order, and are certain once their folder was synced.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

SECTOR = 512
CALLS = (
    *("openat", "close", "pwrite64", "write", "ftruncate", "fallocate", "fsync", "fdatasync"),
    *("unlink", "unlinkat", "rename", "renameat", "renameat2", "link", "linkat", "writev"),
)
OPTIONS = ("-xx", "-s1000000")  # each byte, in hexadecimal
FOLDER = 0
_CALL = re.compile(r"(\w+)\((.*)\) += (\d+)")
_STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


class Names(NamedTuple):
    """Names of files, all at once; None if a name is gone."""

    changes: dict[str, int | None]


class Write(NamedTuple):
    file: int
    offset: int
    data: bytes


class Truncate(NamedTuple):
    file: int
    size: int


class Sync(NamedTuple):
    file: int


class Said(NamedTuple):
    """The process printed something."""

    line: str


Event = Names | Write | Truncate | Sync | Said


class Recording:
    """The events in a log of strace that concern a folder."""

    def __init__(self, log: Path, folder: Path, first: dict[str, bytes]) -> None:
        """`first` are the files that were there before."""
        self.folder = str(folder)
        self.names = {name: number for number, name in enumerate(first, 1)}
        self.numbers: dict[int, int] = {}  # of open files, by their descriptors
        self.last = len(first)
        self.first = first
        self.events: list[Event] = [
            event for line in log.read_text().splitlines() for event in self._read(line)
        ]

    def _read(self, line: str) -> Iterator[Event]:
        match = _CALL.match(line)
        if not match:  # the call failed, or it is the end
            return
        call, arguments, result = match[1], match[2], int(match[3])
        strings = [bytes.fromhex(text.replace("\\x", "")) for text in _STRING.findall(arguments)]
        if call == "openat":
            yield from self._open(strings[0].decode(), result)
        elif call == "writev":
            yield Said(strings[0].decode().strip())
        elif strings and call not in ("pwrite64", "write"):
            yield from self._name(call, *(path.decode() for path in strings))
        else:
            yield from self._change(call, int(arguments.split(",")[0]), arguments, strings)

    def _own(self, path: str) -> str | None:
        """The name of a file in the folder. The index of a WAL does not outlive a power cut."""
        name = path.removeprefix(f"{self.folder}/")
        return None if name == path or name.endswith("-shm") else name

    def _open(self, path: str, descriptor: int) -> Iterator[Event]:
        name = self._own(path)
        if path == self.folder:
            self.numbers[descriptor] = FOLDER
        elif name:
            if name not in self.names:
                self.last += 1
                self.names[name] = self.last
                yield Names({name: self.last})
            self.numbers[descriptor] = self.names[name]

    def _name(self, call: str, path: str, new_path: str = "") -> Iterator[Event]:
        """A file is unlinked, renamed or linked."""
        name, new_name = self._own(path), self._own(new_path)
        if name:
            changes: dict[str, int | None] = {} if call.startswith("link") else {name: None}
            if new_name:
                changes[new_name] = self.names[name]
            self.names = changed(self.names, changes)
            yield Names(changes)

    def _change(
        self, call: str, descriptor: int, arguments: str, strings: list[bytes]
    ) -> Iterator[Event]:
        file = self.numbers.get(descriptor)
        last = int(arguments.rsplit(", ", maxsplit=1)[-1])
        if call == "close":
            self.numbers.pop(descriptor, None)
        elif file is None:
            return
        elif call == "pwrite64":
            yield Write(file, last, strings[0])
        elif call == "ftruncate":
            yield Truncate(file, last)
        else:
            assert call in ("fsync", "fdatasync"), call
            yield Sync(file)


def changed(names: dict[str, int], changes: dict[str, int | None]) -> dict[str, int]:
    names = {name: file for name, file in names.items() if name not in changes}
    return names | {name: file for name, file in changes.items() if file is not None}


@dataclass
class File:
    synced: bytearray = field(default_factory=bytearray)
    since: list[Write | Truncate] = field(default_factory=list)

    def sync(self) -> None:
        for change in self.since:
            apply(self.synced, change)
        self.since.clear()

    def after_cut(self, dice: random.Random) -> bytes:
        """Of the later changes all, many, few or none, and some of them in part."""
        content = bytearray(self.synced)
        share = dice.choice((0, 0.1, 0.5, 0.9, 1))
        for change in self.since:
            if dice.random() < share:
                pieces = torn(change, dice) if dice.random() < 0.2 else [change]
                for piece in pieces:
                    apply(content, piece)
        return bytes(content)


def apply(content: bytearray, change: Write | Truncate) -> None:
    if isinstance(change, Truncate):
        del content[change.size :]
        content.extend(bytes(change.size - len(content)))
        return
    content.extend(bytes(max(0, change.offset - len(content))))
    content[change.offset : change.offset + len(change.data)] = change.data


def torn(change: Write | Truncate, dice: random.Random) -> list[Write | Truncate]:
    """Some of the sectors that a write changes."""
    if isinstance(change, Truncate):
        return [change]
    ends = range(SECTOR - change.offset % SECTOR, len(change.data) + SECTOR, SECTOR)
    starts = [0, *ends[:-1]]
    return [
        Write(change.file, change.offset + start, change.data[start:end])
        for start, end in zip(starts, ends, strict=True)
        if dice.random() < 0.5
    ]


class Disk:
    """What happens to it, event by event."""

    def __init__(self, first: dict[str, bytes]) -> None:
        self.names = {name: number for number, name in enumerate(first, 1)}
        self.files = {self.names[name]: File(bytearray(first[name])) for name in first}
        self.new_names: list[Names] = []
        self.lines: list[str] = []

    def take(self, event: Event) -> None:
        match event:
            case Names(changes=changes):
                self.new_names.append(event)
                for file in changes.values():
                    if file is not None:
                        self.files.setdefault(file, File())
            case Sync(file=0):
                self.names = self._names(len(self.new_names))
                self.new_names.clear()
            case Sync(file=file):
                self.files[file].sync()
            case Write(file=file) | Truncate(file=file):
                self.files[file].since.append(event)
            case Said(line=line):
                self.lines.append(line)

    def _names(self, number: int) -> dict[str, int]:
        names = self.names
        for each in self.new_names[:number]:
            names = changed(names, each.changes)
        return names

    def after_cut(self, dice: random.Random) -> dict[str, bytes]:
        """The files that there could be, if the power is cut here."""
        names = self._names(dice.randint(0, len(self.new_names)))
        return {name: self.files[file].after_cut(dice) for name, file in names.items()}

    def now(self) -> dict[str, bytes]:
        """The files that there are."""
        for file in self.files.values():
            file.sync()
        names = self._names(len(self.new_names))
        return {name: bytes(self.files[file].synced) for name, file in names.items()}


def cuts(
    recording: Recording, number: int, dice: random.Random
) -> Iterator[tuple[dict[str, bytes], list[str]]]:
    """The files and the lines that were printed, at so many random moments."""
    disk = Disk(recording.first)
    moments = Counter(dice.choices(range(len(recording.events) + 1), k=number))
    for moment, event in enumerate([None, *recording.events]):
        if event:
            disk.take(event)
        for _ in range(moments[moment]):
            yield disk.after_cut(dice), list(disk.lines)
