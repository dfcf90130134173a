"""Requests whose run ended before it began: said so, and put back to work."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from blocks import prefect_runs
from blocks.ledger.sessions import workflow_id
from tasks import opening
from tests.acceptance.installation import Installation
from tests.acceptance.prefect_form import PrefectRun

DIED = "The ledger postgresql://db/placet does not answer: Connection refused."
TRACE = """Flow could not be retrieved from deployment.

Traceback (most recent call last):
  File "engine.py", line 1, in <module>
ModuleNotFoundError: No module named 'tasks'
"""


@pytest.fixture
def idle(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> Installation:
    """An installation whose deployment no worker looks at."""
    name = f"idle-{uuid4().hex[:8]}"
    monkeypatch.setattr(prefect_runs, "DEPLOYMENT", f"handle-request/{name}")
    flow = post(installation, "/flows/", {"name": "handle-request"})
    post(installation, "/deployments/", {"name": name, "flow_id": flow["id"]})
    installation.add_ticket("t-1")
    return installation


def post(installation: Installation, path: str, body: dict[str, Any]) -> Any:
    return installation.api.post(path, json=body).raise_for_status().json()


def submitted(idle: Installation, request_id: str) -> tuple[str, PrefectRun]:
    """A request that waits for a worker, and its run."""
    workflow, run = idle.submit("t-1", request_id)
    return workflow, PrefectRun(idle.api, run)


def died(run: PrefectRun, message: str, state: str = "FAILED") -> None:
    """What a run's process or its worker tells Prefect at its end."""
    assert run.set_state(state, message) == "ACCEPT"


def test_a_request_that_waits_for_a_worker_says_so(idle: Installation) -> None:
    workflow, run = submitted(idle, str(uuid4()))

    said = idle.command("status", workflow)

    assert (said.code, said.err) == (0, "")
    assert f"{workflow} has not begun: its run is Scheduled." in said.out
    assert idle.command("status", workflow, "--json").document["flow_run_id"] == run.id


@pytest.mark.parametrize(
    ("message", "told"),
    (
        (DIED, DIED),
        (TRACE, "ModuleNotFoundError: No module named 'tasks'."),
    ),
    ids=("ledger", "import"),
)
def test_a_run_that_ended_before_it_began_tells_why_and_is_put_back_to_work(
    idle: Installation, message: str, told: str
) -> None:
    workflow, run = submitted(idle, str(uuid4()))
    died(run, message)

    said = idle.command("status", workflow).out
    resumed = idle.command("resume", workflow, "--json")

    assert f"{workflow} did not begin: " in said and told in said
    assert f"Put it back to work: placet resume {workflow}" in said
    assert (resumed.code, resumed.document["flow_run_id"]) == (0, run.id)
    assert run.state_type() == "SCHEDULED"


def test_the_same_request_again_starts_a_run_that_died_before_it_began(
    idle: Installation,
) -> None:
    name = str(uuid4())
    workflow, run = submitted(idle, name)
    died(run, DIED, "CRASHED")
    file = idle.write_request("t-1")

    again = ("submit", "support_email", file, "--request-id", name)
    said = idle.command(*again).out

    assert f"It did not begin before (Crashed: {DIED})." in said
    assert workflow in said and run.id in said
    assert run.state_type() == "SCHEDULED"


def test_the_same_request_again_says_that_it_has_begun(idle: Installation) -> None:
    name = str(uuid4())
    opening.open_session(idle.services, "support_email", {"ticket_id": "t-1"}, name)
    file = idle.write_request("t-1")

    said = idle.command("submit", "support_email", file, "--request-id", name)

    assert said.code == 0
    assert "It was submitted before, and is running." in said.out


def test_a_request_that_neither_ledger_nor_prefect_knows_is_not_found(
    idle: Installation,
) -> None:
    for command in ("status", "resume"):
        said = idle.command(command, workflow_id("never submitted"))
        assert said.code == 4
        assert "Prefect knows of no run for it either." in said.err


def test_what_is_about_to_begin_is_left_alone(idle: Installation) -> None:
    workflow, run = submitted(idle, str(uuid4()))
    died(run, "", "RUNNING")

    said = idle.command("resume", workflow, "--json")

    assert (said.code, said.document["error"]["code"]) == (5, "lease_held")
    assert run.state_type() == "RUNNING"


def test_what_never_begins_is_begun_again_as_it_is_told(idle: Installation) -> None:
    """W4: each command of the hint works as it stands."""
    workflow, run = submitted(idle, str(uuid4()))
    died(run, "", "RUNNING")
    hint = idle.command("resume", workflow, "--json").document["error"]["hint"]
    cancel = f"prefect flow-run cancel {run.id}"
    assert hint.endswith(f"{cancel}, and then placet resume {workflow}.")

    assert idle.start_module(*cancel.split()).wait() == 0
    assert idle.command("resume", workflow).code == 0
    assert run.state_type() == "SCHEDULED"


def test_the_status_of_a_request_whose_run_has_failed_tells_the_runs_message(
    idle: Installation,
) -> None:
    name = str(uuid4())
    workflow, run = submitted(idle, name)
    request = {"ticket_id": "t-1"}
    opening.open_session(
        idle.services, "support_email", request, name, flow_run_id=run.id, deployed=True
    )
    died(run, DIED)

    assert f"Its run is Failed: {DIED}" in idle.command("status", workflow).out
    assert idle.command("resume", workflow).code == 0
    assert "it waits for a worker" in idle.command("status", workflow).out


def test_a_local_run_that_is_just_starting_waits_for_no_worker(
    idle: Installation,
) -> None:
    name = str(uuid4())
    given = {
        "domain": "support_email",
        "request": {"ticket_id": "t-1"},
        "request_id": name,
    }
    flow = post(idle, "/flows/", {"name": "handle-request"})["id"]
    begun = {"flow_id": flow, "parameters": given, "state": {"type": "PENDING"}}
    post(idle, "/flow_runs/", begun)
    workflow = workflow_id(name)

    said = idle.command("status", workflow).out

    assert f"{workflow} is about to begin: its run is Pending." in said
    assert "worker" not in said
    assert f"placet resume {workflow}" in said
