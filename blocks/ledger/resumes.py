"""The resume contract: one outcome takes a wait's slot, once.

The slot is (workflow, checkpoint, interrupt); the outcome is a digest of the round's
verdicts with their payload versions and hashes. `claim_or_get` binds it, `consume`
advances the checkpoint. A second outcome for a taken slot is a conflict.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select, update

from blocks.domain import Domain
from blocks.ledger import (
    audit,
    endings,
    facts,
    items,
    questions,
    sessions,
    verdicts,
    versions,
)
from blocks.ledger.database import Transaction
from blocks.ledger.facts import Stored
from blocks.ledger.items import Item
from blocks.ledger.sessions import Held, Pending, Session
from blocks.ledger.tables import ResumeBinding, Verdict
from policies import canonical
from policies.errors import Conflict, Superseded
from policies.guard import Executable
from policies.lifecycle import Event, State
from policies.state import RequestState
from policies.value import Json, Value


class Binding(Value):
    """A taken slot; `consumed` says that the checkpoint has advanced already."""

    checkpoint: int
    interrupt: str
    outcome: str
    consumed: bool


class SlotTaken(Value):
    """Another outcome has the slot: `bound` is its digest, `asked` the one refused."""

    interrupt: str
    bound: str
    asked: str


def outcome_of(tx: Transaction, workflow: str) -> str:
    """The digest of every verdict, with its version's hash, and of every answer."""
    rows: list[Json] = []
    for item in items.of_workflow(tx, workflow):
        version = versions.load(tx, item.id, item.version)
        query = select(Verdict.decision_id, Verdict.verdict, Verdict.version)
        for row in tx.all(query.where(Verdict.item == item.id).order_by(Verdict.seq)):
            rows.append([item.id, *row, version.snapshot.payload.hash])
    for asked in questions.of_workflow(tx, workflow):
        rows.append([asked.question.id, asked.state, asked.answer])
    return canonical.digest("outcome", canonical.canonical_bytes(rows))


def claim_or_get(
    tx: Transaction,
    held: Held,
    session: Session,
    pending: Pending,
    domain: Domain,
    stored: Mapping[str, Stored],
) -> Binding | SlotTaken:
    """Bind the round's outcome to its slot, or find it bound.

    Every approved item is judged by the guard again; what it refuses is not resumed.
    `SlotTaken` is recorded, so the caller's transaction must be committed.
    """
    sessions.require(tx, held)
    outcome = outcome_of(tx, held.workflow)
    row = {
        "workflow": held.workflow,
        "checkpoint": pending.checkpoint,
        "interrupt": pending.interrupt,
        "outcome": outcome,
        "token": held.token,
        "state": "bound",
        "bound_at": tx.now,
    }
    if tx.inserted(ResumeBinding, row):
        for item in items.of_workflow(tx, held.workflow):
            if item.state == State.APPROVED and not item.held:
                seen = stored.get(seen_as(item))
                if seen is None:
                    raise Conflict("It was decided meanwhile.", code="facts_moved")
                _claim_item(tx, session, item, domain, seen)
    return _get(tx, held, pending, outcome)


def seen_as(item: Item) -> str:
    """The name under which what was read of an item is handed to `claim_or_get`."""
    return f"{item.id} v{item.version}"


def is_overtaken(tx: Transaction, workflow: str, pending: Pending) -> bool:
    """Whether the slot was taken and something was decided since: withdrawn, say.

    What is decided then needs a slot of its own.
    """
    slot = _slot(workflow, pending.checkpoint, pending.interrupt)
    row = tx.one(select(ResumeBinding.outcome).where(*slot))
    return row is not None and row.outcome != outcome_of(tx, workflow)


def consume(tx: Transaction, held: Held, binding: Binding, state: RequestState) -> Held:
    """Advance the checkpoint with the slot's outcome: all in this transaction."""
    took = update(ResumeBinding).where(
        *_slot(held.workflow, binding.checkpoint, binding.interrupt),
        ResumeBinding.state == "bound",
    )
    if not tx.wrote(took.values(state="consumed", consumed_at=tx.now)):
        raise Superseded(
            f"The round of {held.workflow} was resumed by another process."
        )
    for item in items.of_workflow(tx, held.workflow):
        if item.state == State.RESUME_CLAIMED:
            items.move(tx, item, Event.CHECKPOINT_ADVANCE)
    saved = sessions.save_state(tx, held, state)
    moved = sessions.write(tx, saved, pending=None, status="running")
    audit.append(
        tx,
        held.workflow,
        "resumed",
        checkpoint=binding.checkpoint,
        interrupt=binding.interrupt,
        outcome=binding.outcome,
        fencing_token=held.token,
    )
    return moved


def _claim_item(
    tx: Transaction, session: Session, item: Item, domain: Domain, stored: Stored
) -> None:
    version = versions.load(tx, item.id, item.version)
    answer = facts.ask_guard(tx, session, item, version.snapshot, stored, domain)
    if not isinstance(answer, Executable):
        endings.refuse(tx, item, answer, "resume")
        return
    items.move(tx, item, Event.RESUME_CLAIM, State.RESUME_CLAIMED)
    audit.append(
        tx,
        item.workflow,
        "resume_claimed",
        **items.facts(item, version),
        **verdicts.approval(tx, item),
    )


def _get(
    tx: Transaction, held: Held, pending: Pending, outcome: str
) -> Binding | SlotTaken:
    slot = _slot(held.workflow, pending.checkpoint, pending.interrupt)
    row = tx.run(select(ResumeBinding).where(*slot)).one()
    if row.outcome != outcome:
        audit.append(
            tx,
            held.workflow,
            "resume_conflict",
            interrupt=pending.interrupt,
            bound=row.outcome,
            asked=outcome,
        )
        return SlotTaken(interrupt=pending.interrupt, bound=row.outcome, asked=outcome)
    return Binding(
        checkpoint=row.checkpoint,
        interrupt=row.interrupt,
        outcome=row.outcome,
        consumed=row.state == "consumed",
    )


def _slot(workflow: str, checkpoint: int, interrupt: str) -> tuple[Any, ...]:
    return (
        ResumeBinding.workflow == workflow,
        ResumeBinding.checkpoint == checkpoint,
        ResumeBinding.interrupt == interrupt,
    )
