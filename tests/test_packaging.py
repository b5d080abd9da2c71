"""The wheel, in an empty environment, with nothing but what it asks for."""

from __future__ import annotations

import email
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
BIN = "Scripts" if os.name == "nt" else "bin"
VERSIONS = ["3.11", "3.12", "3.13", "3.14"]


def run(*command: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A program that sees neither this project nor this test's environment."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "TRACT", "VIRTUAL"))}
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, ROOT]
    done = run(*build, cwd=out)
    assert done.returncode == 0, done.stdout + done.stderr
    [found] = out.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def home(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and its own dependencies."""
    return install(wheel, Path(sys.executable), tmp_path_factory.mktemp("home"))


def install(wheel: Path, python: Path, home: Path) -> Path:
    if python == Path(sys.executable):
        venv.create(home / "venv", with_pip=True, symlinks=os.name != "nt")
    else:
        made = run(python, "-m", "venv", home / "venv", cwd=home)
        assert made.returncode == 0, made.stderr
    pip = [home / "venv" / BIN / "python", "-m", "pip", "install", "--disable-pip-version-check"]
    done = run(*pip, "--no-input", "--retries", "1", "--timeout", "20", wheel, cwd=home)
    if done.returncode and any(sign in done.stderr for sign in OFFLINE):
        pytest.skip(f"no package index can be reached: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stdout + done.stderr
    return home


OFFLINE = ("NewConnectionError", "Failed to establish", "Name or service not known", "timed out")


def python(home: Path, code: str) -> str:
    done = run(home / "venv" / BIN / "python", "-W", "error", "-c", code, cwd=home)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def tract(home: Path, *args: object) -> subprocess.CompletedProcess[str]:
    return run(home / "venv" / BIN / "tract", *args, cwd=home)


# The wheel itself


def test_wheel_says_what_it_is(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as files:
        [metadata] = [name for name in files.namelist() if name.endswith("dist-info/METADATA")]
        said = email.message_from_string(files.read(metadata).decode())
    assert (said["Name"], said["Version"]) == ("tract-context", PROJECT["version"])
    assert said["Requires-Python"] == ">=3.11"
    assert said["License-Expression"] == "MIT"
    classifiers = said.get_all("Classifier") or []
    for version in VERSIONS:
        assert f"Programming Language :: Python :: {version}" in classifiers
    needed = [need for need in said.get_all("Requires-Dist") or [] if "extra ==" not in need]
    names = {need.split(">")[0].split(";")[0].strip() for need in needed}
    assert names == {"click", "msgspec", "zstandard", "pysqlite3"}
    assert {"tokens", "postgres", "all"} <= set(said.get_all("Provides-Extra") or [])


def test_wheel_has_all_of_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as files:
        names = {name for name in files.namelist() if ".dist-info/" not in name}
        licences = [name for name in files.namelist() if name.endswith("LICENSE")]
    source = ROOT / "src"
    tracked = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert names == tracked
    assert {"tract/py.typed", "tract/storage/migrations/0006.sql"} <= names
    page = ("index.html", "main.js", "style.css")
    assert {f"tract/web/static/{name}" for name in page} | {"tract/view/base.css"} <= names
    assert len(licences) == 1


def test_sdist_has_the_documentation(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", tmp_path, ROOT]
    done = run(*build, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    [sdist] = tmp_path.glob("*.tar.gz")
    with tarfile.open(sdist) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    docs = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.*")}
    assert names >= docs | {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "zensical.toml"}


def test_this_python_is_one_of_the_declared() -> None:
    assert f"{sys.version_info.major}.{sys.version_info.minor}" in VERSIONS


# The wheel at work

SMOKE = """
import tract
with tract.Tract.open("smoke.db") as t:
    t.system("be brief")
    t.assistant(tool_calls=[{"id": "c", "name": "grep", "arguments": {"x": 1}}])
    t.tool_result("c", "grep", "line\\n" * 500_000)
    compiled = t.compile()
    assert len(compiled.to_openai()) == 3 and compiled.to_anthropic()["system"]
    assert t.fsck().ok
    print(compiled.token_source)
"""


HIDDEN = ("psycopg", "splintr", "rich", "textual", "pydantic")


def test_what_is_in_the_wheel_works(wheel: Path, tmp_path: Path) -> None:
    """Without its extras, beside the dependencies that are installed here."""
    with zipfile.ZipFile(wheel) as files:
        files.extractall(tmp_path / "wheel")
    hide = f"import sys; sys.path.insert(0, 'wheel'); sys.modules |= dict.fromkeys({HIDDEN})\n"
    seen = "\nprint(tract.__file__)"
    done = run(sys.executable, "-W", "error", "-c", hide + SMOKE + seen, cwd=tmp_path)
    assert done.stdout.split() == ["estimate", str(tmp_path / "wheel" / "tract" / "__init__.py")]


def test_the_demo_is_in_the_wheel(wheel: Path, tmp_path: Path) -> None:
    """It needs neither this repository nor an extra."""
    with zipfile.ZipFile(wheel) as files:
        files.extractall(tmp_path / "wheel")
    hide = f"sys.path.insert(0, 'wheel'); sys.modules |= dict.fromkeys({HIDDEN})"
    code = f"import sys; {hide}; from tract.cli import main; main()"
    done = run(sys.executable, "-W", "error", "-c", code, "demo", "here", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "counted by estimate" in done.stdout
    assert ", 0 problems" in done.stdout
    assert (tmp_path / "here" / "demo.db").is_file()


@pytest.mark.long
def test_the_demo_works_with_the_core_alone(home: Path) -> None:
    shutil.rmtree(home / "demo", ignore_errors=True)
    done = tract(home, "demo", "demo")
    assert (done.returncode, done.stderr) == (0, "")
    assert ", 0 problems" in done.stdout


@pytest.mark.long
def test_works_with_the_core_alone(home: Path) -> None:
    assert python(home, SMOKE) == "estimate"
    absent = ["psycopg", "splintr_rs", "splintr", "rich", "pydantic"]
    code = f"import importlib.util as u; print([n for n in {absent} if u.find_spec(n)])"
    assert python(home, code) == "[]"


@pytest.mark.long
def test_command_works_with_the_core_alone(home: Path) -> None:
    shutil.rmtree(home / "cli", ignore_errors=True)
    (home / "cli").mkdir()
    db = home / "cli" / "x.db"
    code = f"import tract\nwith tract.Tract.open({str(db)!r}) as t: t.user('hello from a wheel')"
    python(home, code)
    log = tract(home, "--db", db, "log")
    assert (log.returncode, log.stderr) == (0, "")
    assert "hello from a wheel" in log.stdout
    assert "\x1b" not in log.stdout
    rows = json.loads(tract(home, "--db", db, "dialogs", "--json").stdout)
    assert [row["dialog"] for row in rows] == ["default"]
    assert tract(home, "--db", db, "fsck").returncode == 0
    assert tract(home, "--db", db, "show", "0" * 64).returncode == 3
    assert tract(home, "nonsense").returncode == 2
    assert PROJECT["version"] in tract(home, "--version").stdout


@pytest.mark.long
def test_python_dash_m_is_the_command(home: Path) -> None:
    done = run(home / "venv" / BIN / "python", "-m", "tract", "--help", cwd=home)
    assert done.returncode == 0
    assert "log" in done.stdout


@pytest.mark.long
def test_missing_extras_say_what_to_install(home: Path) -> None:
    code = """
import tract
for open_it in (
    lambda: tract.Tract.open("postgresql://nobody@/none"),
    lambda: tract.Tract.open(tokens="o200k"),
):
    try:
        open_it()
    except tract.MissingExtraError as error:
        print(error)
"""
    postgres, tokens = python(home, code).splitlines()
    assert 'pip install "tract-context[postgres] @ file:///' in postgres
    assert 'pip install "tract-context[tokens] @ file:///' in tokens


@pytest.mark.long
def test_missing_extra_of_the_command_is_one_line(home: Path) -> None:
    done = tract(home, "--db", "postgresql://nobody@/none", "log")
    assert done.returncode == 1
    assert "tract-context[postgres]" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("version", VERSIONS)
def test_other_pythons(wheel: Path, tmp_path: Path, version: str) -> None:
    found = shutil.which(f"python{version}")
    if not found or run(found, "-c", "", cwd=tmp_path).returncode:
        pytest.skip(f"no Python {version} at hand")
    home = install(wheel, Path(found), tmp_path)
    assert python(home, SMOKE) == "estimate"
    assert python(home, "import sys; print('%d.%d' % sys.version_info[:2])") == version
