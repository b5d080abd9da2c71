"""A session of Continue."""

from __future__ import annotations

from typing import Any

from tests.importing import as_json


def item(role: str, content: Any, **more: Any) -> dict[str, Any]:
    """Keys of the message have an underscore before them."""
    message = {key[1:]: value for key, value in more.items() if key.startswith("_")}
    around = {key: value for key, value in more.items() if not key.startswith("_")}
    return {"message": {"role": role, "content": content, **message}, "contextItems": [], **around}


def call(call_id: str, name: str = "read_file") -> dict[str, Any]:
    function = {"name": name, "arguments": f'{{"of":  "{call_id}"}}'}
    return {"id": call_id, "type": "function", "function": function}


def state(call_id: str, status: str, *output: Any, name: str = "read_file") -> dict[str, Any]:
    fields = {"toolCallId": call_id, "toolCall": call(call_id, name), "status": status}
    return {**fields, "parsedArgs": {}, **({"output": list(output)} if output else {})}


def output(words: str, **more: Any) -> dict[str, Any]:
    return {"name": "Output", "description": "", "content": words, **more}


PROMPT = item(
    "user",
    [
        {"type": "text", "text": "What is here?\rÄ"},
        {"type": "imageUrl", "imageUrl": {"url": "data:image/png;base64,aGk="}},
    ],
    contextItems=[{"name": "a.py", "description": "a.py", "content": "print()", "id": {}}],
)
ANSWER = item(
    "assistant",
    "I look.",
    _toolCalls=[call("c1"), call("c2", "run_terminal_command"), call("c3"), call("c4")],
    _usage={"promptTokens": 9, "completionTokens": 2, "promptTokensDetails": {"cachedTokens": 5}},
    toolCallStates=[
        state("c1", "done", output("a"), output("b")),
        state(
            "c2", "errored", output("no such file", status="failed"), name="run_terminal_command"
        ),
        state("c3", "canceled"),
        state("c4", "done"),
    ],
    promptLogs=[{"modelTitle": "Model 9", "modelProvider": "p", "prompt": "", "completion": ""}],
)
HISTORY = [
    item("system", "Be brief."),
    PROMPT,
    item("thinking", "hm", _signature="sig"),
    ANSWER,
    item("tool", "a\n\nb", _toolCallId="c1"),
    item("assistant", "", _toolCalls=[call("c5")]),
    item("tool", "", _toolCallId="c5"),
    item("assistant", "Done.", reasoning={"active": False, "text": "I think"}),
    item("assistant", "They looked.", conversationSummary="They looked."),
    item("user", "And now?"),
    item("assistant", "", _toolCalls=[call("c6")], toolCallStates=[state("c6", "calling")]),
]
SESSION = {
    "sessionId": "s-1",
    "title": "Looking",
    "workspaceDirectory": "file:///home/me/my%20code",
    "chatModelTitle": "Model 9",
    "usage": {"totalCost": 0.5, "promptTokens": 9, "completionTokens": 2},
    "history": HISTORY,
}

FILES = {"session": as_json(SESSION)}
DOCUMENTS = [SESSION]
