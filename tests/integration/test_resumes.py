"""The resume contract: one outcome takes a wait's slot, and is consumed once."""

from typing import NoReturn

import pytest

from blocks.ledger import facts, items, resumes, sessions, versions
from blocks.ledger.resumes import Binding
from blocks.ledger.sessions import Pending
from policies.errors import Conflict, Superseded
from policies.lifecycle import State
from policies.value import Value
from tasks import opening
from tasks.work import Work
from tests import forging
from tests.reading import names
from tests.smtp_server import RecordingServer
from tests.together import together
from tests.world import World


class Killed(BaseException):
    """Stands for the end of a process."""


def die(*_: object) -> NoReturn:
    raise Killed


def pending_of(work: Work) -> Pending:
    assert work.session.pending is not None
    return work.session.pending


def bind(world: World, work: Work) -> Value:
    """Take the slot that the work waits at, with what is decided now."""
    with world.ledger.read() as tx:
        approved = {
            resumes.seen_as(item): versions.load(tx, item.id, item.version).snapshot
            for item in items.of_workflow(tx, work.workflow)
            if item.state == State.APPROVED
        }
    store, adapter = world.services.artifacts, world.domain.adapter
    stored = {i: facts.read_stored(store, adapter, s) for i, s in approved.items()}
    with world.ledger.write() as tx:
        session = sessions.load(tx, work.workflow)
        return resumes.claim_or_get(
            tx, work.held, session, pending_of(work), world.domain, stored
        )


def consume(world: World, work: Work, binding: Value) -> Work:
    assert isinstance(binding, Binding)
    with world.ledger.write() as tx:
        held = resumes.consume(tx, work.held, binding, work.state)
    return work.model_copy(update={"held": held})


def bound(world: World, monkeypatch: pytest.MonkeyPatch, work: Work) -> Work:
    """A process has taken the slot and died; another has the lease now."""
    with monkeypatch.context() as patch:
        patch.setattr(resumes, "consume", die)
        with pytest.raises(Killed):
            world.resume(work)
    world.clock.move(world.services.settings.lease_seconds + 1)
    taken = opening.take_lease(world.another(), work.workflow, None)
    assert taken is not None
    return taken


def test_the_same_outcome_again_finds_its_binding(world: World) -> None:
    """X7"""
    work = world.approved()
    first, again = bind(world, work), bind(world, work)
    assert isinstance(first, Binding)
    assert (first, first.consumed) == (again, False)
    assert world.item(work).state == "resume_claimed"
    assert names(world.trail(work)).count("resume_claimed") == 1


def test_a_consumed_outcome_is_told_as_that(world: World) -> None:
    """S6"""
    work = world.approved()
    consume(world, work, bind(world, work))
    again = bind(world, work)
    assert isinstance(again, Binding) and again.consumed
    assert world.item(work).state == "graph_resumed"


def test_b11_another_outcome_for_a_taken_slot_is_a_conflict(
    world: World,
) -> None:
    """B11"""
    work = world.approved()
    bind(world, work)
    before = forging.rows(world.ledger, "resume_bindings")
    world.hand_in(work, world.says(work, "withdraw"))
    world.approve(work, by="bob")
    asked = bind(world, work)
    assert isinstance(asked, resumes.SlotTaken)
    assert forging.rows(world.ledger, "resume_bindings") == before
    assert world.item(work).state == "approved"
    told = world.told(work, "resume_conflict")[0]
    assert (told["bound"], told["asked"]) == (asked.bound, asked.asked)


def test_s6_an_outcome_is_consumed_once(world: World) -> None:
    """S6"""
    work = world.approved()
    binding = bind(world, work)
    work = consume(world, work, binding)
    with pytest.raises(Superseded, match="resumed by another process"):
        consume(world, work, binding)
    assert names(world.trail(work)).count("resumed") == 1


def test_s6_of_those_who_consume_at_once_one_goes_on(world: World) -> None:
    """S6"""
    for number in range(3):
        work = world.approved(f"request-{number}")
        binding = bind(world, work)
        got = together(4, lambda _, w=work, b=binding: consume(world, w, b))  # type: ignore[misc]
        assert sum(isinstance(one, Work) for one in got) == 1
        assert sum(isinstance(one, Superseded) for one in got) == 3
        assert names(world.trail(work)).count("resumed") == 1


def test_a_process_that_died_between_slot_and_checkpoint_is_gone_on_from(
    world: World, mail: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X7"""
    work = bound(world, monkeypatch, world.approved())
    assert world.item(work).state == "resume_claimed"
    work, _ = world.advance(world.resume(work))
    assert (work.session.status, len(mail.received)) == ("completed", 1)
    assert names(world.trail(work)).count("resume_claimed") == 1


@pytest.mark.parametrize("then", ["approve", "reject", "edit"])
def test_what_is_withdrawn_after_the_slot_was_taken_is_decided_anew(
    world: World, mail: RecordingServer, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    """B17"""
    work = bound(world, monkeypatch, world.approved())
    world.hand_in(work, world.says(work, "withdraw"))
    if then == "reject":
        world.hand_in(work, world.says(work, "reject"), by="bob")
    if then == "edit":
        world.edit(work, by="bob", body="Soon.")
    if then != "reject":
        work, asking = world.next_form(work)
        assert asking is not None
        world.approve(work, by="bob")
    work, _ = world.advance(world.resume(work))
    assert not work.session.is_open
    assert len(mail.received) == (0 if then == "reject" else 1)


def test_what_the_guard_refuses_is_not_resumed_and_the_rest_is(
    world: World, mail: RecordingServer
) -> None:
    """L10"""
    work = world.approved(recipients=["c-1", "c-2"])
    world.edit_address("c-1", "grace@new.example.com")
    work = world.resume(work)
    states = [item.state for item in world.items(work)]
    assert states == ["reapproval_required", "graph_resumed"]
    assert world.told(work, "reapproval_required")[0]["moment"] == "resume"
    work, _ = world.form(work)
    world.approve(work)
    world.advance(world.resume(work))
    assert sorted(mail.recipients for mail in mail.received) == [
        ("alan@example.com",),
        ("grace@new.example.com",),
    ]


def test_a_round_that_still_waits_is_not_resumed(world: World) -> None:
    """C28"""
    first, second = world.asked("request-1"), world.asked("request-2")
    world.approve(first)
    world.resume(first)
    assert world.next_form(second)[1] is not None
    assert forging.scalar(world.ledger, "SELECT count(*) FROM resume_bindings") == 1


def test_c8_a_verdict_that_comes_before_the_wait_needs_no_wait(
    world: World, mail: RecordingServer
) -> None:
    """C8"""
    work = world.approved()
    work, asking = world.next_form(work)
    assert asking is None
    world.advance(work)
    assert len(mail.received) == 1


def test_a_conflict_stops_the_run_with_its_code(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B11"""
    work = world.approved()
    bind(world, work)
    monkeypatch.setattr(resumes, "is_overtaken", lambda *_: False)
    world.hand_in(work, world.says(work, "withdraw"))
    world.approve(work, by="bob")
    with pytest.raises(Conflict) as refused:
        world.resume(work)
    assert refused.value.code == "resume_conflict"
    assert len(world.told(work, "resume_conflict")) == 1
