"""One time for all hosts of a ledger: that of its database server."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from blocks.ledger.clock import ServerClock
from blocks.ledger.database import Ledger, open_ledger
from tasks import opening, supervising
from tasks.services import Services
from tests.conftest import Postgres
from tests.installed import VAULT
from tests.smtp_server import RecordingServer
from tests.world import FLOW_RUN, World

CLOSE = timedelta(seconds=1)


class Host:
    """A host's clock, so many seconds off; it can be set."""

    def __init__(self, off: float = 0) -> None:
        self.off = off

    def __call__(self) -> datetime:
        """What the host takes for the present moment."""
        return datetime.now(UTC) + timedelta(seconds=self.off)


@pytest.fixture
def url(postgres: Postgres) -> Iterator[str]:
    """A migrated PostgreSQL database."""
    made, drop = postgres.make()
    yield made
    drop()


@pytest.fixture
def world(
    url: str, tmp_path: Path, mail: RecordingServer, plain_tools: None
) -> Iterator[World]:
    """An installation whose host's clock is right."""
    made = World(url, tmp_path, mail.port)
    made.clock.set(datetime.now(UTC))
    yield made
    made.close()


def at(world: World, host: Host) -> Services:
    """Another process, on a host of its own."""
    services = Services(world.services.settings)
    services.domains, services.vault = world.services.domains, VAULT
    services.ledger = Ledger(world.ledger.engine, ServerClock(host))
    return services


def off(ledger: Ledger) -> timedelta:
    """How far a ledger's time is from the server's, which runs on this machine."""
    with ledger.read() as tx:
        return abs(tx.now - datetime.now(UTC))


@pytest.mark.parametrize("seconds", [-3600, -130, 0, 130, 3600])
def test_a_transaction_s_time_is_the_server_s_whatever_the_host_says(
    url: str, seconds: float
) -> None:
    """X2"""
    ledger = Ledger(open_ledger(url).engine, ServerClock(Host(seconds)))
    assert off(ledger) < CLOSE
    ledger.engine.dispose()


def test_a_host_s_clock_that_is_set_changes_nothing(url: str) -> None:
    """X2: nor does a machine that slept."""
    host = Host()
    ledger = Ledger(open_ledger(url).engine, ServerClock(host))
    for host.off in (0, 900, -900, 3):
        assert off(ledger) < CLOSE
    ledger.engine.dispose()


def test_time_does_not_go_back_from_one_transaction_to_the_next(url: str) -> None:
    host = Host()
    ledger = Ledger(open_ledger(url).engine, ServerClock(host))
    seen = []
    for number in range(50):
        # Each time it is measured anew.
        host.off = number % 2
        with ledger.read() as tx:
            seen.append(tx.now)
    assert all(after - before > -CLOSE / 100 for before, after in pairwise(seen))
    ledger.engine.dispose()


@pytest.mark.parametrize("seconds", [-130, 130])
def test_a_host_whose_clock_is_off_takes_no_live_request_over(
    world: World, seconds: float
) -> None:
    """X2: leases are judged by one clock."""
    work = world.resumed()
    other = at(world, Host(seconds))
    assert opening.take_lease(other, work.workflow, FLOW_RUN) is None


def test_a_host_whose_clock_is_ahead_settles_nothing_that_is_under_way(
    world: World, mail: RecordingServer
) -> None:
    """X2, X5"""
    work, claim = world.claimed()
    told = supervising.recover_effects.fn(at(world, Host(130)))
    assert (told.done, told.failed, mail.received) == ((), (), [])
    assert world.item(work).state == "execution_claimed"
    assert claim.token == 1


def test_a_process_without_a_clock_of_its_own_has_the_ledger_s(world: World) -> None:
    services = Services(world.services.settings)
    assert isinstance(services.ledger.clock, ServerClock)
    assert services.clock is services.ledger.clock
    services.ledger.engine.dispose()


def test_a_clock_that_is_given_counts(world: World) -> None:
    services = world.another()
    assert services.clock is world.clock
    assert world.services.ledger.clock is world.clock
