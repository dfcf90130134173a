"""Requests through the deployment: process pool, worker, blocks and a schedule."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

from pydantic import SecretStr

from blocks.ledger.sessions import workflow_id
from blocks.ledger_block import LedgerBlock
from blocks.mail import MailServer
from blocks.model import DraftingModelBlock
from policies.errors import NotFound
from tests.acceptance.command_line import environment
from tests.acceptance.deployment import (
    register_blocks,
    schedule_runs,
    scheduled_runs,
    start_run,
)
from tests.acceptance.eventually import eventually
from tests.acceptance.installation import Installation
from tests.acceptance.processes import is_gone
from tests.smtp_server import RecordingServer

BLOCKS = {
    "placet-ledger",
    "placet-mail-server",
    "placet-drafting-model",
    "placet-workflow-model",
}
SHORT_WINDOW = {"PLACET_HOT_PAUSE_SECONDS": "1"}


def test_a_submitted_request_is_sent_once_it_is_approved(
    deployed: Installation,
) -> None:
    """W4, W5: `placet submit`, a worker of a process pool, Prefect's own form."""
    deployed.add_ticket("submitted")
    said = deployed.start(
        "submit", "support_email", deployed.write_request("submitted")
    )
    assert said.wait() == 0
    printed = dict(line.split() for line in said.said().splitlines())
    workflow = printed["workflow_id"]
    form = deployed.wait_until_asked(workflow)
    run = deployed.run_of(workflow)

    run.resume(deployed.fill_in(form, "approve", deployed.add_reviewer()))

    assert run.id == printed["flow_run_id"]
    assert run.wait_for("Completed", "Failed", "Crashed") == "Completed"
    assert len(deployed.mails("submitted")) == 1


def test_the_same_request_id_is_one_request_and_one_mail(
    deployed: Installation,
) -> None:
    """W5, X1: submitted twice, and run once more under the same id."""
    deployed.add_ticket("twice")
    first = deployed.submit("twice", request_id="twice-1")
    again = deployed.submit("twice", request_id="twice-1")
    approve(deployed, first[0])

    # Prefect itself knows nothing of the id in this run's parameters.
    another = start_run(deployed, "twice", {}, request_id="twice-1")

    assert first == again
    assert another.wait_for("Completed", "Failed", "Crashed") == "Completed"
    assert len(deployed.mails("twice")) == 1


def test_a_schedule_makes_a_new_request_at_each_run(deployed: Installation) -> None:
    """W5: each scheduled run is a request of its own."""
    deployed.add_ticket("scheduled")
    schedule_runs(deployed, "scheduled", 2)

    runs = eventually(lambda: scheduled_runs(deployed, 2))
    workflows = {workflow_id(run.id) for run in runs}
    for workflow in workflows:
        approve(deployed, workflow)

    assert len(workflows) == 2
    assert len(deployed.mails("scheduled")) == 2


def test_a_suspended_run_holds_no_process_and_goes_on_when_decided(
    deployed: Installation,
) -> None:
    """L8, L12, W5: decided at the form, and by the command; both are sent once."""
    by_form, by_command = suspended(deployed, "by-form", "by-command")
    ada = deployed.add_reviewer()

    form = deployed.wait_until_asked(by_form)
    deployed.run_of(by_form).resume(deployed.fill_in(form, "approve", ada))
    said = deployed.decide(deployed.item(by_command), "approve", ada, "--json")

    assert said.document["run"]["state"] == "woken"
    assert deployed.wait_until_closed(by_form) == "completed"
    assert deployed.wait_until_closed(by_command) == "completed"
    assert len(deployed.mails("by-form")) == len(deployed.mails("by-command")) == 1


def test_a_run_works_with_the_blocks_that_it_is_told_to_use(
    deployed: Installation, tmp_path: Path, sqlite_template: Path
) -> None:
    """W5: ledger, mail server and model as blocks that the UI edits."""
    assert register_blocks(deployed) >= BLOCKS
    shutil.copyfile(sqlite_template, tmp_path / "placet.db")
    with (
        RecordingServer() as smtp,
        Installation(tmp_path, str(deployed.api.base_url), smtp) as other,
    ):
        other.env["PLACET_SECRET_KEY"] = deployed.env["PLACET_SECRET_KEY"]
        save_blocks(other)
        other.add_ticket("by-blocks")
        names = ("LEDGER_BLOCK", "MAIL_BLOCK", "MODEL_BLOCK")
        run = start_run(deployed, "by-blocks", {f"PLACET_{n}": "other" for n in names})
        approve(other, workflow_id(run.id))

        assert run.wait_for("Completed", "Failed", "Crashed") == "Completed"
        assert len(other.mails("by-blocks")) == 1


def approve(installation: Installation, workflow: str) -> None:
    """Approve the one item of a request, and wait for its end."""
    installation.wait_until_asked(workflow)
    someone = installation.add_reviewer()
    said = installation.decide(installation.item(workflow), "approve", someone)
    assert said.code == 0, said.err
    assert installation.wait_until_closed(workflow) == "completed"


def suspended(installation: Installation, *tickets: str) -> list[str]:
    """Requests whose hot window has run out, and whose processes are gone."""
    for ticket in tickets:
        installation.add_ticket(ticket)
    runs = [start_run(installation, ticket, SHORT_WINDOW) for ticket in tickets]
    workflows = [workflow_id(run.id) for run in runs]
    at_work = [partial(holder, installation, workflow) for workflow in workflows]
    processes = [eventually(process) for process in at_work]
    for run, process in zip(runs, processes, strict=True):
        run.wait_for("Suspended")
        eventually(partial(is_gone, process))
    assert [process() for process in at_work] == [None] * len(tickets)
    return workflows


def holder(installation: Installation, workflow: str) -> int | None:
    """The process that carries a request, once there is one."""
    try:
        return installation.holder(workflow)
    except NotFound:
        return None


def save_blocks(installation: Installation) -> None:
    """What a person fills in on Prefect's page for blocks."""
    ledger = LedgerBlock(
        database_url=SecretStr(f"sqlite:///{installation.folder}/placet.db"),
        artifacts=str(installation.folder / "artifacts"),
        environment="test",
    )
    mail = MailServer(
        host="127.0.0.1",
        port=installation.smtp.port,
        security="none",
        sender="other@placet.test",
        message_id_domain="placet.test",
    )
    with environment(installation.env):
        for block in (ledger, mail, DraftingModelBlock(kind="template")):
            block.save("other")
