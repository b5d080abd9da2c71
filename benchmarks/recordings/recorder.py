"""Runs the programs of the recipes and keeps what they print, without a trace of this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import ROOT
from benchmarks.recordings import (
    RECIPES,
    Recording,
    doubts,
    read_outputs,
    write_outputs,
)
from benchmarks.recordings.recipe import PROJECT, Build, Done, Recipe

BASE = Path(tempfile.gettempdir()) / "tract-recordings"
"""Stays between two runs, because of what npm has installed into it."""
LIMIT_SECONDS = 300
PYTHON = Path(sys.base_prefix)


def record(names: Sequence[str]) -> Iterator[str]:
    """Record the named recipes, or all, and report each. A program that is missing leaves the
    output that is there."""
    outputs = read_outputs()
    folders: dict[Build, Path] = {}
    for recipe in RECIPES:
        if not names or recipe.name in names:
            if recipe.project not in folders:
                folders[recipe.project] = _make(recipe.project)
            content, code = _record(recipe, folders[recipe.project])
            if code == 127:
                yield f"{recipe.name}: a program is missing"
                continue
            write_outputs(outputs := outputs | {recipe.name: content})
            recording = Recording(recipe, content)
            yield f"{recipe.name}: exit {code}, {len(recording.text):,} characters"
            yield from doubts(recording)


def _make(build: Build) -> Path:
    """The folder of a project, made anew. Its path has the length of what replaces it, so that
    columns and wrapped lines keep their width."""
    folder = BASE / build.__name__
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    build(folder)
    return folder


def _record(recipe: Recipe, folder: Path) -> tuple[Any, int]:
    done = _run(recipe, folder)
    clean = Scrubber(folder)
    stdout, stderr, command = map(clean, (done.stdout, done.stderr, done.command))
    return recipe.form.wrap(done._replace(stdout=stdout, stderr=stderr, command=command)), done.code


def _run(recipe: Recipe, folder: Path) -> Done:
    script = recipe.command.replace(PROJECT, str(folder))
    start = time.monotonic()
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if recipe.form.is_mixed else subprocess.PIPE,
        timeout=LIMIT_SECONDS,
    )
    seconds = time.monotonic() - start
    stdout = done.stdout.decode("utf-8", "replace")
    stderr = (done.stderr or b"").decode("utf-8", "replace")
    return Done(stdout, stderr, done.returncode, seconds, recipe.command)


def environment() -> dict[str, str]:
    """What a developer's shell has, and nothing of this one's settings."""
    tools = f"{ROOT}/.venv/bin:{BASE}/node/node_modules/.bin"
    git = {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "Dana Vale"), ("EMAIL", "dana@example.org"))
    }
    return git | {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "HOME": str(Path.home()),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "USER": "dev",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "MANWIDTH": "80",
        "PAGER": "cat",
        "GOPROXY": "off",
        "GOTOOLCHAIN": "local",
        "PIP_CERT": os.environ.get("PIP_CERT", ""),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_PROGRESS_BAR": "off",
        "PYTHONDONTWRITEBYTECODE": "1",
        "npm_config_update_notifier": "false",
        "npm_config_userconfig": os.devnull,
    }


class Scrubber:
    """Replaces what is of this machine by neutral names."""

    def __init__(self, folder: Path) -> None:
        self._names = {
            str(folder): PROJECT,
            str(BASE / "node"): PROJECT,
            str(ROOT): PROJECT,
            str(BASE): "/home/dev",
            str(PYTHON): "/usr",
            str(Path.home()): "/home/dev",
            os.uname().release: "6.1.0",
        }
        self._host = re.compile(rf"\b{re.escape(os.uname().nodename)}\b")

    def __call__(self, text: str) -> str:
        for name, neutral in self._names.items():
            text = text.replace(name, neutral)
        text = self._host.sub("devbox", text)
        return _HOSTS.sub(r"\1\2.example.org", text)


# The hosts of package registries; documentation may name others.
_HOSTS = re.compile(
    r"(https?://)(registry|index|static|proxy|repo|files|pypi|deb|security|sum)(?:\.[a-z0-9-]+)+"
)
