"""What is approved is done: section C of the failures in the field."""

from itertools import count
from typing import get_args

import pytest
from pydantic import ValidationError

from blocks.desk import NotTaken, Taken
from blocks.ledger import audit, endings, unattended, verdicts
from flows.form import run_input
from policies.access import Channel
from policies.decision import CallTool
from policies.form import answer_name
from policies.interaction import InteractionType
from tasks import deciding
from tasks.waiting import PREFECT_FORM
from tasks.work import Work
from tests import forging
from tests.breaking import BrokenOff, broken_at
from tests.integration.test_questions import put
from tests.reading import codes, names
from tests.smtp_server import RecordingServer
from tests.together import together
from tests.world import TERMINAL, World


def decided_by(world: World, request_id: str, channel: Channel) -> list[str]:
    """The trail of a request that is approved by this way."""
    work = world.asked(request_id)
    said = world.says(work, "approve")
    if channel == PREFECT_FORM:
        outcome = world.by_code(work, said)
    else:
        outcome = world.hand_in(work, said)
    assert isinstance(outcome, Taken)
    world.advance(world.resume(work))
    told = world.trail(work)
    ways = {e.facts["channel"] for e in told if e.event == "approved"}
    assert ways == {channel.name}
    return names(told)


def test_c3_every_way_in_leads_on_the_same_way(
    world: World, mail: RecordingServer
) -> None:
    by_form = decided_by(world, "request-1", PREFECT_FORM)
    by_terminal = decided_by(world, "request-2", TERMINAL)
    assert by_form == by_terminal
    assert len(mail.received) == 2


def before_it_asks(world: World, request_id: str) -> tuple[Work, CallTool]:
    """A request whose next step asks for the approval."""
    work = world.opened(request_id)
    while True:
        decision = deciding.decide(world.services, work)
        assert isinstance(decision, CallTool)
        if decision.tool == "resolve_review":
            return work, decision
        work = world.perform(work, decision)


def test_c11_there_is_no_moment_between_an_item_and_its_deadline(
    world: World,
) -> None:
    asked = []
    for statement in count(1):
        work, decision = before_it_asks(world, f"request-{statement}")
        try:
            with broken_at(world.ledger.engine, statement):
                world.perform(work, decision)
        except BrokenOff:
            # It is there with its version and its deadline, or not at all.
            told = [due["deadline"] for due in world.told(work, "item_queued")]
            found = world.items(work)
            assert told == [audit.stamp(item.deadline) for item in found]
            assert [world.version(work, item).version for item in found] == [1] * len(
                told
            )
            asked.append(len(found))
            continue
        break
    assert set(asked) == {0, 1} and asked == sorted(asked)


def test_c12_a_verdict_that_found_nobody_at_work_is_owed_a_wake(world: World) -> None:
    work = world.asked()
    with world.ledger.read() as tx:
        assert not unattended.need(tx, work.session).owed
    world.approve(work)
    world.clock.move(world.services.settings.lease_seconds + 1)
    with world.ledger.read() as tx:
        (left,) = unattended.requests(tx, 10)
        assert left.workflow == work.workflow
        assert unattended.need(tx, left).owed


def test_c16_every_kind_of_question_is_on_the_form(world: World) -> None:
    work = world.asked()
    for kind in get_args(InteractionType):
        put(world, work, kind)
    _, asking = world.next_form(work)
    assert asking is not None
    fields = run_input(asking.form, asking.markdown, {}).model_fields
    asked = {question.type: question for question in asking.form.questions}
    assert set(asked) == set(get_args(InteractionType))
    assert {answer_name(question) for question in asked.values()} <= set(fields)


def test_c16_a_question_of_an_unknown_kind_is_refused_aloud(world: World) -> None:
    work = world.asked()
    with pytest.raises(ValidationError, match="SIGN_HERE"):
        put(world, work, "SIGN_HERE")
    assert forging.rows(world.ledger, "interactions") == []
    put(world, work, "INPUT")
    newer = "UPDATE interactions SET question = REPLACE({}, 'INPUT', 'SIGN_HERE'){}"
    casts = {"sqlite": ("question", ""), "postgresql": ("question::text", "::json")}
    forging.run(world.ledger, newer.format(*casts[world.ledger.engine.dialect.name]))
    with pytest.raises(ValidationError, match="SIGN_HERE"):
        world.next_form(work)


def test_c17_of_a_verdict_and_an_expiry_at_once_the_first_one_counts(
    world: World,
) -> None:
    def act(number: int) -> object:
        if number:
            return world.hand_in(work, said)
        with world.ledger.write() as tx:
            return endings.expire_overdue(tx, work.workflow)

    counted = set()
    for before in (0, 5e-6, 10e-6, 20e-6, 40e-6, 1):
        work = world.asked(f"request-{before}")
        said = world.says(work, "approve")
        world.clock.set(world.item(work).deadline)
        world.clock.move(-before)
        _, handed = together(2, act)
        assert isinstance(handed, Taken | NotTaken), handed
        told = set(names(world.trail(work))) & {"approved", "expired"}
        assert told == (
            {"expired"} if codes(handed) == ["item_expired"] else {"approved"}
        )
        counted |= told
    assert counted == {"approved", "expired"}


def test_c20_what_is_asked_anew_keeps_the_old_verdict_and_does_not_use_it(
    world: World, mail: RecordingServer
) -> None:
    work = world.approved()
    world.edit_address("c-1", "grace@new.example.com")
    work, asking = world.form(world.resume(world.superseded(work)))
    assert asking is not None and asking.form.items[0].version == 2
    assert (world.item(work).state, mail.received) == ("waiting_for_review", [])
    assert "reapproval_required" in names(world.trail(work))
    world.approve(work, by="bob")
    world.advance(world.resume(work))
    with world.ledger.read() as tx:
        kept = verdicts.of_item(tx, world.item(work).id)
    said = [(row["version"], row["reviewer"]) for row in kept]
    assert (said, len(mail.received)) == ([(1, "ada"), (2, "bob")], 1)
