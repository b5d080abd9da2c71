"""`tract open`, with real servers and a browser that notes where it was sent."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

import httpx2
import pytest

from tests.cli import HEAVY, content_of, environment, imported_by, invoke, run
from tests.serving import serving, url_of
from tract import Tract, connect
from tract.cli.notes import Note, note_path, write_note

NO_PID = 2**31 - 1
"""No process has this number."""
TALK = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]


class Person:
    """A person with a database, a folder for notes and a browser."""

    def __init__(self, folder: Path) -> None:
        self.database = str(folder / "t.db")
        self.state, self._visits = folder / "state", folder / "visits"
        browser = folder / "browser"
        browser.write_text(f'#!/bin/sh\necho "$1" >> "{self._visits}"\n')
        browser.chmod(0o700)
        self.env = {"XDG_STATE_HOME": str(self.state), "BROWSER": str(browser)}
        self._started: set[int] = set()

    def open(self, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
        done = run("--db", self.database, "open", *args, env=self.env | env)
        if self.path.exists():
            self._started.add(self.note().pid)
        return done

    def open_json(self, *args: str) -> dict[str, Any]:
        done = self.open("--json", *args)
        assert done.returncode == 0, done.stderr
        return dict(json.loads(done.stdout))

    @property
    def path(self) -> Path:
        return note_path(self.database, self.env, Path("/nowhere"))

    def note(self) -> Note:
        return Note(**json.loads(self.path.read_text()))

    def note_down(self, url: str, token: str | None) -> None:
        write_note(self.path, Note(url, token or "", NO_PID, self.database))

    def visits(self, count: int = 1) -> list[str]:
        """Where the browser was sent, once it was sent that often."""
        waited(lambda: len(self._lines()) >= count)
        return self._lines()

    def _lines(self) -> list[str]:
        return self._visits.read_text().splitlines() if self._visits.exists() else []

    def end(self) -> None:
        for pid in self._started:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


def waited(look: Any) -> Any:
    """What there is to see, as soon as there is."""
    for _ in range(600):
        if seen := look():
            return seen
        time.sleep(0.05)
    pytest.fail("it does not come")


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    with Tract.open(tmp_path / "t.db", dialog="work") as t:
        t.user("Hello")
    person = Person(tmp_path)
    yield person
    person.end()


def fields(link: str) -> dict[str, str]:
    parts = urlsplit(link)
    assert (parts.path, parts.query) == ("/", "")
    pairs = [pair.split("=") for pair in parts.fragment.split("&")]
    return {name: unquote_to_bytes(value).decode("utf-8", "surrogatepass") for name, value in pairs}


def status(url: str, token: str) -> int:
    try:
        return httpx2.get(f"{url}/api", headers={"authorization": f"Bearer {token}"}).status_code
    except httpx2.TransportError:  # also while it ends
        return 0


# A server of its own


def test_a_server_is_started_and_then_found(person: Person) -> None:
    done = person.open()
    link = done.stdout.strip()
    note = person.note()
    assert link == f"{note.url}/#token={note.token}"
    assert done.stderr == (
        f"started a server for {person.database}; "
        f"stop it with `tract --db {person.database} open --stop`\n"
    )
    assert person.visits() == [link]
    assert status(note.url, note.token) == 200
    assert os.getsid(note.pid) == note.pid  # the end of a terminal is not its own
    assert person.path.stat().st_mode & 0o777 == 0o600
    assert {path.stat().st_mode & 0o777 for path in person.path.parent.iterdir()} == {0o600}

    again = person.open_json("work")
    assert again.pop("link") == f"{note.url}/#dialog=work&token={note.token}"
    assert again == {"url": note.url, "token": note.token, "started": False}
    assert len(person.visits(2)) == 2

    done = person.open("--stop")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"stopped the server of {person.database}\n"
    assert status(note.url, note.token) == 0
    assert not person.path.exists()
    assert person.open("--stop").returncode == 3


def test_a_server_that_was_killed_is_replaced(person: Person) -> None:
    first = person.open_json("--no-browser")
    os.kill(person.note().pid, signal.SIGKILL)
    waited(lambda: status(first["url"], first["token"]) == 0)
    second = person.open_json()
    assert second["started"]
    assert second["token"] != first["token"]
    assert status(second["url"], second["token"]) == 200
    assert person.visits() == [second["link"]]  # and the first one was not visited


def test_a_note_with_a_wrong_token_is_replaced(person: Person) -> None:
    with serving(person.database) as server:
        person.note_down(server.url, "tract_wrong")
        done = person.open_json("--no-browser")
        assert done["started"]
        assert done["url"] != server.url


def test_two_at_once_start_one_server(person: Person) -> None:
    command = [sys.executable, "-m", "tract", "--db", person.database]
    options = {"text": True, "env": environment(**person.env)}
    words = [*command, "open", "--json", "--no-browser"]
    both = [subprocess.Popen(words, stdout=subprocess.PIPE, **options) for _ in range(2)]  # type: ignore[call-overload]
    answers = [json.loads(process.communicate()[0]) for process in both]
    person.open("--no-browser")  # remembers the process
    assert len({answer["url"] for answer in answers}) == 1
    assert sorted(answer["started"] for answer in answers) == [False, True]


def test_a_reader_of_the_link_does_not_wait_for_the_browser(person: Person, tmp_path: Path) -> None:
    busy = tmp_path / "busy"
    busy.write_text(f'#!/bin/sh\necho $$ > "{tmp_path}/pid"\nexec sleep 600\n')
    busy.chmod(0o700)
    with serving(person.database) as server:
        person.note_down(server.url, server.token)
        assert person.open(BROWSER=str(busy)).stdout == f"{server.link}\n"
    pid = waited(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    os.kill(int(pid), signal.SIGKILL)


def customized(folder: Path, program: str) -> str:
    """A path with a program that each interpreter runs first."""
    (folder / "site").mkdir()
    (folder / "site" / "sitecustomize.py").write_text(program)
    return os.pathsep.join([str(folder / "site"), os.environ.get("PYTHONPATH", "")])


def test_a_server_that_does_not_start_says_why(person: Person, tmp_path: Path) -> None:
    path = customized(
        tmp_path,
        "import os, sys\n"
        "if 'serve' in sys.orig_argv:\n"
        "    sys.stderr.write(os.environ['LAST'])\n"
        "    sys.stderr.flush()\n"
        "    os._exit(9)\n",
    )
    for last, fact in {
        "Traceback\nboom\n\n": f"the server did not start: boom; see {person.state}",
        "": "the server did not start: its exit code is 9; see ",
        "tract: no room\n": "no room\n",
    }.items():
        done = person.open(PYTHONPATH=path, LAST=last)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith(f"tract: {fact}")
        assert done.stderr.count("\n") == 1
    assert not person.path.exists()


def test_the_missing_extra_is_said_as_by_serve(person: Person, tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text(json.dumps(TALK))
    path = customized(tmp_path, "import sys\nsys.modules['uvicorn'] = None\n")
    wanted = run("--db", person.database, "serve", env={"PYTHONPATH": path}).stderr
    assert wanted.startswith("tract: a server needs the extra server")
    for words in ((), ("work",), (str(tmp_path / "talk.json"),)):
        done = person.open(*words, PYTHONPATH=path)
        assert (done.returncode, done.stderr) == (1, wanted)


def test_the_url_of_a_database_is_in_no_list_of_processes(person: Person, pg_url: str) -> None:
    person.database = pg_url
    with Tract.open(pg_url, dialog="work") as t:
        t.user("Hello")
    facts = person.open_json("work", "--no-browser")
    with connect(facts["url"], token=facts["token"], dialog="work") as there:
        assert there.head
    command = Path(f"/proc/{person.note().pid}/cmdline").read_text()
    assert "serve" in command
    assert "postgres" not in command
    assert person.open("--stop").returncode == 0


# Servers that a person starts


@contextmanager
def served(person: Person, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    words = ["--db", person.database, "serve", "--port", "0", "--json", "--quiet", *options]
    with subprocess.Popen(
        [sys.executable, "-m", "tract", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**person.env),
    ) as process:
        assert process.stdout is not None
        try:
            yield process, json.loads(process.stdout.readline())["url"]
        finally:
            process.kill()


@pytest.mark.usefixtures("interruptible")
def test_the_last_of_two_servers_is_noted(person: Person) -> None:
    with served(person) as (first, one), served(person, "--host", "localhost") as (second, two):
        assert person.note().url == two != one
        first.terminate()
        assert first.wait(60) == -signal.SIGTERM
        assert person.note().url == two
        answer = person.open_json("--no-browser")
        assert (answer["url"], answer["started"]) == (two, False)
        second.send_signal(signal.SIGINT)
        assert second.wait(60) == 130
        assert not person.path.exists()


def test_a_server_for_others_is_not_noted(person: Person) -> None:
    run("--db", person.database, "token", "add", "x")
    with served(person, "--host", "0.0.0.0"):
        assert not person.path.exists()


def test_a_server_that_may_write_nothing_serves(person: Person) -> None:
    person.env["XDG_STATE_HOME"] = os.devnull
    with served(person) as (process, url):
        assert status(url, "tract_wrong") == 401  # it answers
        process.terminate()
        assert process.wait(60) == -signal.SIGTERM
        assert process.stderr is not None
        assert process.stderr.read() == ""
    done = person.open()
    assert done.returncode == 1
    assert re.fullmatch(r"tract: /dev/null.*: Not a directory\n", done.stderr)


# Places


@pytest.fixture
def here(person: Person, monkeypatch: pytest.MonkeyPatch) -> Iterator[Person]:
    """With a server in this process."""
    for name, value in person.env.items():
        monkeypatch.setenv(name, value)
    with serving(person.database) as server:
        person.note_down(server.url, server.token)
        yield person


def place(person: Person, *args: str) -> dict[str, str]:
    done = invoke("--db", person.database, "open", "--no-browser", *args)
    assert done.exit_code == 0, done.output
    found = fields(done.stdout.strip())
    assert found.pop("token") == person.note().token
    return found


def test_a_dialog_is_named_as_elsewhere(here: Person) -> None:
    with Tract.open(here.database, dialog="other") as t:
        commit = t.user("Why is the build red?").commit_hash
        t.branch("side")
    assert place(here) == {}
    assert place(here, "work") == {"dialog": "work"}
    assert place(here, "1") == {"dialog": "other"}
    assert place(here, "build red") == {"dialog": "other"}
    assert place(here, "--dialog", "oth") == {"dialog": "other"}
    assert place(here, "other", "--at", "HEAD") == {"dialog": "other", "at": commit}
    assert place(here, "other", "--at", commit[:8]) == {"dialog": "other", "at": commit}
    assert place(here, "other", "--at", "side") == {"dialog": "other", "at": "side"}
    for words, fact in {
        ("nope",): "no file 'nope'; and no dialog 'nope' in this database",
        ("work", "--at", "beef"): "beef",
        ("--at", "HEAD"): "which of 2 dialogs?",
    }.items():
        done = invoke("--db", here.database, "open", *words)
        assert done.exit_code == 3
        assert fact in done.stderr


def test_any_name_reaches_the_page(here: Person) -> None:
    names = {"a/b?c#d&e=f%41+", "..", "#token=x", "ü☃😀", "'\"<b>`$(x)", "%", "/", "a  b"}
    with Tract.open(here.database, dialog="work") as t:
        for name in names:
            t.sibling(name).user("Hello")
    numbers = map(str, range(1, len(names) + 2))
    assert {place(here, number)["dialog"] for number in numbers} == {*names, "work"}


def test_the_browser_gets_the_name_unharmed(here: Person) -> None:
    with Tract.open(here.database, dialog="$(touch x) \"'%s%action") as t:
        t.user("Hello")
        done = here.open("--dialog", t.dialog)
    assert here.visits() == [done.stdout.strip()]
    assert fields(here.visits()[0])["dialog"] == t.dialog


def test_another_version_is_said(here: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda _: "9.9")
    done = invoke("--db", here.database, "open", "--no-browser")
    assert re.search(r"version \S+ of tract, and this is 9\.9; end the old one with", done.stderr)


def test_what_does_not_exist_is_not_created(
    person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in ((), ("work",), ("--stop",)):
        done = run("--db", str(tmp_path / "no.db"), "open", *words, env=person.env)
        assert done.returncode == 3, done.stderr
    assert not (tmp_path / "no.db").exists()
    monkeypatch.chdir(tmp_path)
    fact = "tract: no file 'x.json'; and no .tract folder here or above"
    assert invoke("open", "x.json").stderr.startswith(fact)


# Browsers


def test_without_a_browser_there_is_the_link(here: Person, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    nothing = {"BROWSER": "", "DISPLAY": "", "WAYLAND_DISPLAY": "", "PATH": str(tmp_path / "bin")}
    for _ in range(2):
        done = here.open(**nothing)
        assert (done.returncode, done.stderr) == (
            0,
            "there is no browser here; open the link in one\n",
        )
        assert fields(done.stdout.strip()) == {"token": here.note().token}
        text = tmp_path / "bin" / "w3m"  # runs no scripts
        text.write_text(f"#!/bin/sh\ntouch {tmp_path}/text\n")
        text.chmod(0o700)
    assert here.open("--no-browser").stderr == ""
    here.open("work")
    assert len(here.visits()) == 1
    assert not (tmp_path / "text").exists()


def test_the_command_starts_fast() -> None:
    modules = imported_by("open", "--help")
    assert {name.split(".")[0] for name in modules} & HEAVY == set()
    assert modules.isdisjoint({"tract.tract", "tract.cli.transcripts", "tract.web.server"})


# Servers elsewhere


def test_a_server_elsewhere_is_only_visited(person: Person) -> None:
    with serving(person.database) as server:
        env = person.env | {"TRACT_TOKEN": str(server.token)}
        for url, own in ((server.url, env), (url_of(server), person.env)):
            done = run("--db", url, "open", "work", "--json", env=own)
            assert json.loads(done.stdout) == {
                "url": server.url,
                "token": server.token,
                "link": f"{server.url}/#dialog=work&token={server.token}",
                "started": False,
            }
        assert len(person.visits(2)) == 2
        done = run("--db", server.url, "open", "--at", "main", "--no-browser", env=env)
        assert fields(done.stdout.strip()) == {
            "dialog": "work",
            "at": "main",
            "token": str(server.token),
        }
        done = run("--db", server.url, "open", env=person.env | {"TRACT_TOKEN": "tract_wrong"})
        assert done.returncode == 5
        done = run("--db", server.url, "open", "--stop", env=env)
        assert (done.returncode, "where it runs" in done.stderr) == (2, True)
    assert not person.state.exists()


# Files


@contextmanager
def shown(person: Person, *args: str, **options: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    """A process that shows a file, and what it prints."""
    with subprocess.Popen(
        [sys.executable, "-m", "tract", "--db", person.database, "open", "--json", *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**person.env),
        **options,
    ) as process:
        assert process.stdout is not None
        try:
            yield process, json.loads(process.stdout.readline())
        finally:
            terminated(process)


def terminated(process: subprocess.Popen[Any]) -> int:
    """How it ends. A signal just before it starts to read is seen after reading, so there may be
    several."""
    for _ in range(30):
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            return process.wait(2)
    pytest.fail("it does not end")


def database_of(process: subprocess.Popen[str]) -> Path:
    """The database that a process has open."""
    for link in Path(f"/proc/{process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            if link.readlink().name == "tract.db":
                return link.readlink()
    pytest.fail("it has none")


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 130), (signal.SIGHUP, -signal.SIGTERM)],
)
def test_a_file_is_shown_from_memory(
    person: Person, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    talk = tmp_path / "talk.json"
    talk.write_text(json.dumps(TALK))
    before = content_of(tmp_path)
    with shown(person, str(talk)) as (process, facts):
        assert facts["started"]
        assert fields(facts["link"]) == {"dialog": "talk", "token": facts["token"]}
        with connect(facts["url"], token=facts["token"], dialog="talk") as t:
            assert [info.preview for info in t.log()] == ["Hi", "Hello"]
            t.user("What is changed here is lost")
        database = database_of(process)
        assert person.visits() == [facts["link"]]
        process.send_signal(number)
        assert process.wait(60) == code
        assert process.stderr.read().rstrip() == (
            f"showing {talk} from memory; nothing is imported; stop with Ctrl-C"
        )
    assert not database.parent.exists()
    (tmp_path / "visits").unlink()
    assert content_of(tmp_path) == before


def test_a_file_that_is_being_read_can_be_stopped(person: Person, tmp_path: Path) -> None:
    """A pipe to which nobody writes."""
    words = [sys.executable, "-m", "tract", "open", "-"]
    env = environment(**person.env, TMPDIR=str(tmp_path))
    with subprocess.Popen(words, stdin=subprocess.PIPE, env=env) as process:
        waited(lambda: list(tmp_path.glob("tmp*")))
        assert terminated(process) == -signal.SIGTERM
    assert list(tmp_path.glob("tmp*")) == []


def test_a_folder_and_stdin_are_shown_too(person: Person, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    for name in ("one", "two"):
        (folder / f"{name}.json").write_text(json.dumps(TALK))
    with shown(person, str(folder), "--no-browser") as (_, facts):
        assert fields(facts["link"]) == {"token": facts["token"]}
        with connect(facts["url"], token=facts["token"]) as t:
            assert {info.dialog for info in t.dialogs()} == {"one", "two"}
    with (folder / "one.json").open() as file, shown(person, "-", stdin=file) as (process, facts):
        assert fields(facts["link"])["dialog"] == "stdin"
        terminated(process)
        assert process.stderr.read().startswith("showing stdin from memory")
    assert not person.state.exists()


def test_faults_of_a_file_are_said(person: Person, tmp_path: Path) -> None:
    cut = tmp_path / "cut.json"
    cut.write_text(json.dumps(TALK)[:-20])
    with shown(person, str(cut), "--no-browser") as (process, _):
        terminated(process)
        assert process.stderr.read().startswith(run("show", str(cut)).stderr)
    other = tmp_path / "other.json"
    other.write_text('{"a": 1}')
    done = person.open(str(other))
    assert (done.returncode, done.stdout) == (2, "")
    assert "other.json" in done.stderr


def test_options_that_do_not_go_together(person: Person, tmp_path: Path) -> None:
    talk = tmp_path / "talk.json"
    talk.write_text(json.dumps(TALK))
    for words in (("--stop", "work"), ("--stop", "--at", "HEAD"), (str(talk), "--at", "x")):
        done = person.open(*words)
        assert (done.returncode, done.stdout) == (2, "")
        assert "Error: " in done.stderr
