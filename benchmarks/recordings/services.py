"""Servers on loopback: their logs, what a client gets from them, and databases."""

from __future__ import annotations

from pathlib import Path

from benchmarks.recordings.recipe import (
    CLAUDE,
    CODEX,
    PLAIN,
    STREAMS,
    Form,
    Recipe,
    read,
    shell,
)

APP = '''"""A JSON API over http.server, with a bug in one of its routes."""

import json
import logging
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)s [%(threadName)s] %(name)s: %(message)s"
)
log = logging.getLogger("shop.api")
ARTICLES = [
    {"id": n, "sku": f"SKU-{n:03}", "title": f"Article {n}", "stock": (n * 7) % 23,
     "price": {"currency": "EUR", "cents": n * 125}, "tags": ["new"] if n % 5 == 0 else []}
    for n in range(1, 151)
]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        log.info("GET %s from %s", self.path, self.headers.get("X-Client", "unknown"))
        if self.path == "/articles":
            return self.answer(200, {"total": len(ARTICLES), "page": 1, "articles": ARTICLES})
        if self.path.startswith("/articles/"):
            number = int(self.path.rpartition("/")[2])
            if number % 40 == 0:
                log.warning("article %d is low on stock: %d left", number, number % 3)
            try:
                article = next(a for a in ARTICLES if a["id"] == number)
                share = 100 / article["stock"]
            except StopIteration:
                return self.answer(404, {"error": "not_found", "detail": f"no article {number}"})
            except ZeroDivisionError:
                log.exception("share of article %d could not be computed", number)
                return self.answer(500, {"error": "internal", "request_id": f"req-{number:05}"})
            return self.answer(200, article | {"share": round(share, 2)})
        self.answer(404, {"error": "not_found", "detail": f"no route {self.path}"})

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):
        log.info("%s", format % args)


ThreadingHTTPServer.allow_reuse_address = True
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
'''
STRUCTURED = '''"""The same requests as structured logs, by a worker that retries."""

import json
import random
import time

random.seed(4)
start = 1_780_000_000
for n in range(320):
    level = "info"
    event = {"ts": start + n * 3, "level": level, "logger": "worker", "job": f"job-{n % 40:03}", "attempt": n // 40 + 1, "ms": random.randrange(900)}
    if event["job"] == "job-017" and event["attempt"] > 2:
        event |= {"level": "error", "msg": "upload failed", "error": "PermissionError: bucket 'invoices' is read-only"}
    elif event["ms"] > 860:
        event |= {"level": "warn", "msg": "slow job"}
    else:
        event["msg"] = "job done"
    print(json.dumps(event))
'''
SCHEMA = """
CREATE TABLE customers (id serial PRIMARY KEY, name text NOT NULL, city text, joined date);
CREATE TABLE orders (id serial PRIMARY KEY, customer_id int NOT NULL REFERENCES customers (id), total numeric(10,2), state text CHECK (state IN ('open','paid','void')));
CREATE INDEX orders_by_state ON orders (state);
INSERT INTO customers (name, city, joined) SELECT 'Customer ' || n, (ARRAY['Cork','Ghent','Jena','Faro'])[n % 4 + 1], date '2026-01-01' + n FROM generate_series(1, 230) n;
INSERT INTO orders (customer_id, total, state) SELECT n % 230 + 1, n * 1.75, (ARRAY['open','paid','void'])[n % 3 + 1] FROM generate_series(1, 4000) n;
ANALYZE;
"""
BOOT = """set -e
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
home=$(mktemp -d /tmp/pg-recording-XXXX); chmod 777 $home
run() { if [ $(id -u) = 0 ]; then su nobody -s /bin/bash -c "$1"; else bash -c "$1"; fi; }
run "$bin/initdb -D $home/data -U shop -A trust >/dev/null"
run "$bin/postgres -D $home/data -k $home -p 54399 -c listen_addresses= -c logging_collector=off -c log_min_duration_statement=0 > $home/log 2>&1 & echo \\$! > $home/pid"
for i in $(seq 50); do psql -h $home -p 54399 -U shop -d postgres -c 'select 1' >/dev/null 2>&1 && break; sleep 0.2; done
set +e
export PGHOST=$home PGPORT=54399 PGUSER=shop PGDATABASE=postgres
[ "$1" = empty ] || psql -q -f schema.sql
"""
START = ". ./serve.sh; "


def api(folder: Path) -> None:
    (folder / "app.py").write_text(APP)
    (folder / "worker.py").write_text(STRUCTURED)
    (folder / "schema.sql").write_text(SCHEMA)
    (folder / "boot.sh").write_text(BOOT)
    requests = "for i in $(seq 1 170); do curl -s -H 'X-Client: load-test' http://127.0.0.1:18080/articles/$i >/dev/null; done\n"
    (folder / "serve.sh").write_text(
        "python3 app.py 18080 > server.log 2>&1 & server=$!\n"
        "trap 'kill $server' EXIT\n"
        "for i in $(seq 50); do curl -s http://127.0.0.1:18080/ >/dev/null && break; sleep 0.1; done\n"
    )
    (folder / "load.sh").write_text(requests)


def _psql(name: str, kind: str, sql: str, form: Form) -> Recipe:
    """The server is started and stopped outside of the call."""
    command = f'psql -c "{sql}"'
    recipe = shell(name, kind, api, command, form)
    run = f". ./boot.sh; {command}; rc=$?; kill $(cat $home/pid); rm -rf $home; exit $rc"
    return recipe._replace(command=run)


def _served(name: str, kind: str, command: str, form: Form) -> Recipe:
    recipe = shell(name, kind, api, command, form)
    return recipe._replace(command=START + command)


RECIPES = (
    _served("server-log", "server-log", "bash load.sh; cat server.log", CLAUDE),
    read("server-log-read", "server-log", api, "server.log", PLAIN),
    shell("server-log-grep", "grep", api, "grep -n -B2 -A12 ERROR server.log", CODEX),
    shell("json-log", "json-lines", api, "python3 worker.py", CLAUDE),
    _served("curl-articles", "json-nested", "curl -s http://127.0.0.1:18080/articles", CLAUDE),
    _served(
        "curl-pretty",
        "json-nested",
        "curl -s http://127.0.0.1:18080/articles | python3 -m json.tool",
        STREAMS,
    ),
    _served("curl-404", "curl", "curl -v --fail http://127.0.0.1:18080/articles/900", CLAUDE),
    _served(
        "curl-500",
        "curl",
        "for i in 20 21 22 23 24 25 46; do curl -sS -i http://127.0.0.1:18080/articles/$i; echo; done",
        CODEX,
    ),
    shell("curl-refused", "connection-error", api, "curl -v http://127.0.0.1:18081/health", CLAUDE),
    shell(
        "python-refused",
        "traceback",
        api,
        "python3 -c \"import urllib.request; urllib.request.urlopen('http://127.0.0.1:18081/health')\"",
        CLAUDE,
    ),
    shell(
        "address-in-use",
        "traceback",
        api,
        "python3 app.py 18082 >/dev/null 2>&1 & sleep 1; python3 -m http.server 18082 --bind 127.0.0.1; rc=$?; kill %1; exit $rc",
        CLAUDE,
    ),
    _psql("psql-customers", "sql-table", "select * from customers order by id", CLAUDE),
    _psql(
        "psql-grouped",
        "sql-table",
        "select c.city, o.state, count(*), sum(o.total) from orders o join customers c on c.id = o.customer_id group by 1, 2 order by 1, 2",
        CODEX,
    ),
    _psql(
        "psql-explain",
        "sql-plan",
        "explain (analyze, costs, verbose, buffers) select c.name, sum(o.total) from orders o join customers c on c.id = o.customer_id where o.state = 'open' group by c.name order by 2 desc limit 10",
        CLAUDE,
    ),
    _psql("psql-error", "sql-error", "select id, nme from customers", CLAUDE),
    _psql(
        "psql-constraint",
        "sql-error",
        "insert into orders (customer_id, total, state) values (9999, 5, 'open')",
        STREAMS,
    ),
    _psql(
        "psql-settings",
        "sql-table",
        "select name, setting, unit, short_desc from pg_settings order by name",
        CLAUDE,
    ),
    _psql("psql-describe", "sql-schema", "\\\\d+ orders", CODEX),
    shell(
        "psql-expanded",
        "sql-table",
        api,
        "psql -x -c 'select * from orders where id < 120'",
        CLAUDE,
    )._replace(
        command=". ./boot.sh; psql -x -c 'select * from orders where id < 120'; kill $(cat $home/pid); rm -rf $home"
    ),
)
