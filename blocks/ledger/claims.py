"""Claims: the one right to an effect, and what became of it.

`claim` binds key and digest, `dispatch` is the last guarded step before the effect and
the only maker of an `Operation`, `finish` records the result. Each write repeats the
claim's token and state; a late one is refused and recorded.
"""

import uuid
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias

from sqlalchemy import bindparam, insert, select, update

from blocks.artifacts import StoredArtifact
from blocks.domain import Domain
from blocks.ledger import (
    audit,
    endings,
    facts,
    items,
    proposals,
    sessions,
    verdicts,
    versions,
)
from blocks.ledger.database import Transaction
from blocks.ledger.facts import Stored
from blocks.ledger.items import Item
from blocks.ledger.sessions import Session
from blocks.ledger.tables import Execution, ExecutionClaim
from policies.errors import NotFound, Superseded
from policies.guard import Blocked, Executable, ReapprovalRequired
from policies.lifecycle import Event, State
from policies.value import Value

ClaimState: TypeAlias = Literal[
    "claimed", "dispatched", "executed", "failed", "unknown", "released"
]
Outcome: TypeAlias = Literal["executed", "failed", "unknown"]

_BY_ID = select(ExecutionClaim).where(ExecutionClaim.id == bindparam("id"))
_BY_KEY = select(ExecutionClaim).where(
    ExecutionClaim.scope == bindparam("scope"), ExecutionClaim.key == bindparam("key")
)
_MOVE = (
    update(ExecutionClaim)
    .where(
        ExecutionClaim.id == bindparam("of"),
        ExecutionClaim.token == bindparam("held_token"),
        ExecutionClaim.state == bindparam("from_state"),
    )
    .values(state=bindparam("to_state"))
)
_DISPATCH = _MOVE.values(dispatched_at=bindparam("at"))
_FINISH = _MOVE.values(finished_at=bindparam("at"))
_TAKE_OVER = _MOVE.values(
    token=ExecutionClaim.token + 1,
    owner=bindparam("new_owner"),
    session_token=bindparam("new_session_token"),
    lease_until=bindparam("until"),
)
_EVENT: dict[Outcome, Event] = {
    "executed": Event.SUCCEED,
    "failed": Event.FAIL,
    "unknown": Event.LOSE_TRACK,
}
_AUDIT: dict[Outcome, Literal["executed", "execution_failed", "execution_unknown"]] = {
    "executed": "executed",
    "failed": "execution_failed",
    "unknown": "execution_unknown",
}


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
    claimed_at: datetime


class Refused(Value):
    """The guard said no; the item has been moved and nothing was claimed or sent."""

    answer: ReapprovalRequired | Blocked
    state: State


class Result(Value):
    """What a provider answered, kept as an artifact; `provider_ref` finds it there."""

    outcome: Outcome
    detail: str
    artifact: StoredArtifact
    provider_ref: str


def claim(
    tx: Transaction,
    session: Session,
    item: Item,
    stored: Stored,
    domain: Domain,
    *,
    owner: str,
    seconds: float,
) -> Claim | Refused:
    """The right to execute an item's approved version, or what is already there.

    One claim per scope and key, whoever asks: the same intent gets the claim that
    exists, another one is refused (key_conflict), which is recorded.
    """
    snapshot = versions.load(tx, item.id, item.version).snapshot
    existing = find(tx, snapshot.scope, snapshot.key)
    if existing is not None and existing.digest == snapshot.intent_digest:
        return existing
    answer = facts.ask_guard(tx, session, item, snapshot, stored, domain)
    if not isinstance(answer, Executable):
        return _refused(tx, item, answer, "claim", existing)
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
        "session_token": sessions.load(tx, item.workflow).lease_token,
        "lease_until": tx.now + timedelta(seconds=seconds),
        "claimed_at": tx.now,
    }
    if not tx.inserted(ExecutionClaim, row):
        # Somebody was faster than our look: now there is something to find.
        return claim(tx, session, item, stored, domain, owner=owner, seconds=seconds)
    items.move(tx, item, Event.CLAIM_EFFECT)
    made = load(tx, row["id"])
    _note(tx, made, "execution_claimed")
    return made


def take_over(tx: Transaction, old: Claim, owner: str, seconds: float) -> Claim:
    """Take an undispatched claim from a holder that is gone; its token is worthless."""
    values = {
        **_key(old, "claimed"),
        "to_state": "claimed",
        "new_owner": owner,
        "new_session_token": sessions.load(tx, old.workflow).lease_token,
        "until": tx.now + timedelta(seconds=seconds),
    }
    if not tx.wrote(_TAKE_OVER, values):
        raise Superseded(f"Claim {old.id} has moved on.")
    taken = load(tx, old.id)
    _note(tx, taken, "claim_taken_over")
    return taken


def dispatch(
    tx: Transaction,
    held: Claim,
    session: Session,
    stored: Stored,
    domain: Domain,
) -> Refused | None:
    """The last step before the effect: guard again, and only the newest token passes.

    None lets the caller send; after that, no record of a result means "not known".
    """
    present = sessions.load(tx, held.workflow, lock=True)
    if present.lease_token != held.session_token:
        raise Superseded(f"Another process works on {held.workflow} now.")
    item = items.load(tx, held.item, lock=True)
    tx.look_at_clock()
    snapshot = versions.load(tx, item.id, held.version).snapshot
    answer = facts.ask_guard(tx, session, item, snapshot, stored, domain)
    if not isinstance(answer, Executable):
        return _refused(tx, item, answer, "send", _let_go(tx, held, answer))
    if not tx.wrote(_DISPATCH, {**_to(held, "claimed", "dispatched"), "at": tx.now}):
        raise Superseded(f"Claim {held.id} has moved on.")
    _note(tx, held, "dispatched", claim_status="dispatched")
    return None


def _let_go(
    tx: Transaction, held: Claim, answer: ReapprovalRequired | Blocked
) -> Claim:
    """A claim whose item leaves its state is over; one that waits (frozen) is kept."""
    if answer.to is None:
        return held
    if not tx.wrote(_FINISH, {**_to(held, "claimed", "released"), "at": tx.now}):
        raise Superseded(f"Claim {held.id} has moved on.")
    return held.model_copy(update={"state": "released"})


def finish(tx: Transaction, held: Claim, result: Result) -> bool:
    """Record what became of the effect; False if a newer token has the claim.

    A late result changes nothing; it is kept in the trail.
    """
    done = {**_to(held, "dispatched", result.outcome), "at": tx.now}
    if not tx.wrote(_FINISH, done):
        now, late = load(tx, held.id).state, result.outcome
        _note(tx, held, "late_write_refused", claim_status=now, outcome=late)
        return False
    proposals.record_artifact(tx, result.artifact)
    tx.run(
        insert(Execution),
        {
            "id": f"e-{uuid.uuid4().hex[:16]}",
            "claim": held.id,
            "token": held.token,
            "outcome": result.outcome,
            "detail": result.detail,
            "artifact": result.artifact.ref,
            "provider_ref": result.provider_ref,
            "at": tx.now,
        },
    )
    items.move(tx, items.load(tx, held.item), _EVENT[result.outcome])
    _note(
        tx,
        held,
        _AUDIT[result.outcome],
        claim_status=result.outcome,
        execution_artifact=result.artifact.ref,
        provider_ref=result.provider_ref,
        detail=result.detail,
    )
    return True


def load(tx: Transaction, claim_id: str) -> Claim:
    """A claim by its id, or `NotFound`."""
    row = tx.one(_BY_ID, {"id": claim_id})
    if row is None:
        raise NotFound(f"There is no claim {claim_id}.")
    return _claim(row)


def find(tx: Transaction, scope: str, key: str) -> Claim | None:
    """The claim of an operation, or None."""
    row = tx.one(_BY_KEY, {"scope": scope, "key": key})
    return None if row is None else _claim(row)


def execution_of(tx: Transaction, claim_id: str) -> dict[str, Any] | None:
    """The recorded result of a claim, or None while there is none."""
    query = select(Execution).where(Execution.claim == claim_id)
    row = tx.run(query.order_by(Execution.at.desc()).limit(1)).first()
    return None if row is None else row._asdict()


def of_item(tx: Transaction, item: str) -> tuple[Claim, ...]:
    """An item's claims, the first one first."""
    query = select(ExecutionClaim).where(ExecutionClaim.item == item)
    rows = tx.all(query.order_by(ExecutionClaim.claimed_at, ExecutionClaim.id))
    return tuple(_claim(row) for row in rows)


def executions_of(tx: Transaction, item: str) -> tuple[dict[str, Any], ...]:
    """Every recorded result of an item's claims, with the claim's version and key."""
    query = (
        select(Execution, ExecutionClaim.version, ExecutionClaim.key)
        .join(ExecutionClaim, ExecutionClaim.id == Execution.claim)
        .where(ExecutionClaim.item == item)
    )
    return tuple(row._asdict() for row in tx.all(query.order_by(Execution.at)))


def workflow_of_provider_ref(tx: Transaction, provider_ref: str) -> str:
    """Which workflow a sent message came from, by the provider's own reference."""
    query = (
        select(ExecutionClaim.workflow)
        .join(Execution, Execution.claim == ExecutionClaim.id)
        .where(Execution.provider_ref == provider_ref)
    )
    row = tx.run(query.limit(1)).first()
    if row is None:
        raise NotFound(f"No execution has the reference {provider_ref}.")
    return str(row.workflow)


def _refused(
    tx: Transaction,
    item: Item,
    answer: ReapprovalRequired | Blocked,
    moment: str,
    held: Claim | None,
) -> Refused:
    """`held` is the claim that there is under the item's key, whoever's it is."""
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
    moved = endings.refuse(tx, item, answer, moment, **claimed)
    return Refused(answer=answer, state=moved.state)


def _note(tx: Transaction, held: Claim, event: audit.EventName, **more: Any) -> None:
    item = items.load(tx, held.item)
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


def _key(held: Claim, from_state: ClaimState) -> dict[str, Any]:
    return {"of": held.id, "held_token": held.token, "from_state": from_state}


def _to(held: Claim, from_state: ClaimState, to_state: ClaimState) -> dict[str, Any]:
    return {**_key(held, from_state), "to_state": to_state}


def _claim(row: Any) -> Claim:
    values = row._asdict()
    return Claim.model_validate({name: values[name] for name in Claim.model_fields})
