"""What to install where an optional dependency is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tract.errors import MissingExtraError

PROJECT = "tract-context"


def missing_extra(what: str, extra: str) -> MissingExtraError:
    """The error of something that needs an extra."""
    return MissingExtraError(f"{what} needs the extra {extra}: {install_command(extra)}")


def missing_package(what: str, package: str) -> MissingExtraError:
    """The error of something that needs a package for which there is no extra."""
    return MissingExtraError(f"{what} needs {package}: pip install {package}")


def install_command(extra: str) -> str:
    """The command that adds an extra to this installation: from where tract was installed, which
    may be a package index, a file, a repository or a clone."""
    source = _source() or _clone()
    if source is None:
        return f'pip install "{PROJECT}[{extra}]"'
    url = str(source.get("url", ""))
    if "dir_info" in source:
        option = "-e " if source["dir_info"].get("editable") else ""
        return f'pip install {option}"{_folder(url)}[{extra}]"'
    version_control = source.get("vcs_info", {}).get("vcs")
    scheme = f"{version_control}+" if version_control else ""
    return f'pip install "{PROJECT}[{extra}] @ {scheme}{url}"'


def _source() -> dict[str, Any] | None:
    """Where tract was installed from, as pip and uv note it; None for an index."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        note = distribution(PROJECT).read_text("direct_url.json")
    except PackageNotFoundError:
        return None
    return dict(json.loads(note)) if note else None


def _clone() -> dict[str, Any] | None:
    """The clone that this runs in without being installed."""
    root = Path(__file__).resolve().parents[2]
    return {"url": root.as_uri(), "dir_info": {}} if (root / "pyproject.toml").is_file() else None


def _folder(url: str) -> str:
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    path = Path(url2pathname(urlsplit(url).path))
    return "." if path == Path.cwd() else str(path)
