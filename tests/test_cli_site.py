"""`tract show FOLDER --html OUT/` from the outside."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli import content_of, invoke, ok
from tests.samples.conversation import CHAT, REQUEST


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two transcripts, a broken one, and something else."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logs" / "deep").mkdir(parents=True)
    Path("logs/request.json").write_text(json.dumps(REQUEST))
    Path("logs/deep/chat.json").write_text(json.dumps(CHAT))
    Path("logs/package.json").write_text('{"name": "x"}')
    return tmp_path


def links(page: Path) -> list[str]:
    return re.findall(r'<h2><a href="([^"]+)"', page.read_text("utf-8"))


def test_a_folder_becomes_a_list_and_a_page_for_each_session(here: Path) -> None:
    before = content_of(here / "logs")
    done = invoke("show", "logs", "--html", "out/")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "wrote 2 pages and out/index.html\n1 file of unknown format skipped\n" in done.stderr
    assert content_of(here / "logs") == before
    index = here / "out" / "index.html"
    assert "Why does it fail?" in index.read_text("utf-8")
    pages = links(index)
    assert sorted(path.name for path in (here / "out").iterdir()) == sorted([*pages, "index.html"])
    for page in pages:
        assert 'href="index.html">All sessions</a>' in (here / "out" / page).read_text("utf-8")
    first = content_of(here / "out")
    ok("show", "logs", "--html", "out")  # it exists, so it needs no slash
    assert content_of(here / "out") == first


def test_a_broken_file_costs_only_itself(here: Path) -> None:
    Path("logs/broken.jsonl").write_text(
        json.dumps({"type": "user", "uuid": "u", "message": 5}) + "\n"
    )
    Path("logs/cut.json").write_text(json.dumps({"messages": [{"role": "user"}, 7]})[:-3])
    done = invoke("show", "logs", "--html", "out/")
    assert "wrote " in done.stderr
    assert len(links(here / "out" / "index.html")) >= 2


def test_all_dialogs_of_a_database(here: Path) -> None:
    ok("init")
    ok("import", "logs")
    done = invoke("show", "--html", "out/")
    assert done.exit_code == 0
    assert len(links(here / "out" / "index.html")) == 2


def test_options_that_do_not_fit_are_refused(here: Path) -> None:
    for args in (
        ("show", "logs"),
        ("show", "logs", "--json"),
        ("show", "logs", "--html", "page.html"),
        ("show", "logs/request.json", "--html", "out/"),
    ):
        done = invoke(*args)
        assert done.exit_code in (2, 3), args
        assert done.stdout == ""
        assert "folder" in done.stderr
    empty = here / "empty"
    empty.mkdir()
    done = invoke("show", "empty", "--html", "out/")
    assert done.exit_code == 2
    assert "it contains no session that can be shown" in done.stderr
