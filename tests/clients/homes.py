"""A person's home with a project in it, and the programs that run there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tract.storage.sqlite import binding

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / ".clients" / "node_modules" / ".bin"
NOBODY = "http://127.0.0.1:9"
"""A proxy that does not listen: what is not on this machine fails at once."""
SECONDS = 60
SMALL = 1_000_000


class Home:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "home"
        self.project = folder / "project"
        self.path.mkdir()
        self.project.mkdir()
        path = (PROGRAMS, Path(sys.executable).parent, "/usr/local/bin", "/usr/bin", "/bin")
        self.env = {
            "HOME": str(self.path),
            "PATH": os.pathsep.join(map(str, path)),
            "LANG": "C.UTF-8",
            "HTTPS_PROXY": NOBODY,
            "NO_PROXY": "127.0.0.1",
            "npm_config_fetch_retries": "0",  # opencode waits for npm
        }

    def write(self, name: str, text: str) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    def files(self) -> dict[Path, bytes]:
        """What the files of a person's settings hold: the small ones, by their names in here."""
        paths = [path for path in self.path.rglob("*") if path.is_file() and not path.is_symlink()]
        small = [path for path in paths if path.stat().st_size < SMALL]
        return {path.relative_to(self.path): path.read_bytes() for path in small}

    # tract

    @property
    def database(self) -> Path:
        return self.path / ".local" / "share" / "tract" / "tract.db"

    def tract(self, *args: str) -> str:
        return self.run("tract", *args).stdout

    def read(self, *args: str) -> str:
        """What a command prints about the database of the person."""
        return self.tract("--db", str(self.database), *args)

    def read_json(self, *args: str) -> Any:
        return json.loads(self.read(*args, "--json"))

    def dialogs(self) -> list[str]:
        return [info["dialog"] for info in self.read_json("dialogs")]

    def hook_log(self) -> str:
        return (self.path / ".local" / "state" / "tract" / "hook.log").read_text("utf-8")

    @contextmanager
    def locked_database(self) -> Iterator[None]:
        """The database while another process writes to it."""
        connection = binding.connect(str(self.database), isolation_level=None)
        connection.execute("BEGIN EXCLUSIVE")
        yield
        connection.close()

    def wait_for(self, condition: Callable[[], object]) -> None:
        """Some work goes on after an agent has ended."""
        end = time.monotonic() + SECONDS
        while not condition():
            assert time.monotonic() < end, "it did not happen"
            time.sleep(0.1)

    def run(self, *command: str, **env: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command,
            cwd=self.project,
            env=self.env | env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=SECONDS,
        )
        assert done.returncode == 0, f"{command[0]} failed:\n{done.stdout[-3000:]}\n{done.stderr}"
        return done
