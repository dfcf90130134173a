"""An installation whose requests are carried by a real worker of a process pool."""

from __future__ import annotations

import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.acceptance.eventually import eventually
from tests.acceptance.installation import Installation
from tests.acceptance.prefect_form import Form, PrefectRun
from tests.acceptance.processes import Process, send

ROOT = Path(__file__).parents[2]
POOL = "placet"
DEPLOYMENT = "handle-request/default"
SUPERVISOR = "supervise/every-30s"


def deploy(installation: Installation) -> None:
    """What the head of prefect.yaml tells people to do, once."""
    _prefect(installation, "work-pool", "create", POOL, "--type", "process")
    _prefect(installation, "--no-prompt", "deploy", "--all")
    # Tests take the supervisor's turns themselves, each when it wants one.
    found = installation.api.get(f"/deployments/name/{SUPERVISOR}").json()
    path = f"/deployments/{found['id']}/pause_deployment"
    installation.api.post(path).raise_for_status()


def start_worker(installation: Installation) -> Process:
    """`prefect worker start`, far from the project, once it is online."""
    worker = installation.start_module(
        "prefect",
        *("worker", "start", "--pool", POOL),
        name="worker",
        PREFECT_WORKER_QUERY_SECONDS="1",
    )
    eventually(lambda: _is_online(installation))
    return worker


def start_run(
    installation: Installation, ticket: str, env: dict[str, str], **more: Any
) -> PrefectRun:
    """A run as the UI makes one, with settings of its own for its process."""
    request = {"ticket_id": ticket}
    body = {
        "parameters": {"domain": "support_email", "request": request, **more},
        "job_variables": {"env": env},
    }
    deployment = read_deployment(installation)["id"]
    made = installation.api.post(
        f"/deployments/{deployment}/create_flow_run", json=body
    )
    return PrefectRun(installation.api, made.raise_for_status().json()["id"])


def submitted(installation: Installation, ticket: str) -> tuple[str, Form, int]:
    """A request that waits at its form, and the worker's process that carries it."""
    installation.add_ticket(ticket)
    workflow, _ = installation.submit(ticket, ticket)
    form = installation.wait_until_asked(workflow)
    process = installation.holder(workflow)
    assert process is not None
    return workflow, form, process


def crashed(installation: Installation, ticket: str) -> tuple[str, PrefectRun]:
    """A request whose process was killed at its form; Prefect has noticed it."""
    workflow, _, process = submitted(installation, ticket)
    send(process, signal.SIGKILL)
    run = installation.run_of(workflow)
    run.wait_for("Crashed")
    return workflow, run


def supervise(installation: Installation) -> PrefectRun:
    """A turn of the scheduled supervisor, by the worker."""
    deployment = read_deployment(installation, SUPERVISOR)["id"]
    path = f"/deployments/{deployment}/create_flow_run"
    made = installation.api.post(path, json={}).raise_for_status().json()
    return PrefectRun(installation.api, made["id"])


def read_deployment(
    installation: Installation, name: str = DEPLOYMENT
) -> dict[str, Any]:
    """The deployment as Prefect has it."""
    answer = installation.api.get(f"/deployments/name/{name}")
    found: dict[str, Any] = answer.raise_for_status().json()
    return found


def schedule_runs(installation: Installation, ticket: str, number: int) -> None:
    """A schedule of so many runs, two seconds apart, that begins at once."""
    # Prefect's scheduler looks at changed deployments every five seconds.
    first = datetime.now(UTC) + timedelta(seconds=7)
    rule = f"DTSTART:{first:%Y%m%dT%H%M%SZ}\nRRULE:FREQ=SECONDLY;INTERVAL=2"
    schedule = {
        "schedule": {"rrule": f"{rule};COUNT={number}", "timezone": "UTC"},
        "parameters": {"domain": "support_email", "request": {"ticket_id": ticket}},
    }
    deployment = read_deployment(installation)["id"]
    changed = {"schedules": [schedule]}
    path = f"/deployments/{deployment}"
    installation.api.patch(path, json=changed).raise_for_status()


def scheduled_runs(installation: Installation, number: int) -> list[PrefectRun]:
    """The runs that schedules have made; none until there are so many."""
    wanted = {"flow_runs": {"tags": {"all_": ["auto-scheduled"]}}}
    found = installation.api.post("/flow_runs/filter", json=wanted).json()
    runs = [PrefectRun(installation.api, row["id"]) for row in found]
    return runs if len(runs) == number else []


def register_blocks(installation: Installation) -> set[str]:
    """`prefect block register -m blocks`, from anywhere; the types that there are."""
    _prefect(installation, "block", "register", "-m", "blocks", cwd=installation.folder)
    found = installation.api.post("/block_types/filter", json={}).json()
    return {str(kind["slug"]) for kind in found}


def _prefect(installation: Installation, *tokens: str, cwd: Path = ROOT) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "prefect", *tokens],
        cwd=cwd,
        env=installation.env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _is_online(installation: Installation) -> bool:
    path = f"/work_pools/{POOL}/workers/filter"
    found = installation.api.post(path, json={}).json()
    return any(worker["status"] == "ONLINE" for worker in found)
