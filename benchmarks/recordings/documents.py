"""Files as they are read: sources, documentation, data, pages and pictures."""

from __future__ import annotations

import csv
import json
import shutil
import sqlite3
import tempfile
from pathlib import Path
from random import Random

from benchmarks.recordings.recipe import (
    BLOCKS,
    CLAUDE,
    CODEX,
    DOCUMENT,
    EXEC,
    NUMBERED,
    PLAIN,
    STREAMS,
    SWE,
    call,
    read,
    shell,
)

_NODE = Path(tempfile.gettempdir()) / "tract-recordings" / "node" / "node_modules"
_RUST = Path.home() / ".rustup/toolchains/stable-x86_64-unknown-linux-gnu/share/doc/rust"
_FILES = {
    "lib/argparse.py": Path(shutil.__file__).with_name("argparse.py"),
    "lib/textwrap.py": Path(shutil.__file__).with_name("textwrap.py"),
    "lib/queue.py": Path(shutil.__file__).with_name("queue.py"),
    "lib/calendar.py": Path(shutil.__file__).with_name("calendar.py"),
    "web/application.js": _NODE / "express/lib/application.js",
    "web/response.js": _NODE / "express/lib/response.js",
    "web/semver.js": _NODE / "semver/semver.js",
    "web/lodash.min.js": _NODE / "lodash/lodash.min.js",
    "web/jquery.min.js": _NODE / "jquery/dist/jquery.min.js",
    "web/react.production.min.js": _NODE / "react/umd/react.production.min.js",
    "web/lib.es5.d.ts": _NODE / "typescript/lib/lib.es5.d.ts",
    "web/lib.webworker.importscripts.d.ts": _NODE / "typescript/lib/lib.scripthost.d.ts",
    "web/runner.d.ts": _NODE / "vitest/dist/index.d.ts",
    "go/server.go": Path("/usr/lib/go-1.19/src/net/http/server.go"),
    "go/builder.go": Path("/usr/lib/go-1.19/src/strings/strings.go"),
    "c/zlib.h": Path("/usr/include/zlib.h"),
    "c/sqlite3.h": Path("/usr/include/sqlite3.h"),
    "docs/acorn.md": _NODE / "acorn/README.md",
    "docs/acorn-changes.md": _NODE / "acorn/CHANGELOG.md",
    "docs/debug.md": _NODE / "debug/README.md",
    "docs/semver.md": _NODE / "semver/README.md",
    "docs/commander.md": _NODE / "yargs-parser/README.md",
    "docs/ownership.html": _RUST / "html/book/ch04-01-what-is-ownership.html",
    "docs/bool.html": _RUST / "html/std/primitive.bool.html",
    "docs/lints.html": _RUST / "html/rustc/lints/listing/warn-by-default.html",
    "img/picture": _RUST / "html/rustc/images/image3.png",
    "img/small.png": _RUST / "html/rustdoc/images/collapsed-long-item.png",
    "web/site.css": next((_RUST / "html/book/css").glob("general-*.css"), Path("missing.css")),
    "web/make.sh": Path("/usr/lib/go-1.19/src/make.bash"),
    "data/pom.xml": Path("/usr/share/maven-repo/org/apache/maven/maven/3.x/maven-3.x.pom"),
    "data/package-lock.json": _NODE.parent / "package-lock.json",
    "data/mime-db.json": _NODE / "mime-db/db.json",
    "data/terser.json": _NODE / "terser/package.json",
    "data/http-status.json": _NODE / "statuses/codes.json",
}
CITIES = ("Aarhus", "Bergen", "Cork", "Delft", "Evora", "Faro", "Ghent", "Hull", "Izmir", "Jena")
STATES = ("paid",) * 7 + ("open",) * 3 + ("refunded",)


def materials(folder: Path) -> None:
    for name, source in _FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if source.exists():
            shutil.copyfile(source, path)
    _write_tables(folder / "data")
    shutil.copyfile(folder / "data/shop.db", folder / "data/cache.bin")
    _write_manifests(folder / "deploy")


def _write_tables(folder: Path) -> None:
    random = Random(17)
    rows = [
        {
            "order_id": 10_000 + place,
            "date": f"2026-{place % 12 + 1:02}-{place % 28 + 1:02}",
            "city": random.choice(CITIES),
            "sku": f"SKU-{random.randrange(400):03}",
            "amount": random.randrange(1, 9),
            "total": round(random.random() * 400, 2),
            "state": random.choice(STATES),
        }
        for place in range(1_342)
    ]
    rows[811] |= {"total": -12.5, "state": "disputed"}
    for name, delimiter in (("orders.csv", ","), ("orders.tsv", "\t"), ("orders-eu.csv", ";")):
        with (folder / name).open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows[: 700 if delimiter == "\t" else None])
    (folder / "orders.jsonl").write_text("\n".join(map(json.dumps, rows[600:1_000])) + "\n")
    (folder / "orders.json").write_text(json.dumps(rows[:250]))
    with sqlite3.connect(folder / "shop.db") as db:
        db.execute(
            "CREATE TABLE orders (order_id INTEGER PRIMARY KEY, date TEXT, city TEXT, sku TEXT, amount INTEGER, total REAL, state TEXT)"
        )
        db.execute("CREATE INDEX orders_by_city ON orders (city, state)")
        db.executemany(
            "INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, ?)", [tuple(r.values()) for r in rows]
        )
        for place in range(24):
            db.execute(
                f"CREATE TABLE archive_{place:02} (id INTEGER PRIMARY KEY, body TEXT NOT NULL, created TEXT DEFAULT CURRENT_TIMESTAMP)"
            )


SERVICES = (
    "api",
    "web",
    "worker",
    "mailer",
    "search",
    "billing",
    "auth",
    "media",
    "cron",
    "gateway",
)


def _write_manifests(folder: Path) -> None:
    folder.mkdir()
    parts = []
    for place, name in enumerate(SERVICES):
        parts.append(
            f"""apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
  namespace: {"edge" if place > 7 else "core"}
  labels: {{app: {name}, team: team-{place % 3}}}
spec:
  replicas: {place % 4 + 1}
  selector:
    matchLabels: {{app: {name}}}
  template:
    metadata:
      labels: {{app: {name}}}
    spec:
      containers:
        - name: {name}
          image: images.example.org/{name}:1.{place}.3
          ports: [{{containerPort: {8000 + place}}}]
          env:
            - {{name: LOG_LEVEL, value: info}}
            - {{name: QUEUE_URL, value: "amqp://queue.core:5672/{name}"}}
          resources:
            requests: {{cpu: {100 + place * 50}m, memory: {128 + place * 64}Mi}}
            limits: {{cpu: {400 + place * 50}m, memory: {256 + place * 64}Mi}}
          readinessProbe:
            httpGet: {{path: /ready, port: {8000 + place}}}
            periodSeconds: 10
"""
        )
        parts.append(
            f"""apiVersion: v1
kind: Service
metadata:
  name: {name}
spec:
  selector: {{app: {name}}}
  ports:
    - {{port: 80, targetPort: {8000 + place}}}
"""
        )
    (folder / "all.yaml").write_text("---\n".join(parts))
    tables = "\n".join(
        f"""[services.{name}]
image = "images.example.org/{name}:1.{place}.3"
port = {8000 + place}
workers = {place % 4 + 1}
depends_on = {json.dumps(list(SERVICES[:place]))}

[services.{name}.limits]
memory_mb = {256 + place * 64}
requests_per_second = {50 * (place + 1)}
timeout_seconds = {3 + place}

[services.{name}.health]
path = "/ready"
interval_seconds = 10
failures_until_restart = {place % 5 + 2}
"""
        for place, name in enumerate(SERVICES)
    )
    (folder / "services.toml").write_text(
        f'title = "Services of the shop"\nversion = 4\n\n{tables}'
    )


RECIPES = (
    read("read-argparse", "source-python", materials, "lib/argparse.py", NUMBERED),
    read("read-textwrap", "source-python", materials, "lib/textwrap.py", PLAIN),
    read("read-queue", "source-python", materials, "lib/queue.py", NUMBERED),
    shell("cat-calendar", "source-python", materials, "cat lib/calendar.py", CODEX),
    shell(
        "sed-argparse", "source-python", materials, "sed -n '1700,2050p' lib/argparse.py", CLAUDE
    ),
    shell(
        "nl-calendar",
        "source-python",
        materials,
        "nl -ba lib/calendar.py | sed -n '100,420p'",
        CODEX,
    ),
    read("read-express", "source-js", materials, "web/application.js", NUMBERED),
    read("read-response", "source-js", materials, "web/response.js", PLAIN),
    read("read-semver", "source-js", materials, "web/semver.js", PLAIN),
    read("read-es5-types", "source-ts", materials, "web/lib.es5.d.ts", NUMBERED),
    read(
        "read-scripthost-types",
        "source-ts",
        materials,
        "web/lib.webworker.importscripts.d.ts",
        PLAIN,
    ),
    read("read-go-server", "source-go", materials, "go/server.go", NUMBERED),
    shell("cat-go-strings", "source-go", materials, "cat go/builder.go", STREAMS),
    read("read-zlib", "source-c", materials, "c/zlib.h", NUMBERED),
    shell("head-sqlite", "source-c", materials, "sed -n '1,900p' c/sqlite3.h", CLAUDE),
    read("read-lodash-min", "minified", materials, "web/lodash.min.js", NUMBERED),
    shell("cat-jquery-min", "minified", materials, "cat web/jquery.min.js", CLAUDE),
    read("read-react-min", "minified", materials, "web/react.production.min.js", PLAIN),
    read("read-acorn-readme", "markdown", materials, "docs/acorn.md", NUMBERED),
    read("read-acorn-changes", "markdown", materials, "docs/acorn-changes.md", PLAIN),
    shell("cat-debug-readme", "markdown", materials, "cat docs/debug.md", CODEX),
    read("read-semver-readme", "markdown", materials, "docs/semver.md", PLAIN),
    read("read-yargs-readme", "markdown", materials, "docs/commander.md", NUMBERED),
    call(
        "fetch-ownership",
        "html",
        materials,
        "WebFetch",
        {
            "url": "https://docs.example.org/book/ch04-01.html",
            "prompt": "What is said about String and clone?",
        },
        "cat docs/ownership.html",
    ),
    shell("cat-bool", "html", materials, "cat docs/bool.html", CLAUDE),
    read("read-lints", "html", materials, "docs/lints.html", PLAIN),
    shell("csv-orders", "csv", materials, "cat data/orders.csv", CLAUDE),
    read("csv-orders-read", "csv", materials, "data/orders.csv", NUMBERED),
    read("tsv-orders", "csv", materials, "data/orders.tsv", PLAIN),
    shell("csv-semicolons", "csv", materials, "cat data/orders-eu.csv", EXEC),
    shell("jsonl-orders", "json-lines", materials, "cat data/orders.jsonl", STREAMS),
    shell("json-array", "json-array", materials, "cat data/orders.json", CLAUDE),
    shell("json-array-pretty", "json-array", materials, "jq . data/orders.json", EXEC),
    read("package-lock", "json-nested", materials, "data/package-lock.json", NUMBERED),
    shell("mime-db", "json-nested", materials, "cat data/mime-db.json", CLAUDE),
    read("package-json", "json-nested", materials, "data/terser.json", PLAIN),
    shell(
        "jq-keys",
        "json-array",
        materials,
        "jq '[.packages | to_entries[] | {name: .key, version: .value.version, license: .value.license, dev: .value.dev}]' data/package-lock.json",
        CLAUDE,
    ),
    shell(
        "jq-error",
        "json-nested",
        materials,
        "jq '.packages[] | .version.major' data/package-lock.json",
        SWE,
    ),
    read("yaml-deployments", "yaml", materials, "deploy/all.yaml", NUMBERED),
    shell("cat-yaml", "yaml", materials, "cat deploy/all.yaml", CLAUDE),
    read("toml-services", "toml", materials, "deploy/services.toml", PLAIN),
    shell(
        "sqlite-rows",
        "sql-table",
        materials,
        "sqlite3 -box data/shop.db \"select * from orders where city='Ghent'\"",
        CLAUDE,
    ),
    shell(
        "sqlite-column",
        "sql-table",
        materials,
        "sqlite3 -header -column data/shop.db 'select city, state, count(*) as orders, round(sum(total),2) as total from orders group by city, state'",
        CODEX,
    ),
    shell(
        "sqlite-table",
        "sql-table",
        materials,
        "sqlite3 -table data/shop.db 'select order_id, city, sku, total from orders where amount > 7 order by total desc'",
        CLAUDE,
    ),
    shell("sqlite-schema", "sql-schema", materials, "sqlite3 data/shop.db .schema", CLAUDE),
    shell(
        "sqlite-json",
        "json-array",
        materials,
        "sqlite3 -json data/shop.db \"select * from orders where state='refunded'\"",
        PLAIN,
    ),
    shell(
        "sqlite-error",
        "sql-error",
        materials,
        "sqlite3 data/shop.db 'select city, count(*) from orders group by city; select customer from orders'",
        CLAUDE,
    ),
    shell("sqlite-dump", "sql-schema", materials, "sqlite3 data/shop.db .dump | head -1000", SWE),
    call(
        "mcp-read",
        "source-python",
        materials,
        "mcp__filesystem__read_text_file",
        {"path": "/home/dev/project/lib/argparse.py"},
        "cat lib/argparse.py",
        BLOCKS,
    ),
    call(
        "image-block",
        "image",
        materials,
        "Read",
        {"file_path": "/home/dev/project/img/small.png"},
        """python3 -c "import base64, json; data = base64.b64encode(open('img/small.png', 'rb').read()).decode(); print(json.dumps([{'type': 'image', 'source': {'type': 'base64', 'media_type': 'image/png', 'data': data}}]))" """.strip(),
        DOCUMENT,
    ),
    call(
        "image-url",
        "image",
        materials,
        "browser_take_screenshot",
        {"filename": "page"},
        "printf data:image/png\\;base64,; base64 -w0 img/small.png",
    ),
    call(
        "search-results",
        "json-array",
        materials,
        "web_search",
        {"query": "semver ranges"},
        'jq \'[.[] | {title: (.sku + " in " + .city), url: ("https://shop.example.org/orders/" + (.order_id|tostring)), snippet: (.date + ": " + .state), score: .total}]\' data/orders.json',
        DOCUMENT,
    ),
    shell(
        "kustomize",
        "yaml",
        materials,
        "printf 'resources: [all.yaml]\\nnamePrefix: staging-\\n' > deploy/kustomization.yaml; kubectl kustomize deploy",
        CLAUDE,
    ),
    shell(
        "kubectl-json",
        "json-nested",
        materials,
        "kubectl create deployment web --image=images.example.org/web:2 --replicas=3 --port=8080 --dry-run=client -o json; kubectl create --dry-run=client --validate=false -f deploy/all.yaml -o json",
        CODEX,
    ),
    read("read-css", "source-css", materials, "web/site.css", NUMBERED),
    shell("cat-bash", "source-sh", materials, "cat web/make.sh", CLAUDE),
    read("read-xml", "xml", materials, "data/pom.xml", PLAIN),
    read("read-vitest-types", "source-ts", materials, "web/runner.d.ts", PLAIN),
    shell("base64-png", "image", materials, "base64 -w0 img/picture", CLAUDE),
    shell("xxd-png", "binary", materials, "xxd img/picture | head -600", CLAUDE),
    shell("cat-binary", "binary", materials, "head -c 30000 data/cache.bin", CLAUDE),
)
