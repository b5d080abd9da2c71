from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tract import Tract
from tract.integrations.otel import trace
from tract.llm import ScriptedLLM

exporter = InMemorySpanExporter()  # yours sends them to a collector
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))

call = {"id": "call_1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
llm = ScriptedLLM([{"role": "assistant", "tool_calls": [call]}, "Two files."])
with Tract.open("agent.db", dialog="ops/1", llm=llm) as t:
    trace(t, provider)  # for AsyncTract as well
    for wanted in t.chat("What is in src?").tool_calls:
        t.tool_result(wanted.id, wanted.name, "main.py\nREADME.md\n")
    t.generate()
    t.compress(content="src has two files.")

for span in exporter.get_finished_spans():
    print(span.name, span.attributes["gen_ai.conversation.id"])
    # → chat scripted ops/1
    # → execute_tool ls ops/1
    # → chat scripted ops/1
    # → tract.compress ops/1
