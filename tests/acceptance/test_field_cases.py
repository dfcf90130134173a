"""Failures in the field that only whole parts can show: a worker, a form, a command."""

from __future__ import annotations

from blocks.ledger import rules
from blocks.ledger.sessions import workflow_id
from policies.policy import Policy, TermPolicy
from tests import forging
from tests.acceptance.installation import Installation
from tests.acceptance.requests_under_way import Carrier
from tests.acceptance.shell import Shell
from tests.acceptance.test_deployment import suspended

OVER = "UPDATE items SET deadline = created_at WHERE workflow = :of"


def test_c28_of_two_that_wait_only_the_one_that_was_answered_goes_on(
    carrier: Carrier,
) -> None:
    placet = carrier.installation
    one, other = carrier.start(), carrier.start()
    form = one.form()
    other.form()
    one.run.resume(placet.fill_in(form, "approve", placet.add_reviewer()))

    assert (one.ended(), len(one.mails)) == ("completed", 1)
    assert other.run.state() == "Paused"
    assert other.items[0].state == "waiting_for_review"
    assert (other.told("resumed"), other.mails) == ([], [])
    carrier.let_go(other.id)


def test_c20_a_run_that_is_run_again_after_its_end_does_nothing_more(
    carrier: Carrier,
) -> None:
    placet, request = carrier.installation, carrier.start()
    form = request.form()
    request.run.resume(placet.fill_in(form, "approve", placet.add_reviewer()))
    assert request.ended() == "completed"
    trail = request.told("decision_made")

    again = placet.command("resume", request.workflow)

    assert (again.code, "completed" in again.err) == (5, True), again
    assert (request.told("decision_made"), len(request.mails)) == (trail, 1)


def test_d5_a_process_that_waits_notices_that_the_time_is_over(
    installation: Installation,
) -> None:
    soon = TermPolicy(decide_within_seconds=3, approval_term_seconds=60)
    hasty = Policy(terms={**Policy().terms, "medium": soon})
    with installation.services.ledger.write() as tx:
        rules.put(tx, hasty, "tests")
    installation.add_ticket("too-late")
    process = installation.start_local("too-late", "too-late")

    assert process.wait() == 0, process.said()
    workflow = workflow_id("too-late")
    assert installation.session(workflow).status == "expired"
    assert len(installation.told(workflow, "expired")) == 1
    assert installation.told(workflow, "approved") == []
    assert installation.mails("too-late") == []


def test_d5_the_supervisor_notices_it_where_no_process_waits(
    deployed: Installation,
) -> None:
    (workflow,) = suspended(deployed, "overdue")
    forging.run(deployed.services.ledger, OVER, of=workflow)

    said = deployed.command("supervise", "--once")

    assert (said.code, "woken" in said.out) == (0, True), said
    assert deployed.wait_until_closed(workflow) == "expired"
    assert deployed.item(workflow).state == "expired"
    assert deployed.mails("overdue") == []


def test_d8_what_is_overdue_is_not_offered_before_anybody_has_noticed(
    shell: Shell,
) -> None:
    work = shell.world.asked()
    item = shell.world.item(work).id
    assert f"placet decide {item} approve" in shell.said("show", item)
    forging.run(shell.world.ledger, OVER, of=work.workflow)

    assert shell.said("queue") == "Nothing waits.\n"
    shown = shell.said("show", item)
    assert "To decide" not in shown and "Its time to be decided is over." in shown
    assert shell.said("review", "--as", "ada", by="ada") == "Nothing waits for you.\n"
    late = shell.verdict(work, "approve")
    assert "its time to be decided is over" in late.err
    assert (late.code, shell.world.item(work).state) == (3, "expired")
