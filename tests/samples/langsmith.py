"""Runs of LangSmith: nested, flat, and of wrapped clients."""

from __future__ import annotations

from tests.importing import as_json, as_lines
from tract.model import Json


def dumped(kind: str, content: Json, **more: Json) -> Json:
    path = ["langchain", "schema", "messages", f"{kind}Message"]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": {"content": content, **more}}


def run(number: int, kind: str, inputs: Json, outputs: Json, **more: Json) -> Json:
    start = f"2025-12-04T14:51:0{number}.000000"
    ids = {"id": f"r{number}", "trace_id": "r0", "dotted_order": f"2025120414510{number}Zr{number}"}
    fields = {"run_type": kind, "name": "x", "start_time": start, "session_id": "project"}
    return {**ids, **fields, "inputs": inputs, "outputs": outputs, "error": None, **more}


TOOL = {"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}
SETTINGS: Json = {
    "metadata": {"thread_id": "th-1", "ls_model_name": "gpt-9"},
    "invocation_params": {"model": "gpt-9", "temperature": 0.5, "tools": [TOOL]},
}
ASK: Json = [dumped("System", "Be brief."), dumped("Human", "Grüße\r")]
CALLS = dumped(
    "AI",
    "",
    tool_calls=[
        {"id": "c1", "name": "ls", "args": {"path": "."}, "type": "tool_call"},
        {"id": "c2", "name": "cat", "args": {}, "type": "tool_call"},
    ],
    usage_metadata={"input_tokens": 20, "output_tokens": 3, "total_tokens": 23},
)
RESULTS: Json = [
    dumped("Tool", "no file", tool_call_id="c2", name="cat", status="error"),
    dumped("Tool", "", tool_call_id="c1", name="ls"),
]
DONE = dumped("AI", "Done.")


def generated(message: Json) -> Json:
    return {"generations": [[{"text": "", "message": message}]], "llm_output": {}}


FIRST = run(1, "llm", {"messages": [ASK]}, generated(CALLS), extra=SETTINGS)
TOOL_RUN = run(2, "tool", {"input": "{}"}, {"output": ""})
SECOND = run(3, "llm", {"messages": [[*ASK, CALLS, *RESULTS]]}, generated(DONE), extra=SETTINGS)
INNER = {**run(0, "chain", {}, {}), "id": "inner", "child_runs": [SECOND, TOOL_RUN, FIRST]}
NESTED = {**run(0, "chain", {"input": "x"}, {}), "child_runs": [TOOL_RUN, INNER]}
FLAT = [FIRST, TOOL_RUN, SECOND]

CHAT: Json = {
    "model": "gpt-9",
    "messages": [{"role": "user", "content": "Hi."}],
    "tools": [TOOL],
}
ANSWER: Json = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello."}}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 1},
}
WRAPPED = run(1, "llm", CHAT, ANSWER)

FILES = {
    "nested": as_json(NESTED),
    "flat": as_json(FLAT),
    "lines": as_lines(*FLAT),
    "wrapped": as_json([WRAPPED]),
}
DOCUMENTS = [NESTED, FLAT, [WRAPPED]]
