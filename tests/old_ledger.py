"""A ledger as the version before the outbox has left it.

Its rows are those of a present one, as far as its tables have columns for them.
"""

from typing import Any

from alembic import command
from sqlalchemy import Column, MetaData, Table, insert, select

from blocks.ledger import schema
from blocks.ledger.database import Ledger
from tests.world import World

_UNTOLD = {"alembic_version"}


class OldWorld(World):
    """The same installation on a ledger that has everything already."""

    def furnish(self) -> None:
        """Nothing: the rows are there."""

    def add(self, *_: Any, **__: Any) -> Any:
        """Nobody: the people are there."""


def copy_to_old(world: World, old: Ledger) -> None:
    """Make the old tables in an empty database and fill them from a present one."""
    with old.engine.connect() as connection, connection.begin():
        command.upgrade(schema.config(connection), "ledger_0001")
        command.upgrade(schema.config(connection), "support_email@head")
    tables = MetaData()
    tables.reflect(old.engine)
    with world.ledger.read() as source, old.write() as target:
        for table in tables.sorted_tables:
            rows = _rows(source.connection, table)
            if rows and table.name not in _UNTOLD:
                target.run_many(insert(table), rows)


def _rows(connection: Any, table: Table) -> list[dict[str, Any]]:
    """What an old table can hold; the database numbers its rows itself."""
    numbered = table.autoincrement_column
    is_number = numbered is not None and numbered.name in ("seq", "id")
    kept: list[Column[Any]] = [
        c for c in table.columns if not (is_number and c is numbered)
    ]
    query = select(*kept)
    ordered = query.order_by(numbered) if is_number and numbered is not None else query
    return [row._asdict() for row in connection.execute(ordered)]
