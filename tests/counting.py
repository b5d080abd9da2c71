"""What transcripts say, counted from their raw bytes. Nothing here uses the importers or the
providers: each counter knows its format only from its description and from real files."""

from __future__ import annotations

import base64
import json
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

Json = Any


class Said(NamedTuple):
    """A text of a kind: system, user, answer, call or result; or a part of an answer that is none
    of these (a thought, a tool that the provider runs), which has its type as text."""

    kind: str
    text: str


Turn = tuple[Said, ...]
"""A message: one text, or an answer with its calls."""


def text_of(content: Json) -> str:
    """The texts of a message, with a mark for each block that is no text (an image, a file). They
    are joined without a blank, because streams cut them anywhere."""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(block, dict) for block in content):
        return "".join(block.get("text", "[…]") for block in content)
    if isinstance(content, dict) and len(content) == 1:
        # Gemini and Bedrock want an object for a result: programs wrap a text in one.
        return text_of(*content.values())
    return "" if content is None else compact(content)


def compact(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def call(name: str, arguments: Json) -> Said:
    """Arguments are compared as JSON, whether they are stored as its text or as an object."""
    if isinstance(arguments, str):
        with suppress(ValueError):
            arguments = json.loads(arguments)
    return Said("call", f"{name} {compact(arguments)}")


def answer(content: Json, calls: Iterable[Said] = ()) -> Turn:
    return Said("answer", text_of(content)), *calls


def part(kind: str) -> Said:
    return Said("part", kind)


def system(content: Json) -> Turn:
    return (Said("system", text_of(content)),)


def user(content: Json) -> Turn:
    return (Said("user", text_of(content)),)


def result(content: Json, is_error: Json = False) -> Turn:
    """One that the source flags as failed is an error too."""
    text = text_of(content)
    return (Said("result", text), Said("error", text)) if is_error else (Said("result", text),)


def lines(path: Path) -> Iterator[Json]:
    """The records of a file. A line may have several, where a line break is missing."""
    for line in path.read_text("utf-8").split("\n"):
        while line := line.strip():
            value, end = json.JSONDecoder().raw_decode(line)
            yield value
            line = line[end:]


def document(path: Path) -> Json:
    return json.loads(path.read_bytes())


def distinct(histories: Iterable[Iterable[Turn]]) -> Iterator[Turn]:
    """Each message once, however many requests repeat it. It is the same message if all before it
    is the same, the system text included."""
    seen: set[tuple[Turn, ...]] = set()
    for history in histories:
        path: tuple[Turn, ...] = ()
        for turn in history:
            path = *path, turn
            if path not in seen:
                seen.add(path)
                yield turn


# Providers


def anthropic_turns(message: Json) -> Iterator[Turn]:
    """A message of the Messages API: each result stands alone, the rest of a user is one text.
    Server tools are a part of the answer, no calls that somebody has to answer."""
    content = message["content"]
    if isinstance(content, str):
        yield (Said(ANSWERS.get(message["role"], message["role"]), content),)
    elif message["role"] == "assistant":
        calls = [call(b["name"], b["input"]) for b in content if b["type"] == "tool_use"]
        others = [part(b["type"]) for b in content if b["type"] not in ("text", "tool_use")]
        yield answer([block for block in content if block["type"] == "text"], calls + others)
    else:
        results = [block for block in content if block["type"] == "tool_result"]
        others = [block for block in content if block["type"] != "tool_result"]
        yield from (result(b.get("content", ""), b.get("is_error")) for b in results)
        if others:
            yield user(others)


ANSWERS = {"assistant": "answer"}


def chat_turns(message: Json) -> Iterator[Turn]:
    content = message.get("content")
    match message["role"]:
        case "assistant":
            called = [c["function"] for c in message.get("tool_calls") or ()]
            yield answer(content, [call(f["name"], f["arguments"]) for f in called])
        case "tool":
            yield result(content)
        case "system" | "developer":
            yield system(content)
        case "user":
            yield user(content)


def gemini_turns(content: Json) -> Iterator[Turn]:
    parts = [part for part in content["parts"] if not part.get("thought")]
    texts = [part for part in parts if "text" in part]
    if content["role"] == "model":
        called = [part["functionCall"] for part in parts if "functionCall" in part]
        yield answer(texts, [call(c["name"], c.get("args", {})) for c in called])
        return
    responses = [p["functionResponse"]["response"] for p in parts if "functionResponse" in p]
    yield from (result(response, "error" in response) for response in responses)
    if texts:
        yield user(texts)


def responses_turns(items: Iterable[Json]) -> Iterator[Turn]:
    """Items of the Responses API: what the model wrote in a row is one answer."""
    texts: list[Json] = []
    calls: list[Said] = []
    is_open = False
    for item in items:
        kind = item.get("type", "message")
        if kind in OUTPUTS or item.get("role") in ("system", "developer", "user"):
            if is_open:
                yield answer(texts, calls)
            texts, calls, is_open = [], [], False
        match kind:
            case "message" if item["role"] == "assistant":
                texts += item["content"]
            case "message" if item["role"] == "user":
                yield user(item["content"])
            case "message":
                yield system(item["content"])
            case "function_call" | "tool_search_call":
                calls.append(call(item.get("name", "tool_search"), item["arguments"]))
            case "custom_tool_call":
                calls.append(call(item["name"], item["input"]))
            case _ if kind in OUTPUTS:
                yield result(item[OUTPUTS[kind]])
            case _:
                calls.append(part(kind))
        is_open = is_open or (kind not in OUTPUTS and item.get("role", "assistant") == "assistant")
    if is_open:
        yield answer(texts, calls)


OUTPUTS = {
    "function_call_output": "output",
    "custom_tool_call_output": "output",
    "tool_search_output": "tools",
}


def bedrock_turns(message: Json) -> Iterator[Turn]:
    content = message["content"]
    texts = [block for block in content if "text" in block]
    if message["role"] == "assistant":
        called = [block["toolUse"] for block in content if "toolUse" in block]
        yield answer(texts, [call(c["name"], c["input"]) for c in called])
        return
    for block in content:
        if "toolResult" in block:
            returned = block["toolResult"]
            yield result(next(iter(returned["content"])), returned["status"] == "error")
    if texts:
        yield user(texts)


# Streams


def events(stream: str) -> Iterator[Json]:
    for line in stream.splitlines():
        if line.startswith("data:") and line[5:].strip() != "[DONE]":
            yield json.loads(line[5:])


def anthropic_stream(stream: str) -> Json:
    blocks: dict[int, Json] = {}
    for event in events(stream):
        match event["type"]:
            case "content_block_start":
                blocks[event["index"]] = {**event["content_block"], "json": ""}
            case "content_block_delta":
                block, delta = blocks[event["index"]], event["delta"]
                block["text"] = block.get("text", "") + delta.get("text", "")
                block["json"] += delta.get("partial_json", "")
    for block in blocks.values():
        block["input"] = json.loads(block["json"] or "{}")
    return {"role": "assistant", "content": list(blocks.values())}


def gemini_stream(stream: str) -> Json:
    """Chunks of one text are joined without a blank."""
    parts: list[Json] = []
    for event in events(stream):
        for part in event["candidates"][0]["content"].get("parts", ()):
            if "text" in part and parts and "text" in parts[-1]:
                parts[-1]["text"] += part["text"]
            else:
                parts.append(part)
    return {"role": "model", "parts": parts}


def bedrock_stream(data: bytes) -> Json:
    """Frames: lengths of all and of the headers, a checksum, headers, JSON, a checksum."""
    blocks: dict[int, Json] = {}
    while data:
        size, headers = int.from_bytes(data[:4], "big"), int.from_bytes(data[4:8], "big")
        frame, data = json.loads(data[12 + headers : size - 4]), data[size:]
        if "contentBlockIndex" not in frame:
            continue
        block = blocks.setdefault(frame["contentBlockIndex"], {})
        block.update(frame.get("start", {}))
        delta = frame.get("delta", {})
        if "text" in delta:
            block["text"] = block.get("text", "") + delta["text"]
        if "toolUse" in delta:
            use = block["toolUse"]
            use["input"] = use.get("input", "") + delta["toolUse"]["input"]
    return {"role": "assistant", "content": list(blocks.values())}


# Requests, each with the full history


class Recorded(NamedTuple):
    """A request and its answer: JSON, or the text of a stream."""

    url: str
    request: Json
    response: Json


def history(recorded: Recorded, items: dict[str, Json]) -> Iterator[Turn]:
    """One request with its answer, in the format that the address says. `items` are all that the
    Responses API has sent, because a request may only refer to one."""
    url, request, response = recorded
    is_text = isinstance(response, str)
    if "converse" in url:
        yield system(request["system"])
        for message in (*request["messages"], bedrock_stream(base64.b64decode(response))):
            yield from bedrock_turns(message)
    elif "generativelanguage" in url:
        if "systemInstruction" in request:
            yield system(request["systemInstruction"]["parts"])
        reply = gemini_stream(response) if is_text else response["candidates"][0]["content"]
        for content in (*request["contents"], reply):
            yield from gemini_turns(content)
    elif "responses" in url:
        if is_text:
            (response,) = (e["response"] for e in events(response) if e["type"] == COMPLETED)
        if "instructions" in request:
            yield system(request["instructions"])
        items |= {item["id"]: item for item in response["output"]}
        known = [items[i["id"]] if i.get("type") == REFERENCE else i for i in request["input"]]
        yield from responses_turns(known)
        yield from responses_turns(response["output"])
    elif "chat/completions" in url:
        for message in (*request["messages"], response["choices"][0]["message"]):
            yield from chat_turns(message)
    else:
        if "system" in request:
            yield system(request["system"])
        reply = anthropic_stream(response) if is_text else response
        is_error = reply.get("type") == "error"
        for message in request["messages"] if is_error else (*request["messages"], reply):
            yield from anthropic_turns(message)


COMPLETED = "response.completed"
REFERENCE = "item_reference"


def histories(recordings: Iterable[Recorded]) -> Iterator[Turn]:
    """A conversation is held with one API: the same prompt sent to another one begins anew."""
    items: dict[str, Json] = {}
    by_url: dict[str, list[list[Turn]]] = {}
    for recorded in recordings:
        by_url.setdefault(recorded.url, []).append(list(history(recorded, items)))
    for requests in by_url.values():
        yield from distinct(requests)


def in_json(text: str) -> Json:
    return json.loads(text) if text.startswith("{") else text


def http_cassette(path: Path) -> Iterator[Turn]:
    pairs = [(pair["request"], pair["response"]) for pair in document(path)["interactions"]]
    yield from histories(
        Recorded(asked["url"], json.loads(asked["body"]), in_json(replied["body"]))
        for asked, replied in pairs
    )


def vcr_pairs(path: Path) -> Iterator[Turn]:
    yield from histories(
        Recorded(pair.get("url", ""), pair["request"], pair["response"]) for pair in lines(path)
    )


def mastra(path: Path) -> Iterator[Turn]:
    yield from histories(
        Recorded(
            recording["request"]["url"],
            recording["request"]["body"],
            "".join(recording["response"].get("chunks", ())) or recording["response"].get("body"),
        )
        for recording in document(path)["recordings"]
    )


def openhands_llm_log(path: Path) -> Iterator[Turn]:
    log = document(path)
    yield from histories([Recorded("chat/completions", log, log["response"])])


def vercel(path: Path) -> Iterator[Turn]:
    response = document(path)
    if "output" in response:
        yield from responses_turns(response["output"])
    else:
        yield from anthropic_turns(response)


def goose(path: Path) -> Iterator[Turn]:
    def turns(message: Json) -> Iterator[Turn]:
        content = message["content"]
        texts = [block for block in content if block["type"] == "text"]
        if message["role"] == "assistant":
            called = [b["toolCall"]["value"] for b in content if b["type"] == "toolRequest"]
            yield answer(texts, [call(c["name"], c["arguments"]) for c in called])
            return
        results = [block["toolResult"] for block in content if block["type"] == "toolResponse"]
        yield from (result(r["value"]["content"], r["status"] == "error") for r in results)
        if texts:
            yield user(texts)

    def histories() -> Iterator[list[Turn]]:
        for recording in document(path).values():
            asked = recording["input"]
            messages = *asked["messages"], recording["output"]["message"]
            yield [system(asked["system"]), *(turn for m in messages for turn in turns(m))]

    yield from distinct(histories())


def copilot_chat(path: Path) -> Iterator[Turn]:
    """Roles and kinds of content are numbers: 0 system, 1 user, 2 assistant, 3 tool; 1 text, 3 a
    mark of the cache. A response has no calls: they are the log entries after it."""

    def turn(message: Json) -> Turn:
        content = [block for block in message["content"] if block["type"] == 1]
        calls = [c["function"] for c in message.get("toolCalls", ())]
        if message["role"] == 2:
            return answer(content, [call(c["name"], c["arguments"]) for c in calls])
        return (Said(("system", "user", "answer", "result")[message["role"]], text_of(content)),)

    logs = [log for prompt in document(path)["prompts"] for log in prompt["logs"]]
    requests = [number for number, log in enumerate(logs) if log["kind"] == "request"]
    found = []
    for number, end in zip(requests, [*requests[1:], len(logs)], strict=True):
        asked = logs[number]["requestMessages"]["messages"]
        replied = "".join(logs[number]["response"]["message"])
        after = [log for log in logs[number:end] if log["kind"] == "toolCall"]
        calls = [call(log["tool"], log["args"]) for log in after]
        found.append([*map(turn, asked), answer(replied, calls)])
    yield from distinct(found)


def langfuse(path: Path) -> Iterator[Turn]:
    """Spans repeat what their generations say."""

    def turns(message: Json) -> Iterator[Turn]:
        parts = message["parts"]
        texts = [{"text": part["content"]} for part in parts if part["type"] == "text"]
        if message["role"] == "assistant":
            called = [part for part in parts if part["type"] == "tool_call"]
            yield answer(texts, [call(c["name"], c["arguments"]) for c in called])
            return
        yield from (result(p["result"]) for p in parts if p["type"] == "tool_call_response")
        if texts:
            yield (Said(message["role"], text_of(texts)),)

    generations = [o for o in document(path)["observations"] if o["type"] == "GENERATION"]
    yield from distinct(
        [turn for message in (*o["input"], *o["output"]) for turn in turns(message)]
        for o in sorted(generations, key=lambda o: o["startTime"])
    )


# Sessions


def claude_code(path: Path) -> Iterator[Turn]:
    """One line per block: the lines of a `message.id` are one answer. What a sub-agent says stands
    in progress lines. Without `rendered` an attachment was not said to the model. A prompt that
    waits in the queue is said when it is removed while the agent works; `popAll` takes it back."""
    answers: dict[str, list[Json]] = {}
    queue: list[str] = []
    seen: set[str] = set()
    for line in lines(path):
        if line.get("uuid") in seen:
            continue
        seen |= {line["uuid"]} if "uuid" in line else set()
        if line["type"] == "progress" and line["data"]["type"] == "agent_progress":
            line = line["data"]["message"]
        if line["type"] == "assistant":
            answers.setdefault(line["message"]["id"], []).extend(line["message"]["content"])
        elif line["type"] == "user":
            yield from anthropic_turns(line["message"])
        elif line["type"] == "queue-operation":
            match line["operation"]:
                case "enqueue":
                    queue.append(line["content"])
                case "remove":
                    yield user(queue.pop(0))
                case "popAll":
                    queue.clear()
    for content in answers.values():
        yield from anthropic_turns({"role": "assistant", "content": content})


def codex(path: Path) -> Iterator[Turn]:
    """Events repeat the items for the screen."""
    items = []
    for line in lines(path):
        if line["type"] == "session_meta":
            yield system(line["payload"]["base_instructions"]["text"])
        elif line["type"] == "response_item":
            items.append(line["payload"])
    yield from responses_turns(items)


def copilot_cli(path: Path) -> Iterator[Turn]:
    for line in lines(path):
        data = line["data"]
        match line["type"]:
            case "system.message":
                yield system(data["content"])
            case "user.message":
                # What was typed, with what was added for the model.
                yield user(data["transformedContent"])
            case "system.notification":
                yield user(data["content"])
            case "assistant.message":
                calls = [call(c["name"], c["arguments"]) for c in data["toolRequests"]]
                thoughts = [part("thinking")] if "reasoningText" in data else []
                yield answer(data["content"], calls + thoughts)
            case "tool.execution_complete":
                if data["success"]:
                    yield result(data["result"]["content"])
                else:
                    yield result(data["error"]["message"], is_error=True)


def gemini_cli(path: Path) -> Iterator[Turn]:
    for message in document(path)["messages"]:
        called = message.get("toolCalls", ())
        if message["type"] == "user":
            yield user(message["content"])
        elif message["type"] == "gemini":
            calls = [call(c["name"], c["args"]) for c in called]
            thoughts = [part("thinking") for _ in message["thoughts"]]
            yield answer(message["content"], calls + thoughts)
            for response in (response for c in called for response in c["result"]):
                reply = response["functionResponse"]["response"]
                yield result(reply, "error" in reply)


def pi(path: Path) -> Iterator[Turn]:
    for line in lines(path):
        if line["type"] != "message":
            continue
        message = line["message"]
        content = message["content"]
        match message["role"]:
            case "user":
                yield user(content)
            case "toolResult":
                yield result(content, message["isError"])
            case "assistant":
                texts = [b for b in content if b["type"] == "text"]
                called = [b for b in content if b["type"] == "toolCall"]
                calls = [call(c["name"], c["arguments"]) for c in called]
                yield answer(
                    texts, calls + [part("thinking") for b in content if b["type"] == "thinking"]
                )


def openhands_events(path: Path) -> Iterator[Turn]:
    """Action and observation both carry the response of the model, which is one answer."""
    responses: dict[str, Json] = {}
    for event in document(path)["history"]:
        about = event.get("tool_call_metadata")
        if event.get("action") == "system":
            yield system(event["args"]["content"])
        elif event.get("action") == "message":
            yield user(event["args"]["content"])
        elif event.get("observation") == "recall":
            known = [knowledge["content"] for knowledge in event["extras"]["microagent_knowledge"]]
            yield user("\n\n".join([event["content"], *known]))
        elif "observation" in event and about:
            yield result(event["content"])
        if about:
            responses[about["model_response"]["id"]] = about["model_response"]
    for response in responses.values():
        yield from chat_turns(response["choices"][0]["message"])


def swe_agent(path: Path) -> Iterator[Turn]:
    for message in document(path)["history"]:
        yield from chat_turns(message)


def tau(path: Path) -> Iterator[Turn]:
    for message in document(path)["traj"]:
        yield from chat_turns(message)


def tau2(path: Path) -> Iterator[Turn]:
    """A person who is played by a model has tools too. Then the file has two conversations: each
    side sees the texts of both, and only its own calls and results."""
    messages = document(path)["messages"]
    callers = {message["role"] for message in messages if message.get("tool_calls")}
    for side in ("assistant", "user"):
        if side == "user" and side not in callers:
            continue
        for message in messages:
            if message["role"] == "tool":
                if message["requestor"] == side:
                    yield result(message["content"], message["error"])
            elif message["role"] == side:
                calls = message["tool_calls"] or ()
                yield answer(message["content"], [call(c["name"], c["arguments"]) for c in calls])
            elif message["content"]:
                yield user(message["content"])


def atif(path: Path) -> Iterator[Turn]:
    for step in document(path)["steps"]:
        if step["source"] != "agent":
            yield (Said(step["source"], step["message"]),)
            continue
        calls = step.get("tool_calls", ())
        called = [call(c["function_name"], c["arguments"]) for c in calls]
        yield answer(step["message"], called)
        yield from (result(r["content"]) for r in step.get("observation", {}).get("results", ()))


def inspect_sample(sample: Json) -> Iterator[Turn]:
    for message in sample["messages"]:
        calls = message.get("tool_calls") or ()
        match message["role"]:
            case "assistant":
                called = [call(c["function"], c["arguments"]) for c in calls]
                yield answer(message["content"], called)
            case "tool":
                yield result(message["content"], message.get("error"))
            case "user":
                yield user(message["content"])


def inspect_json(path: Path) -> Iterator[Turn]:
    for sample in document(path)["samples"]:
        yield from inspect_sample(sample)


def inspect_eval(path: Path) -> Iterator[Turn]:
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.startswith("samples/"):
                yield from inspect_sample(json.loads(archive.read(name)))


def langchain_turns(messages: Iterable[Json]) -> Iterator[Turn]:
    """Calls stand in `tool_calls`, and with some providers in the content again."""
    for message in messages:
        content = message["content"]
        match message["type"]:
            case "human":
                yield user(content)
            case "system":
                yield system(content)
            case "tool":
                yield result(content, message["status"] == "error")
            case "ai":
                is_text = isinstance(content, str)
                texts = content if is_text else [b for b in content if b["type"] == "text"]
                yield answer(texts, [call(c["name"], c["args"]) for c in message["tool_calls"]])


def langchain(path: Path) -> Iterator[Turn]:
    yield from langchain_turns(message["kwargs"] for message in document(path))


def langgraph(path: Path) -> Iterator[Turn]:
    yield from langchain_turns(document(path)["values"]["messages"])


COUNTERS: dict[str, Callable[[Path], Iterator[Turn]]] = {
    "atif-trajectory": atif,
    "claude-code-jsonl": claude_code,
    "codex-rollout-jsonl": codex,
    "copilot-chatreplay": copilot_chat,
    "copilot-cli-jsonl": copilot_cli,
    "gemini-cli-session": gemini_cli,
    "goose-recording": goose,
    "http-cassette-json": http_cassette,
    "inspect-eval": inspect_eval,
    "inspect-json": inspect_json,
    "langchain-dumpd": langchain,
    "langfuse-trace": langfuse,
    "langgraph-thread": langgraph,
    "mastra-recording": mastra,
    "openai-chat-tau": tau,
    "openhands-events": openhands_events,
    "openhands-llm-log": openhands_llm_log,
    "pi-session-jsonl": pi,
    "swe-agent-traj": swe_agent,
    "tau2-simulation": tau2,
    "vcr-pairs-jsonl": vcr_pairs,
    "vercel-anthropic-response": vercel,
    "vercel-openai-response": vercel,
}


def counted(path: Path) -> Counter[Said]:
    """Everything that a file of the corpus says, and how often."""
    return Counter(said for turn in COUNTERS[path.parent.name](path) for said in turn)
