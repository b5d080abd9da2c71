"""`tract import`, `export` and `validate` from the outside."""

from __future__ import annotations

import gzip
import inspect
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli import (
    HOSTILE,
    ROOT,
    dangerous,
    interrupted,
    invoke,
    ok,
    ok_json,
    on_a_terminal,
    read_until,
    run,
    screen_of,
)
from tract import Message, Priority, Text, ToolCall, Tract, import_file, validate
from tract.importers import MODULES, importer
from tract.importers.source import MAX_BROKEN
from tract.providers.validate import anthropic, gemini, openai_chat, openai_responses
from tract.view.export import markdown
from tract.view.sanitize import visible

CALL = {"id": "call_1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is here?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": "a.py\nb.py"},
    {"role": "assistant", "content": "Two files."},
]
SESSION = "0a1b2c3d-0000-4000-8000-000000000001"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an empty database, entered."""
    monkeypatch.chdir(tmp_path)
    ok("init")
    return tmp_path


def chat(path: str, messages: list[dict[str, Any]] = CHAT) -> str:
    """A file with the messages as one document."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(messages), "utf-8")
    return path


def session(*texts: str) -> str:
    """Lines of Claude Code, in which the user says these."""
    lines = []
    for number, text in enumerate(texts):
        message = {"role": "user", "content": text}
        parent = f"u{number - 1}" if number else None
        about = {"parentUuid": parent, "isSidechain": False, "sessionId": SESSION}
        line = {**about, "uuid": f"u{number}", "type": "user", "message": message}
        lines.append(json.dumps(line) + "\n")
    return "".join(lines)


def imported(*args: str) -> dict[str, Any]:
    (file,) = ok_json("import", *args)["files"]
    return dict(file)


# Import


def test_a_file_becomes_a_dialog(here: Path) -> None:
    found = imported(chat("talk.json"))
    assert found == {
        "path": "talk.json",
        "format": "openai-chat",
        "dialogs": ["talk"],
        "messages": 5,
        "calls": 1,
        "results": 1,
        "duplicates": 0,
        "unknown": {},
        "repairs": [],
        "problems": [],
    }
    assert json.loads(ok("--dialog", "talk", "compile")) == CHAT


def test_the_second_time_adds_nothing(here: Path) -> None:
    chat("talk.json")
    ok("import", "talk.json")
    again = imported("talk.json")
    assert (again["messages"], again["duplicates"]) == (0, 5)
    assert [dialog["commits"] for dialog in ok_json("dialogs")] == [5]


def test_a_grown_file_brings_its_new_part(here: Path) -> None:
    Path("s.jsonl").write_text(session("one"))
    assert imported("s.jsonl")["messages"] == 1
    Path("s.jsonl").write_text(session("one", "two", "three"))
    grown = imported("s.jsonl")
    assert (grown["messages"], grown["duplicates"]) == (2, 1)
    assert grown["dialogs"] == [SESSION]


def test_the_report_to_read(here: Path) -> None:
    chat("talk.json", CHAT[:3])
    Path("s.jsonl").write_text(session("one") + "{broken\n")
    result = invoke("import", "talk.json", "s.jsonl")
    assert result.exit_code == 0
    header, *rows, total = result.stdout.splitlines()
    assert header.split()[:3] == ["DIALOG", "FORMAT", "MESSAGES"]
    assert rows[0].split() == ["talk", "openai-chat", *"3100", *"10", "talk.json"]
    assert rows[1].split() == [SESSION, "claude-code", *"1000", *"01", "s.jsonl"]
    assert total == (
        "2 files, 2 dialogs, 4 messages, 1 call, 0 results, 0 duplicates, 1 repair, 1 problem"
    )
    told = result.stderr.splitlines()
    assert told[0] == "talk.json: repair: call 'call_1' of ls has no result"
    assert told[1].startswith("s.jsonl: problem: line 2: not JSON")


def test_unknown_records_are_listed_by_type(here: Path) -> None:
    """As an importer yields them, whatever it reads."""
    lines = [
        {"type": "session_meta", "payload": {"id": SESSION}},
        {"type": "world_state", "payload": {"x": 1}},
        {"type": "response_item", "payload": {"type": "message", "role": "user", "content": "hi"}},
        {"type": "from_tomorrow", "payload": {}},
        {"type": "world_state", "payload": {}},
    ]
    text = "".join(
        json.dumps({"timestamp": "2026-11-01T12:00:00Z", **line}) + "\n" for line in lines
    )
    Path("rollout.jsonl").write_text(text)
    result = invoke("import", "rollout.jsonl")
    assert result.exit_code == 0
    assert "3 records of unknown type kept" in result.stdout
    assert "rollout.jsonl: unknown record: world_state (2)" in result.stderr.splitlines()
    assert "rollout.jsonl: unknown record: from_tomorrow (1)" in result.stderr.splitlines()
    again = ok_json("import", "rollout.jsonl")
    assert again["files"][0]["unknown"] == {"world_state": 2, "from_tomorrow": 1}
    assert again["total"]["unknown"] == 3
    assert "unknown record: world_state (2)" in invoke("show", "rollout.jsonl").stderr


def test_many_faults_of_a_file_are_told_in_part(here: Path) -> None:
    Path("s.jsonl").write_text(session("one") + "{broken\n" * 13)
    result = invoke("import", "s.jsonl")
    assert result.stderr.count("problem: line") == 10
    assert "s.jsonl: 3 more problems (--json lists them)" in result.stderr
    assert len(imported("s.jsonl")["problems"]) == 13


def test_a_folder_is_searched_for_what_is_known(here: Path) -> None:
    chat("logs/b/talk.json")
    chat("logs/UPPER.JSON", [{"role": "user", "content": "upper"}])
    Path("logs/a.jsonl.gz").write_bytes(gzip.compress(session("packed").encode()))
    Path("logs/settings.json").write_text('{"theme": "dark"}')
    Path("logs/empty.json").write_text("")
    Path("logs/notes.txt").write_text(session("of another ending"))
    found = ok_json("import", "logs", "logs/b", "logs/b/talk.json")
    assert [Path(file["path"]).name for file in found["files"]] == [
        "talk.json",  # named, so it comes first, and once
        "UPPER.JSON",
        "a.jsonl.gz",
    ]
    assert found["passed_over"] == 2
    assert found["failed"] == []
    assert found["total"]["messages"] == 7
    assert "2 files of unknown format skipped" in ok("import", "logs")


def test_a_folder_with_nothing_known_is_no_failure(here: Path) -> None:
    Path("logs").mkdir()
    assert ok("import", "logs").startswith("0 files")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("settings.json", "no format that can be imported"),
        ("nothing.json", "no such file or directory"),
        ("pipe.json", "not a file"),
        (".tract/tract.db", "this is the database itself"),
    ],
)
def test_what_was_named_must_be_a_transcript(here: Path, name: str, why: str) -> None:
    Path("settings.json").write_text('{"theme": "dark"}')
    os.mkfifo("pipe.json")
    result = invoke("import", name, chat("talk.json"))
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [f"tract: {name}: {why}"]
    assert "1 file, 1 dialog, 5 messages" in result.stdout
    assert result.stdout.rstrip().endswith("1 file failed")


def test_a_file_is_taken_whole_or_not_at_all(here: Path) -> None:
    Path("bad.jsonl").write_text(session("one") + "{broken\n" * (MAX_BROKEN + 1))
    Path("good.json").write_text(json.dumps(CHAT))
    result = invoke("import", ".", "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert [file["path"] for file in found["files"]] == ["good.json"]
    assert found["failed"] == [{"path": "bad.jsonl", "error": "too many lines are broken"}]
    assert [dialog["dialog"] for dialog in ok_json("dialogs")] == ["good"]


def test_the_own_database_in_a_folder_is_left_alone(here: Path) -> None:
    ok("import", chat("talk.json"), "--json")
    ok("backup", "other.db")
    found = json.loads(ok("--db", "other.db", "import", ".", "--json"))
    assert found["passed_over"] == 0
    assert found["failed"] == []


def test_a_folder_has_files_of_many_endings(here: Path) -> None:
    names = (".aider.chat.history.md", "logs.sqlite", "logs.sqlite3", "state.vscdb", "README.md")
    for name in names:
        chat(f"logs/{name}")
    found = ok_json("import", "logs")
    assert {Path(file["path"]).name for file in found["files"]} == {*names} - {"README.md"}


def test_a_failure_in_one_file_is_that_files_problem(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(source: Any) -> Iterator[Any]:
        yield from read(source)
        if source.path.name == "b.json":
            raise TypeError("no such thing")

    read = importer("openai_chat").read
    monkeypatch.setattr(importer("openai_chat"), "read", broken)
    for name in "abc":
        chat(f"logs/{name}.json")
    result = invoke("import", "logs")
    assert result.exit_code == 0
    assert "3 files, 3 dialogs, 15 messages" in result.stdout
    what = "the rest of the file: not understood: TypeError: no such thing"
    assert result.stderr == f"logs/b.json: problem: {what}\n"


@pytest.mark.parametrize("error", [TypeError, KeyError, RecursionError, AssertionError, NameError])
def test_a_file_that_cannot_be_imported_at_all_stops_no_other(
    here: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def broken(t: Tract, path: Path, **options: Any) -> Any:
        if path.name == "b.json":
            raise error("x")
        return import_file(t, path, **options)

    monkeypatch.setattr("tract.cli.imports.import_file", broken)
    for name in "abc":
        chat(f"logs/{name}.json")
    result = invoke("import", "logs")
    assert result.exit_code == 1
    assert "2 files, 2 dialogs, 10 messages" in result.stdout
    assert result.stderr.startswith(f"tract: logs/b.json: cannot be read: {error.__name__}: ")


def test_home_is_found(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chat("home/talk.json")
    monkeypatch.setenv("HOME", str(here / "home"))
    assert imported("~/talk.json")["messages"] == 5
    assert imported("~")["duplicates"] == 5
    assert "~nobody-at-all/x: no such" in invoke("import", "~nobody-at-all/x").stderr


def test_a_dialog_can_be_named(here: Path) -> None:
    chat("talk.json")
    assert imported("talk.json", "--dialog", "mine")["dialogs"] == ["mine"]
    by_the_other = json.loads(ok("--dialog", "yours", "import", "talk.json", "--json"))
    assert by_the_other["files"][0]["dialogs"] == ["yours"]
    by_none = ok("import", "talk.json", "--json", TRACT_DIALOG="work")
    assert json.loads(by_none)["files"][0]["dialogs"] == ["talk"]


@pytest.mark.parametrize("name", ["-x", "HEAD", "", "a\x07b", "n" * 400])
def test_a_dialog_needs_a_name_that_can_be_said(here: Path, name: str) -> None:
    result = invoke("import", chat("talk.json"), f"--dialog={name}")
    assert result.exit_code == 2
    assert "not a name for a dialog" in result.stderr


@pytest.mark.parametrize("name", ["-x", "HEAD", " ", "a\x07b", "n" * 240])
def test_a_file_may_have_any_name(here: Path, name: str) -> None:
    assert imported(chat(f"./{name}.json"))["messages"] == 5


def test_without_a_database_one_is_told_how_to_make_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = invoke("import", chat("talk.json"))
    assert result.exit_code == 3
    assert "tract init" in result.stderr


def test_importing_into_either_database(db: str, tmp_path: Path) -> None:
    Tract.open(db).close()
    path = chat(str(tmp_path / "talk.json"))
    assert json.loads(ok("--db", db, "import", path, "--json"))["total"]["messages"] == 5
    assert json.loads(ok("--db", db, "import", path, "--json"))["total"]["duplicates"] == 5
    assert json.loads(ok("--db", db, "export", "talk", "--format", "openai"))["messages"] == CHAT


def test_the_bar_is_for_terminals(here: Path) -> None:
    chat("talk.json")
    screen = screen_of("import", "talk.json", columns=200)
    assert "importing" in screen
    assert "100%" in screen
    assert "importing" not in screen_of("import", "talk.json", columns=200, TERM="dumb")
    assert run("import", "talk.json").stderr == ""


def test_no_name_in_a_file_steers_the_terminal(here: Path) -> None:
    chat("talk.json", [*CHAT[:2], {**CHAT[2], "tool_calls": [{**CALL, "id": HOSTILE}]}])
    missing = HOSTILE.replace("\x00", "").replace("\ud800", "")
    result = invoke("import", "talk.json", missing)
    assert result.exit_code == 1
    assert "1 repair" in result.stdout
    assert "no such file" in result.stderr
    assert not dangerous(result.output)


# Import without a path


@pytest.fixture
def home(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder, whose agents no variable moves."""
    monkeypatch.setattr("tract.cli.imports.os.environ", {"HOME": str(here / "home")})
    monkeypatch.setattr("tract.cli.imports.sys.platform", "linux")
    monkeypatch.setattr(Path, "home", lambda: here / "home")
    return here / "home"


def keep(home: Path) -> None:
    """Transcripts of two agents, and a file of neither."""
    path = home / ".claude" / "projects" / "p" / "s.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(session("one", "two"))
    os.utime(path, (0, 0))
    path.with_name("other.jsonl").write_text("{}")
    os.utime(path.with_name("other.jsonl"), (0, 0))
    chat(str(home / ".codex" / "sessions" / "rollout-1.jsonl"))
    os.utime(home / ".codex" / "sessions" / "rollout-1.jsonl", (60, 60))


def test_without_a_path_the_agents_are_asked(home: Path) -> None:
    keep(home)
    result = invoke("import", "--yes")
    assert result.exit_code == 0, result.output
    header, claude, codex, *report = result.stdout.splitlines()
    assert header.split() == ["AGENT", "FILES", "SIZE", "NEWEST", "FOLDER"]
    assert re.split(r"\s{2,}", claude) == [
        *("Claude Code", "2", f"{len(session('one', 'two')) + 2} bytes"),
        *("1970-01-01 00:00:00Z", str(home / ".claude" / "projects")),
    ]
    assert codex.startswith("Codex ")
    assert report[-1].startswith("2 files, 2 dialogs, 7 messages")
    assert report[-1].endswith("1 file of unknown format skipped")


def test_without_a_path_and_a_terminal_nothing_is_imported(home: Path) -> None:
    keep(home)
    result = invoke("import")
    assert result.exit_code == 2
    assert "this would import 3 files of Claude Code, Codex; confirm with --yes" in result.stderr
    assert ok_json("dialogs") == []
    assert invoke("import", "--json").stdout == ""


def test_a_person_can_refuse(here: Path) -> None:
    keep(here / "home")
    moved = {"HOME": str(here / "home"), "CLAUDE_CONFIG_DIR": "", "CODEX_HOME": ""}
    with on_a_terminal("import", columns=70, **moved) as (process, ours):
        screen = read_until(ours, "[y/N]")
        os.write(ours, b"n\n")
        assert "nothing was done" in read_until(ours, None)
        assert process.wait(60) == 1
    assert "Import 3 files of Claude Code, Codex?" in screen
    plain = re.sub(r"\x1b\[\d*m", "", screen)
    assert max(map(len, plain.splitlines())) <= 70
    assert ok_json("dialogs") == []


def test_where_no_agent_keeps_anything_the_places_are_listed(home: Path) -> None:
    result = invoke("import", "--yes")
    assert result.exit_code == 3
    *places, error = result.stderr.splitlines()
    assert f"looked for Claude Code in {home / '.claude' / 'projects'}" in places
    assert error == "tract: agents keep no transcripts here; name a PATH to import"


def test_the_json_of_an_import_without_a_path_is_one_document(home: Path) -> None:
    keep(home)
    assert ok_json("import", "--yes")["total"]["messages"] == 7


# Watching


def watched(monkeypatch: pytest.MonkeyPatch, *steps: Callable[[], object]) -> list[str]:
    """What `import --watch` of the folder `logs` prints, if these happen one after the other
    while it sleeps. Then it is interrupted."""
    happening = iter(steps)

    def sleep(_: float) -> None:
        step = next(happening, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    clock = SimpleNamespace(monotonic=lambda: 0.0, sleep=sleep)
    monkeypatch.setattr("tract.cli.imports.time", clock)
    return invoke("import", "logs", "--watch").output.splitlines()


def append(text: str) -> Callable[[], object]:
    def write() -> None:
        with Path("logs/s.jsonl").open("a") as file:
            file.write(text)

    return write


def nothing() -> None:
    pass


def test_what_is_added_is_imported(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = session("one", "two").splitlines(keepends=True)
    chat("logs/talk.json")
    output = watched(
        monkeypatch, lambda: Path("logs/s.jsonl").write_text(one), nothing, append(two), nothing
    )
    assert output[2:] == [
        "1 file, 1 dialog, 5 messages, 1 call, 1 result, 0 duplicates, 0 repairs, 0 problems",
        f"{SESSION}: 1 message, 0 calls, 0 results from logs/s.jsonl",
        f"{SESSION}: 1 message, 0 calls, 0 results from logs/s.jsonl",
        "",
        "Aborted!",
    ]


def test_the_middle_of_a_write_is_no_problem(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two, three = session("one", "two", "three").splitlines(keepends=True)
    Path("logs").mkdir()
    Path("logs/s.jsonl").write_text(one)
    why = "Expecting property name enclosed in double quotes: line 1 column 21 (char 20)"
    steps = append(two[:20]), append(two[20:]), append(three[:20]), nothing, append(three[20:])
    output = watched(monkeypatch, *steps, nothing)
    assert output[3:-2] == [
        f"{SESSION}: 1 message, 0 calls, 0 results from logs/s.jsonl",
        "logs/s.jsonl: problem: line 3: not JSON: " + why,
        f"{SESSION}: 1 message, 0 calls, 0 results from logs/s.jsonl",
    ]


def test_a_problem_is_reported_once(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = session("one", "two").splitlines(keepends=True)
    Path("logs").mkdir()
    append(one)()
    steps = append("{broken\n"), nothing, append(two), nothing, append("[]\n"), nothing
    problems = [line for line in watched(monkeypatch, *steps) if "problem: " in line]
    assert [line.split(": ")[2] for line in problems] == ["line 2", "line 4"]


@pytest.mark.usefixtures("interruptible")
def test_watching_ends_with_an_interrupt(here: Path) -> None:
    chat("logs/talk.json")
    with on_a_terminal("import", "logs", "--watch", columns=200) as (process, ours):
        read_until(ours, "1 file, 1 dialog, 5 messages")
        assert interrupted(process) == 130
    assert [dialog["commits"] for dialog in ok_json("dialogs")] == [5]


# Export


@pytest.fixture
def filled(here: Path) -> Path:
    """With a dialog of a thought, an image, a call whose result is not there, and an answer."""
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    image = {"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}}
    call = {"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {}}
    with Tract.open(".tract/tract.db", dialog="talk") as tract:
        tract.system("Be brief.")
        tract.user([{"type": "text", "text": "What is here?"}, image])
        tract.commit({"role": "assistant", "content": [thought, call]})
        tract.user("Go on.")
    return here


@pytest.mark.parametrize("provider", ["anthropic", "openai", "responses", "gemini"])
def test_an_export_is_a_request_that_is_valid(filled: Path, provider: str) -> None:
    text = ok("export", "talk", "--format", provider)
    with Tract.open(".tract/tract.db", dialog="talk") as tract:
        assert json.loads(text) == getattr(tract.compile(), f"to_{provider}_params")()
    assert validate(json.loads(text), provider, is_request=True) == []
    Path("request.json").write_text(text)
    result = invoke("validate", "request.json", "--provider", provider, "--request")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"ok (rules: {provider})\n"


def test_the_notes_are_those_of_the_target(filled: Path) -> None:
    notes = {
        kind: json.loads(ok("export", "talk", "--format", kind, "--json"))["notes"]
        for kind in ("anthropic", "openai", "gemini", "jsonl", "markdown")
    }
    opened = "call 'toolu_1' of ls has no result"
    declared = "no tools were recorded; declared from the calls: ls"
    shown = ["image is not shown to openai", "thinking is not shown to openai"]
    assert notes["anthropic"] == [opened, declared]
    assert sorted(notes["openai"]) == sorted([opened, declared, *shown])
    assert sorted(notes["jsonl"]) == sorted([opened, *shown])
    assert not any("openai" in note for note in notes["gemini"])
    assert notes["markdown"] == []
    assert f"note: {opened}" in invoke("export", "talk", "--format", "gemini").stderr


def test_lines_can_be_imported_again(here: Path) -> None:
    ok("import", chat("talk.json"))
    lines = ok("export", "talk", "--format", "jsonl")
    assert [json.loads(line) for line in lines.splitlines()] == CHAT
    Path("lines.jsonl").write_text(lines)
    assert imported("lines.jsonl")["messages"] == 5
    assert ok("export", "lines", "--format", "jsonl") == lines


def test_an_export_can_go_to_a_file(filled: Path) -> None:
    Path("out.json").write_text("old")
    result = invoke("export", "talk", "--format", "gemini", "--output", "out.json")
    assert result.stdout == ""
    assert result.stderr.startswith("4 messages written to out.json\n")
    text = Path("out.json").read_text("utf-8")
    assert text == ok("export", "talk", "--format", "gemini")
    assert invoke("export", "no", "--format", "gemini", "--output", "out.json").exit_code == 3
    assert Path("out.json").read_text("utf-8") == text
    failed = invoke("export", "talk", "--format", "gemini", "--output", "no/where.json")
    assert (failed.exit_code, failed.stderr) == (
        1,
        "tract: no/where.json: No such file or directory\n",
    )


def test_the_dialog_of_the_option_is_the_default(filled: Path) -> None:
    named = ok("export", "talk", "--format", "openai")
    assert ok("--dialog", "talk", "export", "--format", "openai") == named
    assert ok("export", "--format", "openai") == named  # the only dialog


def test_what_is_stored_goes_out_whole(here: Path) -> None:
    long = "".join(f"{number}: a line of it\n" for number in range(500))
    with Tract.open(".tract/tract.db", dialog="talk") as tract:
        first = tract.user("a secret")
        tract.user("[redacted]", edit=first)
        skipped = tract.user("an aside")
        tract.annotate(skipped, Priority.SKIP)
        tract.assistant("", tool_calls=[ToolCall("call_1", "cat", {"name": "a"})])
        tract.tool_result("call_1", "cat", long, form="reference")
        last = tract.assistant("Done.")
        tract.user("Thanks.")
        tract.compress(to_commit=last, content="It was read.")

    def said(*options: str) -> list[str]:
        request = json.loads(ok("export", "talk", "--format", "openai", *options))
        return [message["content"] for message in request["messages"]]

    assert len(said()) == 2
    assert said()[0].endswith("It was read.")
    whole = ["[redacted]", "an aside", None, long, "Done.", "Thanks."]
    assert said("--stored") == whole
    assert said("--stored", "--at", last.commit_hash) == whole[:-1]
    assert said("--at", skipped.commit_hash) == ["[redacted]", "an aside"]
    text = ok("export", "talk", "--format", "markdown", "--stored")
    assert long in text


def test_a_transcript_to_read(here: Path) -> None:
    ok("import", chat("talk.json"))
    assert ok("export", "talk", "--format", "markdown") == (
        "# `talk`\n\n"
        "## system\n\n> Be brief.\n\n"
        "## user\n\n> What is here?\n\n"
        "## assistant\n\ncalls `ls` `call_1`\n\n```json\n{}\n```\n\n"
        "## result of `ls` `call_1`\n\n```text\na.py\nb.py\n```\n\n"
        "## assistant\n\n> Two files.\n"
    )
    document = ok_json("export", "talk", "--format", "markdown")
    assert document["text"] == ok("export", "talk", "--format", "markdown")


def test_a_picture_is_not_spelled_out(here: Path) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "A" * 50_000}
    with Tract.open(".tract/tract.db", dialog="talk") as tract:
        tract.user([{"type": "image", "source": source}])
    text = ok("export", "talk", "--format", "markdown")
    assert len(text) < 2000
    assert "(50000 characters)" in text


def fenced(text: str) -> Iterator[str]:
    """The fenced blocks of a page, read as Markdown is. Whatever else is there must be ours, or
    quoted."""
    fence = ""
    inside: list[str] = []
    for line in text.split("\n"):
        if fence and set(line.strip()) == {"`"} and len(line.strip()) >= len(fence):
            yield "\n".join(inside)
            fence, inside = "", []
        elif fence:
            inside.append(line)
        elif line.startswith("```"):
            fence = "`" * (len(line) - len(line.lstrip("`")))
        else:
            assert line == "" or line.startswith(("# `", "## ", ">", "calls `")), line
    assert not fence


SNEAKY = st.lists(
    st.sampled_from(["```", "````", "\n", "~~~", "## assistant", "> ", "x", "`", " ", "\r", "\x1b"])
).map("".join)


@given(said=SNEAKY, name=SNEAKY, asked=SNEAKY, returned=SNEAKY)
def test_nothing_breaks_out_of_a_fence(said: str, name: str, asked: str, returned: str) -> None:
    call = ToolCall(name, name, {"text": asked})
    messages = [
        Message("user", said),
        Message("assistant", (Text(said), call), name=name),
        Message("tool", returned, name, name),
        Message("assistant", "End."),
    ]
    text = markdown(name, messages)
    arguments, result = fenced(text)
    assert json.loads(arguments)["text"] == asked
    assert result == visible(returned).removesuffix("\n")
    assert not dangerous(text)


# Validate


def judged(given: Any, *options: str) -> tuple[int, str]:
    text = given if isinstance(given, str) else json.dumps(given)
    result = invoke("validate", "-", *options, stdin=text)
    return result.exit_code, result.stdout


def test_each_violation_is_a_line() -> None:
    assert judged(CHAT) == (0, "")
    assert judged({"model": "gpt-5", "messages": CHAT}, "--request") == (0, "")
    assert judged(CHAT[:3]) == (
        1,
        "messages[2].tool_calls[0].id: tool-call-without-result: "
        "'call_1' has no tool message right behind it\n",
    )


def test_the_end_matters_only_for_a_request() -> None:
    request = {"model": "claude-opus-4-8", "messages": [CHAT[1], CHAT[4]]}
    assert judged(request) == (0, "")
    code, said = judged(request, "--request")
    assert (code, said) == (1, "messages[1]: ends-with-assistant: a request ends with the user\n")


def test_the_provider_can_be_said() -> None:
    code, said = judged(CHAT[3:], "--provider", "anthropic")
    assert code == 1
    assert "messages[0].role: role-unknown" in said
    assert judged(CHAT, "--provider", "nobody")[0] == 2


def test_lines_of_messages_are_one_history() -> None:
    lines = "\n".join(map(json.dumps, CHAT))
    assert judged(lines) == (0, "")
    assert judged(lines + "\n\n") == (0, "")
    assert judged("\n".join(map(json.dumps, CHAT[:3])))[1].startswith("messages[2]")
    assert judged(CHAT[1]) == (0, "")  # a single message is a history, too
    call = {"type": "custom_tool_call", "call_id": "c", "name": "sh", "input": "ls"}
    output = {"type": "custom_tool_call_output", "call_id": "c", "output": ""}
    assert judged("\n".join(map(json.dumps, [call, output]))) == (0, "")


def test_lines_of_requests_are_judged_each_for_itself() -> None:
    requests = [{"messages": CHAT}, {"messages": CHAT[:3]}, {"contents": []}]
    code, said = judged("\n".join(map(json.dumps, requests)))
    assert code == 1
    assert said.startswith("line 2 messages[2].tool_calls[0].id: tool-call-without-result")
    code, said = judged("\n".join(map(json.dumps, requests)), "--request")
    assert "line 3 contents: contents-empty" in said


def test_the_json_of_a_verdict(here: Path) -> None:
    assert ok_json("validate", chat("talk.json")) == {
        "ok": True,
        "judged": [{"place": "", "provider": "openai", "violations": []}],
    }
    result = invoke("validate", chat("cut.json", CHAT[:3]), "--json")
    assert result.exit_code == 1
    (verdict,) = json.loads(result.stdout)["judged"]
    assert verdict["violations"][0]["rule"] == "tool-call-without-result"
    assert verdict["violations"][0]["provider_text"].startswith("An assistant message with")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "nested too deep"),
        ('{"role": "user", "content": ""}\n{"role"', "line 2: not JSON"),
        ("\xff\xfe", "not JSON"),
    ],
)
def test_what_cannot_be_read_is_a_wrong_use(here: Path, text: str, words: str) -> None:
    Path("given.json").write_bytes(text.encode("latin-1"))
    result = invoke("validate", "given.json")
    assert result.exit_code == 2
    assert words in result.stderr
    assert invoke("validate", "nothing.json").exit_code == 2


@pytest.mark.parametrize("value", [5, None, "text", {}, [], {"theme": "dark"}, [[[]]]])
def test_what_nobody_takes_is_a_violation(value: Any) -> None:
    code, said = judged(json.dumps(value))
    assert code == 1
    assert said.startswith("all: unknown-provider: ")


def test_a_verdict_does_not_steer_the_terminal() -> None:
    call = {**CALL, "id": HOSTILE}
    code, said = judged([{**CHAT[2], "tool_calls": [call]}])
    assert code == 1
    assert "tool-call-without-result" in said
    assert not dangerous(said)


# The pages


def section(page: str, title: str) -> str:
    text = (ROOT / "docs" / page).read_text("utf-8")
    return re.split(r"^##+ ", text.split(f"# {title}\n", 1)[1], flags=re.MULTILINE)[0]


def test_the_page_names_every_format() -> None:
    told = re.findall(r"^\| `([\w-]+)`", section("importing.md", "Formats"), re.MULTILINE)
    assert sorted(told) == sorted(importer(module).NAME for module in MODULES)


@pytest.mark.parametrize(
    ("title", "validator", "made_up"),
    [
        ("Anthropic", anthropic, {"messages-not-a-list"}),
        ("Chat Completions", openai_chat, {"messages-not-a-list", "input-not-string"}),
        ("Responses", openai_responses, {"input-not-a-list", "input-not-string"}),
        ("Gemini", gemini, {"contents-not-a-list", "args-not-object", "response-not-object"}),
    ],
)
def test_the_page_names_every_rule(title: str, validator: Any, made_up: set[str]) -> None:
    """`made_up` are those whose names are put together from parts."""
    told = re.findall(r"^\| `([\w-]+)`", section("formats.md", title), re.MULTILINE)
    assert len(told) == len(set(told))
    written = re.findall(r'"([a-z]+(?:-[a-z]+)+)"', inspect.getsource(validator))
    assert set(told) == {*written, *made_up}


def test_a_database_that_is_named_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    report = json.loads(invoke("--db", "new.db", "import", str(chat("a.json")), "--json").stdout)
    assert Path("new.db").exists()
    assert [file["messages"] for file in report["files"]] == [5]
