"""An agent with the Anthropic SDK that reads files. Its work is recorded in agent.db."""

import sys
from pathlib import Path

import anthropic

from tract import Tract, record_client

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = [{"name": "read_file", "description": "Read a file.", "input_schema": SCHEMA}]


def run(client, functions, prompt):
    messages = [{"role": "user", "content": prompt}]
    while True:
        answer = client.messages.create(
            model="claude-sonnet-5", max_tokens=4096, tools=TOOLS, messages=messages
        )
        messages.append({"role": "assistant", "content": answer.content})
        results = []
        for call in [block for block in answer.content if block.type == "tool_use"]:
            text = functions[call.name](**call.input)
            results.append({"type": "tool_result", "tool_use_id": call.id, "content": text})
        if not results:
            return answer.content[0].text
        messages.append({"role": "user", "content": results})


with Tract.open("agent.db") as t:
    client = record_client(anthropic.Anthropic(), t, results=500)
    functions = {"read_file": lambda path: Path(path).read_text(), "get_tool_result": t.as_tool()}
    print(run(client, functions, sys.argv[1]))
