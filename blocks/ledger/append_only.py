"""Triggers that keep records as they were written, in both databases.

SQLite would let INSERT OR REPLACE slip past a delete trigger unless recursive triggers
are on (`database` switches them on). PostgreSQL's TRUNCATE passes row triggers and has
one of its own. A batch change of a table drops its triggers: guard it again.
"""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, Row, text

_BODY = """
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END """
_POSTGRESQL_FUNCTION = (
    "CREATE OR REPLACE FUNCTION placet_append_only() RETURNS trigger "
    f"LANGUAGE plpgsql AS $${_BODY}$$"
)
# Whole: for every row, whatever it holds, by our function with our body.
_IN_POSTGRESQL = text(
    "SELECT tgname, relname, tgtype FROM pg_trigger "
    "JOIN pg_class ON pg_class.oid = tgrelid JOIN pg_proc ON pg_proc.oid = tgfoid "
    "WHERE NOT tgisinternal AND tgenabled IN ('O', 'A') AND tgqual IS NULL "
    "AND tgattr = '' AND pg_table_is_visible(tgrelid) "
    "AND proname = 'placet_append_only' AND prosrc = :body"
)
# PostgreSQL's tgtype: 1 for each row, 2 before, 8 delete, 16 update, 32 truncate.
# Source: src/include/catalog/pg_trigger.h.
_TYPES = {"update": 1 | 2 | 16, "delete": 1 | 2 | 8, "truncate": 2 | 32}


def guard(connection: Connection, tables: Iterable[str]) -> None:
    """Refuse UPDATE and DELETE (and TRUNCATE) on these tables from now on."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(_POSTGRESQL_FUNCTION))
    for table in tables:
        for statement in _statements(connection.dialect.name, table):
            connection.execute(text(statement))


def guarded(connection: Connection) -> frozenset[str]:
    """The names of the triggers that stand as they were made and are switched on."""
    if connection.dialect.name == "postgresql":
        found = connection.execute(_IN_POSTGRESQL, {"body": _BODY})
        return frozenset(r.tgname for r in found if _is_ours(r))
    query = text("SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger'")
    rows = connection.execute(query).all()
    made = {s for table in {r.tbl_name for r in rows} for s in _kept_by_sqlite(table)}
    return frozenset(row.name for row in rows if row.sql in made)


def trigger_names(dialect: str, table: str) -> tuple[str, ...]:
    """The triggers that an append-only table must have."""
    words: tuple[str, ...] = ("update", "delete")
    if dialect == "postgresql":
        words = (*words, "truncate")
    return tuple(f"{table}_no_{word}" for word in words)


def _is_ours(row: Row[Any]) -> bool:
    table, _, word = row.tgname.rpartition("_no_")
    return bool(row.relname == table and row.tgtype == _TYPES.get(word))


def _kept_by_sqlite(table: str) -> Iterable[str]:
    """The statements as SQLite keeps them: without the condition."""
    for statement in _statements("sqlite", table):
        yield statement.replace(" IF NOT EXISTS", "", 1)


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
