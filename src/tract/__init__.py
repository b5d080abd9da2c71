"""tract: version-controlled context for tool-using LLM agents."""

import typing

from tract.answers import ChatResponse
from tract.compressing import CompressResult, PendingCompress, SummarizedResult
from tract.context import CompiledContext
from tract.errors import (
    AmbiguousPrefixError,
    BranchNotFoundError,
    BusyError,
    CommitNotFoundError,
    CompressError,
    ConflictError,
    CorruptError,
    DialogNotFoundError,
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
    ReadOnlyError,
    ResultNotFoundError,
    RoleError,
    SchemaError,
    StorageError,
    ToolSchemaError,
    TractError,
)
from tract.fetching import GET_TOOL_RESULT_TOOL
from tract.formats.compressor import (
    CompressorConfig,
    collapse_tool_chains,
    compress_messages,
    compress_tool_result,
)
from tract.formats.tools import convert_tool
from tract.hashing import hash_tool_schema
from tract.hooks import PendingToolResult
from tract.llm import LLMClient, ScriptedLLM
from tract.model import (
    ROOT,
    CommitInfo,
    CommitOperation,
    DialogInfo,
    Form,
    Mark,
    Message,
    Priority,
    Raw,
    Shape,
    Text,
    ToolCall,
)
from tract.results import ToolResultInfo
from tract.summarize import (
    CONVERSATION_SUMMARIZE_SYSTEM,
    DEFAULT_SUMMARIZE_SYSTEM,
    TOOL_SUMMARIZE_SYSTEM,
)
from tract.toolsets import ToolDiff, ToolVersion
from tract.tract import Tract
from tract.turns import DroppedTurns, Superseded, ToolTurn

if typing.TYPE_CHECKING:
    from tract.formats.validating import Violation, validate
    from tract.importing import Imported, import_file
    from tract.results_storage import (
        MigrationReport,
        ToolResultMetadata,
        ToolResultReference,
        ToolResultsStorage,
        import_messages,
        migrate_results,
    )

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
    "DialogInfo",
    "DialogNotFoundError",
    "DiskFullError",
    "DroppedTurns",
    "EditError",
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
    "PendingCompress",
    "PendingToolResult",
    "Priority",
    "Raw",
    "ReadOnlyError",
    "ResultNotFoundError",
    "RoleError",
    "SchemaError",
    "ScriptedLLM",
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
    "Tract",
    "TractError",
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
    "Imported": "tract.importing",
    "Violation": "tract.formats.validating",
    "import_file": "tract.importing",
    "validate": "tract.formats.validating",
}
"""Where names are that few programs need; those that are not here are in `results_storage`."""

if not typing.TYPE_CHECKING:  # or every misspelt name would pass for one of these

    def __getattr__(name: str) -> object:
        """Names that few programs need. Their module is loaded when one of them is asked for."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_LATE.get(name, "tract.results_storage")), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
