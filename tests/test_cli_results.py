"""`tract results`, `result` and `reshape` from the outside, and what the others say of forms."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli import (
    HEAVY,
    HOSTILE,
    dangerous,
    environment,
    imported_by,
    invoke,
    ok,
    ok_json,
    screen_of,
)
from tract import CommitInfo, Form, ToolCall, Tract
from tract.cli import cli
from tract.cli.commits import age
from tract.core.forms import ToolResultInfo
from tract.storage.sqlite import binding

LOG = "".join(f"{number:04} all is well\n" for number in range(1, 601)) + "0601 disk full\n"
FAILED = "no such file\n" * 60


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    ok("init")
    return tmp_path


def opened() -> Tract:
    return Tract.open(".tract/tract.db")


def called(tract: Tract, *calls: tuple[str, str], **arguments: Any) -> CommitInfo:
    return tract.assistant("", tool_calls=[ToolCall(i, name, arguments) for i, name in calls])


@pytest.fixture
def filled(here: Path) -> Path:
    """A long log as a reference, a short file, and the same file read again, which failed."""
    with opened() as tract:
        tract.user("What happened?")
        called(tract, ("c1", "read_log"))
        tract.tool_result("c1", "read_log", LOG, form="reference")
        called(tract, ("c2", "read"), path="a.py")
        tract.tool_result("c2", "read", {"lines": ["x = 1", "y = 2"] * 50})
        called(tract, ("c2", "read"), path="a.py")
        tract.tool_result("c2", "read", FAILED, is_error=True)
        tract.user("Go on.")
    return here


def forms(*args: str) -> dict[str, str | None]:
    return {info["id"]: info["form"] for info in ok_json("results", *args)}


def shown(*args: str) -> list[Any]:
    messages = json.loads(ok("compile", *args))
    return [message["content"] for message in messages if message["role"] == "tool"]


# The list


def test_a_table_of_results_oldest_first(filled: Path) -> None:
    result = invoke("results")
    rows = [re.split(r" {2,}", line) for line in result.stdout.splitlines()]
    tokens = [info["token_count"] for info in ok_json("results")]
    size = "10.2 KB"
    assert rows == [
        ["read_log", "c1", size, f"{tokens[0]} tok", "reference", "success", "just now"],
        ["read a.py", "c2", "811 bytes", f"{tokens[1]} tok", "full", "success", "just now"],
        ["read a.py", "c2#2", "780 bytes", f"{tokens[2]} tok", "full", "error", "just now"],
    ]
    assert result.stderr == f"3 results, {sum(tokens)} tokens; 1 not shown in full\n"


def test_the_json_has_what_the_library_has(filled: Path) -> None:
    with opened() as tract:
        wanted = tract.list_tool_results()
    assert [ToolResultInfo(**info) for info in typed(ok_json("results"))] == wanted
    assert ok_json("results")[0]["byte_size"] == len(LOG)


def typed(listed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        info
        | {"form": Form(info["form"]), "created_at": datetime.fromisoformat(info["created_at"])}
        for info in listed
    ]


def test_the_results_of_one_tool(filled: Path) -> None:
    assert list(forms("--tool", "read")) == ["c2", "c2#2"]
    result = invoke("results", "--tool", "rm")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "no results of 'rm' on this branch; tools: read_log, read\n"
    assert ok_json("results", "--tool", "rm") == []


def test_many_tools_are_not_all_named(here: Path) -> None:
    with opened() as tract:
        for number in range(8):
            tract.tool_result("x", f"tool{number}", "out")
    assert invoke("results", "--tool", "rm").stderr.endswith("tool3, tool4 and 3 more\n")


@pytest.mark.parametrize("options", [(), ("--superseded",), ("--tool", "ls")])
def test_no_results_yet(here: Path, options: tuple[str, ...]) -> None:
    ok("commit", "hello")
    result = invoke("results", *options)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("no tool results on this branch; `tract commit --role tool`")
    assert ok_json("results", *options) == []


def test_an_empty_dialog_and_none(here: Path) -> None:
    assert invoke("results").exit_code == 3
    ok("branch", "b")
    assert ok_json("results") == []


def test_what_is_left_out_is_listed_as_that(filled: Path) -> None:
    with opened() as tract:
        first, second, _ = tract.find_tool_results()
        tract.annotate(second, "skip")
        tract.annotate(tract.find_tool_turns("read_log")[0].call, "skip")
        assert first.commit_hash not in {info.commit_hash for info in tract.find_tool_results()}
    assert forms() == {"c1": None, "c2": None, "c2#2": "full"}
    assert "left out" in ok("results", "--tool", "read_log")
    assert ok("result", "c1", "--lines", "601").endswith("0601 disk full\n")


def test_an_edited_result_is_listed_once_as_edited(filled: Path) -> None:
    edit = json.loads(ok("edit", ok_json("results")[0]["commit_hash"], "redacted", "--json"))
    first = ok_json("results")[0]
    assert (first["id"], first["form"]) == ("c1", "full")
    assert first["commit_hash"] == edit["commit_hash"]
    assert ok("result", "c1", "--raw") == "redacted"


def test_results_without_a_name_or_a_legible_id(here: Path) -> None:
    with opened() as tract:
        lost = tract.tool_result("", None, "lost")
        tract.tool_result("a b", None, "more")
    first, second = ok_json("results")
    assert first["id"] == f"result-{lost.commit_hash[:12]}"
    assert first["tool"] is None
    assert ok("result", second["id"], "--raw") == "more"


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (-5, "just now"),
        (59, "just now"),
        (60, "1 min"),
        (3_599, "59 min"),
        (3_600, "1 h"),
        (86_399, "23 h"),
        (86_400, "1 d"),
        (86_400 * 400, "400 d"),
    ],
)
def test_ages(seconds: int, told: str) -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    assert age(now - timedelta(seconds=seconds), now) == told


# What was made old


def test_what_a_later_call_has_made_old(filled: Path) -> None:
    assert ok_json("results", "--superseded") == []  # what failed makes nothing old
    with opened() as tract:
        called(tract, ("c3", "read"), path="a.py")
        tract.tool_result("c3", "read", "x = 1")
    result = invoke("results", "--superseded")
    assert re.split(r" {2,}", result.stdout.splitlines()[0])[-2:] == ["by c3", "called again"]
    assert result.stderr.endswith(" tokens; `tract reshape FORM ID…` shows less of them\n")
    old, failed = ok_json("results", "--superseded")
    assert (old["id"], old["by"], old["reason"]) == ("c2", "c3", "called again")
    assert (failed["id"], failed["by"]) == ("c2#2", "c3")
    assert ok_json("results", "--superseded", "--tool", "read_log") == []


def test_nothing_was_made_old(here: Path) -> None:
    with opened() as tract:
        called(tract, ("a", "ls"))
        tract.tool_result("a", "ls", "src")
    result = invoke("results", "--superseded")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "no result was made outdated by a later call\n"


# One result


def test_the_parts_of_a_result(filled: Path) -> None:
    assert ok("result", "c1", "--lines", "10-11") == (
        "[c1 · read_log · lines 10–11 of 601]\n0010 all is well\n0011 all is well\n"
    )
    assert ok("result", "c1", "--lines", "-1").endswith("0601 disk full\n")
    hits = ok("result", "c1", "--grep", "^06.*f[u]ll", "-C", "1")
    assert hits.splitlines()[1:] == ["600-0600 all is well", "601:0601 disk full"]
    found = ok("result", "c2", "--json-path", "$.lines[1]")
    assert found.splitlines()[1:] == ["y = 2"]
    page = ok("result", "c1", "--offset", "17", "--limit", "4")
    assert page.splitlines()[1] == "0002"
    assert page.splitlines()[-1].startswith("[more: call again with ")


def test_a_page_is_what_the_model_gets(filled: Path) -> None:
    with opened() as tract:
        page = tract.get_tool_result("c1")
        assert page.startswith("[c1 · read_log · offset 0–8000 of ")
    assert ok("result", "c1").rstrip("\n") == page.rstrip("\n")
    document = ok_json("result", "c1")
    assert document["text"] == page
    assert (document["id"], document["form"], document["tool"]) == ("c1", "reference", "read_log")


def test_a_result_is_named_by_id_or_commit(filled: Path) -> None:
    info = ok_json("results")[2]
    for name in ("c2#2", info["commit_hash"], info["commit_hash"][:9], info["commit_hash"][:4]):
        assert ok("result", name, "--raw") == FAILED
    ok("checkout", info["commit_hash"])
    assert ok("result", "HEAD", "--raw") == FAILED


@pytest.mark.parametrize(
    "data",
    [
        b"plain",
        b"no newline at the end, two before\n\n",
        b"\r\nand \r and \x00 and \x1b[31m",
        b"not UTF-8: \xff\xfe \xc3",
        "日本語 🙂".encode(),
    ],
)
def test_raw_is_what_was_piped_in(here: Path, data: bytes) -> None:
    ok("commit", "--role", "tool", "--call-id", "c", "--form", "reference", stdin=data)
    result = invoke("result", "c", "--raw")
    assert result.stdout_bytes == data
    assert result.stderr == ""


def test_raw_of_other_things(here: Path) -> None:
    with opened() as tract:
        tract.tool_result("a", "x", {"b": [1, "é"]})
        tract.tool_result("b", "x", "half \ud800 of a pair")
        tract.tool_result("c", "x", "\n".join(f"{n:08}" for n in range(300_000)))
    assert json.loads(ok("result", "a", "--raw")) == {"b": [1, "é"]}
    half = "half \ud800 of a pair".encode("utf-8", "surrogatepass")
    assert invoke("result", "b", "--raw").stdout_bytes == half
    assert ok_json("result", "b", "--raw")["text"] == "half \ud800 of a pair"
    whole = ok("result", "c", "--raw")
    assert (len(whole), whole[-8:]) == (2_699_999, "00299999")


def test_raw_to_a_closed_pipe(filled: Path) -> None:
    line = f"{sys.executable} -m tract result c1 --raw | head -c 4"
    done = subprocess.run(line, shell=True, capture_output=True, env=environment())
    assert (done.stdout, done.stderr) == (b"0001", b"")


def test_a_screen_is_not_steered_by_a_raw_text(here: Path) -> None:
    with opened() as tract:
        tract.tool_result("c", "x", f"{HOSTILE}\nsecond")
    for args in (("result", "c", "--raw"), ("result", "c")):
        screen = screen_of(*args, NO_COLOR="1").replace("\r\n", "\n")
        assert not dangerous(screen)
        assert "second" in screen
        assert r"\x1b[31mred" in screen


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("result", 2, "Missing argument 'ID'"),
        ("result c9", 3, "no result 'c9' in this dialog"),
        ("result c1 --raw --lines 1", 2, "--raw prints the full text"),
        ("result c1 -C 2", 2, "-C requires --grep"),
        ("result c1 --grep x -C -2", 2, "-C"),
        ("result c1 --lines 1 --grep x", 2, "lines or grep, not both"),
        ("result c1 --lines x-y", 2, "lines must be a range"),
        ("result c1 --json-path $[", 2, "tract:"),
        ("result c1 --limit 0", 2, "--limit"),
        ("result HEAD", 3, "no result"),
        ("reshape", 2, "Missing argument"),
        ("reshape full", 2, "Missing argument 'ID...'"),
        ("reshape half c1", 2, "'half' is not one of"),
        ("reshape full c9", 3, "no result 'c9'"),
        ("reshape full c1 c9", 3, "no result 'c9'"),
        ("reshape full HEAD", 2, "is not a tool result, and only results have forms"),
        ("reshape full c1 --tokens 3", 2, "--tokens applies to truncated and reference"),
        ("reshape truncated c1 --tokens 0", 2, "--tokens"),
        ("reshape reference c1 --text x", 2, "--text applies to summary"),
        ("compile --load-results c9", 3, "no result 'c9'"),
        ("compile --load-results all --load-results c1", 2, "all, none, or ids"),
        ("compile --keep-recent -1", 2, "--keep-recent"),
        ("compile --inline-under x", 2, "--inline-under"),
        ("commit --form full x", 2, "--error or --form"),
        ("commit --role tool --call-id c --form half x", 2, "--form"),
    ],
)
def test_exit_codes(filled: Path, line: str, code: int, words: str) -> None:
    before = ok_json("log")
    result = invoke(*line.split())
    assert (result.exit_code, result.stdout) == (code, "")
    assert words in result.stderr
    assert ok_json("log") == before


def test_an_unknown_id_names_those_near_it(here: Path) -> None:
    with opened() as tract:
        tract.tool_result("call_abcdef", "x", "out")
    assert "similar ids: call_abcdef" in invoke("result", "call_abcdeg").stderr


def test_a_forgotten_result(here: Path) -> None:
    with opened() as tract:
        tract.forget(tract.tool_result("c", "x", "the password is hunter2"))
    assert "[forgotten]" not in ok("results")
    result = invoke("result", "c", "--raw")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "was forgotten" in result.stderr


# Forms


def test_several_results_are_reshaped_in_one_commit(filled: Path) -> None:
    before = len(ok_json("log"))
    made = ok_json("reshape", "reference", "c2", "c2#2", "-m", "old files")
    assert (made["operation"], made["message"]) == ("mark", "old files")
    assert [mark["value"] for mark in made["marks"]] == ["reference", "reference"]
    assert len(ok_json("log")) == before + 1
    assert set(forms().values()) == {"reference"}
    ok("restore", "HEAD")
    assert forms() == {"c1": "reference", "c2": "full", "c2#2": "full"}


def test_reshape_prints_its_commit(filled: Path) -> None:
    made = ok("reshape", "full", "c1")
    digest = ok_json("results")[0]["commit_hash"]
    assert re.fullmatch(rf"\w{{10}}  mark  \S+ \S+Z  full {digest[:10]}\n", made)
    assert shown()[0] == LOG


def test_reshape_says_which_results_stay_in_full(filled: Path) -> None:
    with opened() as tract:
        called(tract, ("c9", "ls"))
        tract.tool_result("c9", "ls", "a.py")
    assert "1 short result stays in full: c9" in ok("reshape", "summary", "c9")
    assert forms()["c9"] == "full"


def test_a_result_named_twice_is_marked_once(filled: Path) -> None:
    digest = ok_json("results")[1]["commit_hash"]
    assert len(ok_json("reshape", "reference", "c2", digest, digest[:12], "c2")["marks"]) == 1


def test_how_much_is_shown(filled: Path) -> None:
    ok("reshape", "truncated", "c1", "--tokens", "20")
    assert shown()[0].startswith("0001 all is well\n0002 ")
    assert len(shown()[0]) < 160
    ok("reshape", "reference", "c1", "--tokens", "20")
    few = shown()[0]
    ok("reshape", "reference", "c1")
    assert few.splitlines()[0] == shown()[0].splitlines()[0]
    assert len(few) < len(shown()[0])


def test_a_summary_in_words(filled: Path) -> None:
    made = ok("reshape", "summary", "c1", "--text", "The disk was full.")
    assert made.endswith(": The disk was full.\n")
    assert shown()[0].splitlines()[-1] == "The disk was full."
    assert ok("result", "c1", "--raw") == LOG


def test_collapsed_is_a_reference_until_all_of_the_turn_is(here: Path) -> None:
    with opened() as tract:
        called(tract, ("a", "ls"), ("b", "ls"))
        tract.tool_result("a", "ls", LOG)
        tract.tool_result("b", "ls", "docs")
        tract.user("next")
    ok("reshape", "collapsed", "a")
    assert forms() == {"a": "reference", "b": "full"}
    ok("reshape", "collapsed", "b")
    assert forms() == {"a": "collapsed", "b": "collapsed"}
    assert shown() == []
    assert ok("result", "b", "--raw") == "docs"


def test_a_pinned_result_keeps_its_form(filled: Path) -> None:
    ok("pin", ok_json("results")[1]["commit_hash"])
    result = invoke("reshape", "reference", "c2")
    assert (result.exit_code, "is pinned" in result.stderr) == (2, True)


def test_an_old_commit_is_read_only(filled: Path) -> None:
    ok("checkout", ok_json("results")[1]["commit_hash"])
    assert list(forms()) == ["c1", "c2"]
    assert invoke("reshape", "full", "c1").exit_code == 4


# The other commands


def test_a_result_is_born_in_a_form(here: Path) -> None:
    made = ok(
        "commit", "--role", "tool", "--call-id", "c", "--name", "x", "--form", "reference", LOG
    )
    assert "  tool (reference)  x  " in made
    assert forms() == {"c": "reference"}
    result = {"role": "tool", "tool_call_id": "d", "content": LOG}
    ok("commit", "--file", "-", "--form", "truncated", stdin=json.dumps(result))
    assert forms() == {"c": "reference", "d": "truncated"}
    user = json.dumps({"role": "user", "content": "hello"})
    refused = invoke("commit", "--file", "-", "--form", "full", stdin=user)
    assert (refused.exit_code, "only results have forms" in refused.stderr) == (2, True)
    assert invoke("commit", "--file", "-", "--form", "full", stdin=f"[{user}]").exit_code == 2


def test_log_marks_what_is_not_shown_whole(filled: Path) -> None:
    lines = ok("log").splitlines()
    assert [line for line in lines if "(reference)" in line] == [
        line for line in lines if "read_log" in line and "tool" in line
    ]
    assert ok("log").count("(reference)") == 1
    ok("reshape", "full", "c1")
    ok("reshape", "reference", "c2#2")
    (marked,) = [line for line in ok("log").splitlines() if "(reference)" in line]
    assert "tool error (reference)  read " in marked
    assert "(reference)" not in ok("log", "-n", "1")


def test_show_tells_the_form(filled: Path) -> None:
    first, second, _ = (info["commit_hash"] for info in ok_json("results"))
    assert "\nform     reference\n" in ok("show", first)
    assert "\nform     full\n" in ok("show", second)
    ok("skip", second)
    assert "\nform     left out\n" in ok("show", second)
    ok("edit", first, "short")
    assert "\nform     full\n" in ok("show", "HEAD")
    assert "\nform     reference\n" in ok("show", first)
    assert "\nform " not in ok("show", ok_json("log")[-1]["commit_hash"])


def test_log_of_a_damaged_database(filled: Path) -> None:
    with opened() as tract:  # long enough for the log not to read it, and short enough to be folded
        tract.tool_result("d", "x", "damaged " * 200)
    database = binding.connect(filled / ".tract" / "tract.db")
    database.execute("UPDATE blobs SET payload = x'00' WHERE json_size = 1602")
    database.commit()
    database.close()
    assert invoke("results").exit_code == 1
    assert "tool (reference)  read_log" in ok("log")


def test_which_results_are_loaded(filled: Path) -> None:
    def lengths(*args: str) -> list[int]:
        return [len(content) for content in shown(*args)]

    own, whole = lengths(), lengths("--load-results", "all")
    assert own[0] < whole[0] == len(LOG)
    assert own[1:] == whole[1:]
    assert all("[preview only" in content for content in shown("--load-results", "none"))
    some = shown("--load-results", "c1", "--load-results", "c2#2")
    assert ["[preview only" in content for content in some] == [False, True, False]
    some = shown("--load-results", "none", "--keep-recent", "1")
    assert ["[preview only" in content for content in some] == [True, True, False]
    some = shown("--load-results", "none", "--inline-under", "800")
    assert ["[preview only" in content for content in some] == [True, False, False]
    first = ok_json("results")[0]["commit_hash"]
    assert len(shown("--load-results", first[:12])[0]) == len(LOG)


def test_loading_at_an_earlier_commit(filled: Path) -> None:
    first = ok_json("results")[0]["commit_hash"]
    ok("branch", "early", "--at", first)
    ok("checkout", "early")
    loaded = shown("--at", "main", "--load-results", "c2#2")
    assert loaded[2] == f"Error: {FAILED}"
    assert "[preview only" in loaded[1]


def test_loading_changes_nothing(filled: Path) -> None:
    before = ok("compile")
    ok("compile", "--load-results", "all")
    assert ok("compile") == before


# Hostile strings


def test_hostile_strings_are_harmless(here: Path) -> None:
    with opened() as tract:
        tract.user(HOSTILE)
        called(tract, (HOSTILE, HOSTILE), path=HOSTILE)
        tract.tool_result(HOSTILE, HOSTILE, HOSTILE, form="reference")
        called(tract, (HOSTILE, HOSTILE), path=HOSTILE)
        tract.tool_result(HOSTILE, HOSTILE, f"{HOSTILE}\n" * 100)
        tract.user("next")
    names = [info["id"] for info in ok_json("results")]
    assert len(set(names)) == 2
    commands = [
        ("results",),
        ("results", "--tool", "\x1b[31m"),
        ("results", "--superseded"),
        ("result", names[0]),
        ("result", names[1], "--grep", "red"),
        ("result", "\x1b[31m\u202e"),
        ("reshape", "summary", names[0], "--text", "\x1b[31m\u202e"),
        ("reshape", "collapsed", *names),
        ("reshape", "full", "\x1b[31m\u202e"),
        ("log",),
        ("show", ok_json("results")[0]["commit_hash"]),
    ]
    for command in commands:
        result = invoke(*command)
        assert result.exit_code in (0, 3), (command, result.output)
        assert not dangerous(result.stdout + result.stderr), command


def test_ids_that_look_like_options_or_marks(here: Path) -> None:
    ids = ["--raw", "-", "all", "c#2", "HEAD", "main"]
    with opened() as tract:
        for number, name in enumerate(ids):
            tract.tool_result(name, "x", f"out {number}")
    for number, name in enumerate(ids):
        if name != "HEAD":  # which is the newest commit, here as everywhere
            assert ok("result", "--raw", "--", name) == f"out {number}"
    assert ok("result", "--raw", "HEAD") == "out 5"


# Looks


def test_the_last_column_ends_with_the_terminal(filled: Path) -> None:
    *rows, account = screen_of("results", columns=40, NO_COLOR="1").splitlines()
    assert len(rows) == 3
    assert account.startswith("3 results, ")


@pytest.mark.parametrize("name", ["results", "result", "reshape"])
def test_the_help_is_there(name: str) -> None:
    assert ok(name, "-h").startswith(f"Usage: tract {name} ")
    assert name in cli.list_commands(None)  # type: ignore[arg-type]


def test_results_import_nothing_heavy(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db") as tract:
        tract.tool_result("c", "x", "out")
    modules = imported_by("--db", str(tmp_path / "t.db"), "results")
    assert {name.split(".")[0] for name in modules} & HEAVY == set()
    others = {
        "tract.cli.tools",
        "tract.cli.messages",
        "tract.cli.database",
        "tract.storage.postgres",
    }
    assert modules & others == set()
