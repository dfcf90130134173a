"""Guarded effects at work: requests brought to their claim, and processes beside them.

What is measured is `tasks.executing.execute`, which is what a run and the supervisor
call: claim, reservation and outbox; guard and dispatch; the send; result and audit; and
the note in the request's state.
"""

import multiprocessing
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from blocks.ledger.sessions import Held
from policies.value import Json
from tasks import executing, work
from tasks.services import Services
from tests.bank import store
from tests.benchmarks.bank_at_once import DOMAINS
from tests.benchmarks.postgres_server import Server
from tests.installed import settings_of
from tests.world import World


class Place(NamedTuple):
    """Where a ledger and its artifacts are."""

    database: str
    folder: Path


class Ready(NamedTuple):
    """A request that goes on with its approval; nothing is claimed yet."""

    held: Held
    item: str
    key: str
    account: str

    @property
    def names(self) -> tuple[str, ...]:
        """What the database knows it by, in one order for all."""
        resource = f"account:{self.account}"
        return (self.held.workflow, self.item, self.key, self.account, resource)


class Spent(NamedTuple):
    """What so many effects took: wall time, and CPU of clients and server."""

    effects: int
    seconds: float
    cpu: float

    @property
    def per_second(self) -> float:
        """Effects per second."""
        return self.effects / self.seconds

    @property
    def cpu_each(self) -> float:
        """CPU seconds per effect."""
        return self.cpu / self.effects


class _Bank(World):
    """The bank as it is when nobody has an account yet."""

    domain_name = "bank"
    request: ClassVar[dict[str, Json]] = {}
    permissions = ("bank.pay",)

    def furnish(self) -> None:
        """Begin now: the processes that come later have real clocks."""
        self.clock.set(datetime.now(UTC))
        self.services.domains = DOMAINS
        store.Base.metadata.create_all(self.ledger.engine)


def bring(place: Place, number: int) -> list[Ready]:
    """Bring so many requests to where their effect is claimed next."""
    world, ready = _Bank(place.database, place.folder), []
    # One for each request: nobody waits for another one's reservation.
    world.load(accounts=[[f"a-{index}", 1_000_000] for index in range(number)])
    for index in range(number):
        account = f"a-{index}"
        work = world.resumed(f"request-{index}", orders=[{"account": account}])
        key = world.version(work).snapshot.key
        ready.append(Ready(work.held, world.item(work).id, key, account))
    world.close()
    return ready


def services_of(place: Place) -> Services:
    """What a process on it works with; its ledger is opened."""
    made = Services(settings_of(place.database, place.folder, 1))
    made.domains = DOMAINS
    made.ledger.check_schema()
    return made


def carry_out(
    place: Place,
    ready: Sequence[Ready],
    workers: int,
    warm: int,
    server: Server | None = None,
) -> Spent:
    """Let so many processes execute the requests; `warm` each before it counts."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    line, told = context.Barrier(workers + 1), context.SimpleQueue()
    shares = [ready[index::workers] for index in range(workers)]
    processes = [
        context.Process(target=_work, args=(place, share, warm, line, told))
        for share in shares
    ]
    for process in processes:
        process.start()
    line.wait()
    before = server.cpu() if server else 0.0
    line.wait()
    began = time.perf_counter()
    line.wait()
    seconds = time.perf_counter() - began
    spent = server.cpu() - before if server else 0.0
    line.wait()
    spent += sum(told.get() for _ in processes)
    for process in processes:
        process.join()
    return Spent(len(ready) - workers * warm, seconds, spent)


def _work(
    place: Place, mine: Sequence[Ready], warm: int, line: Barrier, told: Any
) -> None:
    try:
        services = services_of(place)
        found = [(work.reload(services, one.held), one.item) for one in mine]
        for had, item in found[:warm]:
            executing.execute(services, had, item)
        line.wait()
        line.wait()
        before = time.process_time()
        for had, item in found[warm:]:
            executing.execute(services, had, item)
        spent = time.process_time() - before
        line.wait()
        line.wait()
        services.ledger.engine.dispose()
        told.put(spent)
    except BaseException:
        line.abort()
        raise
