"""Acts on one effect at the same time: one of them wins, the other is told."""

from datetime import timedelta

import pytest

from blocks import gate
from blocks.control import By
from blocks.ledger import claims, effects, endings, facts, sessions, tombstones
from blocks.ledger.claims import Claim
from blocks.ledger.freezes import Scope
from blocks.ledger.people import TokenProof
from policies.errors import Conflict, Refused, Superseded
from policies.lifecycle import State
from tasks.support_email import tools
from tasks.work import Work, reload
from tests.reading import names
from tests.smtp_server import RecordingServer
from tests.together import RACES, together
from tests.world import TERMINAL, World

SEND = "support_email.send_reply"
WHO = ("ada", "bob")
EVERYTHING = Scope(tenant="main", tool=None)


def by(world: World, reviewer: str) -> By:
    proof = TokenProof(token=world.people[reviewer].token)
    return By(reviewer=reviewer, proof=proof, channel=TERMINAL, reason="I looked")


def settle(world: World, work: Work, reviewer: str, happened: bool) -> str:
    control = world.services.control
    return control.settle(work.workflow, by(world, reviewer), happened=happened)


def unknown(world: World, request_id: str) -> Work:
    """A request whose process died between send and record."""
    work, claim = world.claimed(request_id)
    gate.open_for(world.services.gate, claim.id, claim.token, SEND)
    world.clock.move(61)
    return world.execute(work)


def claim_of(world: World, work: Work) -> Claim:
    with world.ledger.read() as tx:
        return claims.of_item(tx, world.item(work).id)[-1]


def retry(world: World, work: Work) -> Claim | claims.Refused:
    """Claim again what did not happen."""
    snapshot = world.version(work).snapshot
    store, adapter = world.services.artifacts, world.domain.adapter
    stored = facts.read_stored(store, adapter, snapshot)
    with world.ledger.write() as tx:
        session = sessions.load(tx, work.workflow)
        old = claims.of_item(tx, world.item(work).id)[-1]
        return claims.retry(
            tx, old, session, stored, world.domain, owner="thread", seconds=60
        )


@pytest.fixture
def olga(world: World) -> None:
    """Somebody who may lift a freeze."""
    world.add("olga", role="owner")


def test_of_two_who_settle_one_outcome_at_once_one_is_believed(world: World) -> None:
    """X5, B9: that it happened, and that it did not."""
    for number in range(RACES):
        work = unknown(world, f"request-{number}")
        told = together(2, lambda n, w=work: settle(world, w, WHO[n], n == 0))  # type: ignore[misc]
        (other,) = [one for one in told if isinstance(one, Conflict)]
        assert other.code == "nothing_unknown"
        won = "retry_ready" if other is told[0] else "executed"
        assert world.item(work).state == claim_of(world, work).state == won
        assert names(world.trail(work)).count("reconciled") == 1


def test_a_retry_in_the_moment_of_expiry_sends_nothing_after_it(
    world: World, mail: RecordingServer
) -> None:
    """X5, A5"""

    def act(index: int) -> object:
        if index:
            return retry(world, work)
        world.clock.set(ends or world.clock.now)
        with world.ledger.write() as tx:
            return endings.expire_overdue(tx, work.workflow)

    for number in range(RACES):
        work = unknown(world, f"request-{number}")
        settle(world, work, "ada", happened=False)
        ends = world.item(work).expires_at
        assert ends is not None
        world.clock.set(ends - timedelta(microseconds=5))
        _, again = together(2, act)
        assert isinstance(again, Claim | claims.Refused), again
        world.execute(reload(world.services, work.held))
        assert world.item(work).state == State.EXPIRED
        assert claim_of(world, work).state == "released"
    assert mail.received == []


def test_a_freeze_and_a_send_at_once_leave_a_mail_or_a_refusal(
    world: World, mail: RecordingServer, olga: None
) -> None:
    """X9"""
    control = world.services.control

    def act(index: int) -> object:
        if index:
            return tools.EFFECTS[SEND].tool(world.services, claim.id, claim.token)
        control.freeze(EVERYTHING, by(world, "olga"), frozen=True)
        return None

    for number in range(RACES):
        before = len(mail.received)
        work, claim = world.claimed(f"request-{number}")
        frozen, sent = together(2, act)
        refused = isinstance(sent, Refused) and sent.code == "guard_refused"
        assert frozen is None and isinstance(sent, Refused | effects.Result), sent
        assert len(mail.received) - before == (not refused)
        assert claim_of(world, work).state == ("claimed" if refused else "dispatched")
        control.freeze(EVERYTHING, by(world, "olga"), frozen=False)


def test_a_key_that_is_buried_while_it_is_claimed_is_not_bound_again(
    world: World, mail: RecordingServer
) -> None:
    """X6, S11"""

    def act(index: int) -> object:
        if index:
            return world.claim(work, f"thread {index}")
        with world.ledger.write() as tx:
            return tombstones.bury(tx, tx.now, 100)

    for number in range(RACES):
        work, _ = world.advance(world.resumed(f"request-{number}"))
        buried, *got = together(4, act)
        assert buried == 1
        for one in got:
            if isinstance(one, claims.Refused):
                assert "key_expired" in [r.code for r in one.answer.reasons]
            else:
                assert isinstance(one, Claim) and one.state == "executed", one
        assert names(world.trail(work)).count("execution_claimed") == 1
        assert len(mail.received) == number + 1


def test_of_many_who_retry_at_once_one_holds_the_claim(world: World) -> None:
    """X1, X5"""
    for number in range(RACES):
        work = unknown(world, f"request-{number}")
        settle(world, work, "ada", happened=False)
        got = together(8, lambda _, w=work: retry(world, w))  # type: ignore[misc]
        assert [one.token for one in got if isinstance(one, Claim)] == [3]
        assert sum(isinstance(one, Superseded | Conflict) for one in got) == 7
        assert world.item(work).state == State.EXECUTION_CLAIMED
