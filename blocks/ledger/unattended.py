"""What nobody works on: requests without a live lease, effects left half done.

Batches are bounded and go round: what was looked at last comes last, so that one bad
row never keeps the others from their turn.
"""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import and_, bindparam, or_, select, update
from sqlalchemy.sql.functions import coalesce

from blocks.ledger import audit, items, rounds, sessions
from blocks.ledger.database import Transaction
from blocks.ledger.effect_tables import ExecutionClaim, OutboxRow
from blocks.ledger.sessions import Session
from blocks.ledger.tables import Pause, WorkflowSession
from policies import lifecycle
from policies.attendance import Unattended
from policies.lifecycle import State
from policies.state import OPEN_STATUS
from policies.value import Value

_FREE = or_(
    WorkflowSession.lease_until.is_(None),
    WorkflowSession.lease_until <= bindparam("at"),
)
_REQUESTS = (
    select(WorkflowSession.id)
    .where(WorkflowSession.status.in_(OPEN_STATUS), _FREE)
    .order_by(WorkflowSession.looked_after_at.nulls_first(), WorkflowSession.id)
    .limit(bindparam("most"))
)
_EFFECTS = (
    select(
        ExecutionClaim.id,
        ExecutionClaim.workflow,
        ExecutionClaim.item,
        ExecutionClaim.token,
    )
    .join(WorkflowSession, WorkflowSession.id == ExecutionClaim.workflow)
    .where(
        _FREE,
        or_(
            and_(
                ExecutionClaim.state.in_(("claimed", "dispatched")),
                ExecutionClaim.lease_until <= bindparam("at"),
            ),
            ExecutionClaim.state.in_(("unknown", "retry_ready")),
        ),
        # Not put off, where it could not be brought further, nor due later. Nothing is
        # said of one whose outcome an older version had lost.
        or_(
            ExecutionClaim.due_at.is_(None),
            ExecutionClaim.due_at <= bindparam("at"),
        ),
    )
    .order_by(
        coalesce(ExecutionClaim.due_at, ExecutionClaim.lease_until), ExecutionClaim.id
    )
    .limit(bindparam("most"))
)
_PUT_OFF = (
    update(ExecutionClaim)
    .where(
        ExecutionClaim.id == bindparam("of"),
        ExecutionClaim.token == bindparam("held_token"),
    )
    .values(due_at=bindparam("until"))
)
_LOOKED_AT = (
    update(WorkflowSession)
    .where(WorkflowSession.id == bindparam("of"))
    .values(looked_after_at=bindparam("at"))
)
_COUNTS = select(
    WorkflowSession.restarts,
    WorkflowSession.restarted_at,
    WorkflowSession.restarted_revision,
).where(WorkflowSession.id == bindparam("of"))
_RESTARTED = (
    update(WorkflowSession)
    .where(WorkflowSession.id == bindparam("of"), _FREE)
    .values(
        restarted_at=bindparam("at"),
        restarted_revision=WorkflowSession.revision,
        restarts=bindparam("count"),
    )
)
_OWED = select(OutboxRow.id).where(
    OutboxRow.workflow == bindparam("workflow"),
    OutboxRow.kind == "wake",
    OutboxRow.state == "pending",
)


_UNREAD = (
    select(Pause.workflow, Pause.flow_run_id)
    .join(WorkflowSession, WorkflowSession.id == Pause.workflow)
    .where(Pause.state == "asked", WorkflowSession.status.not_in(OPEN_STATUS))
    .order_by(Pause.asked_at.desc())
    .limit(bindparam("most"))
)


class LeftOver(Value):
    """An effect whose process is gone, or whose outcome or retry is due."""

    claim: str
    workflow: str
    item: str
    token: int


def requests(tx: Transaction, most: int) -> tuple[Session, ...]:
    """Open requests that no process holds, those not looked at for longest first."""
    rows = tx.all(_REQUESTS, {"at": tx.now, "most": most})
    return tuple(sessions.load(tx, row.id) for row in rows)


def effects(tx: Transaction, most: int) -> tuple[LeftOver, ...]:
    """Effects that nobody brings further, the oldest first."""
    rows = tx.all(_EFFECTS, {"at": tx.now, "most": most})
    return tuple(
        LeftOver(claim=row.id, workflow=row.workflow, item=row.item, token=row.token)
        for row in rows
    )


def unread_forms(tx: Transaction, most: int) -> tuple[tuple[str, str], ...]:
    """Requests that ended with a form unread, each with its run; the newest first."""
    rows: Any = tx.all(_UNREAD, {"most": most})
    return tuple((row.workflow, row.flow_run_id) for row in rows)


def put_off(tx: Transaction, left: LeftOver, seconds: float) -> None:
    """Let others go first: this effect could not be brought further just now.

    Nothing happens to one that somebody has taken up meanwhile; no lease is touched.
    """
    until = tx.now + timedelta(seconds=seconds)
    tx.run(_PUT_OFF, {"of": left.claim, "held_token": left.token, "until": until})


def looked_at(tx: Transaction, workflow: str) -> None:
    """This request has had its turn."""
    tx.run(_LOOKED_AT, {"of": workflow, "at": tx.now})


def need(tx: Transaction, session: Session) -> Unattended:
    """What a decision about an unattended request needs to know of it."""
    row: Any = tx.run(_COUNTS, {"of": session.workflow}).one()
    moved_on = row.restarted_revision != session.revision
    return Unattended(
        deployed=session.deployed,
        owed=_is_owed(tx, session),
        restarts=0 if moved_on else row.restarts,
        restarted_at=None if moved_on else row.restarted_at,
    )


def note_restart(tx: Transaction, session: Session, told: Unattended) -> bool:
    """Count a restart; False if some process has the request by now."""
    values = {"of": session.workflow, "at": tx.now, "count": told.restarts + 1}
    if not tx.wrote(_RESTARTED, values):
        return False
    audit.append(
        tx,
        session.workflow,
        "request_restarted",
        actor="supervisor",
        flow_run=session.flow_run_id,
        attempt=told.restarts + 1,
    )
    return True


def _is_owed(tx: Transaction, session: Session) -> bool:
    """Something recorded was not taken up, or a deadline has passed unseen."""
    if tx.run(_OWED, {"workflow": session.workflow}).first() is not None:
        return True
    if session.pending is not None and rounds.standing(tx, session) != "open":
        return True
    ends = (_ends(item) for item in items.of_workflow(tx, session.workflow))
    return any(end is not None and end <= tx.now for end in ends)


def _ends(item: items.Item) -> datetime | None:
    if item.state in lifecycle.OPEN or item.state == State.REAPPROVAL_REQUIRED:
        return item.deadline
    return item.expires_at if item.state == State.APPROVED else None
