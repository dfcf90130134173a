"""The supervisor's turn over effects that nobody brings further."""

import pytest

from blocks.ledger import claims, effects, freezes, outbox, unattended
from blocks.ledger.claims import Claim
from policies.errors import Conflict, InvalidInput, Misconfigured, Refused
from tasks import executing, supervising
from tasks.services import Services
from tasks.supervising import Turn
from tasks.support_email import tools
from tasks.work import Work, reload
from tests import forging
from tests.reading import names
from tests.smtp_server import RecordingServer
from tests.together import together
from tests.unattended import SEND, by, claim_of, ended_as_unknown, settle, turn
from tests.world import World


@pytest.fixture
def unknown(world: World) -> Work:
    """A request that has ended, for its process died between send and record."""
    return ended_as_unknown(world)


def test_what_was_claimed_and_left_is_sent_once(
    world: World, mail: RecordingServer
) -> None:
    """X2, X8"""
    work, _ = world.claimed()
    assert [done.what for done in turn(world).done] == ["the effect is executed"]
    assert turn(world) == Turn()
    assert (world.item(work).state, len(mail.received)) == ("executed", 1)
    assert names(world.trail(work)).count("claim_taken_over") == 1


def test_what_a_live_process_holds_is_left_alone(world: World) -> None:
    """X2"""
    _, claim = world.claimed()
    assert supervising.recover_effects.fn(world.another()) == Turn()
    with world.ledger.read() as tx:
        assert claims.load(tx, claim.id).token == 1


def test_a_send_that_was_cut_off_is_unknown_and_not_sent_again(
    world: World, mail: RecordingServer
) -> None:
    """S9, X5: SMTP cannot tell, so it waits for a person."""
    work, claim = world.claimed()
    tools.EFFECTS[SEND].tool(world.services, claim.id, claim.token)
    for _ in range(3):
        turn(world)
    assert world.item(work).state == "execution_unknown"
    assert len(mail.received) == 1


def test_what_is_not_known_is_asked_for_later_and_later(
    world: World, unknown: Work
) -> None:
    """X5"""
    waits = []
    for _ in range(3):
        turn(world)
        waits.append(claim_of(world, unknown).lookups)
    assert waits == [2, 3, 4]


def test_a_person_settles_that_it_happened_and_the_request_goes_on(
    world: World, mail: RecordingServer, unknown: Work
) -> None:
    """X5"""
    settle(world, unknown, happened=True)
    assert world.item(unknown).state == "executed"
    work = world.superseded(unknown)
    work, _ = world.advance(work)
    assert (work.session.status, mail.received) == ("completed", [])
    told = world.told(work, "reconciled")[0]
    assert (told["actor"], told["reason"], told["method"]) == (
        "ada",
        "I looked",
        "bearer token",
    )


def test_what_did_not_happen_is_sent_again_with_the_same_bytes_and_key(
    world: World, mail: RecordingServer, unknown: Work
) -> None:
    """X5"""
    with world.ledger.read() as tx:
        promised = outbox.of_claim(tx, claim_of(world, unknown).id).message
    settle(world, unknown, happened=False)
    assert world.item(unknown).state == "retry_ready"
    assert [done.what for done in turn(world).done] == ["the effect is executed"]
    claim = claim_of(world, unknown)
    assert (claim.attempts, claim.state) == (2, "executed")
    sent = [one.content for one in mail.received]
    assert sent == [world.services.artifacts.get(promised)]


def test_an_approval_that_has_ended_is_not_tried_again(
    world: World, mail: RecordingServer, unknown: Work
) -> None:
    """A5"""
    settle(world, unknown, happened=False)
    expires = world.item(unknown).expires_at
    assert expires is not None
    world.clock.set(expires)
    turn(world)
    assert (world.item(unknown).state, mail.received) == ("expired", [])


def test_an_outcome_is_settled_once(world: World, unknown: Work) -> None:
    """B9"""
    settle(world, unknown, happened=True)
    with pytest.raises(Conflict) as told:
        settle(world, unknown, happened=False)
    assert told.value.code == "nothing_unknown"
    assert world.item(unknown).state == "executed"


@pytest.mark.parametrize("reason", ["", "  "])
def test_settling_takes_a_reason(world: World, unknown: Work, reason: str) -> None:
    with pytest.raises(InvalidInput) as told:
        settle(world, unknown, happened=True, reason=reason)
    assert told.value.code == "reason_required"


def test_settling_takes_the_right_to_decide(world: World, unknown: Work) -> None:
    """E: another tenant's reviewer, and one without the permission."""
    world.add("eve", tenant="other")
    world.add("carol", permissions=())
    for reviewer in ("eve", "carol"):
        with pytest.raises(Refused) as told:
            settle(world, unknown, happened=True, reviewer=reviewer)
        assert told.value.code == "missing_permission"
    assert world.item(unknown).state == "execution_unknown"


def test_a_freeze_between_claim_and_send_sends_nothing_until_it_is_lifted(
    world: World, mail: RecordingServer
) -> None:
    """X9"""
    work, _ = world.claimed()
    world.add("olga", role="owner")
    scope = freezes.Scope(tenant="main", tool=None)
    world.services.control.freeze(scope, by(world, "bob"), frozen=True)
    turn(world), turn(world)
    assert (world.item(work).state, mail.received) == ("execution_claimed", [])
    assert names(world.trail(work)).count("policy_blocked") == 1
    with pytest.raises(Refused):
        world.services.control.freeze(scope, by(world, "bob"), frozen=False)
    world.services.control.freeze(scope, by(world, "olga"), frozen=False)
    turn(world)
    assert (world.item(work).state, len(mail.received)) == ("executed", 1)


def test_what_is_known_of_an_effect_is_told_in_the_order_in_which_it_was_found(
    world: World, unknown: Work
) -> None:
    """R2"""
    settle(world, unknown, happened=False)
    turn(world)
    with world.ledger.read() as tx:
        told = effects.results_of(tx, world.item(unknown).id)
    assert [row["outcome"] for row in told] == ["unknown", "executed"]


def test_what_was_put_off_keeps_its_holder_s_lease_as_it_was(world: World) -> None:
    """X2: to let others go first is no claim on it."""
    work, _ = world.claimed()
    before = claim_of(world, work).lease_until
    world.clock.move(61)
    with world.ledger.write() as tx:
        (left,) = unattended.effects(tx, 10)
        unattended.put_off(tx, left, 30)
        assert unattended.effects(tx, 10) == ()
    assert claim_of(world, work).lease_until == before
    world.clock.move(31)
    with world.ledger.read() as tx:
        assert unattended.effects(tx, 10) == (left,)


def test_c19_one_bad_row_does_not_keep_the_others_from_their_turn(
    world: World, mail: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """L11"""
    world.add_ticket("t-2", message="Where is parcel 100999?")
    bad, claim = world.claimed("request-1")
    good, _ = world.claimed("request-2", ticket_id="t-2")
    whole = executing.execute

    def break_down(services: Services, work: Work, item: str) -> Work:
        if work.workflow == bad.workflow:
            raise RuntimeError("out of memory")
        return whole(services, work, item)

    monkeypatch.setattr(executing, "execute", break_down)
    told = turn(world)
    assert [row.about for row in told.failed] == [claim.id]
    assert (world.item(good).state, len(mail.received)) == ("executed", 1)


def test_two_turns_at_once_do_one_effect(world: World, mail: RecordingServer) -> None:
    """X1"""
    world.claimed()
    world.clock.move(61)
    together(4, lambda _: supervising.recover_effects.fn(world.another()))
    assert len(mail.received) == 1


def test_a_reversal_is_recorded_and_executes_nothing(
    world: World, mail: RecordingServer
) -> None:
    """X9: only of what was executed, with a reference and a reason."""
    work = world.resumed()
    control = world.services.control
    with pytest.raises(Conflict):
        control.roll_back(work.workflow, by(world), "ticket 7")
    world.execute(work)
    control.roll_back(work.workflow, by(world), "ticket 7")
    told = world.told(work, "rolled_back")[0]
    assert (told["rollback_reference"], told["actor"]) == ("ticket 7", "ada")
    assert (world.item(work).state, len(mail.received)) == ("executed", 1)


def test_a_buried_key_is_never_used_again(world: World, mail: RecordingServer) -> None:
    """X6"""
    work, _ = world.advance(world.resumed())
    world.clock.move(world.services.settings.keep_claims_days * 86_400 + 1)
    supervising.bury_keys.fn(world.services)
    assert forging.rows(world.ledger, "execution_claims") == []
    refused = world.claim(work)
    assert isinstance(refused, claims.Refused)
    assert "key_expired" in [r.code for r in refused.answer.reasons]
    with world.ledger.read() as tx:
        assert effects.results_of(tx, world.item(work).id)[0]["outcome"] == "executed"
    assert len(mail.received) == 1


def test_a_retention_in_which_a_key_could_be_forgotten_too_soon_is_refused(
    world: World,
) -> None:
    """X6"""
    settings = world.services.settings
    world.services.settings = settings.model_copy(update={"keep_claims_days": 8})
    for use in (supervising.bury_keys.fn, lambda services: world.opened()):
        with pytest.raises(Misconfigured, match="KEEP_CLAIMS_DAYS is 8"):
            use(world.services)


def test_batches_go_round(world: World) -> None:
    """A request that was looked at comes last."""
    first, second = world.opened("request-1"), world.opened("request-2")
    world.clock.move(61)
    with world.ledger.write() as tx:
        seen = unattended.requests(tx, 1)[0].workflow
        unattended.looked_at(tx, seen)
        then = unattended.requests(tx, 1)[0].workflow
    assert {seen, then} == {first.workflow, second.workflow}


def present(world: World, claim: Claim) -> Claim:
    with world.ledger.read() as tx:
        return claims.load(tx, claim.id)


def test_a_stopped_worker_s_late_record_is_refused_and_kept(
    world: World, mail: RecordingServer
) -> None:
    """X2, S10"""
    work, old = world.claimed()
    late = tools.EFFECTS[SEND].tool(world.services, old.id, old.token)
    turn(world)
    with world.ledger.write() as tx:
        assert effects.finish(tx, old, late) is False
    assert present(world, old).token == 2
    assert world.told(work, "late_write_refused")[0]["outcome"] == "executed"
    assert reload(world.services, work.held).session.workflow == work.workflow
    assert len(mail.received) == 1
