"""What no trail tells of, or no trigger keeps, is found when trails are verified."""

from datetime import timedelta

import pytest
from sqlalchemy import insert, update

from blocks.ledger import references
from blocks.ledger.audit import ADMIN_CHAIN
from blocks.ledger.tables import Item, Verdict
from policies.policy import Policy
from tasks.work import Work
from tests import forging
from tests.integration.test_audit_chain import fault_in, verify
from tests.world import World


@pytest.fixture
def without_admin(world: World) -> World:
    """An installation whose record of people and rules was taken away whole."""
    delete = "DELETE FROM audit_events WHERE chain = 'admin'"
    forging.forge(world.ledger, "audit_events", delete)
    forging.run(world.ledger, "DELETE FROM audit_heads WHERE chain = 'admin'")
    return world


def test_a_record_of_people_that_was_taken_away_is_found(without_admin: World) -> None:
    """R1"""
    assert fault_in(without_admin, ADMIN_CHAIN)[0] == 1


def test_a_record_of_people_that_was_begun_anew_is_found(without_admin: World) -> None:
    """R1"""
    without_admin.add("olga")
    assert fault_in(without_admin, ADMIN_CHAIN) == (
        0,
        "no event tells of this reviewer: ada",
    )


def test_a_policy_that_nobody_set_is_found(world: World) -> None:
    """R1"""
    policy = Policy()
    world.set_policy(policy)
    copied = "INSERT INTO policies (version, body, actor, at) SELECT 'sha256:1', body,"
    forging.run(world.ledger, f"{copied} actor, at FROM policies")
    assert "policy: sha256:1" in fault_in(world, ADMIN_CHAIN)[1]


def test_a_verdict_that_nobody_gave_is_found(world: World) -> None:
    """R1: even where later events name it."""
    work, item = forged_approval(world)
    world.advance(world.resume(work))
    moved = f"no event tells of this approval: {item} 1"
    assert fault_in(world, work.workflow) == (0, moved)
    forging.run(world.ledger, "UPDATE items SET state = 'blocked'")
    said = f"no event tells of this verdict: d-x {item} ada approved"
    assert fault_in(world, work.workflow) == (0, said)


def forged_approval(world: World) -> tuple[Work, str]:
    """An item that was approved past every script."""
    work = world.asked()
    item = world.item(work)
    ends = world.clock.now + timedelta(hours=1)
    with world.ledger.write() as tx:
        said = {"item": item.id, "version": 1, "reviewer": "ada", "role": "reviewer"}
        way = {"channel": "form", "method": "code", "reason": "", "at": tx.now}
        bound = {"policy_version": item.policy_version, "rubric_version": "1"}
        how = {"verdict": "approved", "expires_at": ends, "conflict_of_interest": False}
        row = {"decision_id": "d-x", **said, **way, **bound, **how}
        tx.run(insert(Verdict), row)
        tx.run(update(Item).values(state="approved", expires_at=ends))
    return work, item.id


def test_a_verdict_that_was_taken_away_is_found(world: World) -> None:
    """R1: without its row a withdrawal would be as if it never was."""
    work = world.approved()
    world.hand_in(work, world.says(work, "withdraw"))
    delete = "DELETE FROM verdicts WHERE verdict = 'withdrawn'"
    forging.forge(world.ledger, "verdicts", delete)
    seq, problem = fault_in(world, work.workflow)
    assert (seq, "verdict was told of and is gone" in problem) == (0, True)


def test_what_every_kind_of_verdict_leaves_behind_is_whole(world: World) -> None:
    """R1"""
    work = world.asked()
    world.edit(work, body="Your parcel left today.")
    world.edit_address("c-1", "grace@new.example.com")
    work, _ = world.refreshed(work)
    world.approve(work)
    world.hand_in(work, world.says(work, "withdraw"))
    other = world.asked("request-2")
    world.hand_in(other, world.says(other, "reject"))
    assert verify(world.ledger)[1] is None


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_a_trigger_that_does_nothing_is_found(world: World, dialect: str) -> None:
    """R1"""
    forging.run(world.ledger, "DROP TRIGGER verdicts_no_update")
    idle = "CREATE TRIGGER verdicts_no_update BEFORE UPDATE ON verdicts"
    forging.run(world.ledger, f"{idle} BEGIN SELECT 1; END")
    assert "verdicts_no_update" in fault_in(world, "the table verdicts")[1]


_IDLE = "RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$"
_ON = "OR REPLACE TRIGGER verdicts_no_update BEFORE"


@pytest.mark.parametrize("dialect", ["postgresql"])
@pytest.mark.parametrize(
    "change",
    [
        f"{_ON} INSERT ON verdicts FOR EACH ROW EXECUTE FUNCTION placet_append_only()",
        f"{_ON} UPDATE ON verdicts FOR EACH ROW WHEN (false) "
        "EXECUTE FUNCTION placet_append_only()",
        f"{_ON} UPDATE OF reason ON verdicts FOR EACH ROW "
        "EXECUTE FUNCTION placet_append_only()",
        f"{_ON} UPDATE ON verdicts FOR EACH ROW EXECUTE FUNCTION idle()",
        f"OR REPLACE FUNCTION placet_append_only() {_IDLE}",
    ],
)
def test_a_trigger_that_lets_something_pass_is_found(
    world: World, dialect: str, change: str
) -> None:
    """R1"""
    forging.run(world.ledger, f"CREATE FUNCTION idle() {_IDLE}")
    forging.run(world.ledger, f"CREATE {change}")
    fault = verify(world.ledger)[1]
    assert fault is not None and "is not as made" in fault.problem


def test_the_record_of_people_and_rules_can_be_asked_for(world: World) -> None:
    with world.ledger.read() as tx:
        assert references.workflow_of(tx, "admin") == ADMIN_CHAIN
