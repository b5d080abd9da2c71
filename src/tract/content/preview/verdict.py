"""Whether a result reports a failure."""

from __future__ import annotations

import re

from tract.content.preview import finders
from tract.content.preview.body import (
    Body,
    are_blocks,
    block_text,
    body_of,
    exit_field,
    object_in,
)
from tract.content.preview.evidence import NONE, Evidence, evidence_of
from tract.content.preview.lines import Finding
from tract.model import Json, ToolCall

_FLAGS = {"isError": True, "is_error": True, "success": False, "ok": False, "succeeded": False}
_BAD = {"error", "errored", "fail", "failure", "exception"}
_GOOD = {"ok", "success", "succeeded", "passed", "completed"}
_NO_ERROR = {"", "none", "(none)", "null", "nil", "false", "no", "no error", "ok", "0"}
_REASONS = ("error", "message", "reason", "detail")
_BESIDE_ERRORS = {"errors", "data", "message", "messages", "extensions", "documentation_url"}


_UNREAD = re.compile(
    r"(?:cat|head|tail|sed|less|more|nl|bat): [^\n]{1,300}: [A-Z]|(?:Error|ERROR|error)\b[: ]"
    r"|ENOENT"
    r"|[^\n]{0,100}(?:No such file or directory|does not exist|not found)[^\n]{0,200}\Z"
)
"""What a tool returns for a file that it could not read."""


def has_failed(content: Json, call: ToolCall | None = None) -> bool:
    body, evidence = body_of(content), evidence_of(call)
    return is_failure(content, body, None, evidence)


def is_failure(
    content: Json, body: Body, finding: Finding | None, evidence: Evidence = NONE
) -> bool:
    """The verdict of the value counts first, then an exit code, then what the text says."""
    fields = _fields_of(content)
    if isinstance(fields, dict):
        return _reports_failure(fields) or bool(body.code)
    if body.code is not None:
        return body.code != 0
    if body.form != "text":
        return False
    if evidence.is_read:
        return len(body.text) < 600 and _UNREAD.match(body.text) is not None
    if finding is None and not body.text[:100].lstrip().startswith(("{", "[")):
        finding = finders.find_in(body, evidence)
    return finding is not None and finding.has_failed


def _fields_of(content: Json) -> Json:
    if isinstance(content, list | tuple) and are_blocks(content):
        texts = [text for block in content if (text := block_text(block)) is not None]
        return _fields_of(texts[0]) if len(texts) == 1 else None
    return object_in(content) if isinstance(content, str) else content


def _reports_failure(fields: dict[str, Json], depth: int = 3) -> bool:
    """An explicit verdict counts first, an error message only without one."""
    verdict = _verdict(fields)
    if verdict is not None:
        return verdict
    if _is_message(fields.get("error")) or _are_errors_alone(fields):
        return True
    (only,) = fields.values() if len(fields) == 1 else (None,)
    return isinstance(only, dict) and depth > 0 and _reports_failure(only, depth - 1)


def _verdict(fields: dict[str, Json]) -> bool | None:
    """Failed, not failed, or None."""
    flags = {key: bad for key, bad in _FLAGS.items() if isinstance(fields.get(key), bool)}
    verdicts = [fields[key] is bad for key, bad in flags.items()]
    code = exit_field(fields)
    by_code = None if code is None else code != 0
    by_type = True if fields.get("type") == "error" else None
    verdicts += [fate for fate in (by_code, _fate(fields), by_type) if fate is not None]
    return any(verdicts) if verdicts else None


def _fate(fields: dict[str, Json]) -> bool | None:
    """What `status` means: a word, or the number of an HTTP response."""
    value = fields.get("status")
    if isinstance(value, int) and not isinstance(value, bool):
        return True if 400 <= value < 600 else None
    word = value.lower() if isinstance(value, str) and len(value) < 20 else ""
    # A failure of the tool itself comes with a reason; a build that it asked about may not.
    if word in _BAD or (word == "failed" and any(_is_message(fields.get(k)) for k in _REASONS)):
        return True
    return False if word in _GOOD else None


def _is_message(value: Json) -> bool:
    """A text or facts about an error. A number is none: it may count errors, or measure one."""
    if isinstance(value, dict):
        return any(_is_filled(child) for child in value.values())
    if isinstance(value, list):
        return any(map(_is_filled, value))
    return value is True or (isinstance(value, str) and _is_filled(value))


def _is_filled(value: Json) -> bool:
    return value.strip().lower() not in _NO_ERROR if isinstance(value, str) else bool(value)


def _are_errors_alone(fields: dict[str, Json]) -> bool:
    """Errors instead of a result. Next to a result they are what a checker reports."""
    errors = fields.get("errors")
    alone = fields.keys() <= _BESIDE_ERRORS and not fields.get("data")
    return alone and isinstance(errors, list | dict) and bool(errors)
