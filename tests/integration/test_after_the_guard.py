"""What follows from the guard's no: asked again and sent once, or not at all."""

import pytest

from blocks.ledger import cancelling, freezes
from blocks.ledger.freezes import Scope
from policies.decision import RequestApproval, Wait
from policies.policy import Policy
from tasks.work import Work, reload
from tests import forging
from tests.integration.guard_changes import AGAIN, BLOCKED, CHANGES, STAYS, overwrite
from tests.integration.test_desk_refusals import PROMISE
from tests.integration.test_guard_on_rows import reasons, refusal
from tests.reading import codes, text_of
from tests.smtp_server import RecordingServer
from tests.world import SEND, World

ASKED_AGAIN = [code for code, change in CHANGES.items() if change.to == AGAIN]
NOT_AGAIN = [code for code, change in CHANGES.items() if change.to in (BLOCKED, STAYS)]
AT_THE_VERDICT = {
    "permission_missing": "permission_missing",
    "payload_ref_mismatch": "payload_ref_mismatch",
    "payload_hash_mismatch": "payload_hash_mismatch",
    "key_conflict": "idempotency_conflict",
    "key_expired": "operation_expired",
    "approval_spent": "approval_spent",
    "cancelled": "request_closed",
    "frozen": "frozen",
    "validation_changed": "validation_changed",
    "evidence_changed": "evidence_mismatch",
    "intent_mismatch": "intent_mismatch",
    "resource_version_changed": "intent_mismatch",
    "schema_version_changed": "intent_mismatch",
    "policy_version_changed": "intent_mismatch",
    "payload_version_mismatch": "stale_version",
    "approver_not_permitted": "revoked",
}


def asked_again(world: World, work: Work) -> Work:
    """On from a refusal to the form that asks for the new version."""
    work, decision = world.advance(reload(world.services, work.held))
    assert isinstance(decision, RequestApproval), decision
    work, asking = world.next_form(work)
    assert asking is not None
    return work


@pytest.mark.parametrize("code", ASKED_AGAIN)
def test_what_must_be_approved_again_is_asked_anew_and_sent_once(
    world: World, mail: RecordingServer, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    """A3"""
    work = world.resumed()
    first = world.version(work).snapshot
    CHANGES[code].do(world, work, monkeypatch)
    work = asked_again(world, world.execute(work))
    second = world.version(work).snapshot
    assert second.payload.version > first.payload.version
    assert second.key != first.key
    assert mail.received == []
    world.approve(work, by="bob")
    work, _ = world.advance(world.resume(work))
    assert (work.session.status, len(mail.received)) == ("completed", 1)
    assert world.told(work, "executed")[0]["idempotency_key"] == second.key


def test_s12_a_changed_address_gets_nothing_unapproved(
    world: World, mail: RecordingServer
) -> None:
    """S12"""
    work = world.resumed()
    world.edit_address("c-1", "grace@new.example.com")
    work = asked_again(world, world.execute(work))
    world.approve(work)
    world.advance(world.resume(work))
    assert [sent.recipients for sent in mail.received] == [("grace@new.example.com",)]


def test_what_must_be_approved_again_has_the_whole_time_to_be_decided(
    world: World, mail: RecordingServer
) -> None:
    """A5: approved in the last moment, refused long after the old deadline."""
    work = world.asked()
    first = world.item(work).deadline
    world.clock.set(first)
    world.clock.move(-1)
    world.approve(work)
    world.edit_address("c-1", "grace@new.example.com")
    world.clock.move(600)
    work = asked_again(world, world.resume(work))
    due = world.item(work).deadline - world.clock.now
    assert 0 <= 4 * 3600 - due.total_seconds() < 1
    world.approve(work)
    world.advance(world.resume(work))
    assert len(mail.received) == 1


def test_s4_nobody_waits_for_ever_for_what_must_be_approved_again(world: World) -> None:
    """A5"""
    work = world.resumed()
    world.edit_address("c-1", "grace@new.example.com")
    work = world.execute(work)
    world.clock.move(4 * 3600)
    work, decision = world.advance(reload(world.services, work.held))
    assert (world.item(work).state, decision) == ("expired", None)
    assert work.session.status == "expired"


def test_an_edit_has_the_time_that_is_left(world: World) -> None:
    """A5"""
    work = world.asked()
    first = world.item(work).deadline
    world.clock.move(3600)
    world.edit(work, body="Soon.")
    assert world.item(work).deadline == first


def test_an_edit_that_raises_the_risk_has_only_that_risks_time(world: World) -> None:
    """A5, A9: and never more than was left."""
    world.add("olga", "owner")
    work = world.asked()
    first = world.item(work).deadline
    world.edit(work, body=PROMISE)
    raised = world.item(work).deadline
    assert (raised - world.clock.now).total_seconds() == pytest.approx(3600, abs=1)
    world.clock.set(raised)
    world.clock.move(-1)
    world.edit(work, by="olga", body=f"{PROMISE} Soon.")
    assert world.item(work).deadline == raised < first


def test_what_a_reviewer_edited_stays_edited_when_it_is_asked_again(
    world: World, mail: RecordingServer
) -> None:
    work = world.asked()
    world.edit(work, body="Soon.")
    work, _ = world.next_form(work)
    world.approve(work)
    work = world.resume(work)
    world.edit_address("c-1", "grace@new.example.com")
    work = asked_again(world, world.execute(work))
    world.approve(work)
    world.advance(world.resume(work))
    assert [text_of(sent) for sent in mail.received] == ["Soon."]


def test_an_address_that_became_unfit_ends_the_item(
    world: World, mail: RecordingServer
) -> None:
    work = world.resumed()
    world.edit_address("c-1", "nobody at all")
    work, _ = world.advance(world.execute(work))
    assert world.item(work).state in ("cancelled", "blocked")
    assert (work.session.is_open, mail.received) == (False, [])


@pytest.mark.parametrize("code", NOT_AGAIN)
def test_what_is_blocked_is_never_sent_and_never_asked_again(
    world: World, mail: RecordingServer, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    """A8"""
    work = world.resumed()
    CHANGES[code].do(world, work, monkeypatch)
    work, decision = world.advance(world.execute(work))
    waits = isinstance(decision, Wait)
    assert waits == (code in ("not_approved", "frozen", "resource_reserved"))
    ends = {"cancelled"} if code == "cancelled" else {"blocked"}
    assert waits or work.session.status in ends
    assert mail.received == []


@pytest.mark.parametrize("code", AT_THE_VERDICT)
def test_what_moved_while_a_person_read_cannot_be_approved(
    world: World, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    """A2"""
    work = world.asked()
    said = world.says(work, "approve")
    before = forging.rows(world.ledger, "items")
    CHANGES[code].do(world, work, monkeypatch)
    changed = forging.rows(world.ledger, "items")
    assert codes(world.hand_in(work, said)) == [AT_THE_VERDICT[code]]
    assert forging.rows(world.ledger, "items") == changed == before
    assert forging.rows(world.ledger, "verdicts") == []


def test_what_moved_while_a_person_read_is_shown_to_them_as_it_is_now(
    world: World, mail: RecordingServer
) -> None:
    """A15"""
    work = world.asked()
    world.edit_address("c-1", "grace@new.example.com")
    outcome = world.hand_in(work, world.says(work, "approve"))
    assert "resource_version_changed" in str(outcome)
    work, asking = world.refreshed(work)
    assert asking.form.items[0].version == 2
    assert "grace@new.example.com" in asking.markdown
    world.approve(work)
    world.advance(world.resume(work))
    assert mail.received[0].recipients == ("grace@new.example.com",)


def test_all_reasons_are_told_at_once(world: World, mail: RecordingServer) -> None:
    """A3"""
    work = world.resumed()
    world.set_policy(Policy(denied={"agent": (SEND,)}))
    world.edit_address("c-1", "grace@new.example.com")
    overwrite(world, world.version(work).snapshot.evidence[0].ref)
    expires = world.item(work).expires_at
    assert expires is not None
    world.clock.set(expires)
    world.execute(work)
    assert reasons(world, work) == [
        "permission_missing",
        "evidence_changed",
        "resource_version_changed",
        "approval_expired",
    ]
    assert world.item(work).state == "blocked"
    assert mail.received == []


def test_an_approval_that_ran_out_before_the_run_went_on_is_expired(
    world: World, mail: RecordingServer
) -> None:
    """A5"""
    work = world.approved()
    expires = world.item(work).expires_at
    assert expires is not None
    world.clock.set(expires)
    work, _ = world.advance(world.resume(work))
    assert (world.item(work).state, work.session.status) == ("expired", "expired")
    assert (len(world.told(work, "expired")), mail.received) == (1, [])


def test_until_its_last_moment_an_approval_is_good(
    world: World, mail: RecordingServer
) -> None:
    """A5"""
    work = world.resumed()
    expires = world.item(work).expires_at
    assert expires is not None
    world.clock.set(expires)
    world.clock.move(-1)
    world.advance(work)
    assert len(mail.received) == 1


def test_a_withdrawal_just_before_the_claim_is_heard(
    world: World, mail: RecordingServer
) -> None:
    """B15"""
    work = world.resumed()
    world.hand_in(work, world.says(work, "withdraw"))
    work = world.execute(work)
    assert world.item(work).state == "waiting_for_review"
    assert (refusal(world, work)["moment"], reasons(world, work)) == (
        "claim",
        ["not_approved"],
    )
    assert world.form(work)[1] is not None
    assert mail.received == []


def test_what_was_held_back_and_withdrawn_is_asked_of_the_guard_anew(
    world: World, mail: RecordingServer
) -> None:
    """B15, X6: a hold is that of one approval, and ends with it."""
    work = world.resumed()
    set_freeze(world, frozen=True)
    work = world.execute(work)
    assert world.item(work).held == ("frozen",)
    set_freeze(world, frozen=False)
    world.hand_in(work, world.says(work, "withdraw"))
    assert world.item(work).held == ()
    work, shown = world.form(reload(world.services, work.held))
    assert shown is not None
    world.approve(work)
    world.advance(world.resume(work))
    assert len(mail.received) == 1


def set_freeze(world: World, *, frozen: bool) -> None:
    scope = Scope(tenant=None, tool=None)
    with world.ledger.write() as tx:
        freezes.put(tx, scope, frozen=frozen, actor="ada", reason="an incident")


def test_a_cancelled_item_is_not_claimed(world: World, mail: RecordingServer) -> None:
    """F10"""
    work = world.resumed()
    with world.ledger.write() as tx:
        cancelling.cancel(tx, work.workflow, "ada", "the run was cancelled")
    work = world.execute(work)
    assert world.item(work).state == "cancelled"
    assert "cancelled" in reasons(world, work)
    work, _ = world.advance(work)
    assert (work.session.status, mail.received) == ("cancelled", [])


def test_a_payload_that_is_gone_is_blocked(world: World, mail: RecordingServer) -> None:
    """A3"""
    work = world.resumed()
    name = world.version(work).snapshot.payload.ref.partition("sha256:")[2]
    next(iter(world.folder.rglob(name))).unlink()
    work, _ = world.advance(world.execute(work))
    assert "payload_hash_mismatch" in reasons(world, work)
    assert (world.item(work).state, mail.received) == ("blocked", [])


def test_s2_the_same_bytes_for_another_tenant_are_not_sent(
    world: World, mail: RecordingServer
) -> None:
    """S2, A2"""
    world.load(
        customers=[
            {"id": "b-1", "tenant": "b", "name": "Grace", "email": "grace@example.com"}
        ]
    )
    work = world.resumed()
    forging.run(world.ledger, "UPDATE workflow_sessions SET tenant = 'b'")
    forging.run(world.ledger, "UPDATE customers SET tenant = 'b'")
    world.execute(work)
    assert reasons(world, work) == ["tenant_mismatch"]
    assert (world.item(work).state, mail.received) == ("blocked", [])
