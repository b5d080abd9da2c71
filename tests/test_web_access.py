"""Who may ask: the matrix of hosts, origins, tokens and scopes, on real servers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.asking import JSON, Answer, ask, grant, send, texts
from tests.samples.otel import CONVENTIONS
from tests.serving import serving
from tract import AccessError, Tract
from tract.access import new_token
from tract.remote.operations import OPERATIONS, Operation
from tract.storage import open_store
from tract.web.intake import Limits
from tract.web.problems import MEDIA
from tract.web.server import Server

PATHS = (
    *("/", "/docs", "/openapi.json", "/metrics"),
    *("/api", "/api/dialogs", "/api/dialogs/d/log"),
    "/mcp",
)
"""One of each kind: pages, documents, operations, and what is mounted beside them."""
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
USER = b'{"text": "Hi"}'
UNKNOWN = {
    "type": "urn:tract:DialogNotFoundError",
    "title": "No dialog of this database has that name",
    "status": 404,
}
MESSAGES = "/api/dialogs/d/messages/user"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with two dialogs."""
    path = tmp_path_factory.mktemp("access") / "t.db"
    for dialog in ("d", "team/d"):
        with Tract.open(str(path), dialog=dialog) as t:
            t.user("Hi")
            t.assistant("", tool_calls=[{"id": "c", "name": "ls", "arguments": {}}])
            t.tool_result("c", "ls", "main.py\n")
            t.set_tools([{"name": "ls", "input_schema": {"type": "object"}}])
    return path


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[Server]:
    with serving(str(place)) as running:
        yield running


def own(server: Server) -> str:
    return urlsplit(server.url).netloc


# Hosts and origins


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1.nip.io:{port}",
        "localhost.evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "0.0.0.0:{port}",
        "localhost.:{port}",
        "user@127.0.0.1:{port}",
        "",
    ],
)
def test_a_name_that_is_not_the_servers_is_refused(server: Server, path: str, host: str) -> None:
    port = own(server).rpartition(":")[2]
    answer = _opened(server, path, [("Host", host.format(port=port))])
    assert (answer.status, answer.json["type"]) == (421, "urn:tract:AccessError")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_the_names_of_this_machine_are_the_servers(server: Server, path: str, name: str) -> None:
    port = own(server).rpartition(":")[2]
    headers = [("Host", f"{name}:{port}")]
    assert _opened(server, path, headers).status == 200


def _opened(
    server: Server, path: str, headers: list[tuple[str, str]], token: str | None = "own"
) -> Answer:
    """The answer to a usual request to this path."""
    token = server.token if token == "own" else token
    if path != "/mcp":
        return ask(server, "GET", path, token, headers)
    accept = ("Accept", "application/json, text/event-stream")
    body = json.dumps(INITIALIZE).encode()
    return ask(server, "POST", path, token, [*JSON, accept, *headers], body)


def test_two_hosts_or_two_origins_are_refused(server: Server) -> None:
    hosts = [("Host", own(server)), ("Host", "evil.example")]
    for pair in (hosts, hosts[::-1]):
        assert ask(server, "GET", "/api", server.token, pair).status in (400, 421)
    origins = [("Origin", server.url), ("Origin", "http://evil.example")]
    for pair in (origins, origins[::-1]):
        assert ask(server, "GET", "/api", server.token, pair).status == 403


def test_a_request_without_a_host_is_refused(server: Server) -> None:
    from tests.asking import answer_of, connected

    with connected(server) as line:
        line.sendall(b"GET /api HTTP/1.0\r\n\r\n")
        assert answer_of(line).status in (400, 421)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "http://evil.example",
        "http://127.0.0.1:1",
        "http://127.0.0.1",
        "{url}.evil.example",
        "http://evil.example@{own}",
        "file://{own}",
        "http://[",
    ],
)
def test_a_foreign_origin_is_refused(server: Server, path: str, origin: str) -> None:
    value = origin.format(url=server.url, own=own(server))
    answer = _opened(server, path, [("Origin", value)])
    assert (answer.status, answer.json["type"]) == (403, "urn:tract:AccessError")


@pytest.mark.parametrize("path", PATHS)
def test_the_own_origin_is_accepted(server: Server, path: str) -> None:
    headers = [("Origin", server.url), ("Sec-Fetch-Site", "same-origin")]
    assert _opened(server, path, headers).status == 200


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("site", "status"),
    [("cross-site", 403), ("same-site", 403), ("odd", 403), ("same-origin", 200), ("none", 200)],
)
def test_a_browser_says_where_a_request_comes_from(
    server: Server, path: str, site: str, status: int
) -> None:
    assert _opened(server, path, [("Sec-Fetch-Site", site)]).status == status


def test_an_own_name_does_not_excuse_another_site(server: Server) -> None:
    headers = [("Origin", server.url), ("Sec-Fetch-Site", "cross-site")]
    assert _opened(server, "/api", headers).status == 403


# What every answer has


ODD: tuple[tuple[str, str], ...] = (
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/nothing"),
    ("GET", "/api/nothing"),
    ("GET", "/api/dialogs/unknown/log"),
    ("GET", "/api/dialogs/d/log?limit=x"),
    ("POST", "/api/dialogs"),
    ("PUT", "/"),
    ("OPTIONS", "/api/dialogs"),
    ("TRACE", "/api"),
    ("GET", "/docs/swagger-ui.css"),
    ("GET", "/docs/nothing"),
)


@pytest.mark.parametrize(("verb", "path"), [*(("", path) for path in PATHS), *ODD])
@pytest.mark.parametrize("origin", [None, "http://evil.example"])
def test_every_answer_has_the_headers_and_no_others(
    server: Server, verb: str, path: str, origin: str | None
) -> None:
    headers = [] if origin is None else [("Origin", origin)]
    for token in (server.token, None):
        if verb:
            answer = ask(server, verb, path, token, headers)
        else:
            answer = _opened(server, path, headers, token)
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; ")
        assert "script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert "set-cookie" not in answer.headers
        assert not [name for name in answer.headers if name.startswith("access-control-")]
        if answer.status >= 400:
            assert answer.headers["content-type"] == MEDIA
            assert answer.json["status"] == answer.status


def test_a_preflight_is_not_answered(server: Server) -> None:
    headers = [("Origin", "http://evil.example"), ("Access-Control-Request-Method", "POST")]
    assert ask(server, "OPTIONS", MESSAGES, None, headers).status == 403
    assert ask(server, "OPTIONS", MESSAGES, None, [("Origin", server.url)]).status == 405


@pytest.mark.parametrize(
    "media",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", None],
)
@pytest.mark.parametrize("verb", ["POST", "PUT"])
def test_a_form_cannot_write(server: Server, media: str | None, verb: str) -> None:
    path = MESSAGES if verb == "POST" else "/api/dialogs/d/tool-results/c9"
    headers = [] if media is None else [("Content-Type", media)]
    answer = ask(server, verb, path, server.token, headers, USER)
    assert (answer.status, answer.json["type"]) == (415, "urn:tract:InputError")
    agents = json.dumps(INITIALIZE).encode()
    assert ask(server, "POST", "/mcp", server.token, headers, agents).status in (400, 406, 415)


def test_a_cookie_is_not_a_token(server: Server) -> None:
    for name in ("token", "authorization", "session"):
        answer = ask(server, "GET", "/api", None, [("Cookie", f"{name}={server.token}")])
        assert answer.status == 401


# Tokens


def test_a_missing_an_unknown_and_a_revoked_token_look_the_same(
    server: Server, place: Path
) -> None:
    revoked = grant(place, "revoked", "admin")
    store = open_store(str(place))
    store.grants.revoke("revoked")
    store.close()
    for path in ("/metrics", "/api", "/api/dialogs/d/log", "/api/dialogs/x/log", "/mcp"):
        answers = [_opened(server, path, [], t) for t in (None, "", "x", new_token(), revoked)]
        schemes = ("Basic eDp5", f"bearer{server.token}", "Bearer")
        answers += [_opened(server, path, [("Authorization", s)], None) for s in schemes]
        assert {answer.status for answer in answers} == {401}
        assert len({answer.body for answer in answers}) == 1
        assert {answer.headers["www-authenticate"] for answer in answers} == {"Bearer"}


def test_a_token_that_is_revoked_works_no_longer(server: Server, place: Path) -> None:
    token = grant(place, "short", "read")
    assert ask(server, "GET", "/api", token).status == 200
    assert ask(server, "DELETE", "/api/grants/short", server.token).status == 204
    assert ask(server, "GET", "/api", token).status == 401


def test_a_token_in_a_query_counts_for_nothing(server: Server) -> None:
    query = f"?token={server.token}"
    for path in ("/api", "/api/dialogs", "/api/view/dialogs", "/metrics", "/api/events", "/mcp"):
        assert _opened(server, f"{path}{query}", [], None).status == 401
    assert ask(server, "POST", f"{MESSAGES}{query}", None, JSON, USER).status == 401


SAMPLES: dict[str, Any] = {"dialog": "d", "commit": "main", "id": "c", "name": "main", "batch": "b"}


def path_of(operation: Operation, dialog: str = "d") -> str:
    return operation.path.format(**{**SAMPLES, "dialog": dialog})


def query_of(operation: Operation) -> str:
    """The example of an operation that reads."""
    pairs = operation.example.items() if operation.is_read else ()
    return "?" + "&".join(f"{key}={value}" for key, value in pairs).replace(" ", "+")


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_each_scope_allows_what_it_says(server: Server, place: Path, operation: Operation) -> None:
    """A token with less than the scope is refused before its body is read."""
    ranks = ("read", "write", "admin")
    for scope in ranks[: ranks.index(operation.scope)]:
        token = _scoped(place, scope)
        answer = ask(server, operation.verb, path_of(operation), token)
        assert (answer.status, answer.json["type"]) == (403, "urn:tract:AccessError")


_tokens: dict[str, str] = {}


def _scoped(place: Path, name: str, *prefixes: str) -> str:
    if name not in _tokens:
        scope = name.partition(" ")[0]
        _tokens[name] = grant(place, name, scope, *prefixes)
    return _tokens[name]


@pytest.mark.parametrize(
    "operation",
    [o for o in OPERATIONS if "{dialog}" in o.path and o.name != "forget"],
    ids=lambda operation: operation.name,
)
def test_a_foreign_dialog_looks_like_an_unknown_one(
    server: Server, place: Path, operation: Operation
) -> None:
    token = _scoped(place, "admin of team", "team/")
    names = ["d", "unknown", "%FF", "x" * 1500, "%00", "..", "%2e%2e", "-x", "teal%2Fd", "team", ""]
    if operation.is_read and operation.name != "position":  # where a client begins
        names.append("team%2Funknown")
    for name in names:
        path = path_of(operation, name) + query_of(operation)
        answer = ask(server, operation.verb, path, token, JSON, b"{}")
        assert (answer.status, answer.headers["content-type"]) == (404, MEDIA), name
        detail = answer.json["detail"]
        assert answer.json == {**UNKNOWN, "detail": detail}, name
        assert detail.startswith("no dialog '")


@pytest.mark.parametrize("path", ["/api/backup", "/api/audit", "/api/grants", "/metrics"])
def test_what_concerns_all_dialogs_needs_a_token_for_all(
    server: Server, place: Path, path: str
) -> None:
    assert ask(server, "GET", path, _scoped(place, "admin of team", "team/")).status == 403
    assert ask(server, "GET", path, server.token).status == 200


def test_forgetting_looks_into_all_dialogs_and_needs_a_token_for_all(
    server: Server, place: Path
) -> None:
    token = _scoped(place, "admin of team", "team/")
    log = ask(server, "GET", "/api/dialogs/team%2Fd/log", token)
    body = {"commit": log.json["items"][-1]["commit_hash"], "dry_run": True}
    path = "/api/dialogs/team%2Fd/forget"
    assert send(server, "POST", path, body, token).status == 403
    assert send(server, "POST", path, body).status == 200


def test_an_address_of_other_machines_needs_tokens(tmp_path: Path) -> None:
    place = tmp_path / "t.db"
    with Tract.open(str(place)) as t:
        t.user("Hi")
    with pytest.raises(AccessError, match="no tokens exist"), serving(str(place), host="0.0.0.0"):
        pass
    token = grant(place, "one", "read")
    with serving(str(place), host="0.0.0.0", names=("127.0.0.1",)) as server:
        assert server.token is None
        port = server.socket.getsockname()[1]
        headers = [("Host", f"127.0.0.1:{port}")]
        assert ask(server, "GET", "/api", token, headers).status == 200
        assert ask(server, "GET", "/api", None, headers).status == 401
    store = open_store(str(place))
    store.grants.revoke("one")
    store.close()
    with pytest.raises(AccessError, match="no tokens exist"), serving(str(place), host="0.0.0.0"):
        pass


# A GET writes nothing


def test_a_get_writes_nothing(place: Path) -> None:
    """Each operation that reads, also with a token of the database, whose last use is stored later,
    and then by no request."""
    token = _scoped(place, "admin of all")
    watcher = open_store(str(place))

    def version() -> Any:
        """Another number after each commit of another connection."""
        return watcher.driver.run("PRAGMA data_version")

    with serving(str(place)) as server:
        ask(server, "GET", "/readyz", token)
        before = version()
        for operation in OPERATIONS:
            if operation.verb == "GET" and operation.media != "text/event-stream":
                for verb in ("GET", "HEAD"):
                    path = path_of(operation) + query_of(operation)
                    assert ask(server, verb, path, token).status in (200, 404, 422), path
                    assert version() == before, path
        for path in ("/", "/static/main.js", "/metrics", "/docs", "/openapi.json", "/healthz"):
            assert ask(server, "GET", path, token).status == 200
            assert version() == before, path
    [used] = [g.used_at for g in watcher.grants.all() if g.name == "admin of all"]
    assert used is not None
    watcher.close()


# Limits


def test_a_token_that_asks_too_often_has_to_wait(place: Path) -> None:
    other = _scoped(place, "read others")
    with serving(str(place), limits=Limits(requests_per_second=2)) as server:
        for path in ("/api", "/metrics", "/mcp"):
            answers = [_opened(server, path, []) for _ in range(6)]
            assert answers[-1].status == 429
            assert answers[-1].json["type"] == "urn:tract:BusyError"
            assert answers[-1].headers["retry-after"] == "1"
        assert ask(server, "GET", "/api", other).status == 200


def test_a_body_that_is_too_large_is_refused(place: Path) -> None:
    with serving(str(place), limits=Limits(body_bytes=1000)) as server:
        large = json.dumps({"text": "x" * 1000}).encode()
        answer = ask(server, "POST", MESSAGES, server.token, JSON, large)
        assert (answer.status, answer.json["type"]) == (413, "urn:tract:InputError")
        chunked = b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in (large[:600], large[600:]))
        headers = [*JSON, ("Transfer-Encoding", "chunked")]
        answer = ask(server, "POST", MESSAGES, server.token, headers, chunked + b"0\r\n\r\n")
        assert answer.status == 413
        answer = ask(server, "POST", MESSAGES, server.token, [*JSON, ("Content-Length", "9" * 19)])
        assert answer.status == 413
        assert ask(server, "POST", MESSAGES, server.token, JSON, USER).status == 200
        headers = [*JSON, ("Accept", "application/json, text/event-stream")]
        assert ask(server, "POST", "/mcp", server.token, headers, b" " * 2000).status == 413


def test_a_body_that_does_not_come_is_not_waited_for(place: Path) -> None:
    with serving(str(place), limits=Limits(seconds=0.2)) as server:
        headers = [*JSON, ("Content-Length", "100")]
        answer = ask(server, "POST", MESSAGES, server.token, headers)
        assert (answer.status, answer.json["type"]) == (408, "urn:tract:InputError")


# Writing once


def test_a_key_is_for_one_write(server: Server) -> None:
    path = "/api/dialogs/keys/messages/user"
    first = send(server, "POST", path, {"text": "one"}, key="k")
    again = send(server, "POST", path, {"text": "one"}, key="k")
    assert (again.status, again.body) == (200, first.body)
    other = send(server, "POST", path, {"text": "two"}, key="k")
    assert (other.status, other.json["type"]) == (422, "urn:tract:InputError")
    elsewhere = send(server, "POST", path.replace("keys", "keys2"), {"text": "one"}, key="k")
    assert elsewhere.status == 422
    assert (texts(server, "keys"), texts(server, "keys2")) == (["one"], [])
    for key in ("x" * 201, ""):
        answer = ask(server, "POST", path, server.token, [*JSON, ("Idempotency-Key", key)], USER)
        assert answer.status == 422


def test_a_key_is_for_one_token(server: Server, place: Path) -> None:
    path = "/api/dialogs/tokens/messages/user"
    send(server, "POST", path, {"text": "one"}, key="shared")
    other = send(server, "POST", path, {"text": "two"}, _scoped(place, "write"), key="shared")
    assert other.status == 200
    assert texts(server, "tokens") == ["two", "one"]


def test_the_same_request_at_the_same_time_is_done_once(server: Server) -> None:
    path = "/api/dialogs/crowd/messages/user"
    with ThreadPoolExecutor(8) as pool:
        answers = [
            pool.submit(send, server, "POST", path, {"text": "one"}, key="crowd") for _ in range(16)
        ]
        bodies = {(answer.result().status, answer.result().body) for answer in answers}
    assert len(bodies) == 1
    assert texts(server, "crowd") == ["one"]


def test_a_repeated_answer_has_the_headers_of_the_first(server: Server) -> None:
    """They say what is checked out and which results are new: a client whose connection broke
    needs them."""
    path = "/api/dialogs/moved/branches"
    send(server, "POST", "/api/dialogs/moved/messages/user", {"text": "one"})
    send(server, "POST", path, {"name": "try"})
    path = "/api/dialogs/moved/checkout"
    headers = [*JSON, ("Idempotency-Key", "c"), ("Tract-Branch", "main")]
    body = b'{"name": "try"}'
    first, again = (ask(server, "POST", path, server.token, headers, body) for _ in range(2))
    assert first.headers["tract-branch"] == "try"
    assert again.headers == first.headers


# The audit log


def test_every_write_is_in_the_audit_log(server: Server, place: Path) -> None:
    token = _scoped(place, "admin of all")
    for operation in OPERATIONS:
        if operation.verb == "GET" or operation.name in ("begin", "end", "abandon"):
            continue
        if operation.name in ("delete_dialog", "preview_change"):  # last of all; writes nothing
            continue
        before = _audit(server)
        example = dict(operation.example)
        answer = _write(server, operation, example, token)
        entries = _audit(server)[: len(_audit(server)) - len(before)]
        if answer.status >= 400:
            assert answer.status < 500, (operation.name, answer)
            assert entries == [], operation.name
        else:
            assert {(e["who"], e["action"]) for e in entries} == {("admin of all", operation.name)}
            if "{dialog}" in operation.path:
                assert entries[0]["dialog"] == "written"
            if answer.body and "commit_hash" in (fields := answer.json or {}):
                assert entries[0]["commit_hash"] == fields["commit_hash"]
    assert send(server, "DELETE", "/api/dialogs/written", {}, token).status == 204
    assert _audit(server)[0]["action"] == "delete_dialog"


def _audit(server: Server) -> list[dict[str, Any]]:
    answer = ask(server, "GET", "/api/audit?limit=1000", server.token)
    items: list[dict[str, Any]] = answer.json["items"]
    return items


def _write(server: Server, operation: Operation, example: dict[str, Any], token: str) -> Answer:
    path = path_of(operation, "written")
    if operation.name == "import":
        line = b'{"messages": [{"role": "user", "content": "Hi"}]}'
        media = [("Content-Type", "application/octet-stream")]
        return ask(server, "POST", f"{path}?name=a.json&dialog=read", token, media, line)
    if operation.name == "traces":
        return send(server, "POST", path, CONVENTIONS, token)
    return send(server, operation.verb, path, example, token)


def test_no_name_is_not_the_default_dialog(server: Server) -> None:
    send(server, "POST", "/api/dialogs/default/messages/user", {"text": "Hi"})
    assert ask(server, "GET", "/api/dialogs//log", server.token).status == 404
    answer = send(server, "POST", "/api/dialogs//messages/user", {"text": "Hi"})
    assert (answer.status, answer.json["type"]) == (422, "urn:tract:InputError")
