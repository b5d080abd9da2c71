"""A person's home with a project in it, and the programs that run there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / ".clients" / "node_modules" / ".bin"
NOBODY = "http://127.0.0.1:9"
"""A proxy that does not listen: what is not on this machine fails at once."""
SECONDS = 120


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
        }

    def write(self, name: str, text: str) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    def tract(self, *args: str) -> str:
        return self.run("tract", *args).stdout

    def tract_json(self, *args: str) -> Any:
        return json.loads(self.tract(*args, "--json"))

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
