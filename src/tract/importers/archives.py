"""Untrusted zip archives: read file by file, within bounds."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tract.errors import InputError
from tract.importers.items import Problem

MAX_PIECE = 128 * 1024 * 1024
MAX_ALL = 1024 * 1024 * 1024
MAX_RATIO = 500
RATIO_MATTERS = 16 * 1024 * 1024
MAX_PIECES = 100_000

START = b"PK\x03\x04"
_READABLE = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_BROKEN = (
    zipfile.BadZipFile,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OSError,
    ValueError,
    zlib.error,
    struct.error,
)
"""What the standard library raises for archives that are damaged, encrypted or too new."""
_LOCAL = struct.Struct("<4s5H3L2H")


def first_name(head: bytes) -> str:
    """The name of the first file in an archive that begins with these bytes."""
    if len(head) < _LOCAL.size or not head.startswith(START):
        return ""
    length = _LOCAL.unpack_from(head)[9]
    return head[_LOCAL.size : _LOCAL.size + length].decode("utf-8", "replace")


def names(path: Path) -> list[str]:
    """The names of the files in an archive; none if it cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()[:MAX_PIECES]
    except _BROKEN:
        return []


def pieces(path: Path, folder: str) -> Iterator[tuple[str, bytes] | Problem]:
    """The files of one folder of an archive. An archive that was cut off has lost its table of
    contents, and is read from its beginning."""
    try:
        archive = zipfile.ZipFile(path)
    except _BROKEN as error:
        yield Problem("archive", f"cut or damaged: {error}")
        yield from _scan(path, folder)
        return
    with archive:
        left = MAX_ALL
        infos = {info.filename: info for info in archive.infolist()[:MAX_PIECES]}
        for name, info in infos.items():
            if not name.startswith(folder):
                continue
            try:
                left -= info.file_size
                data = _unpack(archive, info, left)
            except InputError as error:
                yield Problem(name, str(error))
            else:
                yield name, data


def _unpack(archive: zipfile.ZipFile, info: zipfile.ZipInfo, left: int) -> bytes:
    is_bomb = info.file_size > RATIO_MATTERS and info.file_size > MAX_RATIO * info.compress_size
    if info.file_size > MAX_PIECE or left < 0 or is_bomb:
        raise InputError(f"{info.file_size} bytes of {info.compress_size} are too many")
    if info.compress_type not in _READABLE:
        raise InputError(f"compressed in a way that cannot be read here: {info.compress_type}")
    try:
        with archive.open(info) as file:
            return file.read(info.file_size)  # no more than it announced
    except _BROKEN as error:
        raise InputError(f"damaged: {error}") from None


def _scan(path: Path, folder: str) -> Iterator[tuple[str, bytes] | Problem]:
    """The complete files, one after the other from the beginning."""
    with path.open("rb") as file:
        left = MAX_ALL
        while left > 0 and (header := _next(file)):
            name, method, size = header
            try:
                data = _inflate(file, size) if method == zipfile.ZIP_DEFLATED else file.read(size)
            except (zlib.error, InputError) as error:
                yield Problem(name, f"cut or damaged: {error}")
                return
            left -= len(data)
            if name.startswith(folder):
                yield name, data


def _next(file: BinaryIO) -> tuple[str, int, int] | None:
    """Name, compression and size of the file that begins here, or after a mark or two."""
    place = file.tell()
    around = file.read(64)
    if (start := around.find(START)) < 0:
        return None
    file.seek(place + start)
    header = file.read(_LOCAL.size)
    if len(header) < _LOCAL.size:
        return None
    _, _, flags, method, _, _, _, size, _, name_size, extra_size = _LOCAL.unpack(header)
    name = file.read(name_size).decode("utf-8", "replace")
    file.seek(extra_size, 1)
    is_known = method == zipfile.ZIP_DEFLATED or (method == zipfile.ZIP_STORED and not flags & 8)
    return (name, method, size) if is_known and size <= MAX_PIECE else None


def _inflate(file: BinaryIO, size: int) -> bytes:
    """One compressed file; afterwards the position is behind it, also if its header had no size."""
    unpacker, parts, total = zlib.decompressobj(-zlib.MAX_WBITS), [], 0
    start = file.tell()
    read = 0
    while not unpacker.eof:
        packed = unpacker.unconsumed_tail or file.read(65_536)
        if not packed:
            raise InputError(f"it ends after {total} bytes")
        part = unpacker.decompress(packed, 1024 * 1024)
        total += len(part)
        if total > MAX_PIECE:
            raise InputError(f"more than {MAX_PIECE} bytes")
        parts.append(part)
        read = file.tell() - start - len(unpacker.unused_data)
    file.seek(start + (size or read))
    return b"".join(parts)
