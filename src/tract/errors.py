"""What can go wrong, as one small tree.

    TractError
    ├── InputError               what was given cannot be taken
    │   ├── NotJsonError         NaN, a key that is no string, too deep, a type JSON lacks
    │   ├── RoleError            a role that is unknown or does not fit
    │   ├── ToolSchemaError      a tool definition that nobody, or not this provider, can take
    │   ├── EditError            a commit that cannot be edited, marked or restored
    │   └── CompressError        messages that cannot be compressed, or not alone
    ├── NotFoundError            a name that names nothing
    │   ├── CommitNotFoundError
    │   ├── AmbiguousPrefixError a prefix that names several commits
    │   ├── BranchNotFoundError
    │   ├── ResultNotFoundError  an id that no result of this dialog has
    │   └── DialogNotFoundError
    ├── ConflictError            somebody else was there first
    ├── ForgottenError           the content was forgotten on purpose
    ├── LLMError                 a model is needed, and there is no answer to go on with
    │   ├── NoLLMError           none is configured
    │   ├── LLMCallError         it could not be asked, or broke off
    │   └── LLMAnswerError       its answer cannot be used
    ├── HandlerError             a handler failed; the result that it was given is kept
    ├── StorageError             the database cannot do what it was asked
    │   ├── CorruptError         stored bytes do not match their hash
    │   ├── SchemaError          a database of a newer tract, or of something else
    │   ├── ReadOnlyError
    │   ├── DiskFullError
    │   └── BusyError            another process holds the lock for too long
    └── MissingExtraError        an optional dependency is not installed

Every message carries the fact: the hash, the name, the number.
"""


class TractError(Exception):
    """Whatever tract raises on purpose."""


class InputError(TractError, ValueError):
    """What was given cannot be taken; nothing was written."""


class NotJsonError(InputError):
    """A value that JSON cannot hold exactly."""


class RoleError(InputError):
    """A role that is unknown, or does not fit where it is used."""


class ToolSchemaError(InputError):
    """A tool definition that cannot be taken, or that a provider has nothing like."""


class EditError(InputError):
    """A commit that cannot be edited, marked or restored."""


class CompressError(InputError):
    """Messages that cannot be compressed, or not without others."""


class NotFoundError(TractError, LookupError):
    """A name that names nothing."""


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
    """Somebody else was there first; nothing was written."""


class ForgottenError(TractError):
    """The content was forgotten on purpose; only its tombstone is left."""


class LLMError(TractError):
    """A model is needed, and there is no answer to go on with; nothing was written."""


class NoLLMError(LLMError):
    """No model is configured."""


class LLMCallError(LLMError):
    """The model could not be asked, or broke off."""


class LLMAnswerError(LLMError):
    """The model answered with something that cannot be used."""


class HandlerError(TractError):
    """A handler failed, took too long or called itself. The result it was given is kept."""


class StorageError(TractError):
    """The database cannot do what it was asked."""


class CorruptError(StorageError):
    """Stored bytes do not match their hash."""


class SchemaError(StorageError):
    """A database that this version of tract does not understand."""


class ReadOnlyError(StorageError):
    """The database cannot be written to."""


class DiskFullError(StorageError):
    """There is no room left; the transaction was rolled back."""


class BusyError(StorageError):
    """Another process holds the lock for too long."""


class MissingExtraError(TractError, ImportError):
    """An optional dependency is not installed."""
