"""The guard on real rows: one fact changes after the approval, and nothing is sent."""

from typing import cast

import pytest

from policies.guard import RULES
from policies.value import Json
from tasks.work import Work
from tests import forging
from tests.integration.guard_changes import CHANGES, Change
from tests.reading import names
from tests.smtp_server import RecordingServer
from tests.world import World

# Only what is to be tried again can meet the one (test_old_claims.py), and only what is
# about to be sent the other (test_promised_messages.py).
LATER = {"message_lost", "message_changed"}
REFUSALS = ("policy_blocked", "reapproval_required")


def refusal(world: World, work: Work) -> dict[str, Json]:
    """The guard's last refusal, as it stands in the trail."""
    found = [e.facts for e in world.trail(work) if e.event in REFUSALS]
    assert found, names(world.trail(work))
    return found[-1]


def reasons(world: World, work: Work) -> list[str]:
    told = cast("list[dict[str, str]]", refusal(world, work)["reasons"])
    assert all(reason["detail"] for reason in told)
    return [reason["code"] for reason in told]


def in_order(code: str, change: Change) -> list[str]:
    found = {code, *change.also}
    return [rule.code for rule in RULES if rule.code in found]


def test_there_is_a_change_for_every_reason() -> None:
    """A3"""
    assert set(CHANGES) | LATER == {rule.code for rule in RULES}


@pytest.mark.parametrize("code", CHANGES)
def test_a_fact_that_changed_stops_the_resume_the_claim_and_the_send(
    world: World, mail: RecordingServer, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    """A2, A3"""
    change = CHANGES[code]
    approved, resumed = world.approved("request-1"), world.resumed("request-2")
    claimed, claim = world.claimed("request-3")
    for work in (approved, resumed, claimed):
        change.do(world, work, monkeypatch)
    if code != "approval_expired":
        world.resume(approved)
    world.execute(resumed)
    world.execute(claimed)
    stays = ("approved", "graph_resumed", "execution_claimed")
    moments = ("resume", "claim", "send")
    rows = list(zip((approved, resumed, claimed), moments, stays, strict=True))
    for work, moment, state in rows[code == "approval_expired" :]:
        assert refusal(world, work)["moment"] == moment
        assert reasons(world, work) == in_order(code, change)
        assert world.item(work).state == (change.to or state)
    kept = "SELECT state FROM execution_claims WHERE id = :id"
    state = forging.scalar(world.ledger, kept, id=claim.id)
    assert state == ("claimed" if change.to is None else "released")
    assert mail.received == []
    assert forging.rows(world.ledger, "executions") == []
