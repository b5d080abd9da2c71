"""Stack traces: the exception, the first frame of one's own code, the last frame."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from tract.content.preview.lines import (
    Finding,
    LineSpan,
    Scan,
    Spans,
    edges_and_errors,
    in_turn,
    line_at,
    lines_after,
    lines_before,
    text_at,
)

_NEAR = 8000
_CRASH = re.compile(
    r"\n(?:(?:  [+|] )?[ \t|]*Traceback \(most recent call last\):"
    r"|(?:panic|fatal error): [^\n]+\n(?=(?:[^\n]*\n){0,3}goroutine )"
    r"|thread '[^\n]{1,200}panicked at"
    r"|[^\n]{0,500}\n(?=[ \t]+at \S[^\n]{0,500}\n[ \t]+at \S)"
    r"|[^\n]{0,500}\n(?=\tat [\w.$]+\([^\n]{0,200}\)))"
)
_NAME = r"[A-Za-z_][\w.]{0,120}(?:: |(?=[ \t\r]*(?:\n|\Z)))"
_RAISED = {"\n": re.compile(rf"\n{_NAME}"), "\n  | ": re.compile(rf"\n  \| {_NAME}")}
_GROUPED = re.compile(rf"\n[ |]+ \| {_NAME}")
_GROUP = re.compile(r"\n[ |+]*(?:\w+\.)*(?:Base)?ExceptionGroup: [^\n]+")
_TRACEBACK = re.compile(r"\n([ \t|+]*)Traceback \(most recent call last\):")
_WORDS = ("Traceback (most", "goroutine ", "panicked at", "\tat ")
_INDENTED = re.compile(r"\n {1,8}at ")
_PYTHON_FRAME = re.compile(r'\n[ \t|]{0,8}File "([^"\n]{1,400})", line \d+')
_FRAME = re.compile(
    r"\n(?:[ \t]+at [\w.$<\[/(][^\n]{0,400}|\t(?!at )[^\s:]{1,300}\.go:\d+[^\n]{0,40}"
    r"|[ \t]+at \.?/[^\n]{1,300}\.rs:\d+[^\n]{0,20})"
)
_FOREIGN = re.compile(
    r"site-packages|dist-packages|node_modules|node:|<frozen|/lib/python\d|/usr/lib/|/usr/local/go/"
    r"|/go/pkg/mod/|/rustc/|/\.cargo/registry|java\.base|\bat (?:java|javax|jdk|sun|scala|kotlin"
    r"|org\.(?:springframework|apache|junit|gradle|hibernate))\.|<anonymous>\)?$|internal/"
)
_CAUSE = re.compile(r"\n(?:Caused by: |[ \t]*\[cause\]: )[^\n]+")
_PLACE = re.compile(r"\n(?:file:///)?(?:/|\.{1,2}/|[A-Za-z]:\\)[^\n:]{1,300}:\d+(?=\n)")


def find_crash(scan: Scan) -> Finding | None:
    """A trace at the end or at the beginning of the output."""
    length = len(scan.hay)
    last = scan.hay.rfind("\nTraceback (most recent call last):")
    if last >= 0 and length - last < 400_000:
        ended = _raised(scan, "\n", last + 30)
        if ended and length - ended.start() < _NEAR:
            starts = islice(_TRACEBACK.finditer(scan.hay, max(0, last - 60_000)), 50)
            return _python(scan, list(starts))
    for start, end in _ends(length):
        part = scan.hay[start:end]
        if any(map(part.__contains__, _WORDS)) or (" at " in part and _INDENTED.search(part)):
            matches = list(islice(_CRASH.finditer(scan.hay, start, end), 50))
            if matches:
                return _crash(scan, matches)
    return None


def _ends(length: int) -> list[LineSpan]:
    return [(0, length)] if length <= _NEAR else [(length - _NEAR, length), (0, _NEAR)]


def _crash(scan: Scan, matches: list[re.Match[str]]) -> Finding | None:
    last = matches[-1]
    if "Traceback (most" in last[0]:
        return _python(scan, matches)
    frames = _spans(scan, _FRAME, matches[0].start(), _NEAR)
    named = matches[0][0].startswith(("\npanic", "\nfatal", "\nthread"))
    if len(frames) < 2 and not named and not _CAUSE.search(scan.hay):
        return None
    span = _error_above(scan, line_at(scan.text, matches[0].start()))
    if matches[0][0].startswith("\nthread"):
        return _other(scan, span, frames, lines_after(scan.text, span, 1))
    return _other(scan, span, frames, [])


_NAMED = re.compile(r"(?:^|[\s.\"'])\w*(?:Error|Exception|panic|Throwable)\b")


def _error_above(scan: Scan, span: LineSpan) -> LineSpan:
    """The line with the exception: a message may have more lines before the frames begin."""
    is_cause = "[cause]" in text_at(scan.text, span) or "Caused by" in text_at(scan.text, span)
    above = lines_before(scan.text, span[0], 12 if is_cause else 6)
    for line in above if is_cause else (span, *above):
        if _NAMED.search(text_at(scan.text, line)) and " throw " not in text_at(scan.text, line):
            return line
    return span


def _spans(scan: Scan, pattern: re.Pattern[str], start: int, length: int) -> Spans:
    matches = islice(pattern.finditer(scan.hay, start, start + length), 200)
    return [line_at(scan.text, match.start()) for match in matches]


def _own(text: str, frames: Spans) -> Spans:
    some = frames if len(frames) <= 60 else frames[:40] + frames[-20:]
    return [span for span in some if not _FOREIGN.search(text_at(text, span))]


def _other(scan: Scan, error: LineSpan, frames: Spans, places: Spans) -> Finding:
    """The innermost frame comes first."""
    text = scan.text
    own = _own(text, frames)
    causes = _spans(scan, _CAUSE, max(0, error[0] - 10), _NEAR * 2)
    root = [span for span in causes[-1:] if span != error]
    around = _spans(scan, _PLACE, max(0, error[0] - 600), 600)
    under = [f for f in own if root and f[0] > root[0][0]]
    above = lines_before(text, own[0][0], 1) if own and text[own[0][0]] == "\t" else []
    below = " ".join(text_at(text, span) for span in places)
    summary = f"{text_at(text, error)} {below}".strip()
    summary += "".join(f"; {text_at(text, span)}" for span in root)
    ends = text.find("\n", error[1]) < 0 or _ends_text(scan, frames)
    lines = in_turn(
        *([error], root, places, own[:1], above, around, under[:1], causes, own[-1:], frames[-1:]),
        *(
            lines_after(text, error, 4),
            own[:6],
            [s for a in around[:1] for s in lines_after(text, a, 2)],
        ),
        edges_and_errors(scan),
    )
    return Finding("traceback", summary, lines, ends)


def _ends_text(scan: Scan, frames: Spans) -> bool:
    """Whether hardly anything follows the trace."""
    end = frames[-1][1] if frames else 0
    return scan.text.count("\n", end) < 12


def _raised(scan: Scan, prefix: str, start: int) -> re.Match[str] | None:
    """The line that names the exception: as far to the left as the trace itself."""
    return _RAISED.get(prefix, _RAISED["\n"]).search(scan.hay, start)


def _python(scan: Scan, matches: list[re.Match[str]]) -> Finding:
    text, last = scan.text, matches[-1]
    prefix = last[0][: last[0].index("Traceback")]
    group = _GROUP.search(scan.hay, max(0, last.start() - 20_000))
    if group and prefix != "\n":
        return _python_group(scan, matches, group)
    raised = _raised(scan, prefix, last.end())
    error = line_at(text, raised.start() if raised else last.start())
    frames = _spans(scan, _PYTHON_FRAME, last.start(), error[0] - last.start() + 1)
    own = _own(text, frames)
    ends = text.count("\n", error[1]) < 6
    items = in_turn(
        *([error], _frames(text, own[-1:]), _causes(scan, matches)),
        *(_frames(text, own[:1]), _frames(text, frames[-1:]), lines_after(text, error, 3)),
        *([line_at(text, last.start())], lines_before(text, error[0], 7), _frames(text, own[:8])),
        edges_and_errors(scan),
    )
    return Finding("traceback", text_at(text, error), items, ends)


def _causes(scan: Scan, matches: list[re.Match[str]]) -> Iterator[LineSpan]:
    """The exceptions that led to the last one, the first of them first: where it began."""
    for match in matches[:-1][:1] + matches[1:-1][-2:]:
        raised = _raised(scan, "\n", match.end())
        if raised:
            yield line_at(scan.text, raised.start())
            frames = _spans(scan, _PYTHON_FRAME, match.start(), raised.start() - match.start())
            yield from _frames(scan.text, _own(scan.text, frames)[-1:])


def _python_group(scan: Scan, matches: list[re.Match[str]], group: re.Match[str]) -> Finding:
    """Several exceptions at once."""
    text = scan.text
    error = line_at(text, group.start())
    inner = [m for m in matches if m.start() > group.start()] or matches[-1:]
    items: list[LineSpan] = [error]
    for match in inner[:8]:
        raised = _GROUPED.search(scan.hay, match.end())
        if raised:
            frames = _spans(scan, _PYTHON_FRAME, match.start(), raised.start() - match.start())
            items += (line_at(text, raised.start()), *_own(text, frames)[-1:])
    summary = text_at(text, error).strip(" |+")
    ends = text.count("\n", error[1]) < 60
    return Finding("traceback", summary, in_turn(items, edges_and_errors(scan)), ends)


def _frames(text: str, frames: Spans) -> Iterator[LineSpan]:
    """Each frame, with the line of code below it."""
    for span in frames:
        yield span
        yield from (s for s in lines_after(text, span, 1) if "  File " not in text_at(text, s))
