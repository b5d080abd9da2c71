"""What to install where an optional dependency is missing."""

from __future__ import annotations

import importlib
import json
import re
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest

from tests.cli import ROOT
from tract import MissingExtraError
from tract.extras import PROJECT, install_command, missing_extra

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
    "optional-dependencies"
]


def test_every_hint_names_an_extra_that_exists() -> None:
    sources = {path: path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py")}
    call = re.compile(r"(?:missing_extra\([^)]*?|install_command\()[\"'](\w+)[\"']\)")
    names = {name for text in sources.values() for name in call.findall(text)}
    names |= {"anthropic", "openai"}  # the packages of the SDKs
    assert len(names) >= 8
    assert names <= set(EXTRAS)


def test_no_hint_is_written_by_hand() -> None:
    """Only one function knows how this installation gets an extra."""
    sources = [path for path in (ROOT / "src").rglob("*.py") if path.name != "extras.py"]
    assert [path.name for path in sources if "pip install" in path.read_text("utf-8")] == []


@pytest.mark.parametrize(
    ("module", "package"),
    [
        ("strands", "strands-agents"),
        ("smolagents", "smolagents"),
        ("agno", "agno"),
        ("crewai", "crewai"),
    ],
)
def test_a_framework_that_is_not_installed_is_named(module: str, package: str) -> None:
    with pytest.raises(MissingExtraError, match=f"pip install {package}$"):
        importlib.import_module(f"tract.integrations.{module}")


@pytest.mark.parametrize(
    ("source", "command"),
    [
        (None, 'pip install "tract-context[tui]"'),
        (
            {"url": "file:///a%20b/tract", "dir_info": {"editable": True}},
            'pip install -e "/a b/tract[tui]"',
        ),
        ({"url": "file:///a/tract", "dir_info": {}}, 'pip install "/a/tract[tui]"'),
        (
            {"url": "https://example.org/t.git", "vcs_info": {"vcs": "git"}},
            'pip install "tract-context[tui] @ git+https://example.org/t.git"',
        ),
        (
            {"url": "file:///a/tract-1-py3-none-any.whl", "archive_info": {}},
            'pip install "tract-context[tui] @ file:///a/tract-1-py3-none-any.whl"',
        ),
    ],
)
def test_the_command_fits_how_tract_was_installed(
    source: dict[str, object] | None, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = json.dumps(source) if source else None
    kind = type(distribution(PROJECT))
    monkeypatch.setattr(kind, "read_text", lambda self, name: note)
    monkeypatch.setattr("tract.extras._clone", lambda: None)
    assert install_command("tui") == command


def test_a_clone_is_named_as_it_is_seen_from_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tract.extras._source", lambda: None)
    monkeypatch.chdir(ROOT)
    assert install_command("tui") == 'pip install ".[tui]"'
    monkeypatch.chdir(Path("/"))
    assert install_command("tui") == f'pip install "{ROOT}[tui]"'


def test_the_error_says_what_needs_it() -> None:
    error = missing_extra("the text interface", "tui")
    assert isinstance(error, MissingExtraError)
    assert str(error).startswith("the text interface needs the extra tui: pip install ")
