"""Verdicts and answers that come while the flow is in the middle of something else."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from blocks.desk import Taken
from blocks.ledger import facts, people, questions, rounds, verdicts
from blocks.ledger.verdicts import Acting
from policies.decision import RequestApproval
from tasks import deciding
from tasks.work import Work, reload
from tests.integration.test_questions import ORDER, asking_about
from tests.reading import codes, names, text_of
from tests.smtp_server import RecordingServer
from tests.together import until_blocked
from tests.world import TERMINAL, World


class Halt:
    """Keeps a transaction open after one of its steps, until it is let go."""

    def __init__(self, patch: pytest.MonkeyPatch, module: object, name: str) -> None:
        self.reached, self.go_on = Event(), Event()
        self._step = getattr(module, name)
        patch.setattr(module, name, self._stop)

    def _stop(self, *given: Any, **more: Any) -> Any:
        done = self._step(*given, **more)
        self.reached.set()
        assert self.go_on.wait(10)
        return done


def goes_on_once(world: World, work: Work, mail: RecordingServer) -> None:
    """What was approved is sent, and that is all."""
    work, decision = world.advance(reload(world.services, work.held))
    if isinstance(decision, RequestApproval):
        work, _ = world.advance(world.resume(work))
    assert (work.session.status, len(mail.received)) == ("completed", 1)


def test_an_approval_that_is_recorded_while_a_round_is_opened_is_not_lost(
    world: World, mail: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B11, C8"""
    work, _ = world.advance(world.opened())
    halt = Halt(monkeypatch, verdicts, "record")
    with ThreadPoolExecutor(2) as pool:
        approval = pool.submit(world.hand_in, work, world.says(work, "approve"))
        assert halt.reached.wait(10)
        opening = pool.submit(world.next_form, work)
        until_blocked(world.ledger, opening)
        halt.go_on.set()
        assert isinstance(approval.result(10), Taken)
        work, asking = opening.result(10)
    assert (asking, world.item(work).state) == (None, "graph_resumed")
    goes_on_once(world, work, mail)


def test_c12_an_approval_that_meets_a_round_being_opened_is_taken(
    world: World, mail: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B11, C8"""
    work, _ = world.advance(world.opened())
    halt = Halt(monkeypatch, rounds, "open_round")
    with ThreadPoolExecutor(2) as pool:
        opening = pool.submit(world.next_form, work)
        assert halt.reached.wait(10)
        approval = pool.submit(world.hand_in, work, world.says(work, "approve"))
        until_blocked(world.ledger, approval)
        halt.go_on.set()
        assert isinstance(approval.result(10), Taken)
        work, _ = opening.result(10)
    assert names(world.trail(work)).count("approved") == 1
    goes_on_once(world, work, mail)


def test_what_is_withdrawn_after_its_execution_was_decided_is_not_sent(
    world: World, mail: RecordingServer
) -> None:
    """B15"""
    work = world.resumed()
    decision = deciding.decide(world.services, work)
    world.hand_in(work, world.says(work, "withdraw"))
    work, asking = world.form(world.perform(work, decision))
    assert asking is not None
    assert mail.received == []


def test_what_is_withdrawn_and_approved_again_by_then_is_sent_once(
    world: World, mail: RecordingServer
) -> None:
    """B15, B17"""
    work = world.resumed()
    decision = deciding.decide(world.services, work)
    world.hand_in(work, world.says(work, "withdraw"))
    world.approve(work, by="bob")
    work = world.perform(work, decision)
    assert (world.item(work).state, mail.received) == ("approved", [])
    goes_on_once(world, work, mail)


def test_what_is_edited_and_approved_anew_while_its_bytes_are_read_is_sent_as_edited(
    world: World, mail: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A4: the bytes that were read belong to a version that is over."""
    work = world.resumed()
    read = facts.read_stored

    def look(*given: Any) -> Any:
        monkeypatch.setattr(facts, "read_stored", read)
        seen = read(*given)
        world.hand_in(work, world.says(work, "withdraw"))
        world.edit(work, by="bob", body="Soon.")
        world.approve(work)
        return seen

    monkeypatch.setattr(facts, "read_stored", look)
    work = world.execute(work)
    assert (world.item(work).state, world.item(work).held) == ("approved", ())
    goes_on_once(world, work, mail)
    assert text_of(mail.received[0]) == "Soon."


def test_an_answer_that_is_recorded_as_its_question_lapses_counts(
    world: World,
) -> None:
    """I2, C17: the trail tells one of the two, and the truth."""
    work = asking_about(world, ORDER)
    world.clock.move(601)
    with ThreadPoolExecutor(1) as pool:
        with world.ledger.write() as tx:
            ada = Acting(who=people.load(tx, "ada"), channel=TERMINAL)
            questions.answer(tx, work.workflow, ORDER, "100999", ada)
            waiting = pool.submit(world.next_form, work)
            until_blocked(world.ledger, waiting)
        waiting.result(10)
    told = names(world.trail(work))
    assert "interaction_lapsed" not in told
    assert told.count("interaction_answered") == 1


def test_c17_an_answer_that_comes_after_the_lapse_is_told_so(world: World) -> None:
    """C17"""
    work = asking_about(world, ORDER)
    world.clock.move(601)
    with ThreadPoolExecutor(1) as pool:
        with world.ledger.write() as tx:
            questions.lapse(tx, work.workflow)
            waiting = pool.submit(world.hand_in, work, answers={ORDER: "100999"})
            until_blocked(world.ledger, waiting)
        assert codes(waiting.result(10)) == ["already_answered"]
    assert "interaction_answered" not in names(world.trail(work))
