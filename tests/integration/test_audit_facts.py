"""What the audit trail tells of a request, and what it never holds."""

import json
import re

import pytest

from blocks.ledger import cancelling
from blocks.ledger.audit import ADMIN_CHAIN
from blocks.ledger.people import CodeProof
from policies.policy import Policy
from tasks import opening
from tasks.waiting import PREFECT_FORM
from tasks.work import Work, reload
from tests import forging
from tests.clock import START
from tests.integration.guard_changes import CHANGES
from tests.reading import codes, names
from tests.smtp_server import Behaviour, RecordingServer
from tests.world import FLOW_RUN, World

OTHER_RUN = "0e9c1c52-8a0e-4c43-9a57-0d7f1c0e8f11"

PAYLOAD = {"payload_ref", "payload_version", "payload_hash", "intent", "intent_digest"}
RULES = {"policy_version", "schema_version", "rubric_version"}
OPERATION = {"idempotency_scope", "idempotency_key"}
BOUND = {*PAYLOAD, *OPERATION, "snapshot", "evidence", "provenance"}
ITEM = {"item", "action", *RULES, *BOUND}
PERSON = {"actor", "role", "method", "channel", "conflict_of_interest"}
VERDICT = {*ITEM, *PERSON, "decision_id", "reason"}
APPROVED = {*ITEM, "decision_id", "verdict_expires_at"}
CLAIMED = {*APPROVED, "claim", "claim_status", "fencing_token", "owner"}
ENDED = {*CLAIMED, "execution_artifact", "provider_ref", "detail"}
NO = {*APPROVED, "moment", "reasons", "state"}
CARRIES = {
    "request_opened": {"actor", "tenant", "domain", "request_hash"},
    "decision_made": {"decision", "reasons", "chosen_by"},
    "tool_called": {"tool", "permitted"},
    "step_completed": {"step"},
    "item_queued": {*ITEM, "risk", "risk_reasons", "deadline"},
    "item_assigned": {*ITEM, "actor", "to", "permission", "seen_by"},
    "item_opened": {*ITEM, "actor", "seen_by"},
    "approval_requested": {*ITEM, "packet", "interrupt", "deadline"},
    "verdict_refused": {*ITEM, *PERSON, "verdict", "code", "reason", "asked_version"},
    "payload_edited": {*ITEM, "actor", "cause", "risk", "deadline"},
    "approved": {*VERDICT, "verdict_expires_at"},
    "rejected": VERDICT,
    "withdrawn": VERDICT,
    "cancelled": {*ITEM, "actor", "reason"},
    "expired": {*ITEM, "actor", "reason"},
    "resume_claimed": APPROVED,
    "resumed": {"checkpoint", "interrupt", "outcome", "fencing_token"},
    "policy_blocked": NO,
    "reapproval_required": NO,
    "idempotency_conflict": {*ITEM, "asked", "claim", "claim_status"},
    "execution_claimed": CLAIMED,
    "claim_taken_over": CLAIMED,
    "dispatched": CLAIMED,
    "executed": ENDED,
    "execution_failed": ENDED,
    "execution_unknown": ENDED,
    "request_closed": {"status", "reasons"},
}


def lacking(world: World, work: Work) -> dict[str, set[str]]:
    """What an event of a request should tell and does not, by the event's name."""
    missing: dict[str, set[str]] = {}
    for event in world.trail(work):
        wanted = {"flow_run", *CARRIES[event.event]} - set(event.facts)
        missing.setdefault(event.event, set()).update(wanted)
    return {name: facts for name, facts in missing.items() if facts}


def test_every_event_carries_who_what_why_and_on_what_evidence(world: World) -> None:
    """R1"""
    work = world.asked()
    world.hand_in(work, world.says(work, "reject", reason=" "))
    world.edit(work, body="Your parcel is on its way.")
    work, _ = world.next_form(work)
    world.approve(work)
    world.hand_in(work, world.says(work, "withdraw"))
    world.approve(work, by="bob")
    world.advance(world.resume(work))
    assert lacking(world, work) == {}
    assert {"payload_edited", "executed"} <= set(names(world.trail(work)))


def _reject(world: World, work: Work, _: pytest.MonkeyPatch) -> None:
    world.hand_in(work, world.says(work, "reject"))


def _expire(world: World, work: Work, _: pytest.MonkeyPatch) -> None:
    world.clock.set(world.item(work).deadline)


def _cancel(world: World, work: Work, _: pytest.MonkeyPatch) -> None:
    with world.ledger.write() as tx:
        cancelling.cancel(tx, work.workflow, "system", "the run was cancelled")


ENDINGS = {"rejected": _reject, "expired": _expire, "cancelled": _cancel}


@pytest.mark.parametrize("event", ENDINGS)
def test_an_end_without_execution_tells_what_it_ended(
    world: World, monkeypatch: pytest.MonkeyPatch, event: str
) -> None:
    """R1"""
    work = world.asked()
    ENDINGS[event](world, work, monkeypatch)
    world.form(reload(world.services, work.held))
    assert names(world.trail(work)).count(event) == 1
    assert lacking(world, work) == {}


@pytest.mark.parametrize(
    ("code", "event"),
    [
        ("permission_missing", "policy_blocked"),
        ("resource_version_changed", "reapproval_required"),
        ("key_conflict", "idempotency_conflict"),
    ],
)
def test_the_no_before_an_effect_tells_whose_approval_it_stopped(
    world: World, monkeypatch: pytest.MonkeyPatch, code: str, event: str
) -> None:
    """R1, A3"""
    work = world.resumed()
    CHANGES[code].do(world, work, monkeypatch)
    world.claim(work)
    assert names(world.trail(work)).count(event) == 1
    assert lacking(world, work) == {}


def test_the_no_at_the_last_moment_tells_that_the_claim_was_let_go(
    world: World,
) -> None:
    """R1, A3"""
    work, claim = world.claimed()
    (approved,) = world.told(work, "approved")
    world.edit_address("c-1", "grace@new.example.com")
    world.execute(work)
    (told,) = world.told(work, "reapproval_required")
    assert told["decision_id"] == approved["decision_id"]
    assert told["verdict_expires_at"] == approved["verdict_expires_at"]
    assert (told["claim"], told["claim_status"]) == (claim.id, "released")
    assert lacking(world, work) == {}


@pytest.mark.parametrize(
    ("behaviour", "event", "status"),
    [
        ("accept", "executed", "executed"),
        ("refuse_recipient", "execution_failed", "failed"),
        ("drop_before_reply", "execution_unknown", "unknown"),
    ],
)
def test_what_became_of_an_effect_tells_which_verdict_allowed_it(
    world: World, mail: RecordingServer, behaviour: Behaviour, event: str, status: str
) -> None:
    """R1, A8"""
    mail.behaviour = behaviour
    work = world.resumed()
    world.advance(work)
    (told,) = world.told(work, event)
    (approved,) = world.told(work, "approved")
    assert told["decision_id"] == approved["decision_id"]
    assert told["claim_status"] == status
    assert lacking(world, work) == {}


def test_a_refused_verdict_tells_which_bytes_it_was_about(world: World) -> None:
    """R1"""
    work = world.asked()
    first, said = world.version(work).snapshot, world.says(work, "approve")
    world.edit(work, body="Soon.")
    assert codes(world.hand_in(work, said, by="bob")) == ["stale_version"]
    (told,) = world.told(work, "verdict_refused")
    assert told["payload_hash"] == first.payload.hash
    assert (told["payload_version"], told["asked_version"]) == (1, 2)
    assert (told["actor"], told["role"], told["verdict"]) == (
        "bob",
        "reviewer",
        "approve",
    )


@pytest.mark.parametrize("version", [0, -1, 9, 10**30])
def test_a_verdict_on_a_version_that_never_was_is_kept_with_the_one_asked(
    world: World, version: int
) -> None:
    """R1"""
    work = world.asked()
    world.hand_in(work, world.says(work, "approve", version=version))
    (told,) = world.told(work, "verdict_refused")
    assert (told["payload_version"], told["asked_version"]) == (1, 1)


def test_whoever_has_not_proved_who_they_are_is_told_without_a_role(
    world: World,
) -> None:
    """R1"""
    work = world.asked()
    world.hand_in(work, world.says(work, "approve"), proof=CodeProof(code="000000"))
    (told,) = world.told(work, "verdict_refused")
    assert (told["actor"], "role" in told) == ("ada", False)


def test_what_a_form_shows_is_not_told_as_seen(world: World) -> None:
    """R1: Prefect does not know who looks at a page."""
    work = world.asked()
    (assigned,), (opened,) = (
        world.told(work, name) for name in ("item_assigned", "item_opened")
    )
    assert (assigned["to"], assigned["seen_by"]) == ("reviewer", [])
    assert (opened["shown_on"], opened["shown_to"]) == ("prefect form", "reviewer")
    assert (opened["actor"], opened["seen_by"]) == ("system", [])


def test_who_decides_before_any_form_was_shown_has_seen_it(world: World) -> None:
    """R1"""
    work, _ = world.advance(world.opened())
    world.approve(work, by="bob")
    (opened,) = world.told(work, "item_opened")
    assert (opened["actor"], opened["seen_by"]) == ("bob", ["bob"])
    assert opened["method"] == "bearer token"


def test_an_event_names_the_flow_run_that_works_on_it_now(world: World) -> None:
    """R1, L8"""
    work = world.approved()
    opening.give_lease_back(world.services, work)
    other = opening.take_lease(world.services, work.workflow, OTHER_RUN)
    assert other is not None
    world.advance(world.resume(other))
    assert world.told(work, "approved")[0]["flow_run"] == FLOW_RUN
    assert world.told(work, "executed")[0]["flow_run"] == OTHER_RUN


def test_events_tell_when_in_utc(world: World) -> None:
    """R1"""
    work = world.opened()
    assert world.trail(work)[0].at[:16] == START.strftime("%Y-%m-%dT%H:%M")
    assert world.trail(work)[0].at.endswith("Z")


def test_the_path_of_a_request_stands_in_its_trail_in_order(world: World) -> None:
    """L2"""
    work, _ = world.advance(world.resumed())
    decided = [e for e in world.trail(work) if e.event == "decision_made"]
    assert [e.facts.get("tool", e.facts["decision"]) for e in decided] == [
        "validate_request",
        "collect_context",
        "prepare_agent_work",
        "resolve_review",
        "request_approval",
        "execute_action",
        "complete",
    ]
    assert all(e.facts["reasons"] for e in decided)


def test_administrative_acts_have_a_trail_of_their_own(world: World) -> None:
    """R1"""
    world.set_policy(Policy(rubric_version="2"))
    trail = world.trail(ADMIN_CHAIN)
    assert names(trail) == ["reviewer_added", "reviewer_added", "policy_set"]
    assert {event.facts["actor"] for event in trail} == {"tests"}


def everything_told(world: World) -> str:
    """All facts of all chains; digests are left out, they may hold any digits."""
    texts = [row[4] for row in forging.rows(world.ledger, "audit_events")]
    return re.sub(r"[0-9a-f]{12,}", "", "\n".join(map(str, texts)))


def test_the_trail_holds_neither_content_nor_secrets(world: World) -> None:
    """R1"""
    message, body, edited, answer = "quokka 7", "wombat 8", "numbat 9", "bilby 10"
    world.add_ticket(
        "t-2", message=message, suggested_reply=f"{body} {{{{Order Number}}}}"
    )
    work, _ = world.form(world.opened(ticket_id="t-2"))
    world.hand_in(work, answers={"fill-order-number": " "})
    world.hand_in(work, answers={"fill-order-number": answer})
    work, _ = world.form(world.resume(work))
    wrong = CodeProof(code="000000")
    world.hand_in(work, world.says(work, "approve"), proof=wrong, channel=PREFECT_FORM)
    code = world.code("ada")
    world.by_code(work, world.says(work, "edit", edit={"body": edited}))
    world.hand_in(work, world.says(work, "edit", edit={"body": "{{wombat 8}} x"}))
    work, _ = world.next_form(work)
    world.approve(work)
    world.advance(world.resume(work))
    secrets = [s for p in world.people.values() for s in (p.token, p.seed)]
    told = everything_told(world)
    found = [s for s in (message, edited, answer, code, *secrets) if s in told]
    assert found == []
    assert names(world.trail(work))[-1] == "request_closed"


def test_a_refused_answer_does_not_stand_in_the_trail(world: World) -> None:
    """R1"""
    world.add_ticket("t-2", message="Something is odd.")
    work, _ = world.form(world.opened(ticket_id="t-2"))
    outcome = world.hand_in(work, answers={"topic": "my password is quokka"})
    assert codes(outcome) == ["invalid_answer"]
    refused = world.told(work, "answer_refused")[0]
    assert refused["actor"] == "ada"
    assert "invalid_answer" in json.dumps(refused)
    assert "quokka" not in json.dumps(refused)
