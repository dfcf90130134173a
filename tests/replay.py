"""A trail read again as steps of the state table: where they leave the item."""

from collections.abc import Sequence
from typing import Any

from blocks.ledger import audit
from policies.lifecycle import Event, State, advance, allowed_events

_STEPS: dict[str, Event] = {
    "item_queued": Event.ASK,
    "item_assigned": Event.ASSIGN,
    "item_opened": Event.OPEN,
    "approve_requested": Event.APPROVE_COUNTED,
    "rejected": Event.REJECT,
    "withdrawn": Event.WITHDRAW,
    "cancelled": Event.CANCEL,
    "claim_taken_over": Event.TAKEOVER,
    "execution_failed": Event.FAIL,
    "execution_unknown": Event.LOSE_TRACK,
    "rolled_back": Event.ROLL_BACK,
}


def replay(trail: Sequence[audit.Event]) -> State | None:
    """The state in which a workflow of one item is left by its trail.

    `Conflict` for a step that the table does not have; it has none out of a final one.
    """
    state: State | None = None
    for event in trail:
        state = _after(state, event.event, event.facts)
    return state


def _after(state: State | None, name: str, told: dict[str, Any]) -> State | None:
    if name in _STEPS:
        return advance(state, _STEPS[name])
    match name:
        case "approved":
            by_policy = told["method"] == "policy"
            return advance(state, Event.POLICY_APPROVE if by_policy else Event.APPROVE)
        case "payload_edited":
            return advance(state, Event(told["cause"]))
        case "expired":
            return advance(state, Event(told["reason"].split()[0]), State.EXPIRED)
        case "resume_claimed":
            return advance(state, Event.RESUME_CLAIM, State.RESUME_CLAIMED)
        case "resumed" if state == State.RESUME_CLAIMED:
            return advance(state, Event.CHECKPOINT_ADVANCE)
        case "policy_blocked" | "reapproval_required":
            return _refused(state, State(told["state"]))
        case "execution_claimed":
            again = state == State.RETRY_READY
            return advance(state, Event.RETRY if again else Event.CLAIM_EFFECT)
        case "reconciled":
            return advance(state, Event.RECONCILE, State(told["outcome"]))
        case "executed" if "method" not in told:
            # With one it is told beside "reconciled".
            return advance(state, Event.SUCCEED)
    return state


def _refused(state: State | None, to: State) -> State | None:
    """The guard's no; where the table lets nothing follow from it, nothing did."""
    if state is not None and Event.GUARD_REFUSE not in allowed_events(state):
        assert to == state, f"{state} was left for {to} by the guard's no"
        return state
    return advance(state, Event.GUARD_REFUSE, to)
