"""What is done about effects that nobody brings further, and where their runs are."""

import pytest

from blocks import gate, prefect_states
from blocks.control import By
from blocks.ledger import claims
from blocks.ledger.claims import Claim
from blocks.ledger.people import TokenProof
from policies.attendance import Run, RunKind
from policies.errors import Unavailable
from tasks import opening, supervising
from tasks.supervising import Turn
from tasks.work import Work
from tests.world import TERMINAL, World

SEND = "support_email.send_reply"


def turn(world: World) -> Turn:
    """A turn over the effects by another process, after every lease has run out."""
    world.clock.move(61)
    return supervising.recover_effects.fn(world.another())


def whole_turn(world: World) -> Turn:
    """A whole turn by another process, after every lease has run out."""
    world.clock.move(61)
    return supervising.take_turn(world.another())


def by(world: World, reviewer: str = "ada", reason: str = "I looked") -> By:
    """A person at the terminal."""
    proof = TokenProof(token=world.people[reviewer].token)
    return By(reviewer=reviewer, proof=proof, channel=TERMINAL, reason=reason)


def settle(world: World, work: Work, happened: bool, **who: str) -> str:
    """A person settles an unknown outcome."""
    control = world.services.control
    return control.settle(work.workflow, by(world, **who), happened=happened)


def ended_as_unknown(world: World) -> Work:
    """A request that has ended, for its process died between send and record."""
    work, claim = world.claimed()
    gate.open_for(world.services.gate, claim.id, claim.token, SEND)
    world.clock.move(61)
    work, _ = world.advance(world.execute(work))
    assert (world.item(work).state, work.session.status) == (
        "execution_unknown",
        "unknown",
    )
    opening.give_lease_back(world.services, work)
    return work


def claim_of(world: World, work: Work) -> Claim:
    """The newest claim on the first item."""
    with world.ledger.read() as tx:
        return claims.of_item(tx, world.item(work).id)[-1]


class Runs:
    """What Prefect says of every run; `kind` None is no answer."""

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        self._world = world
        self.kind: RunKind | None = "running"
        self.deployed = True
        monkeypatch.setattr(prefect_states, "read_many", self._read)

    def _read(self, ids: object, now: object) -> dict[str, Run]:
        if self.kind is None:
            raise Unavailable("The Prefect server does not answer.")
        run = Run(
            kind=self.kind,
            name=self.kind,
            since=self._world.clock.now,
            deployed=self.deployed,
        )
        return dict.fromkeys(list(ids), run)  # type: ignore[call-overload]
