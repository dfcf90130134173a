"""Sessions: one per request, written by one process at a time."""

import pytest

from blocks.ledger import sessions
from blocks.ledger.sessions import Held
from policies.decision import Complete, RequestApproval
from policies.errors import Conflict, InvalidInput, NotFound, Superseded
from policies.value import Json
from tasks import deciding, opening
from tasks import work as working
from tasks.work import Work
from tests import forging
from tests.reading import names
from tests.smtp_server import RecordingServer
from tests.together import together
from tests.world import FLOW_RUN, World

REQUEST: dict[str, Json] = {"ticket_id": "t-1", "requested_by": "agent"}


def open_session(world: World, request_id: str, request: object) -> sessions.Session:
    return opening.open_session(world.services, "support_email", request, request_id)


def lease(world: World, workflow: str, seconds: float = 60) -> Held | None:
    with world.ledger.write() as tx:
        return sessions.acquire(tx, workflow, "somebody", seconds, None)


def written(world: World) -> list[list[tuple[object, ...]]]:
    tables = ("workflow_sessions", "domain_sessions", "items", "audit_events")
    return [forging.rows(world.ledger, table) for table in tables]


def test_the_same_request_again_is_the_same_session(world: World) -> None:
    """B10"""
    first = open_session(world, "r-1", REQUEST)
    again = open_session(world, "r-1", {**REQUEST, "tenant": "main"})
    assert again == first
    assert names(world.trail(first.workflow)) == ["request_opened"]


def test_a_request_id_that_was_used_for_another_request_is_refused(
    world: World,
) -> None:
    first = open_session(world, "r-1", REQUEST)
    before = written(world)
    with pytest.raises(Conflict) as refused:
        open_session(world, "r-1", {**REQUEST, "reply": "acknowledgement"})
    assert refused.value.code == "idempotency_conflict"
    assert written(world) == before
    assert first.status == "running"


def test_one_request_that_is_sent_many_times_at_once_is_one_session(
    world: World,
) -> None:
    """B10"""
    made = together(8, lambda _: open_session(world, "r-1", REQUEST))
    assert len({str(session) for session in made}) == 1
    assert len(forging.rows(world.ledger, "workflow_sessions")) == 1


UNREADABLE: tuple[tuple[str, str, object, str], ...] = (
    ("unknown_domain", "payroll", REQUEST, "r"),
    ("invalid_request", "support_email", {"ticket_id": "t-1", "urgent": 1}, "r"),
    ("invalid_request", "support_email", ["t-1"], "r"),
    ("too_large", "support_email", {"ticket_id": "x" * 300_000}, "r"),
    ("not_strict_json", "support_email", {"ticket_id": float("nan")}, "r"),
    ("invalid_request_id", "support_email", REQUEST, ""),
    ("invalid_request_id", "support_email", REQUEST, "a\nb"),
)


def test_a_request_that_cannot_be_read_leaves_no_session(world: World) -> None:
    before = written(world)
    for code, domain, request, request_id in UNREADABLE:
        with pytest.raises(InvalidInput) as refused:
            opening.open_session(world.services, domain, request, request_id)
        assert refused.value.code == code
    assert written(world) == before


def test_an_unknown_workflow_is_not_found(world: World) -> None:
    with pytest.raises(NotFound, match="wf-0"), world.ledger.read() as tx:
        sessions.load(tx, "wf-0")


def test_a_lease_is_held_by_one_process_only(world: World) -> None:
    workflow = open_session(world, "r-1", REQUEST).workflow
    assert lease(world, workflow) is not None
    assert lease(world, workflow) is None


def test_of_those_who_reach_for_a_lease_at_once_one_gets_it(world: World) -> None:
    """X2"""
    workflow = open_session(world, "r-1", REQUEST).workflow
    for number in range(1, 4):
        got = together(8, lambda _: lease(world, workflow))
        holders = [held for held in got if held is not None]
        assert [h.token for h in holders if isinstance(h, Held)] == [number]
        world.clock.move(61)


def test_a_lease_that_ran_out_is_taken_over_with_a_higher_token(world: World) -> None:
    """X2"""
    work = world.opened()
    world.clock.move(world.services.settings.lease_seconds + 1)
    taken = opening.take_lease(world.another(), work.workflow, None)
    assert taken is not None
    assert taken.held.token == work.held.token + 1
    assert taken.session.flow_run_id == FLOW_RUN
    (told,) = world.told(work, "lease_taken_over")
    assert told["fencing_token"] == 2
    assert (told["taken_from"], told["flow_run"]) == (opening.owner(), FLOW_RUN)


def test_a_lease_that_was_given_back_is_not_taken_over(world: World) -> None:
    """X2"""
    work = world.opened()
    opening.give_lease_back(world.services, work)
    again = opening.take_lease(world.another(), work.workflow, None)
    assert again is not None and again.held.token == 2
    assert world.told(work, "lease_taken_over") == []


def test_a_lease_that_is_renewed_is_not_taken_over(world: World) -> None:
    """X2"""
    work = world.opened()
    for _ in range(3):
        world.clock.move(10)
        with world.ledger.write() as tx:
            sessions.renew(tx, work.workflow, work.held.token, 15)
    assert opening.take_lease(world.another(), work.workflow, None) is None


def test_a_lease_that_was_given_back_is_free_at_once(world: World) -> None:
    """G10"""
    work = world.asked()
    opening.give_lease_back(world.services, work)
    assert opening.take_lease(world.another(), work.workflow, None) is not None


def save(world: World, work: Work, words: str) -> Work:
    """A write under the lease."""
    with world.ledger.write() as tx:
        return working.save_in(tx, work, review_decision=words)


def superseded(world: World) -> Work:
    """A holder whose lease another process has taken over."""
    work = world.asked()
    world.clock.move(world.services.settings.lease_seconds + 1)
    assert opening.take_lease(world.another(), work.workflow, None) is not None
    return work


def test_a_superseded_holder_changes_nothing_more(world: World) -> None:
    """S10"""
    work = superseded(world)
    before = written(world)
    for write in (
        lambda: deciding.decide(world.services, work),
        lambda: world.next_form(work),
        lambda: save(world, work, "mine"),
        lambda: working.complete(world.services, work, "execute_action"),
        lambda: world.execute(work),
        lambda: world.perform(work, Complete(outcome="completed", reasons=())),
    ):
        with pytest.raises(Superseded):
            write()
    assert written(world) == before


def test_b4_a_superseded_holder_can_neither_renew_nor_give_back(world: World) -> None:
    """B4"""
    work = superseded(world)
    opening.give_lease_back(world.services, work)
    assert opening.take_lease(world.another(), work.workflow, None) is None
    with pytest.raises(Superseded), world.ledger.write() as tx:
        sessions.renew(tx, work.workflow, work.held.token, 60)


def test_a_superseded_holder_cannot_resume(world: World) -> None:
    """S6"""
    work = superseded(world)
    world.approve(work)
    before = written(world)
    with pytest.raises(Superseded):
        world.resume(work)
    assert world.item(work).state == "approved"
    assert written(world) == before


def test_a_write_from_an_older_revision_is_refused(world: World) -> None:
    work = world.opened()
    save(world, work, "first")
    with pytest.raises(Superseded):
        save(world, work, "second")
    with world.ledger.read() as tx:
        assert sessions.load_state(tx, work.workflow).review_decision == "first"


def test_a_request_goes_on_from_any_step_in_another_process(
    world: World, mail: RecordingServer
) -> None:
    """L8"""
    work = world.opened()
    while work.session.is_open:
        world.clock.move(world.services.settings.lease_seconds + 1)
        taken = opening.take_lease(world.another(), work.workflow, FLOW_RUN)
        assert taken is not None
        decision = deciding.decide(world.services, taken)
        if isinstance(decision, RequestApproval):
            work, asking = world.next_form(taken)
            if asking is not None:
                world.approve(work)
        else:
            work = world.perform(taken, decision)
    assert (work.session.status, work.held.token) == ("completed", 9)
    assert len(mail.received) == 1
