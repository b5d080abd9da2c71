"""Pure functions over messages, commits and tools. No provider formats, no SQL."""
