"""What is told of a ledger that does not answer: how much of it was recorded."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import event, text
from sqlalchemy.exc import OperationalError

from blocks.ledger.database import Ledger, Transaction, make_engine, open_ledger
from policies.errors import Unavailable

NOTHING = "Nothing was changed in the ledger by this."
NOT_RECORDED = "What was being recorded was not recorded."
UNKNOWN = "Whether it was recorded cannot be told: look again before you repeat it."


@pytest.fixture
def ledger(database: str) -> Iterator[Ledger]:
    """A migrated ledger without rows."""
    opened = open_ledger(database)
    yield opened
    opened.engine.dispose()


def cut(ledger: Ledger, tx: Transaction) -> None:
    """End the transaction's connection from the server's side."""
    own = tx.run(text("SELECT pg_backend_pid()")).scalar_one()
    other = make_engine(ledger.engine.url.render_as_string(hide_password=False))
    with other.connect() as connection:
        connection.execute(text("SELECT pg_terminate_backend(:own)"), {"own": own})
    other.dispose()


def fail(what: object) -> None:
    raise OperationalError("COMMIT", {}, Exception("disk I/O error"))


def test_where_no_transaction_began_nothing_was_changed(ledger: Ledger) -> None:
    event.listen(ledger.engine, "begin", fail)
    for begin in (ledger.read, ledger.write):
        with pytest.raises(Unavailable) as told, begin():
            pass
        assert str(told.value.hint).startswith(NOTHING)


def test_what_failed_before_its_end_was_not_recorded(
    ledger: Ledger, dialect: str
) -> None:
    for begin, word in ((ledger.write, NOT_RECORDED), (ledger.read, NOTHING)):
        with pytest.raises(Unavailable) as told, begin() as tx:
            if dialect == "postgresql":
                cut(ledger, tx)
            tx.run(text("SELECT 1 FROM nowhere"))
        assert str(told.value.hint).startswith(word)


def test_what_failed_at_its_very_end_may_have_been_recorded(
    ledger: Ledger, dialect: str
) -> None:
    if dialect == "sqlite":
        event.listen(ledger.engine, "commit", fail)
    with pytest.raises(Unavailable) as told, ledger.write() as tx:
        if dialect == "postgresql":
            cut(ledger, tx)
    assert str(told.value.hint).startswith(UNKNOWN)


def test_a_file_that_cannot_be_written_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a lock is worth waiting for."""
    path = tmp_path / "ledger.db"
    path.write_bytes(b"")
    monkeypatch.setattr("blocks.ledger.database.time.sleep", pytest.fail)
    engine = make_engine(f"sqlite:///file:{path}?mode=ro&uri=true")
    with pytest.raises(OperationalError, match="readonly"):
        engine.connect()
    engine.dispose()
