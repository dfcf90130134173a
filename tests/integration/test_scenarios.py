"""Silent failures that must be impossible; the rest of them stand beside their kind."""

import pytest

from blocks.ledger import freezes
from blocks.ledger.freezes import Scope
from policies.decision import Wait
from tasks import waiting
from tasks.work import Work
from tests.reading import names
from tests.smtp_server import RecordingServer
from tests.world import FLOW_RUN, World

YEAR = 365 * 86_400.0


def brought_to(world: World, point: str) -> Work:
    """A request that waits there."""
    if point == "claimed":
        return world.claimed()[0]
    if point == "frozen":
        work = world.resumed()
        everything = Scope(tenant=None, tool=None)
        with world.ledger.write() as tx:
            freezes.put(tx, everything, frozen=True, actor="ada", reason="tests")
        return world.execute(work)
    reached: Work = getattr(world, point)()
    return reached


@pytest.mark.parametrize("point", ["asked", "approved", "resumed", "claimed", "frozen"])
def test_s4_wherever_a_request_waits_it_comes_to_an_end(
    world: World, mail: RecordingServer, point: str
) -> None:
    work = brought_to(world, point)
    world.clock.move(YEAR)
    work, decision = world.advance(world.superseded(work))
    if isinstance(decision, Wait):
        # It is held back, and that wait ends with its approval's term.
        assert waiting.may_go_on(world.services, work)
        pause = waiting.start_plain_pause(world.services, work, FLOW_RUN)
        work, _ = world.advance(waiting.let_go(world.services, work, pause))
    elif decision is not None:
        work, _ = world.advance(world.resume(work))
    assert (world.item(work).state, work.session.status) == ("expired", "expired")
    assert mail.received == []
    assert {"expired", "reapproval_required"} & set(names(world.trail(work)))
