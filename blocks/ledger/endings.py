"""How an item is held, or ends without a person: the guard said no, its time is up,
its request was cancelled.
"""

from datetime import datetime
from typing import Any, Literal

from sqlalchemy import update

from blocks.ledger import audit, items, rules, verdicts
from blocks.ledger.database import Transaction
from blocks.ledger.items import Item
from blocks.ledger.tables import Item as ItemTable
from policies import lifecycle
from policies.guard import Blocked, ReapprovalRequired
from policies.lifecycle import Event, State


def refuse(
    tx: Transaction,
    item: Item,
    answer: ReapprovalRequired | Blocked,
    moment: str,
    **told: Any,
) -> Item:
    """Do what follows from the guard's no: all reasons recorded, nothing sent.

    An item that was withdrawn, cancelled or expired meanwhile stays as it is. `told` is
    what the audit event says beside it, such as the claim that was let go.
    """
    codes = [reason.code for reason in answer.reasons]
    to = answer.to or item.state
    values: dict[str, Any] = {"held": tuple(codes)}
    told = {**told, **items.present_facts(tx, item), **verdicts.approval(tx, item)}
    if to == State.REAPPROVAL_REQUIRED:
        # The deadline of the verdict that is void now may be long past.
        again = items.deadline(tx, rules.in_force(tx), item.risk_level)
        values |= {"expires_at": None, "deadline": again}
    if Event.GUARD_REFUSE in lifecycle.allowed_events(item.state):
        item = items.move(tx, item, Event.GUARD_REFUSE, to, **values)
    blocked = isinstance(answer, Blocked)
    audit.append(
        tx,
        item.workflow,
        "policy_blocked" if blocked else "reapproval_required",
        moment=moment,
        reasons=[reason.model_dump() for reason in answer.reasons],
        state=item.state,
        **told,
    )
    return item


def let_go(tx: Transaction, workflow: str) -> None:
    """Forget why items were held, so that the guard is asked again."""
    tx.run(update(ItemTable).where(ItemTable.workflow == workflow).values(held=[]))


def expire_overdue(tx: Transaction, workflow: str) -> tuple[Item, ...]:
    """Expire what was not decided or executed in time; the items as they are now."""
    found = items.of_workflow(tx, workflow)
    return tuple(_expire(tx, item) for item in found)


def _expire(tx: Transaction, item: Item) -> Item:
    if _overdue(item, tx.now) is None:
        return item
    # Looked at again under its lock: others may be expiring or deciding it just now.
    item = items.load(tx, item.id, lock=True)
    event = _overdue(item, tx.now)
    if event is None:
        return item
    moved = items.move(tx, item, event, State.EXPIRED)
    _tell(tx, item, "expired", "system", f"{event} at {audit.stamp(tx.now)}")
    return moved


def cancel_one(
    tx: Transaction, item: Item, actor: str, reason: str, **told: Any
) -> Item:
    """Cancel one item; `told` is what the trail says beside it, of its claim, say."""
    moved = items.move(tx, item, Event.CANCEL)
    _tell(tx, item, "cancelled", actor, reason, **told)
    return moved


def _tell(
    tx: Transaction,
    item: Item,
    event: Literal["expired", "cancelled"],
    actor: str,
    reason: str,
    **told: Any,
) -> None:
    audit.append(
        tx,
        item.workflow,
        event,
        actor=actor,
        reason=reason,
        **items.present_facts(tx, item),
        **verdicts.approval(tx, item),
        **told,
    )


def _overdue(item: Item, now: datetime) -> Event | None:
    if item.state in lifecycle.OPEN or item.state == State.REAPPROVAL_REQUIRED:
        return Event.DEADLINE_PASSED if now >= item.deadline else None
    ended = item.expires_at is not None and now >= item.expires_at
    return Event.EXPIRE if ended and item.state == State.APPROVED else None
