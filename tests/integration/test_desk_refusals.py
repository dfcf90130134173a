"""What the desk does not take: the item stays as it was, and the attempt is kept."""

from collections.abc import Callable
from typing import Any

import pytest

from blocks.desk import Outcome
from blocks.ledger.people import CodeProof, TokenProof
from policies.errors import NotFound
from tasks.waiting import PREFECT_FORM
from tasks.work import Work
from tests import forging
from tests.reading import codes, names
from tests.smtp_server import RecordingServer
from tests.world import World

Attempt = Callable[[World, Work], Outcome]
PROMISE = "We will refund you the full price."
RECORDS = ("items", "payload_versions", "verdicts", "interactions")


def records(world: World) -> list[list[tuple[Any, ...]]]:
    return [forging.rows(world.ledger, table) for table in RECORDS]


def says(verdict: Any, by: str = "ada", **changes: Any) -> Attempt:
    def attempt(world: World, work: Work) -> Outcome:
        return world.hand_in(work, world.says(work, verdict, **changes), by=by)

    return attempt


def edits(**fields: Any) -> Attempt:
    return says("edit", edit=fields)


def wrong_code(world: World, work: Work) -> Outcome:
    proof = CodeProof(code="no code")
    return world.hand_in(work, world.says(work, "approve"), proof=proof)


def foreign_token(world: World, work: Work) -> Outcome:
    proof = TokenProof(token=world.people["bob"].token)
    return world.hand_in(work, world.says(work, "approve"), proof=proof)


ATTEMPTS: dict[str, tuple[str, Attempt]] = {
    "reject without a reason": ("reason_required", says("reject", reason="")),
    "reject with a blank reason": ("reason_required", says("reject", reason=" \n")),
    "a reason without end": ("invalid_reason", says("reject", reason="x" * 4001)),
    "a reason with NUL": ("invalid_reason", says("reject", reason="no\x00")),
    "a reason with half a pair": ("invalid_reason", says("approve", reason="\ud800")),
    "a later version": ("stale_version", says("approve", version=2)),
    "an earlier version": ("stale_version", says("reject", version=0)),
    "another snapshot": ("snapshot_mismatch", says("approve", snapshot="0" * 8)),
    "a longer prefix": ("snapshot_mismatch", says("approve", snapshot="sha256:0")),
    "approve and change": ("invalid_edit", says("approve", edit={"body": "x"})),
    "reject and change": ("invalid_edit", says("reject", edit={"body": "x"})),
    "another recipient": ("invalid_edit", edits(recipient="eve@example.com")),
    "another customer": ("invalid_edit", edits(customer_id="c-2")),
    "an unknown field": ("invalid_edit", edits(bcc="eve@example.com")),
    "a second header": ("invalid_edit", edits(subject="Hi\nBcc: eve@example.com")),
    "no body": ("invalid_edit", edits(body="")),
    "a blank body": ("invalid_edit", edits(body=" \n ")),
    "a body without end": ("invalid_edit", edits(body="x" * 20_001)),
    "a number for a text": ("invalid_edit", edits(body=7)),
    "half a character": ("invalid_edit", edits(body="\ud800")),
    "a field without a name": ("invalid_edit", edits(**{"\ud800": "x"})),
    "a placeholder": ("invalid_edit", edits(body="Dear {{Customer Name}}")),
    "an edit of nothing": ("invalid_edit", says("edit", edit={})),
    "withdraw what is open": ("illegal_transition", says("withdraw")),
    "a wrong code": ("wrong_proof", wrong_code),
    "somebody else's token": ("wrong_proof", foreign_token),
    "an unknown reviewer": ("wrong_proof", says("approve", by="eve")),
    "no name at all": ("wrong_proof", says("approve", by="\x00\ud800")),
    "the requester": ("conflict_of_interest", says("approve", by="rita")),
    "no permission": ("missing_permission", says("approve", by="pat")),
    "another tenant": ("not_found", says("approve", by="tess")),
    "an auditor": ("missing_role", says("approve", by="audrey")),
    "an admin": ("missing_role", says("reject", by="adam")),
}


@pytest.fixture
def work(world: World) -> Work:
    """A request that waits for a verdict, and people who may not give one."""
    world.add("rita")
    world.add("pat", permissions=("payments.send",))
    world.add("tess", tenant="other")
    world.add("audrey", "auditor")
    world.add("adam", "admin")
    return world.asked(requested_by="rita")


def test_a_refused_verdict_leaves_the_item_untouched_and_is_kept(
    world: World, work: Work
) -> None:
    """I3"""
    before = records(world)
    said = {
        name: codes(attempt(world, work)) for name, (_, attempt) in ATTEMPTS.items()
    }
    assert said == {name: [code] for name, (code, _) in ATTEMPTS.items()}
    assert records(world) == before
    kept = world.told(work, "verdict_refused")
    assert [event["code"] for event in kept] == [code for code, _ in ATTEMPTS.values()]
    assert len(forging.rows(world.ledger, "review_events")) == len(ATTEMPTS)


def test_after_every_refusal_the_item_can_still_be_decided(
    world: World, work: Work, mail: RecordingServer
) -> None:
    """F8"""
    for _, attempt in ATTEMPTS.values():
        attempt(world, work)
    world.clock.move(15 * 60)
    world.approve(work)
    world.advance(world.resume(work))
    assert len(mail.received) == 1


def test_an_item_that_is_assigned_to_somebody_is_theirs_alone(
    world: World, work: Work
) -> None:
    """E6"""
    forging.run(world.ledger, "UPDATE items SET assignee = 'bob'")
    before = records(world)
    outcome = says("approve")(world, work)
    assert codes(outcome) == ["not_assignee"]
    assert records(world) == before
    assert codes(says("approve", by="bob")(world, work)) == []


def test_at_high_risk_a_form_will_not_do(world: World) -> None:
    """Q5"""
    world.add("olga", "owner")
    world.add_ticket("t-2", suggested_reply=PROMISE)
    work = world.asked(ticket_id="t-2")
    before = records(world)
    outcome = world.by_code(work, world.says(work, "approve"), by="olga")
    assert codes(outcome) == ["signed_in_channel_required"]
    assert codes(says("approve")(world, work)) == ["missing_role"]
    assert records(world) == before
    world.approve(work, by="olga")
    assert world.item(work).state == "approved"


def test_d8_what_is_over_cannot_be_decided(world: World, work: Work) -> None:
    """A5"""
    world.clock.set(world.item(work).deadline)
    for verdict in ("approve", "reject", "edit"):
        assert codes(says(verdict)(world, work)) == ["item_expired"]
    assert world.item(work).state == "expired"
    assert len(world.told(work, "expired")) == 1
    assert forging.rows(world.ledger, "verdicts") == []


def test_until_its_last_moment_an_item_can_be_decided(world: World, work: Work) -> None:
    """A5"""
    world.clock.set(world.item(work).deadline)
    world.clock.move(-1)
    assert codes(says("approve")(world, work)) == []


def test_b16_what_is_decided_is_told_with_the_verdict_on_record(
    world: World, work: Work
) -> None:
    """B16"""
    world.approve(work)
    outcome = says("reject", by="bob")(world, work)
    assert codes(outcome) == ["already_decided"]
    assert outcome.model_dump()["refusals"][0]["recorded"] == "approved v1 by ada"
    assert world.item(work).state == "approved"


def test_what_was_rejected_cannot_be_approved(world: World, work: Work) -> None:
    """A10"""
    says("reject")(world, work)
    outcome = says("approve", by="bob")(world, work)
    assert codes(outcome) == ["already_decided"]
    assert world.item(work).state == "rejected"


def test_a7_an_item_of_another_request_or_of_none_is_not_found(
    world: World, work: Work
) -> None:
    """A6 of the field"""
    other = world.asked("request-2")
    before = records(world)
    with pytest.raises(NotFound):
        world.hand_in(work, world.says(other, "approve"))
    with pytest.raises(NotFound):
        unknown = world.says(work, "approve").model_copy(update={"item": "it-0"})
        world.hand_in(work, unknown)
    assert records(world) == before
    assert "verdict_refused" not in names(world.trail(work))


def test_an_empty_submission_decides_nothing(world: World, work: Work) -> None:
    """D14"""
    before = records(world)
    assert codes(world.hand_in(work)) == ["nothing_decided"]
    assert records(world) == before


def payloads(world: World) -> set[str]:
    folder = world.folder / "artifacts" / "payload"
    return {path.name for path in folder.rglob("*") if path.is_file()}


def test_only_an_edit_that_is_taken_is_kept(world: World, work: Work) -> None:
    """A4: a stranger cannot fill the store, nor can who may not decide."""
    before = payloads(world)
    edit = world.says(work, "edit", edit={"body": "Spam."})
    stranger = world.hand_in(work, edit, by="nobody")
    wrong = world.hand_in(work, edit, proof=CodeProof(code="000000"))
    auditor = world.hand_in(work, edit, by="audrey")
    assert [codes(o)[0] for o in (stranger, wrong)] == ["wrong_proof"] * 2
    assert codes(auditor) == ["missing_role"]
    assert payloads(world) == before
    world.hand_in(work, edit)
    assert len(payloads(world) - before) == 1


def test_a_refusal_names_the_person_and_the_way(world: World, work: Work) -> None:
    """E7"""
    proof = CodeProof(code="no code")
    said = world.says(work, "approve")
    world.hand_in(work, said, proof=proof, channel=PREFECT_FORM)
    event = world.told(work, "verdict_refused")[0]
    assert (event["actor"], event["channel"], event["method"]) == (
        "ada",
        "prefect form",
        "one-time code",
    )
