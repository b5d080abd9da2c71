"""What a tool returned, at a glance: recognised by content alone, bounded, verbatim, the same
every time."""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.corpus import DATA
from tests.strategies import json_values
from tests.work import calls_made
from tract.content.preview import gist, gist_of, is_gist_of, narrow
from tract.content.preview.body import body_of
from tract.content.preview.verdict import has_failed
from tract.content.query import Lines, Slice, part_of
from tract.model import Gist, ToolCall

MARK = re.compile(r"\[… .* …\]")
GAP = re.compile(r"\[… (?:lines? (\d+)(?:–(\d+))?|(\d+) lines?)(?: of (\S+?))?(?:, of them:)? …\]")
VALUE = re.compile(r"\$[^ ]*(?:\[[^]]*\])?: ")


def is_line(shown: str, line: str) -> bool:
    """A line as it is, or visibly cut at its end or at its front."""
    if shown == line:
        return True
    if shown.startswith("…"):
        return shown[1:].removesuffix("…") in line
    return shown.endswith("…") and line.startswith(shown[:-1])


def check_lines(shown: list[str], lines: list[str]) -> None:
    """Every line is one of the text at its number, and the gaps have exactly the missing ones."""
    number = 1
    for line in shown:
        gap = GAP.fullmatch(line)
        own = re.match(r"\s*(\d+)(?:: |→|\t|:|\||│| \|)", line)
        if gap and (gap[3] or int(gap[1]) == number):
            number = number + int(gap[3]) if gap[3] else int(gap[2] or gap[1]) + 1
        elif number <= len(lines) and is_line(line, lines[number - 1]):
            number += 1
        elif own and int(own[1]) < number:
            text = line.partition(": ")[2]
            assert is_line(line, lines[int(own[1]) - 1]) or is_line(text, lines[int(own[1]) - 1])
        else:
            assert MARK.fullmatch(line) or VALUE.match(line), line
    assert number == len(lines) + 1


def check(content: Any, budget: int = 1600, call: ToolCall | None = None) -> Gist:
    """What holds for every gist."""
    found = gist(content, budget=budget, call=call)
    assert found == gist(content, budget=budget, call=call)
    assert len(found.preview) <= max(budget, 0)
    assert 0 < len(found.summary) <= 160
    assert found.summary.isprintable()
    for narrower in (400, 100, 30, 0):
        shorter = narrow(found, narrower)
        assert len(shorter) <= max(narrower, 0)
        assert shorter == narrow(found, narrower)
    body = body_of(content)
    if (
        found.kind not in ("json", "binary")
        and not body.label
        and budget > 60
        and body.text.strip()
    ):
        lines = body.text.rstrip("\n").split("\n")
        for preview in (found.preview, narrow(found, 100)):
            if preview != body.text:
                check_lines(preview.split("\n"), lines)
    assert has_failed(content) in (True, False)
    return found


def long(line: str, count: int = 400) -> str:
    return "\n".join(line.replace("@", str(number)) for number in range(1, count + 1))


def marks(found: Gist) -> list[str]:
    return [line for line in found.preview.split("\n") if MARK.fullmatch(line)]


# --- JSON ------------------------------------------------------------------------------------

USERS = [{"id": n, "name": f"user {n}", "tags": ["a", "b"]} for n in range(812)]


@pytest.mark.parametrize("content", [USERS, json.dumps(USERS), json.dumps(USERS, indent=2)])
def test_an_array_shows_an_item_per_line(content: Any) -> None:
    found = check(content)
    assert found.kind == "json"
    assert found.summary == "JSON array, 812 items, the first: {id, name, tags[2]}"
    lines = found.preview.split("\n")
    assert lines[0] == "[… values by their paths: …]"
    assert '"name": "user 0"' in lines[1]
    assert any(line.startswith("$[811]: ") and '"user 811"' in line for line in lines)


@pytest.mark.parametrize("indent", [None, 2])
def test_an_object_shows_every_key_and_a_part_of_each_value(indent: int | None) -> None:
    value = {"total": 812, "users": USERS, "text": "long " * 1000, "next": {"page": 2}}
    found = check(json.dumps(value, indent=indent))
    assert found.summary == "JSON object, 4 keys: total, users[812], text, next{1}"
    for part in ("$.total: 812", "$.users: 812 items", "user 0", '$.text: "long long', "$.next: "):
        assert part in found.preview


def test_of_items_with_many_keys_the_telling_ones_are_shown() -> None:
    rest = {f"field_{n}": "some words " * 3 for n in range(9)}
    items = [{**rest, "id": n, "name": f"n{n}", "status": "open"} for n in range(99)]
    found = check({"page": 1, "items": items})
    assert '$.items[1]: {"name": "n1", "id": 1, "status": "open", ' in found.preview


def test_values_of_outer_objects_come_before_items_of_arrays() -> None:
    value = {"items": [{"id": n, "text": "x" * 90} for n in range(99)], "env": {"python": "3.12"}}
    assert '"python": "3.12"' in check(value, 400).preview


def test_many_keys_are_counted() -> None:
    found = check({f"key_{n}": n for n in range(5000)})
    assert found.summary.startswith("JSON object, 5000 keys: key_0, key_1")


def test_json_below_a_warning_is_json() -> None:
    found = check("npm warn config\n" + json.dumps({"name": "x", "users": USERS}, indent=1))
    assert found.kind == "json"
    assert "[… JSON from line 2 on, values by their paths: …]" in found.preview


@pytest.mark.parametrize("scalar", [0, 12, -1.5, True, False])
def test_a_scalar_is_json(scalar: Any) -> None:
    found = check(scalar)
    assert (found.kind, found.preview) == ("json", json.dumps(scalar))


def test_a_short_value_is_shown_whole() -> None:
    assert check({"a": [1, 2]}).preview == '{"a": [1, 2]}'
    assert check([]).kind == check({}).kind == check("[]").kind == "json"


@pytest.mark.parametrize("odd", ['"\\ud800"', "NaN", "-Infinity", '"\ud800"', "1e999"])
def test_json_that_strict_parsers_refuse_is_json(odd: str) -> None:
    text = f'{{"odd": {odd}, "items": [{", ".join(map(str, range(2000)))}]}}'
    assert check(text).summary == "JSON object, 2 keys: odd, items[2000]"


def test_a_key_that_occurs_twice_does_no_harm() -> None:
    text = '{"a": [1, 2], "b": "' + "x" * 3000 + '", "a": {"c": 1}, "d": 4}'
    assert check(text).kind == "json"


def test_encoded_data_inside_json_is_not_shown() -> None:
    data = base64.b64encode(random.Random(1).randbytes(9000)).decode()
    for value in ({"image": data, "name": "x"}, {"url": f"data:image/png;base64,{data}"}):
        assert data[:40] not in check(value).preview


def test_json_lines() -> None:
    found = check("\n".join(json.dumps({"id": n, "level": "info"}) for n in range(300)))
    assert found.kind == "jsonl"
    assert found.summary == "JSON Lines, 300 records, 300 info: id, level"
    assert found.preview.split("\n")[0] == '{"id": 0, "level": "info"}'
    assert '{"id": 299, "level": "info"}' in found.preview


def test_json_nested_without_end_is_bounded() -> None:
    deep: Any = 1
    for _ in range(5000):
        deep = [deep]
    assert check(deep).kind == "json"
    check("[" * 100_000)
    check('{"a":' * 100_000)
    check("[" * 90 + "1" * 3000 + "]" * 90)


# --- what commands print ---------------------------------------------------------------------

LOG = "\n".join(
    [
        "2024-05-01 12:00:00,001 INFO app: starting",
        *(
            f"2024-05-01 12:00:{n % 60:02d},001 DEBUG app.db: query {n} took 3 ms"
            for n in range(300)
        ),
        "2024-05-01 12:05:00,001 WARN app.db: pool is nearly full",
        "2024-05-01 12:05:01,001 INFO app.db: before",
        "2024-05-01 12:05:02,001 ERROR app.db: connection 17 refused",
        "2024-05-01 12:05:03,001 INFO app.db: after",
        *(
            f"2024-05-01 12:06:{n % 60:02d},001 DEBUG app.db: query {n} took 3 ms"
            for n in range(300)
        ),
        "2024-05-01 12:09:00,001 INFO app: stopped",
    ]
)


def test_a_log_shows_errors_and_warnings_in_their_context() -> None:
    found = check(LOG)
    assert found.kind == "log"
    assert found.summary.startswith(
        "log, 606 lines, 1 ERROR, 1 WARN, 4 INFO, 600 DEBUG, 2024-05-01 12:00:00 to "
    )
    lines = found.preview.split("\n")
    error = lines.index("2024-05-01 12:05:02,001 ERROR app.db: connection 17 refused")
    assert lines[error - 1].endswith("before")
    assert lines[error + 1].endswith("after")
    assert lines[0].endswith("starting")
    assert lines[-1].endswith("stopped")
    assert "2024-05-01 12:05:00,001 WARN app.db: pool is nearly full" in lines


def test_errors_that_differ_only_in_numbers_do_not_crowd_out_others() -> None:
    noise = [f"12:00:00 ERROR retry {n} failed" for n in range(200)]
    noise[150] = "12:00:00 ERROR disk is full"
    assert "12:00:00 ERROR disk is full" in check("\n".join(noise)).preview


@pytest.mark.parametrize(
    "line",
    [
        "[INFO] building @",
        "INFO: step @",
        "2024-05-01T12:00:00.000Z something @",
        "May  1 12:00:00 host sshd[@]: accepted",
        '127.0.0.1 - - [01/May/2024:12:00:00 +0000] "GET /@ HTTP/1.1" 200 12',
        'time="2024-05-01" level=info msg="@"',
        "I0501 12:00:00.000000 1 main.go:@] hello",
        "web-1  | 2024-05-01 12:00:00 request @",
        "Build\tRun tests\t2024-05-01T12:00:00.0000000Z step @",
        "npm warn deprecated thing@1.0",
        "\x1b[32mINFO\x1b[0m: colored @",
        "12:00:00.123 step @",
    ],
)
def test_forms_of_logs(line: str) -> None:
    assert check(long(line, 50)).kind == "log"


GREP = "\n".join(
    [f"src/app/models.py:{n}:    value = field_{n}" for n in range(1, 90)]
    + [f"src/app/views.py:{n}:    return field_{n}" for n in range(1, 40)]
    + ["src/app/urls.py:7:path(field)"]
)


def test_hits_of_a_search_are_counted_per_file() -> None:
    found = check(GREP)
    assert found.kind == "grep"
    assert found.summary == (
        "129 hits in 3 files: src/app/models.py (89), src/app/views.py (39), src/app/urls.py (1)"
    )
    for first in ("src/app/models.py:1:", "src/app/views.py:1:", "src/app/urls.py:7:"):
        assert first in found.preview


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "a/b.go-1-package b\na/b.go:2:func F() {\na/b.go-3-}\n--\na/c.go:9:F()",
            "2 hits in 2 files",
        ),
        ("12:def one():\n40:def two():\n99:def three():", "3 hits"),
        ("301:func A() {\n302-\treturn\n303-}\n--\n400:func B() {\n401-}", "2 hits"),
        ("src/a.ts(28,2): error TS1: x\nsrc/b.ts(3,5): error TS2: y", "2 hits in 2 files"),
        ("C:\\x\\a.py:3:import os\nC:\\x\\b.py:4:import re", "2 hits in 2 files"),
        ("./a/b.py:import os\n./a/c.py:import os\n./a/d.py:import os", "3 hits in 3 files"),
        ("src/main.rs:5:9: error: no\nsrc/lib.rs:7:1: error: no", "2 hits in 2 files"),
    ],
)
def test_forms_of_hits(text: str, said: str) -> None:
    found = check(text)
    assert found.kind == "grep"
    assert found.summary.startswith(said)


def test_a_common_folder_is_said_once() -> None:
    found = check("\n".join(f"/home/someone/project/src/m{n}.py:1:x = {n}" for n in range(50)))
    assert found.summary.startswith("50 hits in 50 files in /home/someone/project/src: m0.py (1)")


DIFF = """diff --git a/src/a.py b/src/a.py
index 123..456 100644
--- a/src/a.py
+++ b/src/a.py
@@ -1,4 +1,5 @@ def f():
 one
-two
+TWO
+three
 four
""" + "".join(
    f"""diff --git a/src/m{n}.py b/src/m{n}.py
--- a/src/m{n}.py
+++ b/src/m{n}.py
@@ -{n},6 +{n},6 @@
 context
-old {n}
+new {n}
 context
"""
    for n in range(60)
)


def test_a_diff_names_files_and_counts_lines() -> None:
    found = check(DIFF)
    assert found.kind == "diff"
    assert found.summary.startswith("diff, 61 files, +62 −61: src/a.py, src/m0.py")
    assert (
        "[… src/a.py: +2 −1, from line 1 …]\n[… src/m0.py: +1 −1, from line 11 …]" in found.preview
    )
    for line in ("@@ -1,4 +1,5 @@ def f():", "-two", "+TWO"):
        assert f"{line}\n" in found.preview


@pytest.mark.parametrize(
    "text",
    [
        "commit 1234\nAuthor: x\n\n    Subject\n\n" + DIFF,
        "--- old.txt\n+++ new.txt\n@@ -1 +1 @@\n-a\n+b\n",
        "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n",
        " src/a.py | 12 ++++----\n src/b.py |  2 +-\n 2 files changed, 8 insertions(+)",
    ],
)
def test_forms_of_diffs(text: str) -> None:
    assert check(text).kind == "diff"


def test_a_deleted_file_keeps_its_name() -> None:
    text = "diff --git a/gone.py b/gone.py\n--- a/gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    assert check(text).summary == "diff, 1 file, +0 −1: gone.py"


PYTEST = """============================= test session starts ==============================
platform linux -- Python 3.12.3, pytest-8.2.0, pluggy-1.5.0
collected 400 items

{progress}

=================================== FAILURES ===================================
_______________________________ test_addition[3] _______________________________

    def test_addition(n):
>       assert add(n, 1) == n
E       assert 4 == 3
E        +  where 4 = add(3, 1)

tests/test_math.py:7: AssertionError
=========================== short test summary info ============================
FAILED tests/test_math.py::test_addition[3] - assert 4 == 3
========================= 1 failed, 399 passed in 2.31s =========================
""".format(progress=long("tests/test_m@.py .......... [ @%]", 200))

TEST_RUNS = {
    "pytest": (PYTEST, "1 failed, 399 passed in 2.31s", "E       assert 4 == 3"),
    "pytest -q": ("....F\n" + long("noise @") + "\n1 failed, 4 passed in 0.12s", "1 failed, 4", ""),
    "jest": (
        "FAIL src/sum.test.js\n  ● adds\n\n    expect(received).toBe(expected)\n"
        + long("    noise @")
        + "\n\nTest Suites: 1 failed, 1 total\nTests:       1 failed, 3 passed, 4 total\nTime: 1 s",
        "Tests: 1 failed, 3 passed, 4 total",
        "  ● adds",
    ),
    "vitest": (
        " ✓ a.test.ts (3)\n Test Files  1 passed (1)\n      Tests  3 passed (3)",
        "3 passed",
        "",
    ),
    "go": (
        "=== RUN   TestA\n--- FAIL: TestA (0.00s)\n    a_test.go:5: boom\n"
        + long("    a_test.go:@: more")
        + "\nFAIL\nexit status 1\nFAIL\texample.com/a\t0.003s\nFAIL",
        "1 failed, 0 passed; 0 packages ok, 1 failed",
        "--- FAIL: TestA (0.00s)\n    a_test.go:5: boom",
    ),
    "go ok": ("ok  \texample.com/a\t0.1s\nok  \texample.com/b\t(cached)", "2 packages ok", ""),
    "cargo": (
        "running 2 tests\ntest a ... ok\ntest tests::b ... FAILED\n\n---- tests::b stdout ----\n"
        "thread 'tests::b' panicked at src/lib.rs:9:5:\nno\n\nfailures:\n    tests::b\n\n"
        "test result: FAILED. 1 passed; 1 failed; 0 ignored; finished in 0.00s\n",
        "test result: FAILED. 1 passed; 1 failed",
        "test tests::b ... FAILED",
    ),
    "unittest": (
        "F.\n======\nFAIL: test_x (t.T)\n------\nTraceback (most recent call last):\n"
        '  File "t.py", line 5, in test_x\nAssertionError: 1 != 2\n\nRan 2 tests in 0.001s\n\n'
        "FAILED (failures=1)\n",
        "Ran 2 tests in 0.001s; FAILED (failures=1)",
        "FAIL: test_x (t.T)",
    ),
    "mocha": (
        "  sum\n    1) adds\n\n  3 passing (5ms)\n  1 failing\n",
        "3 passing (5ms); 1 failing",
        "",
    ),
}


@pytest.mark.parametrize("runner", TEST_RUNS)
def test_a_test_run_shows_totals_and_failures(runner: str) -> None:
    text, totals, failure = TEST_RUNS[runner]
    found = check(text)
    assert found.kind == "test"
    assert totals in found.summary
    assert failure in found.preview
    assert text.rstrip().split("\n")[-1] in found.preview


PYTHON_CRASH = (
    "Traceback (most recent call last):\n"
    + "".join(f'  File "/app/m{n}.py", line {n}, in f{n}\n    return g{n}(x)\n' for n in range(60))
    + "app.errors.BadValue: 17 is too large\n"
)
CRASHES = {
    "python": (PYTHON_CRASH, "app.errors.BadValue: 17 is too large", 'File "/app/m59.py", line 59'),
    "javascript": (
        "/app/x.js:10\n    throw new TypeError('no')\n    ^\n\nTypeError: no\n"
        "    at run (/app/x.js:10:11)\n    at Object.<anonymous> (/app/x.js:12:1)\n"
        "    at node:internal/main:1:1\n\nNode.js v20.1.0",
        "TypeError: no",
        "    at run (/app/x.js:10:11)",
    ),
    "java": (
        'Exception in thread "main" java.lang.IllegalStateException: no\n'
        + long("\tat com.example.Deep.call@(Deep.java:@)", 100)
        + "\nCaused by: java.io.IOException: disk\n\tat com.Io.read(Io.java:3)\n\t... 7 more",
        'Exception in thread "main" java.lang.IllegalStateException: no',
        "Caused by: java.io.IOException: disk",
    ),
    "go": (
        "panic: runtime error: index out of range [5] with length 3\n\ngoroutine 1 [running]:\n"
        "main.main()\n\t/app/main.go:8 +0x1d\nexit status 2\n",
        "panic: runtime error: index out of range [5] with length 3",
        "main.main()",
    ),
    "rust": (
        "thread 'main' panicked at src/main.rs:4:5:\nboom\nstack backtrace:\n   0: unwind\n",
        "thread 'main' panicked at src/main.rs:4:5:",
        "boom",
    ),
}


@pytest.mark.parametrize("language", CRASHES)
def test_a_crash_shows_the_error_and_the_last_frames(language: str) -> None:
    text, error, frame = CRASHES[language]
    found = check(text)
    assert found.kind == "traceback"
    assert error in found.summary
    assert error in found.preview
    assert frame in found.preview


def test_a_crash_after_much_output() -> None:
    found = check(long("doing step @", 3000) + "\n" + PYTHON_CRASH)
    assert found.kind == "traceback"
    assert "    return g59(x)\napp.errors.BadValue: 17 is too large" in found.preview


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "total 12\ndrwxr-xr-x 2 a a 40 May  1 12:00 s\n-rw-r--r-- 1 a a 12 May  1 12:00 b.txt",
            "listing, 2 entries, 1 folder, the largest: b.txt (12): s, b.txt",
        ),
        ("./a.py\n./b/c.py\n./b/d.py", "listing, 3 paths: ./a.py, ./b/c.py, ./b/d.py"),
        ("README.md\nsrc\npyproject.toml\ntests", "listing, 4 paths: README.md, src"),
        (
            ".\n├── a.py\n└── b\n    └── c.py\n\n1 directory, 2 files",
            "tree, 1 directory, 2 files: a.py, b",
        ),
        (
            " M src/a.py\n?? new.txt\n D old.txt",
            "status, 3 lines: 1 modified, 1 untracked, 1 deleted: src/a.py",
        ),
        ("src/only.ts", "listing, 1 path: src/only.ts"),
        ("- /home/x/\n  - src/\n    - a.py", "listing, 3 paths"),
    ],
)
def test_listings(text: str, said: str) -> None:
    found = check(text)
    assert found.kind == "listing"
    assert found.summary.startswith(said)


def test_a_long_listing_is_counted() -> None:
    found = check("\n".join(f"src/pkg/module_{n}.py" for n in range(3000)))
    assert found.summary.startswith("listing, 3000 paths: src/pkg/module_0.py")
    assert len(marks(found)) == 1


# --- shells ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("Exit code 1\nmake: *** [all] Error 2", 1),
        ("Exit code: 0\nWall time: 0.1 seconds\nOutput:\nhello\nworld", 0),
        ("Chunk ID: a1\nWall time: 1 s\nProcess exited with code 2\nTokens: 5\nOutput:\nhello", 2),
        ("hello there\n\nCommand exited with code 127", 127),
        ("hello there\n<shellId: 17 completed with exit code 0>", 0),
        ("hello there\n[Command finished with exit code 3]", 3),
        ("hello\n[The command completed with exit code 0.]\n[Current directory: /x]", 0),
        ("hello there\nexit status 1", 1),
        ("hello there\nProcess finished with exit code -9", -9),
        ("Command: x\nOutput: hello there\nError: (none)\nExit Code: 4\nSignal: 0", 4),
        ({"exit_code": 1, "stdout": "hello", "stderr": "boom"}, 1),
        ({"output": "hello", "metadata": {"exit_code": 5, "duration_seconds": 0.1}}, 5),
        ('{"output": "hello", "metadata": {"exit_code": 5}}', 5),
        ({"returncode": 0, "stdout": "", "stderr": ""}, 0),
        ({"code": 2, "stdout": "hello"}, 2),
        ([{"type": "text", "text": "hello\n\nCommand exited with code 2"}], 2),
        ({"content": "hello\n<shellId: 3 completed with exit code 1>", "detail": "x"}, 1),
        ("exit code 1", 1),
    ],
)
def test_the_exit_of_a_command(content: Any, code: int) -> None:
    found = check(content)
    assert found.kind == "shell"
    assert found.summary.startswith(f"exit code {code}")
    assert has_failed(content) == bool(code)


@pytest.mark.parametrize(
    "content",
    [
        "The tool returns exit code 1",
        long("     @→exit code 1", 5),
        "docs/cli.md:12:exit code 1\ndocs/cli.md:13:exit code 2",
        "- exit code 1: general error\n- exit code 2: usage",
        "All exit codes are\nlisted in the manual",
        "first\nProcess exited with code 1\n" + long("then it went on @"),
    ],
)
def test_words_about_exits_are_no_exit(content: str) -> None:
    assert not has_failed(content)


def test_a_failed_command_shows_its_errors_and_its_end() -> None:
    content = {
        "exit_code": 2,
        "stdout": long("gcc -c m@.c -o m@.o") + "\nlinking",
        "stderr": long("m@.c: note") + "\nm7.c:3: error: no such thing\nmake: *** [all] Error 1\n",
    }
    found = check(content)
    assert found.kind == "shell"
    assert found.preview.startswith("[… exit code 2; $.stderr: …]\n")
    assert (
        "m7.c:3: error: no such thing\nmake: *** [all] Error 1\n[… $.stdout: …]\n" in found.preview
    )
    assert found.preview.endswith("\nlinking")
    assert "of $.stdout" in found.preview


def test_the_summary_of_a_failed_command_is_its_error() -> None:
    found = check("Exit code 1\n" + long("step @ done") + "\nfatal: not a repository\nbye")
    assert found.summary == "exit code 1: fatal: not a repository"


@pytest.mark.parametrize(
    ("output", "kind"),
    [(PYTEST, "test"), (DIFF, "diff"), (json.dumps(USERS), "json"), (GREP, "grep")],
)
def test_what_a_command_printed_is_still_recognised(output: str, kind: str) -> None:
    found = check(f"Wall time: 1 s\nProcess exited with code 1\nOutput:\n{output}")
    assert found.kind == kind
    assert found.summary.startswith("exit code 1: ")
    assert check(f"Exit code 1\n{output}").kind == kind


# --- what is read ----------------------------------------------------------------------------

SOURCE = '''"""A module."""

import os


class Store:
    """Keeps things."""

    def __init__(self, path: str) -> None:
        self.path = path
{filler}

    async def fetch(self, key: str) -> bytes:
        return self.read(key)


def open_store(path: str) -> Store:
    return Store(path)
'''.format(filler=long("        self.field_@ = load(path, @)", 200))
GO = (
    'package a\n\nimport "fmt"\n\ntype Point struct {\n\tX int\n}\n\nfunc (p *Point) Move() {\n'
    + ('\tfmt.Println("x")\n' * 200)
    + "}\n\nfunc main() {\n}\n"
)


def test_source_shows_an_outline() -> None:
    found = check(SOURCE)
    assert found.kind == "file"
    assert found.summary == "file, 217 lines, 4 definitions: Store, open_store"
    for line in ("class Store:", "212:     async def fetch(self, key: str) -> bytes:"):
        assert line in found.preview.split("\n")


@pytest.mark.parametrize("form", ["{:6d}→{}", "{:6d}\t{}", "{}\t{}", "{}:{}", "{}| {}", "{}. {}"])
def test_a_numbered_file_tells_its_range(form: str) -> None:
    lines = GO.rstrip().split("\n")
    found = check("\n".join(form.format(n, line) for n, line in enumerate(lines, 41)))
    assert found.kind == "file"
    assert found.summary == "file, lines 41–255, 3 definitions: Point, Move, main".replace(
        "255", str(40 + len(lines))
    )
    assert form.format(49, "func (p *Point) Move() {") in found.preview


def test_a_numbered_file_with_words_around_it() -> None:
    numbered = "\n".join(f"{n:6d}→line {n}" for n in range(1, 100))
    found = check(
        f"The file was updated. Here is `cat -n`:\n{numbered}\n\n<reminder>\nx\n</reminder>\n"
    )
    assert found.summary.startswith("file, 99 lines: line 1")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("export class A {\n  private b = 1;\n}\nexport const c = () => {\n};\n", "A, c"),
        ("pub struct A {\n}\nimpl A {\n    pub fn new() -> A {\n    }\n}\n", "A"),
        ("interface A {\n  b: string;\n}\nexport default function c() {\n}\n", "A, c"),
        ("#include <x.h>\n\nint main(int argc, char **argv) {\n  return 0;\n}\n", "main"),
        ("public class A {\n    public static void main(String[] a) {\n    }\n}\n", "A"),
        ("defmodule A do\n  def b(x) do\n    x\n  end\nend\n", "A"),
    ],
)
def test_definitions_of_many_languages(text: str, names: str) -> None:
    found = check(text)
    assert found.kind == "file"
    assert found.summary.endswith(f": {names}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,name,city\n" + long("@,x,y", 500), "CSV, 500 rows × 3 columns: id, name, city"),
        ("id\tname\n" + long("@\tx", 500), "TSV, 500 rows × 2 columns: id, name"),
        ('a;"b;c"\n' + long('@;"x;y"', 9), "CSV, 9 rows × 2 columns: a, b"),
        (
            "| a | b |\n|---|:-:|\n" + long("| @ | x |", 50),
            "Markdown table, 50 rows × 2 columns: a, b",
        ),
        (" id | name \n----+------\n" + long("  @ | x", 9), "table, 9 rows × 2 columns: id, name"),
        (
            "NAME   READY   STATUS\n" + long("pod-@  1/1     Running", 9),
            "table, 9 rows × 3 columns: NAME",
        ),
    ],
)
def test_tables(text: str, said: str) -> None:
    found = check(text)
    assert found.kind == "table"
    assert found.summary.startswith(said)
    assert found.preview.startswith(text.split("\n", 1)[0])


HTML = (
    "<!DOCTYPE html>\n<html><head><title>The page</title></head>\n<body>\n"
    + "".join(f"<h2 class='x'>Part <b>{n}</b></h2>\n<p>{'words ' * 40}</p>\n" for n in range(40))
    + "</body></html>\n"
)


@pytest.mark.parametrize("text", [HTML, HTML.replace("\n", "")])
def test_a_page_shows_its_headings(text: str) -> None:
    found = check(text)
    assert found.kind == "html"
    assert found.summary.startswith("HTML, title: The page; 40 headings: Part 0, Part 1")
    assert "<title>The page</title>" in found.preview
    assert "[… headings: Part 5, Part 6, Part 7, Part 8, Part 9 …]" in found.preview
    assert "words words" in found.preview


def test_xml_is_a_page_too() -> None:
    assert check('<?xml version="1.0"?>\n<feed>\n</feed>').summary == "XML, 3 lines, root feed"


def test_markdown_shows_its_headings() -> None:
    text = "# Title\n\nWords, and `code`.\n" + long(
        "\n## Part @\n\n- one\n- two\n\nSome prose.", 60
    )
    found = check(text)
    assert found.kind == "markdown"
    assert found.summary.startswith("Markdown, 423 lines, 61 headings: Title, Part 1, Part 2")
    assert "61 Part 9" in found.preview


def test_code_with_comments_is_no_markdown() -> None:
    assert check("#!/bin/sh\n# One\n# Two\nset -e\nif x; then\n  y\nfi\n").kind != "markdown"
    assert (
        check("# One\n# Two\nimport os\n\n\ndef f():\n    x = {\n        1,\n    }\n").kind
        == "file"
    )


def test_plain_text_shows_both_ends_and_errors() -> None:
    text = long("some words @", 300) + "\nsomething failed here\n" + long("more words @", 300)
    found = check(text)
    assert (found.kind, found.summary) == ("text", "601 lines: some words 1")
    for line in ("some words 1", "something failed here", "more words 300"):
        assert line in found.preview


# --- data ------------------------------------------------------------------------------------

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + random.Random(1).randbytes(12_000)).decode()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (PNG, "image/png, 12.0 KB"),
        (f"data:image/png;base64,{PNG}", "image/png, 12.0 KB"),
        (base64.b64encode(random.Random(2).randbytes(3000)).decode(), "base64, 3.0 KB"),
        (base64.encodebytes(random.Random(2).randbytes(3000)).decode(), "base64, 3.0 KB"),
        ("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "image/png, 16 characters"),
        (random.Random(3).randbytes(3000).decode("latin-1"), "binary, 3000 characters"),
        (random.Random(3).randbytes(3000).decode("utf-8", "replace"), "binary, "),
        (repr(random.Random(3).randbytes(300)), "binary, "),
        (
            [
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": PNG},
                }
            ],
            "image/png, 12.0 KB",
        ),
        (
            [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}],
            "image/png, 12.0 KB",
        ),
        ([{"type": "image", "data": PNG, "mimeType": "image/jpeg"}], "image/jpeg, 12.0 KB"),
        (
            [{"type": "image", "source": {"type": "url", "url": "https://x.org/a.png"}}],
            "image https",
        ),
        ({"content": [{"type": "image", "data": PNG, "mimeType": "image/png"}]}, "image/png, 12"),
    ],
)
def test_data_is_named_and_never_shown(content: Any, said: str) -> None:
    found = check(content)
    assert found.kind == "binary"
    assert found.summary.startswith(said)
    assert all(MARK.fullmatch(line) for line in found.preview.split("\n"))


def test_text_beside_an_image() -> None:
    blocks = [
        {"type": "text", "text": "Two\nlines"},
        {"type": "image", "data": PNG, "mimeType": "x/y"},
    ]
    found = check(blocks)
    assert found.kind == "text"
    assert found.preview == "[… text: …]\nTwo\nlines\n[… x/y, 12.0 KB …]"


@pytest.mark.parametrize("word", ["a" * 5000, "word " * 1000, "ACGT" * 2000, "0123456789" * 500])
def test_long_words_are_text(word: str) -> None:
    assert check(word).kind == "text"


# --- envelopes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        SOURCE,
        [{"type": "text", "text": SOURCE}],
        {"result": SOURCE},
        {"result": {"content": SOURCE}},
        json.dumps({"output": SOURCE}),
        {"content": [{"type": "text", "text": SOURCE}], "isError": False},
        {"type": "text", "file": SOURCE},
    ],
)
def test_an_envelope_is_opened(content: Any) -> None:
    found = check(content)
    assert found.kind == "file"
    assert "class Store:" in found.preview


def test_what_stands_beside_the_text_becomes_a_label() -> None:
    found = check({"path": "src/store.py", "lines": 217, "content": SOURCE})
    assert found.preview.startswith('[… "path": "src/store.py", "lines": 217; $.content: …]\n')
    assert "of $.content" in found.preview


def test_two_texts_are_an_object() -> None:
    found = check({"one": long("a @"), "two": long("b @")})
    assert found.kind == "json"
    assert found.summary == "JSON object, 2 keys: one, two"


def test_records_with_a_type_are_no_blocks() -> None:
    assert check([{"type": "bug", "title": "x"}, {"type": "text", "title": "y"}]).kind == "json"


# --- verdict ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        {"error": "no such file"},
        {"error": {"code": 404, "message": "Not found"}},
        {"error": True, "message": "no"},
        {"error": ["bad"]},
        {"status": "error", "data": 1},
        {"status": "Error"},
        {"status": "failed", "message": "no disk"},
        {"status": 404, "message": "Not found"},
        {"success": False},
        {"ok": False, "error": None},
        {"isError": True, "content": [{"type": "text", "text": "no"}]},
        {"is_error": True},
        {"type": "error", "message": "no"},
        {"errors": [{"message": "no"}], "data": None},
        {"result": {"error": "bad"}},
        '{"error": "no such file"}',
        [{"type": "text", "text": '{"error": "no such file"}'}],
    ],
)
def test_what_is_shaped_like_an_error(content: Any) -> None:
    assert has_failed(content)


@pytest.mark.parametrize(
    "content",
    [
        None,
        "",
        "Error: only words",
        {},
        [],
        {"error": None},
        {"error": ""},
        {"error": "none"},
        {"error": False},
        {"error": {}},
        {"error": {"code": 0, "message": ""}},
        {"error": 0.03, "mean": 1.2},
        {"error": 3, "warning": 2},
        {"error": []},
        {"errors": []},
        {"errors": 0},
        {"errors": [{"line": 3}], "files": 12},
        {"errors": [{"message": "partly"}], "data": {"x": 1}},
        {"success": True, "error": "ignored"},
        {"status": "ok", "error": "ignored"},
        {"status": 200, "error": None},
        {"status": "failed", "build": 7},
        {"isError": False},
        {"exit_code": 0, "stdout": "error", "stderr": "warning"},
        [{"error": "inside a list"}],
        {"error": "", "response": "{'value': []}"},
    ],
)
def test_what_only_looks_like_an_error(content: Any) -> None:
    assert not has_failed(content)


# --- anything --------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [None, "", "\n\n\n", " \t\n", [{"type": "text", "text": ""}]])
def test_nothing(content: Any) -> None:
    assert check(content) == Gist("text", "empty", "")


def test_one_endless_line_is_cut_visibly() -> None:
    found = check("ab cd " * 200_000)
    assert 1500 < len(found.preview) <= 1600
    assert found.preview.endswith("…")


def test_a_summary_is_one_line_without_control_characters() -> None:
    found = check("\x1b[31mred\x1b[0m\tand\u2028more\x07\ud800\n" + long("x @"))
    assert found.summary.startswith("401 lines: red and more")


pieces = st.sampled_from(
    [
        *(
            "\n",
            "\n\n",
            " ",
            "\t",
            "…",
            "[… 3 lines …]",
            "\r\n",
            "\x00",
            "\ud800",
            "é",
            "🙂",
            "\u2028",
        ),
        *(
            "{",
            "}",
            "[",
            "]",
            '"a":',
            ",",
            '"x"',
            "null",
            "\\",
            "'",
            "|",
            "---",
            "```",
            "# T",
            "## U",
        ),
        *(
            "diff --git a/x b/x\n",
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n",
            "+x\n",
            "-x\n",
            "x.py:3:",
            "y/z.py",
        ),
        *(
            "Traceback (most recent call last):\n",
            '  File "x", line 1\n',
            "    at f (x:1:1)\n",
            "ValueError: x",
        ),
        *(
            "2024-01-01 10:00:00 ",
            "ERROR ",
            "WARN ",
            "exit code 1",
            "Exit code 2\n",
            "Output:\n",
            "PASS\n",
        ),
        *(
            "=== 1 failed in 1s ===",
            "--- FAIL: ",
            "FAILED x",
            "def f(x):\n",
            "class A {\n",
            "<html>",
            "<h1>a</h1>",
        ),
        *(
            "1→",
            "     2\t",
            "total 3\n",
            "drwxr-xr-x 2 a b ",
            "a,b,c\n",
            "1,2,3\n",
            "x" * 300,
            "y " * 900,
        ),
    ]
)
texts = st.lists(pieces | st.text(max_size=12), max_size=40).map("".join)
blocks = st.lists(
    st.fixed_dictionaries({"type": st.just("text"), "text": texts})
    | st.fixed_dictionaries({"type": st.just("image"), "data": texts}),
    max_size=4,
)
wraps = st.dictionaries(
    st.sampled_from(["stdout", "stderr", "exit_code", "error", "content", "status", "metadata"]),
    texts | st.integers(-3, 3) | st.none() | blocks,
    max_size=4,
)
contents = texts | json_values | blocks | wraps | wraps.map(json.dumps) | st.lists(json_values)


@settings(max_examples=400)
@example("a\n" * 30 + "\n", 20)
@example({"a": {"b": "x" * 500}}, 40)
@given(contents, st.sampled_from([-1, 0, 1, 5, 20, 27, 60, 200, 1600]))
def test_any_content_gives_a_bounded_verbatim_gist(content: Any, budget: int) -> None:
    check(content, budget)


@settings(max_examples=200)
@given(st.lists(pieces | st.text(max_size=4), max_size=6), st.integers(1, 300))
def test_any_repetition_does_too(unit: list[str], times: int) -> None:
    check("".join(unit) * times)


@settings(max_examples=50)
@given(st.lists(json_values) | st.dictionaries(st.text(), json_values))
def test_any_value_reads_the_same_as_its_text(value: Any) -> None:
    assert gist(value, budget=300) == gist(json.dumps(value, ensure_ascii=False), budget=300)


HOSTILE = {
    "one line": "x" * 1_000_000,
    "newlines": "\n" * 10_000_000 + "x",
    "blank lines": " \n" * 2_000_000 + "x",
    "brackets": "[" * 1_000_000,
    "open objects": '{"a":' * 300_000,
    "backslashes": '{"a": "' + "\\\\" * 500_000 + '"}',
    "numbers": "[" + "1," * 1_000_000 + "1]",
    "spaces in JSON": "[" + " " * 1_000_000 + "1]",
    "dashes": "--- " + "-" * 1_000_000 + "\n+++ b\n@@ -1 +1 @@\n",
    "pipes": "|" * 500_000 + " " * 500_000 + "x\n|",
    "equals": ("\n" + "=" * 2000) * 500,
    "cells": "A  " * 300_000 + "x",
    "cells in lines": ("A  " * 30 + "x\n") * 10_000,
    "base64 and blanks": PNG + "\n" * 1_000_000 + "!",
    "tags": "<html>" + "<h1" * 300_000,
    "open headings": "<html>" + "<h1>" * 250_000,
    "frames": "   at x\n" * 150_000,
    "paths": ("a/" * 120 + "\n") * 4000,
    "dashed": ("a-1" * 80 + "\n") * 4000,
    "errors": "error\n" * 200_000,
    "errors in a line": "/error/" * 150_000,
    "modifiers": ("pub " * 60 + "\n") * 4000,
    "calls": ("a a a a a a a a a a a a a a a(" * 3 + "\n") * 10_000,
    "quotes": '"' * 1_000_000,
    "NUL": "\x00" * 1_000_000,
    "surrogates": "\ud800" * 500_000,
    "escapes": "\x1b[" * 300_000,
    "colors": ("\x1b[31m" * 40 + "\n") * 5000,
    "tables": "\t" * 1_000_000,
    "NaN": "[" + "NaN," * 200_000 + "x",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_content_takes_linear_work(name: str) -> None:
    """Calls are counted. A pattern that runs back and forth shows as a test that does not end."""
    content = HOSTILE[name]
    assert calls_made(lambda: check_bounds(content)) <= len(content)


def check_bounds(content: str) -> None:
    found = gist(content)
    assert len(found.preview) <= 1600
    assert len(found.summary) <= 160
    has_failed(content)


# --- the call --------------------------------------------------------------------------------


def shell(command: Any) -> ToolCall:
    return ToolCall("1", "bash", {"command": command})


COMMENTED = "# One\n# Two\n\nimport os\n\n\ndef first(x):\n    return x\n" + long("# more @", 300)


@pytest.mark.parametrize(
    "call",
    [
        ToolCall("1", "read_file", {"path": "lib/argparse.py"}),
        ToolCall("1", "Read", '{"file_path": "lib/argparse.py"}'),
        shell("cat lib/argparse.py"),
        shell("cd lib && sed -n '1,400p' argparse.py 2>/dev/null"),
        shell(["bash", "-lc", "head -400 lib/argparse.py"]),
    ],
)
def test_the_path_decides_what_a_file_is(call: ToolCall) -> None:
    found = check(COMMENTED, call=call)
    assert found.kind == "file"
    assert "1 definition: first" in found.summary
    assert check(COMMENTED, call=ToolCall("1", "read_file", {"path": "x.md"})).kind == "markdown"


@pytest.mark.parametrize(
    "arguments", [None, [], 3, "", "{", "null", {"path": None}, {"command": 1}]
)
def test_any_arguments_are_no_harm(arguments: Any) -> None:
    check(SOURCE, call=ToolCall("1", "read_file", arguments))


@given(st.text(" \t\n\v\f\u2028\xa0;|&()\\'\"$#als", max_size=12))
@example("ls\n\v")
@example("ls | \u2028")
def test_any_command_is_no_harm(command: str) -> None:
    check(SOURCE, call=shell(command))


def test_a_log_of_tests_that_is_read_is_no_failure() -> None:
    assert has_failed(PYTEST)
    assert has_failed(PYTEST, shell("cd x && pytest -q | tail -50"))
    assert not has_failed(PYTEST, ToolCall("1", "read_file", {"path": "out/test.log"}))
    assert has_failed("cat: x.py: No such file or directory", shell("cat x.py"))


# --- failures --------------------------------------------------------------------------------

NPM = """npm warn deprecated http-errors@1.0.0: use node_modules/error-ex
npm error code E404
npm error 404 Not Found - GET https://registry.example/left-pad-9
npm error 404
npm error 404  'left-pad-9@^1.0.0' could not be found
npm error A complete log of this run can be found in: /home/dev/.npm/_logs/debug-0.log
"""


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (NPM, "failed: 404 Not Found - GET https://registry.example/left-pad-9"),
        (
            long("gcc -c error_@.c", 90)
            + "\nmain.c:3:5: error: expected ';'\nmake: *** [all] Error 1",
            "failed: main.c:3:5: error: expected ';'",
        ),
        (
            "# a/b\n./main.go:3:9: undefined: x\n./main.go:4:2: cannot use y",
            "failed: ./main.go:3:9",
        ),
        ("Reading lists\nE: Unable to locate package zz", "failed: E: Unable to locate package zz"),
        (
            "error[E0308]: mismatched types\n --> src/main.rs:2:5\n\nerror: could not compile `x` "
            "(bin) due to 1 previous error",
            "failed, 1 previous error: error[E0308]: mismatched types",
        ),
    ],
)
def test_a_failed_command_says_what_is_wrong(text: str, verdict: str) -> None:
    found = check(text)
    assert found.summary.startswith(verdict)
    assert has_failed(text)
    assert verdict.partition(": ")[2] in check(text, 200).preview


@pytest.mark.parametrize(
    "text",
    [
        long("node_modules/error-ex/index@.js", 40),
        "src/errors.py\nsrc/on_error.py\nhttp-errors@2.0.0",
        "checked 14 files\n0 errors, 0 warnings\nerror_count=0",
        long("added errors.py and @ fail2ban rules"),
    ],
)
def test_a_word_in_a_name_is_no_error(text: str) -> None:
    assert not has_failed(text)
    assert "failed" not in check(text).summary


def test_a_path_before_an_error_does_not_hide_it() -> None:
    lines = [*["fine"] * 200, "src/errors/index.js:4 Error: disk is full", *["fine"] * 200]
    assert "disk is full" in check("\n".join(lines), 200).preview


def test_many_complaints_are_counted_and_the_rare_ones_shown() -> None:
    lines = [f"src/m{n % 7}.py:{n}:1: D103 Missing docstring" for n in range(1, 200)]
    lines.insert(120, "src/bad.py:4:9: F821 Undefined name `x`")
    found = check("\n".join(lines) + "\nFound 200 errors.", call=shell("ruff check"))
    assert found.summary.startswith("failed, 200 errors. in 8 files, such as: src/bad.py:4:9: F821")
    assert "D103 199" in found.preview


def test_chained_exceptions_show_where_it_began() -> None:
    text = (
        'Traceback (most recent call last):\n  File "/app/a.py", line 19, in load\n    x["price"]\n'
        "KeyError: 'price'\n\nThe above exception was the direct cause of the following "
        "exception:\n\n"
        'Traceback (most recent call last):\n  File "/app/a.py", line 40, in <module>\n    main()\n'
        '  File "/usr/lib/python3/site-packages/z.py", line 3, in z\n    raise\n'
        "RuntimeError: stopped\n"
    )
    found = check(long("step @", 300) + "\n" + text, 400)
    assert found.summary == "RuntimeError: stopped"
    for part in ("KeyError: 'price'", '"/app/a.py", line 19', '"/app/a.py", line 40'):
        assert part in found.preview


# --- shorter ---------------------------------------------------------------------------------


def test_a_shorter_preview_keeps_what_matters_most() -> None:
    stored = gist(PYTEST)
    assert "test session starts" in stored.preview
    shorter = narrow(stored, 300)
    assert "FAILED tests/test_math.py::test_addition[3] - assert 4 == 3" in shorter
    assert "test session starts" not in shorter


def test_previews_from_before_ranks_stay_as_they_were() -> None:
    assert narrow(Gist("text", "s", "one\ntwo\nthree"), 8) == "one\ntwo"


@settings(max_examples=300)
@given(contents, st.integers(0, 500))
def test_narrow_never_exceeds_its_budget(content: Any, characters: int) -> None:
    assert len(narrow(gist(content), characters)) <= characters


def test_lines_of_a_field_are_named_by_its_path() -> None:
    content = {"exit_code": 1, "stdout": long("row @"), "stderr": ""}
    found = check(content)
    gaps = [GAP.fullmatch(line) for line in found.preview.split("\n") if "lines" in line]
    (gap,) = filter(None, gaps)
    assert gap[4] == "$.stdout"
    part = part_of(
        json.dumps(content), Slice(Lines(int(gap[1]), int(gap[1])), json_path="$.stdout")
    )
    assert part.body.strip() == f"row {gap[1]}"


def test_a_row_with_a_rare_value_is_shown() -> None:
    rows = [f"pod-{n}  1/1    Running  {n}d" for n in range(1, 200)]
    rows[120] = "pod-x  0/1    CrashLoopBackOff  4d"
    table = "NAME   READY  STATUS   AGE\n" + "\n".join(rows)
    assert "CrashLoopBackOff" in check(table, 400, shell("kubectl get pods")).preview


def test_pictures_have_dimensions() -> None:
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (640).to_bytes(4, "big") + (480).to_bytes(4, "big")
    data = base64.b64encode(head + random.Random(1).randbytes(900)).decode()
    for content in (data, [{"type": "image", "data": data, "mimeType": "image/png"}]):
        assert "640 × 480 pixels" in check(content).summary


# --- real results ----------------------------------------------------------------------------


def values_of(path: Path) -> Iterator[Any]:
    text = path.read_text(errors="replace")
    for part in [text] if path.suffix != ".jsonl" else text.split("\n"):
        try:
            yield json.loads(part)
        except ValueError:
            continue


def results_in(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        kind = value.get("type")
        if kind == "tool_result" or value.get("role") in ("tool", "toolResult"):
            yield value.get("content")
        elif kind in ("function_call_output", "custom_tool_call_output"):
            yield value.get("output")
        elif isinstance(value.get("functionResponse"), dict):
            yield value["functionResponse"].get("response")
        elif kind == "tool.execution_complete":
            yield value["data"].get("result")
    children = (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    )
    for child in children:
        yield from results_in(child)


@pytest.mark.skipif(not DATA.exists(), reason="the shared transcripts are not here")
def test_real_results() -> None:
    kinds: dict[str, int] = {}
    for path in sorted(DATA.rglob("*.json*")):
        for value in values_of(path):
            for content in results_in(value):
                found = check(content)
                kinds[found.kind] = kinds.get(found.kind, 0) + 1
    assert sum(kinds.values()) > 500
    assert {"text", "json", "file", "grep", "diff", "test", "shell", "listing"} <= kinds.keys()
    assert kinds["text"] < sum(kinds.values()) / 2


NUMBERED = "".join(f"{n:6}\t{line}\n" for n, line in enumerate(["def f():", "    pass", ""] * 9, 1))


@pytest.mark.parametrize(
    ("content", "summary"),
    [
        (
            f"{NUMBERED}\n<system-reminder>\nx\n</system-reminder>\n",
            "file, 27 lines, 9 definitions: f",
        ),
        (f"Here is `cat -n`:\n{NUMBERED}", "file, 27 lines, 9 definitions: f"),
        ("Error: exit code 1\nexit code 1\n", "exit code 1"),
        ("exit code 1: bad\nExit code: 1", "exit code 1: bad"),
        ("[This result was left out.]", "[This result was left out.]"),
    ],
)
def test_a_verdict_says_nothing_twice(content: str, summary: str) -> None:
    assert check(content).summary == summary


def test_calls_with_one_key_say_the_same() -> None:
    """What is stored for one of them is true of the other."""
    pairs = [
        ("pytest -q", "pytest tests/a"),
        ("cat a.py", "cat b.py"),
        ("ls --help", "ls a --help"),
    ]
    contents = [PYTEST, NUMBERED, "a.py\nb.py\n", "usage: ls\n  --all  all\n" * 5]
    for commands in pairs:
        one, other = (ToolCall("c", "Bash", {"command": command}) for command in commands)
        for content in contents:
            made = gist_of(content, one)
            assert is_gist_of(made, other)
            assert made == gist_of(content, other)
            assert not is_gist_of(made, None)


def test_a_line_of_dashes_that_ends_otherwise_takes_no_time() -> None:
    """Backtracking over 32 dashes took six seconds, and twice that for each one more."""
    assert gist("name\n" + "-" * 400 + "x\n" + "row\n" * 400).kind == "text"


def test_the_end_of_a_table_without_its_names_is_text() -> None:
    rows = "| a | 1 |\n|===|===|\n| b | 2 |\n| c | 3 |\n+---+---+"
    preview = gist({"stdout": "words\n" * 400, "stderr": rows, "exit_code": 0}).preview
    assert "| c | 3 |" in preview
