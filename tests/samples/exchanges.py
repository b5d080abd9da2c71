"""One exchange in each way in which programs record it."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

from tests.importing import as_json, as_lines
from tests.samples.streams import ANTHROPIC as STREAM
from tests.samples.streams import sse

URL = "https://api.anthropic.com/v1/messages"
ASKED: dict[str, Any] = {
    "model": "claude-x",
    "max_tokens": 10,
    "messages": [{"role": "user", "content": "Hi"}],
}
ANSWER: dict[str, Any] = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "text", "text": "Hello"}],
}
PAIR = {"method": "POST", "url": URL, "status": 200, "request": ASKED, "response": ANSWER}


def cassette(body: Any, answer: Any, **around: Any) -> list[dict[str, Any]]:
    """The same exchange in every way of writing it down."""
    asked, answered = json.dumps(body), answer if isinstance(answer, str) else json.dumps(answer)
    ruby = {
        "request": {"method": "post", "uri": URL, "body": {"encoding": "UTF-8", "string": asked}},
        "response": {"status": {"code": 200}, "body": {"encoding": "UTF-8", "string": answered}},
        "recorded_at": "Tue, 01 Nov 2011 04:58:44 GMT",
    }
    python = {
        "request": {"method": "POST", "uri": URL, "body": asked, "headers": {}},
        "response": {"status": {"code": 200, "message": "OK"}, "body": {"string": answered}},
    }
    packed = base64.b64encode(gzip.compress(answered.encode())).decode()
    zipped = {
        "request": {"method": "POST", "uri": URL, "body": body},
        "response": {"status_code": 200, "body": {"base64_string": packed}},
    }
    plain = {
        "transport": "http",
        "request": {"method": "POST", "url": URL, "body": asked},
        "response": {"status": 200, "body": answered},
    }
    entry = {
        "startedDateTime": "2025-08-01T16:16:37Z",
        "request": {"method": "POST", "url": URL, "postData": {"text": asked}},
        "response": {"status": 200, "content": {"mimeType": "x", "size": 1, "text": answered}},
    }
    encoded = base64.b64encode(answered.encode()).decode()
    entry64 = {
        **entry,
        "response": {"status": 200, "content": {"text": encoded, "encoding": "base64"}},
    }
    return [
        {"http_interactions": [ruby], "recorded_with": "VCR"},
        {"version": 1, "interactions": [python]},
        {"version": 1, "interactions": [zipped]},
        {"version": 1, "metadata": {}, "interactions": [plain]},
        {"log": {"version": "1.2", "entries": [entry]}},
        {"log": {"version": "1.2", "entries": [entry64]}},
    ]


WAYS = [PAIR, *cassette(ASKED, ANSWER), *cassette(ASKED, sse(*STREAM))]
FILES = {"pairs": as_lines(PAIR, PAIR)} | {
    str(number): as_json(document) for number, document in enumerate(WAYS)
}
DOCUMENTS = [WAYS]
