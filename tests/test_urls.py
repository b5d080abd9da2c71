"""The URLs of databases, and links to the page of a server."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli import ok
from tract import AsyncTract, InputError, Tract
from tract.urls import page_link, without_scheme


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///x.db", "x.db"),
        ("sqlite:///a/b c.db", "a/b c.db"),
        ("sqlite:////abs/x.db", "/abs/x.db"),
        ("sqlite+pysqlite:///x.db", "x.db"),
        ("sqlite://", ":memory:"),
        ("sqlite:///:memory:", ":memory:"),
        ("x.db", "x.db"),
        ("sqlite.db", "sqlite.db"),
        ("file:x.db?mode=ro", "file:x.db?mode=ro"),
        ("postgresql://u@h/d", "postgresql://u@h/d"),
    ],
)
def test_a_sqlite_url_is_a_path(url: str, path: str) -> None:
    assert without_scheme(url) == path


@pytest.mark.parametrize("url", ["sqlite:x.db", "sqlite://host/x.db", "sqlite:///x.db?mode=ro"])
def test_another_sqlite_url_is_an_error(url: str) -> None:
    with pytest.raises(InputError, match=r"sqlite:"):
        Tract.open(url)


def test_a_sqlite_url_opens_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Tract.open("sqlite:///x.db") as tract:
        tract.user("Hello")
    with Tract.open(f"sqlite:///{tmp_path}/x.db", create=False) as tract:
        assert tract.head
    assert [path.name for path in tmp_path.glob("*.db")] == ["x.db"]
    assert "Hello" in ok("--db", "sqlite:///x.db", "log")
    assert "Hello" in ok("log", "--db", f"sqlite:///{tmp_path}/x.db")
    assert "Hello" in ok("log", TRACT_DB="sqlite:///x.db")


@pytest.mark.parametrize(
    ("place", "call"),
    [
        ("x.db", 'Tract.open("x.db")'),
        (Path("x.db"), 'Tract.open("x.db")'),
        ("https://secret@h/", "tract.connect(url)"),
        ("postgresql://u:secret@h/d", "Tract.open(url)"),
    ],
)
def test_a_path_is_not_a_session(place: str | Path, call: str) -> None:
    for kind, prefix in ((Tract, ""), (AsyncTract, "Async")):
        wanted = call if call.startswith("tract.") else prefix + call
        with pytest.raises(InputError) as caught:
            kind(place)  # type: ignore[arg-type]
        assert str(caught.value) == f"to open a database, use {wanted}"


# Links


@pytest.mark.parametrize(
    ("base", "fields", "link"),
    [
        ("http://h:1", {}, "http://h:1/"),
        ("http://h:1/", {"token": "t"}, "http://h:1/#token=t"),
        (
            "https://h/a",
            {"dialog": "a b", "at": None, "token": "t"},
            "https://h/a/#dialog=a%20b&token=t",
        ),
        (
            "http://h",
            {"dialog": "a/b?c#d&e=%\ud800"},
            "http://h/#dialog=a%2Fb%3Fc%23d%26e%3D%25%ED%A0%80",
        ),
        ("http://h", {"dialog": ""}, "http://h/#dialog="),
    ],
)
def test_a_link_has_its_place_in_the_fragment(
    base: str, fields: dict[str, str | None], link: str
) -> None:
    assert page_link(base, **fields) == link


ANY_TEXT = st.text(st.characters())  # with surrogates


@given(ANY_TEXT, ANY_TEXT)
def test_a_link_has_any_text(dialog: str, token: str) -> None:
    link = page_link("http://h:1", dialog=dialog, token=token)
    assert link.isascii()
    assert link.isprintable()
    assert " " not in link
    parts = urlsplit(link)
    assert (parts.path, parts.query) == ("/", "")
    pairs = [pair.split("=") for pair in parts.fragment.split("&")]
    fields = {name: unquote_to_bytes(value) for name, value in pairs}
    texts = {name: value.decode("utf-8", "surrogatepass") for name, value in fields.items()}
    assert texts == {"dialog": dialog, "token": token}
