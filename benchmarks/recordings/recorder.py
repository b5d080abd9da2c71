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
from itertools import groupby
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
MISSING = 127
"""What a shell exits with if it does not find a program."""
PYTHON = Path(sys.base_prefix)


def record(names: Sequence[str]) -> Iterator[str]:
    """Record all recipes, or the named ones with those that share a project, because one may build
    on what another left there. Report each. If a program is missing, its old output stays."""
    _install_tools()
    outputs = read_outputs()
    for build, recipes in groupby(sorted(RECIPES, key=_project), key=_project):
        wanted = list(recipes)
        if names and not any(recipe.name in names for recipe in wanted):
            continue
        folder = _make(wanted[0].project)
        yield f"{build}:"
        for recipe in wanted:
            content, code = _record(recipe, folder)
            if code == MISSING:
                yield f"{recipe.name}: a program is missing"
                continue
            write_outputs(outputs := outputs | {recipe.name: content})
            recording = Recording(recipe, content)
            yield f"{recipe.name}: exit {code}, {len(recording.text):,} characters"
            yield from doubts(recording)


def _project(recipe: Recipe) -> str:
    return recipe.project.__name__


TOOLS = (
    *("jest@29", "vitest@2", "mocha@10", "chai@4", "typescript@5", "eslint@8", "lodash@4"),
    *("express@4", "react@18", "jquery@3", "webpack@5", "prettier@3"),
)


def _install_tools() -> None:
    """Once. Without npm, the recipes that need them report what is missing."""
    folder = BASE / "node"
    if not (folder / "node_modules").exists() and shutil.which("npm"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"name": "tools", "private": true}')
        subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", *TOOLS], cwd=folder, check=True
        )


def _make(build: Build) -> Path:
    """The folder of a project, made anew."""
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
    return Done(stdout, stderr, _code(done.returncode), seconds, recipe.command)


def _code(returncode: int) -> int:
    """As a shell reports it: a signal is counted from 128 on."""
    return returncode if returncode >= 0 else 128 - returncode


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
        self._host = re.compile(rf"(?<![\w.-]){re.escape(os.uname().nodename)}(?![\w.-])")

    def __call__(self, text: str) -> str:
        for name, neutral in self._names.items():
            text = text.replace(name, neutral)
        text = self._host.sub("devbox", text)
        text = _SOCKETS.sub("/var/run/postgresql", text)
        return _HOSTS.sub(r"\1\2.example.org", text)


_SOCKETS = re.compile(r"/tmp/pg-recording-\w+")
# The hosts of package registries; documentation may name others.
_HOSTS = re.compile(
    r"(https?://)(registry|index|static|proxy|repo|files|pypi|deb|security|sum)(?:\.[a-z0-9-]+)+"
)
