#!/usr/bin/env python3
"""Everything a developer runs: `python3 dev.py demo`, `python3 dev.py test`.

Needs only Python 3.11 or newer. The first call builds .venv beside this file from the hashed
versions in constraints.txt; later calls start at once.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
STAMP = VENV / "tract-stamp"
CONSTRAINTS = ROOT / "constraints.txt"
BIN = "Scripts" if os.name == "nt" else "bin"
CLIENTS = ROOT / ".clients"
# Under another Node than this one, npm installs an old Claude Code without a word.
CLIENT_VERSIONS = {
    "node": "22.23.3",
    "@anthropic-ai/claude-code": "2.1.325",
    "@openai/codex": "0.166.0",
    "@google/gemini-cli": "0.61.0",
    "@github/copilot": "1.0.102",
    "opencode-ai": "1.18.33",
}
FRAMEWORKS = ROOT / ".frameworks"
# Strands, crewai and litellm need other versions of openai and mcp than constraints.txt has. Each
# has an environment of its own, so that none of them decides about the versions of the others.
FRAMEWORK_VERSIONS = {
    "strands": ["strands-agents[openai]==1.62.0"],
    "smolagents": ["smolagents[openai]==1.26.0"],
    "agno": ["agno==3.1.10", "openai==3.51.0"],
    "crewai": ["crewai==1.15.30"],
    "litellm": ["litellm[mcp]==1.106.2"],
}
PEERS = ROOT / ".peers"
PEER_VERSIONS = [
    "openai-agents==0.24.0",
    "langgraph==1.2.22",
    "langgraph-checkpoint-sqlite==3.1.2",
    "langchain==1.4.7",
    "langchain-core==1.7.2",
    "llm==0.36",
    "psycopg[binary]==3.3.8",
    "splintr-rs==0.22.0",
]
# The first has no windows, so that a page costs it a quarter of the processor time.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
MEMORY = Path("/dev/shm")  # a file system in memory, on Linux
ROOM = 4_000_000_000
LOCK_OPTIONS = ["--universal", "--generate-hashes", "--no-header", "--no-annotate"]


def main() -> int:
    parser = argparse.ArgumentParser(prog="dev.py", description="Develop tract.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.add_parser("demo", help="see tract work (`tract demo`)", add_help=False)
    test = commands.add_parser(
        "test", help="lint, then pytest; more arguments go to pytest", allow_abbrev=False
    )
    test.add_argument("--long", action="store_true", help="also the tests that take minutes")
    test.add_argument(
        "--clients", action="store_true", help="only the tests with coding agents from npm"
    )
    test.add_argument(
        "--frameworks", action="store_true", help="only the tests with frameworks in own venvs"
    )
    commands.add_parser("lint", help="ruff, mypy, the import layers and the links in the docs")
    commands.add_parser("docs", help="build the docs site into site/")
    bench = commands.add_parser("bench", help="run benchmarks/NAME.py", add_help=False)
    bench.add_argument("name", metavar="NAME")
    commands.add_parser(
        "mutate", help="plant faults in the source and see whether the tests notice", add_help=False
    )
    commands.add_parser("lock", help="write constraints.txt anew, with current versions")

    args, rest = parser.parse_known_args()
    if args.command is None:
        parser.print_help()
        return 0
    if rest and args.command in ("lint", "docs", "lock"):
        parser.error(f"{args.command} takes no arguments: {' '.join(rest)}")
    if args.command == "lock":
        return lock()
    set_up()
    if args.command == "demo":
        return python("-m", "tract", "demo", *rest)
    if args.command == "bench":
        return bench_of(args.name, rest)
    if args.command == "mutate":
        return python("-m", "tests.mutants", *rest)
    if args.command == "docs":
        return docs()
    failed = lint()
    if failed or args.command == "lint":
        return failed
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # or else each process compiles all of it
    if not args.long:
        keep_files_in_memory()
    if args.clients:
        set_up_clients()
        return python("-m", "pytest", "-m", "clients", "tests/clients", *rest)
    if args.frameworks:
        return max(test_framework(name, rest) for name in FRAMEWORK_VERSIONS)
    set_up_browser()
    return python("-m", "pytest", *test_options(args.long, is_choice=bool(rest)), *rest)


def bench_of(name: str, options: list[str]) -> int:
    """Run a benchmark. The one of peers runs where they are installed, unless it is quick: then it
    compares with those that happen to be in .venv."""
    if name == "page":
        set_up_browser()
    folder = VENV
    if name == "peers" and not {"--quick", "--help", "-h"} & set(options):
        set_up_environment(PEERS, PEER_VERSIONS)
        folder = PEERS
    return python("-m", f"benchmarks.{name}", *options, folder=folder)


def test_options(is_long: bool, is_choice: bool) -> list[str]:
    """A choice of tests starts sooner in one process. The whole suite has a worker for each core,
    and one more, because tests also wait: for a time, a disk or another process. Workers that have
    no tests left take some from the others."""
    chosen = ["-m", "not clients and not frameworks"] if is_long else []
    if is_choice:
        return chosen
    return [*chosen, "-n", str((os.cpu_count() or 1) + 1), "--dist", "worksteal"]


def test_framework(name: str, options: list[str]) -> int:
    """Run the tests of one framework in its environment, which has nothing that other tests need:
    hence without their fixtures."""
    set_up_framework(name)
    folder = "tests/frameworks"
    choice = ["-o", "addopts=--import-mode=importlib"]  # without the plugins of other tests
    choice += ["-m", "frameworks", "--confcutdir", folder, f"{folder}/test_{name}.py"]
    choice += ["-W", "ignore"]  # those of frameworks are not ours
    return python("-m", "pytest", *choice, *options, folder=FRAMEWORKS / name)


def keep_files_in_memory() -> None:
    """Put the files of tests into memory where there is room: no commit then waits for a disk."""
    if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
        os.environ["TMPDIR"] = str(MEMORY)


# Set-up


def set_up() -> None:
    """Make .venv hold exactly what constraints.txt says, unless its stamp says it does."""
    wanted = fingerprint()
    if STAMP.is_file() and STAMP.read_text() == wanted:
        return
    if importlib.util.find_spec("ensurepip") is None:
        sys.exit("dev.py: this Python cannot make a venv; on Debian: apt install python3-venv")
    start = time.monotonic()
    say("setting up .venv (once) ...", end="")
    # Clearing removes the stamp first of all, so a set-up that was cut short is done again.
    STAMP.unlink(missing_ok=True)
    venv.create(VENV, clear=True, symlinks=os.name != "nt", with_pip=False)
    quietly(program("python"), "-m", "ensurepip", "--default-pip")
    pip = [program("python"), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    quietly(*pip, "--require-hashes", "--only-binary", ":all:", "-r", str(CONSTRAINTS))
    quietly(*pip, "--no-deps", "--no-build-isolation", "-e", str(ROOT))
    STAMP.write_text(wanted)
    say(f" {time.monotonic() - start:.0f} s")


def set_up_clients() -> None:
    """Make .clients hold the agents of CLIENT_VERSIONS, unless its stamp says it does."""
    wanted = json.dumps({"private": True, "dependencies": CLIENT_VERSIONS}, indent=2)
    stamp = CLIENTS / "tract-stamp"
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    npm = shutil.which("npm")
    if npm is None:
        say("no npm here: the tests with coding agents (Claude Code, Codex, …) are skipped")
        return
    start = time.monotonic()
    say("setting up .clients (once) ...", end="")
    shutil.rmtree(CLIENTS, ignore_errors=True)
    CLIENTS.mkdir()
    (CLIENTS / "package.json").write_text(wanted)
    quietly(npm, "install", "--prefix", str(CLIENTS), "--no-audit", "--no-fund")
    stamp.write_text(wanted)
    say(f" {time.monotonic() - start:.0f} s")


def set_up_framework(name: str) -> None:
    """Make .frameworks/NAME hold a framework, tract, and what runs its tests."""
    pytest = re.findall(r"^pytest==[\d.]+", CONSTRAINTS.read_text(), re.MULTILINE)
    set_up_environment(FRAMEWORKS / name, [*FRAMEWORK_VERSIONS[name], *pytest])


def set_up_environment(folder: Path, wanted: list[str]) -> None:
    """Make a folder an environment with these packages and tract, unless its stamp says it is."""
    written = json.dumps([sys.version, *wanted])
    stamp = folder / "tract-stamp"
    if stamp.is_file() and stamp.read_text() == written:
        return
    start = time.monotonic()
    say(f"setting up {folder.relative_to(ROOT)} (once) ...", end="")
    stamp.unlink(missing_ok=True)
    venv.create(folder, clear=True, symlinks=os.name != "nt", with_pip=True)
    pip = [program("python", folder), "-m", "pip", "install", "--disable-pip-version-check"]
    quietly(*pip, "--no-input", *wanted, "-e", str(ROOT))
    stamp.write_text(written)
    say(f" {time.monotonic() - start:.0f} s")


def set_up_browser() -> None:
    """Make the Chromium without windows be there for the tests of the page, where this may install
    it: as root, on Debian and its relatives. Any other will do. Where there is none, that costs
    those tests, not the others."""
    first, *others = map(shutil.which, BROWSERS)
    without = "another one is slower" if any(others) else "the tests of the page are skipped"
    apt = shutil.which("apt-get")
    if first:
        return
    if apt is None or os.geteuid() != 0:
        say(f"no {BROWSERS[0]} here: {without}; on Debian: apt install {BROWSERS[0]}")
        return
    start = time.monotonic()
    say(f"installing {BROWSERS[0]} (once) ...", end="")
    script = f"{apt} -q update; {apt} -q install -y --no-install-recommends {BROWSERS[0]}"
    done = subprocess.run(
        ["/bin/sh", "-c", script],
        env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        reason = done.stderr.strip().rpartition("\n")[2]
        say(f" failed, so {without}: {reason}")
    else:
        say(f" {time.monotonic() - start:.0f} s")


def fingerprint() -> str:
    """A hash of all that .venv depends on; the linters' settings are not part of it."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    project.pop("tool", None)
    parts = [str(ROOT), sys.version, sys.base_prefix, json.dumps(project), CONSTRAINTS.read_text()]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def lock() -> int:
    """Resolve anew with uv, for every platform, from the public index alone."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("UV_", "PIP_FIND_LINKS"))}
    with tempfile.TemporaryDirectory() as scratch:
        venv.create(scratch, with_pip=True)
        quietly(str(Path(scratch, BIN, "python")), "-m", "pip", "install", "uv")
        uv = [str(Path(scratch, BIN, "uv")), "pip", "compile", "--no-config", "--quiet"]
        inputs = ["pyproject.toml", "--all-extras", "--group", "dev", "--python-version", "3.11"]
        out = Path(scratch, "constraints.txt")
        quietly(*uv, *LOCK_OPTIONS, *inputs, "-o", str(out), env=env)
        CONSTRAINTS.write_text(out.read_text())
    say(f"wrote {CONSTRAINTS.name}")
    return 0


# Checks


def lint() -> int:
    """Run the checks side by side; print only the output of those that fail."""
    start = time.monotonic()
    folders = ("dev.py", "src", "tests", "examples", "benchmarks")
    code = [name for name in folders if (ROOT / name).exists()]
    checks = {
        "ruff check": [program("ruff"), "check", "--quiet", *code],
        "ruff format": [program("ruff"), "format", "--check", *code],
        "mypy": [program("mypy"), "--no-error-summary", *code],
        "lint-imports": [program("lint-imports")],
    }
    running = {
        name: subprocess.Popen(
            command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        for name, command in checks.items()
    }
    failed = 0
    broken = [f"{page.relative_to(ROOT)}: {link}" for page, link in broken_links(pages())]
    if broken:
        failed = 1
        print("links failed:", *broken, sep="\n", flush=True)
    for name, process in running.items():
        output, _ = process.communicate()
        if process.returncode:
            failed = 1
            print(f"{name} failed:\n{output}", flush=True)
    if not failed:
        say(f"lint ok ({time.monotonic() - start:.1f} s)")
    return failed


# Documentation

FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def docs() -> int:
    """Build the site. A broken link fails the build, and so does a name that does not exist."""
    quietly(program("zensical"), "build", "--clean", "--strict")
    say("wrote site/index.html")
    return 0


def pages() -> list[Path]:
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def broken_links(pages: list[Path]) -> Iterator[tuple[Path, str]]:
    """Links to a file or a heading that does not exist. Links to other hosts are not checked."""
    for page in pages:
        for link in LINK.findall(FENCE.sub("", page.read_text("utf-8"))):
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            if "://" in link or (target.exists() and (not anchor or anchor in anchors(target))):
                continue
            yield page, link


def anchors(page: Path) -> set[str]:
    titles = HEADING.findall(FENCE.sub("", page.read_text("utf-8")))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


# Processes


def program(name: str, folder: Path = VENV) -> str:
    return str(folder / BIN / name)


def python(*args: str, folder: Path = VENV) -> int:
    """Run a venv's Python here, its output shown, and give its exit code."""
    with subprocess.Popen([program("python", folder), *args], cwd=ROOT) as process:
        try:
            code = process.wait()
        except KeyboardInterrupt:  # it got the same ctrl-C: let it clean up
            process.wait(timeout=20)
            raise
    return code if code >= 0 else 128 - code  # killed by a signal: as a shell says it


def quietly(*command: str, env: dict[str, str] | None = None) -> None:
    """Run a step; show its output only if it fails."""
    done = subprocess.run(
        command, cwd=ROOT, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode:
        sys.exit(f"\n{done.stdout}\ndev.py: this step failed: {' '.join(command)}")


def say(message: str, end: str = "\n") -> None:
    print(message, end=end, file=sys.stderr, flush=True)


if __name__ == "__main__":
    if sys.version_info < (3, 11):  # noqa: UP036
        sys.exit("dev.py: Python 3.11 or newer is needed, this is " + sys.version.split()[0])
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
