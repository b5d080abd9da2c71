"""Outputs in files."""

from __future__ import annotations

import os
from pathlib import Path

from tract.hooks.spills import read_spill


def test_the_first_readable_file_counts(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\xff")
    text = read_spill([tmp_path / "missing", tmp_path, tmp_path / "a.txt"])
    assert text == "one\r\ntwo\ufffd"
    assert read_spill([tmp_path / "missing", Path("a\0b")]) is None


def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert read_spill([tmp_path / "pipe"]) is None
