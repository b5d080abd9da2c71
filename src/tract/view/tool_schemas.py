"""Tool definitions for people, with their changes."""

from __future__ import annotations

from collections.abc import Iterator

from tract.core.toolsets import ToolDiff
from tract.model import Json, Toolset, readable
from tract.providers.toolsets import declared
from tract.view.lines import BODY, Line, Styled
from tract.view.sanitize import one_line


def tool_lines(toolset: Toolset | None, change: ToolDiff) -> Iterator[Line]:
    """The definitions of a toolset, with their changes since the previous toolset."""
    if toolset is None:
        yield (Styled("No tools were recorded.", "dim"),)
        return
    for name in change.removed:
        yield (Styled(f"- {one_line(name)}", "error"),)
    costs = {tool.name: tool.token_count for tool in toolset.tools}
    for name, schema in declared(toolset).items():
        sign, style = _sign(name, change)
        cost = f"  {costs[name]} tokens" if name in costs else ""
        yield (Styled(f"{sign} {one_line(name)}", style), Styled(cost, "dim"))
        for path in change.changed.get(name, ()):
            yield (Styled(f"{BODY}~ {one_line(path)}", "note"),)
        yield from _declaration(schema)


def _sign(name: str, change: ToolDiff) -> tuple[str, str]:
    if name in change.added:
        return "+", "added bold"
    return ("~", "note bold") if name in change.changed else (" ", "bold")


def description_line(schema: dict[str, Json]) -> str:
    """The first line of a description; empty where there is none."""
    text = schema.get("description")
    return one_line(text.strip().split("\n")[0]) if isinstance(text, str) else ""


def _declaration(schema: dict[str, Json]) -> Iterator[Line]:
    line = description_line(schema)
    if line:
        yield (Styled(BODY + line, ""),)
    parameters = schema.get("parameters")
    properties = parameters.get("properties") if isinstance(parameters, dict) else None
    required = parameters.get("required") if isinstance(parameters, dict) else None
    for name, kind in properties.items() if isinstance(properties, dict) else ():
        type_name = kind.get("type", "") if isinstance(kind, dict) else ""
        mark = "" if isinstance(required, list) and name in required else "?"
        yield (Styled(f"{BODY}{one_line(name)}{mark}: {one_line(readable(type_name))}", "dim"),)
