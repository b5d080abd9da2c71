"""A small project with a bug, for the agent of the demo to work on."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

ORDERS = range(1001, 1401)
TESTED = 60
AFFECTED = 1042
"""The only order whose total lies halfway between two cents."""
ITEMS = ("paper", "ink", "pens", "folders", "stamps")

SHOP = '''\
"""Orders of the shop, and what they cost."""

import csv
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

CENT = Decimal("0.01")


@dataclass
class Order:
    """One line of the file: an item, how many of it, and what one costs."""

    number: int
    item: str
    quantity: int
    price: Decimal
    discount: int
    billed: Decimal


def read_orders(path):
    """The orders of a file, in its order."""
    with Path(path).open(newline="") as file:
        return [read_order(row) for row in csv.DictReader(file)]


def read_order(row):
    return Order(
        number=int(row["number"]),
        item=row["item"],
        quantity=int(row["quantity"]),
        price=Decimal(row["price"]),
        discount=int(row["discount"]),
        billed=Decimal(row["billed"]),
    )


def discounted(order):
    """The price after the discount, which is a percentage."""
    return order.price * order.quantity * (100 - order.discount) / 100


def total(order):
    """What the customer pays, in full cents."""
    return discounted(order).quantize(CENT)


def revenue(orders):
    """What all customers pay."""
    return sum(total(order) for order in orders)
'''

TEST = f'''\
"""Every order costs what was billed."""

import unittest

from shop import read_orders, total


class TotalTest(unittest.TestCase):
    pass


def add_test(order):
    def test(self):
        self.assertEqual(total(order), order.billed)

    setattr(TotalTest, f"test_order_{{order.number}}_of_{{order.item}}", test)


for order in read_orders("orders.csv")[:{TESTED}]:
    add_test(order)
'''


def write_project(folder: Path) -> None:
    folder.mkdir(parents=True)
    files = {"shop.py": SHOP, "test_shop.py": TEST, "orders.csv": orders()}
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")


def orders() -> str:
    lines = ["number,item,quantity,price,discount,billed", *map(_order, ORDERS)]
    return "".join(f"{line}\n" for line in lines)


def _order(number: int) -> str:
    """With 10 % off, a price in even cents is never halfway between two cents."""
    quantity = 1 if number == AFFECTED else number % 7 + 1
    price = Decimal(305 if number == AFFECTED else 2 * (number * 37 % 450) + 100) / 100
    billed = (price * quantity * 90 / 100).quantize(Decimal("0.01"), ROUND_HALF_UP)
    return f"{number},{ITEMS[number % len(ITEMS)]},{quantity},{price:.2f},10,{billed}"
