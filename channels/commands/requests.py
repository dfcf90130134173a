"""`placet submit`, `status` and `resume`."""

from pathlib import Path
from typing import Annotated, Any, cast

from cyclopts import Parameter

from blocks import prefect_runs
from blocks.ledger import sessions
from blocks.settings import load_settings
from channels import output
from channels.commands.common import JsonFlag, read_json_file, service
from channels.local_run import prefect_api, run_here
from channels.service import Service
from policies.value import Json
from tasks import opening


def submit(
    domain: str,
    request: Path,
    *,
    request_id: str | None = None,
    local: Annotated[bool, Parameter(negative="")] = False,
    json: JsonFlag = False,
) -> int:
    """Start a request; prints workflow and flow run.

    Parameters
    ----------
    request
        A JSON file with the domain's request.
    request_id
        The same id is the same request, however often it is submitted.
    local
        Carry it in this process, without a deployment, until it ends.
    """
    serving = service()
    body = read_json_file(request)
    if local:
        return _submit_here(serving, domain, body, request_id, json)
    workflow, run = serving.submit(domain, body, request_id)
    _tell(workflow, run, json)
    return 0


def status(workflow: str, *, json: JsonFlag = False) -> None:
    """Where a request is and what it waits for."""
    found = service().status(workflow)
    if json:
        output.document(found)
        return
    output.say(f"{found['workflow_id']} is {found['status']}.")
    if found["process"]:
        output.say(f"Worked on by {found['process']}, flow run {found['flow_run_id']}.")
    elif found["status"] in ("running", "waiting"):
        if found["pause"] == "suspended":
            output.say("Suspended: no process is held; a verdict wakes it.")
        else:
            output.say("Nobody works on it now: its process has ended.")
        output.say(f"If it does not go on: placet resume {found['workflow_id']}")
    rows = [
        (i["item"], i["action_type"], i["state"], f"v{i['version']}", i["risk"])
        for i in found["items"]
    ]
    if rows:
        output.table("Items", ("item", "action", "state", "version", "risk"), rows)
    for question in found["questions"]:
        output.say(f"Waits for an answer to {question['id']}: {question['question']}")
    for done in found["executions"]:
        output.say(f"  {done['action']} {done['outcome']}: {done['detail']}")
    for reason in found["closing"]:
        output.say(f"  {reason}")


def resume(workflow: str, *, json: JsonFlag = False) -> int:
    """Put a request whose process died back to work.

    With a deployment its run is scheduled again; otherwise it is carried on here until
    it ends.
    """
    serving = service()
    session = serving.to_resume(workflow)
    if session.deployed and session.flow_run_id is not None:
        state = prefect_runs.reschedule(session.flow_run_id)
        _tell(workflow, session.flow_run_id, json, state=state)
        return 0
    with serving.services.ledger.read() as tx:
        body = sessions.load_state(tx, workflow).request
    return _submit_here(serving, session.domain, body, session.request_id, json)


def _submit_here(
    serving: Service, domain: str, body: Json, request_id: str | None, json: bool
) -> int:
    # What cannot run is refused before a server is started for it.
    request = opening.read_request(domain, body).model_dump(mode="json")
    if request_id is not None:
        opening.check_request_id(request_id)
        with serving.services.ledger.read() as tx:
            sessions.check_same(tx, request_id, domain, request)
    opening.check_services(serving.services, domain)

    def started(run: str) -> None:
        _tell(sessions.workflow_id(request_id or run), run, json)

    with prefect_api(load_settings()):
        message, failed = run_here(
            domain, cast("dict[str, Json]", request), request_id, started
        )
    output.warn(message)
    return 1 if failed else 0


def _tell(workflow: str, run: str, as_json: bool, **more: Any) -> None:
    if as_json:
        output.document({"workflow_id": workflow, "flow_run_id": run, **more})
        return
    output.say(f"workflow_id  {workflow}")
    output.say(f"flow_run_id  {run}")
    for name, value in more.items():
        output.say(f"{name:<12} {value}")
