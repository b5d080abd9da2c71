"""Conversations in the format of ShareGPT: a list of them, or one per line."""

from __future__ import annotations

from functools import partial

from tract.importers.message_files import is_file_of, read_file_of

NAME = "sharegpt"

detect = partial(is_file_of, NAME)
read = partial(read_file_of, NAME)
