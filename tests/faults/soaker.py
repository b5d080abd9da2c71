"""An agent at work, task after task, on one database: `soaker.py DB TASKS SECONDS`.

With SECONDS it goes on for that long, and rests four times as long as it works; otherwise it does
so many TASKS. Prints `task MEMORY FILE WAL` after each, in bytes; a server has no files here. After
each it compares what it sees with what another instance sees, and both with what was acknowledged.
"""

import os
import random
import sys
import time
from itertools import count
from pathlib import Path

from tract import CommitInfo, ToolCall, Tract

db, tasks, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
PAGE = os.sysconf("SC_PAGE_SIZE")
TURNS, KEPT = 6, 3
"""Of a task; and how many tasks keep their branch, before it is deleted and collected."""
REOPEN, FORGET, LARGE = 5, 4, 3
"""Every so many tasks it opens the file anew, forgets a result for good, gets a large one."""
TOOLS = [{"name": name, "input_schema": {"type": "object"}} for name in ("read", "grep", "ls")]
SIZES = (10, 400, 4_000)
FORMS = ("full", "reference", "truncated")


def work(t: Tract, task: int) -> list[CommitInfo]:
    """One task on a branch of its own; the commits that were acknowledged."""
    t.checkout("main")
    t.branch(f"task-{task}")
    t.checkout(f"task-{task}")
    done = [t.user(f"task {task}: look at every file", tools=TOOLS)]
    for turn in range(TURNS):
        done += take_turn(t, task, turn)
        requests(t)
    results = t.find_tool_results()
    done.append(t.reshape({results[1].commit_hash: "collapsed", results[2].commit_hash: "full"}))
    summary = t.compress_tool_calls(keep_recent=2)
    done += summary.summaries
    requests(t)
    if task % 2:
        done += [t.restore(commit) for commit in summary.summaries]
    answer = t.assistant("done", usage={"input_tokens": 900, "output_tokens": 9})
    return [*done, answer, t.assistant(f"task {task} is done", edit=answer)]


def take_turn(t: Tract, task: int, turn: int) -> list[CommitInfo]:
    """A call and its result, of every size and in every form."""
    dice = random.Random(TURNS * task + turn)
    text = "\n".join(f"line {n} {dice.getrandbits(64):x}" for n in range(SIZES[turn % 3]))
    if turn == TURNS - 1 and task % LARGE == 0:
        text *= 8  # stored in chunks
    call = ToolCall(f"call-{task}-{turn}", "read", {"path": f"{turn}.py"})
    with t.batch():
        asked = t.assistant(tool_calls=[call])
        return [asked, t.tool_result(call.id, "read", text, form=FORMS[turn % 3])]


def requests(t: Tract) -> object:
    context = t.compile()
    some = [context.to_openai_params(), context.to_anthropic_params()]
    return [*some, context.to_responses_params(), context.to_gemini_params()]


def tidy_up(t: Tract, task: int) -> None:
    """Delete the dialog of a helper and what is old; forget a result."""
    helper = t.sibling("helper")
    for number in range(5):
        helper.user(f"task {task} number {number}")
    t.delete_dialog("helper")
    if task >= KEPT:
        t.delete_branch(f"task-{task - KEPT}")
    if task % FORGET == 0:
        t.forget(t.find_tool_results()[0])
    t.gc(dry_run=False, grace_seconds=-3600)


def check(t: Tract, live: dict[str, set[str]]) -> None:
    """Another instance sees the same, and all commits that were acknowledged and not deleted."""
    assert next(t.search("is done")).dialog == t.dialog
    assert "line 7" in t.get_tool_result(t.list_tool_results()[1].id)
    with Tract.open(db) as other:
        assert requests(other) == requests(t)
        assert other.branches().keys() == {"main", *live}
        for branch, done in live.items():
            other.checkout(branch)
            assert done <= {commit.commit_hash for commit in other.log()}
        other.checkout(t.current_branch or "main")


def size(path: str) -> int:
    return Path(path).stat().st_size if Path(path).exists() else 0


def memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def run(t: Tract, task: int, live: dict[str, set[str]]) -> None:
    live[f"task-{task}"] = {commit.commit_hash for commit in work(t, task)}
    tidy_up(t, task)
    live.pop(f"task-{task - KEPT}", None)
    check(t, live)


print("ready", flush=True)
sys.stdin.readline()
end = time.monotonic() + seconds
live: dict[str, set[str]] = {}
t = Tract.open(db)
t.system("be brief")
for task in count():
    if task >= tasks if not seconds else time.monotonic() > end:
        break
    start = time.monotonic()
    run(t, task, live)
    if task % REOPEN == 0:
        t.close()
        t = Tract.open(db)
    print("task", memory(), size(db), size(f"{db}-wal"), flush=True)
    if seconds:
        time.sleep(4 * (time.monotonic() - start))
problems = t.fsck().problems
assert problems == [], problems
t.close()
