"""The audit trail: append-only events, one hash chain per workflow.

Every event's hash covers its number, time, name and facts and the hash of the one
before it; the chain's head is kept apart, so that a cut tail shows as well. A chain is
a workflow's: each of its events carries the flow run that works on it at that moment,
or did last, as `flow_run`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast

from sqlalchemy import Row, bindparam, insert, select, union, update

from blocks.ledger import append_only, vouching
from blocks.ledger.tables import APPEND_ONLY, AuditEvent, AuditHead, WorkflowSession
from blocks.ledger.vouching import Vouched
from policies import canonical
from policies.errors import Conflict
from policies.value import Json, Value

if TYPE_CHECKING:
    from blocks.ledger.database import Transaction

EventName: TypeAlias = Literal[
    "request_opened",
    "decision_made",
    "tool_called",
    "step_completed",
    "interaction_asked",
    "interaction_answered",
    "interaction_lapsed",
    "item_queued",
    "item_assigned",
    "item_opened",
    "payload_edited",
    "approval_requested",
    "approve_requested",
    "reject_requested",
    "verdict_refused",
    "answer_refused",
    "choice_made",
    "choice_refused",
    "approved",
    "rejected",
    "expired",
    "withdrawn",
    "cancelled",
    "resume_claimed",
    "resumed",
    "resume_conflict",
    "policy_blocked",
    "reapproval_required",
    "execution_claimed",
    "claim_taken_over",
    "late_write_refused",
    "idempotency_conflict",
    "dispatched",
    "executed",
    "execution_failed",
    "execution_unknown",
    "retry_ready",
    "reconciled",
    "rolled_back",
    "settle_refused",
    "roll_back_refused",
    "frozen",
    "unfrozen",
    "freeze_refused",
    "resume_unknown",
    "request_closed",
    "request_reopened",
    "lease_taken_over",
    "request_restarted",
    "reviewer_added",
    "reviewer_rotated",
    "reviewer_revoked",
    "keys_rotated",
    "policy_set",
    "domain_records_loaded",
]
GENESIS = "sha256:" + "0" * 64
ADMIN_CHAIN = "admin"
"""The chain of what belongs to no workflow: people, keys, policies."""

_FLOW_RUN = (
    select(WorkflowSession.flow_run_id)
    .where(WorkflowSession.id == AuditHead.chain)
    .scalar_subquery()
)
# The flow run in the same statement: an event costs no query more for it.
_HEAD = select(AuditHead.seq, AuditHead.hash, _FLOW_RUN.label("flow_run")).where(
    AuditHead.chain == bindparam("chain")
)
_LOCKED_HEAD = _HEAD.with_for_update()
_INSERT_EVENT = insert(AuditEvent)
_MOVE_HEAD = (
    update(AuditHead)
    .where(AuditHead.chain == bindparam("of"), AuditHead.seq == bindparam("from_seq"))
    .values(seq=bindparam("to_seq"), hash=bindparam("to_hash"))
)
_CHAIN = (
    select(AuditEvent)
    .where(AuditEvent.chain == bindparam("chain"))
    .order_by(AuditEvent.seq)
)
_NAMED = (
    select(AuditEvent.facts)
    .where(
        AuditEvent.chain == bindparam("chain"), AuditEvent.event == bindparam("event")
    )
    .order_by(AuditEvent.seq)
)
# One statement sees one moment: a chain that grows meanwhile still fits its head.
_CHAIN_WITH_HEAD = _CHAIN.add_columns(
    AuditHead.seq.label("head_seq"), AuditHead.hash.label("head_hash")
).outerjoin(AuditHead, AuditHead.chain == AuditEvent.chain)


class NewEvent(NamedTuple):
    """An event that is not yet in the chain."""

    event: str
    at: str
    facts: dict[str, Json]


class Event(Value):
    """One event of the trail, as it was hashed."""

    chain: str
    seq: int
    event: str
    at: str
    facts: dict[str, Json]
    previous: str
    hash: str


class Fault(Value):
    """The first event of a chain that is not as it was written.

    With number 0 it is no event: the database lacks what keeps one of its tables, or
    one of its rows stands in no trail.
    """

    chain: str
    seq: int
    problem: str


def append(tx: Transaction, chain: str, event: EventName, **facts: Any) -> None:
    """Add an event to a chain when the transaction ends; None facts are left out."""
    present = {name: value for name, value in facts.items() if value is not None}
    plain = cast("dict[str, Json]", canonical.normalise(_plain(present)))
    new = NewEvent(event=event, at=stamp(tx.now), facts=plain)
    tx.pending_events.setdefault(chain, []).append(new)


def flush(tx: Transaction) -> None:
    """Write what was appended. Chains in one order, so that no two writers deadlock."""
    for chain in sorted(tx.pending_events):
        _extend(tx, chain, tx.pending_events[chain])
    tx.pending_events.clear()


def stamp(moment: datetime) -> str:
    """A moment as RFC 3339 in UTC with microseconds, always of one length."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def events(tx: Transaction, chain: str) -> Iterator[Event]:
    """A chain's events in order."""
    for row in tx.all(_CHAIN, {"chain": chain}):
        yield _event(row)


def facts_of(tx: Transaction, chain: str, event: EventName) -> list[dict[str, Json]]:
    """The facts of a chain's events of one name, the first one first."""
    rows = tx.all(_NAMED, {"chain": chain, "event": event})
    return [cast("dict[str, Json]", canonical.read_json(row.facts)) for row in rows]


def verify(tx: Transaction) -> tuple[int, Fault | None]:
    """How many events there are, and the first one that is not as it was written.

    Where all are, a row of which no event tells is the fault, or one that is gone, or a
    table whose triggers are not as they were made.
    """
    count, needed = 0, vouching.needed(tx, ADMIN_CHAIN)
    told: set[Vouched] = set()
    # A request without a trail has lost it, its head included.
    chains = union(
        select(AuditHead.chain), select(AuditEvent.chain), select(WorkflowSession.id)
    )
    found = {row.chain for row in tx.all(chains)}
    for chain in sorted(found | {row.chain for row in needed}):
        checked, fault = _verify_chain(tx, chain, told)
        count += checked
        if fault is not None:
            return count, fault
    return count, _unvouched(tx, needed, told) or _unguarded(tx)


def _extend(tx: Transaction, chain: str, new: list[NewEvent]) -> None:
    head = _head(tx, chain)
    rows, seq, previous = [], head.seq, head.hash
    for event in new:
        seq += 1
        text = _text(event.facts, head.flow_run)
        digest = _hash(chain, seq, event.event, event.at, text, previous)
        row = {"chain": chain, "seq": seq, **event._asdict(), "facts": text}
        rows.append({**row, "previous": previous, "hash": digest})
        previous = digest
    tx.run_many(_INSERT_EVENT, rows)
    _move_head(tx, chain, head.seq, seq, previous)


def _text(facts: dict[str, Json], flow_run: str | None) -> str:
    whole = facts if flow_run is None else {"flow_run": flow_run, **facts}
    return canonical.canonical_bytes(whole).decode()


def _head(tx: Transaction, chain: str) -> Row[Any]:
    """The chain's last number and hash, ours until the transaction ends.

    A new chain gets its head first: of two who begin it at once, one waits.
    """
    query = _LOCKED_HEAD if tx.locks_rows else _HEAD
    head = tx.one(query, {"chain": chain})
    if head is None:
        tx.inserted(AuditHead, {"chain": chain, "seq": 0, "hash": GENESIS})
        head = tx.run(query, {"chain": chain}).one()
    return head


def _move_head(tx: Transaction, chain: str, first: int, seq: int, digest: str) -> None:
    moved = {"of": chain, "from_seq": first, "to_seq": seq, "to_hash": digest}
    if not tx.wrote(_MOVE_HEAD, moved):
        raise Conflict(f"The trail of {chain} was extended by another transaction.")


def _hash(chain: str, seq: int, event: str, at: str, facts: str, previous: str) -> str:
    message = canonical.canonical_bytes([chain, seq, event, at, facts, previous])
    return canonical.digest("audit", message)


def _verify_chain(
    tx: Transaction, chain: str, told: set[Vouched]
) -> tuple[int, Fault | None]:
    """Count a chain's events, and add what they vouch for to what is told."""
    previous, seq, head = GENESIS, 0, None
    for row in tx.all(_CHAIN_WITH_HEAD, {"chain": chain}):
        seq, head = seq + 1, (row.head_seq, row.head_hash)
        if row.seq != seq:
            return seq, Fault(chain=chain, seq=seq, problem="this event is missing")
        found = _hash(chain, seq, row.event, row.at, row.facts, previous)
        if row.previous != previous or row.hash != found:
            return seq, Fault(chain=chain, seq=seq, problem="this event was altered")
        told.update(vouching.told(row))
        previous = row.hash
    if head != (seq, previous):
        problem = "the end of the trail was cut off or its head altered"
        return seq, Fault(chain=chain, seq=seq + 1, problem=problem)
    return seq, None


def _unvouched(
    tx: Transaction, needed: set[Vouched], told: set[Vouched]
) -> Fault | None:
    for row in sorted(needed - told, key=repr):
        return Fault(chain=row.chain, seq=0, problem=row.untold)
    # Looked at after the trails: whatever they tell of was there before.
    for row in sorted(vouching.gone(tx, ADMIN_CHAIN, told), key=repr):
        return Fault(chain=row.chain, seq=0, problem=row.gone)
    return None


def _unguarded(tx: Transaction) -> Fault | None:
    standing = append_only.guarded(tx.connection)
    for table in APPEND_ONLY:
        for name in append_only.trigger_names(tx.connection.dialect.name, table):
            if name not in standing:
                problem = f"it can be changed: its trigger {name} is not as made"
                return Fault(chain=f"the table {table}", seq=0, problem=problem)
    return None


def _event(row: Any) -> Event:
    facts = canonical.read_json(row.facts)
    assert isinstance(facts, dict)
    return Event(
        chain=row.chain,
        seq=row.seq,
        event=row.event,
        at=row.at,
        facts=facts,
        previous=row.previous,
        hash=row.hash,
    )


def _plain(value: Any) -> Any:
    """Times, tuples, words of an enum and values as JSON."""
    if isinstance(value, Value):
        return value.model_dump(mode="json")
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, datetime):
        return stamp(value)
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value
