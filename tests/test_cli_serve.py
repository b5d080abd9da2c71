"""`tract serve`, as a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.cli import environment, run
from tract import Tract, connect


@contextmanager
def served(database: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process, and its first line."""
    command = [sys.executable, "-m", "tract", "--db", str(database), "serve", "--port", "0"]
    with subprocess.Popen(
        [*command, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline()
        finally:
            process.kill()


@pytest.mark.usefixtures("interruptible")
def test_one_line_says_where_it_is_and_it_goes_on(tmp_path: Path) -> None:
    with served(tmp_path / "t.db", "--json") as (process, line):
        facts = json.loads(line)
        with connect(facts["url"], token=facts["token"]) as t:
            t.user("x")
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert process.stderr is not None
        logged = [json.loads(entry) for entry in process.stderr.read().split("\n") if entry]
    assert {entry["route"] for entry in logged} >= {"hello", "user"}
    with Tract.open(tmp_path / "t.db") as local:
        assert [info.preview for info in local.log()] == ["x"]


def test_a_person_gets_a_link(tmp_path: Path) -> None:
    """The token is where a browser does not send it: in the fragment."""
    with served(tmp_path / "t.db", "--quiet") as (_, line):
        url, _, token = line.strip().partition("#token=")
        assert "/static/main.js" in httpx2.get(url).text
        with connect(url, token=token) as t:
            assert t.head is None


def test_pages_show_what_answers_cost_by_the_prices_of_a_file(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db", dialog="d") as t:
        usage = {"input_tokens": 1_000_000, "output_tokens": 0}
        t.assistant("Hi", usage=usage, generation_config={"model": "our-model"})
    prices = tmp_path / "prices.toml"
    prices.write_text("[our-model]\ninput = 3\noutput = 15\n")
    with served(tmp_path / "t.db", "--json", "--prices", str(prices)) as (_, line):
        facts = json.loads(line)
        headers = {"authorization": f"Bearer {facts['token']}"}
        view = httpx2.get(f"{facts['url']}/api/dialogs/d/view", headers=headers).json()
    assert view["rows"][0]["cost"] == "$3.00"


def test_what_cannot_be_served_is_said(tmp_path: Path) -> None:
    database = str(tmp_path / "t.db")
    done = run("--db", database, "serve", "--host", "0.0.0.0", "--port", "0")
    assert done.returncode == 5
    assert "tract token add" in done.stderr
    done = run("--db", "http://127.0.0.1:1", "serve")
    assert (done.returncode, "cannot serve another" in done.stderr) == (2, True)
