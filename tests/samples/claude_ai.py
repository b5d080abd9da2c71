"""An export of Claude.ai: one conversation as a list, one as a tree."""

from __future__ import annotations

from tests.importing import as_json
from tract.importers.claude_ai import FIRST
from tract.model import Json

START, END = "2025-03-01T10:00:00.000000Z", "2025-03-01T11:00:00.000000Z"
WHEN = {"start_timestamp": START, "stop_timestamp": END}


def text(words: str) -> Json:
    return {"type": "text", "text": words, "citations": [], **WHEN}


def call(name: str, call_id: str | None = None, **arguments: Json) -> Json:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments, **WHEN}


def result(name: str, content: Json, call_id: str | None = None, **more: Json) -> Json:
    fields = {"tool_use_id": call_id, "name": name, "content": content, "is_error": False}
    return {"type": "tool_result", **fields, **more}


def message(key: str, sender: str, *content: Json, **more: Json) -> Json:
    fields = {"text": "not supported", "attachments": [], "files": [], "created_at": START}
    return {"uuid": key, "sender": sender, **fields, "content": list(content), **more}


NOTES = {"file_name": "notes.txt", "file_size": 3, "extracted_content": "a\nb"}
FLAT: Json = {
    "uuid": "u-1",
    "name": "Tools",
    "created_at": START,
    "updated_at": END,
    "account": {"uuid": "me"},
    "chat_messages": [
        message(
            "m1", "human", text("Grüße\r"), attachments=[NOTES], files=[{"file_name": "a.png"}]
        ),
        message(
            "m2",
            "assistant",
            {"type": "thinking", "thinking": "hm", "summaries": [], **WHEN},
            text("I look."),
            {"type": "token_budget"},
            call("search", q="x"),
            call("read", path="b"),
            result("read", [text("b")]),
            result("search", "", is_error=True),
            text("Done."),
        ),
        message("m3", "human", text=" Thanks. "),
        message("m4", "assistant", call("search", "toolu_9", q="y")),
    ],
}
TREE: Json = {
    "uuid": "u-2",
    "name": "",
    "created_at": START,
    "updated_at": END,
    "current_leaf_message_uuid": "b",
    "chat_messages": [
        message("a", "human", text("Hi."), parent_message_uuid=FIRST),
        message("b", "assistant", text("Hello."), parent_message_uuid="a"),
        message("c", "human", text("Hi!"), parent_message_uuid=FIRST),
        message("d", "assistant", text("Ahoy."), parent_message_uuid="c"),
    ],
}
EXPORT = [FLAT, TREE]
FILES = {"export": as_json(EXPORT), "one": as_json(FLAT)}
DOCUMENTS = [EXPORT, FLAT]
