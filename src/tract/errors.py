"""The errors, as one small tree.

    TractError
    ├── InputError               an argument cannot be accepted
    │   ├── NotJsonError         NaN, a key that is not a string, too deep, a type JSON lacks
    │   ├── RoleError            a role that is unknown or does not fit
    │   ├── ToolSchemaError      a tool definition that is invalid, or not for this provider
    │   ├── EditError            a commit that cannot be edited, marked or restored
    │   └── CompressError        messages that cannot be compressed, or not alone
    ├── NotFoundError            a name that does not exist
    │   ├── CommitNotFoundError
    │   ├── AmbiguousPrefixError a prefix of several commits
    │   ├── BranchNotFoundError
    │   ├── ResultNotFoundError  an id that no result of this dialog has
    │   └── DialogNotFoundError
    ├── ConflictError            another writer was first
    ├── AccessError              a server refuses: no token, or one that does not allow this
    ├── ForgottenError           the content was forgotten on purpose
    ├── LLMError                 a model is needed and gave no usable answer
    │   ├── NoLLMError           none is configured
    │   ├── LLMCallError         the call failed or broke off
    │   └── LLMAnswerError       its answer cannot be used
    ├── HandlerError             a handler failed; the result is kept
    ├── StorageError             the database failed
    │   ├── CorruptError         stored bytes do not match their hash
    │   │   └── UnreadableError  the file is damaged, or the disk cannot read it
    │   ├── SchemaError          a database of a newer tract, or of something else
    │   ├── ReadOnlyError
    │   ├── DiskError            the disk failed to read or to write
    │   ├── DiskFullError
    │   ├── BusyError            another process holds the lock for too long
    │   ├── ObjectStoreError     the object store with large contents failed, or is not configured
    │   └── ScrubError           erased from the history; old bytes are still in the file
    └── MissingExtraError        an optional dependency is not installed

Every message carries the fact: the hash, the name, the number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tract.model import ForgetResult


class TractError(Exception):
    """The base of all errors that tract raises on purpose."""


class InputError(TractError, ValueError):
    """An argument cannot be accepted; nothing was written."""


class NotJsonError(InputError):
    """A value that JSON cannot represent exactly."""


class RoleError(InputError):
    """A role that is unknown, or does not fit where it is used."""


class ToolSchemaError(InputError):
    """A tool definition that is invalid, or that a provider has no equivalent for."""


class EditError(InputError):
    """A commit that cannot be edited, marked or restored."""


class CompressError(InputError):
    """Messages that cannot be compressed, or not without others."""


class NotFoundError(TractError, LookupError):
    """A name that does not exist."""


class CommitNotFoundError(NotFoundError):
    """No commit of this dialog has that hash."""


class AmbiguousPrefixError(NotFoundError):
    """A prefix that several commits share."""


class BranchNotFoundError(NotFoundError):
    """No branch of this dialog has that name."""


class ResultNotFoundError(NotFoundError):
    """No result of this dialog has that id."""


class DialogNotFoundError(NotFoundError):
    """No dialog of this database has that name."""


class ConflictError(TractError):
    """Another writer was first; nothing was written."""


class AccessError(TractError):
    """A server refuses the request: the token is missing, unknown, or does not allow this."""


class ForgottenError(TractError):
    """The content was forgotten on purpose; only its tombstone is left."""


class LLMError(TractError):
    """A model is needed and gave no usable answer; nothing was written."""


class NoLLMError(LLMError):
    """No model is configured."""


class LLMCallError(LLMError):
    """The call of the model failed or broke off."""


class LLMAnswerError(LLMError):
    """The model answered with something that cannot be used."""


class HandlerError(TractError):
    """A handler failed, took too long or called itself. The result is kept."""


class StorageError(TractError):
    """The database failed."""


class CorruptError(StorageError):
    """Stored bytes do not match their hash."""


class SchemaError(StorageError):
    """A database that this version of tract does not understand."""


class ReadOnlyError(StorageError):
    """The database cannot be written to."""


class DiskError(StorageError):
    """The disk failed to read or to write. This says nothing about what is stored."""


class UnreadableError(CorruptError, DiskError):
    """The file is damaged, or the disk cannot read it: SQLite reports both as damage. It is both a
    CorruptError and a DiskError, so handle it before these. `fsck` raises DiskError if the disk is
    the cause, as far as SQLite tells."""


class DiskFullError(StorageError):
    """There is no room left; the transaction was rolled back."""


class BusyError(StorageError):
    """Another process holds the lock for too long."""


class ObjectStoreError(StorageError):
    """The object store, where large contents are, failed or is not configured. This says nothing
    about what is stored; a write that needed it wrote nothing."""


class ScrubError(StorageError):
    """Everything is erased from the history, but old bytes stay in the database file, which could
    not be rewritten. Forget again: it is safe to repeat."""

    def __init__(self, fact: str, result: ForgetResult) -> None:
        super().__init__(fact)
        self.result = result
        """What was erased, and where copies remain."""


class MissingExtraError(TractError, ImportError):
    """An optional dependency is not installed."""
