"""`placet submit`, `status` and `resume`."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from blocks import prefect_runs
from blocks.ledger import sessions
from blocks.ledger.freezes import Freeze
from blocks.prefect_runs import FlowRun
from blocks.settings import load_settings
from channels import naming, outcomes, output
from channels.commands.common import JsonFlag, read_json_file, service
from channels.local_run import prefect_api, run_here
from channels.local_watch import LocalWatch, tell_ended, tell_stopped
from channels.service import Service
from channels.starting import Submitted
from channels.stopping import ended_by_signals, status_of
from channels.whereabouts import NOT_BEGUN
from policies import lifecycle
from policies.errors import Conflict
from policies.state import OPEN_STATUS
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
    domain
        The name of a registered domain.
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
    submitted = serving.submit(domain, body, request_id)
    if json:
        output.document(submitted)
        return 0
    _tell_ids(submitted.workflow_id, submitted.flow_run_id)
    _tell_earlier(submitted)
    return 0


def status(workflow: str, *, json: JsonFlag = False) -> None:
    """Where a request is and what it waits for.

    Parameters
    ----------
    workflow
        The request's workflow id.
    """
    serving = service()
    found = serving.status(naming.request(serving.services, workflow).workflow)
    if json:
        output.document(found)
        return
    if found["status"] == NOT_BEGUN:
        _tell_unbegun(found)
        return
    workflow = found["workflow_id"]
    output.say(f"{workflow} is {found['status']}.")
    if found["process"]:
        output.say(f"Worked on by {found['process']}, flow run {found['flow_run_id']}.")
    elif found["status"] in OPEN_STATUS:
        _tell_unattended(found)
    for freeze in found["frozen"]:
        output.say(f"{Freeze.model_validate(freeze).told}.")
    for item in found["items"]:
        words = (item["state"], f"v{item['version']}", f"{item['risk']} risk")
        output.entry("approval", item["item"], *words, details=[item["action_type"]])
        if item["state"] in lifecycle.OPEN:
            output.command(f"placet review {item['item']} --as YOU")
    for question in found["questions"]:
        output.say(f"Waits for an answer to {question['id']}: {question['question']}")
        output.command(f"placet answer {workflow} {question['id']} VALUE --as YOU")
    outcomes.tell_all(found)
    for reason in found["closing"]:
        output.say(f"  {reason}")


def resume(workflow: str, *, json: JsonFlag = False) -> int:
    """Put a request whose process died back to work.

    With a deployment its run is scheduled again; otherwise it is carried on here until
    it ends.

    Parameters
    ----------
    workflow
        The request's workflow id.
    """
    serving = service()
    workflow = naming.request(serving.services, workflow).workflow
    unbegun = serving.not_begun(workflow)
    if unbegun is not None:
        return _begin_again(serving, workflow, unbegun, json)
    session = serving.to_resume(workflow)
    if session.deployed and session.flow_run_id is not None:
        state = prefect_runs.put_back(workflow, session.flow_run_id)
        return _tell_rescheduled(workflow, session.flow_run_id, state, json)
    with serving.services.ledger.read() as tx:
        body = sessions.load_state(tx, workflow).request
    return _submit_here(serving, session.domain, body, session.request_id, json)


def _begin_again(serving: Service, workflow: str, run: FlowRun, json: bool) -> int:
    if run.is_running:
        raise Conflict(
            f"{workflow} is about to begin: its run is {run.state}.",
            code="lease_held",
            hint=f"If its process is dead: prefect flow-run cancel {run.id}, and then "
            f"placet resume {workflow}.",
        )
    if run.deployed:
        state = prefect_runs.reschedule(run.id)
        return _tell_rescheduled(workflow, run.id, state, json)
    given = run.parameters
    return _submit_here(
        serving, given["domain"], given["request"], run.request_id, json
    )


def _tell_rescheduled(workflow: str, run: str, state: str, json: bool) -> int:
    if json:
        output.document({"workflow_id": workflow, "flow_run_id": run, "state": state})
        return 0
    _tell_ids(workflow, run)
    output.say(f"Its run is {state}: a worker takes it.")
    output.say(f"`placet status {workflow}` tells how it goes on.")
    return 0


def _submit_here(
    serving: Service, domain: str, body: Json, request_id: str | None, json: bool
) -> int:
    # What cannot run is refused before a server is started for it.
    request = serving.check(domain, body, request_id)
    opening.check_services(serving.services, domain)
    workflow = ""
    with ended_by_signals(), ExitStack() as parts:
        try:
            api_url = parts.enter_context(prefect_api(load_settings()))

            def started(run: str) -> None:
                nonlocal workflow
                workflow = sessions.workflow_id(request_id or run)
                _tell_started(serving, workflow, run, json)
                parts.enter_context(LocalWatch(serving, workflow, api_url))

            message, failed = run_here(domain, request, request_id, started)
        except (KeyboardInterrupt, SystemExit) as stop:
            parts.close()
            _tell_stopped(serving, workflow)
            return status_of(stop)
    output.warn(message)
    tell_ended(serving, workflow)
    return 1 if failed else 0


def _tell_started(serving: Service, workflow: str, run: str, json: bool) -> None:
    started = Submitted(
        workflow_id=workflow,
        flow_run_id=run,
        status=serving.status_word(workflow),
        restarted_after=None,
    )
    if json:
        output.document(started)
    else:
        _tell_ids(workflow, run)


def _tell_stopped(serving: Service, workflow: str) -> None:
    output.warn("placet: stopped.")
    if not workflow or serving.status_word(workflow) is None:
        output.warn("It had not begun: nothing was done. Submit it again.")
        return
    tell_stopped(serving, workflow)


def _tell_ids(workflow: str, run: str) -> None:
    output.say(f"workflow_id  {workflow}")
    output.say(f"flow_run_id  {run}")


def _tell_earlier(submitted: Submitted) -> None:
    workflow = submitted.workflow_id
    if submitted.restarted_after is not None:
        output.say(f"It did not begin before ({submitted.restarted_after}).")
        output.say("Its run is scheduled again.")
    elif submitted.status is not None:
        output.say(f"It was submitted before, and is {submitted.status}.")
        output.say(f"`placet status {workflow}` tells more.")


def _tell_unbegun(found: dict[str, Any]) -> None:
    workflow, run = found["workflow_id"], found["run"]
    if run["is_over"]:
        words = run["message"] or f"its run is {run['state']}"
        output.say(f"{workflow} did not begin: {words.removesuffix('.')}.")
        output.say(f"Put it back to work: placet resume {workflow}")
    elif run["waits_for_worker"]:
        output.say(f"{workflow} has not begun: its run is {run['state']}.")
        output.say("It waits for a worker: prefect worker start --pool placet")
    else:
        output.say(f"{workflow} is about to begin: its run is {run['state']}.")
        output.say(f"If it does not: placet resume {workflow}")


def _tell_unattended(found: dict[str, Any]) -> None:
    run = found["run"]
    if run and run["waits_for_worker"]:
        output.say(f"Its run is {run['state']}: it waits for a worker.")
    elif found["pause"] == "suspended":
        output.say("Suspended: no process is held; a verdict wakes it.")
    else:
        output.say("Nobody works on it now: its process has ended.")
    if run and run["is_over"]:
        output.say(
            f"Its run is {run['state']}: {run['message'] or 'no reason is told'}"
        )
    output.say(f"If it does not go on: placet resume {found['workflow_id']}")
