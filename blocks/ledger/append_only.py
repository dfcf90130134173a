"""Triggers that keep records as they were written, in both databases.

SQLite would let INSERT OR REPLACE slip past a delete trigger unless recursive triggers
are on (`database` switches them on). PostgreSQL's TRUNCATE passes row triggers and has
one of its own. A batch change of a table drops its triggers: guard it again.
"""

from collections.abc import Iterable

from sqlalchemy import Connection, text

_POSTGRESQL_FUNCTION = """
CREATE OR REPLACE FUNCTION placet_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END $$
"""


def guard(connection: Connection, tables: Iterable[str]) -> None:
    """Refuse UPDATE and DELETE (and TRUNCATE) on these tables from now on."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(_POSTGRESQL_FUNCTION))
    for table in tables:
        for statement in _statements(connection.dialect.name, table):
            connection.execute(text(statement))


def guarded(connection: Connection) -> frozenset[str]:
    """The names of the triggers that stand now; one that is switched off does not."""
    query = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
    if connection.dialect.name == "postgresql":
        query = (
            "SELECT tgname FROM pg_trigger "
            "WHERE NOT tgisinternal AND tgenabled IN ('O', 'A')"
        )
    return frozenset(row[0] for row in connection.execute(text(query)))


def trigger_names(dialect: str, table: str) -> tuple[str, ...]:
    """The triggers that an append-only table must have."""
    words: tuple[str, ...] = ("update", "delete")
    if dialect == "postgresql":
        words = (*words, "truncate")
    return tuple(f"{table}_no_{word}" for word in words)


def _statements(dialect: str, table: str) -> Iterable[str]:
    for name in trigger_names(dialect, table):
        word = name.rpartition("_")[2].upper()
        if dialect == "postgresql":
            each = "STATEMENT" if word == "TRUNCATE" else "ROW"
            yield (
                f"CREATE OR REPLACE TRIGGER {name} BEFORE {word} ON {table} "
                f"FOR EACH {each} EXECUTE FUNCTION placet_append_only()"
            )
        else:
            yield (
                f"CREATE TRIGGER IF NOT EXISTS {name} BEFORE {word} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
            )
