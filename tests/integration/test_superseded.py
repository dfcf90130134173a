"""A process that was replaced by another: it shows, wakes, changes, sends nothing."""

from typing import NoReturn
from uuid import UUID

import anyio
import pytest

from blocks.ledger import effects
from flows import wait
from flows.wait import FlowRun
from policies.errors import Superseded
from policies.form import verdict_name
from policies.value import Json
from tasks import waiting
from tasks.support_email import tools
from tasks.waiting import Asking
from tasks.work import Work, reload
from tests import forging
from tests.reading import names
from tests.smtp_server import RecordingServer
from tests.world import FLOW_RUN, World

SEND = "support_email.send_reply"
RUN = FlowRun(id=UUID(FLOW_RUN), deployed=True)


def answer(asking: Asking, word: str, code: str = "") -> dict[str, Json]:
    """The form, sent by ada with the choice that begins so for the first item."""
    item = asking.form.items[0]
    choice = next(c for c in item.choices if c.startswith(word))
    return {verdict_name(item): choice, "reviewer": "ada", "code": code}


def test_a_superseded_process_cannot_send_with_the_claim_that_it_still_has(
    world: World, mail: RecordingServer
) -> None:
    """X2: nobody has taken the claim over yet, and still it is worth nothing."""
    work, claim = world.claimed()
    newer = world.superseded(work)
    with pytest.raises(Superseded):
        tools.EFFECTS[SEND].tool(world.services, claim.id, claim.token)
    assert (mail.received, "dispatched" in names(world.trail(work))) == ([], False)
    newer, _ = world.advance(newer)
    assert (newer.session.status, len(mail.received)) == ("completed", 1)


@pytest.mark.parametrize("word", ["edit", "approve", "leave open"])
def test_a_superseded_process_does_not_choose_the_next_form(
    world: World, word: str
) -> None:
    """S10"""
    work, asking = world.form(world.opened(recipients=["c-1", "c-2"]))
    assert asking is not None
    newer = world.superseded(work)
    before = forging.rows(world.ledger, "workflow_sessions")
    with pytest.raises(Superseded):
        waiting.take_answer(world.services, work, asking.form, answer(asking, word))
    assert forging.rows(world.ledger, "workflow_sessions") == before
    _, shown = world.next_form(newer)
    assert shown is not None and not shown.form.editing
    assert "Not recorded yet" not in shown.markdown


def test_a_superseded_process_brings_no_form_back_that_is_over(world: World) -> None:
    """S10"""
    work, asking = world.form(world.opened())
    assert asking is not None
    world.approve(work)
    world.resume(world.superseded(work))
    with pytest.raises(Superseded):
        waiting.take_answer(world.services, work, asking.form, answer(asking, "edit"))
    assert reload(world.services, work.held).session.pending is None


def test_a_superseded_wait_is_not_over_and_has_nothing_to_say(world: World) -> None:
    """B2 of the field failures"""
    work = world.asked()
    world.approve(work)
    assert waiting.is_over(world.services, work)
    world.superseded(work)
    assert not waiting.is_over(world.services, work)
    with pytest.raises(Superseded):
        waiting.require_lease(world.services, work)


def test_a_superseded_wait_leaves_the_run_as_it_is(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B2 of the field failures: a pause that ends for both of two processes."""
    work, decision = world.advance(world.opened())
    assert decision is not None
    set_to: list[object] = []

    async def pause(*_: object) -> None:
        world.superseded(work)

    async def set_state(_: FlowRun, state: object) -> None:
        set_to.append(state)

    monkeypatch.setattr(wait, "_show_form", pause)
    monkeypatch.setattr(wait, "_set_state", set_state)
    with pytest.raises(Superseded):
        anyio.run(wait.wait_for, world.services, work, (), RUN)
    assert set_to == []


def test_what_a_process_recorded_and_did_not_live_to_tell_is_told_in_the_end(
    world: World, mail: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X8, L11: killed between the effect's record and the step's completion."""

    class Killed(BaseException):
        """Stands for the end of a process."""

    def die(*_: object) -> NoReturn:
        raise Killed

    def plain(done: Work) -> object:
        return [(e.action, e.outcome, e.detail) for e in done.state.execution_result]

    whole, _ = world.advance(world.resumed("request-1"))
    work = world.resumed("request-2")
    with monkeypatch.context() as patch:
        patch.setattr(effects, "result_of", die)
        with pytest.raises(Killed):
            world.advance(work)
    newer, _ = world.advance(world.superseded(work))
    assert plain(newer) == plain(whole)
    assert newer.state.completed_steps == whole.state.completed_steps
    assert len(mail.received) == 2
