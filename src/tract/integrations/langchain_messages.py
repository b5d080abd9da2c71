"""LangChain's messages as ours, and back without loss.

What a message of ours cannot say stands in the metadata of its commit, under `langchain`: only the
fields that differ from what the message itself becomes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from tract.core.drafts import Details
from tract.core.entries import Entry, annotate
from tract.errors import InputError
from tract.extras import missing_extra
from tract.model import Block, CommitInfo, Json, Message, Raw, Text, ToolCall
from tract.providers.frameworks.langchain import BESIDE
from tract.providers.frameworks.lists import LoadedList, Reader
from tract.providers.requests import Loaded, tools_of
from tract.tract import Tract

try:
    from langchain_core.documents import Document
    from langchain_core.load import dumpd
    from langchain_core.messages import BaseMessage, convert_to_messages, messages_from_dict
except ModuleNotFoundError as error:
    raise missing_extra("LangChain", "langchain") from error

NAME = "langchain"
KINDS = {"user": "human", "assistant": "ai"}
DOCUMENTS = "langchain_documents"
"""The key of an artifact that is a list of documents, as retrievers return it."""
MISSING = object()


def load(messages: Sequence[BaseMessage], tools: Sequence[Any] | None = None) -> LoadedList:
    """Read messages, each as exactly one of ours, with the tools that the model has."""
    reader = Reader(NAME)
    pairs = [_load(reader, message) for message in messages]
    loaded = Loaded([message for message, _ in pairs], tools_of(tools), {}, "")
    return LoadedList(loaded, [details for _, details in pairs])


def _load(reader: Reader, message: BaseMessage) -> tuple[Message, Details]:
    fields = _dump(message)
    pairs = _pairs(reader, fields)
    ours, details = pairs[0] if len(pairs) == 1 else (_as_it_is(fields), Details())
    metadata, usage = details.metadata or {}, details.usage
    rest = _rest(fields, ours, metadata, usage)
    metadata = {**metadata, NAME: rest} if rest else metadata
    return ours, replace(details, metadata=metadata or None)


def _pairs(reader: Reader, fields: dict[str, Json]) -> list[tuple[Message, Details]]:
    """What the reader makes of a message; nothing if it cannot read all of it, or calls stand where
    only answers have them."""
    items = list(reader.take(fields, "message"))
    entries = [item for item in items if isinstance(item, Entry)]
    pairs = [pair for entry in entries for pair in annotate(entry, None)]
    is_legal = all(ours.role == "assistant" or not ours.tool_calls for ours, _ in pairs)
    return pairs if len(entries) == len(items) and is_legal else []


def _dump(message: BaseMessage) -> dict[str, Json]:
    fields = message.model_dump()
    artifact = getattr(message, "artifact", None)
    if artifact is not None and not _is_json(artifact):
        fields["artifact"] = _dump_artifact(artifact)
    return fields


def _dump_artifact(artifact: Any) -> Json:
    """Documents as such; any other object as LangChain describes it, which does not come back."""
    if isinstance(artifact, list) and all(isinstance(item, Document) for item in artifact):
        return {DOCUMENTS: [item.model_dump() for item in artifact]}
    return dumpd(artifact)


def _is_json(value: Any) -> bool:
    """Whether JSON has the value, exactly."""
    try:
        return bool(json.loads(json.dumps(value, allow_nan=False)) == value)
    except (TypeError, ValueError, RecursionError):
        return False


def _as_it_is(fields: dict[str, Json]) -> Message:
    """A message with blocks that no provider has: texts and calls as such, the rest unread."""
    kind, content = fields["type"], fields["content"]
    roles = {"human": "user", "system": "system", "tool": "tool", "function": "tool"}
    role = roles.get(kind.removesuffix("MessageChunk").lower(), "assistant")
    if role == "tool":
        name, is_error = fields.get("name"), fields.get("status") == "error"
        return Message("tool", content, fields.get("tool_call_id") or "", name, is_error)
    parts = content if isinstance(content, list) else [content]
    calls = [ToolCall(call["id"] or "", call["name"], call["args"]) for call in _calls(fields)]
    return Message(role, (*map(_block, parts), *calls))


def _calls(fields: dict[str, Json]) -> list[dict[str, Json]]:
    return [call for call in fields.get("tool_calls") or () if call["name"]]


def _block(part: Json) -> Block:
    return Text(part) if isinstance(part, str) else Raw(NAME, part)


def _rest(
    fields: dict[str, Json],
    message: Message,
    metadata: dict[str, Json],
    usage: dict[str, Json] | None,
) -> dict[str, Json]:
    """What our message and its details do not say; of a rare type, all beside the content. A result
    without a name says so, because a commit names it after its call."""
    plain = _build(_fields(message, metadata, usage)).model_dump()
    is_rare = fields["type"] != plain["type"]
    keys = [key for key in fields if plain.get(key, MISSING) != fields[key]]
    keys = [key for key in fields if is_rare and key != "content"] + keys
    keys += ["name"] if message.role == "tool" and not fields["name"] else []
    return {key: fields[key] for key in dict.fromkeys(keys)}


def to_langchain(message: Message, info: CommitInfo | None = None) -> BaseMessage:
    """A message as LangChain has it, with what the commit keeps of the original."""
    if info is None:
        return _build(_fields(message, {}, None))
    rest = info.metadata.get(NAME) or {}
    fields = _fields(message, info.metadata, info.usage)
    fields = {"content": fields["content"], **rest} if "type" in rest else fields | rest
    artifact = fields.get("artifact")
    if isinstance(artifact, dict) and set(artifact) == {DOCUMENTS}:
        fields["artifact"] = [Document(**item) for item in artifact[DOCUMENTS]]
    return _build(fields)


def _build(fields: dict[str, Json]) -> BaseMessage:
    [message] = messages_from_dict([{"type": fields["type"], "data": fields}])
    return message


def _fields(
    message: Message, metadata: dict[str, Json], usage: dict[str, Json] | None
) -> dict[str, Json]:
    """What a message is to LangChain, as far as ours says it."""
    fields: dict[str, Json] = {"type": KINDS.get(message.role, message.role)}
    fields["content"] = _content(message)
    if message.role == "tool":
        status = "error" if message.is_error else "success"
        fields |= {"tool_call_id": message.tool_call_id or "", "status": status}
    if message.role == "assistant":
        fields["tool_calls"] = [
            {"name": call.name, "args": call.arguments, "id": call.id, "type": "tool_call"}
            for call in message.tool_calls
            if isinstance(call.arguments, dict)
        ]
        fields["usage_metadata"] = usage if _is_usage(usage) else None
    fields |= {"name": message.name} if message.name else {}
    return fields | {key: metadata[key] for key in BESIDE if key in metadata}


def _is_usage(usage: dict[str, Json] | None) -> bool:
    """Whether it has the form of LangChain; a provider's own is in `response_metadata`."""
    return usage is not None and {"input_tokens", "output_tokens", "total_tokens"} <= set(usage)


def _content(message: Message) -> Json:
    """A text, or a list of parts. The calls stand beside it."""
    if message.role == "tool":
        content = message.content
        return content if isinstance(content, str | list) else message.text
    parts = [_part(block) for block in message.blocks if not isinstance(block, ToolCall)]
    if all(isinstance(block, Text) for block in message.blocks[: len(parts)]) and len(parts) < 2:
        return message.text
    return parts


def _part(block: Block) -> Json:
    return {"type": "text", "text": block.text} if isinstance(block, Text) else block.data  # type: ignore[union-attr]


def stored_messages(t: Tract) -> list[BaseMessage]:
    """The messages of the branch as they came, with their changes: what was edited, skipped or
    summarized in tract is so here."""
    context = t.compile(load_tool_results=True)
    infos = {info.commit_hash: info for info in t.log()}
    pairs = zip(context.messages, context.commit_hashes, strict=True)
    return [to_langchain(message, infos.get(name)) for message, name in pairs]


def sent_messages(messages: Iterable[dict[str, Json]]) -> list[BaseMessage]:
    """Messages for Chat Completions, which providers accept, as LangChain's."""
    return convert_to_messages(list(messages))


def rejects(messages: Sequence[BaseMessage]) -> bool:
    """Whether providers reject the messages: a call has no result, or a result no call."""
    waiting: set[str | None] = set()
    for message in messages:
        if message.type == "tool":
            call_id = getattr(message, "tool_call_id", None)
            if call_id not in waiting:
                return True
            waiting.remove(call_id)
            continue
        if waiting:
            return True
        waiting = {call["id"] for call in calls_of(message)}
    return bool(waiting)


def calls_of(message: BaseMessage) -> list[Any]:
    """The calls of an answer, with those whose arguments are not JSON. Other messages are not asked
    for what they do not have: pydantic answers that slowly."""
    if message.type != "ai" and message.type != "AIMessageChunk":
        return []
    return [*getattr(message, "tool_calls", ()), *getattr(message, "invalid_tool_calls", ())]


def check_messages(messages: Sequence[Any]) -> None:
    """Refuse what is not a message, such as a dict."""
    for message in messages:
        if not isinstance(message, BaseMessage):
            raise InputError(f"not a message of LangChain: {message!r:.80}")
