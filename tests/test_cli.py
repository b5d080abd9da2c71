"""The command line from the outside: exit codes, pipes, terminals, JSON, hostile text."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import unicodedata
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest

from tests.cli import (
    HEAVY,
    HOSTILE,
    ROOT,
    check_golden,
    dangerous,
    environment,
    flip_a_byte,
    imported_by,
    interrupted,
    invoke,
    ok,
    ok_json,
    on_a_terminal,
    read_until,
    run,
    screen_of,
)
from tests.toolkit import claude_tool
from tract import Message, ToolCall, Tract
from tract.cli import COMMANDS
from tract.cli.reference import reference
from tract.cli.token import token_command
from tract.storage import sqlite
from tract.storage.sqlite import binding

TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ")


# Running it


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an empty database, entered."""
    monkeypatch.chdir(tmp_path)
    ok("init")
    return tmp_path


def commit(text: str, *options: str) -> str:
    """Commit a text and return its hash."""
    digest: str = ok_json("commit", text, *options)["commit_hash"]
    return digest


# Screens


SESSION = """\
tract --version
tract init
tract log
tract commit --role system 'You fix bugs.' -m 'the rules'
tract commit 'Why does 日本語 fail?'
tract commit --file call.json
tract commit --role tool --call-id call_1 --name grep 'src/a.py:1: raise KeyError'
tract commit --role tool --call-id call_2 --name run_tests --error 'boom'
tract edit b6 'src/a.py:1: …'
tract pin 18
tract skip 46
tract log
tract log -n 2
tract show
tract show 1
tract show default
tract show --tools summary
tract show --errors
tract show --tools hidden --role tool
tract show call.json
tract show nowhere
tract compile
tract compile --format anthropic --json
tract branch try-2
tract checkout try-2
tract commit --role assistant 'It is the encoding.'
tract branch
tract checkout 26
tract branch
tract commit lost
tract checkout main
tract branch -d try-2
tract gc --grace 0
tract search KEYERROR
tract --dialog other commit 'another raise KeyError'
tract search KeyError
tract search --here KeyError
tract dialogs
tract restore b6
tract forget b6
tract forget b6 --yes
tract show b6
tract tools
tract tools set release-1.json -m 'release 1'
tract tools
tract commit 'And now?'
tract tools set release-2.json
tract tools set release-2.json
tract commit --role assistant 'Fixed.'
tract log -n 4
tract show ae
tract tools
tract tools --at 45
tract tools diff 45 main
tract tools diff main HEAD
tract tools history grep
tract tools history run_tests
tract tools history rm
tract tools unused
tract compile --format anthropic --params --tools inline
tract compile --format responses --params --json
tract tools set none.json
tract tools
tract restore HEAD
tract commit --file again.json
tract commit --role tool --call-id call_3 --name grep --form reference 'src/b.py:2: raise OSError'
tract results
tract results --superseded
tract results --tool rm
tract result call_3 --grep OS
tract result call_3 --raw
tract result call_9
tract compile --load-results none --keep-recent 1
tract reshape summary call_1 call_3 --text 'Two files raise.' -m 'less'
tract log -n 3
tract show 55
tract show --role tool
tract show --sent --role tool
tract compress --tools --dry-run
tract compress --from 45 --content 'Greps found two files.'
tract compress
tract log -n 8
tract show
tract show 45
tract show --sent --tools summary
tract results
tract restore HEAD
tract summarize call_3
tract fsck
"""

CALLS: dict[str, Any] = {
    "role": "assistant",
    "content": "Let me look.",
    "tool_calls": [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": name, "arguments": '{"pattern": "raise"}'},
        }
        for number, name in enumerate(("grep", "run_tests"), start=1)
    ],
}


def grep_tool(**types: str) -> dict[str, Any]:
    text = "Find lines.\n\nOf all files, in their order."
    return claude_tool("grep", **types) | {"description": text}


LS = {"name": "ls", "description": "List a folder.", "input_schema": {"type": "object"}}
FIX = {"type": "function", "name": "fix", "parameters": {"type": "object"}, "strict": False}
FILES = {
    "call": CALLS,
    "again": {**CALLS, "tool_calls": [{**CALLS["tool_calls"][0], "id": "call_3"}]},
    "release-1": [grep_tool(pattern="string"), LS],
    "release-2": {"tools": [LS, grep_tool(pattern="string", limit="integer"), FIX]},
    "none": [],
}


def test_a_session_looks_as_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    screen = []
    for line in SESSION.splitlines():
        result = invoke(*shlex.split(line)[1:])
        assert result.exception is None or isinstance(result.exception, SystemExit), line
        code = f"[exit code {result.exit_code}]\n" if result.exit_code else ""
        screen.append(f"$ {line}\n{result.stdout}{result.stderr}{code}")
    text = TIME.sub("2026-01-02 03:04:05Z", "\n".join(screen)).replace(f"{tmp_path}", "/project")
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC(, [\d.]+ s)?", "2026-01-02 03:04 UTC", text)
    text = re.sub(r"(?m)\b\d\d:\d\d:\d\d( · [\d.]+ s)?$", "03:04:05", text)
    check_golden(ROOT / "tests" / "golden" / "cli" / "session.txt", text)


def test_the_reference_page_is_current() -> None:
    check_golden(ROOT / "docs" / "cli.md", reference())


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_a_short_and_a_long_help(name: str) -> None:
    assert ok(name, "-h") == ok(name, "--help")
    short = re.search(rf"^  {name} +(.*)$", ok("--help"), re.MULTILINE)
    assert short
    assert short[1].endswith(".")
    assert not short[1].endswith("...")


# JSON


class Session(NamedTuple):
    """A database on which every command has been run, and what each printed."""

    folder: Path
    printed: dict[str, Any]

    def hash(self, name: str) -> str:
        digest: str = self.printed[name]["commit_hash"]
        return digest


@pytest.fixture
def session(here: Path) -> Session:
    first = ok_json("commit", "first", "-m", "why", "--metadata", '{"n": 1}')
    target = first["commit_hash"]
    tool = ("--role", "tool", "--call-id", "c", "--name", "ls", "--error")
    printed = {"first": first, "second": ok_json("commit", "out", *tool)}
    printed["edit"] = ok_json("edit", target, "first!", "-m", "better", "--metadata", "{}")
    printed["pin"] = ok_json("pin", target)
    printed["skip"] = ok_json("skip", target, "-m", "note")
    printed["restore"] = ok_json("restore", printed["skip"]["commit_hash"])
    return Session(here, printed)


def test_the_json_of_init(here: Path) -> None:
    made = ok_json("init", "sub")
    assert made == {"db": str(here / "sub" / ".tract" / "tract.db"), "created": True}
    assert ok_json("init", "sub")["created"] is False


def test_the_json_of_commit(session: Session) -> None:
    first, second = session.printed["first"], session.printed["second"]
    assert (first["role"], first["parent_hash"], first["message"]) == ("user", None, "why")
    assert first["metadata"] == {"n": 1}
    assert second["parent_hash"] == first["commit_hash"]
    assert (second["tool_call_id"], second["name"], second["is_error"]) == ("c", "ls", True)


def test_the_json_of_edit(session: Session) -> None:
    edit = session.printed["edit"]
    assert (edit["operation"], edit["replaces"]) == ("edit", [session.hash("first")])


def test_the_json_of_marks(session: Session) -> None:
    about = {"target": session.hash("first"), "kind": "priority"}
    assert session.printed["pin"]["marks"] == [about | {"value": "pinned"}]
    assert session.printed["skip"]["marks"] == [about | {"value": "skip"}]
    assert session.printed["restore"]["marks"][0]["kind"] == "void"


def test_the_json_of_log(session: Session) -> None:
    log = ok_json("log")
    assert [item["operation"] for item in log][-3:] == ["edit", "append", "append"]
    assert ok_json("log", "-n", "1") == log[:1]


def test_the_json_of_show(session: Session) -> None:
    content = {"content": "first", "tool_calls": [], "forgotten": False, "tools": None}
    assert ok_json("show", session.hash("first")) == session.printed["first"] | content
    assert ok_json("show")["content"] is None  # a mark


def test_the_json_of_search(session: Session) -> None:
    hits = {hit["commit_hash"] for hit in ok_json("search", "FIRST")}
    assert hits == {session.hash("first"), session.hash("edit")}


def test_the_json_of_compile(session: Session) -> None:
    compiled = ok_json("compile")
    assert compiled["messages"][0] == {"role": "user", "content": "first!"}
    assert compiled["commit_hashes"] == [session.hash("edit"), session.hash("second")]
    assert compiled["notes"]
    assert compiled["token_count"] > 0
    assert compiled["commit_count"] == 2


def test_the_json_of_branch_and_checkout(session: Session) -> None:
    head = session.hash("restore")
    assert ok_json("branch", "b") == {"name": "b", "head": head, "current": False}
    assert [(b["name"], b["current"]) for b in ok_json("branch")] == [("b", False), ("main", True)]
    assert ok_json("checkout", "b")["branch"] == "b"
    first = session.hash("first")
    assert ok_json("checkout", first) == {"branch": None, "head": first, "detached": True}
    ok("checkout", "main")
    assert ok_json("branch", "-d", "b")["deleted"] == "b"


def test_the_json_of_fsck_and_gc(session: Session) -> None:
    assert ok_json("fsck") == {"ok": True, "commits": 6, "contents": 3, "problems": []}
    none = dict.fromkeys(("commits", "contents", "bytes", "objects"), 0)
    assert ok_json("gc") == none | {"dry_run": True}


def test_the_json_of_backup(session: Session) -> None:
    copy = ok_json("backup", "copy.db")
    assert copy == {"path": "copy.db", "bytes": (session.folder / "copy.db").stat().st_size}


def test_a_text_is_forgotten_in_all_dialogs(session: Session) -> None:
    ok("--dialog", "other", "commit", "the key is sk-123", "-m", "not sk-123")
    ok("commit", "again sk-123")
    plan = invoke("forget", "--text", "sk-123", "--dry-run")
    lines = [line.split() for line in plan.stdout.splitlines()]
    assert [(words[2], words[-1]) for words in lines] == [
        ("other", "content"),
        ("default", "content"),
        ("other", "note"),
    ]
    assert "dry run: nothing was erased" in plan.stderr
    assert ok("search", "sk-123").count("sk-123") == 2
    refused = invoke("forget", "--text", "sk-123")
    assert (refused.exit_code, "this text at 3 positions" in refused.stderr) == (2, True)
    result = ok_json("forget", "--text", "-", "--yes", stdin="sk-123\n")
    erased = [(trace["dialog"], trace["place"], trace["count"]) for trace in result["erased"]]
    assert erased == [("other", "content", 1), ("default", "content", 1), ("other", "note", 1)]
    assert ok("search", "sk-123") == ""
    assert ok("forget", "--text", "sk-123", "--yes") == "nothing to erase\n"
    assert invoke("forget", "--text", "x", "HEAD").exit_code == 2


def test_the_json_of_forget(session: Session) -> None:
    result = ok_json("forget", session.hash("second"), "--yes")
    assert result["commit"]["preview"] == "[forgotten]"
    assert [trace["place"] for trace in result["erased"]] == ["content"]
    assert (result["remains"], result["dry_run"]) == ([], False)
    assert ok_json("show", session.hash("second"))["forgotten"] is True


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_failed_scrub_still_shows_what_was_erased(
    session: Session, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.1)
    ok("commit", "again sk-123")
    db = str(session.folder / ".tract" / "tract.db")
    with closing(binding.connect(db, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM commits").fetchall()
        result = invoke("forget", "--text", "sk-123", "--yes", *options)
    assert (result.exit_code, "forget again" in result.stderr) == (1, True)
    assert "content" in result.stdout


def test_the_json_of_dialogs(session: Session) -> None:
    (dialog,) = ok_json("dialogs")
    assert (dialog["dialog"], dialog["commits"], dialog["branches"]) == ("default", 6, 1)
    assert dialog["tokens"] > 0
    assert dialog["bytes"] > 0
    deleted = ok_json("dialogs", "--delete", "default", "--yes")
    assert deleted == {"deleted": "default", "commits": 6}
    assert ok_json("dialogs") == []


def test_every_command_offers_json() -> None:
    others = ("tui", "demo", "token", "hook")  # screens, a group, and what an agent expects
    assert all("--json" in ok(name, "--help") for name in COMMANDS if name not in others)
    assert all("--json" in ok("token", name, "--help") for name in token_command.commands)


def test_the_json_of_calls_has_their_arguments(here: Path) -> None:
    ok("commit", "--file", "-", stdin=json.dumps(CALLS))
    calls = ok_json("show")["tool_calls"]
    assert [call["name"] for call in calls] == ["grep", "run_tests"]
    assert json.loads(calls[0]["arguments"]) == {"pattern": "raise"}


def test_compiled_messages_can_be_piped_on(here: Path) -> None:
    commit("rules", "--role", "system")
    commit("hello")
    result = invoke("compile", "--format", "anthropic")
    assert json.loads(result.stdout) == {
        "system": "rules",
        "messages": [{"role": "user", "content": "hello"}],
    }
    assert re.fullmatch(r"2 messages, \d+ tokens \(\w+\)\n", result.stderr)
    assert json.loads(ok("compile"))[1] == {"role": "user", "content": "hello"}


def test_compile_at_a_commit_or_branch(here: Path) -> None:
    first = commit("one")
    ok("branch", "old")
    commit("two")
    for at in (first[:8], "old"):
        assert [message["content"] for message in json.loads(ok("compile", "--at", at))] == ["one"]
    assert len(json.loads(ok("compile", "--at", "HEAD"))) == 2


# Options of the database


def test_the_options_of_the_database_are_accepted_anywhere(here: Path) -> None:
    ok("init", "--db", "x.db")
    ok("tools", "set", "--db", "x.db", "-", "--dialog", "d", stdin=json.dumps([LS]))
    for line in (
        "--db x.db --dialog d tools --json",
        "tools --db x.db --dialog d --json",
        "--db missing.db tools --dialog=d --db=x.db --json",  # the last one counts
    ):
        assert json.loads(ok(*shlex.split(line)))["tools"][0]["name"] == "ls"
    history = ok("tools", "--db", "x.db", "history", "ls", "--dialog", "d")
    assert "first version" in history
    assert ok("log", "--db", "x.db", "--dialog", "d", TRACT_DB="y.db", TRACT_DIALOG="e")


def test_an_option_of_the_command_itself_is_not_one_of_the_database(here: Path) -> None:
    ok("commit", "-m", "--db", "note")
    assert ok_json("log")[0]["message"] == "--db"
    assert "--dialog" in ok("commit", "--help")


def test_an_empty_history_is_reported(here: Path) -> None:
    assert invoke("log").stderr.startswith("tract: no dialogs yet; ")
    ok("branch", "try")
    result = invoke("log")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "no commits yet on branch main of dialog default\n"


# Exit codes


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("log -n x", 2, "not a valid integer"),
        ("nonsense", 2, "No such command"),
        ("complie", 2, "Did you mean 'compile'?"),
        ("ls", 2, "Did you mean 'dialogs'?"),
        ("log --dialgo x", 2, "Did you mean '--dialog'?"),
        ("tools histry", 2, "Did you mean 'history'?"),
        ("tools history --jsn", 2, "Did you mean '--json'?"),
        ("commit x --role judge", 2, "judge"),
        ("commit x --role assitant", 2, "Did you mean 'assistant'?"),
        ("export --format opnai", 2, "Did you mean 'openai'?"),
        ("forget", 2, "pass COMMIT or --text\n"),
        ("commit x --role tool", 2, "--call-id"),
        ("commit x --call-id c", 2, "--call-id"),
        ("commit x --error", 2, "--error"),
        ("commit x --file call.json", 2, "--file"),
        ("commit x --metadata [1]", 2, "JSON object"),
        ("commit x --metadata '{\"a\": NaN}'", 2, "tract: not valid JSON"),
        ("commit x --metadata {", 2, "not JSON"),
        ("commit --file broken.json", 2, "not JSON"),
        ("commit --file deep.json", 2, "nested"),
        ("commit --file list.json -m note", 2, "--message"),
        ("commit --file role.json", 2, "tract: unknown role 'judge'"),
        ("commit --file number.json", 2, "tract: "),
        ("commit --file missing.json", 2, "No such file"),
        ("commit", 2, "no text"),
        ("edit HEAD", 2, "no text"),
        ("branch --at HEAD", 2, "NAME"),
        ("branch x -d y", 2, "NAME"),
        ("branch 'a\tb'", 2, "not a name"),
        ("gc --grace -1", 2, "range"),
        ("--dialog '' log", 2, "not a name"),
        ("forget HEAD", 2, "--yes"),
        ("dialogs --delete default", 2, "--yes"),
        ("--db x.db init y", 2, "not both"),
        ("init y --db x.db", 2, "not both"),
        ("show ffffffff", 3, "tract: no commit ffffffff"),
        ("show nothex", 3, "not a commit hash"),
        ("pin ffffffff", 3, "no commit"),
        ("show ''", 3, "not a commit hash"),
        ("checkout nowhere", 3, "nowhere"),
        ("branch -d nowhere", 3, "nowhere"),
        ("compile --at nowhere", 3, "nowhere"),
        ("dialogs --delete nowhere --yes", 3, "nowhere"),
        ("--dialog nowhere log", 3, "no dialog 'nowhere'"),
        ("--dialog nowhere search --here x", 3, "no dialog 'nowhere'"),
        ("--dialog nowhere pin HEAD", 3, "no dialog 'nowhere'"),
        ("--db nowhere.db log", 3, "nowhere.db"),
        ("--db nowhere.db commit x", 3, "nowhere.db"),
        ("--db nowhere.db dialogs", 3, "nowhere.db"),
        ("branch main", 4, "exists already"),
        ("branch -d main", 4, "checked out"),
        ("backup .tract/tract.db", 4, "exists already"),
        ("--db broken.json log", 1, "tract: "),
        ("--db folder log", 1, "tract: "),
        ("backup no/such/folder/copy.db", 1, "tract: "),
        ("init call.json/sub", 1, "Not a directory"),
    ],
)
def test_failures(here: Path, line: str, code: int, words: str) -> None:
    commit("first")
    files = {
        "call": json.dumps(CALLS),
        "broken": "{ this is not JSON" * 100,
        "deep": "[" * 100_000,
        "list": "[]",
        "role": '{"role": "judge", "content": "guilty"}',
        "number": "7",
    }
    for name, text in files.items():
        (here / f"{name}.json").write_text(text)
    (here / "folder").mkdir()
    before = sorted(here.rglob("*"))
    result = invoke(*shlex.split(line))
    assert (result.exit_code, result.stdout) == (code, "")
    assert words in result.stderr
    if result.stderr.startswith("tract: "):
        assert result.stderr.count("\n") == 1
    assert sorted(here.rglob("*")) == before
    assert len(ok_json("log")) == 1


def test_a_prefix_of_several_commits_is_refused(here: Path) -> None:
    digest = commit("first")
    for number in range(16):
        commit(str(number))
    prefixes = [item["commit_hash"][0] for item in ok_json("log")]
    shared = max(prefixes, key=prefixes.count)
    result = invoke("show", shared)
    assert result.exit_code == 3
    assert "several commits" in result.stderr
    assert ok_json("show", digest[:12])["commit_hash"] == digest


def test_an_old_commit_can_be_read_but_not_continued(here: Path) -> None:
    first = commit("one")
    commit("two")
    ok("checkout", first)
    assert [item["preview"] for item in ok_json("log")] == ["one"]
    assert invoke("commit", "three").exit_code == 4
    ok("branch", "again")
    assert ok_json("commit", "three")["parent_hash"] == first


def test_the_process_exits_with_the_code_and_says_one_line(tmp_path: Path) -> None:
    done = run("log", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("tract: ")
    assert "tract init" in done.stderr
    assert done.stderr.count("\n") == 1
    assert run("log", "--nonsense", cwd=tmp_path).returncode == 2
    assert run("--version").stdout.startswith("tract ")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_extra_is_one_line(tmp_path: Path) -> None:
    script = "import sys; sys.modules['psycopg'] = None; from tract.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script, "--db", "postgresql://localhost/x", "log"],
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert re.search(r"needs the extra postgres: pip install .*\[postgres\]", done.stderr)


def test_damage_is_reported_and_fails(here: Path) -> None:
    digest = commit("fine")
    flip_a_byte(here / ".tract" / "tract.db")
    result = invoke("fsck")
    assert result.exit_code == 1
    assert "1 commit, 1 content: 1 problem\n" in result.stdout
    result = invoke("fsck", "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["ok"] is False
    assert len(found["problems"]) == 1
    result = invoke("show", digest)
    assert result.exit_code == 1
    assert "boom" not in result.stdout
    assert result.stderr.startswith("tract: ")


# Which database, which dialog


def test_the_nearest_folder_above_is_used(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit("in the project")
    deep = here / "a" / "b"
    deep.mkdir(parents=True)
    (here / "a" / ".tract").mkdir()  # without a database it is none
    monkeypatch.chdir(deep)
    assert ok_json("log")[0]["preview"] == "in the project"
    ok("init")
    assert (deep / ".tract" / "tract.db").is_file()
    assert invoke("log").exit_code == 3


def test_option_before_environment_before_folder(here: Path) -> None:
    for name in ("option", "environment"):
        ok("--db", f"{name}.db", "init")
        ok("--db", f"{name}.db", "commit", f"by {name}")
    commit("by folder")
    assert "by folder" in ok("log")
    assert "by environment" in ok("log", TRACT_DB="environment.db")
    assert "by option" in ok("--db", "option.db", "log", TRACT_DB="environment.db")
    assert "by folder" in ok("log", TRACT_DB="")


def test_dialog_by_option_and_environment(here: Path) -> None:
    ok("--dialog", "a", "commit", "in a")
    ok("commit", "in b", TRACT_DIALOG="b")
    assert "in a" in ok("--dialog", "a", "log", TRACT_DIALOG="b")
    assert "in b" in ok("log", TRACT_DIALOG="b")
    assert [info["dialog"] for info in ok_json("dialogs")] == ["b", "a"]


def test_init_obeys_environment_and_argument(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert ok("init", TRACT_DB="e.db") == "created e.db\n"
    assert ok("init", TRACT_DB="e.db") == "already exists: e.db\n"
    assert not (tmp_path / ".tract").exists()
    ok("init", "sub", TRACT_DB="e.db")
    assert (tmp_path / "sub" / ".tract" / "tract.db").is_file()


READS = [
    "log",
    "show",
    "show --sent",
    "show x",
    "tui",
    "tui x",
    "compile",
    "branch",
    "checkout x",
    "search --here x",
    "search x",
]
READS += ["fsck", "gc", "dialogs", "backup copy.db"]
READS += ["tools", "tools history x", "tools diff x y", "tools unused"]


@pytest.mark.parametrize("line", READS)
def test_reading_creates_nothing(here: Path, line: str) -> None:
    result = invoke("--db", "missing.db", *line.split())
    assert result.exit_code == 3
    assert not (here / "missing.db").exists()
    invoke(*line.split())
    assert ok_json("dialogs") == []


@pytest.mark.parametrize("line", READS)
def test_reading_an_empty_file_makes_no_database_of_it(here: Path, line: str) -> None:
    (here / "empty.db").touch()
    assert invoke("--db", "empty.db", *line.split()).exit_code == 3
    connection = binding.connect("empty.db")
    assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    connection.close()


def test_reading_an_empty_postgres_database_creates_no_table(pg_url: str) -> None:
    assert invoke("--db", pg_url, "log").exit_code == 3
    with psycopg.connect(pg_url) as connection:
        sql = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'"
        assert connection.execute(sql).fetchone() == (0,)


# What is committed


@pytest.mark.parametrize(
    "piped",
    [b"two\nlines\n", b"\x00\r\n\xff\xfe", "日本\u202e語".encode(), b"x" * 300_000],
    ids=["lines", "not UTF-8", "marks", "large"],
)
@pytest.mark.parametrize("argument", [(), ("-",)], ids=["no text", "dash"])
def test_what_is_piped_in_is_kept_to_the_byte(
    here: Path, piped: bytes, argument: tuple[str, ...]
) -> None:
    ok("commit", *argument, stdin=piped)
    content = ok_json("show")["content"]
    assert content.encode("utf-8", "surrogateescape") == piped
    ok("edit", "HEAD", *argument, stdin=piped + b".")
    content = ok_json("show")["content"]
    assert content.encode("utf-8", "surrogateescape") == piped + b"."


def test_an_empty_text_must_be_meant(here: Path) -> None:
    assert invoke("commit", stdin="").exit_code == 2
    assert ok_json("commit", "-", stdin="")["byte_size"] == 0
    assert ok_json("commit", "")["operation"] == "append"


def test_an_edit_of_a_result_keeps_its_call(here: Path) -> None:
    digest = commit("long", "--role", "tool", "--call-id", "c", "--name", "grep")
    edit = ok_json("edit", digest[:10], "short")
    assert (edit["role"], edit["tool_call_id"], edit["name"]) == ("tool", "c", "grep")
    assert ok_json("show")["content"] == "short"


def test_a_mark_has_no_text_to_edit(here: Path) -> None:
    commit("x")
    ok("pin", "HEAD")
    result = invoke("edit", "HEAD", "y")
    assert result.exit_code == 2
    assert "is a mark" in result.stderr


def test_a_history_in_a_file_is_recorded_once(here: Path) -> None:
    history = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    (here / "h.json").write_text(json.dumps(history))
    assert [item["preview"] for item in ok_json("commit", "--file", "h.json")] == ["a", "b"]
    result = invoke("commit", "--file", "h.json")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "nothing new\n")
    history[1]["content"] = "c"
    (here / "h.json").write_text(json.dumps(history))
    result = invoke("commit", "--file", "h.json")
    assert "now on new branch main-2" in result.stderr
    assert [item["preview"] for item in ok_json("log")] == ["c", "a"]


def test_gc_removes_only_when_told(here: Path) -> None:
    commit("kept")
    ok("branch", "b")
    ok("checkout", "b")
    commit("dropped")
    ok("checkout", "main")
    ok("branch", "-d", "b")
    assert ok_json("gc")["commits"] == 0  # it is too young
    result = invoke("gc", "--grace", "0")
    assert "would remove 1 commit, 1 content, " in result.stdout
    assert "dry run" in result.stderr
    assert ok_json("gc", "--grace", "0", "--run")["commits"] == 1
    assert ok_json("gc", "--grace", "0")["commits"] == 0


def test_what_was_forgotten_is_gone(here: Path) -> None:
    digest = commit("the key is hunter2")
    ok("forget", digest, "--yes")
    assert ok("show", digest).endswith("\n\n[forgotten]\n")
    assert "[forgotten]" in ok("log")
    assert ok("search", "hunter2") == ""
    files = [path.read_bytes() for path in (here / ".tract").iterdir()]
    assert not any(b"hunter2" in data for data in files)


def test_a_backup_is_a_database(here: Path) -> None:
    digest = commit("kept")
    ok("backup", "copy.db")
    (copied,) = json.loads(ok("--db", "copy.db", "log", "--json"))
    assert copied["commit_hash"] == digest


# Both databases


def test_a_session_on_either_database(db: str, tmp_path: Path) -> None:
    def on(*args: str) -> Any:
        return json.loads(ok("--db", db, *args, "--json"))

    assert on("init")["created"] is True
    assert on("init")["created"] is False
    first = on("commit", HOSTILE.replace("\ud800", ""))["commit_hash"]
    on("commit", "two", "--role", "assistant")
    on("edit", "HEAD", "2")
    on("skip", first[:10])
    on("branch", "b")
    on("checkout", "b")
    assert [message["content"] for message in on("compile")["messages"]] == ["2"]
    on("restore", "HEAD")
    assert len(on("log")) == 5
    assert len(on("compile")["messages"]) == 2
    assert len(on("search", "EVIL")) == 1
    assert on("dialogs")[0]["branches"] == 2
    on("backup", str(tmp_path / "copy.db"))
    on("forget", first, "--yes")
    assert on("fsck")["ok"] is True
    assert on("gc", "--run", "--grace", "0")["commits"] == 0
    assert on("dialogs", "--delete", "default", "--yes")["commits"] == 5
    assert invoke("--db", db, "log").exit_code == 3


def test_a_password_is_not_shown(pg_url: str) -> None:
    secret = pg_url.replace("postgres@", "postgres:hunter2@")
    assert ok("--db", secret, "init") == f"created {pg_url.replace('postgres@', 'postgres:***@')}\n"
    assert "hunter2" not in ok("--db", f"{pg_url}&password=hunter2", "init")


def test_a_server_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    result = invoke("--db", f"postgresql:///x?host={tmp_path}", "log")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("tract: ")
    assert result.stderr.count("\n") == 1


# Hostile text


def is_odd(char: str) -> bool:
    kind = unicodedata.category(char)
    return kind[0] in "ZCM" and kind not in ("Cn", "Co")


def test_no_character_of_a_content_reaches_the_terminal_as_a_command(tmp_path: Path) -> None:
    # Downwards, so that no two surrogates make a pair. Of the letters and of what is not assigned
    # some do: `visible` gets all of them in a long test.
    chars = [c for c in map(chr, range(sys.maxunicode, -1, -1)) if is_odd(c) or ord(c) % 97 == 0]
    everything = "日月" + "".join(chars)
    db = str(tmp_path / "t.db")
    with Tract.open(db, tokens="chars/4") as tract:
        tract.user(everything)
    shown = ok("--db", db, "show")
    assert dangerous(shown) == set()
    assert "\\x1b" in shown
    assert "\\u202e" in shown
    assert "\\ud800" in shown
    assert "日月" in shown
    assert ok_json("--db", db, "show")["content"] == everything


def test_every_field_is_made_harmless(tmp_path: Path) -> None:
    db = str(tmp_path / "t.db")
    with Tract.open(db) as tract:
        tract.user(HOSTILE, message=HOSTILE, metadata={HOSTILE: HOSTILE})
        calls = [ToolCall(HOSTILE, HOSTILE, {HOSTILE: HOSTILE})]
        tract.assistant(HOSTILE, tool_calls=calls)
        tract.commit(Message("tool", {HOSTILE: [HOSTILE]}, HOSTILE, HOSTILE, is_error=True))
        newest = tract.user("x", generation_config={HOSTILE: 1}, usage={HOSTILE: 2}).commit_hash
        digests = [info.commit_hash for info in tract.log()]
    commands = [["log"], ["branch"], ["dialogs"], ["search", "evil"], ["compile"], ["fsck"]]
    commands += [["show", digest] for digest in digests]
    commands += [["pin", newest, "-m", HOSTILE.replace("\x00", "")], ["forget", newest, "--yes"]]
    for command in commands:
        done = invoke("--db", db, *command)
        assert done.exit_code == 0, done.output
        assert dangerous(done.stdout + done.stderr) == set(), command
        assert "\ud800" not in done.stdout
    assert ok("--db", db, "log").count("\n") == 5
    for message in (f"{HOSTILE}\n{HOSTILE}", "a\u2028b"):
        result = invoke("--db", db, "show", message.replace("\x00", ""))
        assert result.exit_code == 3
        assert dangerous(result.stderr) == set()
        assert result.stderr.count("\n") == 1


def test_json_has_no_control_character(here: Path) -> None:
    ok("commit", stdin="".join(map(chr, range(256))))
    out = ok("log", "--json") + ok("show", "--json") + ok("compile")
    assert out.isascii()
    assert dangerous(out) == set()


# Pipes and terminals


@pytest.fixture
def filled(tmp_path: Path) -> str:
    db = str(tmp_path / "filled.db")
    with Tract.open(db, durability="relaxed", tokens="chars/4") as tract, tract.batch():
        for number in range(1200):
            tract.user(f"{number} " + "long text 日本語 " * 10)
    return db


def test_colour_is_for_terminals_that_want_it(filled: str) -> None:
    args = ("--db", filled, "log", "-n", "3")
    assert "\x1b[2m" in screen_of(*args)
    assert "\x1b" not in screen_of(*args, NO_COLOR="1")
    assert "\x1b" not in screen_of(*args, TERM="dumb")
    assert "\x1b[2m" in screen_of(*args, NO_COLOR="")
    assert "\x1b" not in run(*args).stdout
    assert "\x1b" not in screen_of(*args, "--json")


def test_lines_end_with_the_terminal(filled: str) -> None:
    lines = screen_of("--db", filled, "log", "-n", "5", columns=64, NO_COLOR="1").splitlines()
    assert len(lines) == 5
    for line in lines:
        wide = sum(unicodedata.east_asian_width(char) == "W" for char in line)
        assert 60 <= len(line) + wide <= 64
        assert line.endswith("…")


def test_a_reader_that_stops_ends_it_quietly(filled: str) -> None:
    for options in ([], ["--json"]):
        with subprocess.Popen(
            [sys.executable, "-m", "tract", "--db", filled, "log", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        ) as process:
            assert process.stdout
            assert process.stderr
            assert process.stdout.readline()
            process.stdout.close()
            assert (process.stderr.read(), process.wait(60)) == (b"", 0)


def test_a_reader_that_was_never_there_is_no_failure(filled: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "tract", "--db", filled, "log", "-n", "1"]
    buffered = environment()
    buffered.pop("PYTHONUNBUFFERED", None)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, env=buffered)
    os.close(writing)
    assert (done.stderr, done.returncode) == (b"", 0)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_output_that_cannot_be_written_is_a_failure(filled: str) -> None:
    for unbuffered in ("", "1"):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [sys.executable, "-m", "tract", "--db", filled, "log", "-n", "1"],
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                env=environment(PYTHONUNBUFFERED=unbuffered),
            )
        assert (done.stderr, done.returncode) == ("tract: No space left on device\n", 1)


def test_an_ascii_terminal_gets_escapes(tmp_path: Path) -> None:
    db = str(tmp_path / "t.db")
    with Tract.open(db) as tract:
        tract.user("日本")
    done = run("--db", db, "log", env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "\\u65e5\\u672c" in done.stdout


def test_forget_asks_on_a_terminal(tmp_path: Path) -> None:
    db = str(tmp_path / "t.db")
    with Tract.open(db) as tract:
        digest = tract.user(f"secret {HOSTILE}").commit_hash
    for answer, code, kept in [("n\n", 1, True), ("y\n", 0, False)]:
        with on_a_terminal("--db", db, "forget", digest) as (process, ours):
            question = read_until(ours, "[y/N]")
            assert dangerous(question.replace("\r\n", "\n")) == set()
            os.write(ours, answer.encode())
            read_until(ours, None)
            assert process.wait(60) == code
        with Tract.open(db) as tract:
            assert tract.get_commit(digest).preview.startswith("secret") is kept


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_is_130(tmp_path: Path) -> None:
    db = str(tmp_path / "t.db")
    with Tract.open(db) as tract:
        tract.user("hello")
    with on_a_terminal("--db", db, "dialogs", "--delete", "default") as (process, ours):
        read_until(ours, "[y/N]")
        assert interrupted(process) == 130
        assert "Traceback" not in read_until(ours, None)
    with Tract.open(db) as tract:
        assert len(tract.dialogs()) == 1


def test_a_text_is_not_waited_for_on_a_terminal(tmp_path: Path) -> None:
    db = str(tmp_path / "t.db")
    Tract.open(db).close()
    with on_a_terminal("--db", db, "commit") as (process, ours):
        assert "no text" in read_until(ours, None)
        assert process.wait(60) == 2


def test_the_shell_can_complete() -> None:
    env = {"_TRACT_COMPLETE": "bash_complete", "COMP_WORDS": "tract che", "COMP_CWORD": "1"}
    assert run(env=env).stdout == "plain,checkout\n"
    env = {"_TRACT_COMPLETE": "bash_complete", "COMP_WORDS": "tract log --j", "COMP_CWORD": "2"}
    assert run(env=env).stdout == "plain,--json\n"


# Start-up


def test_log_imports_nothing_heavy(filled: str) -> None:
    modules = imported_by("--db", filled, "log")
    assert {"tract.cli.history", "tract.tract"} <= modules
    assert {name.split(".")[0] for name in modules} & HEAVY == set()
    others = {f"tract.cli.{module}" for module in COMMANDS.values()} - {"tract.cli.history"}
    assert modules & (others | {"tract.storage.postgres"}) == set()
