"""An export of ChatGPT: two conversations, one of them a tree."""

from __future__ import annotations

from tests.importing import as_json
from tract.model import Json

NODES = dict[str, Json]


def text(*parts: Json) -> Json:
    return {"content_type": "text", "parts": list(parts)}


def message(role: str, content: Json, name: Json = None, **more: Json) -> Json:
    author: Json = {"role": role, "name": name, "metadata": {}}
    fields = {"status": "finished_successfully", "weight": 1.0, "recipient": "all", "metadata": {}}
    return {"author": author, "content": content, "create_time": 1700000000.5, **fields, **more}


def chain(*nodes: tuple[str, Json], after: str | None = None) -> NODES:
    """Nodes that follow each other."""
    keys = [key for key, _ in nodes]
    return {
        key: {
            "id": key,
            "message": one,
            "parent": before,
            "children": [next_key] if next_key else [],
        }
        for (key, one), before, next_key in zip(
            nodes, [after, *keys], [*keys[1:], None], strict=False
        )
    }


CRASH = {"status": "failed_with_in_kernel_exception", "in_kernel_exception": {"name": "KeyError"}}
IMAGE = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1"}
NEW = {"content_type": "hologram", "beam": 1}
CALL = {"content_type": "code", "language": "python", "text": "print(1)"}
THOUGHTS = {"content_type": "thoughts", "thoughts": [{"summary": "s", "content": "hm"}]}
PROFILE = {
    "content_type": "user_editable_context",
    "user_profile": "",
    "user_instructions": "Brief.",
}
PAGE = {"content_type": "tether_quote", "url": "u", "text": "quoted"}
MODEL: Json = {"metadata": {"model_slug": "gpt-9"}}

MAIN = chain(
    ("root", None),
    ("sys", message("system", text(""))),
    ("profile", message("user", PROFILE, metadata={"is_user_system_message": True})),
    ("hidden", message("system", text("not for the model"), weight=0)),
    ("ask", message("user", {**text("Grüße\r", IMAGE), "content_type": "multimodal_text"})),
    ("thought", message("assistant", THOUGHTS)),
    ("recap", message("assistant", {"content_type": "reasoning_recap", "content": "for 5 s"})),
    ("run", message("assistant", CALL, recipient="python", **MODEL)),
    (
        "crash",
        message(
            "tool",
            {"content_type": "execution_output", "text": "KeyError: 1"},
            "python",
            metadata={"aggregate_result": CRASH},
        ),
    ),
    ("search", message("assistant", {**CALL, "text": '{"q": "x"}'}, recipient="web.run")),
    ("page", message("tool", PAGE, "web")),
    ("empty", message("tool", text(""), "web.run")),
    ("new", message("assistant", NEW)),
    ("done", message("assistant", text("Done."), create_time=None, **MODEL)),
)
OTHER = chain(
    ("again", message("assistant", text("Another answer."))),
    ("open", message("assistant", {**CALL, "text": "x"}, recipient="bio")),
    after="ask",
)
MAIN["ask"]["children"].append("again")
TREE: Json = {
    "title": "A tree",
    "create_time": 1700000000.0,
    "update_time": 1700000100.0,
    "mapping": {**MAIN, **OTHER},
    "moderation_results": [],
    "current_node": "done",
    "conversation_id": "c-1",
    "default_model_slug": "gpt-9",
}
PLAIN = {
    "title": "Plain",
    "create_time": 1700000200.0,
    "mapping": chain(
        ("r", None),
        ("a", message("user", text("Hi."))),
        ("b", message("assistant", text("Hello."))),
    ),
    "current_node": "b",
    "id": "c-2",
}
EXPORT = [TREE, PLAIN]
FILES = {
    "export": as_json(EXPORT),
    "wrapped": as_json({"conversations": EXPORT}),
    "one": as_json(TREE),
}
DOCUMENTS = [EXPORT, TREE]
