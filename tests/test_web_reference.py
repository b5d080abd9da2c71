"""The reference page of the API."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cli import check_golden
from tract.remote.operations import OPERATIONS
from tract.web.reference import reference

PAGE = Path(__file__).resolve().parent.parent / "docs" / "api.md"


def test_the_reference_page_is_current() -> None:
    check_golden(PAGE, reference())


def test_every_operation_has_a_row() -> None:
    rows = re.findall(r"^\| `(?:GET|POST|PUT|DELETE)\b", reference(), re.MULTILINE)
    assert len(rows) == len(OPERATIONS)


def test_a_required_parameter_is_bold() -> None:
    [row] = re.findall(r"^\| `POST …/branches` .*$", reference(), re.MULTILINE)
    assert row.endswith("| **`name`**, `at` |")


def test_every_error_has_its_status() -> None:
    assert "| 409 | Another writer was first, or the name is ambiguous. |" in reference()
    assert "`AmbiguousPrefixError`, `ConflictError`" in reference()
