"""Tool definitions and toolsets: each is written once, and verified when it is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from zlib import crc32

from tract.errors import CorruptError
from tract.hashing import escape, hash_stored_schema, toolset_hash
from tract.model import ToolDefinition, Toolset
from tract.storage.codec import DAMAGE
from tract.storage.contents import is_left, keep_left
from tract.storage.driver import Driver
from tract.storage.rows import now, unescape


class ToolRow(NamedTuple):
    """A row of `tool_definitions` without its key."""

    hash: bytes
    name: str
    schema: str
    token_count: int
    token_source: str
    created_at: int
    checksum: int


def put_toolset(driver: Driver, toolset: Toolset) -> int:
    """The key of the set. The set and its tools are written if they are new."""
    known = driver.run("SELECT id FROM toolsets WHERE hash = ?", (toolset.hash,))
    if known:
        return int(known[0][0])
    # Always in the same order, so that two writers never wait for each other.
    keys = {
        tool.hash: _put_definition(driver, tool)
        for tool in sorted(toolset.tools, key=lambda tool: tool.hash)
    }
    sql = "INSERT INTO toolsets (hash) VALUES (?) ON CONFLICT (hash) DO NOTHING RETURNING id"
    for (toolset_id,) in driver.run(sql, (toolset.hash,)):
        members = [(toolset_id, place, keys[tool.hash]) for place, tool in enumerate(toolset.tools)]
        driver.insert_rows("toolset_members", members)
        return int(toolset_id)
    return put_toolset(driver, toolset)  # another writer was faster


def _put_definition(driver: Driver, tool: ToolDefinition) -> int:
    facts = _facts(tool)
    row = ToolRow(tool.hash, *facts, _checksum(*facts))
    keys = driver.run(_INSERT_DEFINITION, row)
    keys = keys or driver.run("SELECT id FROM tool_definitions WHERE hash = ?", (tool.hash,))
    return int(keys[0][0])


def restore_definitions(driver: Driver, tools: Sequence[ToolDefinition]) -> bool:
    """Write definitions again of which something was erased; whether there were any."""
    sql = "SELECT hash FROM erased WHERE hash IN"
    erased = {digest for (digest,) in driver.run_in(sql, [tool.hash for tool in tools])}
    for tool in tools:
        if tool.hash in erased:
            facts = _facts(tool)
            driver.run(_RESTORE, (*facts, _checksum(*facts), tool.hash))
            driver.run("DELETE FROM erased WHERE hash = ?", (tool.hash,))
    return bool(erased)


def _facts(tool: ToolDefinition) -> tuple[str, str, int, str, int]:
    schema = tool.data.decode("ascii")
    return escape(tool.name), schema, tool.token_count, tool.token_source, now()


def read_toolset(driver: Driver, digest: bytes) -> Toolset:
    rows = [ToolRow._make(row) for row in driver.run(_MEMBERS, (digest,))]
    tools = tuple(definition(driver, row) for row in rows)
    if toolset_hash(tool.hash for tool in tools) != digest:
        raise CorruptError(f"toolset {digest.hex()} does not have the tools that its hash names")
    return Toolset(digest, tools)


def definition(driver: Driver, row: ToolRow) -> ToolDefinition:
    """A tool as it was declared; CorruptError if a bit was flipped."""
    try:
        data = row.schema.encode("ascii")
        actual = hash_stored_schema(data)
        if actual != row.hash and not is_left(driver, row.hash, actual):
            raise CorruptError(f"tool {row.hash.hex()} does not match its hash")
        if row.checksum != _checksum(*row[1:6]):
            raise CorruptError(f"tool {row.hash.hex()}: its name, tokens or time were altered")
    except DAMAGE as error:
        raise CorruptError(f"a row of tool_definitions is damaged: {error}") from error
    return ToolDefinition(row.hash, unescape(row.name), data, row.token_count, row.token_source)


def bad_tools(driver: Driver) -> list[str]:
    """The problems of tools and toolsets, and of the commits that refer to them."""
    problems = []
    for row in driver.run(f"SELECT {_COLUMNS} FROM tool_definitions d ORDER BY d.id"):
        try:
            definition(driver, ToolRow._make(row))
        except CorruptError as error:
            problems.append(str(error))
    for (digest,) in driver.run("SELECT hash FROM toolsets ORDER BY id"):
        try:
            read_toolset(driver, digest)
        except CorruptError as error:
            problems.append(str(error))
    for (digest,) in driver.run(_WRONG_ACTIVE):
        problems.append(f"commit {digest.hex()}: its active toolset is not the one it inherits")
    return problems


def rewrite_definition(
    driver: Driver, row: ToolRow, name: str, schema: str, *, seal: bool = True
) -> None:
    """Replace a definition by what is left of it. It keeps its hash, by which toolsets name it. One
    that was damaged is not sealed: it stays damaged."""
    checksum = _checksum(name, schema, *row[3:6]) if seal else row.checksum
    sql = "UPDATE tool_definitions SET name = ?, schema = ?, checksum = ? WHERE hash = ?"
    driver.run(sql, (name, schema, checksum, row.hash))
    if seal:
        keep_left(driver, row.hash, hash_stored_schema(schema.encode("ascii")))


def delete_unused_tools(driver: Driver) -> None:
    """Delete the tools and toolsets that no commit refers to."""
    driver.run(f"DELETE FROM toolsets WHERE id NOT IN ({_USED})")
    driver.run(f"DELETE FROM toolset_members WHERE toolset_id NOT IN ({_USED})")
    driver.run("DELETE FROM tool_definitions WHERE id NOT IN (SELECT tool_id FROM toolset_members)")


def _checksum(name: str, schema: str, token_count: int, token_source: str, created_at: int) -> int:
    """Covers what the hash does not: the order of keys, and the other columns."""
    return crc32(f"{name}|{token_count}|{token_source}|{created_at}|{schema}".encode())


_COLUMNS = ", ".join(f"d.{column}" for column in ToolRow._fields)

_INSERT_DEFINITION = f"""
INSERT INTO tool_definitions ({", ".join(ToolRow._fields)})
VALUES ({", ".join("?" * len(ToolRow._fields))}) ON CONFLICT (hash) DO NOTHING RETURNING id"""

_RESTORE = """
UPDATE tool_definitions SET name = ?, schema = ?, token_count = ?, token_source = ?,
    created_at = ?, checksum = ? WHERE hash = ?"""

_MEMBERS = f"""
SELECT {_COLUMNS} FROM toolsets s JOIN toolset_members m ON m.toolset_id = s.id
JOIN tool_definitions d ON d.id = m.tool_id WHERE s.hash = ? ORDER BY m.position"""

_USED = """
SELECT toolset_id FROM commits WHERE toolset_id IS NOT NULL
UNION SELECT active_toolset_id FROM commits WHERE active_toolset_id IS NOT NULL"""

_WRONG_ACTIVE = """
SELECT c.hash FROM commits c LEFT JOIN commits p ON p.id = c.parent_id
WHERE coalesce(c.active_toolset_id, 0) <> coalesce(
    CASE WHEN c.operation IN ('append', 'mark') THEN c.toolset_id END, p.active_toolset_id, 0)"""
