"""Markdown on a page: rendered, complete, and harmless."""

import re
import sys
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import texts
from tract.view import markdown
from tract.view.markdown import markdown_nodes
from tract.view.nodes import html

TAGS = {
    *("p", "em", "strong", "s", "ul", "ol", "li", "blockquote", "hr", "br", "a", "code", "pre"),
    *("table", "thead", "tbody", "tr", "th", "td", "h3", "h4", "h5", "h6", "div", "span"),
}


def render(text):
    nodes = markdown_nodes(text)
    return None if nodes is None else html(nodes)


class Reader(HTMLParser):
    """All text, all tags, and where links lead. Everything that is opened is closed."""

    def __init__(self, text):
        super().__init__()
        self.text = ""
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert {name for name, _ in attrs} <= {"href", "rel", "title", "class", "start"}
        self.links += [value for name, value in attrs if name == "href"]
        if tag not in ("br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("# A *b*", "<h3>A <em>b</em></h3>\n"),
        ("one\ntwo", "<p>one<br>two</p>\n"),
        ("**b**, `c<d`", "<p><strong>b</strong>, <code>c&lt;d</code></p>\n"),
        ("3. x\n4. y", '<ol start="3"><li>x</li><li>y</li></ol>\n'),
        ("<b>x</b>", "<p>&lt;b&gt;x&lt;/b&gt;</p>\n"),
        ("[x]: http://y", "<p>[x]: http://y</p>\n"),
        (
            "[x](https://y.z)",
            '<p><a href="https://y.z" rel="noreferrer noopener" title="https://y.z">x</a></p>\n',
        ),
        ("[x](notes.md)", "<p>x (notes.md)</p>\n"),
        (
            "![cat](http://y/z.png)",
            '<p><span class="dim">[image cat (http://y/z.png)]</span></p>\n',
        ),
    ],
)
def test_markdown_is_rendered(text, page):
    assert render(text) == page


def test_code_keeps_its_lines_and_says_its_language():
    page = render("```python\nif a:\n    b()\n```") or ""
    reader = Reader(page)
    assert reader.text == "python\n\nif a:\n    b()\n"  # a browser drops the second line break
    assert '<span class="code-keyword">if</span>' in page


def test_what_would_be_lost_is_not_rendered():
    assert render("> " * 120 + "deep") is None
    assert render("x" * (markdown.LONGEST + 1)) is None


PIECES = [
    *(
        "[x](javascript:alert(1))",
        "[x](  JaVaScRiPt:y)",
        "<javascript:alert(1)>",
        "[x](data:text/html,y)",
    ),
    *(
        "[x](http://a\u202eb)",
        '[x](http://a"onmouseover="b)',
        "![x](http://a/b.png)",
        "<img src=x onerror=y>",
    ),
    *(
        "<script>",
        "</p></div>",
        "<!--",
        "&lt;script&gt;",
        "**",
        "*",
        "`",
        "```\n",
        "> ",
        "- ",
        "1. ",
        "# ",
    ),
    *(
        "|a|b|\n|-|-|\n|c|d|\n",
        "\n",
        "\n\n",
        "    ",
        "http://x.y",
        "word",
        "\x00",
        "\x1b[31m",
        "\ud800",
    ),
]


@given(st.lists(st.sampled_from(PIECES) | texts, max_size=10).map("".join))
def test_no_text_reaches_out_of_the_page(text):
    page = render(text)
    if page is None:
        return
    reader = Reader(page)
    assert reader.tags <= TAGS
    assert all(re.match(r"(https?|mailto):", link) for link in reader.links)
    letters = [char for char in text if char.isalpha()]
    assert len(letters) <= sum(char.isalpha() for char in reader.text + "".join(reader.links))


def test_without_the_extra_there_is_no_markdown(monkeypatch):
    monkeypatch.setitem(sys.modules, "markdown_it", None)
    markdown._parser.cache_clear()
    try:
        assert not markdown.is_available()
        assert render("# x") is None
    finally:
        monkeypatch.undo()
        markdown._parser.cache_clear()
