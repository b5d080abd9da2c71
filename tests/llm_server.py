"""A server on this machine that speaks as the providers do: Messages, Chat Completions, Responses,
and Gemini.

    with LLMServer(Reply("Hello."), Reply(status=429, headers={"retry-after": "0"})) as server:
        llm = OpenAILLM("m", base_url=server.openai_url, api_key="k")
        ...
        server.requests[0].body["messages"]

Each request takes the next reply, or what the next function makes of the request. It is said in the
words of the path that was asked, as a stream where one was asked for. When none is left, the
answer is a 400 that says so.
"""

from __future__ import annotations

import json
import re
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any, NamedTuple, Self

Call = tuple[str, str, dict[str, Any]]


@dataclass(frozen=True)
class Reply:
    """What the server says to one request, and how it goes wrong."""

    text: str = ""
    calls: Sequence[Call] = ()
    """Each an id, a name and arguments."""
    input_tokens: int = 21
    output_tokens: int = 7
    status: int = 200
    """From 400 on the provider's error is sent, with `message`."""
    message: str = "that went wrong"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    """Sent as it is instead of all that."""
    content_type: str | None = None
    delay: float = 0
    """Seconds before anything is sent."""
    events: int | None = None
    """Only so many events of the stream, which then ends as if it were whole."""
    then: str = ""
    """Sent behind those events, as it is."""
    drop_after: int | None = None
    """Only so many bytes of the body; then the connection is cut."""


class Request(NamedTuple):
    path: str
    headers: dict[str, str]
    """With names in small letters."""
    body: dict[str, Any]


Step = Callable[[Request], Reply]
"""A reply that depends on the request."""


class LLMServer:
    """Listens from `with` on, until its end."""

    def __init__(self, *replies: Reply | Step) -> None:
        self.replies = list(replies)
        """What is still to be said; more may be added at any time."""
        self.requests: list[Request] = []
        self.hung_up = Event()
        """Set when a client left before it had everything."""
        self.stopped = Event()
        self.lock = Lock()
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self._thread = Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        """The base URL of the Messages API."""
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def openai_url(self) -> str:
        """The base URL of Chat Completions and Responses."""
        return f"{self.url}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        self._http.shutdown()
        self._http.hang_up()
        self._http.server_close()
        self._thread.join()

    def next_reply(self, request: Request) -> Reply:
        with self.lock:
            self.requests.append(request)
            if self.replies:
                reply = self.replies.pop(0)
                return reply if isinstance(reply, Reply) else reply(request)
        return Reply(status=400, message="the server has no reply left")


class _Http(ThreadingHTTPServer):
    daemon_threads = False  # so that closing waits for them
    request_queue_size = 64  # else some of many threads wait a second to connect
    owner: LLMServer

    def __init__(self, *args: Any) -> None:
        self._open: set[socket.socket] = set()
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], OSError):  # a client that is gone is no error
            super().handle_error(request, client_address)

    def hang_up(self) -> None:
        """End the connections that clients keep open."""
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each small answer waits 40 ms
    server: _Http

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        """Claude Code asks first whether anyone is here."""
        self._answer(200)

    def do_GET(self) -> None:
        """Codex asks for a WebSocket first; 426 makes it take HTTP at once."""
        self._answer(426 if "upgrade" in self.headers else 404)

    def _answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self._words() is None:  # such as /v1/messages/count_tokens
            self._answer(404)
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        owner = self.server.owner
        reply = owner.next_reply(Request(self.path, headers, body))
        try:
            if reply.delay and owner.stopped.wait(reply.delay):
                return
            self._send(reply, body)
        except OSError:
            self.close_connection = True
            owner.hung_up.set()

    def _send(self, reply: Reply, asked: dict[str, Any]) -> None:
        words = self._words()
        streams = ":streamGenerateContent" in self.path or asked.get("stream")
        streams = streams and reply.status < 400 and reply.body is None
        if reply.body is not None:
            kind, chunks = "application/json", [reply.body]
        elif reply.status >= 400:
            kind, chunks = "application/json", [json.dumps(words.error(reply))]
        elif streams:
            events = list(words.events(reply, asked))[: reply.events]
            kind, chunks = "text/event-stream; charset=utf-8", [*events, reply.then]
        else:
            kind, chunks = "application/json", [json.dumps(words.whole(reply, asked))]
        self.send_response(reply.status)
        self.send_header("content-type", reply.content_type or kind)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self._send_chunks([chunk.encode() for chunk in chunks if chunk], reply.drop_after)

    def _words(self) -> Any:
        path = self.path.partition("?")[0]
        return _Gemini if path.endswith(_GEMINI_PATHS) else _WORDS.get(path)

    def _send_chunks(self, chunks: list[bytes], limit: int | None) -> None:
        left = sum(map(len, chunks)) if limit is None else limit
        for chunk in chunks:
            part = chunk[:left]
            left -= len(part)
            if part:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
        if limit is None:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.close_connection = True


# The ways to say it


def _pieces(text: str) -> list[str]:
    return re.findall(r"\S+\s*|\s+", text)


def _halves(value: Any) -> list[str]:
    text = json.dumps(value)
    return [text[: len(text) // 2], text[len(text) // 2 :]]


def _event(data: dict[str, Any]) -> str:
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n"


def _data(data: dict[str, Any]) -> str:
    return f"data: {json.dumps(data)}\n\n"


class _Messages:
    @staticmethod
    def error(reply: Reply) -> dict[str, Any]:
        kinds = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
        kinds |= {400: "invalid_request_error", 529: "overloaded_error"}
        error = {"type": kinds.get(reply.status, "api_error"), "message": reply.message}
        return {"type": "error", "error": error, "request_id": "req_1"}

    @staticmethod
    def whole(reply: Reply, asked: dict[str, Any]) -> dict[str, Any]:
        texts = [{"type": "text", "text": reply.text}] if reply.text else []
        calls = [
            {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
            for call_id, name, arguments in reply.calls
        ]
        return {
            "id": f"msg_{len(asked.get('messages', ()))}",  # Claude Code joins answers of one id
            "type": "message",
            "role": "assistant",
            "model": asked["model"],
            "content": texts + calls,
            "stop_reason": "tool_use" if calls else "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": reply.input_tokens,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": reply.output_tokens,
                "service_tier": "standard",
            },
        }

    @classmethod
    def events(cls, reply: Reply, asked: dict[str, Any]) -> Iterator[str]:
        whole = cls.whole(reply, asked)
        usage = {**whole["usage"], "output_tokens": 1}
        start: dict[str, Any] = {**whole, "content": [], "stop_reason": None, "usage": usage}
        yield _event({"type": "message_start", "message": start})
        yield _event({"type": "ping"})
        for index, block in enumerate(whole["content"]):
            yield from cls._block(index, block)
        ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        usage = {"output_tokens": reply.output_tokens}
        yield _event({"type": "message_delta", "delta": ended, "usage": usage})
        yield _event({"type": "message_stop"})

    @staticmethod
    def _block(index: int, block: dict[str, Any]) -> Iterator[str]:
        if block["type"] == "text":
            empty = {**block, "text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"])]
        else:
            empty = {**block, "input": {}}
            parts = ["", *_halves(block["input"])] if block["input"] else [""]
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
        about = {"index": index}
        yield _event({"type": "content_block_start", **about, "content_block": empty})
        for delta in deltas:
            yield _event({"type": "content_block_delta", **about, "delta": delta})
        yield _event({"type": "content_block_stop", **about})


class _Chat:
    @staticmethod
    def error(reply: Reply) -> dict[str, Any]:
        kind = "invalid_request_error" if reply.status < 429 else "server_error"
        return {"error": {"message": reply.message, "type": kind, "param": None, "code": None}}

    @staticmethod
    def usage(reply: Reply) -> dict[str, Any]:
        return {
            "prompt_tokens": reply.input_tokens,
            "completion_tokens": reply.output_tokens,
            "total_tokens": reply.input_tokens + reply.output_tokens,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        }

    @classmethod
    def whole(cls, reply: Reply, asked: dict[str, Any]) -> dict[str, Any]:
        calls = [
            {
                "id": call_id,
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for call_id, name, arguments in reply.calls
        ]
        message = {"role": "assistant", "content": reply.text or None, "refusal": None}
        choice = {
            "index": 0,
            "message": {**message, "tool_calls": calls} if calls else message,
            "logprobs": None,
            "finish_reason": "tool_calls" if calls else "stop",
        }
        about = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": asked["model"],
        }
        return {**about, "choices": [choice], "usage": cls.usage(reply), "system_fingerprint": None}

    @classmethod
    def events(cls, reply: Reply, asked: dict[str, Any]) -> Iterator[str]:
        with_usage = (asked.get("stream_options") or {}).get("include_usage")
        about = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1}
        about |= {"model": asked["model"], "system_fingerprint": None}
        about |= {"usage": None} if with_usage else {}
        deltas = list(cls._deltas(reply))
        for number, delta in enumerate(deltas, 1):
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
            if number == len(deltas):
                choice["finish_reason"] = "tool_calls" if reply.calls else "stop"
            yield f"data: {json.dumps({**about, 'choices': [choice]})}\n\n"
        if with_usage:
            yield f"data: {json.dumps({**about, 'choices': [], 'usage': cls.usage(reply)})}\n\n"
        yield "data: [DONE]\n\n"

    @staticmethod
    def _deltas(reply: Reply) -> Iterator[dict[str, Any]]:
        yield {"role": "assistant", "content": "" if reply.text else None, "refusal": None}
        for piece in _pieces(reply.text):
            yield {"content": piece}
        for index, (call_id, name, arguments) in enumerate(reply.calls):
            first = {"id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
            yield {"tool_calls": [{"index": index, **first}]}
            for part in _halves(arguments):
                yield {"tool_calls": [{"index": index, "function": {"arguments": part}}]}
        yield {}


def _qualified(name: str) -> dict[str, str]:
    """Codex lists the tools of an MCP server in a namespace, which a call then names."""
    namespace, dot, plain = name.rpartition(".")
    return {"namespace": namespace, "name": plain} if dot else {"name": name}


class _Responses:
    error = _Chat.error

    @staticmethod
    def output(reply: Reply) -> list[dict[str, Any]]:
        part = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
        message = {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant"}
        texts = [{**message, "content": [part]}] if reply.text else []
        return texts + [
            {
                "id": f"fc_{number}",
                "type": "function_call",
                "status": "completed",
                "arguments": json.dumps(arguments),
                "call_id": call_id,
                **_qualified(name),
            }
            for number, (call_id, name, arguments) in enumerate(reply.calls)
        ]

    @classmethod
    def whole(cls, reply: Reply, asked: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": f"resp_{len(asked.get('input', ()))}",  # LangGraph joins answers of one id
            "object": "response",
            "created_at": 1,
            "status": "completed",
            "error": None,
            "incomplete_details": None,
            "model": asked["model"],
            "output": cls.output(reply),
            "store": asked.get("store", True),
            "usage": {
                "input_tokens": reply.input_tokens,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": reply.output_tokens,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": reply.input_tokens + reply.output_tokens,
            },
        }

    @classmethod
    def events(cls, reply: Reply, asked: dict[str, Any]) -> Iterator[str]:
        events = cls._events(reply, cls.whole(reply, asked))
        for number, event in enumerate(events):
            yield _event({**event, "sequence_number": number})

    @classmethod
    def _events(cls, reply: Reply, whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
        begun = {**whole, "status": "in_progress", "output": [], "usage": None}
        yield {"type": "response.created", "response": begun}
        yield {"type": "response.in_progress", "response": begun}
        for place, item in enumerate(whole["output"]):
            about = {"output_index": place, "item_id": item["id"]}
            hollow: dict[str, Any] = (
                {"content": []} if item["type"] == "message" else {"arguments": ""}
            )
            added = {**item, **hollow, "status": "in_progress"}
            yield {"type": "response.output_item.added", "output_index": place, "item": added}
            yield from cls._deltas(item, about)
            yield {"type": "response.output_item.done", "output_index": place, "item": item}
        yield {"type": "response.completed", "response": whole}

    @staticmethod
    def _deltas(item: dict[str, Any], about: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if item["type"] == "message":
            [part] = item["content"]
            about = {**about, "content_index": 0}
            empty = {**part, "text": ""}
            yield {"type": "response.content_part.added", **about, "part": empty}
            for piece in _pieces(part["text"]):
                yield {"type": "response.output_text.delta", **about, "delta": piece}
            yield {"type": "response.output_text.done", **about, "text": part["text"]}
            yield {"type": "response.content_part.done", **about, "part": part}
            return
        arguments = item["arguments"]
        name = "response.function_call_arguments"
        for half in (arguments[:3], arguments[3:]):
            yield {"type": f"{name}.delta", **about, "delta": half}
        yield {"type": f"{name}.done", **about, "arguments": arguments}


class _Gemini:
    """The last event of a stream has the calls and the end."""

    error = _Chat.error

    @staticmethod
    def usage(reply: Reply) -> dict[str, Any]:
        return {
            "promptTokenCount": reply.input_tokens,
            "candidatesTokenCount": reply.output_tokens,
            "totalTokenCount": reply.input_tokens + reply.output_tokens,
        }

    @classmethod
    def whole(cls, reply: Reply, asked: dict[str, Any]) -> dict[str, Any]:
        texts: list[dict[str, Any]] = [{"text": reply.text}] if reply.text else []
        calls = [
            {"functionCall": {"id": call_id, "name": name, "args": args}}
            for call_id, name, args in reply.calls
        ]
        content = {"role": "model", "parts": texts + calls}
        candidate = {"content": content, "finishReason": "STOP", "index": 0}
        about = {"usageMetadata": cls.usage(reply), "modelVersion": "gemini"}
        return {"candidates": [candidate], **about}

    @classmethod
    def events(cls, reply: Reply, asked: dict[str, Any]) -> Iterator[str]:
        *pieces, last = _pieces(reply.text) or [""]
        for piece in pieces:
            content = {"role": "model", "parts": [{"text": piece}]}
            about = {"usageMetadata": cls.usage(reply), "modelVersion": "gemini"}
            yield _data({"candidates": [{"content": content, "index": 0}], **about})
        yield _data(cls.whole(replace(reply, text=last), asked))


_GEMINI_PATHS = (":generateContent", ":streamGenerateContent")
_WORDS: dict[str, Any] = {
    "/v1/messages": _Messages,
    "/v1/chat/completions": _Chat,
    "/v1/responses": _Responses,
}
