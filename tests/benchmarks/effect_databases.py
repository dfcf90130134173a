"""Effects on either database, and their bound: each run on a fresh copy of one state.

After every run the rows are counted: the bound that did other work than Placet, because
a statement of it met no row, is no bound.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

from sqlalchemy import text

from blocks.ledger.database import open_ledger
from tasks import executing, work
from tests.benchmarks import bound
from tests.benchmarks.effects_under_way import (
    Place,
    Ready,
    Spent,
    bring,
    carry_out,
    services_of,
)
from tests.benchmarks.postgres_server import Server
from tests.benchmarks.statements import Effect, Statement, captured

_COUNTED = (
    "SELECT 'item ' || state AS what, count(*) AS many FROM items GROUP BY state",
    "SELECT 'claim ' || state, count(*) FROM execution_claims GROUP BY state",
    "SELECT kind || ' ' || state, count(*) FROM outbox GROUP BY kind, state",
    "SELECT 'artifact ' || kind, count(*) FROM artifacts GROUP BY kind",
    "SELECT 'event ' || event, count(*) FROM audit_events GROUP BY event",
    "SELECT 'executions', count(*) FROM executions",
    "SELECT 'reservations', count(*) FROM reservations",
    "SELECT 'heads', sum(seq) FROM audit_heads",
    "SELECT 'revisions', sum(revision) FROM workflow_sessions",
    "SELECT 'attempts', coalesce(sum(attempts), 0) FROM execution_claims",
)
_ALL_COUNTED = text(" UNION ALL ".join(_COUNTED))


class Plan(NamedTuple):
    """How much is measured. `warm`: effects that each process executes beforehand."""

    effects: int
    warm: int
    rounds: int
    workers: tuple[int, ...]

    @property
    def rows(self) -> int:
        """How many requests that takes, the one that is captured included."""
        return self.effects + max(self.workers) * self.warm + 1


class Bench(Protocol):
    """One database with requests whose effects come next, to be measured again and
    again.
    """

    settings: str
    """What decides how safe a commit is."""
    effect: Effect
    """What one effect says to the database."""
    round_trips: int
    """How often it waits for a server, where there is one."""

    def product(self, workers: int) -> Spent:
        """Placet's processes execute them."""
        ...

    def bound(self) -> Spent:
        """The same statements without Placet."""
        ...


class OnPostgres:
    """Copies of a migrated database that nobody is connected to."""

    def __init__(self, server: Server, migrated: str, folder: Path, plan: Plan) -> None:
        self._server, self._folder, self._plan = server, folder, plan
        self._template = server.copy(migrated)
        self._ready = bring(Place(self._template, folder), plan.rows)
        server.tidy(self._template)
        self._before = _count(self._template)
        with server.copied(self._template) as url:
            self.effect = _capture(Place(url, folder), self._ready.pop())
            self._made = _per_effect(self._before, _count(url), 1)
        # BEGIN and COMMIT travel too; and before each transaction the pool asks whether
        # its connection is alive, which is no part of the bound.
        self.round_trips = self.effect.asked + 3 * self.effect.transactions
        self._renamed = server.copy(self._template)
        bound.rename_rows(self._renamed, self._ready)
        server.tidy(self._renamed)
        self.settings = ", ".join(f"{k} {v}" for k, v in server.settings().items())

    def product(self, workers: int) -> Spent:
        """Placet's processes execute them."""
        warm = self._plan.warm
        mine = self._ready[: self._plan.effects + workers * warm]
        with self._server.copied(self._template) as url:
            place = Place(url, self._folder)
            spent = carry_out(place, mine, workers, warm, self._server)
            assert _per_effect(self._before, _count(url), len(mine)) == self._made
        return spent

    def bound(self) -> Spent:
        """By pgbench."""
        with self._server.copied(self._renamed) as url:
            number = self._plan.effects
            spent = bound.by_pgbench(self._server, url, self.effect, number)
            assert _per_effect(self._before, _count(url), number) == self._made
        return spent

    def close(self) -> None:
        """Leave nothing on the server."""
        self._server.drop(self._template)
        self._server.drop(self._renamed)


class OnSqlite:
    """Copies of a migrated file."""

    round_trips = 0

    def __init__(self, migrated: Path, folder: Path, plan: Plan) -> None:
        self._folder, self._plan = folder, plan
        self._template = folder / "template.db"
        shutil.copyfile(migrated, self._template)
        url = f"sqlite:///{self._template}"
        self._ready = bring(Place(url, folder), plan.rows)
        self._before = _count(url)
        with self._copied() as path:
            url = f"sqlite:///{path}"
            self.effect = _capture(Place(url, folder), self._ready.pop())
            self._made = _per_effect(self._before, _count(url), 1)
        self.settings = ", ".join(bound.PRAGMAS[:2])

    def product(self, workers: int) -> Spent:
        """Placet's processes execute them."""
        warm = self._plan.warm
        mine = self._ready[: self._plan.effects + workers * warm]
        with self._copied() as path:
            url = f"sqlite:///{path}"
            spent = carry_out(Place(url, self._folder), mine, workers, warm)
            assert _per_effect(self._before, _count(url), len(mine)) == self._made
        return spent

    def bound(self) -> Spent:
        """By hand."""
        mine = self._ready[: self._plan.effects]
        with self._copied() as path:
            spent = bound.by_hand(path, self.effect, mine)
            made = _per_effect(self._before, _count(f"sqlite:///{path}"), len(mine))
            assert made == self._made
        return spent

    @contextmanager
    def _copied(self) -> Iterator[Path]:
        path = self._folder / "copy.db"
        shutil.copyfile(self._template, path)
        yield path
        for part in self._folder.glob("copy.db*"):
            part.unlink()


def _capture(place: Place, one: Ready) -> Effect:
    """What a real effect says to the database."""
    services = services_of(place)
    before = work.reload(services, one.held)
    said: list[Statement] = []
    with captured(services.ledger.engine, said):
        executing.execute(services, before, one.item)
    services.ledger.engine.dispose()
    return Effect(tuple(said), one)


def _count(url: str) -> dict[str, int]:
    ledger = open_ledger(url)
    with ledger.read() as tx:
        counted = {row.what: int(row.many) for row in tx.all(_ALL_COUNTED)}
    ledger.engine.dispose()
    return counted


def _per_effect(
    before: dict[str, int], after: dict[str, int], effects: int
) -> dict[str, float]:
    """How many rows of each kind one effect has made, moved or taken away."""
    kinds = sorted(before.keys() | after.keys())
    grown = {kind: after.get(kind, 0) - before.get(kind, 0) for kind in kinds}
    return {kind: many / effects for kind, many in grown.items() if many}
