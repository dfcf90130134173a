"""What is done with a claim: it is sent, it ends, it is lost, it is found again.

`dispatch` is the last guarded step before an effect. From there on the absence of a
record means "not known", and only a finding, by the provider or by a person, ends that.
"""

import uuid
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias

from sqlalchemy import bindparam, case, insert, select, update

from blocks.artifacts import StoredArtifact
from blocks.domain import Domain
from blocks.ledger import (
    audit,
    claims,
    facts,
    items,
    outbox,
    proposals,
    reservations,
    sessions,
)
from blocks.ledger.claims import Claim, Refused
from blocks.ledger.database import Transaction
from blocks.ledger.effect_tables import Execution, ExecutionClaim
from blocks.ledger.facts import Stored
from blocks.ledger.items import Item
from blocks.ledger.outbox import Entry
from policies.errors import Conflict, NotFound, Superseded
from policies.guard import Executable
from policies.lifecycle import Event, State
from policies.snapshot import ApprovalSnapshot
from policies.value import Value

Outcome: TypeAlias = Literal["executed", "failed", "unknown"]

_DISPATCH = claims.guarded_move(
    dispatched_at=bindparam("at"), attempts=ExecutionClaim.attempts + 1
)
_FINISH = claims.guarded_move(finished_at=bindparam("at"))
# Not over: it is due again, to be asked about or to be tried.
_MAKE_DUE = claims.guarded_move(due_at=bindparam("at"), lost_at=bindparam("lost_at"))
_INSERT = insert(Execution)
# Of one attempt, what was found out about it comes after that it was not known.
_FOUND_OUT = case((Execution.outcome == "unknown", 0), else_=1)
_OF_CLAIM = (
    select(Execution)
    .where(Execution.claim == bindparam("claim"))
    .order_by(Execution.token.desc(), _FOUND_OUT.desc(), Execution.at.desc())
    .limit(1)
)
_OF_ITEM = (
    select(Execution)
    .where(Execution.item == bindparam("item"))
    .order_by(Execution.version, Execution.token, _FOUND_OUT, Execution.at)
)
_WORKFLOW_OF = (
    select(Execution.workflow)
    .where(Execution.provider_ref == bindparam("provider_ref"))
    .limit(1)
)
_LOOKED_UP = (
    update(ExecutionClaim)
    .where(
        ExecutionClaim.id == bindparam("of"),
        ExecutionClaim.token == bindparam("held_token"),
        ExecutionClaim.state == "unknown",
    )
    .values(lookups=ExecutionClaim.lookups + 1, due_at=bindparam("at"))
)
_ENDED: dict[Outcome, tuple[Event, audit.EventName]] = {
    "executed": (Event.SUCCEED, "executed"),
    "failed": (Event.FAIL, "execution_failed"),
    "unknown": (Event.LOSE_TRACK, "execution_unknown"),
}


class Result(Value):
    """What a provider answered, kept as an artifact; `provider_ref` finds it there.

    With `open_until` this send did nothing, but an earlier one may still arrive until
    then: the outcome is unknown, and asked about when that is over.
    """

    outcome: Outcome
    detail: str
    artifact: StoredArtifact
    provider_ref: str
    open_until: datetime | None = None


class Found(Value):
    """What was found out about an unknown outcome: by whom or what, and why so."""

    happened: bool
    detail: str
    artifact: StoredArtifact
    provider_ref: str
    by: dict[str, Any]
    """Facts for the trail: the method, and where a person said it, who and why."""
    settled: bool = True
    """Whether nothing that was sent can arrive any more."""


def dispatch(
    tx: Transaction,
    held: Claim,
    snapshot: ApprovalSnapshot,
    stored: Stored,
    domain: Domain,
    promised: Entry | None,
) -> Refused | None:
    """The last step before the effect: guard again, and only the newest token passes.

    `snapshot` is the claimed version's. None lets the caller send `promised`, which
    must be what the claim's event tells; after that, no record of a result means "not
    known".
    """
    session = sessions.load(tx, held.workflow, lock=True)
    if session.lease_token != held.session_token:
        raise Superseded(f"Another process works on {held.workflow} now.")
    item = items.load(tx, held.item, lock=True)
    tx.look_at_clock()
    changed = promised is not None and not _is_as_told(tx, promised)
    answer = facts.ask_guard(
        tx, session, item, snapshot, stored, domain, message_changed=changed
    )
    if isinstance(answer, Executable):
        answer = claims.reserve(tx, item, domain, held.key) or answer
    if not isinstance(answer, Executable):
        left = claims.let_go(tx, held, answer)
        return claims.refuse(tx, item, answer, "send", left)
    values = claims.moved(held, "claimed", "dispatched")
    if not tx.wrote(_DISPATCH, {**values, "at": tx.now}):
        raise Superseded(f"Claim {held.id} has moved on.")
    outbox.mark(tx, held.id, "sent")
    told = {"claim_status": "dispatched", "attempt": held.attempts + 1}
    claims.note(tx, item, held, "dispatched", **told)
    return None


def finish(tx: Transaction, held: Claim, result: Result) -> bool:
    """Record what became of the effect; False if a newer token has the claim.

    A late result changes nothing; it is kept in the trail.
    """
    item = items.load(tx, held.item, lock=True)
    values = claims.moved(held, "dispatched", result.outcome)
    known = result.outcome != "unknown"
    write = _FINISH if known else _MAKE_DUE
    if not tx.wrote(write, {**values, **_due(tx, held, result)}):
        refuse_late(
            tx,
            held,
            outcome=result.outcome,
            detail=result.detail,
            provider_ref=result.provider_ref,
        )
        return False
    _record(tx, held, result)
    if known:
        _close(tx, held)
    event, name = _ENDED[result.outcome]
    items.move(tx, item, event)
    claims.note(
        tx,
        item,
        held,
        name,
        claim_status=result.outcome,
        execution_artifact=result.artifact.ref,
        provider_ref=result.provider_ref,
        detail=result.detail,
    )
    return True


def _is_as_told(tx: Transaction, promised: Entry) -> bool:
    """Whether a message is what its claim's event says that was promised."""
    asked = {"claim": promised.claim, **outbox.told_of(promised)}
    told = audit.facts_of(tx, promised.workflow, "execution_claimed")
    return any(asked.items() <= facts.items() for facts in told)


def _due(tx: Transaction, held: Claim, result: Result) -> dict[str, Any]:
    """When it ended or is due again; and since when something is lost, if it is."""
    if result.outcome != "unknown":
        return {"at": tx.now}
    if result.open_until is None:
        return {"at": tx.now, "lost_at": tx.now}
    # This send certainly did nothing: what was lost is what it was.
    return {"at": result.open_until, "lost_at": held.lost_at}


def refuse_late(tx: Transaction, held: Claim, **told: str) -> None:
    """Keep in the trail what a process came with that has lost its claim meanwhile."""
    present = claims.find(tx, held.scope, held.key)
    status = "buried" if present is None else present.state
    item = items.load(tx, held.item)
    claims.note(tx, item, held, "late_write_refused", claim_status=status, **told)


def reconcile(tx: Transaction, held: Claim, found: Found) -> bool:
    """Settle an unknown outcome; False if it was settled otherwise meanwhile.

    What happened is executed. What did not may be tried again, under the same key. A
    request that had ended as unknown goes on. `Conflict` (late_result) where it shall
    not have happened and a process whose lease was over reported that it did.
    """
    sessions.load(tx, held.workflow, lock=True)
    item = items.load(tx, held.item, lock=True)
    if not (_settle_happened if found.happened else _settle_not)(tx, held, item, found):
        return False
    now: Literal["executed", "retry_ready"]
    now = "executed" if found.happened else "retry_ready"
    told = {
        "claim_status": now,
        "execution_artifact": found.artifact.ref,
        "provider_ref": found.provider_ref,
        "detail": found.detail,
        **found.by,
    }
    claims.note(tx, item, held, "reconciled", outcome=now, **told)
    claims.note(tx, item, held, now, **told)
    sessions.reopen(tx, held.workflow, "an unknown outcome was settled")
    return True


def note_lookup(tx: Transaction, held: Claim, again_in: float) -> None:
    """The provider could not tell yet: ask again after so many seconds."""
    at = tx.now + timedelta(seconds=again_in)
    tx.run(_LOOKED_UP, {"of": held.id, "held_token": held.token, "at": at})


def result_of(tx: Transaction, claim_id: str) -> dict[str, Any] | None:
    """The newest recorded result of a claim, or None while there is none."""
    row = tx.one(_OF_CLAIM, {"claim": claim_id})
    return None if row is None else row._asdict()


def results_of(tx: Transaction, item: str) -> tuple[dict[str, Any], ...]:
    """Every recorded result of an item's claims, the first one first."""
    return tuple(row._asdict() for row in tx.all(_OF_ITEM, {"item": item}))


def workflow_of_provider_ref(tx: Transaction, provider_ref: str) -> str:
    """Which workflow a sent message came from, by the provider's own reference."""
    row = tx.one(_WORKFLOW_OF, {"provider_ref": provider_ref})
    if row is None:
        raise NotFound(f"No execution has the reference {provider_ref}.")
    return str(row.workflow)


def _settle_happened(tx: Transaction, held: Claim, item: Item, found: Found) -> bool:
    values = claims.moved(held, "unknown", "executed")
    if not tx.wrote(_FINISH, {**values, "at": tx.now}):
        return False
    result = Result(
        outcome="executed",
        detail=found.detail,
        artifact=found.artifact,
        provider_ref=found.provider_ref,
    )
    _record(tx, held, result)
    _close(tx, held)
    items.move(tx, item, Event.RECONCILE, State.EXECUTED)
    return True


def _settle_not(tx: Transaction, held: Claim, item: Item, found: Found) -> bool:
    _require_no_late_result(tx, held)
    values = {
        **claims.moved(held, "unknown", "retry_ready"),
        "at": tx.now + _backoff(held.attempts),
        "lost_at": None if found.settled else held.lost_at,
    }
    if not tx.wrote(_MAKE_DUE, values):
        return False
    proposals.record_artifact(tx, found.artifact)
    # Nothing is under way: others may have the resource until it is claimed again.
    reservations.release(tx, held.key)
    outbox.mark(tx, held.id, "pending")
    items.move(tx, item, Event.RECONCILE, State.RETRY_READY)
    return True


def _require_no_late_result(tx: Transaction, held: Claim) -> None:
    for told in audit.facts_of(tx, held.workflow, "late_write_refused"):
        if told.get("claim") == held.id and told.get("outcome") == "executed":
            raise Conflict(
                f"It did happen: {told.get('owner')}, which had lost its claim, was "
                f"answered for {told.get('provider_ref')}: {told.get('detail')}",
                code="late_result",
                hint="Settle it as happened; placet audit show tells the whole.",
            )


def _record(tx: Transaction, held: Claim, result: Result) -> None:
    proposals.record_artifact(tx, result.artifact)
    tx.run(
        _INSERT,
        {
            "id": f"e-{uuid.uuid4().hex[:16]}",
            "claim": held.id,
            "workflow": held.workflow,
            "item": held.item,
            "version": held.version,
            "scope": held.scope,
            "key": held.key,
            "token": held.token,
            "outcome": result.outcome,
            "detail": result.detail,
            "artifact": result.artifact.ref,
            "provider_ref": result.provider_ref,
            "at": tx.now,
        },
    )


def _close(tx: Transaction, held: Claim) -> None:
    outbox.mark(tx, held.id, "done")
    reservations.release(tx, held.key)


def _backoff(attempts: int) -> timedelta:
    """The first retry comes at once, the others later and later, up to 5 minutes."""
    return timedelta(seconds=0 if attempts <= 1 else min(300, 2 ** (attempts - 1)))
