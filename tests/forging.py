"""What nobody may do to a ledger: for tests of what happens when somebody does."""

from typing import Any

from sqlalchemy import text

from blocks.ledger import append_only
from blocks.ledger.database import Ledger


def run(ledger: Ledger, statement: str, **values: Any) -> int:
    """Write with plain SQL, past every script; the number of rows it met."""
    with ledger.write() as tx:
        return tx.run(text(statement), values).rowcount


def forge(ledger: Ledger, table: str, statement: str, **values: Any) -> int:
    """As `run`, on an append-only table whose triggers are taken down for it."""
    dialect = ledger.engine.dialect.name
    of_table = f" ON {table}" if dialect == "postgresql" else ""
    for trigger in append_only.trigger_names(dialect, table):
        run(ledger, f"DROP TRIGGER {trigger}{of_table}")
    touched = run(ledger, statement, **values)
    with ledger.write() as tx:
        append_only.guard(tx.connection, [table])
    return touched


def scalar(ledger: Ledger, query: str, **values: Any) -> Any:
    """The one value of a plain SQL query."""
    with ledger.read() as tx:
        return tx.run(text(query), values).scalar_one()


def rows(ledger: Ledger, table: str) -> list[tuple[Any, ...]]:
    """All rows of a table, to compare before and after."""
    with ledger.read() as tx:
        return sorted(
            (tuple(row) for row in tx.all(text(f"SELECT * FROM {table}"))), key=repr
        )
