import asyncio
import json
from pathlib import Path

import litellm

from tract import GET_TOOL_RESULT_TOOL
from tract.integrations.litellm import TractLogger


def read_log(path: str) -> str:
    return Path(path).read_text()


SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ_LOG = {"type": "function", "function": {"name": "read_log", "parameters": SCHEMA}}

litellm.callbacks = [log := TractLogger("agents.db", results=500)]
functions = {"read_log": read_log, "get_tool_result": log.tract.as_tool()}
tools = [READ_LOG, GET_TOOL_RESULT_TOOL["openai"]]


async def run(prompt: str) -> str:
    messages = [{"role": "user", "content": prompt}]
    while True:
        response = await litellm.acompletion("openai/gpt-5.9", messages=messages, tools=tools)
        answer = response.choices[0].message
        messages.append(answer)
        if not answer.tool_calls:
            return answer.content
        for call in answer.tool_calls:
            text = functions[call.function.name](**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": text})


print(asyncio.run(run("Why do orders fail? Read orders.log.")))
