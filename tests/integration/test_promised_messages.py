"""What is sent is what was promised with the claim: these bytes, to these people."""

import json

import pytest

from blocks.ledger import audit, outbox, proposals
from blocks.ledger.claims import Claim
from tests import forging
from tests.integration.test_guard_on_rows import reasons
from tests.smtp_server import RecordingServer
from tests.world import World

OTHER = b"From: desk@placet.test\r\nTo: grace@example.com\r\n\r\nNot approved.\r\n"


def send_elsewhere(world: World, claim: Claim) -> None:
    with world.ledger.read() as tx:
        envelope = outbox.of_claim(tx, claim.id).envelope
    changed = json.dumps({**envelope, "recipient": "mallory@example.com"})
    forging.run(
        world.ledger,
        "UPDATE outbox SET envelope = :envelope WHERE claim = :claim",
        envelope=changed,
        claim=claim.id,
    )


def send_something_else(world: World, claim: Claim) -> None:
    kept = world.services.artifacts.put(OTHER, "execution", "message/rfc822")
    with world.ledger.write() as tx:
        proposals.record_artifact(tx, kept)
    forging.run(
        world.ledger,
        "UPDATE outbox SET message = :message WHERE claim = :claim",
        message=kept.ref,
        claim=claim.id,
    )


@pytest.mark.parametrize("swap", [send_elsewhere, send_something_else])
def test_a_message_that_was_exchanged_after_the_claim_is_never_sent(
    world: World,
    mail: RecordingServer,
    swap: object,
) -> None:
    """A2: the guard blocks it, and audit verify tells of it."""
    work, claim = world.claimed()
    assert callable(swap)
    swap(world, claim)
    work = world.execute(work)
    assert (world.item(work).state, mail.received) == ("blocked", [])
    assert reasons(world, work) == ["message_changed"]
    with world.ledger.read() as tx:
        _, fault = audit.verify(tx)
    assert fault is not None and "no event tells of this message" in fault.problem


def test_what_was_promised_stands_in_the_trail(
    world: World, mail: RecordingServer
) -> None:
    """A2"""
    work, claim = world.claimed()
    with world.ledger.read() as tx:
        promised = outbox.of_claim(tx, claim.id)
        (told,) = audit.facts_of(tx, work.workflow, "execution_claimed")
        assert audit.verify(tx)[1] is None
    assert told["message"] == promised.message
    world.execute(work)
    assert len(mail.received) == 1
