import json
from pathlib import Path

import litellm

from tract import GET_TOOL_RESULT_TOOL, Tract
from tract.integrations.litellm import TractLogger


def read_log(path: str) -> str:
    return Path(path).read_text()


SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ_LOG = {"type": "function", "function": {"name": "read_log", "parameters": SCHEMA}}

with Tract.open("agents.db") as t:
    litellm.callbacks = [log := TractLogger(t, results={"inline_tokens": 500})]
    functions = {"read_log": read_log, "get_tool_result": t.as_tool()}
    tools = [READ_LOG, GET_TOOL_RESULT_TOOL["openai"]]
    messages = [{"role": "user", "content": "Why do orders fail? Read orders.log."}]
    while True:
        shown = log.prepare(messages, tools)
        response = litellm.completion("openai/gpt-5.9", messages=shown, tools=tools)
        answer = response.choices[0].message
        messages.append(answer)
        if not answer.tool_calls:
            break
        for call in answer.tool_calls:
            text = functions[call.function.name](**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
    print(answer.content)
    log.flush()
