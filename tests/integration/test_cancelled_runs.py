"""What a cancelled run had asked for is not sent, whoever goes on with it."""

import pytest

from blocks.ledger import cancelling, claims, freezes, sessions
from blocks.ledger.freezes import Scope
from policies.attendance import RunKind
from policies.errors import Superseded
from tasks import opening, supervising
from tasks.support_email import tools
from tasks.work import Work
from tests import forging
from tests.bank.world import BankWorld
from tests.reading import names
from tests.smtp_server import RecordingServer
from tests.unattended import (
    SEND,
    Runs,
    claim_of,
    ended_as_unknown,
    settle,
    turn,
    whole_turn,
)
from tests.world import World

EVERYTHING = Scope(tenant="main", tool=None)


@pytest.fixture
def runs(world: World, monkeypatch: pytest.MonkeyPatch) -> Runs:
    """Prefect, and requests that have a deployment to come back by."""
    world.deployed = True
    return Runs(world, monkeypatch)


def status(world: World, work: Work) -> str:
    with world.ledger.read() as tx:
        return sessions.load(tx, work.workflow).status


def freeze(world: World, frozen: bool) -> None:
    with world.ledger.write() as tx:
        freezes.put(tx, EVERYTHING, frozen=frozen, actor="olga", reason="an incident")


def test_a_claim_that_was_not_sent_is_given_up_with_its_request(
    world: World, mail: RecordingServer, runs: Runs
) -> None:
    """X5, B13: the supervisor was down for a while; the run was cancelled meanwhile."""
    work, _ = world.claimed()
    runs.kind = "cancelled"
    world.clock.move(600)
    whole_turn(world), whole_turn(world)
    assert (world.item(work).state, status(world, work)) == ("cancelled", "cancelled")
    assert (claim_of(world, work).state, mail.received) == ("released", [])
    told = world.told(work, "cancelled")[0]
    assert (told["claim"], told["claim_status"]) == (
        claim_of(world, work).id,
        "released",
    )


def test_a_frozen_claim_of_a_cancelled_run_is_not_sent_once_the_freeze_is_lifted(
    world: World, mail: RecordingServer, runs: Runs
) -> None:
    """X9, B13"""
    work, _ = world.claimed()
    freeze(world, frozen=True)
    opening.give_lease_back(world.services, world.execute(work))
    assert world.item(work).state == "execution_claimed"
    runs.kind = "cancelled"
    whole_turn(world)
    freeze(world, frozen=False)
    whole_turn(world)
    assert (world.item(work).state, mail.received) == ("cancelled", [])


def test_a_run_that_is_cancelled_after_its_request_was_looked_at_is_cancelled_in_time(
    world: World, mail: RecordingServer, runs: Runs
) -> None:
    """B13: between the chores of one turn."""
    work, _ = world.claimed()
    world.clock.move(61)
    supervising.look_after_requests.fn(world.another())
    assert world.item(work).state == "execution_claimed"
    runs.kind = "cancelled"
    supervising.recover_effects.fn(world.another())
    assert (world.item(work).state, mail.received) == ("cancelled", [])


def test_a_retry_of_a_cancelled_run_is_given_up(
    world: World, mail: RecordingServer, runs: Runs
) -> None:
    """X5, L12: it did not happen, and by now it is not wanted any more."""
    work = ended_as_unknown(world)
    settle(world, work, happened=False)
    runs.kind = "cancelled"
    turn(world)
    assert (world.item(work).state, mail.received) == ("cancelled", [])
    assert claim_of(world, work).state == "released"


def test_what_was_sent_comes_to_its_end_before_it_is_cancelled(
    world: World, mail: RecordingServer, runs: Runs
) -> None:
    """X5, B13: dispatched, so it may have happened; a person tells that it did not."""
    work, claim = world.claimed()
    tools.EFFECTS[SEND].tool(world.services, claim.id, claim.token)
    runs.kind = "cancelled"
    whole_turn(world), whole_turn(world)
    assert (world.item(work).state, status(world, work)) == (
        "execution_unknown",
        "unknown",
    )
    settle(world, work, happened=False)
    whole_turn(world)
    assert (world.item(work).state, status(world, work)) == ("cancelled", "cancelled")
    assert len(mail.received) == 1


def test_what_happened_stays_done_although_the_run_was_cancelled(
    world: World, runs: Runs
) -> None:
    """X5"""
    work = ended_as_unknown(world)
    runs.kind = "cancelled"
    settle(world, work, happened=True)
    whole_turn(world)
    assert (world.item(work).state, status(world, work)) == ("executed", "completed")


@pytest.mark.parametrize("untold", [None, "gone"])
def test_nothing_is_sent_for_a_deployed_run_of_which_prefect_does_not_tell(
    world: World, mail: RecordingServer, runs: Runs, untold: RunKind | None
) -> None:
    """W5, B13: it may have been cancelled; once Prefect tells, the effect goes out."""
    work, claim = world.claimed()
    runs.kind = untold
    told = turn(world)
    assert [row.about for row in told.reported] == [claim.id]
    assert (world.item(work).state, mail.received) == ("execution_claimed", [])
    runs.kind = "running"
    turn(world)
    assert (world.item(work).state, len(mail.received)) == ("executed", 1)


def test_without_prefect_it_is_asked_what_became_of_an_effect(
    world: World, runs: Runs
) -> None:
    """W5: to ask sends nothing."""
    work = ended_as_unknown(world)
    runs.kind = None
    turn(world), turn(world)
    assert claim_of(world, work).lookups == 3


def test_without_prefect_the_rest_of_a_turn_is_done(
    world: World, mail: RecordingServer, runs: Runs
) -> None:
    """W5: a request without a deployment depends on no server that stays."""
    waiting = world.asked()
    opening.give_lease_back(world.services, waiting)
    world.add_ticket("t-2", message="Where is parcel 100999?")
    world.deployed = False
    local, _ = world.claimed("request-2", ticket_id="t-2")
    runs.kind = None
    told = whole_turn(world)
    assert [row.about for row in told.failed] == ["look_after_requests"]
    assert [row.about for row in told.reported] == [local.workflow]
    assert (world.item(local).state, len(mail.received)) == ("executed", 1)


def test_without_prefect_nothing_fails_where_no_request_needs_it(
    world: World, runs: Runs
) -> None:
    """W5"""
    world.deployed = False
    world.claimed()
    runs.kind = None
    assert whole_turn(world).failed == ()


def test_who_has_claimed_and_not_sent_sends_nothing_once_it_is_cancelled(
    world: World, mail: RecordingServer
) -> None:
    """X2, X5: a live sender loses its claim and says so."""
    work, claim = world.claimed()
    with world.ledger.write() as tx:
        cancelling.cancel(tx, work.workflow, "ada", "no longer wanted")
    with pytest.raises(Superseded):
        tools.EFFECTS[SEND].tool(world.services, claim.id, claim.token)
    assert (world.item(work).state, mail.received) == ("cancelled", [])


def test_what_is_cancelled_keeps_no_account_reserved_and_promises_nothing(
    bank: BankWorld,
) -> None:
    """X4: others may have the account at once."""
    work = bank.resumed()
    assert isinstance(bank.claim(work), claims.Claim)
    assert len(forging.rows(bank.ledger, "reservations")) == 1
    with bank.ledger.write() as tx:
        cancelling.cancel(tx, work.workflow, "ada", "no longer wanted")
    assert forging.rows(bank.ledger, "reservations") == []
    promised = "SELECT state FROM outbox WHERE kind = 'effect'"
    assert forging.scalar(bank.ledger, promised) == "dropped"


def test_what_was_cancelled_before_its_retry_is_given_up_at_once(
    world: World, mail: RecordingServer
) -> None:
    """X5"""
    work = ended_as_unknown(world)
    settle(world, work, happened=False)
    with world.ledger.write() as tx:
        cancelling.cancel(tx, work.workflow, "ada", "no longer wanted")
    assert claim_of(world, work).state == "released"
    turn(world), turn(world)
    assert names(world.trail(work)).count("policy_blocked") == 0
    assert (world.item(work).state, mail.received) == ("cancelled", [])


def test_a_run_without_a_deployment_is_never_scheduled_again(
    world: World, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """W5: the request began by a deployment, and another run carried it on."""
    work = world.opened()
    opening.give_lease_back(world.services, work)
    runs.kind, runs.deployed = "ended", False
    told = whole_turn(world)
    assert "placet resume" in told.reported[0].what
    assert names(world.trail(work)).count("request_restarted") == 0


def test_a_session_is_deployed_as_the_run_is_that_carries_it(world: World) -> None:
    """W5: who carries it on without a deployment is not scheduled again."""
    world.deployed = True
    work = world.opened()
    opening.give_lease_back(world.services, work)
    other = "0d8f1a52-5a0e-4c43-9a57-0d7f1c0e8f11"
    local = opening.take_lease(world.another(), work.workflow, other)
    assert local is not None
    assert (local.session.flow_run_id, local.session.deployed) == (other, False)
    opening.give_lease_back(world.services, local)
    looked = opening.take_lease(world.another(), work.workflow, None)
    assert looked is not None and not looked.session.deployed
