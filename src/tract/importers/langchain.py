"""Files of LangChain messages: a list, an object that has one, or one message per line."""

from __future__ import annotations

from functools import partial

from tract.importers.message_files import is_file_of, read_file_of

NAME = "langchain"

detect = partial(is_file_of, NAME)
read = partial(read_file_of, NAME)
