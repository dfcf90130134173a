"""kill -9 between any two durable steps of a real request, and what is done then."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from blocks.recovery import Point
from blocks.support_email import store
from tests.acceptance.doomed import Doomed, ended_by_kill
from tests.acceptance.eventually import eventually
from tests.acceptance.installation import Installation

BEFORE_THE_FORM = (
    Point.SESSION_OPENED,
    Point.LEASE_TAKEN,
    Point.DECISION_RECORDED,
    Point.DRAFT_SAVED,
    Point.STEP_SAVED,
    Point.ITEM_ASKED,
    Point.ROUND_OPENED,
    Point.PAUSE_WRITTEN,
)
AFTER_THE_CLICK = (
    Point.FORM_ANSWERED,
    Point.VERDICT_RECORDED,
    Point.FORM_READ,
    Point.PAUSE_ENDED,
    Point.SLOT_BOUND,
    Point.SLOT_CONSUMED,
    Point.CLAIMED,
    Point.DISPATCHED,
    Point.SENT,
    Point.RECORDED,
    Point.STATE_NOTED,
    Point.REQUEST_CLOSED,
    Point.LEASE_RELEASED,
)
IN_DOUBT = {
    Point.DISPATCHED,
    Point.SENT,
    Point.OUTCOME_LOST,
    Point.RECONCILED,
    Point.RETRY_CLAIMED,
}


def before_the_form(point: Point, doomed: Doomed) -> None:
    doomed.dies(point, *doomed.submission())


def at_the_form(point: Point, doomed: Doomed) -> None:
    shown = doomed.placet.folder / "shown"
    process = doomed.start(point, *doomed.submission(), awaited=str(shown))
    doomed.placet.wait_until_asked(doomed.workflow)
    shown.touch()
    ended_by_kill(process)


def after_the_click(point: Point, doomed: Doomed) -> None:
    process = doomed.start(point, *doomed.submission())
    doomed.click()
    ended_by_kill(process)


def with_other_facts(point: Point, doomed: Doomed) -> None:
    before_the_form(Point.PAUSE_WRITTEN, doomed)
    with doomed.placet.services.ledger.write() as tx:
        store.change_address(tx, "customer-doomed", "grace@example.org")
    doomed.wait_until_free()
    doomed.dies(point, "resume", doomed.workflow)


def over_a_lost_outcome(point: Point, doomed: Doomed) -> None:
    after_the_click(Point.SENT, doomed)
    doomed.wait_until_free()
    doomed.dies(point, "supervise", "--once")


def over_a_finding(point: Point, doomed: Doomed) -> None:
    after_the_click(Point.DISPATCHED, doomed)
    doomed.supervise()
    doomed.dies(point, *doomed.finding())


def over_a_retry(point: Point, doomed: Doomed) -> None:
    after_the_click(Point.DISPATCHED, doomed)
    doomed.supervise()
    doomed.placet.command(*doomed.finding(), by=doomed.ada)
    doomed.dies(point, "supervise", "--once")


STORIES: dict[Point, Callable[[Point, Doomed], None]] = {
    **dict.fromkeys(BEFORE_THE_FORM, before_the_form),
    Point.PAUSED: at_the_form,
    **dict.fromkeys(AFTER_THE_CLICK, after_the_click),
    Point.FACTS_READ_AGAIN: with_other_facts,
    Point.OUTCOME_LOST: over_a_lost_outcome,
    Point.RECONCILED: over_a_finding,
    Point.RETRY_CLAIMED: over_a_retry,
}
# Real processes take their time: every run of the tests dies at all points within one
# (tests.integration.test_recovery_points), here at a few, and by `make races` at all.
SHORT = (Point.VERDICT_RECORDED, Point.CLAIMED)
TOLD = tuple(STORIES) if os.environ.get("PLACET_RACES") else SHORT
# It needs a worker: tests.acceptance.test_supervisor has it.
BY_A_WORKER = {Point.RESTART_COUNTED}


def test_every_recovery_point_has_its_story() -> None:
    assert STORIES.keys() | BY_A_WORKER == set(Point)


@pytest.mark.parametrize("point", TOLD)
def test_a_request_killed_here_comes_to_its_end_and_is_sent_once(
    installation: Installation, point: Point
) -> None:
    """X8, L8: nothing is lost, and only a killed send is ever in doubt."""
    doomed = Doomed(installation)
    STORIES[point](point, doomed)

    assert doomed.go_on() == "completed"

    assert len(installation.all_mails()) == 1
    unknown = installation.told(doomed.workflow, "execution_unknown")
    assert bool(unknown) == (point in IN_DOUBT), [u["detail"] for u in unknown]
    assert installation.command("audit", "verify").code == 0


@pytest.mark.parametrize("point", (Point.SENT,))
def test_a_process_stopped_in_the_middle_of_a_send_comes_back_too_late(
    installation: Installation, point: Point
) -> None:
    """X2: another one has settled it by then; its write is refused and recorded."""
    doomed = Doomed(installation)
    ghost = doomed.start(point, *doomed.submission(), action="stop")
    doomed.click()
    eventually(lambda: is_stopped(ghost.pid))
    assert doomed.go_on() == "completed"

    ghost.go_on()

    assert ghost.wait() == 5, ghost.said()
    told = installation.told(doomed.workflow, "late_write_refused")
    assert [fact["claim_status"] for fact in told] == ["executed"]
    assert len(installation.all_mails()) == 1
    assert installation.command("audit", "verify").code == 0


def is_stopped(pid: int) -> bool:
    """Whether a process was sent SIGSTOP and stands still."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
