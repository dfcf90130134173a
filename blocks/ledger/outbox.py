"""The outbox: what was promised, in the transaction of the record that causes it.

An effect's row holds the bytes that are sent at every attempt. A wake's row stays open
until the run has taken up what it is woken for.
"""

from datetime import datetime
from typing import Any, Literal, TypeAlias

from sqlalchemy import bindparam, delete, insert, select, update

from blocks.artifacts import StoredArtifact
from blocks.ledger import proposals, vouching
from blocks.ledger.database import Transaction
from blocks.ledger.effect_tables import OutboxRow
from policies.errors import NotFound
from policies.value import Json, Value

RowState: TypeAlias = Literal["pending", "sent", "done", "dropped"]

_INSERT = insert(OutboxRow)
_OF_CLAIM = select(OutboxRow).where(OutboxRow.id == bindparam("row"))
_MARK = (
    update(OutboxRow)
    .where(OutboxRow.id == bindparam("of"))
    .values(state=bindparam("to_state"), done_at=bindparam("at"))
)
_OPEN_WAKES = (
    select(OutboxRow.workflow, OutboxRow.made_at)
    .where(OutboxRow.kind == "wake", OutboxRow.state == "pending")
    .order_by(OutboxRow.made_at)
    .limit(bindparam("most"))
)
_CONSUMED = (
    update(OutboxRow)
    .where(
        OutboxRow.workflow == bindparam("of"),
        OutboxRow.kind == "wake",
        OutboxRow.state == "pending",
    )
    .values(state="done", done_at=bindparam("at"))
)
_FORGET = delete(OutboxRow).where(OutboxRow.id == bindparam("of"))


class Outgoing(Value):
    """What is to be promised: where the bytes lie, and to whom they go."""

    message: StoredArtifact
    envelope: dict[str, Json]


class Entry(Value):
    """An effect's row: which bytes go to whom, and how far that has come."""

    workflow: str
    claim: str
    message: str
    envelope: dict[str, Json]
    state: RowState


def promise(tx: Transaction, workflow: str, claim: str, what: Outgoing) -> None:
    """Promise an effect, with the claim on it."""
    proposals.record_artifact(tx, what.message)
    tx.run(
        _INSERT,
        {
            "id": _row_of(claim),
            "kind": "effect",
            "workflow": workflow,
            "claim": claim,
            "message": what.message.ref,
            "envelope": what.envelope,
            "state": "pending",
            "made_at": tx.now,
        },
    )


def told_of(what: Outgoing | Entry | None) -> dict[str, str]:
    """What the trail says of a promise: which bytes, and a digest of to whom they go.

    An internal effect promises nothing.
    """
    if what is None:
        return {}
    ref = what.message.ref if isinstance(what, Outgoing) else what.message
    return vouching.message_facts(ref, what.envelope)


def promise_wake(tx: Transaction, workflow: str, cause: str, **facts: Json) -> None:
    """Promise to wake a workflow's run for what was just recorded.

    `cause` is unique to what was recorded; `facts` are ids and versions, no content.
    """
    row = {
        "id": f"wake-{cause}",
        "kind": "wake",
        "workflow": workflow,
        "envelope": facts,
        "state": "pending",
        "made_at": tx.now,
    }
    tx.inserted(OutboxRow, row)


def of_claim(tx: Transaction, claim: str) -> Entry:
    """The message of a claim, or `NotFound` (an internal effect has none)."""
    found = find(tx, claim)
    if found is None:
        raise NotFound(f"Nothing was promised for claim {claim}.")
    return found


def find(tx: Transaction, claim: str) -> Entry | None:
    """The message of a claim, if it has one."""
    row = tx.one(_OF_CLAIM, {"row": _row_of(claim)})
    if row is None:
        return None
    values = row._asdict()
    return Entry.model_validate({n: values[n] for n in Entry.model_fields})


def mark(tx: Transaction, claim: str, state: RowState) -> None:
    """Note how far a claim's message has come; the claim's guarded write comes first.

    An internal effect has no message, and nothing is noted.
    """
    over = tx.now if state in ("done", "dropped") else None
    tx.run(_MARK, {"of": _row_of(claim), "to_state": state, "at": over})


def open_wakes(tx: Transaction, most: int) -> tuple[tuple[str, datetime], ...]:
    """Workflows that are to be woken, and since when; the oldest first."""
    rows: Any = tx.all(_OPEN_WAKES, {"most": most})
    return tuple((row.workflow, row.made_at) for row in rows)


def note_consumed(tx: Transaction, workflow: str) -> None:
    """The run has taken up everything that was recorded: no wake is owed any more."""
    tx.run(_CONSUMED, {"of": workflow, "at": tx.now})


def forget(tx: Transaction, claim: str) -> None:
    """Remove the message row of a claim that is buried; its bytes stay."""
    tx.run(_FORGET, {"of": _row_of(claim)})


def _row_of(claim: str) -> str:
    return f"effect-{claim}"
