"""A request whose domain is registered no longer says so, wherever it is taken up."""

from types import MappingProxyType

import pytest

from blocks.gate import Gate, open_for
from policies.errors import Misconfigured
from tasks import deciding, opening
from tests.world import World

TOLD = "The domain support_email of this request is not registered"


def test_no_step_of_it_is_decided_and_no_tool_of_it_found(world: World) -> None:
    work = world.opened()
    world.services.domains = MappingProxyType({})
    with pytest.raises(Misconfigured, match=TOLD):
        deciding.decide(world.services, work)
    with pytest.raises(Misconfigured, match=TOLD):
        opening.tools_of(world.services, "support_email")


def test_nothing_of_it_is_executed(world: World) -> None:
    work, claim = world.claimed()
    ledger, store = world.ledger, world.services.artifacts
    tool = world.version(work).snapshot.tool
    with pytest.raises(Misconfigured, match=TOLD):
        open_for(Gate(ledger, store, {}, 60), claim.id, claim.token, tool)
    world.services.domains = MappingProxyType({})
    with pytest.raises(Misconfigured, match=TOLD):
        world.execute(work)
