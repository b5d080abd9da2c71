"""The prices that commands calculate with: those of a file, and those of the installed package."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation

import click

from tract.cli.files import read_file
from tract.economy.catalog import GenaiPrices, is_installed
from tract.economy.prices import Price, PriceList, prices_of
from tract.errors import InputError

MAX_PRICES = 1_000_000

prices_option = click.option(
    "--prices",
    envvar="TRACT_PRICES",
    metavar="FILE",
    help="TOML with dollars for a million tokens by model, such as [model-name] input=3 output=15 "
    "cached=0.3 written=3.75 written_hour=6. Other models have the prices of the extra "
    "`prices`, if it is installed.  [default: $TRACT_PRICES]",
)


def price_list(path: str | None) -> PriceList:
    """The prices of a file, and those of the package for all models that the file does not have."""
    catalog = GenaiPrices(datetime.now(UTC).date()) if is_installed() else None
    return PriceList(_read(path) if path is not None else {}, catalog)


def _read(path: str) -> dict[str, Price]:
    try:
        text = read_file(path, MAX_PRICES).decode("utf-8")
        return prices_of(tomllib.loads(text, parse_float=Decimal))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, InvalidOperation) as error:
        raise InputError(f"{path}: not valid TOML: {error}") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
