"""Processes that die, stop or come back while a request waits: it is sent once."""

from __future__ import annotations

import shutil
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from blocks.ledger.sessions import workflow_id
from channels.local_server import LocalServer
from tasks import opening
from tests.acceptance.deployment import crashed
from tests.acceptance.eventually import eventually
from tests.acceptance.installation import Installation
from tests.acceptance.processes import Process, send
from tests.acceptance.test_deployment import suspended
from tests.smtp_server import RecordingServer


def test_c5_c29_a_killed_request_says_so_and_goes_on_when_resumed(
    installation: Installation,
) -> None:
    """L8, W4: kill -9 of a local process, a verdict, `placet resume`."""
    process, workflow = waiting(installation, "killed")
    process.kill()
    too_early = installation.command("resume", workflow)
    eventually(lambda: installation.lease_is_over(workflow))

    said = decide(installation, workflow)
    resumed = installation.start("resume", workflow)

    assert (too_early.code, "lease runs out" in too_early.err) == (5, True)
    assert "no process works on it any more" in said
    assert resumed.wait() == 0, resumed.said()
    assert installation.session(workflow).status == "completed"
    assert len(installation.mails("killed")) == 1


def test_c22_a_killed_run_of_a_worker_goes_on_when_it_is_resumed(
    deployed: Installation,
) -> None:
    """L8, W5: kill -9 of a worker's process; its run is run again."""
    workflow, run = crashed(deployed, "crashed")

    said = decide(deployed, workflow)
    eventually(lambda: deployed.lease_is_over(workflow))
    resumed = deployed.command("resume", workflow)

    assert "the run is Crashed" in said
    assert resumed.code == 0
    assert deployed.wait_until_closed(workflow) == "completed"
    assert len(deployed.mails("crashed")) == 1
    assert run.wait_for("Completed")


def test_a_suspended_run_that_somebody_set_to_running_is_told_dead_and_goes_on(
    deployed: Installation,
) -> None:
    """L8: Prefect shows it as Running, and no process will ever work on it."""
    (workflow,) = suspended(deployed, "set-running")
    run = deployed.run_of(workflow)
    run.set_state("RUNNING")

    said = decide(deployed, workflow)
    resumed = deployed.command("resume", workflow)

    told = "no process works on it any more; the run is Running"
    assert told in " ".join(said.split())
    assert resumed.code == 0, resumed.err
    assert deployed.wait_until_closed(workflow) == "completed"
    assert len(deployed.mails("set-running")) == 1


def test_a_form_that_nobody_has_read_is_read_when_the_request_goes_on(
    installation: Installation,
) -> None:
    """L8: killed after Prefect took the form and before the ledger had it."""
    process, workflow = waiting(installation, "unread")
    ada = installation.add_reviewer("ada")
    process.stop()
    run = installation.run_of(workflow)
    form = run.form()
    taken = run.resume(installation.fill_in(form, "approve", ada))
    process.kill()
    assert (taken.status, installation.item(workflow).state) == (
        "ACCEPT",
        "waiting_for_review",
    )
    eventually(lambda: installation.lease_is_over(workflow))

    resumed = installation.start("resume", workflow)

    assert resumed.wait() == 0, resumed.said()
    assert [said["actor"] for said in installation.told(workflow, "approved")] == [
        "ada"
    ]
    assert len(installation.mails("unread")) == 1
    assert run.stored_answer(form) is None


def test_a_page_of_a_run_that_has_died_takes_nothing_once_another_goes_on(
    installation: Installation,
) -> None:
    """L12: Prefect would take the click, and nobody would ever read it."""
    process, workflow = waiting(installation, "old-page")
    old = installation.run_of(workflow)
    page = old.form()
    process.kill()
    eventually(lambda: installation.lease_is_over(workflow))
    newer = installation.start("resume", workflow)
    eventually(lambda: installation.run_of(workflow).id != old.id)
    installation.run_of(workflow).form()

    ada = installation.add_reviewer()
    said = old.resume(installation.fill_in(page, "approve", ada))
    decide(installation, workflow)

    assert said.status == "ABORT"
    assert newer.wait() == 0, newer.said()
    assert len(installation.mails("old-page")) == 1


def test_of_two_that_resume_a_request_one_works_and_the_other_says_why_not(
    installation: Installation,
) -> None:
    """C22 of the field failures: anybody may go on, but one at a time."""
    installation.add_ticket("both")
    workflow = open_only(installation, "both")

    both = [installation.start("resume", workflow) for _ in range(2)]
    leaving = eventually(lambda: next((p for p in both if p.has_ended()), None))
    installation.wait_until_asked(workflow)
    decide(installation, workflow)
    staying = next(p for p in both if p is not leaving)

    assert f"{workflow} is worked on by another run" in leaving.said()
    assert staying.wait() == 0, staying.said()
    assert len(installation.mails("both")) == 1


def test_b2_a_superseded_process_changes_and_sends_nothing(
    installation: Installation,
) -> None:
    """B2 of the field failures: a ghost that comes back is fenced off."""
    ghost, workflow = waiting(installation, "ghost")
    old_run = installation.run_of(workflow)
    old_form = old_run.form()
    ghost.stop()
    eventually(lambda: installation.lease_is_over(workflow))
    newer = installation.start("resume", workflow)
    eventually(lambda: installation.run_of(workflow).id != old_run.id)
    installation.wait_until_asked(workflow)
    decide(installation, workflow)
    assert newer.wait() == 0, newer.said()
    before = installation.session(workflow)

    bob = installation.add_reviewer("bob")
    ghost.go_on()
    old_run.resume(installation.fill_in(old_form, "reject", bob, reason="too late"))

    assert ghost.wait() == 5
    assert f"placet: Another process works on {workflow} now." in ghost.said()
    assert installation.session(workflow) == before
    assert installation.item(workflow).state == "executed"
    assert len(installation.mails("ghost")) == 1


def test_c7_a_wait_outlives_a_restart_of_the_prefect_server(
    prefect_server: LocalServer, tmp_path: Path, sqlite_template: Path
) -> None:
    """L8: nothing is looked up in the memory of a server."""
    shutil.copyfile(sqlite_template, tmp_path / "placet.db")
    home = copy_server(prefect_server, tmp_path / "server")
    with (
        LocalServer(home) as server,
        RecordingServer() as smtp,
        Installation(tmp_path, server.api_url, smtp) as installation,
    ):
        process, workflow = waiting(installation, "restart")
        server.stop()
        with LocalServer(home, int(server.url.rpartition(":")[2])):
            decide(installation, workflow)
            assert process.wait() == 0, process.said()
            assert len(installation.mails("restart")) == 1


def copy_server(server: LocalServer, home: Path) -> Path:
    """The home of another server that need not migrate its database first."""
    home.mkdir()
    with (
        closing(sqlite3.connect(server.home / "prefect.db")) as present,
        closing(sqlite3.connect(home / "prefect.db")) as copied,
    ):
        present.backup(copied)
    return home


def open_only(installation: Installation, name: str) -> str:
    """A request whose process has died before it did anything."""
    request = {"ticket_id": name}
    session = opening.open_session(
        installation.services, "support_email", request, name
    )
    return session.workflow


def waiting(installation: Installation, name: str) -> tuple[Process, str]:
    """A process that carries a request of this name, once it waits for a person."""
    installation.add_ticket(name)
    process = installation.start_local(name, name)
    workflow = workflow_id(name)
    installation.wait_until_asked(workflow)
    assert installation.holder(workflow) == process.pid
    return process, workflow


def decide(installation: Installation, workflow: str) -> str:
    """Let somebody approve, by the command; what it said."""
    someone = installation.add_reviewer()
    said = installation.decide(installation.item(workflow), "approve", someone)
    assert said.code == 0, said.err
    return said.out


@pytest.mark.parametrize(
    ("number", "status"), ((signal.SIGINT, 130), (signal.SIGTERM, 143))
)
def test_a_stopped_request_says_where_it_is_and_how_it_goes_on(
    installation: Installation, number: signal.Signals, status: int
) -> None:
    """W4: `placet submit --local` and Ctrl-C; what it waits for was told before."""
    process, workflow = waiting(installation, "stopped")
    item = installation.item(workflow).id
    eventually(lambda: f"placet review {item} --as YOU" in process.said())

    send(process.pid, number)

    assert process.wait() == status
    said = process.said()
    _, ending = " ".join(said.split()).split("placet: stopped. ")
    assert ending.startswith(f"{workflow} is waiting: {item} (waiting_for_review). ")
    assert ending.endswith(f"placet resume {workflow}")
    assert "prefect." not in said and " | " not in said
