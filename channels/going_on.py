"""Going on with a request by hand: its run is looked at first.

A request whose run was cancelled in Prefect is never gone on with. One whose run has
no deployment, or is not there any more, is carried on where the command runs.
"""

from blocks import prefect_runs
from blocks.ledger import sessions
from blocks.ledger.sessions import Session
from blocks.prefect_runs import FlowRun, Woken
from channels.local_run import use_running_server
from policies.errors import PlacetError
from tasks.services import Services


def as_its_run_allows(services: Services, session: Session) -> Session:
    """The session, `deployed` as far as a worker can go on with it.

    `Conflict` (run_cancelled) if its run was cancelled; `Unavailable` where Prefect
    cannot tell and a worker would have to go on.
    """
    run = _run_of(services, session)
    if run is not None and run.is_cancelled:
        raise prefect_runs.called_off(session.workflow)
    deployed = session.deployed and run is not None and run.deployed
    return session.model_copy(update={"deployed": deployed})


def go_on(services: Services, workflow: str) -> Woken:
    """Have a request whose run had ended run again, where a worker can.

    One that a process holds, which waits for another item's verdict, say, is left to
    it. One whose run was cancelled ends here, with what happened by then.
    """
    with services.ledger.read() as tx:
        session = sessions.load(tx, workflow)
        live = session.lease_until is not None and session.lease_until > tx.now
    by_hand = f"go on with: placet resume {workflow}"
    if not session.is_open:
        return Woken(state="not waiting", detail=f"the request is {session.status}")
    if live:
        detail = f"{session.lease_owner} works on it and comes to this by itself"
        return Woken(state="not waiting", detail=detail)
    try:
        session = as_its_run_allows(services, session)
        if not session.deployed or session.flow_run_id is None:
            return Woken(state="dead", detail=by_hand)
        state = prefect_runs.put_back(workflow, session.flow_run_id)
    except PlacetError as error:
        if error.code == "run_cancelled":
            return _give_up(services, workflow)
        return Woken(state="unreachable", detail=f"{error.message} Then {by_hand}")
    return Woken(state="woken", detail=f"the run is {state}")


def _give_up(services: Services, workflow: str) -> Woken:
    """Its run was cancelled: what is not done by now is not done any more."""
    # Prefect, which this imports, reads its settings once: not before they are made.
    from tasks import cancelling

    ended = cancelling.cancel_unattended(services, workflow, "system")
    then = f"the request ended as {ended}" if ended else "the supervisor ends it"
    return Woken(state="cancelled", detail=f"{cancelling.WHY} in Prefect: {then}")


def _run_of(services: Services, session: Session) -> FlowRun | None:
    """Its run; None where there is none, and where it may be on no server any more."""
    if session.flow_run_id is None:
        return None
    use_running_server(services.settings)
    try:
        return prefect_runs.read_run(session.flow_run_id)
    except PlacetError:
        if session.deployed:
            raise
        return None
