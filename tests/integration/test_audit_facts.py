"""What the audit trail tells of a request, and what it never holds."""

import json
import re

from blocks.ledger.audit import ADMIN_CHAIN
from blocks.ledger.people import CodeProof
from policies.policy import Policy
from tasks.waiting import PREFECT_FORM
from tests import forging
from tests.clock import START
from tests.reading import codes, names
from tests.world import World

PAYLOAD = {"payload_ref", "payload_version", "payload_hash", "intent", "intent_digest"}
BOUND = {*PAYLOAD, "snapshot", "evidence", "provenance", "idempotency_scope"} | {
    "idempotency_key"
}
PERSON = {"actor", "role", "method", "channel", "conflict_of_interest", "reason"}
RULES = {"policy_version", "schema_version", "rubric_version"}
FENCED = {"fencing_token", "claim", "owner", "flow_run"}
CARRIES = {
    "request_opened": {"actor", "tenant", "domain", "flow_run", "request_hash"},
    "decision_made": {"decision", "reasons", "chosen_by"},
    "tool_called": {"tool", "permitted"},
    "item_queued": {"item", "action", "risk", "risk_reasons", "deadline", *BOUND},
    "item_opened": {"item", "actor", *BOUND},
    "approval_requested": {"item", "packet", "interrupt", *BOUND},
    "verdict_refused": {"item", *PERSON - {"role"}, "code"},
    "payload_edited": {"item", "decision_id", *PERSON, *BOUND, "risk"},
    "approved": {"item", "decision_id", "verdict_expires_at", *PERSON, *BOUND, *RULES},
    "withdrawn": {"item", "decision_id", *PERSON, *BOUND, *RULES},
    "resume_claimed": {"item", "payload_version", "idempotency_key"},
    "resumed": {"checkpoint", "interrupt", "outcome", "fencing_token"},
    "execution_claimed": {"item", *FENCED, *BOUND},
    "dispatched": {"item", *FENCED, *BOUND},
    "executed": {"item", *FENCED, *BOUND, "execution_artifact", "provider_ref"},
    "request_closed": {"status", "reasons"},
}


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
    trail = {event.event: set(event.facts) for event in world.trail(work)}
    missing = {name: facts - trail[name] for name, facts in CARRIES.items()}
    assert {name: facts for name, facts in missing.items() if facts} == {}


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
