"""Where a request is: as the ledger tells it, and before it has begun as Prefect does.

A request is known to the ledger from the moment its run opens its session. Before, and
if the run dies before, Prefect alone knows of it.
"""

from typing import Any

from blocks import prefect_runs
from blocks.ledger import audit, freezes, items, questions, results, sessions
from blocks.ledger.freezes import Freeze
from blocks.ledger.items import Item
from blocks.ledger.results import Standing
from blocks.ledger.rounds import PauseRow, last_pause
from blocks.ledger.sessions import Session
from blocks.prefect_runs import FlowRun
from channels.frozen import over_request
from channels.local_run import use_running_server
from policies import lifecycle
from policies.errors import NotFound, PlacetError
from policies.interaction import Interaction
from policies.state import RequestState
from policies.value import Value
from tasks import unsettled
from tasks.services import Services
from tasks.unsettled import Outcome

NOT_BEGUN = "not_begun"


class _Rows(Value):
    """What the ledger knows of a request, read in one transaction."""

    session: Session
    state: RequestState
    items: tuple[Item, ...]
    questions: tuple[Interaction, ...]
    pause: PauseRow | None
    freezes: tuple[Freeze, ...]
    executions: tuple[Standing, ...]
    live: bool
    """Whether a process holds the request's lease."""


def status(services: Services, workflow: str) -> dict[str, Any]:
    """Where a request is and what it waits for; `NotFound` where no run is known."""
    try:
        rows = _read(services, workflow)
    except NotFound as unknown:
        return _before_it_began(workflow, _find(services, workflow, unknown))
    session, live = rows.session, rows.live
    run = None if live or not session.is_open else run_of(services, session)
    lost = unsettled.of_workflow(services, workflow)
    return {
        "workflow_id": session.workflow,
        "request_id": session.request_id,
        "domain": session.domain,
        "tenant": session.tenant,
        "status": session.status,
        "checkpoint": session.pending.checkpoint if session.pending else None,
        "interrupt": session.pending.interrupt if session.pending else None,
        "flow_run_id": session.flow_run_id,
        "run": run and _run(run),
        "process": session.lease_owner if live else None,
        "pause": rows.pause.kind if rows.pause and session.pending else None,
        "completed_steps": list(rows.state.completed_steps),
        "frozen": [f.model_dump(mode="json") for f in _frozen(rows)],
        "items": [_item_line(item) for item in rows.items],
        "questions": [q.model_dump(mode="json") for q in rows.questions],
        "executions": [e.model_dump(mode="json") for e in rows.executions],
        "outcomes": [o.model_dump(mode="json") for o in lost],
        "closing": list(session.closing),
    }


def not_begun(services: Services, workflow: str) -> FlowRun | None:
    """The run of a request that the ledger does not know; None if it knows it.

    `NotFound` where Prefect knows of none either, or cannot be asked.
    """
    try:
        with services.ledger.read() as tx:
            sessions.load(tx, workflow)
    except NotFound as unknown:
        return _find(services, workflow, unknown)
    return None


def what_is_left(services: Services, session: Session) -> str:
    """What can still be done about a request that is closed."""
    lost = unsettled.of_workflow(services, session.workflow)
    if lost and session.status == "unknown":
        return _how_to_settle(lost[0])
    return f"`placet status {session.workflow}` tells how it ended."


def _how_to_settle(lost: Outcome) -> str:
    happened, _ = unsettled.commands(lost)
    command = f"{happened} (or not-happened). Then it goes on."
    if lost.settled_by == "provider":
        again = unsettled.asked_again(lost)
        return (
            f"Whether {lost.action_type} happened is not known: {again}. Whoever knows "
            f"better records it: {command}"
        )
    return f"Find out whether {lost.action_type} happened, and record that: {command}"


def run_of(services: Services, session: Session) -> FlowRun | None:
    """The run that carries a session, or did last; None where Prefect cannot tell."""
    if session.flow_run_id is None:
        return None
    if not session.deployed:
        use_running_server(services.settings)
    try:
        return prefect_runs.read_run(session.flow_run_id)
    except PlacetError:
        return None


def _read(services: Services, workflow: str) -> _Rows:
    with services.ledger.read() as tx:
        session = sessions.load(tx, workflow)
        until = session.lease_until
        return _Rows(
            session=session,
            state=sessions.load_state(tx, workflow),
            items=items.of_workflow(tx, workflow),
            questions=questions.pending(tx, workflow),
            pause=last_pause(tx, workflow),
            freezes=freezes.standing(tx),
            executions=results.standing(tx, workflow),
            live=until is not None and until > tx.now,
        )


def _frozen(rows: _Rows) -> tuple[Freeze, ...]:
    if not rows.session.is_open:
        return ()
    return over_request(rows.freezes, rows.session.tenant, rows.items)


def _find(services: Services, workflow: str, unknown: NotFound) -> FlowRun:
    use_running_server(services.settings)
    try:
        run = prefect_runs.find_run(workflow)
    except PlacetError as error:
        words = f"Prefect, which may know of it, could not be asked: {error.message}"
        raise NotFound(unknown.message, hint=words) from error
    if run is None:
        raise NotFound(
            unknown.message, hint="Prefect knows of no run for it either."
        ) from unknown
    return run


def _before_it_began(workflow: str, run: FlowRun) -> dict[str, Any]:
    return {
        "workflow_id": workflow,
        "request_id": run.request_id,
        "domain": run.parameters.get("domain"),
        "tenant": None,
        "status": NOT_BEGUN,
        "checkpoint": None,
        "interrupt": None,
        "flow_run_id": run.id,
        "run": _run(run),
        "process": None,
        "pause": None,
        "completed_steps": [],
        "frozen": [],
        "items": [],
        "questions": [],
        "executions": [],
        "outcomes": [],
        "closing": [],
    }


def _run(run: FlowRun) -> dict[str, Any]:
    told = run.model_dump(include={"state", "message", "is_over"})
    # One without a deployment is begun by the process that made it.
    return {**told, "waits_for_worker": run.waits_for_worker and run.deployed}


def _item_line(item: Item) -> dict[str, Any]:
    return {
        "item": item.id,
        "action": item.action,
        "action_type": item.action_type,
        "state": item.state,
        "decision_state": lifecycle.decision_state(item.state),
        "version": item.version,
        "risk": item.risk_level,
        "deadline": audit.stamp(item.deadline),
        "expires_at": audit.stamp(item.expires_at) if item.expires_at else None,
        "held": list(item.held),
    }
