"""Which dialogs a connection may use: one, those of a client's session, or those of a token."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from tract.core.sessions import results_dialog, session_of
from tract.core.transcript import dialog_name
from tract.errors import NotFoundError
from tract.model import DialogInfo

SESSION_VARIABLES = ("CLAUDE_CODE_SESSION_ID", "COPILOT_AGENT_SESSION_ID")
"""What clients put into the environment of the servers that they start."""
SESSION_KEYS = ("sessionId", "threadId")
"""What clients send with each call. Codex clears the environment and sends both."""
OTHERS = 8
"""So many other sessions of a directory are asked for an id. A client may start a session without
starting its servers anew, such as Claude Code at /clear."""


class Caller(NamedTuple):
    """Who calls: what the client sent with the call, and the HTTP request, if there is one."""

    meta: Mapping[str, Any]
    request: Any = None


class Binding(NamedTuple):
    """The dialogs of a call."""

    dialogs: Sequence[str]
    """They are read in this order: the first that has an id answers."""
    writes: str | None
    """Where results are stored; None if the caller may only read."""
    others: Callable[[], Iterable[str]] = tuple
    """Dialogs that are asked only for an id that the first ones do not have."""


Bind = Callable[[Caller], Binding]
Infos = Callable[[], Sequence[DialogInfo]]


def dialog_binding(dialog: str) -> Binding:
    return Binding((dialog,), dialog)


def session_binding(sessions: Sequence[str], infos: Infos, folder: str | None = None) -> Binding:
    """The dialogs of a session: what a hook stored, then its transcript. Its sub-agents are asked
    for ids, and the last sessions of the directory, if there is one."""
    own = [name for each in sessions for name in (results_dialog(each), dialog_name(each))]

    def others() -> list[str]:
        known = infos()
        agents = [info.dialog for info in known if info.facts.parent in own]
        last = islice(_sessions_in(folder, known), OTHERS) if folder else ()
        near = [name for each in last for name in (results_dialog(each), dialog_name(each))]
        return [name for name in dict.fromkeys((*agents, *near)) if name not in own]

    return Binding(tuple(dict.fromkeys(own)), own[0], others)


class SessionFinder:
    """Binds each call to the session that made it: by what the client sends with the call, else by
    the environment, else by the directory. Reports whenever that is another session."""

    def __init__(
        self,
        infos: Infos,
        environment: Mapping[str, str],
        folder: str,
        report: Callable[[str], None],
    ) -> None:
        self._infos = infos
        self._environment = environment
        self._folder = folder
        self._report = report
        self._reported = ""

    def __call__(self, caller: Caller) -> Binding:
        sessions, source = self._find(caller)
        line = f"session {sessions[0]}, from {source}"
        if line != self._reported:
            self._reported = line
            self._report(line)
        return session_binding(sessions, self._infos, self._folder)

    def _find(self, caller: Caller) -> tuple[list[str], str]:
        sent = [caller.meta.get(key) for key in SESSION_KEYS]
        ids = list(dict.fromkeys(value for value in sent if isinstance(value, str) and value))
        if ids:
            return ids, "the call"
        for variable in SESSION_VARIABLES:
            if value := self._environment.get(variable):
                return [value], variable
        newest = next(iter(_sessions_in(self._folder, self._infos())), None)
        if newest is None:
            raise NotFoundError(
                f"no session of {self._folder} is stored, and the client names none: "
                "start tract mcp with --session ID or --dialog ID"
            )
        return [newest], f"the newest of {self._folder}"


def _sessions_in(folder: str, infos: Iterable[DialogInfo]) -> list[str]:
    """The sessions that worked in a directory, newest first."""
    own = [info for info in infos if _is_session(info) and _is_same(info, folder)]
    own.sort(key=lambda info: info.updated_at or info.created_at, reverse=True)
    return list(dict.fromkeys(session_of(info.dialog) for info in own))


def _is_session(info: DialogInfo) -> bool:
    """Whether a dialog is not one of a sub-agent: the results of a session name it as parent."""
    return info.facts.parent in (None, dialog_name(session_of(info.dialog)))


def _is_same(info: DialogInfo, folder: str) -> bool:
    known = info.facts.folder
    return known is not None and os.path.normpath(known) == os.path.normpath(folder)
