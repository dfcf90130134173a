"""What the desk takes: verdicts, and what follows from each."""

from datetime import timedelta

import pytest

from blocks.desk import Taken
from blocks.ledger import verdicts
from policies.errors import InvalidInput
from policies.policy import GatePolicy, Policy, RiskPolicy, TermPolicy
from tasks.work import Work
from tests import forging
from tests.clock import START
from tests.reading import codes, text_of
from tests.smtp_server import RecordingServer
from tests.world import World

PROMISE = "We will refund you the full price."
CRITICAL = Policy(risk=RiskPolicy(critical_from=9))
_DEFAULT = Policy()
TWO = Policy(
    gates={**_DEFAULT.gates, "medium": GatePolicy(role="reviewer", verdicts=2)}
)


@pytest.fixture
def critical(world: World) -> Work:
    """A request whose mail promises money, under a policy that calls it critical."""
    world.add("olga", "owner")
    world.add("otto", "owner")
    world.set_policy(CRITICAL)
    world.add_ticket("t-2", suggested_reply=PROMISE)
    return world.asked(ticket_id="t-2")


def on_record(world: World, work: Work) -> list[tuple[object, ...]]:
    with world.ledger.read() as tx:
        rows = verdicts.of_item(tx, world.item(work).id)
    return [(row["verdict"], row["version"], row["reviewer"]) for row in rows]


def test_an_approval_says_who_when_how_and_until_when(world: World) -> None:
    """E7"""
    work = world.asked()
    outcome = world.hand_in(work, world.says(work, "approve", reason=" fine "))
    assert isinstance(outcome, Taken)
    item = world.item(work)
    with world.ledger.read() as tx:
        row = verdicts.of_item(tx, item.id)[0]
    assert (item.state, outcome.recorded[0].state) == ("approved", "approved")
    assert item.expires_at == row["expires_at"] == row["at"] + timedelta(hours=4)
    assert row["at"] - START < timedelta(seconds=1)
    said = (
        "decision_id",
        "role",
        "method",
        "channel",
        "reason",
        "conflict_of_interest",
    )
    assert [row[name] for name in said] == [
        outcome.recorded[0].decision_id,
        "reviewer",
        "bearer token",
        "terminal",
        "fine",
        False,
    ]
    assert row["policy_version"] == Policy().version


def test_the_short_digest_of_a_form_is_enough(world: World) -> None:
    work = world.asked()
    short = world.version(work).snapshot.digest[7:15]
    outcome = world.by_code(work, world.says(work, "approve", snapshot=short))
    assert codes(outcome) == []


def test_what_is_rejected_is_never_sent(world: World, mail: RecordingServer) -> None:
    """B13"""
    work = world.asked()
    world.hand_in(work, world.says(work, "reject", reason="too rude"))
    work, _ = world.advance(world.resume(work))
    assert (work.session.status, world.item(work).state) == ("rejected", "rejected")
    assert mail.received == []


def test_s3_an_edit_is_a_new_version_that_is_asked_again(
    world: World, mail: RecordingServer
) -> None:
    """S3, A4"""
    work = world.asked()
    first = world.version(work)
    world.edit(work, body="It is on its way.")
    second = world.version(work)
    assert (second.version, second.made_by) == (2, "ada")
    assert second.snapshot.payload.hash != first.snapshot.payload.hash
    assert second.snapshot.key != first.snapshot.key
    work, asking = world.next_form(work)
    assert asking is not None and asking.form.items[0].version == 2
    assert "+It is on its way." in asking.markdown
    world.approve(work, by="bob")
    world.advance(world.resume(work))
    assert [text_of(sent) for sent in mail.received] == ["It is on its way."]


def test_the_version_before_an_edit_can_no_longer_be_approved(world: World) -> None:
    """A4"""
    work = world.asked()
    seen = world.says(work, "approve")
    world.edit(work, body="It is on its way.")
    assert codes(world.hand_in(work, seen)) == ["stale_version"]
    assert world.item(work).state == "waiting_for_review"


def test_an_edit_that_makes_a_promise_needs_a_higher_authority(world: World) -> None:
    """A9"""
    world.add("olga", "owner")
    work = world.asked()
    world.edit(work, body=PROMISE)
    item = world.item(work)
    assert (item.risk_level, item.role, item.signed_in) == ("high", "owner", True)
    assert item.gate_version == Policy().gate_version
    assert codes(world.hand_in(work, world.says(work, "approve"))) == ["missing_role"]
    world.approve(work, by="olga")


def test_an_approval_lasts_as_long_as_its_version_says(world: World) -> None:
    """A5"""
    world.add("olga", "owner")
    work = world.asked()
    world.edit(work, body=PROMISE)
    term = world.version(work).snapshot.term_seconds
    world.approve(work, by="olga")
    expires = world.item(work).expires_at
    assert term == 3600
    assert expires is not None
    assert expires - world.clock.now < timedelta(seconds=term)


def test_a_new_version_is_judged_by_the_policy_of_its_own_time(world: World) -> None:
    """R5"""
    work = world.asked()
    newer = Policy(risk=RiskPolicy(high_from=20))
    world.set_policy(newer)
    work, shown = world.refreshed(work)
    assert shown.form.items[0].version == 2
    world.approve(work)
    approved = world.told(work, "approved")[0]
    assert approved["policy_version"] == newer.version


def test_an_edit_never_talks_the_risk_down(world: World) -> None:
    """A9"""
    world.add("olga", "owner")
    world.add_ticket("t-2", suggested_reply=PROMISE)
    work = world.asked(ticket_id="t-2")
    world.edit(work, by="olga", body="Thank you.")
    item = world.item(work)
    assert (item.risk_level, item.role) == ("high", "owner")
    assert world.version(work).snapshot.term_seconds == 3600


def test_critical_needs_two_distinct_people(
    world: World, critical: Work, mail: RecordingServer
) -> None:
    """Q4"""
    said = world.says(critical, "approve")
    first = world.hand_in(critical, said, by="olga")
    assert isinstance(first, Taken) and first.recorded[0].state == "waiting_for_review"
    again = world.hand_in(critical, said, by="olga")
    assert codes(again) == ["already_decided"]
    assert world.item(critical).state == "waiting_for_review"
    assert world.next_form(critical)[1] is not None
    world.hand_in(critical, said, by="otto")
    assert world.item(critical).state == "approved"
    world.advance(world.resume(critical))
    assert len(mail.received) == 1


def test_a22_an_edit_voids_the_approvals_of_an_open_quorum(
    world: World, critical: Work
) -> None:
    """A4, A22"""
    world.approve(critical, by="olga")
    world.edit(critical, by="otto", body=f"{PROMISE} Really.")
    world.approve(critical, by="otto")
    assert world.item(critical).state == "waiting_for_review"
    world.approve(critical, by="olga")
    assert world.item(critical).state == "approved"
    assert on_record(world, critical) == [
        ("approved", 1, "olga"),
        ("edited", 1, "otto"),
        ("approved", 2, "otto"),
        ("approved", 2, "olga"),
    ]


def test_one_rejection_ends_an_open_quorum(world: World, critical: Work) -> None:
    world.approve(critical, by="olga")
    world.hand_in(critical, world.says(critical, "reject"), by="otto")
    assert world.item(critical).state == "rejected"


def test_an_approval_whose_term_is_over_does_not_fill_a_quorum(world: World) -> None:
    """A5"""
    terms = {
        **_DEFAULT.terms,
        "medium": TermPolicy(decide_within_seconds=7200, approval_term_seconds=600),
    }
    world.set_policy(TWO.model_copy(update={"terms": terms}))
    work = world.asked()
    world.approve(work, by="ada")
    world.clock.move(601)
    world.approve(work, by="bob")
    assert world.item(work).state == "waiting_for_review"
    world.approve(work, by="ada")
    assert world.item(work).state == "approved"
    expires = world.item(work).expires_at
    assert expires is not None and expires > world.clock.now


def test_a_withdrawn_approval_is_asked_again(
    world: World, mail: RecordingServer
) -> None:
    work = world.approved()
    world.hand_in(work, world.says(work, "withdraw", reason="I misread it"))
    assert world.item(work).state == "waiting_for_review"
    work, asking = world.next_form(work)
    assert asking is not None
    world.approve(work, by="bob")
    world.advance(world.resume(work))
    assert len(mail.received) == 1
    assert [word for word, _, _ in on_record(world, work)] == [
        "approved",
        "withdrawn",
        "approved",
    ]


def test_an_approval_can_be_withdrawn_after_the_run_has_gone_on(
    world: World, mail: RecordingServer
) -> None:
    work = world.resumed()
    world.hand_in(work, world.says(work, "withdraw"), by="bob")
    work, asking = world.form(work)
    assert asking is not None
    world.hand_in(work, world.says(work, "reject"))
    work, _ = world.advance(world.resume(work))
    assert (work.session.status, mail.received) == ("rejected", [])


def test_low_risk_is_approved_by_policy_with_the_same_records(
    world: World, mail: RecordingServer
) -> None:
    """L9"""
    work, end = world.advance(world.opened(reply="acknowledgement"))
    assert end is not None
    work, _ = world.advance(world.resume(work))
    assert work.session.status == "completed"
    assert on_record(world, work) == [("approved", 1, "policy")]
    approved = world.told(work, "approved")[0]
    assert (approved["method"], approved["channel"]) == ("policy", "automatic")
    assert "low risk" in str(approved["reason"])
    assert len(mail.received) == 1


def test_a_plan_is_decided_action_by_action(
    world: World, mail: RecordingServer
) -> None:
    """L10"""
    work = world.asked(recipients=["c-1", "c-2"])
    first, second = world.items(work)
    outcome = world.hand_in(
        work, world.says(work, "reject", first), world.says(work, "approve", second)
    )
    assert isinstance(outcome, Taken) and len(outcome.recorded) == 2
    work, _ = world.advance(world.resume(work))
    assert [mail.recipients for mail in mail.received] == [("alan@example.com",)]
    assert [item.state for item in world.items(work)] == ["rejected", "executed"]


def test_all_verdicts_of_a_submission_are_taken_or_none(world: World) -> None:
    work = world.asked(recipients=["c-1", "c-2"])
    first, second = world.items(work)
    before = forging.rows(world.ledger, "items")
    good = world.says(work, "approve", first)
    stale = world.says(work, "approve", second, version=9)
    assert codes(world.hand_in(work, good, stale)) == ["stale_version"]
    assert forging.rows(world.ledger, "items") == before
    assert forging.rows(world.ledger, "verdicts") == []
    assert len(world.told(work, "verdict_refused")) == 2


def test_two_verdicts_on_one_item_are_none(world: World) -> None:
    work = world.asked()
    before = forging.rows(world.ledger, "items")
    edit = world.says(work, "edit", edit={"body": "Hello."})
    for other in ("approve", "reject", "edit"):
        with pytest.raises(InvalidInput, match="two verdicts"):
            world.hand_in(work, edit, edit.model_copy(update={"verdict": other}))
    assert forging.rows(world.ledger, "items") == before
    assert forging.rows(world.ledger, "verdicts") == []


def test_a_code_and_its_verdict_are_recorded_together_or_not_at_all(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Q5"""

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    work = world.asked()
    with monkeypatch.context() as patch:
        patch.setattr(verdicts, "record", fail)
        with pytest.raises(ZeroDivisionError):
            world.by_code(work, world.says(work, "approve"))
    assert forging.rows(world.ledger, "used_codes") == []
    assert codes(world.by_code(work, world.says(work, "approve"))) == []
    assert len(forging.rows(world.ledger, "used_codes")) == 1
