"""A small shop in Python, with mistakes in it: its tests, tools and programs fail in real ways."""

from __future__ import annotations

from pathlib import Path

ORDERS = '''"""Orders, their lines and their totals."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from shop.prices import Price, lookup


class OrderError(Exception):
    """An order that cannot be placed."""


@dataclass
class Line:
    sku: str
    amount: int = 1

    def total(self) -> Decimal:
        return lookup(self.sku).value * self.amount


@dataclass
class Order:
    number: int
    lines: list[Line] = field(default_factory=list)
    coupon: str | None = None

    def add(self, sku: str, amount: int = 1) -> Line:
        if amount < 1:
            raise OrderError(f"order {self.number}: amount must be positive, not {amount}")
        line = Line(sku, amount)
        self.lines.append(line)
        return line

    def total(self) -> Decimal:
        total = sum((line.total() for line in self.lines), Decimal(0))
        if self.coupon == "TENOFF":
            total -= total * 10 // 100
        return total


def place(orders: dict[int, Order], number: int) -> Price:
    try:
        order = orders[number]
    except KeyError as missing:
        raise OrderError(f"order {number} is not open") from missing
    return Price("EUR", order.total())
'''
PRICES = '''"""Prices of articles, by SKU."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple


class Price(NamedTuple):
    currency: str
    value: Decimal


PRICES = {f"SKU-{n:03}": Price("EUR", Decimal(n) * Decimal("1.25")) for n in range(1, 120)}


def lookup(sku: str) -> Price:
    return PRICES[sku.upper()]


def rounded(value: Decimal) -> Decimal:
    return value.quantize(Decimal("0.1"))
'''
STOCK = '''"""What is in stock; a database keeps it."""

from __future__ import annotations

import sqlite3


class Stock:
    def __init__(self, path: str = ":memory:") -> None:
        self.db = sqlite3.connect(path)
        self.db.execute("CREATE TABLE IF NOT EXISTS stock (sku TEXT PRIMARY KEY, amount INTEGER)")

    def put(self, sku: str, amount: int) -> None:
        self.db.execute("INSERT INTO stock VALUES (?, ?)", (sku, amount))

    def take(self, sku: str, amount: int) -> int:
        left = self.db.execute("SELECT amount FROM stock WHERE sku = ?", (sku,)).fetchone()[0]
        if left < amount:
            raise ValueError(f"only {left} of {sku} left, {amount} wanted")
        self.db.execute("UPDATE stock SET amount = ? WHERE sku = ?", (left - amount, sku))
        return left - amount
'''
TESTS = {
    "test_orders.py": """import pytest
from decimal import Decimal

from shop.orders import Order, OrderError, place


@pytest.mark.parametrize("number", range(1, 90))
def test_a_line_costs_its_price(number):
    order = Order(1)
    line = order.add(f"SKU-{number:03}")
    assert line.total() == Decimal(number) * Decimal("1.25")


def test_an_empty_order_costs_nothing():
    assert Order(1).total() == 0


def test_the_coupon_takes_ten_percent():
    order = Order(7, coupon="TENOFF")
    order.add("SKU-007", 3)
    assert order.total() == Decimal("23.625")


def test_a_negative_amount_is_refused():
    with pytest.raises(OrderError, match="must be positive"):
        Order(2).add("SKU-001", -1)


def test_an_unknown_order_is_refused():
    with pytest.raises(OrderError, match="is not open"):
        place({}, 12)
""",
    "test_prices.py": """import pytest
from decimal import Decimal

from shop.prices import lookup, rounded


@pytest.mark.parametrize("number", range(1, 60))
def test_a_sku_has_a_price(number):
    assert lookup(f"sku-{number:03}").value > 0


@pytest.mark.parametrize("text,wanted", [("1.005", "1.01"), ("2.5", "2.50"), ("3.999", "4.00")])
def test_prices_have_two_digits(text, wanted):
    assert str(rounded(Decimal(text))) == wanted


def test_all_skus_are_priced():
    assert lookup("SKU-120").currency == "EUR"
""",
    "test_stock.py": """import pytest

from shop.stock import Stock


@pytest.fixture
def stock():
    stock = Stock()
    stock.put("SKU-001", 5)
    return stock


@pytest.fixture
def warehouse(tmp_path):
    return Stock(str(tmp_path / "missing" / "stock.db"))


def test_taking_leaves_the_rest(stock):
    assert stock.take("SKU-001", 2) == 3


def test_too_many_are_refused(stock):
    with pytest.raises(ValueError, match="only 5"):
        stock.take("SKU-001", 9)


def test_an_article_is_put_twice(stock):
    stock.put("SKU-001", 5)
    assert stock.take("SKU-001", 10) == 0


def test_the_warehouse_opens(warehouse):
    assert warehouse.take("SKU-001", 1) == 0


@pytest.mark.skip(reason="needs the scanner")
def test_the_scanner_counts():
    raise NotImplementedError
""",
}
UNITTESTS = """import unittest
from decimal import Decimal

from shop.orders import Order
from shop.prices import lookup, rounded
from shop.stock import Stock


class PriceTest(unittest.TestCase):
    def test_currency(self):
        self.assertEqual(lookup("SKU-001").currency, "EUR")

    def test_rounding(self):
        self.assertEqual(rounded(Decimal("2.345")), Decimal("2.35"))

    def test_unknown(self):
        self.assertIsNone(lookup("SKU-999"))


def make(number):
    def test(self):
        self.assertGreater(lookup(f"SKU-{number:03}").value, 0)

    test.__doc__ = f"article {number} has a price"
    return test


for number in range(1, 80):
    setattr(PriceTest, f"test_price_{number:03}", make(number))


class OrderTest(unittest.TestCase):
    def test_total(self):
        order = Order(1)
        order.add("SKU-002", 4)
        self.assertEqual(order.total(), 10)

    def test_stock(self):
        stock = Stock()
        stock.put("a", 1)
        self.assertEqual(stock.take("a", 1), 0)
"""
IMPORT = '''"""Import of a price list: one chain of errors."""

import json
import sys
from pathlib import Path

from shop.orders import OrderError


def log(n):
    print(f"[import] record {n:04} ok: SKU-{n:03} price {n * 1.25:.2f} EUR warehouse {n % 7}")


class ImportFailed(Exception):
    pass


def parse(line):
    return json.loads(line)["price"]


def load(path):
    for n, line in enumerate(Path(path).read_text().splitlines(), 1):
        try:
            parse(line)
        except KeyError as error:
            raise OrderError(f"record {n} has no price") from error
        log(n)


def main(path):
    try:
        load(path)
    except OrderError as error:
        raise ImportFailed(f"{path}: import stopped") from error


main(sys.argv[1])
'''
TYPES = '''"""A report with wrong types."""

from shop.orders import Order
from shop.prices import lookup


def best(orders: list[Order]) -> Order:
    return max(orders, key=lambda order: order.total(), default=None)


def names(order: Order) -> list[str]:
    return [line.name for line in order.lines]


def label(order: Order) -> str:
    return "order " + order.number


def price(sku: str) -> int:
    return lookup(sku).value
'''
RECURSE = """import sys


def depth(tree):
    return 1 + max(depth(child) for child in tree["children"])


tree = {"children": []}
tree["children"].append(tree)
for n in range(200):
    print(f"loading node {n} of 200 from cache segment {n // 16:02x}")
depth(tree)
"""
ASYNC = """import asyncio


async def fetch(n):
    print(f"fetch {n}: started")
    await asyncio.sleep(0)
    if n == 17:
        raise ConnectionResetError(104, "Connection reset by peer")
    if n == 41:
        raise TimeoutError("article 41 took longer than 3 s")
    print(f"fetch {n}: 200 OK, {n * 311} bytes")


async def main():
    async with asyncio.TaskGroup() as group:
        for n in range(90):
            group.create_task(fetch(n))


asyncio.run(main())
"""


def python_shop(folder: Path) -> None:
    lines = [f'{{"sku": "SKU-{n:03}", "price": {n * 1.25}}}' for n in range(1, 140)]
    lines[116] = '{"sku": "SKU-117", "prize": 146.25}'
    files = {
        "shop/__init__.py": "",
        "shop/orders.py": ORDERS,
        "shop/prices.py": PRICES,
        "shop/stock.py": STOCK,
        "shop/report.py": TYPES,
        "tests/__init__.py": "",
        **{f"tests/{name}": text for name, text in TESTS.items()},
        "checks/__init__.py": "",
        "checks/test_unit.py": UNITTESTS,
        "import_prices.py": IMPORT,
        "recurse.py": RECURSE,
        "fetch.py": ASYNC,
        "broken.py": "def main(:\n    return 1\n",
        "prices.jsonl": "\n".join(lines),
        "requirements.txt": "requests==2.31.0\nurllib3==2.2.1\nbotocore==1.29.0\n",
        "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-p no:cacheprovider"\n',
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
