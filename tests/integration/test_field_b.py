"""Nothing happens twice: section B of the failures in the field."""

import pytest

from blocks.ledger import claims, endings
from blocks.ledger.claims import Claim
from policies.form import verdict_name
from policies.plan import VerdictWord
from policies.value import Json
from tasks import executing, opening, supervising, waiting
from tasks.work import Work, reload
from tests import forging
from tests.integration.test_desk_races import at_once, split
from tests.integration.test_guard_on_rows import reasons
from tests.integration.test_round_forms import shown, submit
from tests.reading import codes, names
from tests.smtp_server import RecordingServer
from tests.world import World


def expire_overdue(world: World, work: Work) -> None:
    """What whoever looks at a request does first."""
    with world.ledger.write() as tx:
        endings.expire_overdue(tx, work.workflow)


def test_b1_a_deadline_that_passes_after_the_verdict_ends_nothing(
    world: World, mail: RecordingServer
) -> None:
    work = world.asked()
    deadline = world.item(work).deadline
    world.clock.set(deadline)
    world.clock.move(-60)
    world.approve(work)
    world.clock.set(deadline)
    world.clock.move(60)
    expire_overdue(world, work)
    assert world.item(work).state == "approved"
    work, _ = world.advance(world.resume(work))
    expire_overdue(world, work)
    assert (world.item(work).state, len(mail.received)) == ("executed", 1)
    assert world.told(work, "expired") == []


def test_b10_a_request_that_is_sent_again_finds_its_item(world: World) -> None:
    work = world.asked()
    item = world.item(work)
    opening.give_lease_back(world.services, work)
    again = world.asked()
    assert (again.workflow, world.items(again)) == (work.workflow, (item,))
    told = names(world.trail(work))
    assert told.count("request_opened") == told.count("approval_requested") == 1


def test_b12_an_approval_and_a_rejection_at_once_never_both_take_effect(
    world: World, mail: RecordingServer
) -> None:
    sent = 0
    for number in range(5):
        work = world.asked(f"request-{number}")
        words: tuple[VerdictWord, ...] = ("approve", "reject")
        taken, refused = split(at_once(world, work, *words))
        assert (len(taken), codes(refused[0])) == (1, ["already_decided"])
        work, _ = world.advance(world.resume(work))
        told = names(world.trail(work))
        assert told.count("approved") + told.count("rejected") == 1
        assert told.count("executed") == told.count("approved")
        sent += told.count("approved")
    assert len(mail.received) == sent


def test_b12_both_branches_of_one_form_are_never_taken(
    world: World, mail: RecordingServer
) -> None:
    work, asking = shown(world, world.asked())
    work, over = submit(world, work, asking, "reject", reason="no")
    assert over is None
    item = asking.form.items[0]
    values: dict[str, Json] = {
        verdict_name(item): item.choices[0],
        "reviewer": "ada",
        "code": world.code("ada"),
    }
    work = waiting.take_answer(world.services, work, asking.form, values)
    work, _ = world.advance(reload(world.services, work.held))
    assert (work.session.status, mail.received) == ("rejected", [])
    assert world.told(work, "verdict_refused")[0]["code"] == "already_decided"


def test_b13_no_way_leads_from_a_rejection_to_the_effect(
    world: World, mail: RecordingServer
) -> None:
    work = world.asked()
    world.hand_in(work, world.says(work, "reject"))
    refused = world.claim(work)
    assert isinstance(refused, claims.Refused)
    assert [r.code for r in refused.answer.reasons] == ["not_approved"]
    work = world.execute(work)
    assert reasons(world, work) == ["not_approved"]
    late = world.hand_in(work, world.says(work, "approve"), by="bob")
    assert codes(late) == ["already_decided"]
    world.clock.move(61)
    assert supervising.recover_effects.fn(world.another()).done == ()
    work, _ = world.advance(world.resume(world.superseded(work)))
    assert (work.session.status, mail.received) == ("rejected", [])


def test_b17_verdict_resume_and_execution_are_three_records(
    world: World, mail: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = world.resumed()

    def break_down(*_: object) -> None:
        raise RuntimeError("out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(executing, "_act", break_down)
        with pytest.raises(RuntimeError):
            world.execute(work)
    again = world.hand_in(work, world.says(work, "approve"), by="bob")
    assert codes(again) == ["already_decided"]
    assert "approved v1 by ada" in str(again)
    states = (item_state(world, work), claim_state(world, work))
    assert (*states, mail.received) == ("execution_claimed", "claimed", [])
    assert len(forging.rows(world.ledger, "resume_bindings")) == 1
    world.clock.move(61)
    supervising.recover_effects.fn(world.another())
    assert (item_state(world, work), len(mail.received)) == ("executed", 1)


def item_state(world: World, work: Work) -> str:
    return world.item(work).state.value


def claim_state(world: World, work: Work) -> str:
    claim = world.claim(work)
    assert isinstance(claim, Claim)
    return claim.state
