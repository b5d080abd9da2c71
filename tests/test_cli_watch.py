"""Following files, with a clock and a sleep of the test."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tract.cli.watch import PAUSE, REST, follow, stamp_of


class World:
    """A time that passes only when somebody works or sleeps."""

    def __init__(self, *steps: Callable[[], object]) -> None:
        self.now = 0.0
        self.work = 0.0
        self.events: list[str] = []
        self.pauses: list[float] = []
        self._steps = iter(steps)

    def read(self, path: Path) -> str:
        self.now += self.work
        self.events.append(f"read {path.name}: {path.read_text() if path.exists() else None}")
        return path.name

    def settle(self, name: str) -> None:
        self.events.append(f"settled {name}")

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.pauses.append(seconds)
        step = next(self._steps, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    def run(self, files: Callable[[], Iterable[Path]]) -> list[str]:
        stamps = {path: stamp_of(path) for path in files()}
        with pytest.raises(KeyboardInterrupt):
            follow(
                stamps, files, self.read, self.settle, monotonic=lambda: self.now, sleep=self.sleep
            )
        return self.events


def nothing() -> None:
    pass


def test_a_file_that_grows_is_read_again_and_settles(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("1")
    world = World(lambda: path.write_text("12"), lambda: path.write_text("123"), nothing, nothing)
    assert world.run(lambda: [path]) == ["read a: 12", "read a: 123", "settled a"]


def test_a_file_that_stays_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("1")
    assert World(nothing, nothing).run(lambda: [path]) == []


def test_a_new_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "b"
    world = World(lambda: path.write_text("1"))
    assert world.run(lambda: list(tmp_path.iterdir())) == ["read b: 1"]


def test_a_file_that_is_deleted_and_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("1")
    world = World(path.unlink, nothing, lambda: path.write_text("2"))
    assert world.run(lambda: [path]) == ["read a: None", "settled a", "read a: 2"]


def test_the_log_of_a_database_belongs_to_it(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_text("1")
    world = World(lambda: (tmp_path / "a.db-wal").write_text("more"))
    assert world.run(lambda: [path]) == ["read a.db: 1"]


def test_what_is_written_while_a_file_is_read_is_not_missed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("1")
    world = World(lambda: path.write_text("12"), nothing)
    read = world.read

    def read_and_write(path: Path) -> str:
        text = read(path)
        path.write_text("123")
        return text

    world.read = read_and_write  # type: ignore[method-assign]
    assert world.run(lambda: [path]) == ["read a: 12", "read a: 123"]


def test_long_work_is_followed_by_a_long_pause(tmp_path: Path) -> None:
    path = tmp_path / "a"
    world = World(lambda: path.write_text("1"), nothing)
    world.work = 10.0
    world.run(lambda: [path])
    assert world.pauses == [PAUSE, REST * 10.0, PAUSE]
