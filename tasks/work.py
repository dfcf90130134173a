"""A request being worked on: what a step is given, and how it leaves its result."""

from datetime import datetime, timedelta
from typing import Any

from blocks.artifacts import StoredArtifact
from blocks.ledger import (
    audit,
    cancelling,
    claims,
    items,
    proposals,
    questions,
    sessions,
)
from blocks.ledger.claims import Claim
from blocks.ledger.database import Transaction
from blocks.ledger.items import Item
from blocks.ledger.sessions import Held, Session
from blocks.recovery import Point, reach
from policies.guard import ReasonCode
from policies.lifecycle import State
from policies.state import ItemView, RequestState, Step, View
from policies.value import Json, Value
from tasks.services import Services

_RESERVED: ReasonCode = "resource_reserved"
_LOOK_AGAIN = timedelta(seconds=5)


class Work(Value):
    """A session under our lease, with its results as of the last write."""

    held: Held
    session: Session
    state: RequestState

    @property
    def workflow(self) -> str:
        """The session's id."""
        return self.session.workflow


def reload(services: Services, held: Held) -> Work:
    """The session as it stands in the ledger."""
    with services.ledger.read() as tx:
        return read(tx, held)


def read(tx: Transaction, held: Held) -> Work:
    """The session as it stands in this transaction."""
    return Work(
        held=held,
        session=sessions.load(tx, held.workflow),
        state=sessions.load_state(tx, held.workflow),
    )


def view(tx: Transaction, work: Work, found: tuple[Item, ...] | None = None) -> View:
    """Everything that a decision may look at; `found` are its items, if read before."""
    present = items.of_workflow(tx, work.workflow) if found is None else found
    return View(
        workflow=work.workflow,
        tenant=work.session.tenant,
        requested_by=work.session.requested_by,
        state=work.state,
        items=tuple(_item_view(tx, item) for item in present),
        answers=questions.settled(tx, work.workflow),
    )


def _item_view(tx: Transaction, item: Item) -> ItemView:
    if _RESERVED in item.held:
        # Nobody tells us when the other operation is over.
        again = tx.now + _LOOK_AGAIN
        return item.view.model_copy(update={"busy_until": again})
    if item.state not in (State.EXECUTION_CLAIMED, State.RETRY_READY):
        return item.view
    last = claims.of_item(tx, item.id)[-1]
    until = _busy_until(last)
    if until is None or until <= tx.now:
        return item.view
    return item.view.model_copy(update={"busy_until": until})


def _busy_until(claim: Claim) -> datetime | None:
    """An unsent claim is ours to take: its holder has lost the session to us."""
    if claim.state == "retry_ready":
        return claim.due_at
    return claim.lease_until if claim.state == "dispatched" else None


def read_view(services: Services, work: Work) -> View:
    """As `view`, in a transaction of its own."""
    with services.ledger.read() as tx:
        return view(tx, work)


class Made(Value):
    """What a domain's tool made: a part of the state, and the artifacts behind it."""

    result: dict[str, Json]
    artifacts: tuple[StoredArtifact, ...] = ()


def save_in(tx: Transaction, work: Work, **results: Any) -> Work:
    """Save results under the lease; the revision moves on."""
    state = work.state.model_copy(update=results)
    held = sessions.save_state(tx, work.held, state)
    return work.model_copy(update={"held": held, "state": state})


def stop(services: Services, work: Work, step: Step, why: str) -> Work:
    """End a request that cannot go on: nothing that was asked of it is executed."""
    with services.ledger.write() as tx:
        cancelling.cancel(tx, work.workflow, "system", why)
        stopped: dict[str, Json] = {"step": step, "why": why}
        saved = save_in(tx, work, analysis={"stopped": stopped})
    reach(Point.STEP_SAVED)
    return saved


def complete(
    services: Services,
    work: Work,
    step: Step,
    artifacts: tuple[StoredArtifact, ...] = (),
    **results: Any,
) -> Work:
    """Save a step's results and that it is done, in one transaction."""
    done = tuple(dict.fromkeys((*work.state.completed_steps, step)))
    with services.ledger.write() as tx:
        for artifact in artifacts:
            proposals.record_artifact(tx, artifact)
        saved = save_in(tx, work, completed_steps=done, **results)
        audit.append(
            tx, work.workflow, "step_completed", step=step, results=sorted(results)
        )
    reach(Point.STEP_SAVED)
    return saved
