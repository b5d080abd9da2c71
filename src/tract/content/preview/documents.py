"""Pages, manuals, settings, and plain text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from tract.content.preview.lines import (
    SEARCHED,
    Finding,
    Item,
    LineSpan,
    Scan,
    both_ends,
    edges,
    edges_and_errors,
    errors_in,
    head,
    in_turn,
    line_around,
    lines_after,
    lines_at,
    lines_before,
    share,
    tail,
    text_at,
)
from tract.content.preview.source import CODE, DEFINITION, IMPORT, ending_share
from tract.content.text import counted, name_list, rows

_LISTED = 1000  # headings are counted so far
_END = r"[ \t\r]*+(?=\n|\Z)"


def find_text(scan: Scan) -> Finding:
    first = next((line for line in scan.text[:2000].split("\n") if line.strip()), "")
    last = scan.text[scan.text.rfind("\n") + 1 :]
    if re.fullmatch(r"\s*\d+ total", last):
        return Finding("text", f"{counted(scan.lines, 'line')}: {last}", edges_and_errors(scan))
    summary = first if scan.lines == 1 else f"{counted(scan.lines, 'line')}: {first}"
    outcomes = lines_at(scan, (m.start() for m in islice(_OUTCOME.finditer(scan.hay), 40)))
    if outcomes:
        summary = f"{counted(scan.lines, 'line')}: {text_at(scan.text, outcomes[-1])}"
    first_line = head(scan.text, 1)
    items = in_turn(outcomes[-1:], first_line, outcomes[:6], edges_and_errors(scan))
    return Finding("text", summary, items)


_OUTCOME = re.compile(
    r"\n(?:\d+ [a-z]+, \d+ [a-z]+ |Successfully |added \d|up to date|Finished |Total|[Tt]otal:"
    r"|Done[ .]|BUILD SUCC|Built |Created |Summary|Plan: \d| +# [^\n]{1,200} (?:will|must) be )"
)


# --- web pages -------------------------------------------------------------------------------

_MARKED_UP = re.compile(
    r"\s{0,200}<(?:!doctype html|\?xml |!--|(?:html|head|body|div|svg|rss|table|main)[\s>])",
    re.IGNORECASE,
)
_TITLE = re.compile(r"<(?:title|TITLE)(?: [^<>]{0,200})?>([^<]{0,300})</(?:title|TITLE)>")
_HTML_HEADING = re.compile(
    r"<[hH][1-6](?:\s[^<>]{0,400})?>[^<]{0,300}(?:<(?!/?[hH][1-6])[^<]{0,300}){0,8}</[hH][1-6]>"
)
_PARAGRAPH = re.compile(r"<(?:p|P)(?:\s[^<>]{0,400})?>\s*([^<\s][^<]{30,600})")
_DESCRIPTION = re.compile(r"<meta [^<>]{0,80}description[^<>]{0,500}>")
_TAG = re.compile(r"<[^<>]{0,400}>")


_XML = ("xml", "pom", "xsd", "csproj", "plist")
_ELEMENT = re.compile(r"<([A-Za-z][\w:.-]{0,60})")


_ATTRIBUTE = re.compile(r'\s(?!xmlns|xsi:)([\w:-]{1,40})="([^"<>]{0,80})"')


def _find_xml(scan: Scan) -> Finding:
    """The root, its children by line, and what is reported as a failure."""
    text = scan.text
    matches = list(islice(_ELEMENT.finditer(text, 0, SEARCHED), 20_000))
    counts = Counter(match[1] for match in matches)
    root = matches[0] if matches else None
    name = root[1] if root else ""
    about = name_list(f"{tag} ({count})" for tag, count in counts.items() if tag != name)
    attributes: list[str] = []
    if root:
        end = text.find(">", root.start(), root.start() + 4000)
        pairs = _ATTRIBUTE.finditer(text, root.start(), max(end, root.start()))
        attributes = [f"{m[1]}={m[2]}" for m in islice(pairs, 12)]
    facts = f", root {name}" + f" ({', '.join(attributes[:6])})" * bool(attributes)
    summary = f"XML, {counted(scan.lines, 'line')}{facts}" + f": {about}" * bool(about)
    return Finding("html", summary, _xml_items(scan, matches, counts, attributes))


def _xml_items(
    scan: Scan, matches: list[re.Match[str]], counts: Counter[str], attributes: list[str]
) -> Iterator[Item]:
    text = scan.text
    failures = [s for s in errors_in(text) if text[s[0] : s[1]].lstrip()[:1] == "<"]
    for span in failures[:2]:
        yield from (*lines_before(text, span[0], 1), span)
    yield from rows("attributes of the root", attributes, 6)
    children = _children(scan, matches)
    yield from rows("elements by line", (f"{number} {tag}" for number, tag, _ in children), 8)[:3]
    short = [span for _, tag, span in children if f"</{tag}>" in text_at(text, span)]
    yield from short[:8]
    rare = (match.start() for match in matches if counts[match[1]] <= 12)
    lines = list(dict.fromkeys(line_around(text, place) for place in islice(rare, 200)))
    named = [span for span in lines if "name" in text_at(text, span)]
    yield from in_turn(lines[:1], named[:8], lines, failures, head(text, 60))


def _children(scan: Scan, matches: list[re.Match[str]]) -> list[tuple[int, str, LineSpan]]:
    """The elements that are indented as the first one below the root is."""
    if len(matches) < 2:
        return []
    text = scan.text
    indent = text[text.rfind("\n", 0, matches[1].start()) + 1 : matches[1].start()]
    if indent.strip():
        return []
    starts = [m for m in matches[1:] if text.endswith(f"\n{indent}", 0, m.start())]
    spans = [(m, line_around(text, m.start())) for m in starts[:60]]
    numbers = scan.numbers(span[0] for _, span in spans)
    return [(numbers[span[0]], m[1], span) for m, span in spans]


def find_html(scan: Scan) -> Finding | None:
    text = scan.text
    if not (_MARKED_UP.match(text) or scan.evidence.extension in _XML):
        return None
    start = text.lstrip()[:5]
    if (start == "<?xml" or scan.evidence.extension in _XML) and "<html" not in text[:1000]:
        return _find_xml(scan)
    title = _TITLE.search(text, 0, SEARCHED)
    matches = list(islice(_HTML_HEADING.finditer(text, 0, SEARCHED), _LISTED))
    headings = (" ".join(_TAG.sub(" ", match[0]).split()) for match in matches[:12])
    summary = "HTML"
    summary += f", title: {title[1].strip()}" if title else f", {counted(scan.lines, 'line')}"
    if matches:
        summary += f"; {counted(len(matches), 'heading', _LISTED)}: {name_list(headings)}"
    spans = [match.span() for match in (title, *matches[:80]) if match and "\n" not in match[0]]
    described = _DESCRIPTION.search(text, 0, 20_000)
    words = [m.span(1) for m in islice(_PARAGRAPH.finditer(text, 0, SEARCHED), 20)]
    words = [span for span in words if "\n" not in text[slice(*span)].strip("\n")]
    about = [described.span()] if described and "\n" not in described[0] else []
    plain = dict.fromkeys(" ".join(_TAG.sub(" ", match[0]).split())[:80] for match in matches)
    index = rows("headings", filter(None, plain), 5)[:20]
    items = in_turn(
        *(spans[:1], about, words[:1], index[:4], words[1:3], spans[1:4], index[4:], words[3:]),
        *(spans[4:], head(text, 60)),
    )
    return Finding("html", summary, items)


# --- Markdown --------------------------------------------------------------------------------

_HEADING = re.compile(r"\n(#{1,6}) ([^\n]{1,200})")
_PROSE = re.compile(r"\*\*\S|\]\(|`\S|\n```|\n> |\n[-*] [A-Z`*\[]")


def find_markdown(scan: Scan) -> Finding | None:
    matches = list(islice(_HEADING.finditer(scan.hay), _LISTED))
    is_known = scan.evidence.extension in ("md", "markdown", "mdx")
    if not matches or scan.lines < 3 or (not is_known and _is_code(scan)):
        return None
    deep = sum(len(match[1]) > 1 for match in matches)
    if not is_known and deep < 2 and not _PROSE.search(scan.sample):
        return None
    matches = _outside_fences(scan, matches)
    names = [match[2].strip() for match in sorted(matches, key=lambda match: len(match[1]))]
    count = counted(len(matches), "heading", _LISTED)
    summary = f"Markdown, {counted(scan.lines, 'line')}, {count}: {name_list(names)}"
    spans = lines_at(scan, (match.start() for match in matches[:80]))
    top = lines_at(scan, (match.start() for match in matches if len(match[1]) <= 2))
    index = _heading_rows(scan, matches)
    lines = in_turn(
        head(scan.text, 1), index[:4], head(scan.text, 3), index[4:], top, spans, edges(scan)
    )
    return Finding("markdown", summary, lines)


def _heading_rows(scan: Scan, matches: list[re.Match[str]]) -> list[str]:
    """Lines and headings, a few to a row; the main ones first."""
    if len(matches) < 6:
        return []
    ordered = sorted(matches[:200], key=lambda match: len(match[1]) > 2)
    numbers = scan.numbers(match.start() for match in ordered)
    return rows(
        "headings by line",
        (f"{numbers[match.start()]} {match[2].strip(' #')[:60]}" for match in ordered),
        5,
    )


def _outside_fences(scan: Scan, matches: list[re.Match[str]]) -> list[re.Match[str]]:
    """A comment in a block of code is no heading."""
    fences = [match.start() for match in islice(re.finditer(r"\n(?:```|~~~)", scan.hay), 4000)]
    if not fences:
        return matches
    kept, index = [], 0
    for match in matches:
        while index < len(fences) and fences[index] < match.start():
            index += 1
        if index % 2 == 0:
            kept.append(match)
    return kept or matches


def _is_code(scan: Scan) -> bool:
    """Code with comments that look like headings. Code between fences does not count."""
    if scan.evidence.extension in CODE or scan.text[:2] == "#!":
        return True
    known = DEFINITION.findall(scan.sample) + IMPORT.findall(scan.sample)
    fenced = "\n```" in scan.sample
    many = len(known) >= 3 and len(known) * 2 > len(_HEADING.findall(scan.sample))
    return bool(known) and not fenced and (many or ending_share(scan) > 0.2)


# --- manuals ---------------------------------------------------------------------------------

_SECTION = re.compile(
    rf"\n([A-Z][A-Z0-9 ,()/-]{{2,60}}|[A-Z][\w -]{{2,40}}:|[a-z][\w ]{{2,40}} ?(?:options"
    rf"|commands|arguments):|[A-Z][a-z]{{3,20}}(?=\n[\n ])){_END}"
)
_OPTION = re.compile(r"\n {1,12}(-{1,2}[\w?][\w-]*)")
_PARAGRAPH_HEAD = re.compile(r"(?<=\n)\n(\S[^\n]{2,90})\n(?=[ \t]+\S)")
_USAGE_ALONE = re.compile(r"\n *(?:Usage|USAGE|SYNOPSIS):?[ \t]*(?=\n)(?:\n[ \t]*(?=\n))*")
_USAGE = re.compile(r"\n *(?:[Uu]sage|USAGE):? [^\n]+")


def find_manual(scan: Scan) -> Finding | None:
    options = len(_OPTION.findall(scan.sample))
    usage = _USAGE.search(scan.sample)
    is_man = re.match(r"\n?[A-Z][\w.-]*\(\d\w*\)[^\n]+\(\d\w*\)", scan.text) is not None
    asked = scan.evidence.program == "man" or any(
        word.startswith("--help") or word == "-h" for word in scan.evidence.words[1:]
    )
    likely = is_man or asked or (usage and options >= 3) or options > 8
    sections = list(islice(_SECTION.finditer(scan.hay), 200)) if likely else []
    is_manual = is_man or asked or (usage and options >= 3) or (len(sections) > 3 and options > 8)
    if asked and len(sections) < 2:
        sections = list(islice(_PARAGRAPH_HEAD.finditer(scan.hay), 200))
    if not is_manual or (not sections and options < 3):
        return None
    names = name_list(match[1].strip(" :") for match in sections)
    count = len(set(_OPTION.findall(scan.hay)))
    kind = "manual" if is_man else "help"
    facts = f"{counted(scan.lines, 'line')}, {counted(len(sections), 'section')}"
    summary = f"{kind}, {facts}, {counted(count, 'option')}: {names}"
    return Finding("manual", summary, _manual_lines(scan, sections, usage))


def _manual_lines(
    scan: Scan, sections: list[re.Match[str]], usage: re.Match[str] | None
) -> Iterator[Item]:
    text = scan.text
    starts = lines_at(scan, (match.start() for match in sections))
    if usage and usage.end() < len(scan.sample) and scan.hay.startswith(usage[0], usage.start()):
        yield from lines_at(scan, [usage.start()])
    alone = _USAGE_ALONE.search(scan.hay, 0, 3000)
    if alone:
        yield from lines_after(text, (0, alone.end() - 1), 2)
    for start in starts[:2]:
        yield from lines_after(text, start, 1)
    titles = [(m.start(), m[1].strip(" :")) for m in sections[:40]]
    names = {m[1]: m.start() for m in islice(_OPTION.finditer(scan.hay), 300)}
    numbers = scan.numbers([*(at for at, _ in titles), *names.values()])
    index = rows("sections by line", (f"{numbers[at]} {name}" for at, name in titles), 5)
    yield from index[:3] if len(titles) > 6 else starts
    yield from head(text, 2)
    longs = [pair for pair in names.items() if pair[0].startswith("--")] or list(names.items())
    options = rows("options by line", (f"{numbers[at]} {n}" for n, at in longs[:90]), 6)
    yield from options[:4]
    yield from starts[:30]
    yield from options[4:]
    starts_of_options = (match.start() for match in islice(_OPTION.finditer(scan.hay), 200))
    yield from lines_at(scan, starts_of_options)
    yield from in_turn(starts[30:], tail(text, 2), both_ends(text))


# --- settings --------------------------------------------------------------------------------

_INI = re.compile(r"\n(\[{1,2}[\w.\"' :@/-]{1,100}\]{1,2})[ \t\r]*(?=\n|\Z|#)")
_ASSIGNED = re.compile(r"\n[A-Za-z_][\w.\"'-]{0,80} ?= ?[^\n=]")
_YAML_KEY = re.compile(r"\n([A-Za-z_\"'][\w./\"' -]{0,80}):(?=[ \t\r]|\n|\Z)(?! *\{)")
_YAML = re.compile(r"\n *(?:- )?(?:[\w./\"'-]+: ?|- )")
_SETTINGS = {"yml", "yaml", "toml", "ini", "cfg", "conf", "env", "properties"}


def find_settings(scan: Scan) -> Finding | None:
    extension = scan.evidence.extension
    known = extension in _SETTINGS
    is_ini = known or _INI.search(scan.sample)
    sections = list(islice(_INI.finditer(scan.hay), 200)) if is_ini else []
    assigned = share(_ASSIGNED, scan)
    likely = assigned + share(_INI, scan) > 0.4 or (len(sections) > 2 and assigned > 0.15)
    # Nothing but texts in brackets is no settings: that is how programs set off what they say.
    if sections and (known or (likely and len(sections) < scan.lines)):
        return _settings(scan, "TOML or INI", "section", sections)
    is_likely = extension in ("yml", "yaml") or share(_YAML, scan) > 0.8
    keys = list(islice(_YAML_KEY.finditer(scan.hay), 200)) if is_likely else []
    is_yaml = extension in ("yml", "yaml") or (
        not known and len(keys) > 1 and share(_YAML, scan) > 0.85 and "\n  " in scan.sample
    )
    if keys and is_yaml:
        documents = _documents(scan)
        return documents or _settings(scan, "YAML", "key", keys)
    return None


_KIND = re.compile(r"\nkind: *([^\n]{1,80})")
_NAME = re.compile(r"\n  name: *([^\n]{1,80})|\nname: *([^\n]{1,80})")


def _documents(scan: Scan) -> Finding | None:
    """Several YAML documents in a file: what each is."""
    hay = scan.hay
    breaks = [m.start() for m in islice(re.finditer(r"\n---[ \t\r]*(?=\n)", hay), 500)]
    if not breaks:
        return None
    starts = [0, *breaks] if hay[: breaks[0]].strip() else breaks
    if len(starts) < 2:
        return None
    names, spans = [], []
    for start, end in zip(starts, [*starts[1:], len(hay)], strict=True):
        kind, name = _KIND.search(hay, start, end), _NAME.search(hay, start, end)
        words = [m[m.lastindex or 0].strip() for m in (kind, name) if m]
        spans += lines_at(scan, (m.start() for m in (kind, name) if m))
        number = scan.number(start + (hay.startswith("\n---", start) and start > 0))
        names.append(f"{number} {' '.join(words) or 'document'}")
    count = counted(len(starts), "document")
    about = name_list(name.partition(" ")[2] for name in names)
    items = in_turn(rows("documents by line", names, 6), spans[:40], both_ends(scan.text))
    return Finding("settings", f"YAML, {counted(scan.lines, 'line')}, {count}: {about}", items)


def _settings(scan: Scan, form: str, noun: str, matches: list[re.Match[str]]) -> Finding:
    names = name_list(match[1].strip("[]") for match in matches)
    count = counted(len(matches), f"top-level {noun}" if noun == "key" else noun)
    summary = f"{form}, {counted(scan.lines, 'line')}, {count}: {names}"
    spans = lines_at(scan, (match.start() for match in matches))
    errors = [] if scan.evidence.is_read else errors_in(scan.text)[:3]
    below = [line for span in spans[:30] for line in lines_after(scan.text, span, 2)]
    lines = in_turn(
        spans[:4],
        errors,
        spans[:40],
        head(scan.text, 3),
        below,
        tail(scan.text, 1),
        both_ends(scan.text),
    )
    return Finding("settings", summary, lines)
