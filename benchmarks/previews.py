"""Previews of tool results: can a reader answer from them what the task asks?

`python3 dev.py bench previews [--json] [--quick]`, over real outputs of real programs, which
`benchmarks/recordings` holds with the calls that made them and the questions. A question counts as
answered if its pattern matches what the model is shown.

The same questions are put to two rivals. One shows as many characters from the start and the end.
The other shows 5 lines of each, numbered and cut at 1,000 characters, as deepagents does.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.measure import take_turns
from benchmarks.outputs import byte_size
from benchmarks.recordings import Recording, is_answered, recordings, text_of
from benchmarks.report import Numbers, Result, report
from tract import Tract
from tract.content.preview import gist
from tract.model import ToolCall

AT_LEAST = {
    "answered_400": 0.95,
    "answered_200": 0.85,
    "answered_100": 0.70,
    "ratio_to_head_tail_200": 1.5,
    "preview_mb_s": 40,
}
BUDGETS = (400, 200, 100)
CHARACTERS_PER_TOKEN = 4
ROUNDS = 5
SMALL = 10_000
"""Bytes. Below, a call costs more than its text."""

Show = Callable[[Recording, int], str]
"""What a model is shown of an output within a number of tokens."""

# Previews and their rivals


def preview(recording: Recording, tokens: int) -> str:
    result = _gist(recording, tokens)
    return f"{result.summary}\n{result.preview}"


def head_and_tail(recording: Recording, tokens: int) -> str:
    """As many characters as the preview may take with its summary, half from the start and half
    from the end, without broken lines."""
    size = tokens * CHARACTERS_PER_TOKEN + len(_gist(recording, tokens).summary) + 1
    text = recording.text
    if len(text) <= size:
        return text
    head = text[: size // 2]
    tail = text[-(size // 2) :]
    whole_head = head[: head.rfind("\n") + 1] or head
    whole_tail = tail[tail.find("\n") + 1 :] or tail
    return f"{whole_head}…\n{whole_tail}"


def five_lines(recording: Recording, _tokens: int) -> str:
    """5 lines from the start and 5 from the end, whatever the budget."""
    lines = recording.text.splitlines()
    if len(lines) <= 10:
        return _numbered(lines, 1)
    hidden = f"... [{len(lines) - 10} lines truncated] ..."
    first = _numbered(lines[:5], 1)
    return f"{first}\n{hidden}\n{_numbered(lines[-5:], len(lines) - 4)}"


def _numbered(lines: Sequence[str], start: int) -> str:
    return "\n".join(f"{place:6}\t{line[:1_000]}" for place, line in enumerate(lines, start))


def compiled(all_recordings: Sequence[Recording], tokens: int) -> dict[str, str]:
    """What `compile` sends of each, by name, with the reference around the preview."""
    with (
        tempfile.TemporaryDirectory(prefix="tract-bench-") as folder,
        Tract.open(Path(folder, "x.db"), durability="relaxed", tokens="chars/4") as t,
    ):
        t.configure_results(inline_tokens=tokens, preview_tokens=tokens)
        with t.batch():
            for recording in all_recordings:
                _append(t, recording)
        results = [message for message in t.compile().messages if message.role == "tool"]
    return {r.name: text_of(m.content) for r, m in zip(all_recordings, results, strict=True)}


def _append(t: Tract, recording: Recording) -> None:
    tool = recording.recipe.tool
    call = {"id": recording.name, "name": tool, "arguments": dict(recording.recipe.arguments)}
    t.assistant("", tool_calls=[call])
    t.tool_result(recording.name, tool, recording.content)


def _gist(recording: Recording, tokens: int) -> Any:
    recipe = recording.recipe
    call = ToolCall("call_1", recipe.tool, dict(recipe.arguments))
    return gist(recording.content, call=call, budget=tokens * CHARACTERS_PER_TOKEN)


# Answers


def answers(recording: Recording, show: Show, tokens: int) -> dict[str, bool]:
    text = show(recording, tokens)
    return {name: is_answered(pattern, text) for name, pattern in recording.questions.items()}


def answered(all_recordings: Iterable[Recording], show: Show, tokens: int) -> float:
    """The share of all questions."""
    found = [is_right for r in all_recordings for is_right in answers(r, show, tokens).values()]
    return mean(found) if found else 0.0


RIVALS: dict[str, Show] = {"head_tail": head_and_tail, "five_lines": five_lines}


def shares(all_recordings: Sequence[Recording], tokens: int) -> Result:
    behind: Numbers = {}
    for split in ("dev", "held"):
        part = [r for r in all_recordings if r.split == split]
        behind[f"answered_{tokens}_{split}"] = answered(part, preview, tokens)
    # What fits is shown in full by everyone.
    long = [r for r in all_recordings if len(r.text) > tokens * CHARACTERS_PER_TOKEN]
    behind[f"answered_{tokens}_long"] = answered(long, preview, tokens)
    for name, show in RIVALS.items():
        behind[f"{name}_{tokens}"] = answered(all_recordings, show, tokens)
    behind[f"head_tail_{tokens}_long"] = answered(long, head_and_tail, tokens)
    texts = compiled(all_recordings, tokens)
    behind[f"compiled_{tokens}"] = answered(all_recordings, lambda r, _: texts[r.name], tokens)
    return Result(f"answered_{tokens}", answered(all_recordings, preview, tokens), behind)


def rate(all_recordings: Sequence[Recording]) -> Result:
    """Bytes of all outputs ÷ the sum of the median times of each."""
    gc.disable()
    actions = [partial(_gist, r, BUDGETS[0]) for r in all_recordings]
    try:
        seconds = take_turns(actions, ROUNDS, turn=1)
    finally:
        gc.enable()
    sizes = [byte_size(r.content) for r in all_recordings]
    rates = {
        r.name: size / second / 1e6
        for r, size, second in zip(all_recordings, sizes, seconds, strict=True)
        if size > SMALL
    }
    slowest = sorted(rates, key=rates.__getitem__)[:3]
    behind = {f"slowest_{name}_mb_s": rates[name] for name in slowest}
    return Result("preview_mb_s", sum(sizes) / sum(seconds) / 1e6, behind)


def run(quick: bool) -> Iterator[Result]:
    kept = tuple(islice(recordings(), 12 if quick else None))
    results = {tokens: shares(kept, tokens) for tokens in BUDGETS}
    yield from results.values()
    ours, theirs = results[200].value, results[200].behind["head_tail_200"]
    counts: Numbers = {
        "outputs": len(kept),
        "kinds": len({r.recipe.kind for r in kept}),
        "questions": sum(len(r.questions) for r in kept),
    }
    yield Result("ratio_to_head_tail_200", ours / theirs, counts)
    yield rate(kept)


# To look closer


def kinds(as_json: bool) -> Iterator[str]:
    """A line for each kind of output."""
    by_kind: dict[str, list[Recording]] = defaultdict(list)
    for recording in recordings():
        by_kind[recording.recipe.kind].append(recording)
    columns = {f"{tokens}": partial(answered, show=preview, tokens=tokens) for tokens in BUDGETS}
    columns["head_tail_200"] = partial(answered, show=head_and_tail, tokens=200)
    rows = {
        kind: {name: round(column(part), 3) for name, column in columns.items()}
        for kind, part in sorted(by_kind.items())
    }
    if as_json:
        yield json.dumps(rows)
        return
    yield f"{'kind':<18} {'outputs':>7}" + "".join(f" {name:>13}" for name in columns)
    for kind, row in rows.items():
        values = "".join(f" {value:>13.2f}" for value in row.values())
        yield f"{kind:<18} {len(by_kind[kind]):>7}{values}"


def failures(split: str) -> Iterator[str]:
    """A line for each question that is not answered, with the budgets."""
    for recording in recordings():
        if recording.split != split:
            continue
        right = {tokens: answers(recording, preview, tokens) for tokens in BUDGETS}
        for question in recording.questions:
            missing = [str(tokens) for tokens in BUDGETS if not right[tokens][question]]
            if missing:
                yield f"{recording.name:<24} {'/'.join(missing):<12} {question}"


def details(name: str) -> Iterator[str]:
    """The previews of one output, and the questions that they do not answer."""
    recording = next((r for r in recordings() if r.name == name), None)
    if recording is None:
        raise SystemExit(f"no output is called {name!r}")
    recipe = recording.recipe
    yield f"{recipe.tool} {json.dumps(dict(recipe.arguments))}: {len(recording.text):,} characters"
    for tokens in BUDGETS:
        missing = [q for q, right in answers(recording, preview, tokens).items() if not right]
        yield f"\n--- {tokens} tokens; not answered: {', '.join(missing) or 'none'}"
        yield preview(recording, tokens)


def record(names: Sequence[str]) -> Iterator[str]:
    from benchmarks.recordings import recorder

    return recorder.record(names)


# Report


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--kinds", action="store_true", help="the share of each kind of output")
    parser.add_argument("--failures", action="store_true", help="the questions without an answer")
    parser.add_argument("--split", choices=("dev", "held"), default="dev", help="of --failures")
    parser.add_argument("--show", metavar="NAME", help="the previews of one output")
    parser.add_argument(
        "--record",
        nargs="*",
        metavar="NAME",
        help="run the programs anew: all, or these",
    )
    return parser


def _lines(args: argparse.Namespace) -> Iterator[str] | None:
    """What the options ask for instead of the measures."""
    if args.record is not None:
        return record(args.record)
    if args.kinds:
        return kinds("--json" in sys.argv)
    if args.failures:
        return failures(args.split)
    return details(args.show) if args.show else None


def main() -> None:
    options = _options()
    lines = _lines(options.parse_known_args()[0])
    if lines is None:
        report("previews", __doc__, {}, run, AT_LEAST, options)
        return
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    main()
