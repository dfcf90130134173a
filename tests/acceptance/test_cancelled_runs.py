"""A request whose run was cancelled in Prefect is not gone on with, by any way in."""

from __future__ import annotations

import signal

import pytest

from blocks.ledger import claims
from blocks.ledger.sessions import workflow_id
from tests.acceptance.deployment import submitted
from tests.acceptance.eventually import eventually
from tests.acceptance.installation import Installation, Person
from tests.acceptance.processes import send
from tests.acceptance.test_deployment import suspended


def test_what_was_not_sent_before_its_run_was_cancelled_is_never_sent(
    deployed: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X5, B13: killed within the send, cancelled, and nobody got it, says a person."""
    with monkeypatch.context() as patch:
        patch.setattr(deployed.smtp, "behaviour", "hang_before_reply")
        workflow, ada = cut_off(deployed, "called-off")
    deployed.run_of(workflow).set_state("CANCELLED")
    looked = deployed.command("supervise", "--once")
    why = ("--as", ada.id, "--reason", "nobody got it")

    said = deployed.command("resolve", workflow, "not-happened", *why, by=ada)
    again = deployed.command("supervise", "--once")

    assert (looked.code, said.code, again.code) == (0, 0, 0), said.err
    assert "its run was cancelled in Prefect" in said.words
    assert "ended as cancelled" in said.words
    assert deployed.session(workflow).status == "cancelled"
    assert deployed.run_of(workflow).state() == "Cancelled"
    assert len(deployed.mails("called-off")) == 1


def test_a_cancelled_request_is_not_resumed(deployed: Installation) -> None:
    """B13: it says what to do instead."""
    (workflow,) = suspended(deployed, "not-resumed")
    deployed.run_of(workflow).set_state("CANCELLED")
    said = deployed.command("resume", workflow)
    assert (said.code, "under a new request id" in said.err) == (5, True)
    assert deployed.run_of(workflow).state() == "Cancelled"


def test_a_cancelled_request_is_not_carried_on_in_another_run(
    deployed: Installation,
) -> None:
    """B13: submitted again here, under the same id."""
    (workflow,) = suspended(deployed, "elsewhere")
    deployed.run_of(workflow).set_state("CANCELLED")
    deployed.decide(deployed.item(workflow), "approve", deployed.add_reviewer())
    request_id = deployed.session(workflow).request_id
    local = deployed.start_local(request_id, "elsewhere")
    assert (local.wait(), "its run was cancelled" in local.said()) == (0, True)
    assert deployed.session(workflow).status == "cancelled"
    assert deployed.mails("elsewhere") == []


def test_a_local_process_whose_run_is_cancelled_ends_with_its_request(
    installation: Installation,
) -> None:
    """B13: no worker stops it; it stops by itself, and a verdict wakes nothing."""
    installation.add_ticket("stops")
    process = installation.start_local("stops", "stops")
    workflow = workflow_id("stops")
    installation.wait_until_asked(workflow)
    installation.run_of(workflow).set_state("CANCELLED")

    assert process.wait() == 5
    assert "its run was cancelled" in process.said()
    assert installation.session(workflow).status == "cancelled"


def test_a_deployed_request_that_was_carried_on_here_is_reported_and_resumed_here(
    deployed: Installation,
) -> None:
    """W5: its run has no deployment any more, so no worker is waited for."""
    workflow, _, worker = submitted(deployed, "both")
    send(worker, signal.SIGKILL)
    eventually(lambda: deployed.lease_is_over(workflow))
    local = deployed.start_local("both", "both")
    eventually(lambda: deployed.holder(workflow) not in (None, worker))
    deployed.run_of(workflow).wait_for("Paused")
    local.kill()
    eventually(lambda: deployed.lease_is_over(workflow))

    told = deployed.command("supervise", "--once")
    deployed.decide(deployed.item(workflow), "approve", deployed.add_reviewer())
    resumed = deployed.start("resume", workflow)

    assert "it has no deployment; go on with: placet resume" in told.words
    assert resumed.wait() == 0, resumed.said()
    assert deployed.session(workflow).status == "completed"
    assert len(deployed.mails("both")) == 1


def cut_off(placet: Installation, ticket: str) -> tuple[str, Person]:
    """A request whose worker was killed within the send of an approved mail."""
    workflow, _, process = submitted(placet, ticket)
    ada = placet.add_reviewer()
    placet.decide(placet.item(workflow), "approve", ada)
    eventually(lambda: placet.mails(ticket))
    send(process, signal.SIGKILL)
    eventually(lambda: placet.lease_is_over(workflow))
    eventually(lambda: not is_held(placet, workflow))
    return workflow, ada


def is_held(placet: Installation, workflow: str) -> bool:
    """Whether the dead process's claim still has to run out."""
    with placet.services.ledger.read() as tx:
        claim = claims.of_item(tx, placet.item(workflow).id)[-1]
        return claim.lease_until > tx.now
