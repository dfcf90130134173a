"""A process that moves money and is killed between two statements of it."""

from multiprocessing import get_context

from blocks import gate
from blocks.artifacts import ArtifactStore
from blocks.gate import Gate
from blocks.ledger.claims import Claim
from blocks.ledger.database import open_ledger
from tests.bank.adapter import TRANSFER
from tests.bank.store import move_money
from tests.bank.world import DOMAINS
from tests.breaking import broken_at, die
from tests.racer import Installation

_PROCESSES = get_context("forkserver")
_PROCESSES.set_forkserver_preload([__name__])


def transfer_killed_at(place: Installation, claim: Claim, statement: int) -> int:
    """How a process ended that was to be killed there; 0 if it came to its end."""
    values = (place, claim.id, claim.token, statement)
    process = _PROCESSES.Process(target=_transfer, args=values)
    process.start()
    process.join(timeout=60)
    assert process.exitcode is not None
    return process.exitcode


def _transfer(place: Installation, claim: str, token: int, statement: int) -> None:
    ledger = open_ledger(place.database, lambda: place.now)
    passing = Gate(ledger, ArtifactStore(place.artifacts), DOMAINS, 60)
    with broken_at(ledger.engine, statement, die):
        gate.carry_out(passing, claim, token, TRANSFER.name, move_money)
