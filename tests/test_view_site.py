"""The list of many sessions: what it says, and that nothing in it reaches out."""

from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest
from hypothesis import given

from tests.strategies import texts
from tract.view.facts import Facts, Prompt
from tract.view.site import Session, index_page, page_name


class Reader(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str | None] = []
        self.tags: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value for name, value in attrs if name == "href"]

    def handle_data(self, data: str) -> None:
        self.text += data


def facts(word: str, day: int = 1, parent: str = "") -> Facts:
    return Facts(
        dialog=word,
        title=f"title {word}",
        started=datetime(2026, 1, day, tzinfo=UTC),
        models=(f"model {word}",),
        files=(f"src/{word}.py",),
        prompts=(Prompt(f"prompt {word}", 0),),
        parent=parent,
    )


def read(*sessions: Session) -> Reader:
    return Reader("".join(index_page("All", sessions, [("Sessions", "2")], ["1 file skipped"])))


def test_the_newest_session_is_first_and_everything_about_it_can_be_searched() -> None:
    old, new = (
        Session("a.html", "a.jsonl", [facts("a", 1)]),
        Session("b.html", "b", [facts("b", 2)]),
    )
    page = read(old, new)
    assert page.links == ["b.html", "a.html"]
    for words in ("title a", "model b", "src/b.py", "prompt a", "2026-01-02", "1 file skipped"):
        assert words in page.text


def test_a_session_leads_to_the_one_that_started_it() -> None:
    child = Session("child.html", "child", [facts("child", 2, parent="main")])
    assert read(Session("main.html", "main", [facts("main")]), child).links == [
        *("child.html", "main.html"),
        "main.html",
    ]


@given(texts)
def test_no_text_reaches_out_of_the_list(word: str) -> None:
    page = read(Session(page_name(word), word, [facts(word)]), Session("x.html", word, []))
    assert page.tags == read(Session("x.html", "x", [facts("x")])).tags
    assert "x.html" in page.links


@pytest.mark.parametrize(
    "source",
    ["a/b/session.jsonl", "../../etc/passwd", "a\x00b", "日本語", "con", "x" * 300, "", "\ud800"],
)
def test_names_of_pages_are_safe_and_stable(source: str) -> None:
    name = page_name(source)
    assert name == page_name(source)
    assert name.isascii()
    assert name.endswith(".html")
    assert len(name) < 80
    assert not set(name) & set("/\\\x00 ")
    assert not name.startswith((".", "-"))


def test_two_sources_never_share_a_page() -> None:
    assert page_name("a/s.jsonl") != page_name("b/s.jsonl")
