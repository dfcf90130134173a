"""What nobody waits for is noticed: lost clicks, dead processes, cancelled runs."""

from __future__ import annotations

import signal
from functools import partial

from blocks.recovery import Point
from tests.acceptance.deployment import (
    SUPERVISOR,
    crashed,
    read_deployment,
    submitted,
    supervise,
)
from tests.acceptance.doomed import ended_by_kill, stopped
from tests.acceptance.eventually import eventually
from tests.acceptance.installation import Installation
from tests.acceptance.processes import send
from tests.acceptance.test_deployment import suspended


def test_a_click_that_prefect_took_from_a_dead_process_is_not_lost(
    deployed: Installation,
) -> None:
    """X7, W5: killed in the hot window, the form accepted, and nobody read it."""
    workflow, form, process = submitted(deployed, "lost-click")
    send(process, signal.SIGSTOP)
    ada = deployed.add_reviewer()
    taken = deployed.run_of(workflow).resume(deployed.fill_in(form, "approve", ada))
    send(process, signal.SIGKILL)
    eventually(lambda: deployed.lease_is_over(workflow))

    ended = look_after(deployed, workflow)

    assert (taken.status, ended) == ("ACCEPT", "completed")
    assert [told["actor"] for told in deployed.told(workflow, "approved")] == [ada.id]
    assert len(deployed.mails("lost-click")) == 1


def test_a_run_that_prefect_has_failed_comes_back_with_its_form(
    deployed: Installation,
) -> None:
    """C19: the window ran out with nobody there; the item is still decidable."""
    workflow, run = crashed(deployed, "failed-run")
    eventually(lambda: deployed.lease_is_over(workflow))

    said = deployed.command("supervise", "--once")
    form = deployed.wait_until_asked(workflow)
    run.resume(deployed.fill_in(form, "approve", deployed.add_reviewer()))

    assert "put back to work: its run was Crashed" in said.out
    assert deployed.wait_until_closed(workflow) == "completed"
    assert len(deployed.mails("failed-run")) == 1


def test_a_supervisor_that_dies_between_count_and_restart_loses_nothing(
    deployed: Installation,
) -> None:
    """X8, W5: the restart is counted and its run is still Crashed; resume goes on."""
    workflow, run = crashed(deployed, "counted")
    eventually(lambda: deployed.lease_is_over(workflow))

    ended_by_kill(stopped(deployed, Point.RESTART_COUNTED, "supervise", "--once"))
    counted, state = deployed.told(workflow, "request_restarted"), run.state()
    deployed.decide(deployed.item(workflow), "approve", deployed.add_reviewer())
    resumed = deployed.command("resume", workflow)

    assert ([told["attempt"] for told in counted], state) == ([1], "Crashed")
    assert resumed.code == 0, resumed.err
    assert deployed.wait_until_closed(workflow) == "completed"
    assert len(deployed.mails("counted")) == 1


def test_c1_a_verdict_that_found_nobody_to_wake_is_taken_up(
    deployed: Installation,
) -> None:
    """W5: recorded while Prefect did not answer; the scheduled supervisor wakes it."""
    (workflow,) = suspended(deployed, "unwoken")
    ada, item = deployed.add_reviewer(), deployed.item(workflow)
    snapshot = deployed.version(item).snapshot.digest
    said = deployed.start_module(
        "channels",
        *("decide", item.id, "approve", "--as", ada.id),
        *("--version", "1", "--snapshot", snapshot, "--json"),
        PLACET_TOKEN=ada.token,
        PREFECT_API_URL="http://127.0.0.1:9/api",
    )
    assert (said.wait(), "unreachable" in said.said()) == (0, True)

    turn = supervise(deployed)

    assert turn.wait_for("Completed", "Failed", "Crashed") == "Completed"
    assert deployed.wait_until_closed(workflow) == "completed"
    assert len(deployed.mails("unwoken")) == 1


def test_a_cancelled_run_cancels_what_it_asked_for(deployed: Installation) -> None:
    """B13: the item can no longer be approved, and nothing is sent."""
    (workflow,) = suspended(deployed, "cancelled-run")
    deployed.run_of(workflow).set_state("CANCELLED")

    deployed.command("supervise", "--once")
    item = deployed.item(workflow)
    said = deployed.decide(item, "approve", deployed.add_reviewer())

    assert (item.state, deployed.session(workflow).status) == ("cancelled", "cancelled")
    assert said.code == 5
    assert deployed.mails("cancelled-run") == []


def test_the_supervisor_is_scheduled_and_has_a_limit_of_one(
    deployed: Installation,
) -> None:
    """W5"""
    found = read_deployment(deployed, SUPERVISOR)
    assert found["schedules"][0]["schedule"]["interval"] == 30
    assert found["global_concurrency_limit"]["limit"] == 1


def look_after(installation: Installation, workflow: str) -> str:
    """Take the supervisor's turns until the request has ended."""

    def closed() -> str | None:
        installation.command("supervise", "--once")
        session = installation.session(workflow)
        return None if session.is_open else session.status

    return eventually(partial(closed), within=90)
