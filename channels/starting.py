"""Starting a request through its deployment: checked first, and once for each id."""

from blocks import prefect_runs
from blocks.ledger import openings, sessions
from policies.errors import NotFound
from policies.state import SessionStatus
from policies.value import Json, Value
from tasks import opening
from tasks.domains import find_domain
from tasks.services import Services


class Submitted(Value):
    """What was started, or was there already.

    `status` is that of a request which has begun before; `restarted_after` says how its
    run ended before it could.
    """

    workflow_id: str
    flow_run_id: str
    status: SessionStatus | None
    restarted_after: str | None


def submit(
    services: Services, domain: str, request: Json, request_id: str | None
) -> Submitted:
    """Start a request; a run that ended before it began is run again.

    What cannot run is never started.
    """
    body = check(services, domain, request, request_id)
    run = prefect_runs.start(domain, body, request_id)
    workflow = sessions.workflow_id(run.request_id)
    status = status_word(services, workflow)
    died = status is None and run.is_over
    if died:
        prefect_runs.reschedule(run.id)
    return Submitted(
        workflow_id=workflow,
        flow_run_id=run.id,
        status=status,
        restarted_after=run.why if died else None,
    )


def check(
    services: Services, domain: str, request: Json, request_id: str | None
) -> dict[str, Json]:
    """A request with its defaults, if it may be started here under this id.

    What the domain's tables must hold for it is asked once, before it begins.
    """
    read = opening.read_request(domain, request)
    body: dict[str, Json] = read.model_dump(mode="json")
    workflow = None
    if request_id is not None:
        workflow = sessions.workflow_id(opening.check_request_id(request_id))
    begun = workflow is not None and status_word(services, workflow) is not None
    with services.ledger.read() as tx:
        if request_id is not None:
            openings.check_same(tx, request_id, domain, body)
        if not begun:
            find_domain(domain).store.check_request(tx, body)
    return body


def status_word(services: Services, workflow: str) -> SessionStatus | None:
    """A request's status; None while it has not begun."""
    try:
        with services.ledger.read() as tx:
            return sessions.load(tx, workflow).status
    except NotFound:
        return None
