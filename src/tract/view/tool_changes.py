"""What became of the tools, in a few words."""

from __future__ import annotations

from tract.core.toolsets import ToolDiff

SEVERAL = 8  # how many tools a line names


def change_text(found: ToolDiff) -> str:
    """`+ls -rm ~grep` for added, removed and changed; just how many where they are many."""
    words = [f"+{name}" for name in found.added]
    words += [f"-{name}" for name in found.removed]
    words += [f"~{name}" for name in found.changed]
    return " ".join(words) if 0 < len(words) <= SEVERAL else diff_text(found)


def diff_text(found: ToolDiff) -> str:
    numbers = {
        "added": found.added,
        "removed": found.removed,
        "changed": found.changed,
        "moved": found.reordered,
    }
    return ", ".join(f"{len(names)} {word}" for word, names in numbers.items() if names)
