"""Which database a command works on. On a server, every command prints what it prints on a file."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

import pytest

from tests.cli import environment, invoke, ok_json
from tests.importing import as_lines
from tests.llm_server import LLMServer
from tests.samples.claude_code import TURN, user
from tests.serving import serving, url_of
from tract import Tract
from tract.access import new_token, token_digest
from tract.cli import COMMANDS
from tract.cli.target import without_password

LINES = "".join(f"src/a{number}.py:{number}: raise KeyError\n" for number in range(200))
CALL = {"id": "call_1", "type": "function", "function": {"name": "grep", "arguments": "{}"}}
CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Where does it fail?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": LINES},
    {"role": "assistant", "content": "In a7.py."},
]
TOOL = {"name": "grep", "description": "Search.", "input_schema": {"type": "object"}}
OTHER = {"name": "ls", "description": "List.", "input_schema": {"type": "object"}}
JSON_RESULT = json.dumps({"items": [{"name": "a"}, {"name": "b"}]})


class Step(NamedTuple):
    """A command. `@3` is the third commit of the branch, counted from the oldest."""

    command: str
    args: tuple[str, ...] = ()
    stdin: str | None = None
    dialog: str = "default"


def step(*args: str, stdin: str | None = None, dialog: str = "default") -> Step:
    return Step(args[0], args[1:], stdin, dialog)


STEPS = (
    step("log"),
    step("dialogs"),
    step("commit", "--file", "chat.json"),
    step("commit", "Look again.", "-m", "a note", "--metadata", '{"a": [1]}', "--json"),
    step("commit", "--role", "tool", "--name", "ls", "--call-id", "x", stdin="a\n\udcff\n"),
    step("commit", "Never.", "--role", "wizard"),
    step("edit", "@2", "Where does it stop?"),
    step("pin", "@1"),
    step("skip", "@5", "-m", "not needed"),
    step("restore", "@5"),
    step("restore", "@5"),
    step("log"),
    step("log", "-n", "2", "--json"),
    step("show", "@4"),
    step("show", "@4", "--json"),
    step("show", "nowhere"),
    step("show"),
    step("show", "--tools", "summary", "--grep", "KeyError"),
    step("show", "--errors", "--json"),
    step("show", "--sent"),
    step("show", "--html", "-"),
    step("show", "chat.json"),
    step("search", "keyerror"),
    step("search", "stop", "--here", "--json"),
    step("search", "nothing like it"),
    step("tools", "set", "tools.json"),
    step("tools"),
    step("tools", "--json"),
    step("tools", "set", "more.json", "-m", "one more"),
    step("tools", "history", "grep"),
    step("tools", "diff", "@10", "HEAD"),
    step("tools", "unused"),
    step("log"),
    step("results"),
    step("results", "--json"),
    step("results", "--superseded"),
    step("result", "call_1"),
    step("result", "call_1", "--lines", "3-5"),
    step("result", "call_1", "--grep", "a19", "-C", "1"),
    step("result", "call_1", "--offset", "10", "--limit", "30", "--json"),
    step("result", "call_1", "--raw"),
    step("result", "x", "--raw"),
    step("result", "nowhere"),
    step("commit", "--role", "tool", "--call-id", "y", "--form", "reference", JSON_RESULT),
    step("result", "y", "--json-path", "$.items[1].name"),
    step("reshape", "reference", "call_1", "--tokens", "50"),
    step("reshape", "summary", "call_1", "--text", "It fails in a7.py.", "--json"),
    step("compile"),
    step("compile", "--params", "--format", "anthropic", "--load-results", "all"),
    step("compile", "--at", "@3", "--format", "gemini"),
    step("compile", "--keep-recent", "1", "--params", "--tools", "inline"),
    step("export", "--format", "markdown"),
    step("export", "--format", "jsonl", "--stored"),
    step("export", "--format", "responses", "--json"),
    step("export", "--format", "anthropic", "--output", "{out}"),
    step("validate", "{out}"),
    step("branch", "try", "--at", "@3"),
    step("branch"),
    step("checkout", "try"),
    step("commit", "Another way."),
    step("log"),
    step("checkout", "@2"),
    step("commit", "On nothing."),
    step("checkout", "main"),
    step("branch", "-d", "try"),
    step("branch", "--json"),
    step("migrate-results", "--inline-tokens", "10", "--json", dialog="moved"),
    step("commit", "--file", "chat.json", dialog="moved"),
    step("migrate-results", "--inline-tokens", "10", dialog="moved"),
    step("migrate-results", "more-chat.json", "--json", dialog="moved"),
    step("log", dialog="moved"),
    step("compress", "--tools", "--dry-run", dialog="moved"),
    step("compress", "--tools", dialog="moved"),
    step("compress", "--content", "They looked.", "--from", "@2", "--to", "@3", "--json"),
    step("summarize", "call_1", "--dry-run"),
    step("summarize", "call_1"),
    step("summarize", "call_1", "--model", "openai:m", "--json"),
    step("compress", "--model", "openai:m", "--instructions", "One line.", dialog="moved"),
    step("log", dialog="moved"),
    step("import", "sessions"),
    step("import", "sessions", "chat.json", "--json"),
    step("import", "chat.json", "--dialog", "named"),
    step("import", "missing.json"),
    step("dialogs"),
    step("dialogs", "--search", "named", "--json"),
    step("forget", "--text", "Look again.", "--dry-run"),
    step("forget", "--text", "Look again.", "--yes"),
    step("forget", "@4", "--yes", dialog="named"),
    step("result", "call_1", dialog="named"),
    step("dialogs", "--delete", "named", "--yes"),
    step("dialogs", "--delete", "named", "--yes"),
    step("gc"),
    step("gc", "--run", "--grace", "0", "--json"),
    step("fsck"),
    step("fsck", "--json"),
    step("backup", "{backup}"),
    step("log", dialog="nobody"),
)
"""Commands in an order in which each has something to do."""

ELSEWHERE = {
    "init": "prints the place of the database",
    "tui": "needs a terminal",
    "mcp": "runs until it is stopped",
    "open": "opens a browser; of a server, at that server",
    "serve": "runs until it is stopped, and serves no other server",
    "token": "prints secrets and times",
    "audit": "a file has no entries",
    "hook": "prints nothing of the database",
    "setup": "edits settings",
    "doctor": "checks the machine",
    "demo": "has a database of its own",
    "cost": "reads transcripts too",
}
"""Commands that the steps leave out, and why."""

TIMES = re.compile(r"(\d{4}-\d\d-\d\d[T ])?\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:00)?")
RECEIPTS = re.compile(r".* receipts, which are deleted\n")
"""Only a server has them."""


class Answer(NamedTuple):
    code: int
    stdout: str


def prepare(folder: Path) -> None:
    (folder / "chat.json").write_text(json.dumps(CHAT))
    (folder / "more-chat.json").write_text(json.dumps([*CHAT, {"role": "user", "content": "Hm"}]))
    (folder / "tools.json").write_text(json.dumps([TOOL]))
    (folder / "more.json").write_text(json.dumps([TOOL, OTHER]))
    sessions = folder / "sessions"
    sessions.mkdir()
    (sessions / "a.jsonl").write_bytes(as_lines(*TURN))
    (sessions / "notes.json").write_text('{"no": "transcript"}')


def name_of(place: str, dialog: str, name: str) -> str:
    log = ok_json("--db", place, "--dialog", dialog, "log")
    return str(log[-int(name[1:])]["commit_hash"])


def carry_out(place: str, step: Step, own: dict[str, str]) -> Answer:
    """Run a command, with the names of files of its own."""
    args = [name_of(place, step.dialog, arg) if arg[0] == "@" else arg for arg in step.args]
    args = [own.get(arg, arg) for arg in args]
    where = (
        ("--db", place, "--dialog", step.dialog) if step.dialog != "default" else ("--db", place)
    )
    stdin = None if step.stdin is None else step.stdin.encode("utf-8", "surrogateescape")
    result = invoke(*where, step.command, *args, stdin=stdin)
    assert "Traceback" not in result.output, result.output
    assert not result.exception or isinstance(result.exception, SystemExit), result.exception
    text = RECEIPTS.sub("", TIMES.sub("TIME", result.stdout))
    for name, path in own.items():
        text = re.sub(rf"{re.escape(path)}(, \d+ bytes)?", name, text)
    return Answer(result.exit_code, text)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[Answer, Answer]]]:
    """What each step prints on a file, and on a server before another file."""
    folder = tmp_path_factory.mktemp("target")
    prepare(folder)
    with pytest.MonkeyPatch.context() as patch, LLMServer() as model:
        patch.chdir(folder)
        patch.setenv("OPENAI_BASE_URL", model.openai_url)
        patch.setenv("OPENAI_API_KEY", "k")
        with Tract.open("file.db"):
            pass
        with serving("served.db", durability="relaxed") as server:
            places = {"file": "file.db", "served": url_of(server)}
            yield [
                tuple(  # type: ignore[misc]
                    carry_out(
                        place, step, {"{out}": f"{kind}.json", "{backup}": f"{kind}-backup.db"}
                    )
                    for kind, place in places.items()
                )
                for step in STEPS
            ]


@pytest.mark.parametrize(
    "number", range(len(STEPS)), ids=[f"{n}-{step.command}" for n, step in enumerate(STEPS)]
)
def test_a_command_prints_on_a_server_what_it_prints_on_a_file(
    answers: list[tuple[Answer, Answer]], number: int
) -> None:
    on_file, on_server = answers[number]
    assert on_server == on_file


def test_every_command_is_tried() -> None:
    assert {step.command for step in STEPS} | set(ELSEWHERE) == set(COMMANDS)


def test_the_steps_are_about_something(answers: list[tuple[Answer, Answer]]) -> None:
    """Most succeed, and those print something."""
    assert sum(on_file.code == 0 and on_file.stdout != "" for on_file, _ in answers) > 70


# The commands that the steps leave out


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A file, and the URL of a server before it."""
    with serving(str(tmp_path / "t.db"), durability="relaxed") as server:
        yield str(tmp_path / "t.db"), url_of(server)


def test_init_shows_no_token(served: tuple[str, str]) -> None:
    _, url = served
    result = invoke("--db", url, "init")
    shown = without_password(url)
    assert "***@127.0.0.1" in shown
    assert result.stdout == f"already exists: {shown}\n"


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ("https://secret@example.org/t", "https://***@example.org/t"),
        ("https://:secret@example.org", "https://***@example.org"),
        ("https://example.org/a@b", "https://example.org/a@b"),
        ("postgresql://u:secret@h/d?password=secret", "postgresql://u:***@h/d?password=***"),
        ("/a@b/t.db", "/a@b/t.db"),
    ],
)
def test_what_is_shown_of_a_place_has_no_secret(place: str, shown: str) -> None:
    assert without_password(place) == shown


def test_tokens_are_managed_on_a_server(served: tuple[str, str]) -> None:
    file, url = served
    new = ok_json("--db", url, "token", "add", "ci", "--scope", "write", "--dialogs", "ci/")
    ci = url.replace(url.split("//")[1].split("@")[0], new["token"])
    assert invoke("--db", ci, "--dialog", "ci/1", "commit", "Hi").exit_code == 0
    again = invoke("--db", url, "token", "add", "ci")
    assert (again.exit_code, again.stdout) == (4, "")
    for args in (["token", "list"], ["token", "list", "--json"], ["audit"], ["audit", "--json"]):
        on_file, on_server = (invoke("--db", place, *args) for place in (file, url))
        assert on_server.stdout == on_file.stdout
    assert [entry["who"] for entry in ok_json("--db", url, "audit")] == ["ci", "start-up"]
    assert "revoked token 'ci'" in invoke("--db", url, "token", "revoke", "ci").stdout
    assert invoke("--db", url, "token", "revoke", "nobody").exit_code == 3


def test_the_audit_log_comes_in_pages(served: tuple[str, str]) -> None:
    file, url = served
    with Tract.open(file) as tract, tract.store.writing():
        for number in range(1200):
            tract.store.audit.add("ada", "user", f"d{number}")
    for args in (["-n", "1100"], ["-n", "5", "--before", "20"]):
        on_file, on_server = (invoke("--db", place, "audit", *args) for place in (file, url))
        assert on_server.stdout == on_file.stdout


def test_a_token_that_allows_less_is_refused(served: tuple[str, str]) -> None:
    file, url = served
    secret = new_token()
    with Tract.open(file) as tract:
        tract.store.grants.add("reader", token_digest(secret), "read", ["ada/"])
        tract.sibling("ada/1").user("Hi")
        tract.sibling("bob/1").user("Ho")
    server = f"http://{url.split('@')[1]}"
    here = ("--db", server, "--dialog", "ada/1")
    refused = invoke(*here, "commit", "Hm", TRACT_TOKEN=secret)
    assert (refused.exit_code, refused.stdout) == (5, "")
    assert refused.stderr == "tract: commit needs the scope write\n"
    assert "Hi" in invoke(*here, "show", TRACT_TOKEN=secret).stdout
    listed = invoke("--db", server, "dialogs", "--json", TRACT_TOKEN=secret)
    assert [info["dialog"] for info in json.loads(listed.stdout)] == ["ada/1"]
    foreign = invoke("--db", server, "--dialog", "bob/1", "show", TRACT_TOKEN=secret)
    assert (foreign.exit_code, foreign.stdout) == (3, "")


@pytest.mark.parametrize("token", ["wrong", None])
def test_a_wrong_token_is_one_line(served: tuple[str, str], token: str | None) -> None:
    _, url = served
    env = {} if token is None else {"TRACT_TOKEN": token}
    result = invoke("--db", f"http://{url.split('@')[1]}", "log", **env)
    fact = "tract: a bearer token is needed; this one is missing, unknown or revoked\n"
    assert (result.exit_code, result.stdout, result.stderr) == (5, "", fact)


def test_a_server_that_does_not_answer_is_one_line() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        result = invoke("--db", url.replace("//", "//secret@"), "log")
    assert (result.exit_code, result.stdout) == (1, "")
    assert re.fullmatch(rf"tract: {url} did not answer: .*\n", result.stderr)
    assert "secret" not in result.output


def test_another_program_than_tract_is_one_line() -> None:
    with LLMServer() as server:
        url = server.openai_url.removesuffix("/v1")
        result = invoke("--db", url, "log")
    assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (1, "", 1)


def test_a_server_serves_no_other_server(served: tuple[str, str]) -> None:
    _, url = served
    result = invoke("--db", url, "serve", "--port", "0")
    assert (result.exit_code, result.stdout) == (2, "")


def test_a_file_is_watched_for_a_server(served: tuple[str, str], tmp_path: Path) -> None:
    file, url = served
    path = tmp_path / "session.jsonl"
    messages = [user(f"u{n}", f"u{n - 1}" if n else None, f"Line {n}.") for n in range(3)]
    path.write_bytes(as_lines(*messages[:2]))
    command = [sys.executable, "-m", "tract", "--db", url, "import", "--watch", "--json", str(path)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    )
    assert process.stdout is not None
    try:
        first = read_document(process.stdout)
        path.write_bytes(as_lines(*messages))
        more = read_document(process.stdout)
    finally:
        process.kill()
        process.communicate()
    assert (first["total"]["messages"], more["messages"]) == (2, 1)
    with Tract.open(file, dialog=more["dialogs"][0], create=False) as tract:
        assert len(list(tract.log())) == 3


def read_document(stream: IO[str]) -> dict[str, Any]:
    """The next JSON document of a stream, which ends with a line of its own."""
    text = ""
    for line in stream:
        text += line
        with suppress(json.JSONDecodeError):
            return dict(json.loads(text))
    raise AssertionError(text)
