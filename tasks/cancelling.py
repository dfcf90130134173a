"""Ending a request whose run was cancelled in Prefect: nothing more is sent for it."""

from blocks.ledger import cancelling, items, sessions
from policies import lifecycle
from policies.lifecycle import State
from policies.state import SessionStatus
from tasks import executing, late_answers, opening
from tasks import work as working
from tasks.services import Services
from tasks.work import Work

WHY = "its run was cancelled"


def cancel_unattended(
    services: Services, workflow: str, actor: str
) -> SessionStatus | None:
    """As `cancel`, for a request that no process holds; None while one does."""
    work = opening.take_lease(services, workflow, None)
    if work is None:
        return None
    try:
        return cancel(services, work, actor)
    finally:
        opening.give_lease_back(services, work)


def cancel(services: Services, work: Work, actor: str) -> SessionStatus | None:
    """Cancel all that was asked for and is not done; how the request has ended.

    None while an effect is under way, which is brought to its end first. One whose
    outcome nobody can tell ends it as unknown.
    """
    late_answers.read_left(services, work.workflow)
    work = executing.fill_in(services, _as_it_is(services, work))
    with services.ledger.write() as tx:
        sessions.require(tx, work.held)
        cancelling.cancel(tx, work.workflow, actor, WHY)
        states = {item.state for item in items.of_workflow(tx, work.workflow)}
        if states - lifecycle.FINAL - {State.EXECUTION_UNKNOWN}:
            return None
        ended = _ended(states)
        sessions.close(tx, work.held, ended, (WHY,))
    return ended


def _as_it_is(services: Services, work: Work) -> Work:
    """Under the same lease, at the revision that the session has by now."""
    with services.ledger.read() as tx:
        revision = sessions.load(tx, work.workflow).revision
        held = work.held.model_copy(update={"revision": revision})
        return working.read(tx, held)


def _ended(states: set[State]) -> SessionStatus:
    """How a request ends whose run was cancelled: what was done stays done."""
    if State.EXECUTION_UNKNOWN in states:
        return "unknown"
    if State.EXECUTED in states:
        return "completed"
    return "failed" if State.FAILED in states else "cancelled"
