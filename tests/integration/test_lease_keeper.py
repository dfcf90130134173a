"""A lease is kept while its process lives, and its loss is noticed."""

import threading
from collections.abc import Iterator
from datetime import datetime
from functools import partial

import pytest

from blocks.lease import LeaseKeeper
from blocks.ledger import sessions
from blocks.ledger.database import Transaction
from blocks.ledger.sessions import Held
from policies.errors import Unavailable
from tasks.work import Work
from tests.together import until
from tests.world import World

SECONDS = 0.15


@pytest.fixture
def work(world: World) -> Work:
    """A request whose lease is about to run out."""
    return world.opened()


@pytest.fixture
def keeper(world: World, work: Work) -> Iterator[LeaseKeeper]:
    """What keeps its lease."""
    with keeping_of(world, work, SECONDS) as keeping:
        yield keeping


def keeping_of(world: World, work: Work, seconds: float) -> LeaseKeeper:
    def renew(tx: Transaction) -> None:
        sessions.renew(tx, work.workflow, work.held.token, seconds)

    return LeaseKeeper(world.ledger, renew, seconds)


def is_kept_beyond(world: World, work: Work, moment: datetime) -> bool:
    with world.ledger.read() as tx:
        found = sessions.load(tx, work.workflow).lease_until
    return found is not None and found > moment


def take_over(world: World, work: Work) -> Held:
    """Let time go by faster than the keeper can renew."""
    held = None
    while held is None:
        world.clock.move(60)
        with world.ledger.write() as tx:
            held = sessions.acquire(tx, work.workflow, "somebody else", 600, None)
    return held


def test_it_renews_the_lease_again_and_again(
    world: World, work: Work, keeper: LeaseKeeper
) -> None:
    """X2"""
    for _ in range(3):
        world.clock.move(60)
        until(partial(is_kept_beyond, world, work, world.clock.now))
    assert not keeper.lost


def test_b4_it_notices_that_a_newer_holder_has_the_lease(
    world: World, work: Work, keeper: LeaseKeeper
) -> None:
    """B2"""
    newer = take_over(world, work)
    until(lambda: keeper.lost)
    with world.ledger.read() as tx:
        assert sessions.load(tx, work.workflow).lease_token == newer.token


def test_it_ends_with_its_block(world: World, work: Work) -> None:
    before = threading.active_count()
    with keeping_of(world, work, 60):
        assert threading.active_count() == before + 1
    assert threading.active_count() == before


def test_it_survives_a_database_that_does_not_answer(
    world: World, work: Work, keeper: LeaseKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lease may run out meanwhile; it is never given up by a lost connection."""
    down = threading.Event()

    def refuse(*_: object) -> None:
        down.set()
        raise Unavailable

    with monkeypatch.context() as patch:
        patch.setattr(sessions, "renew", refuse)
        assert down.wait(10)
    world.clock.move(60)
    until(partial(is_kept_beyond, world, work, world.clock.now))
    assert not keeper.lost
