"""Effects of which nobody knows whether they happened, as a person must know of them.

Each waits until its provider tells, or a person who has looked there.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import and_, bindparam, select

from blocks.ledger import effects
from blocks.ledger.database import Transaction
from blocks.ledger.effect_tables import ExecutionClaim, OutboxRow
from blocks.ledger.tables import Item, WorkflowSession
from policies.value import Value

_UNKNOWN = (
    select(
        ExecutionClaim.id,
        ExecutionClaim.workflow,
        ExecutionClaim.item,
        ExecutionClaim.key,
        ExecutionClaim.version,
        ExecutionClaim.claimed_at,
        ExecutionClaim.dispatched_at,
        ExecutionClaim.due_at,
        Item.action,
        Item.action_type,
        Item.summary,
        WorkflowSession.domain,
        WorkflowSession.tenant,
        OutboxRow.envelope,
    )
    .join(Item, Item.id == ExecutionClaim.item)
    .join(WorkflowSession, WorkflowSession.id == ExecutionClaim.workflow)
    .outerjoin(
        OutboxRow,
        and_(OutboxRow.claim == ExecutionClaim.id, OutboxRow.kind == "effect"),
    )
    .where(ExecutionClaim.state == "unknown")
    .order_by(ExecutionClaim.dispatched_at, ExecutionClaim.id)
)
_OF_WORKFLOW = _UNKNOWN.where(ExecutionClaim.workflow == bindparam("workflow"))


class Unsettled(Value):
    """One effect whose outcome is not known.

    `since` is when it was sent. `recipient` and `provider_ref` are what finds it at
    its provider, as far as there are such things; `due_at` is when the provider is
    asked again.
    """

    workflow: str
    item: str
    action: str
    action_type: str
    summary: str
    domain: str
    tenant: str
    version: int
    operation: str
    provider_ref: str
    recipient: str | None
    detail: str
    since: datetime
    claimed_at: datetime
    due_at: datetime | None


def everywhere(tx: Transaction) -> tuple[Unsettled, ...]:
    """Every such effect, the oldest first."""
    return tuple(_read(tx, row) for row in tx.all(_UNKNOWN))


def of_workflow(tx: Transaction, workflow: str) -> tuple[Unsettled, ...]:
    """A request's such effects, the oldest first."""
    rows = tx.all(_OF_WORKFLOW, {"workflow": workflow})
    return tuple(_read(tx, row) for row in rows)


def _read(tx: Transaction, row: Any) -> Unsettled:
    known, envelope = effects.result_of(tx, row.id) or {}, row.envelope or {}
    to = envelope.get("recipient")
    # Where the process died that sent it, nobody has recorded the provider's own name.
    named = envelope.get("message_id") or known.get("provider_ref", row.key)
    return Unsettled(
        workflow=row.workflow,
        item=row.item,
        action=row.action,
        action_type=row.action_type,
        summary=row.summary,
        domain=row.domain,
        tenant=row.tenant,
        version=row.version,
        operation=row.key,
        provider_ref=str(named),
        recipient=None if to is None else str(to),
        detail=known.get("detail", ""),
        since=row.dispatched_at or row.claimed_at,
        claimed_at=row.claimed_at,
        due_at=row.due_at,
    )
