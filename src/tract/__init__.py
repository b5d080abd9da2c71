"""tract: version-controlled context for tool-using LLM agents."""

import typing

if typing.TYPE_CHECKING:
    from tract.aio import AsyncTract
    from tract.context import CompiledContext
    from tract.core.compression import CompressResult, PendingCompress, SummarizedResult
    from tract.core.forms import ToolResultInfo
    from tract.core.toolsets import ToolDiff, ToolVersion
    from tract.core.turns import DroppedTurns, Superseded, ToolTurn
    from tract.errors import (
        AccessError,
        AmbiguousPrefixError,
        BranchNotFoundError,
        BusyError,
        CommitNotFoundError,
        CompressError,
        ConflictError,
        CorruptError,
        DialogNotFoundError,
        DiskError,
        DiskFullError,
        EditError,
        ForgottenError,
        HandlerError,
        InputError,
        LLMAnswerError,
        LLMCallError,
        LLMError,
        MissingExtraError,
        NoLLMError,
        NotFoundError,
        NotJsonError,
        ObjectStoreError,
        ReadOnlyError,
        ResultNotFoundError,
        RoleError,
        SchemaError,
        ScrubError,
        StorageError,
        ToolSchemaError,
        TractError,
        UnreadableError,
    )
    from tract.hashing import hash_tool_schema
    from tract.importers.writer import Imported, import_file
    from tract.integrations.sdk import record_client
    from tract.llm import LLMClient, ScriptedLLM
    from tract.llm.response import ChatResponse
    from tract.llm.summarizer import (
        CONVERSATION_SUMMARIZE_SYSTEM,
        DEFAULT_SUMMARIZE_SYSTEM,
        TOOL_SUMMARIZE_SYSTEM,
    )
    from tract.model import (
        ROOT,
        AnswerUsage,
        CommitInfo,
        CommitOperation,
        DialogFacts,
        DialogInfo,
        ForgetResult,
        Form,
        Mark,
        Message,
        Priority,
        Raw,
        Shape,
        Text,
        ToolCall,
        Trace,
    )
    from tract.providers.message_lists import (
        CompressorConfig,
        collapse_tool_chains,
        compress_messages,
        compress_tool_result,
    )
    from tract.providers.tools import convert_tool
    from tract.providers.toolsets import GET_TOOL_RESULT_TOOL
    from tract.providers.validate import Violation, validate
    from tract.remote.results import ToolResultsClient
    from tract.remote.tract import RemoteTract, connect
    from tract.session.handlers import PendingToolResult
    from tract.tool_results import (
        MigrationReport,
        ToolResultMetadata,
        ToolResultReference,
        ToolResultsStorage,
        import_messages,
        migrate_results,
    )
    from tract.tract import Tract

__all__ = [
    "CONVERSATION_SUMMARIZE_SYSTEM",
    "DEFAULT_SUMMARIZE_SYSTEM",
    "GET_TOOL_RESULT_TOOL",
    "ROOT",
    "TOOL_SUMMARIZE_SYSTEM",
    "AccessError",
    "AmbiguousPrefixError",
    "AnswerUsage",
    "AsyncTract",
    "BranchNotFoundError",
    "BusyError",
    "ChatResponse",
    "CommitInfo",
    "CommitNotFoundError",
    "CommitOperation",
    "CompiledContext",
    "CompressError",
    "CompressResult",
    "CompressorConfig",
    "ConflictError",
    "CorruptError",
    "DialogFacts",
    "DialogInfo",
    "DialogNotFoundError",
    "DiskError",
    "DiskFullError",
    "DroppedTurns",
    "EditError",
    "ForgetResult",
    "ForgottenError",
    "Form",
    "HandlerError",
    "Imported",
    "InputError",
    "LLMAnswerError",
    "LLMCallError",
    "LLMClient",
    "LLMError",
    "Mark",
    "Message",
    "MigrationReport",
    "MissingExtraError",
    "NoLLMError",
    "NotFoundError",
    "NotJsonError",
    "ObjectStoreError",
    "PendingCompress",
    "PendingToolResult",
    "Priority",
    "Raw",
    "ReadOnlyError",
    "RemoteTract",
    "ResultNotFoundError",
    "RoleError",
    "SchemaError",
    "ScriptedLLM",
    "ScrubError",
    "Shape",
    "StorageError",
    "SummarizedResult",
    "Superseded",
    "Text",
    "ToolCall",
    "ToolDiff",
    "ToolResultInfo",
    "ToolResultMetadata",
    "ToolResultReference",
    "ToolResultsClient",
    "ToolResultsStorage",
    "ToolSchemaError",
    "ToolTurn",
    "ToolVersion",
    "Trace",
    "Tract",
    "TractError",
    "UnreadableError",
    "Violation",
    "collapse_tool_chains",
    "compress_messages",
    "compress_tool_result",
    "connect",
    "convert_tool",
    "hash_tool_schema",
    "import_file",
    "import_messages",
    "migrate_results",
    "record_client",
    "validate",
]

_NAMES = {
    "tract.tool_results": (
        "MigrationReport ToolResultMetadata ToolResultReference ToolResultsStorage "
        "import_messages migrate_results"
    ),
    "tract.aio": "AsyncTract",
    "tract.context": "CompiledContext",
    "tract.core.compression": "CompressResult PendingCompress SummarizedResult",
    "tract.core.forms": "ToolResultInfo",
    "tract.core.toolsets": "ToolDiff ToolVersion",
    "tract.core.turns": "DroppedTurns Superseded ToolTurn",
    "tract.errors": (
        "AccessError AmbiguousPrefixError BranchNotFoundError BusyError CommitNotFoundError "
        "CompressError ConflictError CorruptError DialogNotFoundError DiskError "
        "DiskFullError EditError ForgottenError HandlerError InputError LLMAnswerError "
        "LLMCallError LLMError MissingExtraError NoLLMError NotFoundError NotJsonError "
        "ObjectStoreError ReadOnlyError ResultNotFoundError RoleError SchemaError ScrubError "
        "StorageError ToolSchemaError TractError UnreadableError"
    ),
    "tract.hashing": "hash_tool_schema",
    "tract.importers.writer": "Imported import_file",
    "tract.integrations.sdk": "record_client",
    "tract.llm": "LLMClient ScriptedLLM",
    "tract.llm.response": "ChatResponse",
    "tract.llm.summarizer": (
        "CONVERSATION_SUMMARIZE_SYSTEM DEFAULT_SUMMARIZE_SYSTEM TOOL_SUMMARIZE_SYSTEM"
    ),
    "tract.model": (
        "AnswerUsage CommitInfo CommitOperation DialogFacts DialogInfo ForgetResult Form Mark "
        "Message Priority ROOT Raw Shape Text ToolCall Trace"
    ),
    "tract.providers.message_lists": (
        "CompressorConfig collapse_tool_chains compress_messages compress_tool_result"
    ),
    "tract.providers.tools": "convert_tool",
    "tract.providers.toolsets": "GET_TOOL_RESULT_TOOL",
    "tract.providers.validate": "Violation validate",
    "tract.remote.results": "ToolResultsClient",
    "tract.remote.tract": "RemoteTract connect",
    "tract.session.handlers": "PendingToolResult",
    "tract.tract": "Tract",
}
"""The public names by their modules. A module is loaded when a name of it is used first: a command
that an agent waits for needs few of them."""
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

if not typing.TYPE_CHECKING:  # or every misspelt name would pass for one of these

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = globals()[name] = getattr(import_module(_MODULES[name]), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
