"""The states of an item and the only ways from one to another, as data.

Whatever `TABLE` does not list is refused. `docs/states.md` is made from here.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Literal

from policies.errors import Conflict
from policies.value import Value

DecisionState = Literal["pending", "approved", "rejected", "escalated", "expired"]


class State(StrEnum):
    """Where an item is."""

    QUEUED = "queued"
    ASSIGNED = "assigned"
    WAITING_FOR_REVIEW = "waiting_for_review"
    ESCALATED = "escalated"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    BLOCKED = "blocked"
    RESUME_CLAIMED = "resume_claimed"
    GRAPH_RESUMED = "graph_resumed"
    RESUME_UNKNOWN = "resume_unknown"
    EXECUTION_CLAIMED = "execution_claimed"
    REAPPROVAL_REQUIRED = "reapproval_required"
    EXECUTED = "executed"
    FAILED = "failed"
    EXECUTION_UNKNOWN = "execution_unknown"
    RETRY_READY = "retry_ready"


class Event(StrEnum):
    """What can happen to an item."""

    ASK = "ask"
    POLICY_APPROVE = "policy_approve"
    ASSIGN = "assign"
    OPEN = "open"
    APPROVE_COUNTED = "approve_counted"
    APPROVE = "approve"
    EDIT = "edit"
    SELECT = "select"
    REJECT = "reject"
    ESCALATE = "escalate"
    DEADLINE_PASSED = "deadline_passed"
    EXTEND = "extend"
    REASSIGN = "reassign"
    CANCEL = "cancel"
    WITHDRAW = "withdraw"
    EXPIRE = "expire"
    RESUME_CLAIM = "resume_claim"
    CHECKPOINT_ADVANCE = "checkpoint_advance"
    RESUME_LOST = "resume_lost"
    RESUME_RECONCILE = "resume_reconcile"
    GUARD_REFUSE = "guard_refuse"
    CLAIM_EFFECT = "claim_effect"
    HEARTBEAT = "heartbeat"
    TAKEOVER = "takeover"
    SAME_KEY = "same_key"
    PRECONDITION_FAIL = "precondition_fail"
    NEW_VERSION = "new_version"
    SUCCEED = "succeed"
    FAIL = "fail"
    LOSE_TRACK = "lose_track"
    RECONCILE = "reconcile"
    RETRY = "retry"
    ROLL_BACK = "roll_back"


class Transition(Value):
    """One row. The source None is the start; `stays` makes the source a target too."""

    sources: tuple[State | None, ...]
    event: Event
    targets: tuple[State, ...]
    check: str
    stays: bool = False

    def targets_from(self, source: State | None) -> tuple[State, ...]:
        """Every state that this event may lead to from that source."""
        same = (source,) if self.stays and source is not None else ()
        return (*same, *self.targets)


def _row(
    sources: tuple[State | None, ...],
    event: Event,
    targets: tuple[State, ...],
    stays: bool = False,
) -> Callable[[str], Transition]:
    """The left side of a row; its check and effect follow in a call of their own."""
    return lambda check: Transition(
        sources=sources, event=event, targets=targets, check=check, stays=stays
    )


_UNESCALATED = (State.QUEUED, State.ASSIGNED, State.WAITING_FOR_REVIEW)
_UNDECIDED = (*_UNESCALATED, State.ESCALATED)
_APPROVED_UNCLAIMED = (State.APPROVED, State.RESUME_CLAIMED, State.GRAPH_RESUMED)
_WAITING = (State.WAITING_FOR_REVIEW,)
_CLAIMED = (State.EXECUTION_CLAIMED,)

_NEVER_EXECUTED = (State.REJECTED, State.EXPIRED, State.CANCELLED, State.BLOCKED)

OPEN: frozenset[State] = frozenset(_UNDECIDED)
"""States that still wait for a verdict, if need be after an assignment and opening."""

FINAL: frozenset[State] = frozenset({*_NEVER_EXECUTED, State.EXECUTED, State.FAILED})
"""States that nothing leaves; a roll-back is noted on an executed item, in place."""

TABLE: tuple[Transition, ...] = (
    _row((None,), Event.ASK, (State.QUEUED,))(
        "evidence is verified; the deadline is set in the same transaction"
    ),
    _row((State.QUEUED,), Event.POLICY_APPROVE, (State.APPROVED,))(
        "automatic review: snapshot and reasons, recorded like any verdict"
    ),
    _row((State.QUEUED,), Event.ASSIGN, (State.ASSIGNED,))(
        "role and conflict of interest"
    ),
    _row((State.ASSIGNED,), Event.OPEN, _WAITING)(
        "what is seen is recorded: refs and versions of payload, evidence, provenance"
    ),
    _row(_WAITING, Event.OPEN, _WAITING)(
        "seen again, or by another reviewer of the quorum"
    ),
    _row(_WAITING, Event.APPROVE_COUNTED, _WAITING)(
        "quorum still open; the verdict counts for this version only"
    ),
    _row(_WAITING, Event.APPROVE, (State.APPROVED,))(
        "quorum full; recomputed and compared; permission; expires_at is set"
    ),
    _row(_WAITING, Event.EDIT, _WAITING)(
        "new artifact, version, hash and diff; earlier verdicts are void; asked again"
    ),
    _row(_WAITING, Event.SELECT, _WAITING)(
        "as an edit: the chosen option is a new version, which is asked again"
    ),
    _row(_WAITING, Event.REJECT, (State.REJECTED,))(
        "a reason is required; never executed"
    ),
    _row(_UNESCALATED, Event.ESCALATE, (State.ESCALATED,))(
        "assignee policy and required permission judged again; deadline reset"
    ),
    _row(_UNDECIDED, Event.DEADLINE_PASSED, (State.ESCALATED, State.EXPIRED))(
        "by policy; never approved"
    ),
    _row(_UNDECIDED, Event.EXTEND, (), stays=True)(
        "a reason is required; only the deadline moves"
    ),
    _row(_UNDECIDED, Event.REASSIGN, (State.ASSIGNED,))(
        "a reason is required; conflict of interest judged again"
    ),
    _row((State.ESCALATED,), Event.ASSIGN, (State.ASSIGNED,))(
        "authority and conflict of interest anew; the old one's is gone; deadline reset"
    ),
    _row(
        (
            *_UNDECIDED,
            *_APPROVED_UNCLAIMED,
            State.RESUME_UNKNOWN,
            State.REAPPROVAL_REQUIRED,
            *_CLAIMED,
            State.RETRY_READY,
        ),
        Event.CANCEL,
        (State.CANCELLED,),
    )(
        "the run was cancelled or the request withdrawn; only where no effect can be "
        "under way: not claimed, claimed and not dispatched (the claim is released), "
        "or known not to have happened"
    ),
    _row(_APPROVED_UNCLAIMED, Event.WITHDRAW, _WAITING)(
        "by an approver, before the claim; a new verdict row"
    ),
    _row((State.APPROVED,), Event.EXPIRE, (State.EXPIRED,))(
        "expires_at has passed; never executed"
    ),
    _row(
        (State.APPROVED,),
        Event.RESUME_CLAIM,
        (State.RESUME_CLAIMED, State.GRAPH_RESUMED),
    )("slot and verdict are bound atomically; graph_resumed if a result exists"),
    _row((State.RESUME_CLAIMED,), Event.CHECKPOINT_ADVANCE, (State.GRAPH_RESUMED,))(
        "same key, newest fencing token; consumption and result ref in one transaction"
    ),
    _row((State.RESUME_CLAIMED,), Event.RESUME_LOST, (State.RESUME_UNKNOWN,))(
        "whether it was consumed can't be told; no second call"
    ),
    _row(
        (State.RESUME_UNKNOWN,),
        Event.RESUME_RECONCILE,
        (State.GRAPH_RESUMED, State.APPROVED),
    )("consumed after all, or provably not"),
    _row(
        (*_APPROVED_UNCLAIMED, *_CLAIMED, State.RETRY_READY),
        Event.GUARD_REFUSE,
        (State.BLOCKED, State.REAPPROVAL_REQUIRED, State.EXPIRED),
        stays=True,
    )("by the guard's reasons (same: frozen, say); the reservation is released"),
    _row((State.GRAPH_RESUMED,), Event.CLAIM_EFFECT, _CLAIMED)(
        "owner, lease and fencing token"
    ),
    _row(_CLAIMED, Event.HEARTBEAT, _CLAIMED)("current token only"),
    _row(_CLAIMED, Event.TAKEOVER, _CLAIMED)(
        "the lease ran out; token + 1; the old worker's late writes are refused"
    ),
    _row(_CLAIMED, Event.SAME_KEY, (State.EXECUTION_CLAIMED, State.EXECUTED))(
        "same digest: the result or its progress; another: 409, audited"
    ),
    _row(_CLAIMED, Event.PRECONDITION_FAIL, (State.REAPPROVAL_REQUIRED,))(
        "version check and outbox row in one transaction; nothing was sent"
    ),
    _row((State.REAPPROVAL_REQUIRED,), Event.NEW_VERSION, _WAITING)(
        "a new verdict under a new key; deadline reset"
    ),
    _row((State.REAPPROVAL_REQUIRED,), Event.DEADLINE_PASSED, (State.EXPIRED,))(
        "counted from the guard's no; the old approval is gone; nothing waits for ever"
    ),
    _row(_CLAIMED, Event.SUCCEED, (State.EXECUTED,))(
        "the response is kept as an artifact"
    ),
    _row(_CLAIMED, Event.FAIL, (State.FAILED,))(
        "an explicit failure; the response is kept as an artifact"
    ),
    _row(_CLAIMED, Event.LOSE_TRACK, (State.EXECUTION_UNKNOWN,))(
        "time-out or lost connection: not a failure; no retry yet"
    ),
    _row(
        (State.EXECUTION_UNKNOWN,), Event.RECONCILE, (State.EXECUTED, State.RETRY_READY)
    )("the provider is asked by operation key, or a person where it can't tell"),
    _row((State.RETRY_READY,), Event.RETRY, _CLAIMED)(
        "guard again; same operation and key, new lease, higher token"
    ),
    _row((State.EXECUTED,), Event.ROLL_BACK, (State.EXECUTED,))(
        "a reference to the reversing operation; feeds the override rate"
    ),
)

MEANING: Mapping[State, str] = {
    State.QUEUED: "Asked for; nobody has it yet.",
    State.ASSIGNED: "A reviewer or group has it and has not looked yet.",
    State.WAITING_FOR_REVIEW: "Seen; its verdict, or the rest of a quorum, is due.",
    State.ESCALATED: "Handed to a higher authority, which has not taken it yet.",
    State.APPROVED: "May be executed as it stands, until the approval's term ends.",
    State.REJECTED: "A reviewer said no; it is never executed.",
    State.EXPIRED: "Its deadline or its approval ran out; it is never executed.",
    State.CANCELLED: "Taken back before any effect; it is never executed.",
    State.BLOCKED: "Policy forbade what had been approved; it is never executed.",
    State.RESUME_CLAIMED: "Its run is being woken with the approval.",
    State.GRAPH_RESUMED: "Its run goes on with the approval; no effect is claimed yet.",
    State.RESUME_UNKNOWN: "Whether the run took the approval can't be told yet.",
    State.EXECUTION_CLAIMED: "One worker holds the right to the effect.",
    State.REAPPROVAL_REQUIRED: "The facts moved; a new version must be asked for.",
    State.EXECUTED: "The effect happened, once.",
    State.FAILED: "The provider said clearly that it failed.",
    State.EXECUTION_UNKNOWN: "Whether the effect happened can't be told yet.",
    State.RETRY_READY: "It did not happen; it may be tried under the same key.",
}

_DECIDED: Mapping[DecisionState, tuple[State, ...]] = {
    "pending": (*_UNESCALATED, State.REAPPROVAL_REQUIRED),
    "approved": (
        *_APPROVED_UNCLAIMED,
        State.RESUME_UNKNOWN,
        State.EXECUTION_CLAIMED,
        State.EXECUTION_UNKNOWN,
        State.RETRY_READY,
        State.EXECUTED,
        State.FAILED,
    ),
    "rejected": (State.REJECTED,),
    "escalated": (State.ESCALATED,),
    "expired": (State.EXPIRED, State.CANCELLED, State.BLOCKED),
}
_DECISION_OF = {state: word for word, states in _DECIDED.items() for state in states}
_LEADS = {
    (source, row.event): row.targets_from(source)
    for row in TABLE
    for source in row.sources
}


def decision_state(state: State) -> DecisionState:
    """What has become of the verdict, for readers who need not know the rest.

    A cancelled or blocked item counts as expired: no verdict is in force any more,
    and `rejected` stays the word for a reviewer's own no.
    """
    return _DECISION_OF[state]


def allowed_events(state: State | None) -> tuple[Event, ...]:
    """The events that the table knows for this state, in its order."""
    return tuple(event for source, event in _LEADS if source == state)


def advance(state: State | None, event: Event, to: State | None = None) -> State:
    """The state after this event; `to` says which, where the table leaves a choice.

    Raises `Conflict` (illegal_transition) for what the table does not list, and
    `ValueError` if a choice is left open: that is the caller's mistake, not the item's.
    """
    targets = _LEADS.get((state, event), ())
    if not targets or (to is not None and to not in targets):
        raise _illegal(state, event, to, targets)
    if to is None and len(targets) > 1:
        raise ValueError(f"'{event}' needs `to`: one of {', '.join(targets)}.")
    return to or targets[0]


def _illegal(
    state: State | None, event: Event, to: State | None, targets: tuple[State, ...]
) -> Conflict:
    item = f"An item that is {state}" if state else "An item that does not exist yet"
    tried = f"go to {to} by '{event}'" if targets else f"take '{event}'"
    possible = ", ".join(targets or allowed_events(state)) or "nothing, it is final"
    message = f"{item} does not {tried}."
    return Conflict(message, code="illegal_transition", hint=f"Possible: {possible}.")


def as_markdown() -> str:
    """The text of docs/states.md."""
    rows = map(_markdown_row, TABLE)
    states = (f"- `{state}`: {MEANING[state]}" for state in State)
    return "\n".join((_PREFACE, *rows, "", "## What each state means", "", *states, ""))


def _markdown_row(row: Transition) -> str:
    sources = ", ".join(source or "(start)" for source in row.sources)
    targets = ", ".join(("same", *row.targets) if row.stays else row.targets)
    return f"| {sources} | {row.event} | {targets} | {row.check} |"


_PREFACE = """\
# States of an item

Made from `policies/lifecycle.py` by `make docs`; a test keeps the two equal. What this
table does not list is refused with `illegal_transition`. The table is ahead of the
product: nothing yet escalates, extends or reassigns.

| from | event | to | check and effect |
|---|---|---|---|"""
