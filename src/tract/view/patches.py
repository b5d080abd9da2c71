"""Patches: the formats in which models write changes to files. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

from tract.view.diffs import ADDED, CONTEXT, HUNK, REMOVED, EditLine, diff, hunk, mark

BEGIN, END = "*** Begin Patch", "*** End Patch"
_FILE = re.compile(r"\*\*\* (Add|Update|Delete) File: (.*)")
_ACTIONS = {"Add": "write", "Update": "edit", "Delete": "delete"}
_SEARCH = re.compile(r"(?:<{5,9}|-{5,9}) SEARCH>?\s*")
_RULE = re.compile(r"={5,9}\s*")
_REPLACE = re.compile(r"(?:>{5,9}|\+{5,9}) REPLACE\s*")
_LINE_NUMBERS = re.compile(r"((?::\w+:.*\n)+)-{5,9}\n")
_DIFF = re.compile(r"^--- .*\n\+\+\+ .*\n@@ ", re.MULTILINE)
_KINDS = {"+": ADDED, "-": REMOVED, " ": CONTEXT}


class FileEdit(NamedTuple):
    """What a call does to one file."""

    path: str
    """Empty where the patch does not name it."""
    action: str
    """`edit`, `write`, `insert`, `delete` or `move`."""
    unmarked: tuple[EditLine, ...]

    @property
    def lines(self) -> tuple[EditLine, ...]:
        """With marks for what changed inside of a line. Finding those takes time."""
        return mark(list(self.unmarked))

    @property
    def counts(self) -> tuple[int, int]:
        """The lines added and removed."""
        kinds = [line.kind for line in self.unmarked]
        return kinds.count(ADDED), kinds.count(REMOVED)


class Patch(NamedTuple):
    """The files of a patch, and the text around it, such as the command that applies it."""

    files: tuple[FileEdit, ...]
    around: str = ""


def read_patch(text: str) -> Patch | None:
    """A patch in Codex's, Cline's or the unified format; None where the text has none."""
    if BEGIN in text:
        return _begin_patch(text)
    if _SEARCH.search(text) and _REPLACE.search(text):
        return _search_replace(text)
    return _unified(text) if _DIFF.search(text) else None


class _Files:
    """The files of a patch while its lines are read."""

    def __init__(self) -> None:
        self._files: list[tuple[str, str, list[EditLine]]] = []
        self.around: list[str] = []

    def begin(self, path: str, action: str = "edit") -> None:
        self._files.append((path, action, []))

    def add(self, line: EditLine) -> None:
        self._files[-1][2].append(line)

    def move(self) -> None:
        path, _, lines = self._files[-1]
        self._files[-1] = path, "move", lines

    def __bool__(self) -> bool:
        return bool(self._files)

    def patch(self) -> Patch | None:
        files = tuple(FileEdit(path, action, tuple(lines)) for path, action, lines in self._files)
        return Patch(files, "\n".join(self.around)) if files else None


def _begin_patch(text: str) -> Patch | None:
    """Codex's format."""
    before, _, patch = text.partition(BEGIN)
    patch, _, after = patch.partition(END)
    files = _Files()
    for line in patch.strip("\n").split("\n"):
        header = _FILE.match(line)
        if header:
            files.begin(header[2].strip(), _ACTIONS[header[1]])
        elif not files:
            files.around.append(line)
        else:
            if line.startswith("*** Move to: "):
                files.move()
            files.add(_patch_line(line))
    files.around = [part for part in (before.strip(), *files.around, after.strip()) if part]
    return files.patch()


def _patch_line(line: str) -> EditLine:
    if line.startswith(("@@", "*** ", "\\ ")):
        return EditLine(HUNK, line.removeprefix("*** "))
    kind = _KINDS.get(line[:1])
    return EditLine(kind, line[1:]) if kind else EditLine(CONTEXT, line)


def _unified(text: str) -> Patch | None:
    files, is_in_hunk = _Files(), False
    lines = text.removesuffix("\n").split("\n")
    for number, line in enumerate(lines):
        if _is_header(lines[number : number + 3]):
            files.begin(_unified_path(line, lines[number + 1]))
            is_in_hunk = False
        elif files and line.startswith("@@ "):
            files.add(EditLine(HUNK, line))
            is_in_hunk = True
        elif is_in_hunk and line[:1] in ("+", "-", " ", "\\", ""):
            files.add(_patch_line(line))
        elif not (files and not is_in_hunk and line.startswith("+++ ")):
            files.around.append(line)
            is_in_hunk = False
    return files.patch()


def _is_header(lines: list[str]) -> bool:
    """A changed line may look like one, so the next hunk has to follow."""
    starts = ("--- ", "+++ ", "@@ ")
    return len(lines) == 3 and all(map(str.startswith, lines, starts))


def _unified_path(old: str, new: str) -> str:
    names = [line[4:].split("\t")[0].strip() for line in (new, old)]
    name = next((name for name in names if name != "/dev/null"), "")
    return re.sub(r"^[ab]/", "", name)


def _search_replace(text: str) -> Patch | None:
    """Cline's format: blocks of old lines, a rule, and new lines."""
    files = _Files()
    files.begin("")
    old: list[str] = []
    new: list[str] | None = None
    is_open = False
    for line in text.split("\n"):
        if not is_open and _SEARCH.fullmatch(line):
            old, new, is_open = [], None, True
        elif not is_open:
            files.around += [line] if line.strip() else []
        elif new is None and _RULE.fullmatch(line):
            new = []
        elif new is None:
            old.append(line)
        elif _REPLACE.fullmatch(line):
            for part in _replacement(old, new):
                files.add(part)
            is_open = False
        else:
            new.append(line)
    return None if is_open else files.patch()  # a block that is cut off is no patch


def _replacement(old: list[str], new: list[str]) -> list[EditLine]:
    """One block. Roo writes the numbers of the lines above the old ones."""
    text = "".join(f"{line}\n" for line in old)
    numbers = _LINE_NUMBERS.match(text)
    if not numbers:
        return [*hunk("replace"), *diff(old, new)]
    rest = text[numbers.end() :].removesuffix("\n")
    where = " ".join(["replace", *numbers[1].split()])
    return [*hunk(where), *diff(rest.split("\n") if rest else [], new)]
