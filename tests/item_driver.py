"""One item in a real ledger, event by event, each as the product's own transaction.

The methods are those of `tests.item_model.ItemModel`, and so are their answers.
"""

from collections.abc import Callable
from itertools import count
from typing import Concatenate, NamedTuple, ParamSpec

from blocks import gate
from blocks.control import By
from blocks.desk import Taken
from blocks.ledger import (
    audit,
    cancelling,
    claims,
    effects,
    endings,
    facts,
    items,
    resumes,
    sessions,
    tombstones,
    verdicts,
    versions,
)
from blocks.ledger.claims import Claim, Refused
from blocks.ledger.effects import Outcome, Result
from blocks.ledger.facts import Stored
from blocks.ledger.items import Item
from blocks.ledger.people import TokenProof
from blocks.ledger.resumes import Binding
from blocks.ledger.sessions import Pending
from policies.errors import PlacetError
from policies.lifecycle import FINAL, State
from policies.plan import VerdictWord
from policies.state import SessionStatus
from tasks import asking
from tests.reading import content_of, read_mail
from tests.world import TERMINAL, World

SEND = "support_email.send_reply"
P = ParamSpec("P")


class Sent(NamedTuple):
    """A mail that left for the provider, and whether it arrived."""

    key: str
    version: int
    to: str
    text: str
    arrived: bool


def in_a_word(
    event: Callable[Concatenate["ItemDriver", P], str],
) -> Callable[Concatenate["ItemDriver", P], str]:
    """An error is an answer: its code."""

    def answered(self: "ItemDriver", /, *args: P.args, **more: P.kwargs) -> str:
        try:
            return event(self, *args, **more)
        except PlacetError as error:
            return error.code

    return answered


class ItemDriver:
    """A request of one item, under the lease of whoever took it last."""

    def __init__(self, world: World, request_id: str) -> None:
        self.world = world
        self.work = world.advance(world.opened(request_id))[0]
        self.id = world.item(self.work).id
        self.hands: list[Claim] = []
        self.sent: list[Sent] = []
        self._names = count(1)
        self._slots = count(2)
        self._slot = Pending(interrupt="s1", checkpoint=0, items=(), questions=())
        self._binding: Binding | None = None

    def look(self) -> tuple[Item, tuple[Claim, ...], tuple[audit.Event, ...]]:
        """The item, its claims (the first one first) and its trail."""
        with self.world.ledger.read() as tx:
            return (
                items.load(tx, self.id),
                claims.of_item(tx, self.id),
                tuple(audit.events(tx, self.work.workflow)),
            )

    # Asking and deciding

    @in_a_word
    def open(self) -> str:
        """Shown, or shown again."""
        with self.world.ledger.write() as tx:
            item = items.load(tx, self.id, lock=True)
            items.assign_and_open(tx, item, {"actor": "ada", "seen_by": ["ada"]})
        return "opened"

    def decide(self, word: VerdictWord, by: str, version: int) -> str:
        """A verdict on a version, as the reviewer has seen that one."""
        with self.world.ledger.read() as tx:
            digest = versions.load(tx, self.id, version).snapshot.digest
        text = f"Thank you for asking. This is answer {next(self._names)}."
        edit = {"body": text} if word == "edit" else None
        said = self.world.says(
            self.work, word, version=version, snapshot=digest, edit=edit
        )
        outcome = self.world.hand_in(self.work, said, by=by)
        return "taken" if isinstance(outcome, Taken) else outcome.refusals[0].code

    def refresh(self) -> str:
        """Made again where facts have moved while it is open."""
        self.work = asking.refresh_items(self.world.services, self.work)
        return "looked at"

    def ask_again(self) -> str:
        """Asked anew after the guard's no."""
        self.work = asking.ask_all(self.world.services, self.work)
        return "looked at"

    def expire(self) -> str:
        """Ended where its time is up."""
        with self.world.ledger.write() as tx:
            endings.expire_overdue(tx, self.work.workflow)
        return "looked at"

    def cancel(self) -> str:
        """Cancelled, where no effect can be under way."""
        with self.world.ledger.write() as tx:
            cancelling.cancel(tx, self.work.workflow, "ada", "no longer wanted")
        return "looked at"

    # Going on

    def bind(self) -> str:
        """The wait's slot is taken."""
        seen = {resumes.seen_as(self.world.item(self.work)): self._stored()}
        with self.world.ledger.write() as tx:
            session = sessions.load(tx, self.work.workflow)
            bound = resumes.claim_or_get(
                tx, self.work.held, session, self._slot, self.world.domain, seen
            )
        if not isinstance(bound, Binding):
            return "taken"
        self._binding = bound
        return "consumed" if bound.consumed else "bound"

    @in_a_word
    def consume(self) -> str:
        """The checkpoint advances with the slot's outcome, once."""
        bound = self._binding
        assert bound is not None
        with self.world.ledger.write() as tx:
            held = resumes.consume(tx, self.work.held, bound, self.work.state)
        self.work = self.work.model_copy(update={"held": held})
        return "resumed"

    def next_slot(self) -> str:
        """Another round is waited for."""
        name = f"s{next(self._slots)}"
        self._slot = self._slot.model_copy(update={"interrupt": name})
        self._binding = None
        return "next"

    def let_go(self) -> str:
        """What was held back may be asked about again."""
        with self.world.ledger.write() as tx:
            endings.let_go(tx, self.work.workflow)
        return "let go"

    def supersede(self) -> str:
        """Another process has the session."""
        self.work = self.world.superseded(self.work)
        return "superseded"

    # Effects

    @in_a_word
    def claim(self) -> str:
        """The right to the effect, or what is there."""
        owner = self._owner()
        got = self.world.claim(self.work, owner)
        if isinstance(got, Refused):
            return "refused"
        if got.owner != owner:
            return f"{got.state} {got.token}"
        self.hands.append(got)
        return "made"

    @in_a_word
    def dispatch(self, number: int, arrives: bool) -> str:
        """The gate, and then the bytes are gone."""
        hand = self.hands[number]
        passing = self.world.services.gate
        operation = gate.open_for(passing, hand.id, hand.token, SEND)
        mail = read_mail(operation.take_body())
        self.sent.append(
            Sent(operation.key, hand.version, mail["To"], content_of(mail), arrives)
        )
        return "sent"

    def finish(self, number: int, outcome: Outcome) -> str:
        """A result is recorded, unless it comes late."""
        with self.world.ledger.write() as tx:
            kept = effects.finish(tx, self.hands[number], self._result(outcome))
        return "recorded" if kept else "late"

    @in_a_word
    def take_over(self) -> str:
        """As the executing step takes over from a process that has ended."""
        lost = self._result("unknown")
        with self.world.ledger.write() as tx:
            old = claims.of_item(tx, self.id)[-1]
            taken = claims.take_over(tx, old, self._owner(), 60)
            if taken.state == "dispatched":
                effects.finish(tx, taken, lost)
        self.hands.append(taken)
        return "taken over"

    @in_a_word
    def settle(self, happened: bool) -> str:
        """A person tells what became of it."""
        proof = TokenProof(token=self.world.people["ada"].token)
        by = By(reviewer="ada", proof=proof, channel=TERMINAL, reason="I looked")
        control = self.world.services.control
        control.settle(self.work.workflow, by, happened=happened)
        return "settled"

    def retry(self) -> str:
        """Claimed again under the same key."""
        stored = self._stored()
        with self.world.ledger.write() as tx:
            old = claims.of_item(tx, self.id)[-1]
            session = sessions.load(tx, self.work.workflow)
            again = claims.retry(
                tx,
                old,
                session,
                stored,
                self.world.domain,
                owner=self._owner(),
                seconds=60,
            )
        if isinstance(again, Refused):
            return "refused"
        self.hands.append(again)
        return "retried"

    def close(self) -> str:
        """The request ends, where nothing is left to do or to know."""
        state = self.world.item(self.work).state
        if state not in {*FINAL, State.EXECUTION_UNKNOWN}:
            return "open"
        unknown = state == State.EXECUTION_UNKNOWN
        with self.world.ledger.write() as tx:
            status: SessionStatus = "unknown" if unknown else "completed"
            held = sessions.close(tx, self.work.held, status, ("done",))
        self.work = self.work.model_copy(update={"held": held})
        return "closed"

    def bury(self) -> str:
        """Claims that have ended become tombstones: everybody's."""
        with self.world.ledger.write() as tx:
            tombstones.bury(tx, tx.now, 100)
        return "buried"

    def approvers(self, version: int) -> set[str]:
        """Whose approval of a version stands now, by the recorded verdicts alone."""
        standing: set[str] = set()
        with self.world.ledger.read() as tx:
            said = [v for v in verdicts.of_item(tx, self.id) if v["version"] == version]
        for row in said:
            if row["verdict"] != "approved":
                standing.clear()
            elif row["expires_at"] > self.world.clock.now:
                standing.add(row["reviewer"])
        return standing

    def _owner(self) -> str:
        return f"worker {next(self._names)}"

    def _stored(self) -> Stored:
        snapshot = self.world.version(self.work).snapshot
        store, adapter = self.world.services.artifacts, self.world.domain.adapter
        return facts.read_stored(store, adapter, snapshot)

    def _result(self, outcome: Outcome) -> Result:
        kept = self.world.services.artifacts.put(outcome.encode(), "execution")
        return Result(
            outcome=outcome, detail="told", artifact=kept, provider_ref="a mail"
        )
