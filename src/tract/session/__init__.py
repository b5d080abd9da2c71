"""One open dialog, and what can be done with it: functions over a `Session`."""

from tract.session.session import Commit, Session

__all__ = ["Commit", "Session"]
