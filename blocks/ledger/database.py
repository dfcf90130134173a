"""The database behind the ledger: engines, transactions and the clock they carry.

A transaction is rolled back unless its block ends without an error. SQLite writes
begin with BEGIN IMMEDIATE, so that two writers never both read before one writes.
"""

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

from sqlalchemy import (
    URL,
    Connection,
    CursorResult,
    Engine,
    Executable,
    Row,
    create_engine,
    event,
    make_url,
    text,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    DBAPIError,
    NoSuchModuleError,
    OperationalError,
)
from sqlalchemy.orm import DeclarativeBase

from blocks import private
from blocks.ledger import audit
from blocks.ledger.clock import Clock, ServerClock, utc_now
from policies.errors import Misconfigured, Unavailable

# What this code reads and writes; a test holds it equal to the migrations' heads.
HEADS = frozenset({"ledger_0003", "support_email_0001"})
_BUSY_SECONDS = 30
_CHECK = "Check PLACET_DATABASE_URL and the server."
_NOTHING = "Nothing was changed in the ledger by this."
# By how far a transaction had come; at any other point there was nothing to lose.
_BECAME = {
    "write": "What was being recorded was not recorded.",
    "write commit": "Whether it was recorded cannot be told: look again before you "
    "repeat it.",
}


class Transaction:
    """An open transaction, the moment it began, and the audit events it will append."""

    def __init__(self, connection: Connection, clock: Clock) -> None:
        self.connection = connection
        self.now = clock()
        self._clock = clock
        self.pending_events: dict[str, list[audit.NewEvent]] = {}
        # What was read of append-only rows: it is the same at every look.
        self.unchanging: dict[tuple[str, int], Any] = {}

    def look_at_clock(self) -> None:
        """Let it be now: whoever waited for a lock must not judge by an old time."""
        self.now = self._clock()

    def run(
        self, statement: Executable, values: dict[str, Any] | None = None
    ) -> CursorResult[Any]:
        """Execute one statement."""
        return self.connection.execute(statement, values or {})

    def run_many(self, statement: Executable, values: list[dict[str, Any]]) -> None:
        """Execute one statement for many rows."""
        self.connection.execute(statement, values)

    def one(
        self, statement: Executable, values: dict[str, Any] | None = None
    ) -> Row[Any] | None:
        """The one row of a query, or None."""
        return self.run(statement, values).one_or_none()

    def all(
        self, statement: Executable, values: dict[str, Any] | None = None
    ) -> Sequence[Row[Any]]:
        """All rows of a query."""
        return self.run(statement, values).all()

    def wrote(
        self, statement: Executable, values: dict[str, Any] | None = None
    ) -> bool:
        """Whether a guarded write found its one row; a miss means: not so any more."""
        return self.run(statement, values).rowcount == 1

    def inserted(self, table: type[DeclarativeBase], values: dict[str, Any]) -> bool:
        """Whether a row could be made; False if one with the same key is there."""
        return self.run(_insert_once(table, self.locks_rows), values).rowcount == 1

    @property
    def locks_rows(self) -> bool:
        """Whether rows must be locked one by one (SQLite locks the whole file)."""
        return self.connection.dialect.name == "postgresql"


@cache
def _insert_once(table: type[DeclarativeBase], locks_rows: bool) -> Executable:
    make = postgresql.insert if locks_rows else sqlite.insert
    statement = make(table).on_conflict_do_nothing()
    # Without it SQLAlchemy keeps an INSERT's row count on SQLite only.
    return statement.execution_options(preserve_rowcount=True)


class Ledger:
    """The ledger's database; one object per process, shared by its threads.

    Without a `clock` its time is the database server's, where there is one.
    """

    def __init__(self, engine: Engine, clock: Clock | None = None) -> None:
        self.engine = engine
        self.clock = clock or _clock_of(engine)

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """A transaction that may write; its audit events are appended at its end."""
        with self._transaction("write") as tx:
            yield tx
            audit.flush(tx)

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """A transaction that only reads."""
        with self._transaction("read") as tx:
            yield tx

    @contextmanager
    def _transaction(self, mode: str) -> Iterator[Transaction]:
        stage = "begin"
        try:
            with self.engine.connect() as connection:
                connection = connection.execution_options(placet_mode=mode)
                with connection.begin():
                    stage = mode
                    if isinstance(self.clock, ServerClock):
                        self.clock.look(connection)
                    yield Transaction(connection, self.clock)
                    stage = f"{mode} commit"
        except DatabaseError as error:
            if not _is_out_of_reach(error):
                raise
            raise _unavailable(self.engine.url, error, stage) from error

    @property
    def address(self) -> str:
        """Which database this is, without its password."""
        return self.engine.url.render_as_string(hide_password=True)

    def check_schema(self) -> None:
        """Refuse a ledger whose schema is not this code's; `Misconfigured` says how."""
        found = self.revisions()
        if not found:
            raise _schema(
                "ledger_empty", f"The ledger {self.address} has no tables yet."
            )
        if found != HEADS:
            raise _wrong_schema(self.address, found)

    def revisions(self) -> frozenset[str]:
        """The migrations that the database has seen; empty for a new one."""
        if self._is_absent():
            return frozenset()
        with self.read() as tx:
            try:
                rows = tx.all(text("SELECT version_num FROM alembic_version"))
            except DBAPIError as error:
                if _is_missing_table(error):
                    return frozenset()
                raise
        return frozenset(row[0] for row in rows)

    def _is_absent(self) -> bool:
        """Whether it is a SQLite file that to look at would make."""
        url = self.engine.url
        if url.get_backend_name() != "sqlite" or not _is_path(url):
            return False
        return not Path(str(url.database)).exists()


def _clock_of(engine: Engine) -> Clock:
    return ServerClock() if engine.dialect.name == "postgresql" else utc_now


def open_ledger(url: str, clock: Clock | None = None) -> Ledger:
    """Connect to the database at `url` (SQLite or PostgreSQL through psycopg 3)."""
    return Ledger(make_engine(url), clock)


def make_engine(url: str) -> Engine:
    """An engine for a ledger URL; a plain `postgresql://` means psycopg 3."""
    parsed = _parse(url)
    if parsed.get_backend_name() == "sqlite":
        return _sqlite(parsed)
    if parsed.drivername == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    # An error that quotes its parameters would quote people's texts.
    return create_engine(
        parsed,
        # Without it, each connection of each process fails once after a restart.
        pool_pre_ping=True,
        connect_args={"connect_timeout": 10},
        hide_parameters=True,
    )


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
        parsed.get_dialect()
    except (ArgumentError, NoSuchModuleError, ImportError) as error:
        raise Misconfigured(
            "PLACET_DATABASE_URL is not a database address.",
            hint="Use sqlite:///PATH or postgresql://USER@HOST/NAME.",
        ) from error
    if backend not in ("sqlite", "postgresql"):
        raise Misconfigured(
            f"PLACET_DATABASE_URL names {backend}, which Placet does not support.",
            hint="Use sqlite:///PATH or postgresql://USER@HOST/NAME.",
        )
    return parsed


def _sqlite(url: URL) -> Engine:
    if _is_path(url):
        _make_folder(Path(str(url.database)).parent)
    engine = create_engine(
        url, connect_args={"timeout": _BUSY_SECONDS}, hide_parameters=True
    )
    event.listen(engine, "do_connect", partial(_before_sqlite_connect, url))
    event.listen(engine, "connect", _on_sqlite_connect)
    event.listen(engine, "begin", _on_sqlite_begin)
    return engine


def _make_folder(folder: Path) -> None:
    try:
        private.make_folder(folder)
    except OSError as error:
        raise Unavailable(
            f"The ledger's folder {folder} cannot be made: {error.strerror}.",
            hint="Set PLACET_DATABASE_URL to a place that can be written.",
        ) from error


def _before_sqlite_connect(url: URL, *_: object) -> None:
    """SQLite would make a file that everybody may read; beside it, as this one is."""
    if _is_path(url):
        # What cannot be made, SQLite tells in its own words.
        with suppress(OSError):
            private.make_file(Path(str(url.database)))


def _is_path(url: URL) -> bool:
    """Whether a SQLite address is a plain path: not in memory, no URI of SQLite's."""
    return not (url.database or ":memory:").startswith((":memory:", "file:"))


def _on_sqlite_connect(connection: Any, record: Any) -> None:
    # The driver's own BEGIN comes too late (before the first write) for a compare
    # and set; so it is switched off and _on_sqlite_begin says it.
    connection.isolation_level = None
    _use_wal(connection)
    for pragma in (
        "synchronous = FULL",
        "foreign_keys = ON",
        "recursive_triggers = ON",
    ):
        connection.execute(f"PRAGMA {pragma}").close()


def _use_wal(connection: Any) -> None:
    """Switch a new file to WAL; of two who do so at once, SQLite lets one fail.

    It does not wait for the other as it does for a lock; a file that has it is no
    trouble.
    """
    end = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").close()
            return
        except sqlite3.OperationalError as error:
            is_locked = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not is_locked or time.monotonic() > end:
                raise
            time.sleep(0.01)


def _on_sqlite_begin(connection: Connection) -> None:
    mode = connection.get_execution_options().get("placet_mode")
    connection.exec_driver_sql("BEGIN" if mode == "read" else "BEGIN IMMEDIATE")


def _is_missing_table(error: DBAPIError) -> bool:
    words = str(error.orig).lower()
    return "no such table" in words or "does not exist" in words


def _is_out_of_reach(error: DatabaseError) -> bool:
    """SQLite says by the plain error that a file is damaged, or is no database."""
    return isinstance(error, OperationalError) or type(error) is DatabaseError


def _unavailable(url: URL, error: DatabaseError, stage: str) -> Unavailable:
    cause = str(error.orig).strip().splitlines()[0] if error.orig else "no answer"
    address = url.render_as_string(hide_password=True)
    return Unavailable(
        f"The ledger {address} does not answer: {cause.rstrip('.')}.",
        hint=f"{_BECAME.get(stage, _NOTHING)} {_CHECK}",
    )


def _schema(code: str, message: str) -> Misconfigured:
    return Misconfigured(message, code=code, hint="Run `placet db upgrade`.")


def _wrong_schema(address: str, found: frozenset[str]) -> Misconfigured:
    if found < HEADS or _older(found):
        message = f"The ledger {address} is older than this version of Placet."
        return _schema("ledger_outdated", message)
    return Misconfigured(
        f"The ledger {address} was made by a newer version of Placet.",
        code="ledger_newer",
        hint="Update Placet; an older one must not write to it.",
    )


def _older(found: frozenset[str]) -> bool:
    """Revisions are numbered within their branch: a lower number is an older one."""
    newest = {head.rsplit("_", 1)[0]: head for head in HEADS}
    return all(
        revision <= newest.get(revision.rsplit("_", 1)[0], "") for revision in found
    )
