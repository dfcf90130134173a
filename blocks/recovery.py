"""The points at which a process may die, and another one goes on from what is durable.

Each lies between two durable steps, outside every transaction. Tests stop, kill or cut
off a process there; in production `reach` does nothing.
"""

from collections.abc import Callable
from enum import StrEnum


class Point(StrEnum):
    """Named for what is durable; the line below each says what is not yet."""

    SESSION_OPENED = "session opened"
    """The request is in the ledger; no process holds its lease."""
    LEASE_TAKEN = "lease taken"
    """The session is ours; nothing was done under this lease."""
    DECISION_RECORDED = "decision recorded"
    """What comes next was chosen, with its reasons; it was not begun."""
    DRAFT_SAVED = "draft saved"
    """One tool of a step left its result; the step is not complete."""
    STEP_SAVED = "step saved"
    """A step and its results are complete; the next one was not chosen."""
    ITEM_ASKED = "item asked"
    """An action is an item, or has a new version; its step is not complete."""
    FACTS_READ_AGAIN = "facts read again"
    """The context was renewed under the reviewer; the items made from it were not."""
    ROUND_OPENED = "round opened"
    """The packet is kept and the session waits for it; no pause was written down."""
    PAUSE_WRITTEN = "pause written down"
    """The ledger knows the pause; Prefect does not."""
    PAUSED = "Prefect paused"
    """Prefect shows the form; nobody has answered it."""
    FORM_ANSWERED = "form answered"
    """Prefect has the answer; the ledger has no verdict."""
    VERDICT_RECORDED = "verdict recorded"
    """The verdict and its promise of a wake are kept; the run was not woken."""
    FORM_READ = "form read"
    """What the answer came to is kept; it still lies at Prefect, its pause unread."""
    PAUSE_ENDED = "pause ended"
    """The form is done with; the round was not resumed."""
    SLOT_BOUND = "slot bound"
    """The round's outcome has its slot; the checkpoint did not advance."""
    SLOT_CONSUMED = "slot consumed"
    """The checkpoint advanced; the effect was not claimed."""
    CLAIMED = "claimed"
    """The effect is claimed and its message promised; it was not dispatched."""
    DISPATCHED = "dispatched"
    """From here on no record means "not known"; nothing was sent."""
    SENT = "sent"
    """The provider has it; the ledger does not know."""
    RECORDED = "recorded"
    """The outcome is in the ledger; the request's state does not show it."""
    STATE_NOTED = "state noted"
    """The request's state shows the outcome; what follows was not chosen."""
    OUTCOME_LOST = "outcome lost"
    """A dead process's send is noted as unknown; nobody was asked about it."""
    RECONCILED = "reconciled"
    """An unknown outcome was settled; the request has not gone on."""
    RETRY_CLAIMED = "retry claimed"
    """What did not happen is claimed again, same key; it was not dispatched."""
    REQUEST_CLOSED = "request closed"
    """The session has ended; its lease and its run have not."""
    LEASE_RELEASED = "lease released"
    """The session is free for others; the process has not ended."""
    RESTART_COUNTED = "restart counted"
    """The supervisor noted a restart; the run was not scheduled again."""


def go_on(point: Point) -> None:
    """What happens in production: nothing."""


at_point: Callable[[Point], None] = go_on
"""What happens at a point; tests put something else in its place."""


def reach(point: Point) -> None:
    """Say that this point is reached."""
    at_point(point)
