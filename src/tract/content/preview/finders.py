"""Which kind of text it is: the call decides first, then the text."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tract.content.preview import (
    builds,
    data,
    diffs,
    documents,
    histories,
    lints,
    listings,
    logs,
    numbered,
    searches,
    source,
    structure,
    tables,
    test_runs,
    traces,
)
from tract.content.preview.body import Body
from tract.content.preview.evidence import NONE, Evidence
from tract.content.preview.lines import Finding, Scan, scan_of

_Finder = Callable[[Scan], Finding | None]


def find_numbered(scan: Scan) -> Finding | None:
    """A file whose lines came with their numbers: what it is without them."""
    file = numbered.numbered_file(scan)
    if file is None:
        return None
    evidence = scan.evidence._replace(is_read=True)
    first = scan.number(file.start)
    return numbered.in_place(scan, file, _find(file.text, "text", evidence, None, first))


# A diff and a test run may hold anything else, and so may a numbered file.
_FINDERS: tuple[_Finder, ...] = (
    diffs.find_diff,
    test_runs.find_test,
    find_numbered,
    histories.find_history,
    builds.find_decisive,
    logs.find_log,
    traces.find_crash,
    searches.find_grep,
    documents.find_html,
    builds.find_build,
    listings.find_listing,
    tables.find_table,
    documents.find_manual,
    documents.find_settings,
    documents.find_markdown,
    source.find_source,
)
_FIRST_OF_BUILDS: tuple[_Finder, ...] = (
    diffs.find_diff,
    test_runs.find_test,
    traces.find_crash,
    histories.find_history,
    documents.find_html,
    lints.find_lint,
    builds.find_build,
)
_OF_BUILDS = tuple(dict.fromkeys((*_FIRST_OF_BUILDS, *_FINDERS)))
_OF_FILES: tuple[_Finder, ...] = (
    find_numbered,
    documents.find_html,
    documents.find_settings,
    documents.find_markdown,
    source.find_source,
    diffs.find_diff,
    logs.find_log,
    tables.find_table,
    traces.find_crash,
    test_runs.find_test,
    listings.find_listing,
    documents.find_manual,
)
_BY_PROGRAM: dict[str, _Finder] = {
    **dict.fromkeys(("ls", "find", "tree", "fd", "dir", "exa", "eza"), listings.find_listing),
    **dict.fromkeys(("wc", "du", "xargs"), listings.find_sizes),
    **dict.fromkeys(("grep", "rg", "ag", "ack", "egrep", "fgrep"), searches.find_grep),
    **dict.fromkeys(("psql", "mysql", "sqlite3", "ps", "df", "top", "free"), tables.find_table),
    **dict.fromkeys(("man", "help", "info"), documents.find_manual),
    "journalctl": logs.find_log,
    "diff": diffs.find_diff,
}
_BUILDERS = {
    *(
        "npm",
        "pip",
        "pip3",
        "make",
        "gcc",
        "tsc",
        "mypy",
        "ruff",
        "eslint",
        "javac",
        "clang",
        "g++",
    ),
    *(
        "cc",
        "cmake",
        "apt",
        "apt-get",
        "curl",
        "terraform",
        "kubectl",
        "docker",
        "cargo",
        "go",
        "mvn",
    ),
    *(
        "gradle",
        "gradlew",
        "mvnw",
        "yarn",
        "pnpm",
        "bun",
        "bundle",
        "gem",
        "composer",
        "dotnet",
        "uv",
    ),
    *("poetry", "flake8", "pylint", "pyright", "helm", "ansible-playbook", "wget", "rustc", "ld"),
    *(
        "python",
        "python3",
        "node",
        "ruby",
        "java",
        "bash",
        "sh",
        "git",
        "conda",
        "brew",
        "yum",
        "dnf",
    ),
}
_BY_KIND: dict[str, _Finder] = {
    "diff": diffs.find_diff,
    "test": test_runs.find_test,
    "history": histories.find_history,
    "log": logs.find_log,
    "traceback": traces.find_crash,
    "grep": searches.find_grep,
    "html": documents.find_html,
    "failure": builds.find_build,
    "shell": builds.find_build,
    "listing": listings.find_listing,
    "table": tables.find_table,
    "manual": documents.find_manual,
    "settings": documents.find_settings,
    "markdown": documents.find_markdown,
    "file": source.find_source,
}


def find_in(body: Body, evidence: Evidence) -> Finding:
    inner = body.text[body.start : body.stop].rstrip("\n")
    first = 1 + body.text.count("\n", 0, body.start)
    return _find(inner, body.form, evidence, body.code, first)


def find_text_kind(text: str) -> Finding:
    return _find(text, "text", NONE, None)


def find_kind(text: str, kind: str) -> Finding:
    """A text whose kind is known."""
    text = text.rstrip("\n")
    finding = structure.find(text, "text") if kind in ("json", "jsonl") else None
    finder = _BY_KIND.get(kind)
    if finding is None and finder:
        finding = finder(scan_of(text))
    return finding or find_text_kind(text)


def _find(text: str, form: str, evidence: Evidence, code: int | None, first: int = 1) -> Finding:
    finding = structure.find(text, form) or data.find_binary(text)
    if finding is not None:
        return finding
    scan = scan_of(text, evidence, code, first)
    finding = next(filter(None, (finder(scan) for finder in _finders(evidence))), None)
    return finding or documents.find_text(scan)


def _finders(evidence: Evidence) -> Iterator[_Finder]:
    if evidence.is_read:
        yield from _OF_FILES
        return
    hinted = _BY_PROGRAM.get(evidence.program)
    if evidence.words[-1:] == ["--help"]:
        hinted = documents.find_manual
    if hinted:
        yield hinted
    order = _OF_BUILDS if evidence.program in _BUILDERS else _FINDERS
    yield from (finder for finder in order if finder is not hinted)
