"""The prices of commands: a file, and the package for the rest."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from tract.cli.prices import price_list
from tract.economy import catalog
from tract.errors import InputError
from tract.providers.usage import Usage


def test_a_file_outweighs_the_package_and_is_read_exactly(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text('[claude-opus-4-5]\ninput = 0.1\noutput = 1\n["x.y"]\ninput=1\noutput=2\n')
    prices = price_list(str(path))
    assert prices.cost("claude-opus-4-5-20251101", Usage(1_000_000)) == Decimal("0.1")
    assert prices.cost("claude-haiku-4-5", Usage(1_000_000)) == 1
    assert prices.source.startswith("the price file, then genai-prices")


def test_without_the_package_only_the_file_has_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "find_spec", lambda _: None)
    assert not price_list(None)


@pytest.mark.parametrize("data", [b"[x", b"\xff", b"[m]\ninput = 1\noutput = nan\n"])
def test_a_file_that_has_no_prices_is_named(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "prices.toml"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"prices\.toml: not a? ?valid"):
        price_list(str(path))
