"""Messages of pydantic-ai, as `all_messages_json()` writes them."""

from __future__ import annotations

from functools import partial

from tract.importers.message_files import is_file_of, read_file_of

NAME = "pydantic-ai"

detect = partial(is_file_of, NAME)
read = partial(read_file_of, NAME)
