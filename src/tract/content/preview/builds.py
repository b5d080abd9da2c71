"""Failures of compilers, package managers and other commands: the error and what is around it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from tract.content.preview.lines import (
    Finding,
    LineSpan,
    Scan,
    Spans,
    both_ends,
    distinct,
    errors_in,
    head,
    lines_after,
    lines_before,
    tail,
    text_at,
)

# Lines that only a failing program prints, in the forms that many of them share.
_COLOR = r"(?:\x1b\[[\d;]{0,12}m){0,6}+"
_FAILS = re.compile(
    rf"\n{_COLOR}(?:[│|╷ ] ?)?{_COLOR} {{0,4}}{_COLOR}(?:"
    r"npm (?:ERR!|error)|(?:fatal )?error(?:\[\w+\])?: \S|ERROR(?:\[\w+\])?: \S|Error: \S"
    r"|fatal: \S|E: \S"
    r"|Error (?:response from|from server|in )|ERROR \[|\[ERROR\] |make(?:\[\d+\])?: \*\*\* "
    r"|(?:\S*/)?(?:ba|z|da)?sh: (?:line )?\d*:? ?\S+: |[\w./+-]{1,60}+: (?:error|fatal): "
    r"|[^\s:]{1,200}+:\d+(?::\d+)?: (?:fatal )?error\b|[^\s(]{1,200}+\(\d+,\d+\): error "
    r"|curl: \(\d+\) |wget: |FAILURE: |BUILD FAIL|\* What went wrong|Execution failed for"
    r"|[\w.-]{1,30}+: (?:cannot|command not found|No such|unrecognized|invalid|unable|illegal)"
    r"|[\w.-]{1,30}+: [^\n:]{1,200}+: (?:No such|Permission denied|not found|command not found"
    r"|Is a directory"
    r"|cannot|Operation not)|Cannot connect to |The connection to the server |Parse error"
    r"|(?:vet: )?(?:\./)?[\w./-]+\.go:\d+:\d+: \S"
    r"|Found [1-9]\d* errors?|[✖] [1-9]\d* problems?|[^\s:]{1,200}+:\d+:\d+: [A-Z]{1,4}\d{2,4} "
    r"|[A-Z]{1,4}\d{3,4} (?:\[\*\] )?\S[^\n]*\n +--> |\[\x1b\[[\d;]+mERROR"
    r"|CONFLICT |Automatic merge failed| ! \[rejected\]|Unhandled |Failed to |Could not "
    r"|CMake Error|collect2: |ld(?:\.\w+)?: |[✘✖] \[ERROR\]"
    r"|(?:\w+\.)*[A-Z]\w*(?:Error|Exception): )"
)
_SUMMED = re.compile(
    r"\n(?:Found \d+ errors?[^\n]*|✖ \d+ problems?[^\n]*|[^\n]{0,200}aborting due to[^\n]*"
    r"|[^\n]{0,200}could not compile[^\n]*|\d+ errors?(?: and \d+ warnings?)?(?: generated\.)?"
    r"|npm (?:error|ERR!) code \w+|make(?:\[\d+\])?: \*\*\* [^\n]*"
    r"|[^\n]{0,80}exited? with[^\n]*)[ \t\r]*(?=\n|\Z)"
)
_COUNTED = re.compile(
    r"\n(?:Found |✖ )?([1-9]\d* (?:errors?|problems?)(?: in \d+ files?)?)\b[^\n]*(?=\n|\Z)"
    r"|\n[^\n]{0,200} due to (\d+ previous errors?)"
)
_DULL = re.compile(
    r"npm (?:ERR!|error)(?: \d{3})?\s*$|npm (?:ERR!|error) (?:code|errno|syscall|path"
    r"|A complete log|Note|"
    r"tarball|For a full|command|Lifecycle|Exit status|cwd|workspace|location)"
    r"|complete log of this run"
    r"|for help visit|For more information|aborting due to|could not compile|\*\*\* \[|ELIFECYCLE"
    r"|re-run Maven|To see the full stack|\[Help 1\]|^\[ERROR\]\s*$|BUILD FAIL|collect2: |"
    r"did not complete successfully|exit(?:ed)? (?:code|status|with)|Compilation failed"
    r"|make: \*\*\*"
    r"|Traceback \(most recent|^Found \d|^# |metadata-generation-failed|subprocess-exited"
    r"|Failures?:\s*$|in file included",
    re.IGNORECASE,
)
_WARNED = re.compile(r"^[^:\n]{0,60}\b(?:warning|warn|note|hint|help)\b", re.IGNORECASE)
_PHASE = re.compile(
    r"\n(?:> [^\n]{1,200}|#\d+ \[[^\n]{1,200}|Step \d+/\d+ : [^\n]{1,200}|> Task :[^\n]{1,200}"
    r"|\[\d+/\d+\] [^\n]{1,200}|-- [^\n]{1,200}|   Compiling [^\n]{1,200}|\[INFO\] --- [^\n]{1,200}"
    r"|\+ [^\n]{1,200}|==> [^\n]{1,200}|Get:\d+ [^\n]{1,200}|Collecting [^\n]{1,200})"
)
_END = 3000


_DECISIVE = re.compile(
    r"\n# [\w./-]+(?: \[[^\n]+\])?\n(?:\./|vet: )[\w./-]+\.go:\d+:\d+: |"
    r"\n(?:npm (?:ERR!|error) |(?:\[ERROR\] )?BUILD FAIL|make(?:\[\d+\])?: \*\*\* |FAILURE: Build"
    r"|error: could not compile|\[ERROR\] [^\n]*\[Help 1\]|ERROR: failed to (?:solve|build)"
    r"|(?:\x1b\[[\d;]+m)*\[(?:\x1b\[[\d;]+m)*(?:INFO"
    r"|ERROR)(?:\x1b\[[\d;]*m)*\] (?:\x1b\[[\d;]+m)*BUILD FAILURE)"
)


_HINTS = (
    *(
        "rror",
        "RROR",
        "atal",
        "ail",
        "FAIL",
        "annot ",
        "ot found",
        "E: ",
        "***",
        "curl: ",
        "refused",
    ),
    *(
        "denied",
        "o such",
        "nvalid",
        "nrecognized",
        "ound ",
        "✖",
        ".go:",
        "ERR!",
        "nable",
        "onflict",
    ),
    *("CONFLICT", "rejected", "xception", "llegal", "peration not", "wrong", " --> ", "sh: "),
)


def find_decisive(scan: Scan) -> Finding | None:
    """A failure that cannot be anything else, even among lines that look like a log."""
    near = max(0, len(scan.hay) - _END)
    end = scan.hay[near:]
    likely = any(
        word in end
        for word in ("npm ", "BUILD", "***", "Build", "compile", "[Help 1]", "to ", ".go:")
    )
    return find_build(scan) if likely and _DECISIVE.search(end) else None


def find_build(scan: Scan) -> Finding | None:
    """The output of a command that failed: it says so near its end, or its exit code does."""
    near = max(0, len(scan.hay) - _END)
    end = scan.hay[near:]
    if not (scan.code or any(word in end for word in _HINTS)):
        return None
    last = {_line(scan, match.start()) for match in _FAILS.finditer(scan.hay, near)}
    if not (last or scan.code):
        return None
    text = scan.text
    errors = [s for s in errors_in(text) if len(text) - s[0] < 200_000]
    before = (span for span in errors if span[0] < near and _FAILS.match(scan.hay, span[0]))
    strong = sorted({*islice(before, 60), *last})
    if not (strong or (scan.code and errors)):
        return None
    blocks = distinct(text, sorted({*errors, *strong}))
    clear = _clear(text, distinct(text, strong)[:30]) + _clear(text, blocks[:30])
    clear = list(dict.fromkeys(clear)) or blocks
    if not strong and len(clear) > 6:  # of many complaints, the last one ended it
        clear.reverse()
    summary = _summary(scan, clear, strong)
    is_known = scan.lines > 1 or scan.evidence.command  # one line of words may be about an error
    return Finding("failure", summary, _items(scan, clear, blocks), bool(strong and is_known))


def _clear(text: str, spans: Spans) -> Spans:
    """The lines that say what is wrong."""
    lines = ((span, _COLORS.sub("", text_at(text, span))) for span in spans)
    return [span for span, line in lines if not (_DULL.search(line) or _WARNED.search(line))]


def _line(scan: Scan, start: int) -> LineSpan:
    end = scan.text.find("\n", start)
    return start, len(scan.text) if end < 0 else end


def _summary(scan: Scan, clear: Spans, strong: Spans) -> str:
    first = _plain(text_at(scan.text, clear[0]))
    total = _COUNTED.search(scan.hay, max(0, len(scan.hay) - _END))
    count = (total[1] or total[2]) if total else ""
    return f"failed, {count}: {first}" if count else f"failed: {first}"


_COLORS = re.compile(r"\x1b\[[\d;]*m")
_FRONT = re.compile(r"^[│|╷\s]+|^npm (?:ERR!|error) |^error: |^ERROR: |^Error: ")


def _plain(line: str) -> str:
    return _FRONT.sub("", _COLORS.sub("", line)).strip()


def _items(scan: Scan, clear: Spans, blocks: Spans) -> Iterator[LineSpan]:
    text = scan.text
    yield from clear[:1]
    yield from _block(text, clear[0], 1)
    yield from tail_of_make(scan)
    yield from _block(text, clear[0], 4, 1)
    yield from clear[1:3]
    summed = [
        _line(scan, m.start()) for m in _SUMMED.finditer(scan.hay, max(0, len(scan.hay) - _END))
    ]
    yield from summed[-2:]
    yield from _block(text, clear[0], 12, 1)
    for span in clear[1:3]:
        yield from _block(text, span, 6)
    yield from clear[3:8]
    yield from tail(text, 2)
    phases = [
        _line(scan, m.start())
        for m in _PHASE.finditer(scan.hay, max(0, clear[0][0] - 20_000), clear[0][0])
    ]
    yield from phases[-1:]
    yield from lines_before(text, clear[0][0], 2)
    yield from blocks[:20]
    yield from clear[8:30]
    yield from head(text, 2)
    yield from both_ends(text)


_MADE = re.compile(r"\nmake(?:\[\d+\])?: \*\*\* \[[^\n]*")


def tail_of_make(scan: Scan) -> Spans:
    """The target that was not made: the innermost make says it first."""
    match = _MADE.search(scan.hay, max(0, len(scan.hay) - _END))
    return [_line(scan, match.start())] if match else []


def _block(text: str, span: LineSpan, count: int, blanks: int = 0) -> Iterator[LineSpan]:
    """The lines that belong to an error: up to a blank one, or a second one."""
    for line in lines_after(text, span, count):
        if not text[line[0] : min(line[1], line[0] + 200)].strip(" \t\r│|"):
            blanks -= 1
            if blanks < 0:
                return
        yield line
