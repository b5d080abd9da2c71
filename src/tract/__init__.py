"""tract: version-controlled context for tool-using LLM agents."""

import typing

from tract.context import CompiledContext
from tract.core.compression import CompressResult, PendingCompress, SummarizedResult
from tract.core.forms import ToolResultInfo
from tract.core.toolsets import ToolDiff, ToolVersion
from tract.core.turns import DroppedTurns, Superseded, ToolTurn
from tract.errors import (
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
from tract.llm import LLMClient, ScriptedLLM
from tract.llm.response import ChatResponse
from tract.llm.summarizer import (
    CONVERSATION_SUMMARIZE_SYSTEM,
    DEFAULT_SUMMARIZE_SYSTEM,
    TOOL_SUMMARIZE_SYSTEM,
)
from tract.model import (
    ROOT,
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
from tract.session.handlers import PendingToolResult
from tract.tract import Tract

if typing.TYPE_CHECKING:
    from tract.aio import (
        MigrationReport,
        ToolResultMetadata,
        ToolResultReference,
        ToolResultsStorage,
        import_messages,
        migrate_results,
    )
    from tract.importers.writer import Imported, import_file
    from tract.providers.validate import Violation, validate

__all__ = [
    "CONVERSATION_SUMMARIZE_SYSTEM",
    "DEFAULT_SUMMARIZE_SYSTEM",
    "GET_TOOL_RESULT_TOOL",
    "ROOT",
    "TOOL_SUMMARIZE_SYSTEM",
    "AmbiguousPrefixError",
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
    "convert_tool",
    "hash_tool_schema",
    "import_file",
    "import_messages",
    "migrate_results",
    "validate",
]


_LATE = {
    "Imported": "tract.importers.writer",
    "Violation": "tract.providers.validate",
    "import_file": "tract.importers.writer",
    "validate": "tract.providers.validate",
}
"""Where names are that few programs need; those that are not here are in `aio`."""

if not typing.TYPE_CHECKING:  # or every misspelt name would pass for one of these

    def __getattr__(name: str) -> object:
        """Names that few programs need. Their module is loaded when one of them is asked for."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_LATE.get(name, "tract.aio")), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
