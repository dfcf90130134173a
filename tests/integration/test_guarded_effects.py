"""The benchmark of guarded effects, with next to no load: it measures what it says."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import make_url

from tests.benchmarks import guarded_effects
from tests.benchmarks.effect_databases import Bench, OnPostgres, OnSqlite, Plan
from tests.benchmarks.guarded_effects import report
from tests.benchmarks.postgres_server import Server

PLAN = Plan(effects=4, warm=1, rounds=1, workers=(2,))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A place for the artifacts and copies."""
    made = tmp_path / "measured"
    made.mkdir()
    return made


@pytest.fixture
def bench(
    dialect: str,
    make_database: Callable[[str], tuple[str, Callable[[], None]]],
    folder: Path,
) -> Iterator[Bench]:
    """Either database with a few requests whose effects come next."""
    migrated, drop = make_database("migrated")
    if dialect == "sqlite":
        yield OnSqlite(Path(str(make_url(migrated).database)), folder, PLAN)
        drop()
        return
    admin, drop_admin = make_database("admin")
    server = Server(admin)
    made = OnPostgres(server, migrated, folder, PLAN)
    yield made
    made.close()
    server.close()
    drop_admin()
    drop()


def test_an_effect_is_measured_beside_its_statements_that_do_the_same_to_the_rows(
    bench: Bench,
) -> None:
    # What both leave in the database is compared after each run.
    found = guarded_effects.measure(bench, PLAN)
    assert [line.workers for line in found] == [2]
    assert f"aim at least {guarded_effects.AIM}" in report("it", bench, found)
