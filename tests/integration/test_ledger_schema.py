"""The tables, their migrations and the triggers, in both databases."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import select, text
from sqlalchemy.exc import DBAPIError

from blocks.ledger import append_only, freezes, schema, tombstones
from blocks.ledger.columns import Base
from blocks.ledger.database import HEADS, Ledger, make_engine, open_ledger
from blocks.ledger.tables import APPEND_ONLY, PolicyRow
from blocks.support_email.tables import Base as SupportBase
from policies.errors import Misconfigured, Unavailable
from policies.policy import Policy
from tests import forging
from tests.clock import START
from tests.conftest import Postgres
from tests.together import together
from tests.world import World

UPGRADE = """
import sys
from blocks.ledger import schema
from blocks.ledger.database import open_ledger
ledger = open_ledger(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
schema.upgrade(ledger)
ledger.check_schema()
"""
READ = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
print([n for n, in connection.execute("SELECT n FROM numbers")])
connection.close()
"""
WRITES = {
    "sqlite": (
        "UPDATE {0} SET {1} = {1}",
        "DELETE FROM {0}",
        "INSERT OR REPLACE INTO {0} SELECT * FROM {0}",
    ),
    "postgresql": (
        "UPDATE {0} SET {1} = {1}",
        "DELETE FROM {0}",
        "TRUNCATE {0} CASCADE",
    ),
}


@pytest.fixture
def ledger(database: str) -> Iterator[Ledger]:
    """A migrated ledger without rows."""
    opened = open_ledger(database)
    yield opened
    opened.engine.dispose()


@pytest.fixture
def empty(empty_database: str) -> Iterator[Ledger]:
    """A database that Placet has never seen."""
    opened = open_ledger(empty_database)
    yield opened
    opened.engine.dispose()


def refusal(ledger: Ledger) -> str:
    with pytest.raises(Misconfigured) as refused:
        ledger.check_schema()
    assert refused.value.hint
    return refused.value.code


def test_the_migrations_make_exactly_the_tables_that_the_code_knows(
    ledger: Ledger,
) -> None:
    known = [Base.metadata, SupportBase.metadata]
    with ledger.engine.connect() as connection:
        context = MigrationContext.configure(connection)
        assert compare_metadata(context, known) == []  # type: ignore[arg-type]


def test_the_code_knows_the_newest_revision_of_every_branch() -> None:
    scripts = ScriptDirectory.from_config(schema.config())
    assert frozenset(scripts.get_heads()) == HEADS


def test_every_append_only_table_has_its_triggers(ledger: Ledger, dialect: str) -> None:
    """R1"""
    names = [append_only.trigger_names(dialect, table) for table in APPEND_ONLY]
    with ledger.engine.connect() as connection:
        assert append_only.guarded(connection) == {n for each in names for n in each}


def test_a_row_of_an_append_only_table_is_never_changed_or_deleted(
    world: World, dialect: str
) -> None:
    """R1"""
    world.set_policy(Policy())
    work = world.asked()
    world.hand_in(work, world.says(work, "reject", reason=""))
    world.approve(work)
    world.advance(world.resume(work))
    with world.ledger.write() as tx:
        everything = freezes.Scope(tenant=None, tool=None)
        freezes.put(tx, everything, frozen=False, actor="ada", reason="over")
        assert tombstones.bury(tx, tx.now + timedelta(days=1), 10) == 1
    for table in APPEND_ONLY:
        before = forging.rows(world.ledger, table)
        column = next(iter(Base.metadata.tables[table].columns)).name
        for write in WRITES[dialect]:
            with pytest.raises(DBAPIError, match=f"{table} is append-only"):
                forging.run(world.ledger, write.format(table, column))
        assert forging.rows(world.ledger, table) == before != []


def test_the_guards_stand_again_after_a_table_was_made_anew(
    ledger: Ledger, dialect: str
) -> None:
    """R1"""
    with ledger.write() as tx:
        append_only.guard(tx.connection, APPEND_ONLY)
        append_only.guard(tx.connection, APPEND_ONLY)
        standing = append_only.guarded(tx.connection)
    assert len(standing) == len(APPEND_ONLY) * (2 if dialect == "sqlite" else 3)


def test_moments_come_back_in_utc_whatever_the_server_s_zone(
    ledger: Ledger, dialect: str
) -> None:
    if dialect == "postgresql":
        name = ledger.engine.url.database
        forging.run(ledger, f"ALTER DATABASE {name} SET timezone = 'Asia/Kolkata'")
        ledger.engine.dispose()
    row = {"version": "1", "body": "{}", "actor": "tests", "at": START}
    with ledger.write() as tx:
        tx.inserted(PolicyRow, row)
    with ledger.read() as tx:
        assert tx.one(select(PolicyRow.at)) == (START,)
        assert str(tx.run(select(PolicyRow.at)).scalar_one()) == str(START)


def test_an_empty_ledger_is_refused_by_that_name(empty: Ledger) -> None:
    assert refusal(empty) == "ledger_empty"


def test_an_older_ledger_is_refused_and_can_be_upgraded(empty: Ledger) -> None:
    with empty.engine.connect() as connection, connection.begin():
        command.upgrade(schema.config(connection), "ledger@head")
    assert refusal(empty) == "ledger_outdated"
    assert schema.upgrade(empty)
    empty.check_schema()


@pytest.mark.parametrize("revision", ["ledger_9999", "another_domain_0001"])
def test_a_newer_ledger_is_refused_and_left_alone(
    ledger: Ledger, revision: str
) -> None:
    forging.run(ledger, "DELETE FROM alembic_version WHERE version_num LIKE 'ledger%'")
    forging.run(ledger, "INSERT INTO alembic_version VALUES (:it)", it=revision)
    assert refusal(ledger) == "ledger_newer"
    with pytest.raises(Misconfigured) as refused:
        schema.upgrade(ledger)
    assert refused.value.code == "ledger_newer"


def test_upgrading_twice_changes_nothing(empty: Ledger) -> None:
    assert schema.upgrade(empty)
    assert not schema.upgrade(empty)
    empty.check_schema()


def test_two_processes_may_upgrade_at_once(empty_database: str) -> None:
    """Two workers that start together, each upgrading before it begins."""
    command_line = [sys.executable, "-c", UPGRADE, empty_database]
    running = [
        subprocess.Popen(
            command_line,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in running:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:
        print(file=process.stdin, flush=True)
    errors = [process.communicate(timeout=60)[1] for process in running]
    assert [process.returncode for process in running] == [0, 0], errors


def test_a_database_that_does_not_answer_is_told_as_that() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        ledger = open_ledger(f"postgresql://ada:geheim@127.0.0.1:{port}/placet")
        with pytest.raises(Unavailable) as refused:
            ledger.check_schema()
    assert refused.value.hint
    assert "geheim" not in str(refused.value)


def test_a_database_that_is_not_there_is_told_as_that(postgres: Postgres) -> None:
    url, drop = postgres.make()
    drop()
    ledger = open_ledger(url)
    with pytest.raises(Unavailable, match="does not answer"):
        ledger.check_schema()


@pytest.mark.parametrize("lost", sorted(HEADS))
def test_a_ledger_that_forgot_a_migration_is_told_as_that(
    ledger: Ledger, lost: str
) -> None:
    forget = "DELETE FROM alembic_version WHERE version_num = :lost"
    forging.run(ledger, forget, lost=lost)
    with pytest.raises(Misconfigured, match=f"no record of {lost}.*exists") as told:
        schema.upgrade(ledger)
    assert told.value.code == "ledger_half_recorded"
    assert ledger.revisions() == HEADS - {lost}


def test_a_folder_that_cannot_be_made_is_told_as_that(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(Unavailable, match="folder"):
        open_ledger(f"sqlite:///{tmp_path}/file/placet.db")


@pytest.mark.parametrize("url", ["placet.db", "mysql://localhost/x", "oracle://x", ""])
def test_an_address_that_is_no_ledger_is_refused_with_the_variable_to_mend(
    url: str,
) -> None:
    with pytest.raises(Misconfigured, match="PLACET_DATABASE_URL"):
        open_ledger(url)


def test_processes_that_meet_at_a_new_file_all_get_in(tmp_path: Path) -> None:
    """SQLite fails at once, without waiting, whoever comes second to switch to WAL."""
    for number in range(20):
        url = f"sqlite:///{tmp_path / str(number)}.db"
        assert together(4, partial(_connects, url)) == [True] * 4


def _connects(url: str, _: int) -> bool:
    engine = make_engine(url)
    with engine.connect() as connection:
        answer = connection.execute(text("SELECT 1")).scalar_one()
    engine.dispose()
    return bool(answer)


def test_what_is_written_stays_when_another_process_comes_and_goes(
    tmp_path: Path,
) -> None:
    """To open a second connection must not drop the first one's locks on the file."""
    path = tmp_path / "ledger.db"
    engine = make_engine(f"sqlite:///{path}")
    with engine.connect() as first:
        first.execute(text("CREATE TABLE numbers (n INTEGER)"))
        first.commit()
        with engine.connect() as second:
            second.execute(text("SELECT n FROM numbers"))
        subprocess.run([sys.executable, "-c", READ, path], check=True)
        first.execute(text("INSERT INTO numbers VALUES (1)"))
        first.commit()
        assert subprocess.check_output([sys.executable, "-c", READ, path]) == b"[1]\n"
    engine.dispose()
