"""Texts that must not reach a terminal as they are."""

from __future__ import annotations

CONTROLS = [*map(chr, range(0x20)), "\x7f", *map(chr, range(0x80, 0xA0))]
MARKS = [
    *map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C)),
    *map(chr, (0x200B, 0x2060, 0x2061, 0x2064, 0x00AD, 0xFEFF, 0x180E, 0xFFF9, 0xFFFB)),
    *map(chr, (0x2028, 0x2029, 0xE0001, 0xE0020, 0xE0041, 0xE007F, 0xE000, 0xF0000, 0xFFFF)),
    *("\ud800", "\udbff", "\udc00", "\udfff", "\ud800x\udc00"),
]
SEQUENCES = [
    *("\x1b[31mred\x1b[0m", "\x1b[2J\x1b[H", "\x1b[?1049h", "\x1b[6n", "\x1b]0;title\x07"),
    *("\x1b]52;c;aGk=\x07", "\x1b]52;c;aGk=\x1b\\", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\"),
    *("\x1bP$q\x1b\\", "\x1b_Gf=100;\x1b\\", "\x1b^x\x1b\\", "\x9b31m", "\x9d52;c;aGk=\x9c"),
    *("\x90q\x9c", "over\rwritten", "back\b\b\b\b", "a\x0bb\x0cc\x1cd\x1de\x1ef\x85g"),
    *("user\u202etxt.exe", "\u2066a\u2069", "a\u2028b\u2029c", "\r\n\r\n", "\x0e\x0f\x05"),
]
MARKUP = [
    *("[bold]x[/bold]", "[/]", "[link=http://x]y[/link]", "[@click=app.quit]x[/]", "[on red", "]"),
    *("<script>alert(1)</script>", "\\[", "[[", "[tool_result] Read x (1 bytes)", "{x!r}", "%s"),
]
ALONE = [*CONTROLS, *MARKS, *SEQUENCES, *MARKUP]
PAYLOADS = [payload for one in ALONE for payload in (one, f"a{one}b", f"{one} {one}\n{one}")]
PAYLOADS += [f"{one}{two}" for one in SEQUENCES for two in (*MARKS, *SEQUENCES)]
