"""The project's own promises: how it is locked, named, run and laid out."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
UNTESTED = {"__init__", "__main__"}  # modules that need no test file of their own
# Anything that ties a lock file to one machine: a URL, a path, an index option, a host name.
LOCAL = re.compile(
    r"://|\bfile:|^\s*-(?!-hash=sha256:)|@\s|\b[\w-]+\.(?:com|org|net|io|dev|local|internal)\b",
    re.MULTILINE,
)


def test_lock_files_name_no_machine() -> None:
    locks = [*ROOT.glob("constraints*.txt"), *ROOT.glob("requirements*.txt")]
    assert ROOT / "constraints.txt" in locks
    assert not (ROOT / "uv.lock").exists()
    for lock in locks:
        assert LOCAL.findall(lock.read_text()) == [], lock.name


@pytest.mark.parametrize(
    "line",
    [
        "--index-url https://example.org/simple",
        "--extra-index-url mirror",
        "-i mirror",
        "--find-links /opt/wheels",
        "a @ file:///opt/a.whl",
        "    # from pypi.example.com",
    ],
)
def test_the_lock_check_finds(line: str) -> None:
    assert LOCAL.search(f"click==8.5.1 \\\n    --hash=sha256:0a\n{line}\n")


def test_every_locked_version_has_a_hash() -> None:
    entries = re.split(r"\n(?=\w)", (ROOT / "constraints.txt").read_text().strip())
    assert all("==" in entry and "--hash=sha256:" in entry for entry in entries)


def test_ci_runs_the_documented_command() -> None:
    script = ROOT / ".ci" / "run"
    assert "python3 dev.py test" in script.read_text()
    assert script.stat().st_mode & 0o111


def test_version_is_the_installed_one() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == importlib.metadata.version("tract-context")


def test_the_readme_is_read_in_a_minute() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 120


def test_a_how_to_is_short() -> None:
    for page in (ROOT / "docs" / "howto").iterdir():
        assert len(page.read_text("utf-8").splitlines()) <= 80, page.name


def imported(path: Path) -> Iterator[str]:
    """The modules that a file imports, with the names that it takes from them."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_test_module_imports_another() -> None:
    """What tests share stands in modules of its own beside them."""
    guilty = {
        path.name: name
        for path in (*(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").glob("*.py"))
        for name in imported(path)
        if re.match(r"tests(\.\w+)*\.test_", name)
    }
    assert guilty == {}


def test_each_module_has_a_test_file() -> None:
    package = ROOT / "src" / "tract"
    modules = {path.stem for path in package.glob("*.py")}
    modules |= {path.parent.name for path in package.glob("*/__init__.py")}
    tests = [path.stem for path in (ROOT / "tests").rglob("test_*.py")]
    missing = [
        name
        for name in sorted(modules - UNTESTED)
        if not any(test == f"test_{name}" or test.startswith(f"test_{name}_") for test in tests)
    ]
    assert not missing, f"no tests/test_<module>.py for {missing}"
