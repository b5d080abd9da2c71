"""`tract tui` from the outside: what it opens, and what it says where it cannot."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from threading import Timer

import pytest

from tests.cli import content_of, dangerous, environment, invoke, ok, on_a_terminal, read_until, run
from tests.samples.conversation import CHAT, REQUEST
from tests.serving import serving, url_of
from tests.tui import in_loop, masked, recorded, seat
from tract import Tract, connect


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a transcript and without a database, entered."""
    monkeypatch.chdir(tmp_path)
    Path("chat.json").write_text(json.dumps(CHAT))
    return tmp_path


def ended(*args: str, until: str, keys: str, **env: str) -> str:
    """What the screen had, up to these words; then the keys are pressed, and it must end."""
    with on_a_terminal(*args, columns=80, TERM="xterm-256color", **env) as (process, ours):
        deadline = Timer(30, process.kill)
        deadline.start()
        screen = read_until(ours, until)
        os.write(ours, keys.encode())
        screen += read_until(ours, None)
        assert process.wait(60) == 0, screen
        deadline.cancel()
    return screen


@pytest.mark.parametrize("package", ["textual", "rich"])
def test_without_textual_it_says_what_to_install(here: Path, package: str) -> None:
    script = f"import sys; sys.modules['{package}'] = None; from tract.cli import main; main()"

    def told(command: str) -> subprocess.CompletedProcess[str]:
        args = [sys.executable, "-c", script, command, "chat.json"]
        return subprocess.run(args, capture_output=True, text=True, env=environment())

    done = told("tui")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("tract: the text interface needs the extra tui: pip install ")
    shown = told("show")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "[tool_use] shell make" in shown.stdout


def test_without_a_terminal_it_does_not_wait(here: Path) -> None:
    done = run("tui", "chat.json", stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == "tract: the text interface needs a terminal; `tract show` works without one\n"
    )


def test_a_transcript_is_opened_and_only_read(here: Path) -> None:
    before = content_of(here)
    screen = ended("tui", "chat.json", until="It does not build.", keys="qq")
    assert "shell" in screen
    assert "Traceback" not in screen
    assert content_of(here) == before


def test_the_dialogs_of_a_database_and_one_of_them(here: Path) -> None:
    ok("init")
    ok("import", "chat.json", "--dialog", "built")
    ok("--dialog", "asked", "commit", "What is new?")
    screen = ended("tui", until="built", keys="q")
    assert "asked" in screen
    for args in (("tui", "asked"), ("--dialog", "asked", "tui"), ("tui", "1")):
        assert "What is new?" in ended(*args, until="What is new?", keys="qq")


def test_an_unknown_name_is_one_clear_line(here: Path) -> None:
    (here / "folder").mkdir()
    for name in ("nowhere", "folder"):
        done = invoke("tui", name)
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (3, "", 1)
    ok("init")
    ok("commit", "x")
    for name in ("nowhere", "folder", "chat.jsonl"):
        done = invoke("tui", name)
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (3, "", 1)
        assert done.stderr.startswith(f"tract: no dialog '{name}' in this database; ")
    for name in ("-", "a\x1b[31m\u202e"):
        done = invoke("tui", name)
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert dangerous(done.stderr) == set()


def test_what_is_no_transcript_is_one_line(here: Path) -> None:
    Path("odd.txt").write_text("# A title\n")
    done = invoke("tui", "odd.txt")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "tract: odd.txt: no format that can be imported\n"


@pytest.mark.parametrize(
    ("prices", "code", "words"),
    [
        (None, 2, "No such file"),
        (b"[m", 2, "not valid TOML"),
        (b"\xff\xfe", 2, "not valid TOML"),
        (b"m = 3", 2, "not a valid price list"),
        (b"[m]\ninput = 3", 2, "not a valid price list"),
        (b"[m]\ninput = 3\noutput = 'x'", 2, "not a valid price list"),
    ],
)
def test_prices_that_cannot_be_read(
    here: Path, prices: bytes | None, code: int, words: str
) -> None:
    if prices is not None:
        Path("prices.toml").write_bytes(prices)
    for args, env in (
        (["--prices", "prices.toml"], {}),
        ([], {"TRACT_PRICES": "prices.toml"}),
    ):
        done = invoke("tui", "chat.json", *args, **env)
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (code, "", 1)
        assert "prices.toml" in done.stderr
        assert words in done.stderr


def test_without_colour_there_are_tags(here: Path) -> None:
    Path("request.json").write_text(json.dumps(REQUEST))
    screen = ended("tui", "request.json", until=" a1", keys="qq", NO_COLOR="1")
    assert "38;5;33" not in screen


@in_loop
async def test_a_server_looks_like_a_file(tmp_path: Path) -> None:
    """Read, and pinned: what is on the screen, and what is stored then."""
    with recorded(tmp_path / "t.db") as here:
        here.backup(tmp_path / "copy.db")
        with serving(str(tmp_path / "copy.db")) as server, connect(url_of(server)) as there:
            screens = [await looked_at(tract) for tract in (here, there)]
            assert screens[0] == screens[1]
            logs = [tract.sibling("work").log() for tract in (here, there)]
            hashes = [[info.commit_hash for info in log] for log in logs]
            assert hashes[0] == hashes[1]


async def looked_at(tract: Tract) -> list[str]:
    """The dialog after its first message was pinned, and the list of dialogs."""
    async with seat(tract, size=(100, 30), title="t") as here:
        await here.press("p")
        first = here.text
    async with seat(tract, None, size=(120, 20), title="t") as here:
        await here.until(lambda: "…" not in here.text)
        return [masked(first), masked(here.text)]
