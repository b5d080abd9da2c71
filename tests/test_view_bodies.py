"""Bodies: what blocks contain, as nodes."""

import base64

from tract.view.blocks import OtherBlock, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from tract.view.bodies import (
    argument_nodes,
    inline_picture,
    other_nodes,
    result_nodes,
    text_nodes,
    thinking_nodes,
    with_code,
)
from tract.view.edits import file_edits
from tract.view.nodes import Element, html

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 60).decode()


def test_fenced_code_is_apart() -> None:
    nodes = with_code("a\n```\nb\n```")
    assert nodes == [Element("div", ["a"], "prose"), Element("pre", ["```\nb\n```"])]


def test_an_answer_is_markdown_and_a_prompt_is_not() -> None:
    answer, prompt = (
        html(text_nodes(TextBlock(role=r, text="*a*"))) for r in ("assistant", "user")
    )
    assert "<em>a</em>" in answer
    assert "*a*" in prompt


def test_long_instructions_are_folded() -> None:
    [node] = text_nodes(TextBlock(role="system", text="Be brief.\n" * 50))
    assert isinstance(node, Element)
    assert html([node]).startswith('<details class="aside other"><summary>Be brief. (500 bytes)')


def test_what_a_program_wrote_is_folded_and_named() -> None:
    text = "hi\n<system-reminder>a\nb</system-reminder>"
    assert "<summary>[reminder]" in html(text_nodes(TextBlock(role="user", text=text)))


def test_thoughts_fold() -> None:
    assert "<details" in html(thinking_nodes(ThinkingBlock(text="hm"), is_open=False))
    assert "kept by the provider" in html(thinking_nodes(ThinkingBlock(), is_open=False))


def test_an_image_is_shown_and_other_data_is_folded() -> None:
    image = OtherBlock(kind="image", data={"source": {"data": PNG}})
    assert f'src="data:image/png;base64,{PNG}"' in html(other_nodes(image, inline_picture))
    other = OtherBlock(kind="odd", data={"a": 1})
    assert "<details" in html(other_nodes(other, inline_picture))


def test_an_edit_is_a_diff() -> None:
    arguments = {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2", "why": "y"}
    call = ToolUseBlock(tool_name="Edit", arguments=arguments)
    page = html(argument_nodes(call, file_edits("Edit", arguments)))
    assert "edit a.py (+1 -1)" in page
    assert '<span class="line removed">' in page
    assert "why:" in page


def test_commands_have_colours_where_wanted() -> None:
    call = ToolUseBlock(tool_name="Bash", arguments={"command": "if true; then ls; fi"})
    assert "code-keyword" not in html(argument_nodes(call, None))
    assert "code-keyword" in html(argument_nodes(call, None, has_colour=True))


def test_an_empty_result_says_so() -> None:
    page = html(result_nodes(ToolResultBlock(), inline_picture, has_head=False))
    assert page == '<p class="file">empty result</p>\n'
