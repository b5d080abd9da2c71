"""An agent with the OpenAI SDK that reads files. Its work is recorded in agent.db."""

import json
import sys
from pathlib import Path

import openai

from tract import Tract, record_client

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = [{"type": "function", "name": "read_file", "parameters": SCHEMA, "strict": False}]


def run(client, functions, prompt):
    new, previous = [{"role": "user", "content": prompt}], None
    while new:
        answer = client.responses.create(
            model="gpt-6", tools=TOOLS, input=new, previous_response_id=previous
        )
        new, previous = [], answer.id
        for call in [item for item in answer.output if item.type == "function_call"]:
            text = functions[call.name](**json.loads(call.arguments))
            new.append({"type": "function_call_output", "call_id": call.call_id, "output": text})
    return answer.output_text


with Tract.open("agent.db") as t:
    client = record_client(openai.OpenAI(), t, results=500)
    functions = {"read_file": lambda path: Path(path).read_text(), "get_tool_result": t.as_tool()}
    print(run(client, functions, sys.argv[1]))
