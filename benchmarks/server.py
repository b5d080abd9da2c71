"""A server on this machine against its limits: the framework alone, the library in the process.

`python3 dev.py bench server [--json] [--quick]`. The server is one process, as `tract serve` starts
it; what it is compared with takes turns with it. The client runs in this process.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from random import Random
from statistics import median
from time import process_time
from typing import Any, NamedTuple

from benchmarks import hook_latency, loop_lag, mcp_latency
from benchmarks.load import Connection, Load, Requests, Server
from benchmarks.measure import Texts, medians, ratio, timed
from benchmarks.report import Result, report
from tests.postgres import Server as Postgres
from tract import Tract

AT_MOST = {
    "append_vs_local": 3,
    "p99_ms": 50,
    "mem_mb_100mb_result": 32,
    **loop_lag.AT_MOST,
    "hook_ms": hook_latency.AT_MOST["hook_ms"],
    "mcp_ms": mcp_latency.AT_MOST["mcp_ms"],
}
AT_LEAST = {"get_result_vs_floor": 0.5, "postgres_1_to_3": 1.5}

SIZE = 4_000
DIALOGS = 4
CLIENTS = 16
WRITERS = 32
LONG = 60.0
TEXTS = Texts(SIZE)
FLOOR = "from benchmarks.server import serve_floor; serve_floor()"


class Scale(NamedTuple):
    results: int
    """In each dialog."""
    rounds: int
    seconds: float
    """Of one round."""
    appends: int
    """Of one round."""
    large: int


FULL = Scale(results=250, rounds=8, seconds=1.0, appends=50, large=100_000_000)
QUICK = Scale(results=5, rounds=1, seconds=0.1, appends=5, large=1_000_000)


# What is served


def served(database: str) -> Server:
    """`tract serve`, without its limit of requests."""
    options = ["serve", "--port", "0", "--json", "--quiet", "--rate", "0"]
    return Server("-m", "tract", "--db", database, *options)


def serve_floor() -> None:
    """The same framework with the same settings. Its answers are constants."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route

    from tract.web.server import config_of, listen

    async def result(_: Any) -> Response:
        return Response(TEXTS[0].encode(), media_type="application/json")

    app = Starlette(routes=[Route("/api/dialogs/{dialog}/tool-results/{id}", result)])
    listening = listen("127.0.0.1", 0)
    print(json.dumps({"url": f"http://127.0.0.1:{listening.getsockname()[1]}", "token": "none"}))
    sys.stdout.flush()
    uvicorn.Server(config_of(app)).run([listening])


def filled(path: Path, scale: Scale) -> Path:
    for dialog in range(DIALOGS):
        with Tract.open(path, dialog=f"agent-{dialog}", durability="relaxed") as t, t.batch():
            for number in range(scale.results):
                t.tool_result(f"call_{number}", "Bash", TEXTS[dialog * scale.results + number])
    return path


def gets(server: Server, scale: Scale) -> list[Requests]:
    """For each client requests without end, for results in no order, made before they are sent."""
    some = _requests(server, scale)
    return [_chosen(some, Random(client)) for client in range(CLIENTS)]


def _chosen(some: list[bytes], rng: Random) -> Requests:
    while True:
        yield rng.choice(some)


def first_gets(server: Server, scale: Scale) -> list[Requests]:
    """The same for each result once."""
    some = _requests(server, scale)
    Random(0).shuffle(some)
    return [iter(some[client::CLIENTS]) for client in range(CLIENTS)]


def _requests(server: Server, scale: Scale) -> list[bytes]:
    return [
        server.request("GET", f"/api/dialogs/agent-{dialog}/tool-results/call_{number}")
        for dialog in range(DIALOGS)
        for number in range(scale.results)
    ]


def posts(server: Server, dialog: str, first: int = 0) -> Requests:
    """Requests that append a result, as the client of `tract` sends them."""
    for number in count(first):
        value = {"tool_call_id": f"call_{number}", "name": "Bash", "content": TEXTS[number]}
        path = f"/api/dialogs/{dialog}/tool-results"
        yield server.request("POST", path, value, key=f"{dialog}-{number}")


# Reading


def get_result(folder: Path, scale: Scale) -> Result:
    """Requests a second, ÷ those of the floor. Behind it, those for results that were not asked for
    before."""
    with ExitStack() as stack:
        database = str(filled(folder / "get.db", scale))
        servers = [stack.enter_context(s) for s in (served(database), Server("-c", FLOOR))]
        with Load(
            [(servers[0].port, requests) for requests in first_gets(servers[0], scale)]
        ) as load:
            first = _rate(load, LONG)
        loads = [
            stack.enter_context(Load([(s.port, requests) for requests in gets(s, scale)]))
            for s in servers
        ]
        for load in loads:
            load.run(scale.seconds)
        start, before = process_time(), [s.cpu_seconds() for s in servers]
        rounds = [[_rate(load, scale.seconds) for load in loads] for _ in range(scale.rounds)]
        busy = (process_time() - start) / (2 * scale.rounds * scale.seconds)
        computed = [s.cpu_seconds() - then for s, then in zip(servers, before, strict=True)]
    answers = [sum(rates) * scale.seconds for rates in zip(*rounds, strict=True)]
    ours, floors = medians(rounds)
    behind = {
        "get_per_s": ours,
        "get_floor_per_s": floors,
        "get_first_per_s": first,
        "get_cpu_us": computed[0] / answers[0] * 1e6,
        "get_floor_cpu_us": computed[1] / answers[1] * 1e6,
        "get_client_busy": busy,
    }
    return Result("get_result_vs_floor", ratio(rounds), behind)


def _rate(load: Load, seconds: float) -> float:
    took, answers = load.run(seconds)
    return sum(map(len, answers)) / took


def read_while_appending(folder: Path, scale: Scale) -> Result:
    with served(str(filled(folder / "p99.db", scale))) as server:
        clients = [(server.port, requests) for requests in gets(server, scale)]
        clients.append((server.port, posts(server, "agent-0", scale.results)))
        with Load(clients) as load:
            load.run(scale.seconds)
            seconds, answers = load.run(scale.seconds * scale.rounds)
    *reads, appends = answers
    times = sorted(time for read in reads for time in read)
    behind = {
        "get_p50_ms": median(times) * 1e3,
        "get_max_ms": times[-1] * 1e3,
        "get_while_appending_per_s": len(times) / seconds,
        "append_while_reading_per_s": len(appends) / seconds,
    }
    return Result("p99_ms", times[len(times) * 99 // 100] * 1e3, behind)


def large_result(folder: Path, scale: Scale) -> Result:
    """How many MB the server grows at most."""
    path = folder / "large.db"
    with Tract.open(path, dialog="agent-0", durability="relaxed") as t:
        t.tool_result("small", "Bash", "x")
        pieces = range(scale.large // SIZE)
        t.tool_result("large", "Bash", "\n".join(TEXTS[number] for number in pieces))
    with served(str(path)) as server, Connection(server.port) as connection:
        for view in ("full", "raw"):
            path_of = "/api/dialogs/agent-0/tool-results/{}?view=" + view
            connection.ask(server.request("GET", path_of.format("small")))
        before = server.start_peak()
        seconds, _ = timed(
            lambda: connection.ask(
                server.request("GET", "/api/dialogs/agent-0/tool-results/large?view=full")
            )
        )
        grown = server.peak() - before
    return Result(
        "mem_mb_100mb_result", grown / 1e6, {"large_mb_per_s": scale.large / 1e6 / seconds}
    )


# Writing


def append(folder: Path, scale: Scale) -> Result:
    """The time of a request that appends, ÷ that of a call in the process."""
    with (
        served(str(folder / "append.db")) as server,
        Connection(server.port) as connection,
        Tract.open(folder / "local.db") as t,
    ):
        requests, numbers = posts(server, "agent-0"), count()

        def remote() -> None:
            connection.ask(next(requests))

        def local() -> None:
            number = next(numbers)
            t.tool_result(f"call_{number}", "Bash", TEXTS[number])

        actions = (remote, local)
        rounds: list[list[float]] = []
        for number in range(scale.rounds + 2):
            times: list[list[float]] = [[], []]
            for _ in range(scale.appends):
                for action, seconds in zip(actions, times, strict=True):
                    seconds.append(timed(action)[0])
            if number >= min(2, scale.rounds):  # a log that still grows is slower to sync
                rounds.append([median(seconds) for seconds in times])
    ours, locals_ = medians(rounds)
    behind = {"append_ms": ours * 1e3, "append_local_ms": locals_ * 1e3}
    return Result("append_vs_local", ratio(rounds), behind)


def processes(scale: Scale) -> Result:
    """Appends a second of three servers on one PostgreSQL, ÷ those of one."""
    with Postgres() as postgres:
        postgres.start(fsync="on", synchronous_commit="on", full_page_writes="on")
        with ExitStack() as stack:
            servers = [stack.enter_context(served(postgres.url)) for _ in range(3)]
            loads = [
                stack.enter_context(_writers(some, len(some))) for some in (servers, servers[:1])
            ]
            for load in loads:
                load.run(scale.seconds)
            before = _cpu_times()
            rounds = [[_rate(load, scale.seconds) for load in loads] for _ in range(scale.rounds)]
            idle, total = (new - old for new, old in zip(_cpu_times(), before, strict=True))
    three, one = medians(rounds)
    cores = os.cpu_count() or 1
    behind = {
        "postgres_3_per_s": three,
        "postgres_1_per_s": one,
        "postgres_cores_busy": cores * (1 - idle / total),
        "postgres_cores": cores,
    }
    return Result("postgres_1_to_3", ratio(rounds), behind)


def _writers(servers: Sequence[Server], name: int) -> Load:
    chosen = [servers[number % len(servers)] for number in range(WRITERS)]
    return Load([(s.port, posts(s, f"writer-{name}-{number}")) for number, s in enumerate(chosen)])


def _cpu_times() -> tuple[int, int]:
    """How long all cores were idle, and the sum of all times. Linux only."""
    _, *times = Path("/proc/stat").read_text().partition("\n")[0].split()
    values = list(map(int, times[:8]))
    return values[3] + values[4], sum(values)


def mcp(folder: Path, scale: mcp_latency.Scale) -> Result:
    """With the numbers behind it named apart from those of the server."""
    result = mcp_latency.latency(folder, scale)
    return result._replace(behind={f"mcp_{key}": number for key, number in result.behind.items()})


def run(scale: Scale, is_quick: bool) -> Iterator[Result]:
    with tempfile.TemporaryDirectory(prefix="tract-bench-") as name:
        folder = Path(name)
        yield get_result(folder, scale)
        yield append(folder, scale)
        yield read_while_appending(folder, scale)
        yield large_result(folder, scale)
        yield loop_lag.loop_lag(folder, loop_lag.QUICK if is_quick else loop_lag.FULL)
        yield from hook_latency.run(hook_latency.QUICK if is_quick else hook_latency.FULL)
        yield mcp(folder, mcp_latency.QUICK if is_quick else mcp_latency.FULL)
    yield processes(scale)


def main() -> None:
    report(
        *("server", __doc__, AT_MOST),
        lambda quick: run(QUICK if quick else FULL, quick),
        AT_LEAST,
    )


if __name__ == "__main__":
    main()
