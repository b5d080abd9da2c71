"""Brings a database to a made-up version: `migrator.py DB VERSION SQL`. Prints `migrated`."""

import sys

from tract.storage import _driver
from tract.storage.migrations import Migration, known_migrations, migrate

db, version, sql = sys.argv[1], int(sys.argv[2]), sys.argv[3]
print("ready", flush=True)
sys.stdin.readline()
driver = _driver(db, "full", create=False)
migrate(driver, [*known_migrations(), Migration(version, sql)])
print("migrated", flush=True)
driver.close()
