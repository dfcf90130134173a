"""Tombstones: a used key stays used when its claim is no longer kept.

`bury` replaces claims of closed requests that have ended before a moment. Their
executions, versions, verdicts and events stay; the key binds to nothing new, for ever.
"""

from datetime import datetime

from sqlalchemy import bindparam, delete, insert, select

from blocks.ledger import outbox
from blocks.ledger.database import Transaction
from blocks.ledger.effect_tables import ExecutionClaim, KeyTombstone
from blocks.ledger.tables import WorkflowSession
from policies.state import OPEN_STATUS

# Not while its request is open: that may still be run again from the top.
_ENDED = (
    select(ExecutionClaim)
    .join(WorkflowSession, WorkflowSession.id == ExecutionClaim.workflow)
    .where(
        WorkflowSession.status.not_in(OPEN_STATUS),
        ExecutionClaim.state.in_(("executed", "failed", "released")),
        ExecutionClaim.finished_at < bindparam("before"),
    )
    .order_by(ExecutionClaim.finished_at)
    .limit(bindparam("most"))
)
_REMOVE = delete(ExecutionClaim).where(
    ExecutionClaim.id == bindparam("of"),
    ExecutionClaim.state.in_(("executed", "failed", "released")),
)


def bury(tx: Transaction, before: datetime, most: int) -> int:
    """Replace claims that ended before a moment by tombstones; how many."""
    buried = 0
    for row in tx.all(_ENDED, {"before": before, "most": most}):
        if not tx.wrote(_REMOVE, {"of": row.id}):
            continue
        outbox.forget(tx, row.id)
        tx.run(
            insert(KeyTombstone),
            {
                "scope": row.scope,
                "key": row.key,
                "digest": row.digest,
                "claim": row.id,
                "outcome": row.state,
                "finished_at": row.finished_at,
                "at": tx.now,
            },
        )
        buried += 1
    return buried
