"""What a machine says of itself, manuals, and programs under a debugger."""

from __future__ import annotations

from pathlib import Path

from benchmarks.recordings.recipe import (
    CLAUDE,
    CODEX,
    EXEC,
    STREAMS,
    SWE,
    Form,
    Recipe,
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


TERRAFORM = "".join(
    f"""
resource "terraform_data" "service_{n:02}" {{
  input = {{
    name     = "service-{n:02}"
    replicas = {n % 4 + 1}
    region   = "eu-{n % 3}"
  }}
  triggers_replace = [var.release]
}}
"""
    for n in range(24)
)
TERRAFORM = f"""variable "release" {{
  type    = string
  default = "2026.11"
}}
{TERRAFORM}
output "names" {{
  value = [for n in range(24) : "service-${{n}}"]
}}
"""
_BROKEN_TERRAFORM = """resource "terraform_data" "web" {
  input   = var.realease
  replica = 3
}

output "address" {
  value = terraform_data.wbe.output
}
"""


def infrastructure(folder: Path) -> None:
    (folder / "main.tf").write_text(TERRAFORM)
    (folder / "broken").mkdir()
    (folder / "broken/main.tf").write_text(_BROKEN_TERRAFORM)


def _alone(name: str, kind: str, command: str, form: Form) -> Recipe:
    """Among processes of its own, so that none of this machine are listed."""
    script = f"for i in $(seq 60); do sleep 20 & done; python3 -m http.server 18099 --bind 127.0.0.1 >/dev/null 2>&1 & sleep 1; {command}"
    recipe = shell(name, kind, machine, command, form)
    return recipe._replace(command=f"unshare -fp --mount-proc bash -c '{script}'")


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
        EXEC,
    ),
    shell(
        "valgrind",
        "valgrind",
        machine,
        "gcc -g -O0 leak.c -o leak && valgrind --leak-check=full --show-leak-kinds=all ./leak",
        CLAUDE,
    ),
    shell(
        "valgrind-streams",
        "valgrind",
        machine,
        "valgrind --leak-check=full --track-origins=yes --num-callers=30 ./leak",
        STREAMS,
    ),
    shell(
        "gdb-backtrace",
        "gdb",
        machine,
        "gcc -g -O0 crash.c -o crash && gdb -batch -ex run -ex bt -ex 'info locals' ./crash",
        CLAUDE,
    ),
    shell("strace", "strace", machine, "strace cat config/settings.toml", EXEC),
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
    _alone("ps", "processes", "ps aux", CLAUDE),
    _alone("top", "processes", "top -b -n 1 -w 120", CODEX),
    shell("env", "environment", machine, "env | sort", CLAUDE),
    shell(
        "certificate",
        "certificate",
        machine,
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 30 -subj /CN=shop.example.org 2>/dev/null; openssl x509 -in cert.pem -text",
        CLAUDE,
    ),
    shell(
        "terraform-plan",
        "terraform",
        infrastructure,
        "terraform init -no-color >/dev/null && terraform plan -no-color",
        CLAUDE,
    ),
    shell(
        "terraform-invalid",
        "terraform",
        infrastructure,
        "cd broken && terraform init -no-color >/dev/null; terraform validate -no-color",
        EXEC,
    ),
    shell("objdump", "disassembly", machine, "objdump -d leak", CLAUDE),
    shell(
        "nm", "symbols", machine, "nm -S --size-sort leak-asan | tail -20; readelf -a leak", CODEX
    ),
)
