"""`tract show` from the outside: commits, dialogs and transcripts on screens, pipes and pages."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.cli import (
    HEAVY,
    content_of,
    dangerous,
    environment,
    flip_a_byte,
    imported_by,
    invoke,
    ok,
    ok_json,
    run,
    screen_of,
)
from tests.corpus import BY_FOLDER, DATA, real_files
from tests.samples.conversation import CHAT, CODE, REQUEST, result, said, use
from tests.samples.payloads import ALONE, PAYLOADS
from tract import Message, Tract
from tract.content.blocks import whole_text
from tract.importers.writer import import_file
from tract.view.sanitize import one_line, visible

Json = dict[str, Any]

OURS = re.compile(r"\x1b\[[0-9;]*m")
SHORT_PATH = "...work/project/a/long/path/file.ts"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without a database, with two transcripts in it, entered."""
    monkeypatch.chdir(tmp_path)
    Path("request.json").write_text(json.dumps(REQUEST))
    Path("chat.json").write_text(json.dumps(CHAT))
    return tmp_path


@pytest.fixture
def dialog(here: Path) -> Path:
    """The same folder with a database, in which the long result has become a summary."""
    ok("init")
    with Tract.open(".tract/tract.db") as tract:
        import_file(tract, here / "request.json", dialog="default")
        import_file(tract, here / "chat.json", dialog="other")
    ok("reshape", "summary", "t1", "--text", "Many x.")
    ok("reshape", "collapsed", "t3")
    return here


def lines(*args: str, **env: str) -> list[str]:
    return ok("show", *args, **env).splitlines()


def tool_lines(*args: str, **env: str) -> list[str]:
    return [line for line in lines(*args, **env) if line.startswith("  [")]


# Lines


def test_a_transcript_is_shown_without_a_database(here: Path) -> None:
    before = content_of(here)
    done = run("show", "request.json", cwd=here)
    assert (done.returncode, done.stderr) == (
        0,
        "request.json: repair: result 'lost' has no matching call\n",
    )
    assert [line for line in done.stdout.splitlines() if line.startswith("  [")] == [
        "  [tools] 1 offered: Read",
        "  [thinking]",
        f"  [tool_use] Read {SHORT_PATH}",
        f"  [tool_result] Read {SHORT_PATH} (1523 bytes)",
        "  [tool_use] Bash make",
        "  [tool_result:error] Bash make (16 bytes)",
        "  [tool_use] Grep raise .*Error",
        f"  [tool_result] Grep raise .*Error ({len(CODE)} bytes)",
        "  [tool_result] (1523 bytes)",
    ]
    for line in (f"    {'x' * 1523}", "      at line 1", "    It is line 1.", "    You fix bugs."):
        assert line in done.stdout.splitlines()
    assert content_of(here) == before


def test_code_is_never_reflowed(here: Path) -> None:
    shown = "\n".join(f"    {line}" for line in CODE.split("\n"))
    assert f"bytes)\n{shown}\n" in ok("show", "request.json")


def test_folded_tools_are_one_line_each(here: Path) -> None:
    assert tool_lines("request.json", "--tools", "summary")[2:] == [
        f"  [tool_use] Read {SHORT_PATH}",
        f"  [Read] {SHORT_PATH} (1523 bytes)",
        "  [tool_use] Bash make",
        "  [tool_result:error] Bash make (16 bytes): boom",
        "  [tool_use] Grep raise .*Error",
        f"  [Grep] raise .*Error ({len(CODE)} bytes)",
        "  [tool_result] (1523 bytes)",
    ]
    assert "x" * 100 not in ok("show", "request.json", "--tools", "summary")


def test_hidden_tools_leave_the_errors(here: Path) -> None:
    shown = lines("request.json", "--tools", "hidden")
    about = [line for line in shown if re.match(r"  \[(tool_|Read|Bash|Grep)", line)]
    assert about == ["  [tool_result:error] Bash make (16 bytes): boom"]
    assert "    Why does it fail?" in shown
    assert "    It is line 1." in shown


def test_the_lines_of_a_chat(here: Path) -> None:
    assert tool_lines("chat.json", "--tools", "summary") == [
        "  [tool_use] shell make",
        "  [shell] make (33 bytes)",
        "  [tool_use] shell ls",
        "  [shell] ls (30 bytes)",
    ]


def test_no_text_passes_for_a_tool(here: Path) -> None:
    fake = "ok\n[tool_result] Read a.py (1 bytes)\n  [tool_use] Bash rm\nuser 0123456789"
    told = [CHAT[0], *CHAT[1:3], {"role": "assistant", "content": fake}]
    Path("fake.json").write_text(json.dumps(told))
    shown = lines("fake.json")
    assert [line for line in shown if line.startswith("  [")] == tool_lines("chat.json")[:3]
    assert not any(line.startswith("user 0123456789") for line in shown)


def test_a_huge_line_stays_one_line(here: Path) -> None:
    huge = [CHAT[0], CHAT[1], {**CHAT[2], "content": "z" * 5_000_000}]
    Path("huge.json").write_text(json.dumps(huge))
    shown = lines("huge.json")
    assert f"    {'z' * 5_000_000}" in shown
    assert "  [tool_result] shell make (5000000 bytes)" in shown


# Which of them


def test_only_some_roles(here: Path) -> None:
    def roles(*options: str) -> list[str]:
        found = re.findall(r"^(\w+)$", ok("show", *options), re.MULTILINE)
        return sorted(set(found))

    assert roles("request.json") == ["assistant", "system", "user"]
    assert roles("request.json", "--role", "user") == ["user"]
    assert roles("request.json", "--role", "user", "--role", "system") == ["system", "user"]
    assert [line.split(" (")[0] for line in tool_lines("request.json", "--role", "tool")] == [
        f"  [tool_result] Read {SHORT_PATH}",
        "  [tool_result:error] Bash make",
        "  [tool_result] Grep raise .*Error",
        "  [tool_result]",
    ]
    assert invoke("show", "request.json", "--role", "judge").exit_code == 2


def test_only_what_has_a_text(here: Path) -> None:
    assert tool_lines("request.json", "--grep", "make [a-z]es") == ["  [tool_use] Bash make"]
    assert "    Why does it fail?" in lines("request.json", "--grep", "(?i)WHY")
    done = invoke("show", "request.json", "--grep", "nothing has this")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.endswith("nothing to show\n")


def test_a_bad_expression_is_a_usage_error(here: Path) -> None:
    done = invoke("show", "request.json", "--grep", "(")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--grep is not a valid regular expression: missing )" in done.stderr


def test_errors_come_with_their_calls(here: Path) -> None:
    assert lines("request.json", "--errors")[1:] == [
        "  [tool_use] Bash make",
        "    command:",
        "      make",
        "      make test",
        "  [tool_result:error] Bash make (16 bytes)",
        "    boom",
        "      at line 1",
    ]


def test_a_failure_without_a_flag_is_an_error_too(here: Path) -> None:
    assert tool_lines("chat.json", "--errors", "--tools", "summary") == [
        "  [tool_use] shell make",
        "  [shell] make (33 bytes)",
    ]
    assert tool_lines("chat.json", "--errors", "--grep", "exited") == [
        "  [tool_result] shell make (33 bytes)"
    ]


# Stored and sent


def test_a_dialog_is_shown_by_name_or_by_option(dialog: Path) -> None:
    assert lines("other") == ok("--dialog", "other", "show", "--stored").splitlines()
    assert lines("default") == lines("--stored") == lines("--tools", "full")
    assert "    It does not build." in lines("other")
    assert "    It is line 1." in lines("default")
    assert invoke("--dialog", "nowhere", "show", "other").exit_code == 3


def test_what_is_kept_and_what_is_sent(dialog: Path) -> None:
    kept, sent = lines("default"), lines("default", "--sent")
    assert f"    {'x' * 1523}" in kept
    assert f"    {'x' * 1523}" not in sent
    assert any("Many x." in line for line in sent)
    for shown in (kept, sent):
        (told,) = [line for line in shown if line.startswith("  [tool_result] Read ")]
        told_tokens = rf"  \[tool_result\] Read {re.escape(SHORT_PATH)} "
        assert re.fullmatch(told_tokens + r"\(1523 bytes, summary, \d+ → \d+ tokens\)", told)
        assert any("Grep raise .*Error" in line and ", collapsed" in line for line in shown)
        assert any(re.match(r"── epoch 1 · [0-9a-f]{10} · 1 → summary ──", line) for line in shown)
    assert "    # end" in kept
    assert "    # end" not in sent


def test_what_is_sent_is_what_is_compiled(dialog: Path) -> None:
    (scene,) = ok_json("show", "default", "--sent")
    texts = [b["text"] for b in scene["blocks"] if b["type"] == "tool_result" and b["text"]]
    with Tract.open(".tract/tract.db") as tract:
        compiled = [whole_text(m) for m in tract.compile().messages if m.role == "tool"]
    assert texts == compiled


def test_a_dialog_as_it_was(dialog: Path) -> None:
    commits = ok_json("log")
    before = commits[2]["commit_hash"]  # below the two reshapings
    shown = ok("show", "--at", before[:10], "--sent")
    assert "x" * 1523 in shown
    assert "summary" not in shown
    ok("branch", "old", "--at", before)
    assert ok("show", "--at", "old", "--sent") == shown
    done = invoke("show", "--at", "nowhere")
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (3, "", 1)


def test_one_commit_as_part_of_the_conversation(dialog: Path) -> None:
    (commit,) = (c["commit_hash"] for c in ok_json("log") if c["tool_call_id"] == "t2")
    assert ok("show", commit).startswith("commit ")
    assert tool_lines(commit[:12], "--tools", "full") == [
        "  [tool_result:error] Bash make (16 bytes)"
    ]


def test_a_commit_alone_says_what_it_always_said(dialog: Path) -> None:
    assert ok("show") == ok("show", "HEAD") == ok("show", "main")
    assert ok("show").startswith("commit   ")
    assert ok_json("show", "HEAD")["commit_hash"] == ok_json("log")[0]["commit_hash"]


def test_both_databases_show_the_same(db: str, here: Path) -> None:
    ok("--db", db, "init")
    ok("--db", db, "--dialog", "chat", "import", "chat.json")
    stored = re.sub(r"(?m)^(\w+) [0-9a-f]{10}$", r"\1", ok("--db", db, "show", "chat"))
    assert stored == ok("show", "chat.json")  # a file has no commits
    ok("--db", db, "--dialog", "chat", "reshape", "collapsed", "c0", "c1")
    sent = ok("--db", db, "show", "chat", "--sent")
    assert "[tool_result] shell make (33 bytes, collapsed" in sent
    assert "cc a.c" in ok("--db", db, "show", "chat")


def test_damage_ends_it_with_one_line_and_leaves_no_page(dialog: Path) -> None:
    flip_a_byte(dialog / ".tract" / "tract.db")
    for options in ([], ["--json"], ["--html", "page.html"]):
        done = invoke("show", "default", *options)
        assert done.exit_code == 1
        assert "boom" not in done.stdout
        assert re.fullmatch(r"tract: .*\n", done.stderr)
    assert list(dialog.glob("page*")) == []


# Colours and tags


def pair_of(screen: str, words: str) -> list[str]:
    """The colours of lines with these words, one for each."""
    found = (line for line in screen.splitlines() if words in OURS.sub("", line))
    return [colour for line in found for colour in re.findall(r"38;5;\d+", line)]


@pytest.mark.parametrize("tools", ["full", "summary"])
def test_a_terminal_has_call_and_result_in_one_colour(here: Path, tools: str) -> None:
    screen = screen_of("show", "request.json", "--tools", tools)
    colours: list[str] = []
    for name in ("Read", "Bash", "Grep"):
        about = pair_of(screen, f" {name} ") + pair_of(screen, f"[{name}] ")
        assert len(about) == 2
        assert len(set(about)) == 1
        colours += set(about)
    assert len(set(colours)) == 3
    assert ("\x1b[38;5;33;2m" in screen) == (tools == "summary")  # what is folded is dim
    assert (
        OURS.sub("", screen)
        .replace("\r\n", "\n")
        .endswith(ok("show", "request.json", "--tools", tools))
    )


def test_a_pager_gets_the_same_lines(here: Path) -> None:
    plain = ok("show", "request.json")
    assert ok("show", "request.json", "--pager") == plain  # no terminal, no pager
    paged = screen_of("show", "request.json", "--pager", PAGER="sed s/^/|/", NO_COLOR="1")
    lines = [line[1:] for line in paged.splitlines() if line.startswith("|")]
    tags = re.compile(r" [a-z]\d$")
    assert [tags.sub("", line) for line in lines] == plain.splitlines()
    coloured = screen_of("show", "request.json", "--pager", PAGER="cat")
    assert "\x1b[38;5;33m  [tool_use] Read" in coloured
    assert "[tool_use]" not in screen_of("show", "request.json", "--pager", PAGER="head -n 1")


def test_tags_stand_for_colours_that_are_not_wanted(here: Path) -> None:
    asked = ("show", "request.json", "--tools", "summary")
    tagged = [f"  [Read] {SHORT_PATH} (1523 bytes) a1", f"  [tool_use] Read {SHORT_PATH} a1"]
    for screen in (screen_of(*asked, NO_COLOR="1"), screen_of(*asked, TERM="dumb")):
        assert "\x1b" not in screen
        assert set(tagged) <= set(screen.splitlines())
    for shown in (ok(*asked, NO_COLOR="1"), ok(*asked, "--color", "never")):
        assert set(tagged) <= set(shown.splitlines())
        assert "  [tool_result:error] Bash make (16 bytes): boom a2" in shown.splitlines()
        assert "\x1b" not in shown


def test_a_plain_pipe_has_neither(here: Path) -> None:
    shown = ok("show", "request.json")
    assert "\x1b" not in shown
    assert f"  [tool_use] Read {SHORT_PATH}\n" in shown


def test_colour_can_be_forced(here: Path) -> None:
    shown = ok("show", "request.json", "--color", "always", NO_COLOR="1")
    assert OURS.sub("", shown) == ok("show", "request.json")
    assert len(set(pair_of(shown, " Read "))) == 1


def test_the_colour_of_a_pair_stays_when_others_leave(here: Path) -> None:
    whole = ok("show", "request.json", "--color", "always")
    alone = ok("show", "request.json", "--color", "always", "--errors")
    assert pair_of(whole, " Bash ") == pair_of(alone, " Bash ")


# JSON and pages


def test_json_has_every_block(here: Path) -> None:
    (scene,) = ok_json("show", "request.json")
    assert (scene["dialog"], scene["branch"]) == ("request", "main")
    kinds = Counter(block["type"] for block in scene["blocks"])
    assert kinds == {"tools": 1, "text": 3, "thinking": 1, "tool_use": 3, "tool_result": 4}
    read = [b for b in scene["blocks"] if b.get("tool_use_id") == "t1"]
    assert [b["pair"] for b in read] == [0, 0]
    assert read[1]["detail"] == SHORT_PATH
    (failed,) = (b for b in scene["blocks"] if b.get("is_error"))
    assert failed["text"] == "boom\n  at line 1"
    only = ok_json("show", "request.json", "--errors")
    assert [b["type"] for b in only[0]["blocks"]] == ["tool_use", "tool_result"]


class Page(HTMLParser):
    """The heads of calls and results, and all tags with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.heads: list[str] = []
        self.tags: set[tuple[str, str]] = set()
        self._is_head = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags |= {(tag, name) for name, _ in attrs} | {(tag, "")}
        if tag == "summary":
            self._is_head = True
            self.heads.append("")

    def handle_endtag(self, tag: str) -> None:
        self._is_head = self._is_head and tag != "summary"

    def handle_data(self, data: str) -> None:
        if self._is_head:
            self.heads[-1] += data

    def shows(self, words: str) -> bool:
        return any(words in " ".join(head.split()) for head in self.heads)


def test_a_page_is_written_whole(here: Path) -> None:
    done = invoke("show", "request.json", "--html", "page.html")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.endswith("wrote page.html\n")
    text = Path("page.html").read_text("utf-8")
    assert text == ok("show", "request.json", "--html", "-")
    assert Page(text).shows(f"Read {SHORT_PATH} (1523 bytes)")
    assert Page(text).shows("Bash make (16 bytes) failed: boom")
    assert sorted(p.name for p in here.iterdir()) == ["chat.json", "page.html", "request.json"]
    ok("show", "chat.json", "--html", "page.html")
    assert Page(Path("page.html").read_text("utf-8")).shows("shell make")


def test_a_page_is_written_to_what_is_no_file(here: Path) -> None:
    """A device must not become a file, nor a link lose what it leads to."""
    os.mkfifo("pipe")
    with subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE, text=True) as reader:
        try:
            ok("show", "request.json", "--html", "pipe")
            assert Path("pipe").is_fifo()
            page = reader.communicate(timeout=60)[0]
        finally:
            reader.kill()
    assert page == ok("show", "request.json", "--html", "-")
    Path("real.html").touch()
    Path("link.html").symlink_to("real.html")
    ok("show", "request.json", "--html", "link.html")
    assert Path("link.html").is_symlink()
    assert Path("real.html").stat().st_size


def test_a_page_that_cannot_be_written_leaves_nothing(here: Path) -> None:
    before = content_of(here)
    for where, code in (("no/such/page.html", 1), (".", 2), ("request.json", 2)):
        done = invoke("show", "request.json", "--html", where)
        assert (done.exit_code, done.stdout) == (code, ""), where
        assert where in done.stderr
    assert content_of(here) == before


def test_json_and_a_page_exclude_each_other(here: Path) -> None:
    assert invoke("show", "request.json", "--json", "--html", "page.html").exit_code == 2
    assert not Path("page.html").exists()


# What is meant by a name


def test_stdin_is_a_transcript(here: Path) -> None:
    done = invoke("show", "-", stdin=json.dumps(REQUEST))
    assert done.stdout == ok("show", "request.json")
    assert done.stderr == "-: repair: result 'lost' has no matching call\n"
    assert invoke("show", "-", stdin="").exit_code == 2


def test_nothing_of_stdin_is_left_behind(here: Path) -> None:
    (here / "tmp").mkdir()
    with Path("chat.json").open() as file:
        done = run("show", "-", stdin=file, env={"TMPDIR": str(here / "tmp")})
    assert (done.returncode, done.stdout) == (0, ok("show", "chat.json"))
    assert list((here / "tmp").iterdir()) == []


def test_an_unknown_name_is_one_clear_line(here: Path) -> None:
    (here / "folder").mkdir()
    for name in ("nowhere", "folder", ".", "ffffffff", "nowhere.json", "a\nb", "x" * 5000):
        done = invoke("show", name)
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (3, "", 1), name
        assert done.stderr.startswith("tract: no file ")


def test_an_unknown_name_beside_a_database(dialog: Path) -> None:
    for name in ("nowhere", "ffffffff", "nowhere.json", "a\nb", "x" * 5000):
        for options in ((), ("--sent",)):
            done = invoke("show", name, *options)
            assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (3, "", 1), name
            assert re.search("no dialog or file has that name|is not a commit hash", done.stderr)


@pytest.mark.parametrize(
    "data", [b"", b"# A title\n", b"\x00\xff" * 99, b"{}", b'{"messages": 5}', b"[" * 99_999]
)
def test_what_is_no_transcript_is_one_line(here: Path, data: bytes) -> None:
    Path("odd").write_bytes(data)
    done = invoke("show", "odd")
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("tract: odd: ")


def test_a_request_that_no_provider_would_take_is_shown(here: Path) -> None:
    odd = [said("user", {"type": "tool_result"}), said("assistant", use("", "7", None))]
    Path("odd.json").write_text(json.dumps({"messages": odd}))
    done = invoke("show", "odd.json")
    assert done.exit_code == 0
    assert "  [tool_result] (0 bytes)" in done.stdout.splitlines()
    assert "  [tool_use] 7" in done.stdout.splitlines()


def test_a_mark_is_no_part_of_the_conversation(dialog: Path) -> None:
    done = invoke("show", "HEAD", "--sent")
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "is a mark" in done.stderr


def test_a_file_has_no_commits_to_name(here: Path) -> None:
    done = invoke("show", "request.json", "--at", "main")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--at" in done.stderr


def record(number: int, parent: int | None, role: str, *blocks: Any) -> Json:
    return {
        "type": role,
        "uuid": f"u{number}",
        "parentUuid": None if parent is None else f"u{parent}",
        "sessionId": "s1",
        "isSidechain": False,
        "timestamp": f"2026-01-02T03:04:{number:02}Z",
        "message": {"role": role, "content": list(blocks)},
    }


def text(said: str) -> Json:
    return {"type": "text", "text": said}


TREE = [
    record(1, None, "user", text("the question")),
    record(2, 1, "assistant", use("t1", "Read", {"file_path": "a.py"})),
    record(3, 2, "user", result("t1", "shared result")),
    record(4, 3, "assistant", text("the first answer")),
    record(5, 3, "assistant", use("t2", "Bash", {"command": "ls"})),
    record(6, 5, "user", result("t2", "second result")),
    record(7, 6, "assistant", text("the second answer")),
]


def test_all_branches_of_a_file_are_shown_and_what_they_share_once(here: Path) -> None:
    Path("s.jsonl").write_text("".join(json.dumps(one) + "\n" for one in TREE))
    shown = lines("s.jsonl")
    for once in ("the question", "the first answer", "the second answer"):
        assert shown.count(f"    {once}") == 1
    assert shown.count("    shared result") == shown.count("    second result") == 1
    assert sum(line.startswith("── s1 · ") for line in shown) == 2
    scenes = ok_json("show", "s.jsonl")
    assert [scene["dialog"] for scene in scenes] == ["s1", "s1"]
    assert scenes[0]["branch"] != scenes[1]["branch"]
    page = ok("show", "s.jsonl", "--html", "-")
    assert len([head for head in Page(page).heads if head.startswith("Read")]) == 1
    assert page.count("shared result") == page.count("second result") == 1


def test_what_cannot_be_read_is_told_and_the_rest_shown(here: Path) -> None:
    broken = [json.dumps(one) for one in TREE[:4]]
    broken[1:1] = ['{"type": "user", "uuid": ']
    Path("s.jsonl").write_text("\n".join(broken))
    done = invoke("show", "s.jsonl")
    assert done.exit_code == 0
    assert re.match(r"s\.jsonl: problem: line 2: .*\n", done.stderr)
    assert "    the first answer" in done.stdout.splitlines()
    assert "    shared result" in done.stdout.splitlines()


# Pipes, start-up


@pytest.fixture
def long(here: Path) -> Path:
    turns = [
        {"role": role, "content": f"{number} " + "long " * 100}
        for number in range(600)
        for role in ("user", "assistant")
    ]
    Path("long.json").write_text(json.dumps(turns))
    return here


@pytest.mark.parametrize(
    ("options", "size"),
    [([], 1), ([], 70_000), (["--json"], 1), (["--html", "-"], 1), (["--color", "always"], 1)],
)
def test_a_reader_that_stops_ends_it_quietly(long: Path, options: list[str], size: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "tract", "show", "long.json", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        cwd=long,
    ) as process:
        assert process.stdout
        assert process.stderr
        assert len(process.stdout.read(size)) == size
        process.stdout.close()
        assert (process.stderr.read(), process.wait(60)) == (b"", 0)


def test_showing_imports_nothing_heavy(dialog: Path) -> None:
    for args in (["other"], ["chat.json"], ["chat.json", "--html", "-"], ["HEAD"]):
        modules = imported_by("show", *args)
        assert "tract.cli.show" in modules
        found = {name.split(".")[0] for name in modules} & (HEAVY | {"textual"})
        assert found <= {"splintr", "subprocess"}, args
        assert not any(name.startswith("tract.tui") for name in modules)


# Hostile text


def hostile(payloads: list[str]) -> list[Any]:
    """Every payload in every field, as a request and as a chat."""
    request: list[Any] = [{"role": "user", "content": "begin"}]
    chat: list[Any] = [{"role": "user", "content": "begin"}]
    for number, evil in enumerate(payloads):
        given = {evil: evil, "path": evil, "deep": {evil: [evil]}}
        call_id = f"{evil}{number}"
        thought = {"type": "thinking", "thinking": evil, "signature": evil}
        odd = {"type": evil or "x", evil: evil}
        request += [
            said("assistant", thought, text(f"x{evil}"), odd, use(call_id, f"n{evil}", given)),
            said("user", result(call_id, evil, is_error=number % 2 == 0), text(f"x{evil}")),
        ]
        function = {"name": f"n{evil}", "arguments": json.dumps(given) if number % 2 else evil}
        chat += [
            {
                "role": "assistant",
                "content": evil,
                "reasoning_content": evil,
                "tool_calls": [{"id": call_id, "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": call_id, "name": f"n{evil}", "content": evil},
        ]
    tools = [{"name": f"n{evil}", "input_schema": {evil: evil}} for evil in payloads[:50]]
    return [{"system": payloads[0], "tools": tools, "messages": request}, chat]


@pytest.mark.parametrize("which", [0, 1], ids=["request", "chat"])
@pytest.mark.parametrize(
    "payloads", [ALONE, pytest.param(PAYLOADS, marks=pytest.mark.long)], ids=["alone", "all"]
)
def test_no_payload_steers_a_terminal_or_a_page(
    here: Path, which: int, payloads: list[str]
) -> None:
    Path("hostile.json").write_text(json.dumps(hostile(payloads)[which]))
    done = invoke("show", "hostile.json")
    assert done.exit_code == 0, done.stderr[-2000:]
    assert dangerous(done.stdout + done.stderr) == set()
    assert done.stdout.count("[tool_use] ") >= len(payloads)
    screen = OURS.sub("", screen_of("show", "hostile.json")).replace("\r\n", "\n")
    assert screen == done.stderr + done.stdout
    page = ok("show", "hostile.json", "--html", "-")
    assert dangerous(page) == set()
    harmless = {("ol", ""), ("ol", "start"), ("ul", ""), ("li", ""), ("br", ""), ("blockquote", "")}
    harmless |= {("code", ""), ("hr", ""), ("em", ""), ("strong", ""), ("h3", ""), ("div", "class")}
    assert Page(page).tags <= Page(ok("show", "request.json", "--html", "-")).tags | harmless
    blocks = ok_json("show", "hostile.json")[0]["blocks"]
    assert sum(block["type"] == "tool_use" for block in blocks) >= len(payloads)


def test_names_of_files_and_dialogs_are_harmless(here: Path) -> None:
    evil = "a\x1b]52;c;aGk=\x07\u202e.json"
    Path(evil).write_text(json.dumps([TREE[0]["message"], said("user", result("x", "lost"))]))
    for args in ([evil], [evil, "--html", "-"], [evil, "--html", f"{evil}.html"], [evil + "x"]):
        done = invoke("show", *args)
        assert dangerous(done.stdout + done.stderr) == set()


# Real transcripts


def kept(path: Path) -> Iterator[tuple[Message, dict[str, str]]]:
    """All messages of all branches of a file, each once, and the names of calls by their ids."""
    with Tract.open(":memory:") as tract:
        import_file(tract, path)
        for info in tract.dialogs():
            dialog = tract.sibling(info.dialog)
            seen: set[int] = set()
            for branch in dialog.branches():
                reading = dialog.read(branch)
                messages = [(p.origin.id, reading.whole(p)) for p in reading.places]
                names = {call.id: call.name for _, m in messages for call in m.tool_calls}
                yield from ((m, names) for key, m in messages if key not in seen)
                seen.update(key for key, _ in messages)


def names_in(path: Path) -> tuple[Counter[str], Counter[str], set[str]]:
    """How often each tool is called and answers, and the lines of what it answers."""
    asked: Counter[str] = Counter()
    answered: Counter[str] = Counter()
    code: set[str] = set()
    for message, names in kept(path):
        asked.update(one_line(call.name) for call in message.tool_calls)
        if message.role == "tool":
            name = message.name or names.get(message.tool_call_id or "", "")
            answered[one_line(name)] += 1
            text = whole_text(message).replace("\r\n", "\n")
            code.update(visible(text.removesuffix("\n")).split("\n"))
    return asked, answered, code


def count_of(heads: list[str], begins: str) -> int:
    return sum(f"{head} ".startswith(f"{begins} ") for head in heads)


@pytest.mark.skipif(not DATA.exists(), reason="the real transcripts are not here")
@pytest.mark.parametrize("folder", BY_FOLDER)
def test_every_call_and_result_of_real_files_is_seen(folder: str) -> None:
    for path in real_files(folder):
        asked, answered, code = names_in(path)
        full, folded = lines(str(path)), lines(str(path), "--tools", "summary")
        page = Page(ok("show", str(path), "--html", "-")).heads
        for name, number in asked.items():
            for heads in (full, folded):
                assert count_of(heads, f"  [tool_use] {name}") >= number, (path, name)
            assert count_of(page, name) >= number, (path, name)
        for name, number in answered.items():
            failed = f"[tool_result:error] {name}".rstrip()
            whole = f"[tool_result] {name}".rstrip()
            short = f"[{name}]" if name else whole
            assert count_of(full, f"  {whole}") + count_of(full, f"  {failed}") >= number
            assert count_of(folded, f"  {short}") + count_of(folded, f"  {failed}") >= number
            assert count_of(page, name or "result") >= min(number, asked[name]), (path, name)
        assert {f"    {line}" for line in code if line} <= set(full)


@pytest.mark.parametrize("options", ["", "--json", "--html out.html", "--html -"])
@pytest.mark.parametrize(
    "closed",
    [*(pytest.param(one, marks=pytest.mark.long) for one in (">&-", "2>&-")), ">&- 2>&-"],
)
def test_closed_streams_are_no_reason_to_fail(here: Path, closed: str, options: str) -> None:
    line = f"{sys.executable} -m tract show request.json {options} {closed}"
    done = subprocess.run(line, shell=True, env=environment(), capture_output=True)
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr


def test_a_page_keeps_its_mode_and_touches_no_other_file(here: Path) -> None:
    page, other = here / "out.html", here / "out.html.part"
    other.write_text("mine")
    ok("show", "request.json", "--html", "out.html")
    page.chmod(0o600)
    ok("show", "request.json", "--html", "out.html")
    assert page.stat().st_mode & 0o777 == 0o600
    assert other.read_text() == "mine"
    names = {path.name for path in here.iterdir()}
    failed = invoke("show", "request.json", "--html", "nowhere/out.html")
    assert failed.exit_code == 1
    assert "nowhere/out.html" in failed.stderr
    assert {path.name for path in here.iterdir()} == names
