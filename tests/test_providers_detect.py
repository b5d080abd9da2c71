"""One detector: everybody who asks whose a request or a message is gets one answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tract import InputError, Tract
from tract.importers.provider import request_provider
from tract.importers.writer import import_file
from tract.providers import PROVIDERS
from tract.providers.base import Evidence
from tract.providers.detect import detect, message_provider, response_provider
from tract.providers.requests import load, load_history, provider_of
from tract.providers.validate import validate

CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
HELLO = {"role": "user", "content": "hello"}
CALLING = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "a.txt"}
TOOL_USE = {"type": "tool_use", "id": "t1", "name": "ls", "input": {}}
TOOL_RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "a.txt"}
IMAGE = {"type": "image", "source": {}}
IMAGE_URL = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}

PROBES: dict[str, tuple[str | None, Any]] = {
    "chat request to a claude model": (
        "openai",
        {"model": "claude-x", "messages": [CALLING, RESULT, HELLO]},
    ),
    "plain texts to a claude model": ("anthropic", {"model": "claude-x", "messages": [HELLO]}),
    "responses input is a text": ("responses", {"model": "gpt-x", "input": "hello"}),
    "gemini contents are a text": ("gemini", {"model": "gemini-x", "contents": "hello"}),
    "chat messages with an image": (
        "openai",
        {"model": "claude-x", "messages": [{"role": "user", "content": [IMAGE_URL]}]},
    ),
    "only results": (
        "anthropic",
        {"model": "m", "messages": [{"role": "user", "content": [TOOL_RESULT]}]},
    ),
    "bedrock": (
        None,
        {"modelId": "claude", "messages": [{"role": "user", "content": [{"text": "hello"}]}]},
    ),
    "a system text beside the messages": (
        "anthropic",
        {"model": "m", "system": "Be brief.", "messages": [HELLO]},
    ),
    "developer role": (
        "openai",
        {"model": "claude-x", "thinking": {}, "messages": [{**HELLO, "role": "developer"}]},
    ),
    "both kinds of calls": (
        "openai",
        {
            "model": "claude-x",
            "system": "Be brief.",
            "tools": [{"name": "ls", "input_schema": {"type": "object"}}],
            "messages": [CALLING, RESULT, {"role": "user", "content": [TOOL_RESULT]}],
        },
    ),
}


@pytest.mark.parametrize("probe", PROBES)
def test_everybody_agrees(probe: str) -> None:
    provider, request = PROBES[probe]
    assert detect(request) == provider
    assert request_provider(request) == provider
    if provider is None:
        assert [violation.rule for violation in validate(request)] == ["unknown-provider"]
        with pytest.raises(InputError, match="not a request to a provider"):
            provider_of(request)
        return
    assert provider_of(request) == provider
    assert load_history(request).provider == load(request).provider == provider
    assert validate(request) == validate(request, provider)


def test_what_is_no_request_says_what_it_is() -> None:
    for value, fact in (({}, "it has no keys"), ({"model": "x"}, "it has model"), (5, "it is int")):
        with pytest.raises(InputError, match=f"not a request to a provider: {fact}$"):
            provider_of(value)


@pytest.mark.parametrize("probe", [name for name, (owner, _) in PROBES.items() if owner])
def test_the_messages_alone_are_read_by_the_same_provider(probe: str) -> None:
    """Unless nothing in them shows it: then they are those of the first provider."""
    provider, request = PROBES[probe]
    assert provider is not None
    history = request[PROVIDERS[provider].history]
    if isinstance(history, list):
        marked = [name for name in map(message_provider, history) if name]
        assert detect(history) == (marked[0] if marked else "openai")


@pytest.mark.parametrize(
    ("url", "provider"),
    [
        ("https://api.anthropic.com/v1/messages?beta=true", "anthropic"),
        ("https://openrouter.ai/api/v1/chat/completions", "openai"),
        ("https://example.org/v1/talk", "openai"),
        ("https://api.openai.com/v1/responses", "openai"),  # which has no messages
    ],
)
def test_an_address_decides(url: str, provider: str) -> None:
    assert detect({"messages": [CALLING, RESULT]}, url) == provider


def test_the_strongest_evidence_decides() -> None:
    """Each line outweighs all those below it."""
    lines: list[tuple[Evidence, str, dict[str, Any]]] = [
        (Evidence.CALL, "openai", {"messages": [CALLING]}),
        (Evidence.SYSTEM, "anthropic", {"system": "Be brief."}),
        (Evidence.TOOL, "openai", {"tools": [{"type": "function", "function": {"name": "ls"}}]}),
        (Evidence.CONTENT, "anthropic", {"messages": [{"role": "user", "content": [IMAGE]}]}),
        (Evidence.ROLE, "openai", {"messages": [{"role": "system", "content": "x"}]}),
        (Evidence.SETTING, "anthropic", {"thinking": {}}),
    ]
    assert [evidence for evidence, _, _ in lines] == sorted(Evidence, reverse=True)[:-1]
    request: dict[str, Any] = {"model": "claude-x", "messages": [HELLO]}
    assert detect(request) == "anthropic"
    for _, provider, more in reversed(lines):
        request = {**request, **more, "messages": [*request["messages"], *more.get("messages", ())]}
        assert detect(request) == provider


def test_no_system_text_is_lost() -> None:
    tools = [{"type": "function", "function": {"name": "ls"}}]
    loaded = load({"system": "Be brief.", "messages": [HELLO], "tools": tools})
    assert [message.text for message in loaded.messages] == ["Be brief.", "hello"]
    call = {"id": "c", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    answer = {"role": "assistant", "content": "hm", "tool_calls": [call]}
    loaded = load({"system": "Be brief.", "messages": [HELLO, answer]})
    assert (loaded.provider, loaded.config) == ("openai", {})
    assert [message.text for message in loaded.messages] == ["Be brief.", "hello", "hm"]


def test_of_equal_evidence_the_first_decides() -> None:
    use, result = (
        {"role": "assistant", "content": [TOOL_USE]},
        {"role": "user", "content": [TOOL_RESULT]},
    )
    assert detect([use, result, CALLING]) == "anthropic"
    assert detect([CALLING, RESULT, use]) == "openai"


def test_a_result_is_no_evidence_by_what_a_tool_returned() -> None:
    returned = {**RESULT, "content": [{"type": "input_text", "text": "x"}]}
    assert detect([CALLING, returned]) == message_provider(returned) == "openai"


@pytest.mark.parametrize("value", [None, 5, "x", [], [1, "x"], {}, {"model": "claude-x"}])
def test_what_is_nobodys(value: Any) -> None:
    assert detect(value) is None
    assert response_provider(value) is None


@pytest.mark.parametrize("first", [CALLING, HELLO], ids=["a call first", "a text first"])
def test_a_request_is_imported_once(tmp_path: Path, first: dict[str, Any]) -> None:
    """An OpenAI request to a claude model once became a second dialog when it was read again."""
    file = tmp_path / "r.json"
    file.write_text(json.dumps({"model": "claude-x", "messages": [first, CALLING, RESULT, HELLO]}))
    with Tract.open() as t:
        once, again = import_file(t, file), import_file(t, file)
        assert (once.messages, again.messages) == (4, 0)
        assert once.dialogs == again.dialogs == ["r"]


def test_a_recorded_exchange_keeps_the_provider_of_its_address(tmp_path: Path) -> None:
    """What the file shows and what is recorded are read by the same provider."""
    request = {"model": "m", "messages": [{"role": "user", "content": [{**HELLO, "type": "x"}]}]}
    exchange = {
        "url": "https://api.anthropic.com/v1/messages",
        "request": request,
        "response": None,
    }
    file = tmp_path / "log.jsonl"
    file.write_text(json.dumps(exchange) + "\n")
    with Tract.open() as t:
        once, again = import_file(t, file), import_file(t, file)
        assert (once.messages, once.dialogs) == (1, ["log"])
        assert (again.messages, again.dialogs) == (0, ["log"])
