"""Messages of the Vercel AI SDK: of its user interface, or of models."""

from __future__ import annotations

from functools import partial

from tract.importers.message_files import is_file_of, read_file_of

NAME = "ai-sdk"

detect = partial(is_file_of, NAME)
read = partial(read_file_of, NAME)
