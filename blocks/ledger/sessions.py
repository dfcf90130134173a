"""Workflow sessions: leasing, saving and closing a request.

A session is written only by who holds its lease: each write repeats lease token and
revision in its WHERE, and a miss is `Superseded`, never an acknowledgement.
"""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import bindparam, select, update

from blocks.ledger import audit
from blocks.ledger.columns import setting, to_columns
from blocks.ledger.database import Transaction
from blocks.ledger.tables import DomainSession, WorkflowSession
from policies import canonical
from policies.decision import Decision
from policies.errors import NotFound, Superseded
from policies.idempotency import short_id
from policies.state import OPEN_STATUS, RequestState, SessionStatus
from policies.value import Value


class Held(Value):
    """The right to write a session: its lease's token, at its present revision."""

    workflow: str
    token: int
    revision: int


class Pending(Value):
    """The round that a session waits for.

    `checkpoint` is the session's revision when it was asked; `items` are pairs of item
    and version; `notice` is why the last answer was not accepted; `editing` is the
    item whose fields the next form shows.
    """

    interrupt: str
    checkpoint: int
    items: tuple[tuple[str, int], ...]
    questions: tuple[str, ...]
    notice: str = ""
    editing: str | None = None


class Session(Value):
    """A session as it stands."""

    workflow: str
    request_id: str
    domain: str
    tenant: str
    requested_by: str
    environment: str
    status: SessionStatus
    revision: int
    round: int
    pending: Pending | None
    lease_owner: str | None
    lease_token: int
    lease_until: datetime | None
    flow_run_id: str | None
    deployed: bool
    opened_at: datetime
    closing: tuple[str, ...]

    @property
    def is_open(self) -> bool:
        """Whether anything is still to be done."""
        return self.status in OPEN_STATUS


_BY_ID = select(WorkflowSession).where(WorkflowSession.id == bindparam("id"))
_LOCKED_BY_ID = _BY_ID.with_for_update()
_STATE = select(DomainSession.state).where(DomainSession.workflow == bindparam("of"))
_HOLDER = update(WorkflowSession).where(
    WorkflowSession.id == bindparam("of"),
    WorkflowSession.lease_token == bindparam("held_token"),
)
_RENEW = _HOLDER.values(lease_until=bindparam("until"))
_REQUIRE = _HOLDER.values(lease_token=WorkflowSession.lease_token)
_RELEASE = _HOLDER.values(lease_until=None, lease_owner=None)
_HELD = _HOLDER.where(WorkflowSession.revision == bindparam("held_revision"))
_REOPEN = (
    update(WorkflowSession)
    .where(WorkflowSession.id == bindparam("of"), WorkflowSession.status == "unknown")
    .values(status="running", closing=None, closed_at=None)
)
_SAVE_STATE = (
    update(DomainSession)
    .where(DomainSession.workflow == bindparam("of"))
    .values(state=bindparam("to_state"))
)


def workflow_id(request_id: str) -> str:
    """The id that a request has in every table; the same request, the same id."""
    hashed = canonical.digest("request", request_id.encode())
    return short_id("wf-", hashed)


def find(tx: Transaction, workflow: str) -> Any:
    """A session's row, or None."""
    return tx.one(_BY_ID, {"id": workflow})


def load(tx: Transaction, workflow: str, *, lock: bool = False) -> Session:
    """A session by its id, or `NotFound`; `lock` keeps others from taking its lease."""
    query = _LOCKED_BY_ID if lock and tx.locks_rows else _BY_ID
    row = tx.one(query, {"id": workflow})
    if row is None:
        raise NotFound(
            f"There is no workflow {workflow}.",
            hint="If it was submitted, no worker has begun it yet, or its run ended "
            "before it began: Prefect shows the run and why.",
        )
    return _session(row)


def load_state(tx: Transaction, workflow: str) -> RequestState:
    """The request's results so far."""
    found = tx.one(_STATE, {"of": workflow})
    if found is None:
        raise NotFound(f"There is no workflow {workflow}.")
    return RequestState.model_validate(found.state)


def acquire(
    tx: Transaction,
    workflow: str,
    owner: str,
    seconds: float,
    flow_run_id: str | None,
    *,
    deployed: bool = False,
) -> Held | None:
    """Take the lease with a higher token; None while another holder's is still live.

    A flow run that takes it carries the session from now on, with or without a
    deployment to come back by; without one the session stays with its run.
    """
    session = load(tx, workflow)
    if session.lease_until is not None and session.lease_until > tx.now:
        return None
    token = session.lease_token + 1
    seen = {"of": workflow, "held_token": session.lease_token}
    until = tx.now + timedelta(seconds=seconds)
    values: dict[str, Any] = {
        "lease_owner": owner,
        "lease_token": token,
        "lease_until": until,
    }
    if flow_run_id is not None:
        values |= {"flow_run_id": flow_run_id, "deployed": deployed}
    if not tx.wrote(setting(_HOLDER, *values), {**seen, **to_columns(values)}):
        return None
    if session.lease_until is not None:
        # It ran out while it was held. One that was given back has no end.
        audit.append(
            tx,
            workflow,
            "lease_taken_over",
            fencing_token=token,
            owner=owner,
            taken_from=session.lease_owner,
        )
    return Held(workflow=workflow, token=token, revision=session.revision)


def renew(tx: Transaction, workflow: str, token: int, seconds: float) -> None:
    """Keep the lease, or `Superseded` if a newer holder has it."""
    until = tx.now + timedelta(seconds=seconds)
    if not tx.wrote(_RENEW, {"of": workflow, "held_token": token, "until": until}):
        raise Superseded(f"Another process works on {workflow} now.")


def require(tx: Transaction, held: Held) -> None:
    """`Superseded` if a newer holder has the lease; nobody gets it before we end."""
    if not tx.wrote(_REQUIRE, {"of": held.workflow, "held_token": held.token}):
        raise Superseded(f"Another process works on {held.workflow} now.")


def release(tx: Transaction, workflow: str, token: int) -> None:
    """Give the lease back, if it is still ours: a suspended wait holds none."""
    tx.run(_RELEASE, {"of": workflow, "held_token": token})


def write(tx: Transaction, held: Held, **values: Any) -> Held:
    """Compare-and-set on the session; the new revision is in the result."""
    new = {"revision": held.revision + 1, **values}
    key = {
        "of": held.workflow,
        "held_token": held.token,
        "held_revision": held.revision,
    }
    if not tx.wrote(setting(_HELD, *new), {**key, **to_columns(new)}):
        raise Superseded(f"Another process works on {held.workflow} now.")
    return held.model_copy(update={"revision": held.revision + 1})


def save_state(tx: Transaction, held: Held, state: RequestState) -> Held:
    """Save the request's results under the lease."""
    moved = write(tx, held)
    body = state.model_dump(mode="json")
    tx.run(_SAVE_STATE, {"of": held.workflow, "to_state": body})
    return moved


def record_decision(
    tx: Transaction, held: Held, decision: Decision, *, chosen_by: str
) -> None:
    """Record what will be done next, and why, before it is done."""
    require(tx, held)
    audit.append(
        tx,
        held.workflow,
        "decision_made",
        decision=decision.kind,
        tool=getattr(decision, "tool", None),
        item=getattr(decision, "item", None),
        outcome=getattr(decision, "outcome", None),
        reasons=decision.reasons,
        chosen_by=chosen_by,
    )


def close(
    tx: Transaction, held: Held, status: SessionStatus, reasons: tuple[str, ...]
) -> Held:
    """End the session."""
    moved = write(
        tx,
        held,
        status=status,
        closing=list(reasons),
        pending=None,
        closed_at=tx.now,
    )
    audit.append(tx, held.workflow, "request_closed", status=status, reasons=reasons)
    return moved


def reopen(tx: Transaction, workflow: str, why: str) -> bool:
    """Let a request go on that had ended as unknown; False if it had not."""
    if not tx.wrote(_REOPEN, {"of": workflow}):
        return False
    audit.append(tx, workflow, "request_reopened", reason=why)
    return True


def _session(row: Any) -> Session:
    pending = row.pending and Pending.model_validate(row.pending)
    return Session(
        workflow=row.id,
        request_id=row.request_id,
        domain=row.domain,
        tenant=row.tenant,
        requested_by=row.requested_by,
        environment=row.environment,
        status=row.status,
        revision=row.revision,
        round=row.round,
        pending=pending,
        lease_owner=row.lease_owner,
        lease_token=row.lease_token,
        lease_until=row.lease_until,
        flow_run_id=row.flow_run_id,
        deployed=row.deployed,
        opened_at=row.opened_at,
        closing=tuple(row.closing or ()),
    )
