"""Cancelling a request's items, with the claims from which nothing was sent.

What was dispatched may have happened: it is brought to its end first.
"""

from typing import Any

from sqlalchemy import bindparam

from blocks.ledger import claims, endings, items, outbox, reservations
from blocks.ledger.claims import Claim
from blocks.ledger.database import Transaction
from blocks.ledger.items import Item
from policies import lifecycle
from policies.errors import Superseded
from policies.lifecycle import Event, State

_RELEASE = claims.guarded_move(finished_at=bindparam("at"))
_WITH_A_CLAIM = (State.EXECUTION_CLAIMED, State.RETRY_READY)


def cancel(tx: Transaction, workflow: str, actor: str, reason: str) -> tuple[Item, ...]:
    """Cancel every item of a workflow in which no effect can be under way.

    A claim on it is released in the same transaction: who holds it sends nothing more.
    """
    cancelled = []
    for found in items.of_workflow(tx, workflow):
        item = items.load(tx, found.id, lock=True)
        if Event.CANCEL not in lifecycle.allowed_events(item.state):
            continue
        claim = _claim_on(tx, item)
        if claim is not None and claim.state == "dispatched":
            continue
        told = {} if claim is None else _release(tx, claim)
        cancelled.append(endings.cancel_one(tx, item, actor, reason, **told))
    return tuple(cancelled)


def _claim_on(tx: Transaction, item: Item) -> Claim | None:
    if item.state not in _WITH_A_CLAIM:
        return None
    return claims.of_item(tx, item.id)[-1]


def _release(tx: Transaction, claim: Claim) -> dict[str, Any]:
    """Take the claim away; what to tell of it."""
    values = claims.moved(claim, claim.state, "released")
    if not tx.wrote(_RELEASE, {**values, "at": tx.now}):
        raise Superseded(f"Claim {claim.id} has moved on.")
    outbox.mark(tx, claim.id, "dropped")
    reservations.release(tx, claim.key)
    return {"claim": claim.id, "claim_status": "released", "fencing_token": claim.token}
