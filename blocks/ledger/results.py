"""What became of each item's effect, as it stands now: also where it was lost first,
and settled later.
"""

from datetime import datetime
from typing import Any, Literal

from blocks.ledger import audit, effects, items
from blocks.ledger.audit import Event
from blocks.ledger.database import Transaction
from policies.value import Value


class Settled(Value):
    """How an unknown outcome was settled: by a person, or by asking the provider."""

    by: str
    method: str
    happened: bool
    reason: str
    at: str


class Standing(Value):
    """An item's newest result. One that did not happen after all is `retry_ready`."""

    item: str
    action: str
    operation: str
    outcome: Literal["executed", "failed", "unknown", "retry_ready"]
    detail: str
    artifact: str
    provider_ref: str
    at: datetime
    settled: Settled | None
    reversed_by: str | None


def standing(tx: Transaction, workflow: str) -> tuple[Standing, ...]:
    """The newest result of each item of a request that has one, in plan order."""
    events = tuple(audit.events(tx, workflow))
    newest = (
        (item, effects.results_of(tx, item.id))
        for item in items.of_workflow(tx, workflow)
    )
    return tuple(
        _standing(item.action, rows[-1], events) for item, rows in newest if rows
    )


def _standing(action: str, row: dict[str, Any], events: tuple[Event, ...]) -> Standing:
    settled = _settled(row["key"], events)
    again = row["outcome"] == "unknown" and settled is not None
    return Standing(
        item=row["item"],
        action=action,
        operation=row["key"],
        outcome="retry_ready" if again else row["outcome"],
        detail=row["detail"],
        artifact=row["artifact"],
        provider_ref=row["provider_ref"],
        at=row["at"],
        settled=settled,
        reversed_by=_reversed_by(row["item"], events),
    )


def _settled(operation: str, events: tuple[Event, ...]) -> Settled | None:
    """How the last attempt's outcome was settled; another attempt begins anew."""
    found = None
    for event in events:
        facts = event.facts
        if facts.get("idempotency_key") != operation:
            continue
        if event.event == "dispatched":
            found = None
        if event.event == "reconciled":
            found = Settled(
                by=str(facts["actor"]),
                method=str(facts["method"]),
                happened=facts["outcome"] == "executed",
                reason=str(facts.get("reason") or facts["detail"]),
                at=event.at,
            )
    return found


def _reversed_by(item: str, events: tuple[Event, ...]) -> str | None:
    told = [e.facts for e in events if e.event == "rolled_back"]
    known = [str(f["rollback_reference"]) for f in told if f["item"] == item]
    return known[-1] if known else None
