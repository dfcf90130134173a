"""Dying between any two durable steps: the request comes to its end, sent once."""

from itertools import count

import pytest

from blocks import gate, recovery
from blocks.ledger import audit
from blocks.recovery import Point
from policies.errors import Superseded
from tests.dying import Mortal
from tests.smtp_server import RecordingServer
from tests.world import World

# These are reached only beside a Prefect server: tests/acceptance has them.
BESIDE_PREFECT = {Point.PAUSED, Point.RESTART_COUNTED}
# What is reached only by whoever goes on after another death.
DIED_BEFORE = {
    Point.FACTS_READ_AGAIN: Point.PAUSE_WRITTEN,
    Point.OUTCOME_LOST: Point.SENT,
    Point.RECONCILED: Point.DISPATCHED,
    Point.RETRY_CLAIMED: Point.DISPATCHED,
}
IN_DOUBT = {
    Point.DISPATCHED,
    Point.SENT,
    Point.OUTCOME_LOST,
    Point.RECONCILED,
    Point.RETRY_CLAIMED,
}


@pytest.mark.parametrize("point", sorted(set(Point) - BESIDE_PREFECT))
def test_whoever_dies_here_another_one_brings_it_to_its_end(
    world: World, mail: RecordingServer, point: Point
) -> None:
    """X8: each time that the point is reached on the way; approved means sent once."""
    for number in count(1):
        request = Mortal(world, mail, f"request-{number}")
        if point in DIED_BEFORE:
            assert request.dies_at(DIED_BEFORE[point])
        if point == Point.FACTS_READ_AGAIN:
            world.edit_address("c-1", f"grace-{number}@example.com")
        if not request.dies_at(point, number):
            break
        request.go_on()
        assert (request.status, request.mails) == ("completed", 1)
        unknown = world.told(request.workflow, "execution_unknown")
        assert bool(unknown) == (point in IN_DOUBT)
    assert number > 1, f"{point} is never reached"
    with world.ledger.read() as tx:
        assert audit.verify(tx)[1] is None


def test_who_stands_still_between_dispatch_and_send_sends_nothing_any_more(
    world: World, mail: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X2: by then it may be settled that nothing was sent; the attempt is recorded."""

    def stand_still(point: Point) -> None:
        if point == Point.DISPATCHED:
            monkeypatch.undo()
            late = gate.elapsed() + 61
            monkeypatch.setattr(gate, "elapsed", lambda: late)
            world.execute(world.superseded(work))

    work = world.resumed()
    monkeypatch.setattr(recovery, "at_point", stand_still)
    with pytest.raises(Superseded):
        world.execute(work)
    told = world.told(work, "late_write_refused")
    assert ([fact["outcome"] for fact in told], mail.received) == (["not sent"], [])
