"""Results that a hook stored in full. A transcript has only the references that replaced them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from tract.compiler import Compiler
from tract.core.chain import FULL, Place
from tract.core.forms import Shown
from tract.core.sessions import results_dialog
from tract.core.wording import GET_TOOL_RESULT, former_reference
from tract.errors import ForgottenError
from tract.model import Form, Json
from tract.session import Session

NOTES = 500
"""Characters that an agent may add to a reference."""
_SPELLING = re.compile(rf"[\w.-]*{GET_TOOL_RESULT}")
_NUMBER = re.compile(r"^\s*\d+[\t→]", re.MULTILINE)
_FETCH = re.compile(rf'{GET_TOOL_RESULT}\(id=\\?"([^"\\\n]+)\\?"\)')


class HookedResults:
    """The results of the sessions with these names."""

    def __init__(
        self,
        session: Session,
        names: Iterable[str],
        covers: Callable[[str], bool] | None = None,
    ) -> None:
        """`covers` says which dialogs may be read; all, if there is none."""
        self._session = session
        dialogs = dict.fromkeys(map(results_dialog, map(_session, names)))
        self._names = list(filter(covers, dialogs)) if covers else list(dialogs)

    @cached_property
    def _by_label(self) -> dict[str, tuple[Session, Place]]:
        """The results that were replaced. They are read when a text looks like a reference."""
        known: dict[str, tuple[Session, Place]] = {}
        for name in self._names:
            if self._session.store.dialogs.has(name):
                session = self._session.sibling(name)
                for place in session.chain().places:
                    if place.shape is not None and place.shape.form == Form.REFERENCE:
                        known.setdefault(place.label, (session, place))
        return known

    def full(self, text: str) -> Json:
        """The result that a reference stands for; None if the text is none, or of no result that
        is known."""
        labels = _FETCH.findall(text)
        if not labels or labels[-1] not in self._by_label:
            return None
        session, place = self._by_label[labels[-1]]
        try:
            references = _references(session.compiler, place)
            is_one = any(_is(text, reference) for reference in references)
            return session.compiler.load(place.shown).content if is_one else None
        except ForgottenError:
            return None


def _references(compiler: Compiler, place: Place) -> Iterator[str]:
    """What hooks sent instead of a result, in this version and in earlier ones."""
    shape = place.shape or FULL
    [(shown, _)] = compiler.render([Shown(place, shape)])
    yield shown.text
    for gist in compiler.gists([place], {}).values():
        yield former_reference(place, gist, shape)


def _session(name: str) -> str:
    """The session in the name of a dialog. A file with many sessions is part of their names."""
    return name.rpartition("/")[2] or name


def _is(text: str, reference: str) -> bool:
    """Whether a text is a reference and not one that quotes it. Agents number the lines of a file,
    put it into JSON, spell the fetching tool in their own way, and add short notes."""
    plain = _SPELLING.sub(GET_TOOL_RESULT, text)
    if len(plain) > 2 * len(reference) + NOTES:
        return False
    forms = [reference, *(json.dumps(reference, ensure_ascii=x)[1:-1] for x in (True, False))]
    return any(form in plain for form in forms) or reference in _NUMBER.sub("", plain)
