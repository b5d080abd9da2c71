"""The tool results of a server, for programs that need nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from tract.errors import ResultNotFoundError
from tract.model import Json
from tract.remote import wire
from tract.remote.operations import BY_NAME
from tract.remote.transport import TIMEOUT, Transport
from tract.reprs import brief
from tract.tool_results import ToolResultMetadata, ToolResultReference


class ToolResultsClient:
    """The results of one dialog of a server. Threads may share it."""

    def __init__(
        self, url: str, dialog_id: str, *, token: str | None = None, timeout: float = TIMEOUT
    ) -> None:
        self.dialog_id = dialog_id
        self._server = Transport(url, token, timeout=timeout)

    def __repr__(self) -> str:
        return brief(self, self.dialog_id)

    def get_result(self, tool_call_id: str) -> Json:
        """Return a result exactly as it was stored or last edited; None for an unknown id."""
        try:
            return self._get("result", id=tool_call_id)["result"]
        except ResultNotFoundError:
            return None

    def get_metadata(self, tool_call_id: str) -> ToolResultMetadata | None:
        """Describe a result without its content; None for an unknown id."""
        try:
            value = self._get("result", id=tool_call_id, view="metadata")
        except ResultNotFoundError:
            return None
        facts: ToolResultMetadata = wire.convert(value, ToolResultMetadata)
        return facts

    def get_part(self, tool_call_id: str, **part: Any) -> str:
        """Return a part of a result, as a model would get it: `lines`, `grep`, `json_path`, or
        `offset` and `limit`."""
        text: str = self._get("get_tool_result", id=tool_call_id, **part)
        return text

    def read(self, tool_call_id: str) -> Iterator[bytes]:
        """Iterate over the bytes of a result as they arrive: the text, or the JSON."""
        fields = {"dialog": self.dialog_id, "id": tool_call_id, "view": "raw"}
        with self._server.stream(BY_NAME["result"], fields) as pieces:
            yield from pieces

    def list_results(self, **filters: Any) -> Iterator[ToolResultMetadata]:
        """Iterate over all results, oldest first, without their contents. `tool`, `status` and
        `form` select some of them."""
        cursor: dict[str, str] = {}
        while True:
            page = self._get("tool_results", **filters, **cursor)
            for item in page["items"]:
                yield wire.convert(item, ToolResultMetadata)
            if page["next"] is None:
                return
            cursor = {"cursor": page["next"]}

    def store_result(
        self, tool_call_id: str, tool_name: str, args: Json, result: Json, *, is_error: bool = False
    ) -> ToolResultReference:
        """Store a result in full and show it as a reference. Its call is recorded too, unless the
        dialog has a call with this id that waits for a result."""
        fields: dict[str, Json] = {"dialog": self.dialog_id, "id": tool_call_id}
        fields["tool_name"] = tool_name
        fields |= {"arguments": args, "result": result, "is_error": is_error}
        value = self._server.call(BY_NAME["store_result"], fields).value
        reference: ToolResultReference = wire.convert(value, ToolResultReference)
        return reference

    def close(self) -> None:
        """Close the connection."""
        self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _get(self, name: str, **fields: Any) -> Json:
        return self._server.call(BY_NAME[name], {"dialog": self.dialog_id, **fields}).value
