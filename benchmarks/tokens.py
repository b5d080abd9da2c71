"""Token estimates: how fast, and how far from the exact count?

`python3 dev.py bench tokens [--json] [--quick]`, over the real outputs that `benchmarks/recordings`
holds and over generated base64, Chinese and emoji. Texts are cut where the estimate would sample.
The error of a text is its distance from the exact count of o200k, as a share of that count.
"""

from __future__ import annotations

import base64
import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from statistics import median, quantiles
from time import process_time

from benchmarks.measure import medians, ratio
from benchmarks.recordings import recordings
from benchmarks.report import Numbers, Result, report
from tract.tokens import token_counter

AT_LEAST = {"estimate_mb_s": 60}
AT_MOST = {"estimate_error": 0.04, "estimate_error_p95": 0.12, "estimate_vs_exact": 1.5}
SAMPLED = 65_536
ROUNDS = 5
CHINESE = "这个程序库保存对话的每一个版本，因此缩短上下文时不会丢失任何内容。"
EMOJI = "🚀 deployed, ✅ 12 tests passed, ⚠️ 1 warning, 🔥 no errors\n"

Texts = dict[str, list[str]]
"""By kind."""


def texts(quick: bool) -> Texts:
    by_kind: Texts = defaultdict(list)
    for recording in islice(recordings(), 12 if quick else None):
        by_kind[recording.recipe.kind].append(recording.text[:SAMPLED])
    noise = b"".join(hashlib.sha256(bytes([number])).digest() for number in range(256))
    by_kind["base64"] = [base64.b64encode(noise).decode()]
    by_kind["chinese"] = [CHINESE * 20]
    by_kind["emoji"] = [EMOJI * 20]
    return by_kind


def rates(all_texts: Sequence[str]) -> Iterator[Result]:
    """In seconds of the processor: what else runs on the machine is no part of them."""
    estimate, exact = (token_counter(name).count for name in ("estimate", "o200k"))
    rounds = [(seconds(estimate, all_texts), seconds(exact, all_texts)) for _ in range(ROUNDS)]
    ours, theirs = medians(rounds)
    size = sum(len(text.encode()) for text in all_texts) / 1e6
    behind: Numbers = {"mb": size, "exact_mb_s": size / theirs}
    yield Result("estimate_mb_s", size / ours, behind)
    yield Result("estimate_vs_exact", ratio(rounds), {})


def seconds(count: Callable[[str], int], all_texts: Sequence[str]) -> float:
    start = process_time()
    for text in all_texts:
        count(text)
    return process_time() - start


def errors(by_kind: Texts) -> Iterator[Result]:
    shares = {kind: [error(text) for text in texts] for kind, texts in by_kind.items()}
    every = [value for values in shares.values() for value in values]
    worst = sorted(shares, key=lambda kind: median(shares[kind]))[-3:]
    behind: Numbers = {f"error_{kind}": median(shares[kind]) for kind in worst}
    yield Result("estimate_error", median(every), behind)
    yield Result("estimate_error_p95", quantiles(every, n=20)[-1], {"texts": len(every)})


def error(text: str) -> float:
    exact = token_counter("o200k").count(text)
    return abs(token_counter("estimate").count(text) - exact) / exact


def run(quick: bool) -> Iterator[Result]:
    by_kind = texts(quick)
    yield from rates([text for texts in by_kind.values() for text in texts])
    yield from errors(by_kind)


if __name__ == "__main__":
    report("tokens", __doc__, AT_MOST, run, AT_LEAST)
