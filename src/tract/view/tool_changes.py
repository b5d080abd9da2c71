"""Changes of the tools, in a few words."""

from __future__ import annotations

from tract.core.toolsets import ToolDiff

SEVERAL = 8  # how many tools a line names


def change_text(change: ToolDiff) -> str:
    """`+ls -rm ~grep` for added, removed and changed tools; only counts where there are many."""
    words = [f"+{name}" for name in change.added]
    words += [f"-{name}" for name in change.removed]
    words += [f"~{name}" for name in change.changed]
    return " ".join(words) if 0 < len(words) <= SEVERAL else diff_text(change)


def diff_text(change: ToolDiff) -> str:
    numbers = {
        "added": change.added,
        "removed": change.removed,
        "changed": change.changed,
        "moved": change.reordered,
    }
    return ", ".join(f"{len(names)} {word}" for word, names in numbers.items() if names)
