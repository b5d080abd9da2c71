"""What git prints of a repository, and what searching through one prints."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from benchmarks.recordings.recipe import (
    CLAUDE,
    CODEX,
    EXEC,
    GEMINI,
    STREAMS,
    SWE,
    call,
    shell,
)

GOSRC = "/usr/lib/go-1.19/src"


def go_sources(folder: Path) -> None:
    """Part of Go's own library, with a history of real edits to it."""
    for name in ("sort", "strings", "container", "text", "encoding", "net/http", "bufio"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-r", f"{GOSRC}/{name}", folder / name], check=True)
    (folder / "go.mod").write_text("module example.org/std\n\ngo 1.19\n")
    script = """
set -e
c() { GIT_AUTHOR_DATE="2026-0$1T10:00:00+00:00" GIT_COMMITTER_DATE="2026-0$1T10:00:00+00:00" git commit -q "${@:2}"; }
git init -q -b main . && git add go.mod && c 1-02 -m "Start the module"
n=3
for d in bufio container sort strings text encoding net; do
  for f in $(find $d -name '*.go' | sort | head -60); do git add $f; done
  c 1-0$n -m "$d: add the sources" -m "Taken from the release as it is." || true
  n=$((n+1))
done
sed -i 's/quickSort/patternSort/g' sort/*.go
git add -A && c 1-11 -m "Add tests and data" --author "Ravi Shah <ravi@example.org>"
for i in 1 2 3 4 5 6 7 8 9; do
  sed -i "${i}0a // Note $i: checked for overflow." strings/builder.go bufio/scan.go
  c 2-0$i -am "strings, bufio: note $i on overflow" --author "Mei Tan <mei@example.org>"
done
for i in $(seq 10 28); do
  echo "// trailing note $i" >> encoding/json/decode.go
  c 2-$i -am "encoding/json: explain case $i of the decoder" -m "Issue #$((i*37)) asked for it. The behaviour is the same."
done
git tag v1.0.0
git checkout -q -b feature
sed -i 's/const maxConsecutiveEmptyReads = 100/const maxConsecutiveEmptyReads = 250/; s/defaultBufSize = 4096/defaultBufSize = 8192/' bufio/bufio.go
sed -i 's/func Repeat(s string, count int) string {/func Repeat(s string, count int) string { \\/\\/ repeats s/' strings/strings.go
git rm -q container/ring/example_test.go && printf 'package sort\\n\\n// Stable order of keys.\\nfunc Keys(m map[string]int) []string { return nil }\\n' > sort/keys.go && git add -A
c 3-01 -m "Larger buffers, sorted keys"
git checkout -q main
sed -i 's/const maxConsecutiveEmptyReads = 100/const maxConsecutiveEmptyReads = 64/' bufio/bufio.go
sed -i 's/func Repeat(s string, count int) string {/func Repeat(s string, count int) string { \\/\\/ allocates once/' strings/strings.go
c 3-02 -am "bufio: give up earlier"
"""
    subprocess.run(["bash", "-c", script], cwd=folder, check=True, env=_git_environment())


def _git_environment() -> dict[str, str]:
    person = {"NAME": "Dana Vale", "EMAIL": "dana@example.org"}
    named = {
        f"GIT_{who}_{key}": value
        for who in ("AUTHOR", "COMMITTER")
        for key, value in person.items()
    }
    return {**os.environ, **named, "GIT_CONFIG_GLOBAL": os.devnull}


RECIPES = (
    shell("git-log", "git-log", go_sources, "git log --no-color", CLAUDE),
    shell("git-log-oneline", "git-log", go_sources, "git log --oneline --graph --all", CODEX),
    shell("git-log-stat", "git-log", go_sources, "git log --stat -12", STREAMS),
    shell("git-show-stat", "git-diff", go_sources, "git show --stat=120 v1.0.0~28", CLAUDE),
    shell("git-diff-branches", "git-diff", go_sources, "git diff main feature", CLAUDE),
    shell(
        "git-diff-large",
        "git-diff",
        go_sources,
        "git diff v1.0.0~30 feature -- sort bufio strings encoding/json",
        SWE,
    ),
    shell(
        "git-diff-words",
        "git-diff",
        go_sources,
        "sed -i 's/interface{}/any/g; s/TODO/FIXME/g' encoding/json/*.go text/template/*.go; git diff",
        GEMINI,
    ),
    shell(
        "git-status-dirty",
        "git-status",
        go_sources,
        "rm sort/slice.go; mkdir -p notes && for i in $(seq 1 40); do echo $i > notes/todo-$i.txt; done; git add text; touch main_test.go; git status",
        CLAUDE,
    ),
    shell("git-status-porcelain", "git-status", go_sources, "git status --porcelain -uall", CODEX),
    shell("git-blame", "git-blame", go_sources, "git blame strings/builder.go", CLAUDE),
    shell(
        "git-merge-conflict",
        "git-conflict",
        go_sources,
        "git stash -q -u; git checkout -q main; git merge feature --stat; git status; git diff",
        CODEX,
    ),
    shell(
        "git-rebase-conflict",
        "git-conflict",
        go_sources,
        "git merge --abort; git checkout -q feature; git rebase main; rc=$?; cat bufio/bufio.go | head -80; git rebase --abort; git checkout -q main; exit $rc",
        CLAUDE,
    ),
    shell(
        "git-push-rejected",
        "git-push",
        go_sources,
        "rm -rf ../remote.git ../other; git clone -q --bare . ../remote.git; git clone -q ../remote.git ../other; (cd ../other && git checkout -q main && echo x > x && git add x && git commit -qm 'Other work' && git push -q); git remote add origin ../remote.git; echo y > y; git add y; git commit -qm 'My work'; git push origin main",
        CLAUDE,
    ),
    shell("git-grep", "grep", go_sources, "git grep -n 'func New'", CLAUDE),
    call(
        "grep-content",
        "grep",
        go_sources,
        "Grep",
        {
            "pattern": "ErrUnexpectedEOF|ErrTooLong",
            "path": "/home/dev/project",
            "output_mode": "content",
            "-n": True,
        },
        "rg -n 'ErrUnexpectedEOF|ErrTooLong'",
    ),
    call(
        "grep-files",
        "file-list",
        go_sources,
        "Grep",
        {"pattern": "sync\\.Mutex", "output_mode": "files_with_matches"},
        "rg -l 'sync\\.' | sort",
    ),
    shell("grep-recursive", "grep", go_sources, "grep -rn 'TODO' --include=*.go .", SWE),
    shell("rg-context", "grep", go_sources, "rg -n -C 3 'panic\\(' strings bufio text", CODEX),
    shell("rg-json", "json-lines", go_sources, "rg --json 'deprecated' -i net/http", CLAUDE),
    shell("rg-heading", "grep", go_sources, "rg --heading -n 'unsafe\\.' .", GEMINI),
    shell("rg-count", "grep", go_sources, "rg -c 'return nil, err' .", CLAUDE),
    call(
        "glob",
        "file-list",
        go_sources,
        "Glob",
        {"pattern": "**/*_test.go"},
        "find /home/dev/project -name '*_test.go' | sort",
    ),
    shell("find", "file-list", go_sources, "find . -type f -not -path './.git/*' | sort", CLAUDE),
    shell(
        "find-sizes",
        "file-list",
        go_sources,
        "find . -type f -size +40k -not -path './.git/*' -printf '%s %TY-%Tm-%Td %p\\n' | sort -rn",
        STREAMS,
    ),
    shell("ls-recursive", "listing", go_sources, "ls -R text encoding net", CLAUDE),
    shell("ls-long", "listing", go_sources, "ls -la net/http", EXEC),
    shell("tree", "listing", go_sources, "tree text encoding container", CLAUDE),
    shell("du", "listing", go_sources, "du -a encoding net | sort -rn", SWE),
    shell(
        "wc", "table", go_sources, "find . -name '*.go' -not -path './.git/*' | xargs wc -l", CLAUDE
    ),
    shell(
        "git-stash-untracked",
        "git-conflict",
        go_sources,
        "for i in $(seq 1 60); do echo $i > file-$i.txt; done; git add .; git commit -qm files; git checkout -q HEAD~1; for i in $(seq 1 60); do echo other > file-$i.txt; done; git checkout main",
        CLAUDE,
    ),
)
