"""Turns: a result right after its call."""

from hypothesis import given
from hypothesis import strategies as st

from tract.view.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from tract.view.turns import with_results

pairs = st.none() | st.integers(0, 3)
blocks = st.lists(
    st.builds(ToolUseBlock, message=st.integers(0, 3), role=st.just("assistant"), pair=pairs)
    | st.builds(ToolResultBlock, message=st.integers(0, 9), role=st.just("tool"), pair=pairs)
    | st.builds(TextBlock, message=st.integers(0, 3), role=st.sampled_from(["user", "assistant"])),
    max_size=12,
)


@given(blocks)
def test_every_block_stays(given_blocks):
    arranged = list(with_results(given_blocks))
    assert sorted(map(repr, arranged)) == sorted(map(repr, given_blocks))


def test_parallel_results_go_to_their_calls():
    calls = [ToolUseBlock(message=1, role="assistant", pair=n) for n in (0, 1)]
    results = [ToolResultBlock(message=2 + n, role="tool", pair=n) for n in (1, 0)]
    last = TextBlock(message=9, role="assistant", text="done")
    assert list(with_results([*calls, *results, last])) == [
        *(calls[0], results[1]),
        *(calls[1], results[0]),
        last,
    ]


def test_only_one_turn_is_waited_for():
    seen = []

    def source():
        for number in range(10):
            seen.append(number)
            yield TextBlock(message=number, role="user")

    assert next(with_results(source())).message == 0
    assert seen == [0, 1]
