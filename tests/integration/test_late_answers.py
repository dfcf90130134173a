"""Every answer that Prefect took on a form ends in the trail of its request."""

from datetime import datetime

import pytest

from blocks import prefect_forms, prefect_states
from blocks.ledger import rounds
from blocks.ledger.rounds import PauseRow
from blocks.prefect_forms import FormAnswer
from policies.attendance import Run
from policies.errors import Unavailable
from policies.form import verdict_name
from policies.value import Json
from tasks import cancelling, late_answers, opening, waiting
from tasks.waiting import Asking
from tasks.work import Work, reload
from tests.reading import names
from tests.unattended import Runs, whole_turn
from tests.world import World


class Forms:
    """What lies at Prefect, by the pause's key; `away` is no answer from it."""

    def __init__(self) -> None:
        self.answers: dict[str, FormAnswer] = {}
        self.away = False

    def read_last(self, pause: PauseRow) -> FormAnswer | None:
        if self.away:
            raise Unavailable("The Prefect server does not answer.")
        return self.answers.get(pause.key)

    def forget(self, pause: PauseRow) -> None:
        del self.answers[pause.key]


@pytest.fixture
def forms(monkeypatch: pytest.MonkeyPatch) -> Forms:
    made = Forms()
    monkeypatch.setattr(prefect_forms, "read_last", made.read_last)
    monkeypatch.setattr(prefect_forms, "forget", made.forget)
    return made


def clicked(world: World, forms: Forms, word: str = "approve") -> Work:
    """Bob has sent the form of a process that has died before it read that."""
    work, asking = world.form(world.opened())
    assert asking is not None
    forms.answers[asking.pause.key] = sent(world, asking, word)
    return work


def sent(world: World, asking: Asking, word: str) -> FormAnswer:
    item = asking.form.items[0]
    choice = next(c for c in item.choices if c.startswith(word))
    values: dict[str, Json] = {verdict_name(item): choice}
    values |= {"reviewer": "bob", "code": world.code("bob")}
    return FormAnswer(values, world.clock.now)


def unread(world: World, work: Work) -> tuple[PauseRow, ...]:
    with world.ledger.read() as tx:
        return rounds.unread_pauses(tx, work.workflow)


def test_a_click_on_what_was_decided_meanwhile_is_refused_with_its_reason(
    world: World, forms: Forms
) -> None:
    """X7: ada was faster, by the command; the request ends without another wait."""
    work = clicked(world, forms)
    world.hand_in(work, world.says(work, "reject"))
    assert late_answers.read_left(world.services, work.workflow) == 1
    told = world.told(work, "verdict_refused")[0]
    assert (told["actor"], told["code"]) == ("bob", "already_decided")
    assert (forms.answers, unread(world, work)) == ({}, ())


def test_a_click_before_its_run_was_cancelled_is_a_verdict(
    world: World, forms: Forms
) -> None:
    """X7: recorded, and then cancelled with the rest."""
    work = clicked(world, forms)
    assert cancelling.cancel(world.services, work, "supervisor") == "cancelled"
    told = names(world.trail(work))
    assert told.index("approved") < told.index("cancelled")
    assert forms.answers == {}


@pytest.mark.parametrize(
    ("word", "code", "reason"),
    [("edit", True, "request_closed"), ("approve", False, "wrong_proof")],
)
def test_what_decides_nothing_is_told_as_refused(
    world: World, forms: Forms, word: str, code: bool, reason: str
) -> None:
    """X7: the wish to edit, and a form without a code."""
    work = clicked(world, forms, word)
    if not code:
        for answer in forms.answers.values():
            answer.values["code"] = ""
    late_answers.read_left(world.services, work.workflow)
    told = world.told(work, "answer_refused")[0]
    assert (told["actor"], told["reasons"]) == (
        "bob",
        [{"about": "the form", "code": reason}],
    )


def test_what_prefect_did_not_tell_when_a_request_ended_is_read_by_the_supervisor(
    world: World, forms: Forms, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X7, W5"""
    Runs(world, monkeypatch)
    work = clicked(world, forms)
    forms.away = True
    cancelling.cancel(world.services, work, "supervisor")
    opening.give_lease_back(world.services, work)
    whole_turn(world)
    assert len(unread(world, work)) == 1
    forms.away = False
    told = whole_turn(world)
    assert [row.what for row in told.done] == ["1 late answers recorded"]
    assert (forms.answers, unread(world, work)) == ({}, ())
    assert [fact["actor"] for fact in world.told(work, "verdict_refused")] == ["bob"]


def test_a_form_on_a_server_that_is_not_there_any_more_is_left(
    world: World, forms: Forms, monkeypatch: pytest.MonkeyPatch
) -> None:
    """W5: nothing fails by it, and nothing is called read."""
    work = clicked(world, forms)
    forms.away = True
    cancelling.cancel(world.services, work, "supervisor")

    def unknown(ids: set[str], now: datetime) -> dict[str, Run]:
        return {i: Run(kind="gone", name="gone", since=now) for i in ids}

    monkeypatch.setattr(prefect_states, "read_many", unknown)
    assert whole_turn(world).failed == ()
    assert len(unread(world, work)) == 1


def test_an_answer_to_a_round_that_is_over_is_recorded_at_the_next_wait(
    world: World, forms: Forms
) -> None:
    """X7: the round was resumed by a command before the form was read."""
    work, asking = world.form(world.opened())
    assert asking is not None
    answer = sent(world, asking, "approve")
    world.approve(work)
    work = world.resume(reload(world.services, work.held))
    waiting.take_stored_answer(
        world.services, work, asking.pause, answer.values, answer.sent_at
    )
    told = world.told(work, "verdict_refused")[0]
    assert (told["actor"], told["code"]) == ("bob", "already_decided")
