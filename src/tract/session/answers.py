"""Answers of the model to the history of a session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from msgspec.structs import replace

from tract.core import drafts
from tract.core.drafts import Details
from tract.errors import ConflictError, InputError, LLMAnswerError, NoLLMError
from tract.llm import LLMClient, OnText, check_client, response
from tract.llm.response import ChatResponse
from tract.model import AnswerUsage, Draft, Json, Message, Toolset
from tract.providers import as_dict, known_names, load_message, toolsets
from tract.session.commits import message_of, set_tools
from tract.session.session import Session

NO_MODEL = (
    "no model is configured: open the dialog with llm=, as in "
    'Tract.open(…, llm=tract.llm.connect("anthropic:MODEL")), or set t.llm'
)
NO_TOOLS = Toolset(b"")
CALIBRATED_BY = 1000
"""The number of the newest commits whose usage calibrates the token counts."""


def client_of(session: Session) -> LLMClient:
    """Return the client of the model, or refuse."""
    if session.llm is None:
        raise NoLLMError(NO_MODEL)
    check_client(session.llm)
    with session.lock:  # wait for another thread's batch
        if session.store.depth:
            raise ConflictError("inside a batch no model is asked: others could not write")
    return session.observer.watched(session.llm) if session.observer else session.llm


def user_drafts(session: Session, text: str | list[Json]) -> list[Draft]:
    """Draft a user message."""
    content = message_of("user", text)
    messages = [content] if isinstance(content, Message) else load_message(as_dict(content))
    if any(message.role != "user" for message in messages):
        raise InputError("results of tools are committed by tool_result(), then generate()")
    return [drafts.append(message, Details(), session.tokens) for message in messages]


def answer(
    session: Session,
    unsent: Sequence[Draft],
    tools: Sequence[Any] | None,
    details: Details,
    on_text: OnText | None,
) -> ChatResponse:
    """Ask the model, and commit its answer after the `unsent` messages."""
    drafts.check_details(details)
    config = details.generation_config or {}
    client = client_of(session)
    toolset = None if tools is None else toolsets.make(tools, session.tokens)
    with session.lock:
        session.check_on_branch()
        branch, head = session.branch, session.head()
        chain = session.chain(head)
        messages, tools_then = len(chain.appended_steps()), chain.toolset
        context = session.compiler.compile(
            head,
            fetches=session.settings.is_lazy,
            toolset=toolset,
            following=[(draft.message, draft.token_count) for draft in unsent if draft.message],
        )
    if not context.messages:
        raise InputError("nothing to answer: the history is empty")
    answer = response.parse(client.complete(context, config=config, on_text=on_text))
    message = known_names(answer.message, context.tokens_by_tool)
    answer = answer._replace(message=message)
    details = replace(
        details,
        metadata=response.metadata(answer, context.token_count, details.metadata),
        generation_config={"model": client.model, **config},
        usage=answer.usage,
        toolset=context.toolset,
    )
    try:
        draft = drafts.append(message, details, session.tokens)
    except InputError as error:
        raise LLMAnswerError(f"the model's answer cannot be kept: {error}") from error
    with session.batch():
        _check_unmoved(session, branch, messages)
        tools_now = session.chain().toolset
        commit = session.write_all([*unsent, draft])
        if tools_now != tools_then:  # somebody has set other tools, which are meant to stay
            set_tools(session, (session.compiler.toolset(tools_now) or NO_TOOLS).schemas)
    return response.response(answer, commit)


def _check_unmoved(session: Session, branch: str, messages: int) -> None:
    """Refuse an answer if the branch got other messages meanwhile."""
    session.check_branch(branch)
    _, head = session.lock_branch()
    new = len(session.chain(head).appended_steps()) - messages
    if new:
        count = f"{new} message{'s' * (new != 1)}"
        raise ConflictError(f"{count} came to the branch while the model was answering")


def usages(session: Session) -> Iterator[AnswerUsage]:
    """See `Tract.usages`."""
    infos = session.store.usages(session.dialog) if session.is_there() else ()
    yield from map(response.answer_usage, infos)


def token_factor(session: Session, model: str | None = None) -> float:
    """See `Tract.token_factor`."""
    name = model or (session.llm.model if session.llm else "")
    log = session.store.log(session.head().id)
    return response.token_factor(islice(log, CALIBRATED_BY), name)
