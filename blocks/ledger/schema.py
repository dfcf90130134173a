"""Bringing a ledger to the newest schema. The only module that imports Alembic."""

from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError, OperationalError

from blocks.ledger.database import HEADS, Ledger
from policies.errors import Misconfigured, Unavailable

_BLOCKS = Path(__file__).parent.parent
# One branch per owner of tables: the ledger's own, and one for each domain.
BRANCHES = (
    _BLOCKS / "ledger" / "migrations" / "versions",
    _BLOCKS / "support_email" / "migrations",
)


def config(connection: Any = None) -> Config:
    """Alembic's configuration, without a file."""
    made = Config()
    made.set_main_option("script_location", str(_BLOCKS / "ledger" / "migrations"))
    made.set_main_option("path_separator", "newline")
    made.set_main_option("version_locations", "\n".join(map(str, BRANCHES)))
    made.attributes["connection"] = connection
    return made


def upgrade(ledger: Ledger) -> bool:
    """Migrate to the newest schema; False if there was nothing to do.

    `Misconfigured` if the ledger was made by a newer version of Placet, or holds tables
    of which its own record of migrations (`alembic_version`) does not know.
    """
    before = ledger.revisions()
    if before == HEADS:
        return False
    if before:
        _refuse_newer(ledger)
    try:
        with ledger.engine.connect() as connection, connection.begin():
            _wait_for_others(connection)
            command.upgrade(config(connection), "heads")
    except DBAPIError as error:
        if "already exists" in str(error.orig):
            raise _unrecorded(ledger, before, error) from error
        if not isinstance(error, OperationalError):
            raise
        raise Unavailable(f"The ledger {ledger.address} does not answer.") from error
    return True


def _wait_for_others(connection: Connection) -> None:
    """Workers that start together upgrade one after the other, as on SQLite anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(
            text("SELECT pg_advisory_xact_lock(hashtext('placet upgrade'))")
        )


def _unrecorded(
    ledger: Ledger, before: frozenset[str], error: DBAPIError
) -> Misconfigured:
    """Not to be guessed: what is there may be another table of the same name."""
    missing = ", ".join(sorted(HEADS - before))
    found = str(error.orig).strip().splitlines()[0].rstrip(".")
    return Misconfigured(
        f"The ledger {ledger.address} has no record of {missing} in alembic_version, "
        f"and yet: {found}.",
        code="ledger_half_recorded",
        hint="Nothing was changed. Restore alembic_version, or the whole ledger, from "
        "a backup.",
    )


def _refuse_newer(ledger: Ledger) -> None:
    try:
        ledger.check_schema()
    except Misconfigured as error:
        if error.code == "ledger_newer":
            raise
