"""What an item, its approvals and its claims should do, in a few lines and no SQL.

Each event answers as the ledger's own script does: in one word, the error's code where
it is refused. A test drives both side by side and compares them after every event.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from policies.lifecycle import FINAL, OPEN, Event, State, allowed_events
from policies.plan import VerdictWord
from tests.item_parts import Around, ClaimModel, Hand, Slot

TERM = timedelta(hours=4)
CLAIM_LEASE = timedelta(seconds=60)
No: TypeAlias = Literal["stays", "expired", "frozen", "reapproval"]
_GRAVEST_FIRST: tuple[No, ...] = ("stays", "expired", "frozen", "reapproval")
_WORDS: dict[VerdictWord, Event] = {
    "approve": Event.APPROVE,
    "reject": Event.REJECT,
    "edit": Event.EDIT,
    "withdraw": Event.WITHDRAW,
}


@dataclass
class ItemModel:
    """One item."""

    around: Around
    quorum: int
    state: State = State.QUEUED
    version: int = 1
    held: bool = False
    said: int = 0
    """How many verdicts are on record."""
    session_token: int = 1
    closed: bool = False
    approvals: dict[str, datetime] = field(default_factory=dict)
    claims: dict[int, ClaimModel] = field(default_factory=dict)
    hands: list[Hand] = field(default_factory=list)
    slot: Slot | None = None

    def __post_init__(self) -> None:
        self.address = self.around.address
        self.deadline = self.around.now + TERM

    @property
    def claim_now(self) -> ClaimModel | None:
        """The claim on the present version."""
        return self.claims.get(self.version)

    @property
    def expires_at(self) -> datetime | None:
        """When the first of the approvals that stand ends."""
        return min(self._standing().values(), default=None)

    # Asking and deciding

    def open(self) -> str:
        """Shown, or shown again."""
        if self.state not in (State.QUEUED, State.ASSIGNED, State.WAITING_FOR_REVIEW):
            return "illegal_transition"
        self.state = State.WAITING_FOR_REVIEW
        return "opened"

    def decide(self, word: VerdictWord, by: str, version: int) -> str:
        """A verdict on a version."""
        self.expire()
        no = self._not_decidable(word) or self._not_current(word, by, version)
        if no is not None:
            return no
        self.said += 1
        if word == "approve":
            self._approve(by)
        elif word == "edit":
            self._new_version()
        else:
            rejected = word == "reject"
            self.approvals = {}
            self.held = self.held and rejected
            self.state = State.REJECTED if rejected else State.WAITING_FOR_REVIEW
        return "taken"

    def refresh(self) -> str:
        """Made again where facts have moved while it is open; not during a freeze."""
        moved = self.address != self.around.address and not self.around.frozen
        if self.state == State.WAITING_FOR_REVIEW and moved:
            self._new_version()
        return "looked at"

    def ask_again(self) -> str:
        """Asked anew after the guard's no."""
        if self.state == State.REAPPROVAL_REQUIRED:
            self._new_version()
            self.deadline = self.around.now + TERM
        return "looked at"

    def expire(self) -> str:
        """Ended where its time is up."""
        now = self.around.now
        waits = self.state in OPEN or self.state == State.REAPPROVAL_REQUIRED
        ends = self.expires_at if self.state == State.APPROVED else None
        if (waits and now >= self.deadline) or (ends is not None and now >= ends):
            self.state = State.EXPIRED
        return "looked at"

    def cancel(self) -> str:
        """Cancelled, where no effect can be under way."""
        claim = self.claim_now
        sent = claim is not None and claim.state == "dispatched"
        if Event.CANCEL in allowed_events(self.state) and not sent:
            if claim is not None and claim.state in ("claimed", "retry_ready"):
                claim.state = "released"
            self.state = State.CANCELLED
        return "looked at"

    # Going on

    def bind(self) -> str:
        """The wait's slot is taken; what the guard refuses is not resumed."""
        outcome = (self.said, self.version)
        if self.slot is None:
            self.slot = Slot(outcome)
            if self.state == State.APPROVED and not self.held:
                no = self.guard()
                if no is None:
                    self.state = State.RESUME_CLAIMED
                else:
                    self._refuse(no)
        if self.slot.outcome == outcome:
            return "consumed" if self.slot.consumed else "bound"
        return "taken"

    def consume(self) -> str:
        """The checkpoint advances with the slot's outcome, once."""
        if self.slot is None or self.slot.consumed:
            return "superseded"
        self.slot.consumed, self.closed = True, False
        if self.state == State.RESUME_CLAIMED:
            self.state = State.GRAPH_RESUMED
        return "resumed"

    def next_slot(self) -> str:
        """Another round is waited for."""
        self.slot = None
        return "next"

    def let_go(self) -> str:
        """What was held back may be asked about again."""
        self.held = False
        return "let go"

    def supersede(self) -> str:
        """Another process has the session."""
        self.session_token += 1
        return "superseded"

    # Effects

    def claim(self) -> str:
        """The right to the effect, or what is there."""
        known = self.claim_now
        if known is not None and not known.buried:
            return f"{known.state} {known.token}"
        no = self.guard()
        if no is not None:
            self._refuse(no)
            return "refused"
        if self.state != State.GRAPH_RESUMED:
            return "illegal_transition"
        lease = self.around.now + CLAIM_LEASE
        made = ClaimModel(1, lease, self.session_token)
        self.claims[self.version] = made
        self._taken(made)
        return "made"

    def dispatch(self, number: int, arrives: bool) -> str:
        """The last step before the effect, for whoever has a hand."""
        hand = self.hands[number]
        claim = hand.claim
        if claim.buried:
            return "not_claimed"
        ours = (claim.token, claim.state) == (hand.token, "claimed")
        late = self.around.now >= claim.lease_until
        if not ours or late or hand.session_token != self.session_token:
            return "superseded"
        no = self.guard()
        if no is not None:
            self._release(claim, no)
            return "guard_refused"
        claim.state, claim.arrived = "dispatched", arrives
        return "sent"

    def finish(self, number: int, outcome: str) -> str:
        """A result is recorded, unless it comes late."""
        hand = self.hands[number]
        claim = hand.claim
        ours = (claim.token, claim.state) == (hand.token, "dispatched")
        if claim.buried or not ours:
            return "late"
        self._end(claim, outcome)
        return "recorded"

    def take_over(self) -> str:
        """The claim in other hands; what was dispatched is unknown from then on."""
        claim = self.claim_now
        assert claim is not None
        fenced = claim.state == "claimed" and claim.session_token < self.session_token
        if not fenced and self.around.now < claim.lease_until:
            return "superseded"
        claim.token += 1
        self._hold(claim)
        if claim.state == "dispatched":
            self._end(claim, "unknown")
        return "taken over"

    def settle(self, happened: bool) -> str:
        """A person tells what became of it."""
        if self.state != State.EXECUTION_UNKNOWN:
            return "nothing_unknown"
        claim = self.claim_now
        assert claim is not None
        self.closed = False
        claim.state = "executed" if happened else "retry_ready"
        self.state = State.EXECUTED if happened else State.RETRY_READY
        return "settled"

    def retry(self) -> str:
        """Claimed again under the same key."""
        claim = self.claim_now
        assert claim is not None and claim.state == "retry_ready"
        no = self.guard()
        if no is not None:
            self._release(claim, no)
            return "refused"
        claim.token, claim.state = claim.token + 1, "claimed"
        self._hold(claim)
        self.state = State.EXECUTION_CLAIMED
        return "retried"

    def close(self) -> str:
        """The request ends, where nothing is left to do or to know."""
        self.closed = self.state in {*FINAL, State.EXECUTION_UNKNOWN}
        return "closed" if self.closed else "open"

    def bury(self) -> str:
        """Claims that have ended become tombstones, once their request is closed."""
        for claim in self.claims.values():
            ended = claim.state in ("executed", "failed", "released")
            claim.buried = claim.buried or (self.closed and ended)
        return "buried"

    # The guard

    def guard(self) -> No | None:
        """The gravest reason against executing the present version now."""
        ends, claim = self.expires_at, self.claim_now
        cancelled = self.state == State.CANCELLED
        spent = claim is not None and claim.buried
        found: dict[No, bool] = {
            "stays": len(self._standing()) < self.quorum or cancelled or spent,
            "expired": ends is not None and self.around.now >= ends,
            "frozen": self.around.frozen,
            "reapproval": self.address != self.around.address,
        }
        return next((no for no in _GRAVEST_FIRST if found[no]), None)

    def _standing(self) -> dict[str, datetime]:
        """While a quorum is open, what has ended counts no more."""
        if self.state not in OPEN:
            return self.approvals
        now = self.around.now
        return {who: end for who, end in self.approvals.items() if end > now}

    def _not_decidable(self, word: VerdictWord) -> str | None:
        if self.state == State.EXPIRED:
            return "item_expired"
        unseen = self.state in (State.QUEUED, State.ASSIGNED) and word != "withdraw"
        if unseen or _WORDS[word] in allowed_events(self.state):
            return None
        return "illegal_transition" if self.state in OPEN else "already_decided"

    def _not_current(self, word: VerdictWord, by: str, version: int) -> str | None:
        if version != self.version:
            return "stale_version"
        if word == "approve" and by in self._standing():
            return "already_decided"
        if word not in ("approve", "edit"):
            return None
        moved = self.address != self.around.address
        return "frozen" if self.around.frozen else "intent_mismatch" if moved else None

    def _approve(self, by: str) -> None:
        self.approvals = {**self._standing(), by: self.around.now + TERM}
        full = len(self.approvals) >= self.quorum
        self.state = State.APPROVED if full else State.WAITING_FOR_REVIEW

    def _new_version(self) -> None:
        self.version += 1
        self.address = self.around.address
        self.approvals, self.held = {}, False
        self.state = State.WAITING_FOR_REVIEW

    def _refuse(self, no: No) -> None:
        if Event.GUARD_REFUSE not in allowed_events(self.state):
            return
        self.held = True
        if no == "expired":
            self.state = State.EXPIRED
        if no == "reapproval":
            self.state = State.REAPPROVAL_REQUIRED
            self.deadline = self.around.now + TERM

    def _release(self, claim: ClaimModel, no: No) -> None:
        if no in ("expired", "reapproval") or self.state in FINAL:
            claim.state = "released"
        self._refuse(no)

    def _taken(self, claim: ClaimModel) -> None:
        self.state = State.EXECUTION_CLAIMED
        self.hands.append(Hand(claim, claim.token, claim.session_token))

    def _hold(self, claim: ClaimModel) -> None:
        """The claim in the hands of whoever has the session now."""
        claim.lease_until = self.around.now + CLAIM_LEASE
        claim.session_token = self.session_token
        self.hands.append(Hand(claim, claim.token, claim.session_token))

    def _end(self, claim: ClaimModel, outcome: str) -> None:
        claim.state = outcome
        ends = {"executed": State.EXECUTED, "failed": State.FAILED}
        self.state = ends.get(outcome, State.EXECUTION_UNKNOWN)
