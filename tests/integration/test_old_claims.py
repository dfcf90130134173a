"""What a version before the outbox left half done comes to an end after the upgrade."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from blocks import gate
from blocks.control import By
from blocks.ledger import audit, claims, freezes, outbox, schema, sessions
from blocks.ledger.claims import Claim
from blocks.ledger.database import Ledger, open_ledger
from blocks.ledger.people import TokenProof
from policies.lifecycle import State
from tasks import opening, supervising
from tasks.work import Work
from tests import forging
from tests.integration.guard_changes import overwrite
from tests.old_ledger import OldWorld, copy_to_old
from tests.smtp_server import RecordingServer
from tests.world import FLOW_RUN, TERMINAL, World

_ENDED = "UPDATE execution_claims SET finished_at = claimed_at WHERE state = 'unknown'"
Upgraded = Callable[[World], World]


@pytest.fixture
def upgraded(
    empty_database: str, tmp_path: Path, mail: RecordingServer
) -> Iterator[Upgraded]:
    """Turns an installation into one that comes from the old version."""
    made: list[OldWorld] = []

    def upgrade(world: World) -> World:
        old = open_ledger(empty_database)
        copy_to_old(world, old)
        forging.run(old, _ENDED)
        assert schema.upgrade(old)
        old.engine.dispose()
        new = OldWorld(empty_database, tmp_path, mail.port)
        new.clock, new.people = world.clock, world.people
        new.services.clock = new.ledger.clock = new.clock
        made.append(new)
        return new

    yield upgrade
    for world in made:
        world.close()


def dispatched(world: World) -> tuple[Work, Claim]:
    work, claim = world.claimed()
    tool = world.version(work).snapshot.tool
    gate.open_for(world.services.gate, claim.id, claim.token, tool)
    return work, claim


def unknown(world: World) -> tuple[Work, Claim]:
    work, claim = dispatched(world)
    turn(world)
    return work, claim


def turn(world: World, times: int = 1) -> None:
    """So many turns of the supervisor, each after every lease has run out."""
    for _ in range(times):
        world.clock.move(301)
        told = supervising.recover_effects.fn(world.another())
        assert told.failed == ()


def claim_of(world: World, claim: Claim) -> Claim:
    with world.ledger.read() as tx:
        return claims.load(tx, claim.id)


def settle(world: World, work: Work, happened: bool) -> None:
    proof = TokenProof(token=world.people["ada"].token)
    by = By(reviewer="ada", proof=proof, channel=TERMINAL, reason="I have looked")
    world.services.control.settle(work.workflow, by, happened=happened)


def intact(ledger: Ledger) -> bool:
    with ledger.read() as tx:
        return audit.verify(tx)[1] is None


def test_a_claim_that_promised_nothing_is_promised_and_sent_once(
    world: World, upgraded: Upgraded, mail: RecordingServer
) -> None:
    work, claim = world.claimed()
    new = upgraded(world)
    turn(new, 2)
    assert new.item(work).state == "executed"
    assert len(mail.received) == 1
    with new.ledger.read() as tx:
        assert outbox.of_claim(tx, claim.id).state == "done"
    assert intact(new.ledger)


def test_the_guard_still_ends_a_claim_that_promised_nothing(
    world: World, upgraded: Upgraded, mail: RecordingServer
) -> None:
    work, claim = world.claimed()
    new = upgraded(world)
    new.edit_address("c-1", "grace@new.example.com")
    turn(new)
    assert new.item(work).state == "reapproval_required"
    assert (claim_of(new, claim).state, mail.received) == ("released", [])


def test_a_claim_whose_payload_is_altered_ends_as_blocked_with_nothing_promised(
    world: World, upgraded: Upgraded, mail: RecordingServer
) -> None:
    work, claim = world.claimed()
    new = upgraded(world)
    overwrite(new, new.version(work).snapshot.payload.ref)
    turn(new)
    assert new.item(work).state == "blocked"
    assert (claim_of(new, claim).state, mail.received) == ("released", [])


def test_what_was_dispatched_is_unknown_and_waits_for_a_person(
    world: World, upgraded: Upgraded, mail: RecordingServer
) -> None:
    work, claim = dispatched(world)
    new = upgraded(world)
    turn(new, 3)
    found = claim_of(new, claim)
    assert (new.item(work).state, found.state) == ("execution_unknown", "unknown")
    assert found.lookups > 0
    assert mail.received == []


@pytest.mark.parametrize("left", [dispatched, unknown])
def test_an_old_unknown_outcome_that_happened_is_executed(
    world: World,
    upgraded: Upgraded,
    left: Callable[[World], tuple[Work, Claim]],
    mail: RecordingServer,
) -> None:
    work, claim = left(world)
    new = upgraded(world)
    turn(new)
    settle(new, work, happened=True)
    turn(new)
    assert (new.item(work).state, claim_of(new, claim).state) == ("executed",) * 2
    assert mail.received == []


def test_an_unknown_outcome_of_the_old_version_is_looked_at_at_once(
    world: World, upgraded: Upgraded
) -> None:
    _, claim = unknown(world)
    before = claim.lookups
    new = upgraded(world)
    turn(new)
    assert claim_of(new, claim).lookups > before
    assert claim_of(new, claim).due_at is not None


def test_what_did_not_happen_and_is_not_kept_is_asked_anew_under_another_key(
    world: World, upgraded: Upgraded, mail: RecordingServer
) -> None:
    """Other bytes never go out under a key that was used."""
    work, claim = unknown(world)
    new = upgraded(world)
    settle(new, work, happened=False)
    turn(new)
    (told,) = new.told(work, "reapproval_required")
    assert "message_lost" in str(told["reasons"])
    assert claim_of(new, claim).state == "released"
    taken = opening.take_lease(new.services, work.workflow, FLOW_RUN)
    assert taken is not None
    again, shown = new.form(taken)
    assert shown is not None
    new.approve(again)
    new.advance(new.resume(again))
    assert new.item(again).state == State.EXECUTED
    (sent,) = mail.received
    assert claim.key.encode() not in sent.content


def test_frozen_it_stays_and_goes_on_afterwards(
    world: World, upgraded: Upgraded, mail: RecordingServer
) -> None:
    work, _ = world.claimed()
    new = upgraded(world)
    everything = freezes.Scope(tenant=None, tool=None)
    for frozen, state in ((True, "execution_claimed"), (False, "executed")):
        with new.ledger.write() as tx:
            freezes.put(tx, everything, frozen=frozen, actor="ada", reason="a test")
        turn(new, 2)
        assert new.item(work).state == state
    assert len(mail.received) == 1


def test_the_run_itself_goes_on_too(
    world: World, upgraded: Upgraded, mail: RecordingServer
) -> None:
    work, _ = world.claimed()
    new = upgraded(world)
    new.clock.move(61)
    taken = opening.take_lease(new.services, work.workflow, FLOW_RUN)
    assert taken is not None
    done, _ = new.advance(taken)
    with new.ledger.read() as tx:
        assert sessions.load(tx, done.workflow).status == "completed"
    assert len(mail.received) == 1
