"""Many frames of zstd that are decompressed at once: what comes out is what went in."""

from __future__ import annotations

import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tract.storage.codec import deflate
from tract.storage.frames import GROUP, LONGEST, content_size, groups, inflate_frames

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def noise(size: int, alphabet: int = 256, seed: int = 0) -> bytes:
    dice = random.Random(seed)
    return bytes(dice.randrange(alphabet) for _ in range(size))


CONTENTS = {
    "nothing": b"",
    "one byte": b"x",
    "a run": b"x" * 70_000,
    "zeros": bytes(LONGEST),
    "a short period": b"ab" * 900 + b"abcdefgh" * 300,
    "noise": noise(5_000),
    "letters": noise(LONGEST, 20),
    "lines": "".join(f"line {n} of {n * n} lines\n" for n in range(4_000)).encode(),
    "first noise, then a run": noise(50_000, 60) + b"\n" * 60_000,
}


def inflated(contents: list[bytes], frames: list[bytes]) -> list[bytes] | None:
    read = inflate_frames(frames, [len(content) for content in contents])
    return None if read is None else [bytes(content) for content in read]


def test_each_content_comes_back_whatever_is_before_it() -> None:
    """In every order of two: a frame leaves offsets and tables behind."""
    pairs = [[first, second] for first in CONTENTS.values() for second in CONTENTS.values()]
    for contents in pairs:
        assert inflated(contents, list(map(deflate, contents))) == contents


pieces = st.sampled_from([b"a", b"ab", b"\n", b"0123456789", noise(40), b" of the ", b"\\n\\n"])
texts = st.lists(pieces, max_size=60).map(b"".join)


@given(st.lists(st.binary(max_size=300) | texts, max_size=30), st.integers(-5, 12))
def test_any_contents_come_back(contents: list[bytes], level: int) -> None:
    assert inflated(contents, [zstd.compress(c, level) for c in contents]) == contents


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_frames_with_other_headers_are_read(content: bytes) -> None:
    parameter = zstd.CompressionParameter
    headers: list[dict[int, int]] = [
        {parameter.checksum_flag: 1},
        {parameter.content_size_flag: 0},
        {parameter.window_log: 10, parameter.content_size_flag: 0},
    ]
    for options in headers:
        frame = zstd.compress(content, options=options)
        assert inflated([content, b"after", content], [frame, deflate(b"after"), frame]) == [
            content,
            b"after",
            content,
        ]


@pytest.mark.parametrize(
    "frame",
    [b"", b"x", b"not a frame at all", deflate(b"y" * 999)[:-1], deflate(b"y" * 998), None],
    ids=["empty", "short", "other", "cut off", "another size", "null"],
)
def test_what_is_no_such_frame_is_reported(frame: bytes) -> None:
    good = deflate(b"x" * 999)
    assert inflate_frames([good, frame, good], [999, 999, 999]) is None


def test_a_flipped_bit_never_hangs_or_raises() -> None:
    contents = [CONTENTS["lines"], CONTENTS["a short period"]]
    frames, dice = list(map(deflate, contents)), random.Random(7)
    for _ in range(300):
        damaged = bytearray(frames[0])
        damaged[dice.randrange(len(damaged))] ^= 1 << dice.randrange(8)
        inflated(contents, [bytes(damaged), frames[1]])


def test_no_group_is_much_larger_than_it_should_be() -> None:
    sizes = [1_000] * 1_000 + [LONGEST] * 9
    borders = list(groups(sizes))
    assert [size for start, end in borders for size in sizes[start:end]] == sizes
    assert max(sum(sizes[start:end]) for start, end in borders) <= GROUP + LONGEST


@given(st.binary(max_size=70_000) | texts)
def test_a_frame_says_how_long_its_content_is(content: bytes) -> None:
    assert content_size(deflate(content)) == len(content)


@pytest.mark.parametrize("data", [b"", b"x" * 40, deflate(b"x" * 900)[:4]])
def test_what_is_no_frame_says_nothing(data: bytes) -> None:
    assert content_size(data) is None
