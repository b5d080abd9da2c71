"""An MCP server for the tool results of a dialog: over stdio, or over streamable HTTP."""
