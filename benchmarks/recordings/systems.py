"""What a machine says of itself, manuals, and programs under a debugger."""

from __future__ import annotations

from pathlib import Path

from benchmarks.recordings.recipe import (
    CLAUDE,
    CODEX,
    STREAMS,
    SWE,
    shell,
)

LEAK = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node { struct node *next; char name[24]; };

static struct node *push(struct node *list, int n) {
    struct node *node = malloc(sizeof *node);
    snprintf(node->name, sizeof node->name, "node-%d", n);
    node->next = list;
    return node;
}

static int total(int *values, int amount) {
    int sum = 0;
    for (int i = 0; i <= amount; i++) sum += values[i];
    return sum;
}

static void drop(struct node *list) {
    while (list) { struct node *next = list->next; if (next) free(list); list = next; }
}

int main(void) {
    struct node *list = NULL;
    for (int n = 0; n < 40; n++) { list = push(list, n); printf("pushed %s\\n", list->name); }
    int *values = calloc(10, sizeof *values);
    printf("total %d\\n", total(values, 10));
    drop(list);
    return 0;
}
"""
CRASH = """#include <stdio.h>
#include <string.h>

struct account { const char *owner; long cents; };

static size_t label(const struct account *account) { return strlen(account->owner); }

static size_t walk(struct account *accounts, int depth) {
    if (depth == 0) return label(&accounts[3]);
    return walk(accounts, depth - 1) + 1;
}

int main(void) {
    struct account accounts[4] = {{"ann", 1}, {"bob", 2}, {"cem", 3}, {NULL, 4}};
    printf("%zu\\n", walk(accounts, 60));
    return 0;
}
"""


def machine(folder: Path) -> None:
    (folder / "leak.c").write_text(LEAK)
    (folder / "crash.c").write_text(CRASH)


_OWN_PROCESSES = "for i in $(seq 1 70); do sleep 30 & done; python3 -m http.server 18099 --bind 127.0.0.1 >/dev/null 2>&1 & pid=$!; sleep 1; "
_STOP = "; kill $pid $(jobs -p) 2>/dev/null"

RECIPES = (
    shell("man-curl", "man", machine, "man curl | col -b", CLAUDE),
    shell("man-ssh-config", "man", machine, "man ssh_config", CODEX),
    shell("man-jq", "man", machine, "man jq", SWE),
    shell("help-curl", "help", machine, "curl --help all", CLAUDE),
    shell("help-rg", "help", machine, "rg --help", STREAMS),
    shell("help-cmake", "help", machine, "cmake --help", CODEX),
    shell("help-go-build", "help", machine, "go help build", CLAUDE),
    shell(
        "help-kubectl-explain", "help", machine, "kubectl create --help; kubectl options", CLAUDE
    ),
    shell(
        "kubectl-refused",
        "connection-error",
        machine,
        "KUBECONFIG=/dev/null kubectl get pods -A",
        CLAUDE,
    ),
    shell(
        "docker-refused", "connection-error", machine, "docker ps -a; docker build --help", CLAUDE
    ),
    shell("dpkg-list", "table", machine, "dpkg -l | head -500", CLAUDE),
    shell(
        "apt-missing",
        "apt",
        machine,
        "apt-get install -y --no-install-recommends libfrobnicate-dev",
        CLAUDE,
    ),
    shell(
        "apt-simulate",
        "apt",
        machine,
        "apt-get install -s postgresql-contrib emacs-nox r-base-core",
        CODEX,
    ),
    shell("df", "table", machine, "df -h", CLAUDE),
    shell(
        "valgrind",
        "valgrind",
        machine,
        "gcc -g -O0 leak.c -o leak && valgrind --leak-check=full --show-leak-kinds=all ./leak",
        CLAUDE,
    ),
    shell("valgrind-streams", "valgrind", machine, "valgrind --leak-check=full -v ./leak", STREAMS),
    shell(
        "gdb-backtrace",
        "gdb",
        machine,
        "gcc -g -O0 crash.c -o crash && gdb -batch -ex run -ex bt -ex 'info locals' ./crash",
        CLAUDE,
    ),
    shell("strace", "strace", machine, "strace cat config/settings.toml", CODEX),
    shell(
        "strace-python",
        "strace",
        machine,
        "strace -f -e trace=openat,read,execve /usr/bin/python3 -S -c 'import nosuchmodule'",
        CLAUDE,
    ),
    shell(
        "asan",
        "sanitizer",
        machine,
        "gcc -g -fsanitize=address leak.c -o leak-asan && ./leak-asan",
        SWE,
    ),
    shell("segfault", "crash", machine, "seq 1 900 | sed 's/^/step /'; ./crash", CLAUDE),
    shell("objdump", "disassembly", machine, "objdump -d leak", CLAUDE),
    shell(
        "nm", "symbols", machine, "nm -S --size-sort leak-asan | tail -20; readelf -a leak", CODEX
    ),
)
