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
UNTESTED = {"__init__", "__main__"}
TESTED_WITH = {
    # From the outside, as a person or a program uses them.
    "cli": "test_cli",
    "tui": "test_tui_screens",
    # As one: what they do shows only together.
    "content/preview": "test_content_preview",
    "core/place": "test_core_chain",
    "llm": "test_llm",
    "providers/frameworks": "test_providers_frameworks",
    "providers/validate": "test_providers_validate",
    "storage": "test_storage",
    # With the format that they are for.
    "importers/conventions": "test_importers_otel",
    "importers/histories": "test_importers_otel",
    "importers/openhands_files": "test_importers_openhands_sdk",
    "importers/otlp": "test_importers_otel",
    "importers/blocks": "test_importers_claude_stream",
    "importers/archives": "test_importers_inspect_log",
    "importers/bedrock": "test_importers_exchanges",
    "importers/sqlite_files": "test_importers_llm_logs",
    "importers/conversations": "test_importers_openai_chat",
    "importers/message_files": "test_importers_langchain",
    "importers/partial_json": "test_importers_source",
    # With the clients that they record.
    "integrations/openai_ledger": "test_integrations_openai_agents",
    "integrations/recorder": "test_integrations_sdk",
    "integrations/sdk_http": "test_integrations_sdk",
    "integrations/wire": "test_integrations_sdk",
    "importers/recordings": "test_importers_exchanges",
    # With what everything that uses them is tested by.
    "content/blocks": "test_providers_call_ids",
    "core/call_ids": "test_importers_call_ids",
    "content/hits": "test_content_query",
    "content/reader": "test_content_query",
    "importers/items": "test_importers_contract",
    "importers/provider": "test_importers_requests",
    "providers/assemblers": "test_providers_streams",
    "providers/base": "test_providers_registry",
    "providers/functions": "test_providers_tools",
    "providers/responses_items": "test_providers_openai_responses",
    "session": "test_session",
    "remote/values": "test_remote_operations",
    "remote/views": "test_web_views",
    "web/app": "test_web_access",
    "web/desk": "test_web_methods",
    "web/intake": "test_web_access",
    "web/reply": "test_web_faults",
    "web/results": "test_web_ids",
}
"""Modules and packages without a test file of their own, the file that tests them, and why."""
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


def defining(package: Path) -> Iterator[str]:
    """The modules that define something, by their paths without suffix; a package by its own."""
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).with_suffix("").as_posix().removesuffix("/__init__")
        body = ast.parse(path.read_text("utf-8")).body
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)
        if name not in UNTESTED and any(isinstance(node, kinds) for node in body):
            yield name


def test_each_module_has_a_test_file() -> None:
    """`core/chain` has tests/test_core_chain.py, or its reason stands in TESTED_WITH."""
    modules = set(defining(ROOT / "src" / "tract"))
    tests = {path.stem for path in (ROOT / "tests").glob("test_*.py")}
    tests |= {
        path.stem.replace("test_", "test_integrations_")
        for path in (ROOT / "tests" / "frameworks").glob("test_*.py")
    }
    missing = []
    for module in sorted(modules):
        packages = [str(parent) for parent in Path(module).parents]
        shared = [TESTED_WITH[key] for key in (module, *packages) if key in TESTED_WITH]
        if not {f"test_{module.replace('/', '_')}", *shared} & tests:
            missing.append(module)
    assert missing == []


def test_what_is_tested_elsewhere_needs_to_be() -> None:
    """A module that got its own test file, or is gone, leaves TESTED_WITH."""
    modules = set(defining(ROOT / "src" / "tract"))
    packages = {str(parent) for module in modules for parent in Path(module).parents}
    assert set(TESTED_WITH) <= modules | packages
    own = [name for name in TESTED_WITH if f"test_{name.replace('/', '_')}" == TESTED_WITH[name]]
    assert [name for name in own if name not in packages] == []


def bindings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every name that a module gives to something, and its line."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield node.lineno, name
            case ast.ClassDef(name=name) | ast.ExceptHandler(name=str(name)):
                yield node.lineno, name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield node.lineno, name
            case ast.MatchMapping(rest=str(name)) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.alias(name=name, asname=alias):
                yield node.lineno, alias or name


VAGUE = {"said", "told", "given", "found"}


def test_names_say_what_a_value_is() -> None:
    """Participles do not: `hits`, `request`, `fields` or `message` do."""
    vague = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in sorted((ROOT / "src").rglob("*.py"))
        for line, name in bindings(ast.parse(path.read_text("utf-8")))
        if name.strip("_") in VAGUE
    ]
    assert vague == [], f"{len(vague)} vague names"


@pytest.mark.parametrize(
    "code",
    [
        *("found = 1", "found: int = 1", "self.found = 1", "def found(): pass"),
        *("class found: pass", "lambda found: 1", "def f(found): pass"),
        *("def f(*, found=1): pass", "def f(**found): pass"),
        *("for found in x: pass", "[found for found in x]", "with x as found: pass"),
        *("import x as found", "from x import found", "(found := 1)", "a, *found = x"),
        *("try: pass\nexcept E as found: pass", "match x:\n    case [*found]: pass"),
        *("match x:\n    case {**found}: pass", "match x:\n    case str() as found: pass"),
    ],
)
def test_each_way_to_bind_a_name_is_seen(code: str) -> None:
    assert [name for _, name in bindings(ast.parse(code)) if name in VAGUE]
