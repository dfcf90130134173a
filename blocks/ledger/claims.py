"""Claims: the one right to an effect, under one key, for whoever holds its lease.

Each guarded write is one statement whose WHERE repeats token, owner and state of the
claim; a miss is `Superseded`, never an acknowledgement. Rows are locked in one order,
session, item, claim, so that no two writers deadlock. What is done with a claim is in
`blocks.ledger.effects`.
"""

import uuid
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias

from sqlalchemy import and_, bindparam, delete, insert, or_, select, update

from blocks.domain import Domain
from blocks.ledger import (
    audit,
    endings,
    facts,
    items,
    outbox,
    reservations,
    sessions,
    verdicts,
    versions,
)
from blocks.ledger.database import Transaction
from blocks.ledger.effect_tables import ExecutionClaim
from blocks.ledger.facts import Stored
from blocks.ledger.items import Item
from blocks.ledger.outbox import Outgoing
from blocks.ledger.sessions import Session
from policies import guard
from policies.errors import NotFound, Superseded
from policies.guard import Blocked, Executable, ReapprovalRequired
from policies.lifecycle import FINAL, Event, State
from policies.value import Value

ClaimState: TypeAlias = Literal[
    "claimed",
    "dispatched",
    "executed",
    "failed",
    "unknown",
    "retry_ready",
    "released",
]

_BY_ID = select(ExecutionClaim).where(ExecutionClaim.id == bindparam("id"))
_BY_KEY = select(ExecutionClaim).where(
    ExecutionClaim.scope == bindparam("scope"), ExecutionClaim.key == bindparam("key")
)
_OF_ITEM = (
    select(ExecutionClaim)
    .where(ExecutionClaim.item == bindparam("item"))
    .order_by(ExecutionClaim.claimed_at, ExecutionClaim.id)
)
_INSERT = insert(ExecutionClaim)
_MOVE = (
    update(ExecutionClaim)
    .where(
        ExecutionClaim.id == bindparam("of"),
        ExecutionClaim.token == bindparam("held_token"),
        ExecutionClaim.owner == bindparam("held_owner"),
        ExecutionClaim.state == bindparam("from_state"),
    )
    .values(state=bindparam("to_state"))
)
_RENEW = _MOVE.values(lease_until=bindparam("until"))
_RELEASE = _MOVE.values(finished_at=bindparam("at"))
_NEW_HOLDER = _MOVE.values(
    token=ExecutionClaim.token + 1,
    owner=bindparam("new_owner"),
    session_token=bindparam("new_session_token"),
    lease_until=bindparam("until"),
    due_at=None,
)
# Undispatched, its holder is fenced off by the session's newer token as well; once it
# is dispatched, bytes may be on their way until the lease has run out.
_TAKE_OVER = _NEW_HOLDER.where(
    or_(
        ExecutionClaim.lease_until <= bindparam("at"),
        and_(
            ExecutionClaim.state == "claimed",
            ExecutionClaim.session_token < bindparam("new_session_token"),
        ),
    )
)


class Claim(Value):
    """A claim as it stands."""

    id: str
    scope: str
    key: str
    digest: str
    workflow: str
    item: str
    version: int
    state: ClaimState
    owner: str
    token: int
    session_token: int
    lease_until: datetime
    claimed_at: datetime
    dispatched_at: datetime | None
    finished_at: datetime | None
    attempts: int
    lookups: int
    due_at: datetime | None
    lost_at: datetime | None


_NOT_YET = dict.fromkeys(("dispatched_at", "finished_at", "due_at", "lost_at"))


class Refused(Value):
    """The guard said no; the item has been moved and nothing was claimed or sent."""

    answer: ReapprovalRequired | Blocked
    state: State


def claim(
    tx: Transaction,
    session: Session,
    item: Item,
    stored: Stored,
    domain: Domain,
    *,
    owner: str,
    seconds: float,
    promised: Outgoing | None = None,
) -> Claim | Refused:
    """The right to execute an item's approved version, or what is already there.

    `session` is as it stands in this transaction: whoever holds its lease, claims.
    One claim per scope and key, whoever asks: the same intent gets the claim that
    exists, another one is refused (key_conflict), which is recorded. What is `promised`
    to a provider is in the outbox with it; an internal effect promises nothing.
    """
    snapshot = versions.load(tx, item.id, item.version).snapshot
    existing = find(tx, snapshot.scope, snapshot.key)
    if existing is not None and existing.digest == snapshot.intent_digest:
        return existing
    answer = facts.ask_guard(tx, session, item, snapshot, stored, domain)
    if not isinstance(answer, Executable):
        return refuse(tx, item, answer, "claim", existing)
    row: dict[str, Any] = {
        "id": f"c-{uuid.uuid4().hex[:16]}",
        "scope": snapshot.scope,
        "key": snapshot.key,
        "digest": snapshot.intent_digest,
        "workflow": item.workflow,
        "item": item.id,
        "version": item.version,
        "state": "claimed",
        "owner": owner,
        "token": 1,
        "session_token": session.lease_token,
        "lease_until": tx.now + timedelta(seconds=seconds),
        "claimed_at": tx.now,
        "attempts": 0,
        "lookups": 0,
    }
    if not tx.inserted(ExecutionClaim, row):
        # Somebody was faster than our look: now there is something to find.
        return claim(
            tx,
            session,
            item,
            stored,
            domain,
            owner=owner,
            seconds=seconds,
            promised=promised,
        )
    held_back = reserve(tx, item, domain, snapshot.key)
    if held_back is not None:
        tx.run(delete(ExecutionClaim).where(ExecutionClaim.id == row["id"]))
        return refuse(tx, item, held_back, "claim", None)
    if promised is not None:
        outbox.promise(tx, item.workflow, row["id"], promised)
    items.move(tx, item, Event.CLAIM_EFFECT)
    made = Claim.model_validate({**_NOT_YET, **row})
    note(tx, item, made, "execution_claimed", **outbox.told_of(promised))
    return made


def retry(
    tx: Transaction,
    old: Claim,
    session: Session,
    stored: Stored,
    domain: Domain,
    *,
    owner: str,
    seconds: float,
) -> Claim | Refused:
    """Claim an operation again that certainly did not happen: same key, higher token.

    The guard is asked again: an approval that has ended since is not executed.
    """
    item = items.load(tx, old.item, lock=True)
    snapshot = versions.load(tx, item.id, old.version).snapshot
    answer = facts.ask_guard(tx, session, item, snapshot, stored, domain)
    if isinstance(answer, Executable):
        answer = reserve(tx, item, domain, old.key) or answer
    if not isinstance(answer, Executable):
        return refuse(tx, item, answer, "retry", let_go(tx, old, answer))
    if not tx.wrote(_NEW_HOLDER, _handed_on(tx, old, "claimed", owner, seconds)):
        raise Superseded(f"Claim {old.id} has moved on.")
    outbox.mark(tx, old.id, "pending")
    items.move(tx, item, Event.RETRY)
    taken = load(tx, old.id)
    note(tx, item, taken, "execution_claimed", attempt=taken.attempts + 1)
    return taken


def take_over(tx: Transaction, old: Claim, owner: str, seconds: float) -> Claim:
    """Take a claim from a holder that is gone; its token is worthless from now on.

    `Superseded` while the holder's lease lasts, unless nothing was sent yet and the
    session has a newer holder: then the old one cannot send any more.
    """
    item = items.load(tx, old.item, lock=True)
    values = _handed_on(tx, old, old.state, owner, seconds)
    if not tx.wrote(_TAKE_OVER, {**values, "at": tx.now}):
        raise Superseded(f"Claim {old.id} has moved on, or its holder is at work.")
    items.move(tx, item, Event.TAKEOVER)
    taken = load(tx, old.id)
    note(tx, item, taken, "claim_taken_over", taken_from=old.owner)
    return taken


def renew(tx: Transaction, held: Claim, seconds: float) -> None:
    """Keep the lease while the effect is under way, or `Superseded`."""
    until = tx.now + timedelta(seconds=seconds)
    for state in ("dispatched", "claimed"):
        if tx.wrote(_RENEW, {**moved(held, state, state), "until": until}):
            return
    raise Superseded(f"Claim {held.id} has moved on.")


def reserve(tx: Transaction, item: Item, domain: Domain, key: str) -> Blocked | None:
    """Take the resource where the tool needs it alone; None where all is well."""
    if not domain.adapter.tools[item.action_type].exclusive:
        return None
    intent = versions.load(tx, item.id, item.version).snapshot.intent
    if reservations.take(tx, intent.tenant, intent.resource, key):
        return None
    return guard.reserved(intent.resource)


def let_go(tx: Transaction, held: Claim, answer: ReapprovalRequired | Blocked) -> Claim:
    """A claim whose item leaves its state, or has ended, is over; a frozen one is kept.

    Either way nothing stays promised to others: the reservation is released.
    """
    over = answer.to is not None or items.load(tx, held.item).state in FINAL
    to: ClaimState = "released" if over else held.state
    at = {"at": tx.now} if over else {}
    if not tx.wrote(_RELEASE if over else _MOVE, {**moved(held, held.state, to), **at}):
        raise Superseded(f"Claim {held.id} has moved on.")
    reservations.release(tx, held.key)
    if not over:
        return held
    outbox.mark(tx, held.id, "dropped")
    return held.model_copy(update={"state": "released"})


def load(tx: Transaction, claim_id: str) -> Claim:
    """A claim by its id, or `NotFound`."""
    row = tx.one(_BY_ID, {"id": claim_id})
    if row is None:
        raise NotFound(f"There is no claim {claim_id}.")
    return as_claim(row)


def find(tx: Transaction, scope: str, key: str) -> Claim | None:
    """The claim of an operation, or None."""
    row = tx.one(_BY_KEY, {"scope": scope, "key": key})
    return None if row is None else as_claim(row)


def of_item(tx: Transaction, item: str) -> tuple[Claim, ...]:
    """An item's claims, the first one first."""
    return tuple(as_claim(row) for row in tx.all(_OF_ITEM, {"item": item}))


def refuse(
    tx: Transaction,
    item: Item,
    answer: ReapprovalRequired | Blocked,
    moment: str,
    held: Claim | None,
) -> Refused:
    """Do what follows from the guard's no at a claim, a send or a retry.

    `held` is the claim that there is under the item's key, whoever's it is.
    """
    claimed = {} if held is None else _facts(held)
    if any(reason.code == "key_conflict" for reason in answer.reasons):
        told = items.present_facts(tx, item)
        audit.append(
            tx,
            item.workflow,
            "idempotency_conflict",
            asked=told["intent_digest"],
            reasons=[reason.model_dump() for reason in answer.reasons],
            **claimed,
            **told,
        )
    stays = endings.refuse(tx, item, answer, moment, **claimed)
    return Refused(answer=answer, state=stays.state)


def note(
    tx: Transaction, item: Item, held: Claim, event: audit.EventName, **more: Any
) -> None:
    """Record what became of a claim on an item, with everything that it is about."""
    audit.append(
        tx,
        held.workflow,
        event,
        **items.facts(item, versions.load(tx, held.item, held.version)),
        **verdicts.approval(tx, item),
        **{**_facts(held), **more},
    )


def _facts(held: Claim) -> dict[str, Any]:
    return {
        "claim": held.id,
        "claim_status": held.state,
        "fencing_token": held.token,
        "owner": held.owner,
    }


def moved(held: Claim, from_state: ClaimState, to_state: ClaimState) -> dict[str, Any]:
    """The values of a guarded write: whose claim, from which state to which."""
    return {
        "of": held.id,
        "held_token": held.token,
        "held_owner": held.owner,
        "from_state": from_state,
        "to_state": to_state,
    }


def as_claim(row: Any) -> Claim:
    """A claim from its row."""
    values = row._asdict()
    return Claim.model_validate({name: values[name] for name in Claim.model_fields})


def guarded_move(**values: Any) -> Any:
    """The guarded write, setting these columns beside the state; built at import."""
    return _MOVE.values(**values)


def _handed_on(
    tx: Transaction, old: Claim, to_state: ClaimState, owner: str, seconds: float
) -> dict[str, Any]:
    return {
        **moved(old, old.state, to_state),
        "new_owner": owner,
        "new_session_token": sessions.load(tx, old.workflow).lease_token,
        "until": tx.now + timedelta(seconds=seconds),
    }
