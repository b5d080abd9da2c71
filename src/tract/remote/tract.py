"""`Tract` over HTTP: the same methods, carried out by a server."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Hashable, Iterator, Mapping
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Any, Self

from msgspec import to_builtins

from tract.content.terms import Terms
from tract.errors import ConflictError, DialogNotFoundError, InputError
from tract.importers.writer import Imported, Reading, write_items
from tract.llm import LLMClient, check_client
from tract.model import DialogInfo, Message
from tract.providers import toolsets
from tract.remote import wire
from tract.remote.items import pack_lines
from tract.remote.operations import BY_NAME, OPERATIONS, Operation
from tract.remote.session import RemoteSession
from tract.remote.transport import TIMEOUT, Transport
from tract.remote.values import Hello
from tract.session import handlers
from tract.session.session import Commit, check_name
from tract.storage.search import Filters, Hit
from tract.tokens import TokenCounter, token_counter
from tract.tract import Tract

HERE = ("diff_tools",)
"""Methods of which an argument may be what was compiled here."""
WITH_MODEL = ("compress", "compress_tool_calls", "summarize_tool_result")
"""Methods that ask a model. If this process has one, it does their work."""


class RemoteTract(Tract):
    """One dialog of a server. It has the methods of `Tract`; a model, handlers and reviews are
    those of this process."""

    session: RemoteSession

    def __init__(self, session: RemoteSession) -> None:
        super().__init__(session)

    def sibling(self, dialog: str) -> Self:
        """Open another dialog of the same server, with the same model. It needs no `close()`."""
        check_name("dialog", dialog)
        return type(self)(self.session.sibling(dialog))

    @property
    def identity(self) -> Hashable:
        """Equal for all that are open on one server."""
        return self.session.server.url

    @property
    def lane(self) -> Hashable:
        """Equal for all that share their batches."""
        return self.session.replica.lane

    @property
    def head(self) -> str | None:
        """The hash of the newest commit; None if there is none."""
        head = self.session.head()
        return head.hash.hex() if head.hash else None

    def search(
        self,
        text: str,
        *,
        all_dialogs: bool = False,
        tool: str | None = None,
        role: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        project: str | None = None,
        errors: bool = False,
        order: str = "newest",
    ) -> Iterator[Hit]:
        """Find the commits whose content has all words of the text, on the server."""
        Terms(text)  # an empty one is an error before the first hit is asked for
        filters = Filters.of(tool, role, since, until, project, errors)
        fields = {name: value for name, value in to_builtins(filters).items() if value}
        name = "search_all" if all_dialogs else "search"
        return self.session.pages(BY_NAME[name], {"text": text, "order": order, **fields})

    def dialogs(self, search: str = "") -> list[DialogInfo]:
        """List the dialogs of the server that the token may use. With `search`, those whose name,
        title, folder and model contain all of its words."""
        infos = self.session.pages(BY_NAME["dialogs"], {"search": search} if search else {})
        return sorted(infos, key=lambda info: info.created_at)  # as a database lists them

    def delete_dialog(self, name: str | None = None) -> None:
        """Delete a dialog, by default this one, with everything that no other dialog uses."""
        other = self if name in (None, self.dialog) else self.sibling(name or "")
        other.session.call(BY_NAME["delete_dialog"], {})

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the database of the server to a new SQLite file here, while others keep writing."""
        if Path(path).exists():
            raise ConflictError(f"{os.fspath(path)} exists already")
        part = Path(f"{os.fspath(path)}.part")
        with self.session.server.stream(BY_NAME["backup"], {}) as pieces, part.open("xb") as file:
            for piece in pieces:
                file.write(piece)
        part.replace(path)

    def get_message(self, commit: Commit) -> Message:
        """Return the message of a commit."""
        return wire.unpack_message(self.session.call(BY_NAME["get_message"], {"commit": commit}))

    def token_factor(self, model: str | None = None) -> float:
        """Return how many tokens a model really reads for each token counted here, by the usage of
        its newest answers on this branch; 1.0 if none reports usage."""
        name = model or (self.llm.model if self.llm else "")
        factor: float = self.session.call(BY_NAME["token_factor"], {"model": name})
        return factor

    def configure_tool_summarization(
        self, config: Mapping[str, str] | None = None, **settings: Any
    ) -> None:
        """See `Tract.configure_tool_summarization`. The summaries are made by this process."""
        operation = BY_NAME["configure_tool_summarization"]
        self.session.call(operation, settings if config is None else {"config": config, **settings})
        handlers.restore_settings(self)


def connect(
    url: str,
    *,
    token: str | None = None,
    dialog: str = "default",
    llm: LLMClient | None = None,
    create: bool = True,
    timeout: float = TIMEOUT,
    tokens: str | None = None,
) -> RemoteTract:
    """Open a dialog of a tract server (`tract serve`). The token may also stand in the URL, before
    an `@`. With `create=False`, a missing dialog is an error. `tokens` names a token counter, by
    default that of the server."""
    check_name("dialog", dialog)
    check_client(llm)
    server = Transport(url, token, timeout=timeout)
    try:
        hello: Hello = wire.convert(server.call(BY_NAME["hello"], {}).value, Hello)
        session = RemoteSession(server, dialog, tokens=_counter(tokens or hello.tokens), llm=llm)
        if not create and not session.is_there():
            known = ", ".join(info.dialog for info in session.store.dialogs.infos()[:5])
            raise DialogNotFoundError(
                f"no dialog {dialog!r} on this server; it has {known or 'none yet'}"
            )
        return RemoteTract(session)
    except BaseException:
        server.close()
        raise


@write_items.register(RemoteTract)
def _(
    database: RemoteTract,
    reading: Reading,
    *,
    dialog: str | None = None,
    covers: Callable[[str], bool] | None = None,
) -> Imported:
    """What is read here is written there."""
    assert covers is None, "the server knows what the token covers"
    fields = {"path": reading.path, "format": reading.format, "own_name": reading.own_name}
    lines = pack_lines(reading.items)
    operation = BY_NAME["import_items"]
    imported: Imported = database.session.call(operation, fields | {"dialog": dialog}, lines)
    return imported


def _counter(name: str) -> TokenCounter:
    """The counter of the server, so that both count alike; else the one that is installed."""
    try:
        return token_counter(name)
    except (InputError, ImportError):
        return token_counter(None)


def _remote(operation: Operation) -> Callable[..., Any]:
    """The method of `Tract`, carried out by the server."""
    local = getattr(Tract, operation.name)
    signature = inspect.signature(local)
    several = [p.name for p in signature.parameters.values() if p.kind == p.VAR_POSITIONAL]
    options = [p.name for p in signature.parameters.values() if p.kind == p.VAR_KEYWORD]

    takes_tools = operation.name != "configure_results"  # its tools are settings

    @wraps(local)
    def method(self: RemoteTract, *args: Any, **kwargs: Any) -> Any:
        fields = dict(signature.bind(self, *args, **kwargs).arguments)
        del fields["self"]
        for name in options:
            fields |= fields.pop(name, {})
        if several and not fields.get(several[0]):
            fields.pop(several[0], None)
        if kwargs.get("review") or (operation.name in WITH_MODEL and self.llm is not None):
            return local(self, *args, **kwargs)
        if takes_tools and fields.get("tools") is not None:  # refused here, with what is wrong
            toolsets.make(fields["tools"], self.tokens)
        call = self.session.pages if operation.is_paged else self.session.call
        return call(operation, fields)

    return method


for _operation in OPERATIONS:
    if hasattr(Tract, _operation.name) and _operation.name not in (*vars(RemoteTract), *HERE):
        setattr(RemoteTract, _operation.name, _remote(_operation))
