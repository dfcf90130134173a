"""A ledger that does not wait for the disk: a crash may cost a test's data."""

from typing import Any

from sqlalchemy import event

from blocks.ledger.database import Ledger


def hasten(ledger: Ledger) -> None:
    """Let a SQLite ledger leave its writes to the operating system."""
    if ledger.engine.dialect.name == "sqlite":
        event.listen(ledger.engine, "connect", _off)


def _off(connection: Any, record: object) -> None:
    connection.execute("PRAGMA synchronous = OFF").close()
