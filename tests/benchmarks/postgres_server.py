"""A PostgreSQL server that is measured: its databases, its settings, its CPU time."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg
from sqlalchemy import make_url

_TICK = os.sysconf("SC_CLK_TCK")
_SETTINGS = ("server_version", "fsync", "synchronous_commit", "full_page_writes")


class Server:
    """A running server, by the address of a database of its superuser's."""

    def __init__(self, url: str) -> None:
        self._url = make_url(url)
        self._admin = psycopg.connect(url, autocommit=True)
        self._numbers = count(1)
        self._postmaster = _parent(self._admin.info.backend_pid)

    def close(self) -> None:
        """Let go of it."""
        self._admin.close()

    def settings(self) -> dict[str, str]:
        """What decides how safe a commit is."""
        return {name: self._one(f"SHOW {name}") for name in _SETTINGS}

    @property
    def binaries(self) -> Path:
        """The folder of its programs; pgbench is there."""
        return Path(self._one("SELECT setting FROM pg_config WHERE name = 'BINDIR'"))

    def copy(self, template: str) -> str:
        """A copy of a database: its address."""
        name = f"measured_{os.getpid()}_{next(self._numbers)}"
        self._run(f"CREATE DATABASE {name} TEMPLATE {_name(template)}")
        # Every run begins after a checkpoint: none pays for what another one left.
        self._run("CHECKPOINT")
        return self._url.set(database=name).render_as_string(hide_password=False)

    @contextmanager
    def copied(self, template: str) -> Iterator[str]:
        """A copy that is dropped again."""
        url = self.copy(template)
        yield url
        self.drop(url)

    def drop(self, url: str) -> None:
        """Drop a copy."""
        self._run(f"DROP DATABASE {_name(url)} WITH (FORCE)")

    def tidy(self, url: str) -> None:
        """Leave no dead rows, and let the planner know what is there."""
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("VACUUM (FULL, ANALYZE)")

    def cpu(self) -> float:
        """CPU seconds of all its processes so far, those that have ended too."""
        ticks = sum(_times(self._postmaster))
        for child in _children(self._postmaster):
            ticks += sum(_times(child)[:2])
        return ticks / _TICK

    def _run(self, statement: str) -> None:
        self._admin.execute(statement.encode())

    def _one(self, query: str) -> str:
        row = self._admin.execute(query.encode()).fetchone()
        assert row is not None
        return str(row[0])


def _name(url: str) -> str:
    return str(make_url(url).database)


def _parent(pid: int) -> int:
    return int(_stat(pid)[1])


def _times(pid: int) -> list[int]:
    """User and system time, and those of the children that it has waited for."""
    return [int(ticks) for ticks in _stat(pid)[11:15]]


def _stat(pid: int) -> list[str]:
    """What the kernel tells of a process, from its state on; zeros if it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return ["0"] * 50


def _children(pid: int) -> list[int]:
    every = (int(path.name) for path in Path("/proc").glob("[0-9]*"))
    return [one for one in every if _parent(one) == pid]
