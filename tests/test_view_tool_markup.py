"""Calls and results on a page. tests/test_view_html.py looks at them on the page."""

from tract.view.blocks import ToolResultBlock, ToolUseBlock
from tract.view.tool_markup import Anchors, message_anchor, units


def test_a_call_and_its_results_are_one_unit() -> None:
    call, other = ToolUseBlock(pair=0), ToolUseBlock(pair=1)
    results = [ToolResultBlock(pair=0), ToolResultBlock(pair=0), ToolResultBlock(pair=None)]
    assert [(unit.block, unit.results) for unit in units([call, *results, other])] == [
        (call, results[:2]),
        (results[2], []),
        (other, []),
    ]


def test_addresses_are_of_commits_or_numbers() -> None:
    assert message_anchor(3, "0123456789abcdef") == "c0123456789"
    assert message_anchor(3, "") == "m3"
    assert message_anchor(3, "not a hash <b>") == "m3"
    assert message_anchor(3, "", scene=2) == "s2-m3"


def test_addresses_are_unique() -> None:
    anchors = Anchors()
    ids = [anchors.of_call(0), anchors.of_call(0), anchors.of_result(0), anchors.of_result(None)]
    anchors.begin()
    ids += [anchors.of_call(0), anchors.of_result(None)]
    assert len(set(ids)) == len(ids)
